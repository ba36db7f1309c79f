"""One change for people: a summary line and what differs, or at most three lines of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from vedette.contracts.change import Change, DiffOp
from vedette.contracts.words import Reason, Risk
from vedette.core.urls.canonical import shown
from vedette.report.diffs import diff_json, excerpt
from vedette.report.plain import Line, Span, count, line, moment, plain, quoted
from vedette.report.table import MORE, cut, joints

if TYPE_CHECKING:
    pass

EXCERPT = 6


def summary_line(change: Change, *, url: str, risk: Risk) -> Line:
    """When, how grave, what, where: one line."""
    compared = change.comparison
    return line(
        ("dim", moment(change.observed_at)),
        "  ",
        (risk.name, f"{risk.name:<8}"),
        "  ",
        ("head", change.kind.value),
        "  ",
        quoted(shown(url), "mark"),
        "  ",
        quoted(compared.summary or f"differs by {compared.layer.value}", limit=300),
    )


BECAUSE = {
    "seen_twice": "confirmed by a second look",
    "seen_again": "confirmed by {looks}",
    "is_trusted": "told at once: differences of this page were always real so far",
    "lasts": "it has stayed for longer than this page varies by itself",
    "gone_twice": "confirmed by a second look",
    "back_again": "it answers again",
}
SHARES = frozenset({"differs_near", "differs_content"})  # their points say how alike the two texts are


def change_lines(change: Change, *, url: str, risk: Risk, most: int = EXCERPT) -> list[Line]:
    """The summary and the first differences, indented."""
    inner = [(("", "    "), *spans) for spans in excerpt(change.comparison.diff, most)]
    known = "; ".join(words for words in (because(change), _how_much(change)) if words)
    return [
        summary_line(change, url=url, risk=risk),
        *inner,
        *([line(("dim", f"    {known}"))] if known else []),
    ]


def reason_words(reason: Reason) -> str:
    """One reason of a change in words; empty: it has none of its own."""
    if reason.code in SHARES:
        return _share_words(reason.points)
    return _said(reason)


def because(change: Change) -> str:
    """Why it is taken for true, in words.  Reasons without words of their own are left to `explain`."""
    return "; ".join(words for one in change.comparison.reasons if (words := _said(one)))


def _said(reason: Reason) -> str:
    return BECAUSE.get(reason.code, "").format(looks=count(int(reason.points), "look"))


def _how_much(change: Change) -> str:
    shares = [reason.points for reason in change.comparison.reasons if reason.code in SHARES]
    return _share_words(shares[0]) if shares else ""


def _share_words(alike: float) -> str:
    return f"about {max(1, round(100 * (1 - alike)))} % of the text differs"


def change_json(
    change: Change, *, url: str, risk: Risk, decided_at: datetime | None, with_diff: bool = False
) -> dict[str, object]:
    compared = change.comparison
    body: dict[str, object] = {
        "change": change.id,
        "url": url,
        "kind": change.kind.value,
        "state": change.state.value,
        "risk": risk.name,
        "observed_at": change.observed_at,
        "decided_at": decided_at,
        "layer": compared.layer.value,
        "similarity": compared.similarity,
        "summary": compared.summary,
        "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in compared.reasons],
        "before": {"visit": change.before_visit, "evidence": change.before_evidence},
        "after": {"visit": change.after_visit, "evidence": change.after_evidence},
    }
    return body | {"diff": diff_json(compared.diff)} if with_diff else body


ROWS = 3
AROUND = 6  # words of the unchanged text that are kept on each side of a difference
INDENT = "    "


def brief(change: Change, *, url: str, risk: Risk, width: int) -> list[Line]:
    """For a view that scrolls: `vedette diff` shows all of it.  The address is folded where it is long, never cut."""
    kind = "" if change.kind.value == "changed" else f"  {change.kind.value}"
    address = [("mark", part) for part in joints(plain(shown(url)))]
    head = line((risk.name, f"{risk.name:<8}"), " ", *address, ("head", kind))
    rows = cut(head, width, ROWS)
    room = ROWS - len(rows)
    told = _told(change.comparison.diff) or [(quoted(change.comparison.summary, "dim"),)]
    if len(told) > 1 and room < 2:
        told = told[-1:]  # what is there now
    found = sum(op.op != "equal" for op in change.comparison.diff)
    more = line(("dim", f"  (and {found - 1} more)")) if found > 1 else ()
    for one in told[:room]:
        tail = more if one is told[-1] else ()
        rows += cut((("", INDENT), *one), width, room // len(told), tail=tail)
    return rows


def _told(diff: Sequence[DiffOp]) -> list[Line]:
    """The first difference: one line with words in their place, or what went and what came."""
    lines = excerpt(sorted(diff, key=lambda op: op.op == "move"), 2)
    own = [one for one in lines if one and one[0][1][:1] in "!+-~"]
    if not own:
        return []
    if own[0][0][1] == "! ":
        return [_near(own[0][1:])]
    is_pair = len(own) > 1 and own[0][0][1].startswith("-") and own[1][0][1].startswith("+")
    return own[: 2 if is_pair else 1]


def _near(spans: Sequence[Span]) -> Line:
    """The words that differ with a few around them."""
    last = len(spans) - 1
    near: list[Span] = []
    for place, (style, text) in enumerate(spans):
        words = text.split()
        if style or not words:
            near.append((style, text))
            continue
        keep = AROUND if place in (0, last) else 2 * AROUND
        if len(words) <= keep + 1:
            near.append((style, text))
            continue
        before, behind = " " * text[:1].isspace(), " " * text[-1:].isspace()
        first, final = " ".join(words[:AROUND]), " ".join(words[-AROUND:])
        if place == 0:
            near.append(("", f"{MORE} {final}{behind}"))
        elif place == last:
            near.append(("", f"{before}{first} {MORE}"))
        else:
            near.append(("", f"{before}{first} {MORE} {final}{behind}"))
    return tuple(near)
