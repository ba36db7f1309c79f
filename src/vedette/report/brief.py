"""One change in at most three lines of a screen: where, and what differs."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.contracts.change import Change, DiffOp
from vedette.contracts.words import Risk
from vedette.core.urls.canonical import shown
from vedette.report.diffs import excerpt
from vedette.report.fold import MORE, cut, joints
from vedette.report.lines import Line, Span, line, quoted
from vedette.report.plain import plain

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
