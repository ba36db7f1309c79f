"""What a look that saves nothing saw, for people and for programs: a page, its listing, a robots.txt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.contracts.fetch import Extraction, Fetched, RobotsRules
from vedette.contracts.filters import StepLeft
from vedette.contracts.source import ListerKind, Sighting
from vedette.contracts.words import Reason
from vedette.core.lanes.outcomes import MEANING
from vedette.core.urls.canonical import origin_of
from vedette.report.plain import Line, count, line, quoted

SHOWN = 20  # of each part of a listing
LINES = 12  # of a text, unless all are asked for
STEP_LINES = 4  # that a filter leaves
WIDTH = 160  # characters of one
_LISTINGS = {
    ListerKind.FEED: "a feed",
    ListerKind.SITEMAP: "a sitemap",
    ListerKind.HTML_LIST: "a list",
    ListerKind.PAGINATION: "a list",
}
_PARTS = {"main": "the main part", "all": "all of the page"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedText:
    """What of a page would be compared, and what of it never is."""

    scope: str
    is_whole: bool = False  # nothing of the page is left out, whatever the scope
    lines: tuple[str, ...]
    masked: tuple[str, ...]  # lines of which a part is never compared, with that part named
    chars: int
    visible: int  # characters that a reader sees, what is left out included; 0: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingPreview:
    """What a source would find at an address."""

    lister: ListerKind  # what it was read as
    found: tuple[Sighting, ...]
    left_out: tuple[tuple[str, Reason], ...]
    follow: tuple[str, ...]  # further listings that would be read
    problem: str
    warning: str = ""  # it was read, but not as was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedPage:
    url: str
    fetched: Fetched
    extraction: Extraction
    reasons: tuple[Reason, ...]  # why it would not count as content
    compared: ComparedText
    steps: tuple[StepLeft, ...] = ()  # of its filters, in order
    listing: ListingPreview | None = None  # where a lister was tried
    looks_like: tuple[ListerKind, int] | None = (
        None  # where none was: a listing of this kind, of so many pages
    )

    @property
    def has_content(self) -> bool:
        return MEANING[self.fetched.outcome].has_content

    @property
    def is_unmatched(self) -> bool:
        """True where its filters leave nothing of it."""
        return any(one.problem for one in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsAnswer:
    url: str
    rules: RobotsRules
    refusal: Reason | None  # None: we may look

    @property
    def why(self) -> str:
        return "" if self.refusal is None else self.refusal.note or self.refusal.code


def tried_json(tried: TriedPage) -> dict[str, object]:
    text = tried.compared
    own = {"scope": text.scope, "visible_chars": text.visible, "lines": list(text.lines)}
    own["filters"] = [_step_json(one) for one in tried.steps]
    own["looks_like"] = None if tried.looks_like is None else tried.looks_like[0].value
    listing = {} if tried.listing is None else {"listing": _listing_json(tried.listing)}
    return _look_json(tried) | own | listing


def tried_lines(tried: TriedPage, *, whole: bool) -> list[Line]:
    """`whole`: with all of the text."""
    listing = [] if tried.listing is None else _listing_lines(tried.listing)
    compared = _compared_lines(tried.compared, whole=whole) or _nothing_compared(tried)
    steps = [text for one in tried.steps for text in _step_lines(one, whole=whole)]
    return [*_look_lines(tried), *compared, *steps, *_hint(tried), *listing]


def _step_json(one: StepLeft) -> dict[str, object]:
    now = {"now": one.now} if one.now else {}
    return {"step": one.step, "lines": list(one.lines), "problem": one.problem, **now}


def _step_lines(one: StepLeft, *, whole: bool) -> list[Line]:
    """What a step leaves."""
    head = line(("dim", "  filter    "), quoted(one.step, "mark"))
    if one.problem:
        ends = line(("dim", "    a run would end this look as filter_unmatched, and tell no change"))
        return [head, line(("warn", "    leaves nothing: "), quoted(one.problem)), ends]
    if one.now:
        return [head, line(("dim", "    "), quoted(one.now))]
    shown = one.lines if whole else one.lines[:STEP_LINES]
    told = [head, line(("dim", f"    leaves {count(len(one.lines), 'line')}"))]
    told += [line(("dim", "    | "), quoted(text, limit=0 if whole else WIDTH)) for text in shown]
    left = len(one.lines) - len(shown)
    return [*told, line(("dim", f"    {count(left, 'more line')}; --text shows all"))] if left else told


def _nothing_compared(tried: TriedPage) -> list[Line]:
    is_read = tried.has_content and not tried.extraction.problem
    return [line(("dim", "  compares  "), "nothing: no text was found in it")] if is_read else []


def _hint(tried: TriedPage) -> list[Line]:
    """How to watch what it lists."""
    if tried.looks_like is None:
        return []
    kind, pages = tried.looks_like
    adds = f"vedette add {tried.url} --lister {kind.value}"
    said = f"{_LISTINGS[kind]} of {count(pages, 'page')}; to watch them: {adds}"
    return [line(("dim", "  lists     "), quoted(said))]


def robots_json(answer: RobotsAnswer) -> dict[str, object]:
    rules = answer.rules
    return {
        "url": answer.url,
        "allowed": answer.refusal is None,
        "rule": answer.why or None,
        "verdict": rules.verdict,
        "status": rules.status,
        "outcome": rules.outcome.value,
        "crawl_delay": rules.crawl_delay,
        "sitemaps": list(rules.sitemaps),
        "expires_at": rules.expires_at,
    }


def robots_lines(answer: RobotsAnswer) -> list[Line]:
    rules, why, origin = answer.rules, answer.why, origin_of(answer.url)
    status = rules.status if rules.status is not None else rules.outcome.value
    return [
        line(("bad", "refused: "), quoted(why)) if why else line(("good", "allowed")),
        line("  ", quoted(f"{origin}/robots.txt answered {status}: {rules.verdict.replace('_', ' ')}")),
        line(f"  Crawl-delay {f'{rules.crawl_delay:g} s' if rules.crawl_delay else 'none'}"),
        *(line("  sitemap ", quoted(sitemap)) for sitemap in rules.sitemaps),
    ]


def _look_json(tried: TriedPage) -> dict[str, object]:
    fetched, extraction, reasons = tried.fetched, tried.extraction, tried.reasons
    return {
        "url": tried.url,
        "answered": fetched.url,
        "outcome": fetched.outcome.value,
        "status": fetched.status,
        "seconds": fetched.took.total_seconds(),
        "detail": fetched.detail,
        "content_type": fetched.content_type,
        "content_class": extraction.content_class.value,
        "wire_bytes": len(fetched.wire),
        "body_bytes": len(fetched.body),
        "title": extraction.title,
        "language": extraction.language,
        "published_at": extraction.published_at,
        "modified_at": extraction.modified_at,
        "canonical": extraction.canonical,
        "feeds": list(extraction.feeds),
        "links": len(extraction.hrefs),
        "text_chars": len(extraction.text),
        "text": extraction.text,
        "problem": extraction.problem,
        "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in reasons],
    }


def _look_lines(tried: TriedPage) -> list[Line]:
    fetched, extraction, reasons = tried.fetched, tried.extraction, tried.reasons
    status = "" if fetched.status is None else f" {fetched.status}"
    text = count(len(extraction.text), "character")
    size = f"{count(len(fetched.wire), 'byte')} sent, {len(fetched.body)} decoded, {text} of text"
    facts = (
        ("detail", fetched.detail),
        ("type", f"{fetched.content_type or 'none'} -> {extraction.content_class.value}"),
        ("size", size),
        ("title", extraction.title),
        ("links", str(len(extraction.hrefs))),
        ("feeds", " ".join(extraction.feeds)),
        ("canonical", extraction.canonical or ""),
        ("problem", extraction.problem),
    )
    head = line(
        ("head", f"{fetched.outcome.value}{status}"),
        f"  {MEANING[fetched.outcome].words}, {fetched.took.total_seconds():.3f} s  ",
        quoted(fetched.url, "mark"),
    )
    shown = [line(("dim", f"  {name:<10}"), quoted(value)) for name, value in facts if value]
    why = [line(("dim", "  because   "), quoted(f"{r.code} {r.note}")) for r in reasons]
    return [head, *shown, *why]


def _compared_lines(one: ComparedText, *, whole: bool) -> list[Line]:
    if not one.lines:
        return []
    part = _PARTS["all" if one.is_whole else one.scope] if one.visible else "its text"
    share = f"{one.chars:,} of {one.visible:,} characters that a reader sees" if one.visible else ""
    told = [line(("dim", "  compares  "), f"{part}{': ' if share else ''}{share}")]
    told += [line(("dim", "  never     "), quoted(text, limit=WIDTH)) for text in one.masked[:3]]
    shown = one.lines if whole else one.lines[:LINES]
    told.append(line(("dim", "  text      "), count(len(one.lines), "line")))
    told += [line(("dim", "    | "), quoted(text, limit=0 if whole else WIDTH)) for text in shown]
    left = len(one.lines) - len(shown)
    return [*told, line(("dim", f"    {count(left, 'more line')}; --text shows all"))] if left else told


def _listing_lines(found: ListingPreview) -> list[Line]:
    lines = [
        line(
            ("head", f"read as {found.lister.value}"),
            f": {len(found.found)} found, {len(found.left_out)} left out, ",
            count(len(found.follow), "further listing"),
        )
    ]
    if found.problem:
        lines.append(line(("warn", "  problem   "), quoted(found.problem)))
    if found.warning:
        lines.append(line(("warn", "  warning   "), quoted(found.warning)))
    rows = [(("dim", "  found     "), one.url, one.title) for one in found.found[:SHOWN]]
    rows += [
        (("warn", "  left out  "), url, reason.note or reason.code) for url, reason in found.left_out[:SHOWN]
    ]
    rows += [(("dim", "  follow    "), url, "") for url in found.follow[:SHOWN]]
    lines += [line(head, quoted(url, "mark"), "  ", quoted(said, "dim", 100)) for head, url, said in rows]
    hidden = sum(max(0, len(part) - SHOWN) for part in _parts(found))
    return [*lines, line(("dim", f"  and {hidden} more; --json gives all"))] if hidden else lines


def _parts(found: ListingPreview) -> tuple[Sequence[object], ...]:
    return found.found, found.left_out, found.follow


def _listing_json(found: ListingPreview) -> dict[str, object]:
    return {
        "lister": found.lister.value,
        "problem": found.problem,
        "warning": found.warning,
        "found": [
            {"url": one.url, "title": one.title, "published_at": one.published_at} for one in found.found
        ],
        "left_out": [{"url": url, "reason": r.code, "note": r.note} for url, r in found.left_out],
        "follow": list(found.follow),
    }
