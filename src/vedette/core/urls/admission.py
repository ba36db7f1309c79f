"""Which sightings become watches: filters, limits, and the budgets that end a trap.

A listing that its owner wrote down (feed, sitemap, list) is believed: one reading gives at most 50,000 addresses, and
there is no limit over its lifetime unless `max_urls` sets one, so that a gazette never ends.  A crawl follows what
pages link to, so it also has a budget for each way in which a site makes up addresses without end:

| budget | counts | default |
|---|---|---|
| repeats | a block of segments three times in a row, or one segment four times | 0 admitted |
| path_depth | segments of the path | 12 |
| session | addresses with a token in the middle of the path or in the query, per place of the token | 300 |
| token_names | addresses whose page is named by a token, per shape | 500 |
| calendar | pages that end in a day or month, per shape | 400 |
| calendar_ahead, calendar_back | how far from today the day in an address may be | 400 days, 30 years |
| facets | query strings per path, unless one parameter tells most of them apart (an id) | 300 |
| shape | addresses of one shape | 10,000 |
| content_repeat | pages of one shape in a row that all had the same text close the shape | 20 |

A source sets its own under `traps`, by these names.

`admit` changes nothing; `SourceTally.take` counts what was admitted.  The tally goes to the store as JSON, so
a restart continues where the budgets were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache

from vedette.contracts.fetch import Extraction
from vedette.contracts.source import ListerKind, ListerOptions, TrapBudgets
from vedette.contracts.words import Reason
from vedette.core.urls.canonical import TOO_LONG, host_of, too_long
from vedette.core.urls.trap_counters import SourceTally
from vedette.core.urls.url_shape import (
    PART_NOTE,
    Filters,
    UrlShape,
    filters_of,
    is_document,
    is_part,
    shape_of,
)

CRAWL_MAX_URLS = 2000  # spec 001/11.2, crawlMaxUrls
ADMISSION_FORM = 2  # 1: `include` and `url_pattern` held back listings too (children of a sitemap index)
LISTED_MAX_URLS = 50_000  # one full sitemap file: what one reading of a listing gives at most
# Refusals and notes that mean: a limit of ours keeps the source from finding more, and somebody should know.
CAPS = frozenset({"max_urls", "sitemap_depth", "sitemap_limit"})


DEFAULT_TRAPS = TrapBudgets()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """What one source may bring in."""

    filters: Filters = field(default_factory=Filters)
    blocked_words: tuple[str, ...] = ()
    max_urls: int | None = None  # None: any number
    max_depth: int | None = None  # None: depth does not matter (only a crawl has one)
    traps: TrapBudgets | None = None  # None: the listing's owner vouches for its addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A sighting that wants to become a watch."""

    url: str  # canonical
    depth: int = 0  # it would have
    published_at: datetime | None = None
    is_listing: bool = False  # it is another listing of the source, not a page
    is_filtered: bool = False  # its lister has asked the filters already


@dataclass(frozen=True, slots=True)
class Admitted:
    """It may.  `marks` are the counters that `SourceTally.take` moves."""

    url: str
    shape: UrlShape | None = None  # None: no trap budgets apply
    marks: tuple[str, ...] = ()


def admit(
    rules: AdmissionRules,
    tally: SourceTally,
    candidate: Candidate,
    *,
    now: datetime,
    left_in_run: int | None = None,
) -> Admitted | Reason:
    """A new watch, or why not: the first rule that says no is the reason."""
    if left_in_run is not None and left_in_run <= 0:
        return Reason("run_limit", note="the run has taken all the sightings it may; later runs go on")
    for rule in RULES:
        reason = rule(rules, tally, candidate)
        if reason is not None:
            return reason
    if rules.traps is None:
        return Admitted(candidate.url)
    shape = shape_of(candidate.url)
    for trap in TRAPS:
        reason = trap(rules.traps, tally, shape, now)
        if reason is not None:
            return reason
    return Admitted(candidate.url, shape, _marks(shape))


def rules_of(
    kind: ListerKind, options: ListerOptions, *, blocked_words: tuple[str, ...] = ()
) -> AdmissionRules:
    """The rules a configured source has.  Raises ConfigError where a pattern cannot be used."""
    is_crawl = kind is ListerKind.CRAWL
    default = CRAWL_MAX_URLS if is_crawl else None
    return AdmissionRules(
        filters=filters_of(options),
        blocked_words=blocked_words,
        max_urls=default if options.max_urls is None else options.max_urls,
        max_depth=options.max_depth if is_crawl else None,
        traps=options.traps if is_crawl else None,
    )


def observe_content(
    tally: SourceTally, shape: str, text_key: int, budgets: TrapBudgets = DEFAULT_TRAPS
) -> Reason | None:
    """A page of this shape was looked at for the first time.  The reason, when that closes the shape.

    Call it once per watch, not on later looks: a page that stays the same is no trap.  Another text opens the
    shape again.
    """
    streak = tally.note_text(shape, text_key)
    return _content_reason(shape, streak) if streak == budgets.content_repeat else None


Rule = Callable[[AdmissionRules, SourceTally, Candidate], Reason | None]
Trap = Callable[[TrapBudgets, SourceTally, UrlShape, datetime], Reason | None]


def _scheme(rules: AdmissionRules, tally: SourceTally, candidate: Candidate) -> Reason | None:
    if candidate.url.startswith(("https://", "http://")):
        return None
    return Reason("scheme", note="only http and https are watched")


def _length(rules: AdmissionRules, tally: SourceTally, candidate: Candidate) -> Reason | None:
    words = too_long(candidate.url)
    return Reason(TOO_LONG, note=words) if words else None


def _blocked(rules: AdmissionRules, tally: SourceTally, candidate: Candidate) -> Reason | None:
    if not rules.blocked_words:
        return None
    word = blocked_by(host_of(candidate.url), rules.blocked_words)
    return Reason("blocked", note=f"the host contains the blocked word {word!r}") if word else None


def _part(rules: AdmissionRules, tally: SourceTally, candidate: Candidate) -> Reason | None:
    is_checked = candidate.is_filtered or candidate.is_listing
    return Reason("page_part", note=PART_NOTE) if not is_checked and is_part(candidate.url) else None


def _filtered(rules: AdmissionRules, tally: SourceTally, candidate: Candidate) -> Reason | None:
    if candidate.is_filtered:
        return None
    if candidate.is_listing:
        return rules.filters.refuse_listing(candidate.url)
    return rules.filters.refuse(candidate.url, candidate.published_at)


def _depth(rules: AdmissionRules, tally: SourceTally, candidate: Candidate) -> Reason | None:
    """A document one step below the deepest page still counts: it leads nowhere."""
    if rules.max_depth is None or candidate.depth <= rules.max_depth:
        return None
    if candidate.depth == rules.max_depth + 1 and is_document(candidate.url):
        return None
    return Reason("max_depth", note=f"{candidate.depth} links deep, the limit is {rules.max_depth}")


def _max_urls(rules: AdmissionRules, tally: SourceTally, candidate: Candidate) -> Reason | None:
    if rules.max_urls is None or tally.admitted < rules.max_urls:
        return None
    return Reason(
        "max_urls", note=f"the source has its {rules.max_urls} addresses; raise max_urls to take more"
    )


# Cheapest first; the limits last, so that a refused address says what is wrong with it.
RULES: tuple[Rule, ...] = (_scheme, _length, _part, _blocked, _filtered, _depth, _max_urls)


def _repeats(budgets: TrapBudgets, tally: SourceTally, shape: UrlShape, now: datetime) -> Reason | None:
    if not shape.is_repeating:
        return None
    return Reason("trap_repeats", note="parts of the path repeat again and again")


def _path_depth(budgets: TrapBudgets, tally: SourceTally, shape: UrlShape, now: datetime) -> Reason | None:
    if shape.depth <= budgets.path_depth:
        return None
    return Reason(
        "trap_path_depth", note=f"{shape.depth} parts in the path, the limit is {budgets.path_depth}"
    )


def _session(budgets: TrapBudgets, tally: SourceTally, shape: UrlShape, now: datetime) -> Reason | None:
    mark = _session_mark(shape)
    return _spent("session", tally.count(mark), budgets.session, shape.session) if mark else None


def _token_names(budgets: TrapBudgets, tally: SourceTally, shape: UrlShape, now: datetime) -> Reason | None:
    mark = _token_mark(shape)
    return _spent("token_names", tally.count(mark), budgets.token_names, shape.key) if mark else None


def _calendar(budgets: TrapBudgets, tally: SourceTally, shape: UrlShape, now: datetime) -> Reason | None:
    if shape.day is None:
        return None
    year, month, day = shape.day
    spoken_of = date(year, month, min(day, 28))
    if spoken_of > (now + budgets.calendar_ahead).date():
        return Reason("trap_calendar", note=f"speaks of {spoken_of.isoformat()}, too far ahead")
    if not shape.is_dated_view:
        return None
    if spoken_of < (now - budgets.calendar_back).date():
        return Reason("trap_calendar", note=f"a calendar's page of {spoken_of.isoformat()}, too far back")
    return _spent("calendar", tally.count(_calendar_mark(shape)), budgets.calendar, shape.key)


def _facets(budgets: TrapBudgets, tally: SourceTally, shape: UrlShape, now: datetime) -> Reason | None:
    """A real archive has one parameter (the id) with about as many values as there are query strings."""
    if len(shape.query) < 2:
        return None
    count, widest = tally.facets(shape.path)
    if count < max(budgets.facets, FACET_SHARE * widest):
        return None
    return _spent("facets", count, budgets.facets, shape.path)


def _shape(budgets: TrapBudgets, tally: SourceTally, shape: UrlShape, now: datetime) -> Reason | None:
    return _spent("shape", tally.count(shape.key), budgets.shape, shape.key)


def _content(budgets: TrapBudgets, tally: SourceTally, shape: UrlShape, now: datetime) -> Reason | None:
    streak = tally.streak(shape.key)
    return _content_reason(shape.key, streak) if streak >= budgets.content_repeat else None


TRAPS: tuple[Trap, ...] = (
    _repeats, _path_depth, _calendar, _session, _token_names, _facets, _shape, _content,
)  # fmt: skip
FACET_SHARE = 4  # an id with a print view and a pdf view is still an archive


def _spent(budget: str, used: int, limit: int, where: str) -> Reason | None:
    if used < limit:
        return None
    return Reason(f"trap_{budget}", note=f"{used} addresses like {where}; the budget {budget!r} is {limit}")


def _content_reason(shape: str, streak: int) -> Reason:
    return Reason("trap_content_repeat", note=f"{streak} pages like {shape} in a row had the same text")


def _marks(shape: UrlShape) -> tuple[str, ...]:
    marks = (shape.key, _session_mark(shape), _token_mark(shape), _calendar_mark(shape))
    return tuple(mark for mark in marks if mark)


def _session_mark(shape: UrlShape) -> str:
    return "session " + shape.session if shape.session else ""


def _token_mark(shape: UrlShape) -> str:
    return "token " + shape.key if shape.is_named_by_token else ""


def _calendar_mark(shape: UrlShape) -> str:
    return "calendar " + shape.key if shape.day and shape.is_dated_view else ""


# Is this host kept out by its name?  spec 001/9.3, by whole words: latest.hr is not a test.

BLOCKED_WORDS = ("heartbeat", "test", "synthetic", "debug")  # spec 001/9.3


@lru_cache(maxsize=4096)  # all links to a host ask the same
def blocked_by(host: str, words: tuple[str, ...] = BLOCKED_WORDS) -> str | None:
    """The word that blocks the host, or None.

    A word blocks the labels and hyphen-separated words that equal it; a word with a dot in it
    (`ads.example.com`) blocks that host and everything below it.
    """
    name = host.lower().rstrip(".")
    labels = name.split(".")
    parts = {part for label in labels for part in (label, *label.split("-"))}
    for word in words:
        plain = word.lower().strip(".")
        if plain in parts or ("." in plain and f".{name}".endswith(f".{plain}")):
            return word
    return None


# What a crawl may follow: the page's own word about its links, in its markup and in its headers.

Followed = tuple[tuple[str, ...], tuple[Reason, ...]]


def followed(
    extraction: Extraction, headers: Iterable[tuple[str, str]], agent: str, *, honours: bool
) -> Followed:
    """The links to follow, and why others are left: marked nofollow, or all of a page that asks so."""
    if not honours:
        return extraction.hrefs, ()
    tags = (value for name, value in headers if name.lower() == "x-robots-tag")
    if extraction.is_nofollow or says_nofollow(tags, agent):
        return (), (Reason("nofollow", note="the page asks not to follow its links"),)
    marked = frozenset(extraction.nofollow)
    if not marked:
        return extraction.hrefs, ()
    hrefs = tuple([href for href in extraction.hrefs if href not in marked])
    return hrefs, (Reason("nofollow", len(extraction.hrefs) - len(hrefs), "links marked nofollow"),)


# The words of a page about itself: robots elements of its head, and marks of single links.

ROBOTS_NAMES = ("robots", "googlebot", "vedette")  # of the elements that count


def robots_words(metadata: Mapping[str, str]) -> tuple[bool, bool]:
    """Whether the elements of a head, by their names in lower case, ask for noindex, and for nofollow."""
    said = [metadata[name].lower() for name in ROBOTS_NAMES if name in metadata]
    is_none = any("none" in words for words in said)
    return is_none or any("noindex" in words for words in said), is_none or any(
        "nofollow" in words for words in said
    )


def is_marked(rel: str | None) -> bool:
    """True where the page asks not to follow this link."""
    return rel is not None and "nofollow" in rel.lower()


# What an X-Robots-Tag header says about links.  The same words as in a robots meta element, also for one bot only.

# Directives that carry a value after a colon; any other word before a colon is the name of a bot.
WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))


def says_nofollow(tags: Iterable[str], agent: str) -> bool:
    """True where one of these headers asks us, or everyone, not to follow the links of the page."""
    return any(
        word in ("nofollow", "none")
        for tag in tags
        for name, word in _words(tag)
        if name in ("", "*", agent.lower())
    )


def _words(tag: str) -> Iterable[tuple[str, str]]:
    """Each directive with the bot it is for; a name stands until the next name in the same header."""
    name = ""
    for part in tag.lower().split(","):
        before, colon, after = part.partition(":")
        if colon and before.strip() not in WITH_VALUE:
            name, part = before.strip(), after
        for word in part.split():
            yield name, word
