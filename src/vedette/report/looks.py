"""What an ordered look saw, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from vedette.contracts.change import Change
from vedette.contracts.watch import Visit, Watch
from vedette.contracts.words import Outcome, Risk
from vedette.core.lanes.outcomes import MEANING
from vedette.core.urls.canonical import shown
from vedette.report.changes import change_json, change_lines
from vedette.report.plain import Line, line, quoted
from vedette.report.why_not import WhyNotAnswer

SAW = (Outcome.OK, Outcome.NOT_MODIFIED)


class Saw(StrEnum):
    FIRST = "first"  # kept; there is nothing to compare it with
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    UNCONFIRMED = "unconfirmed"  # it differs, and its second look was not waited for
    FAILED = "failed"
    NOT_SEEN = "not_seen"


IS_SEEN = frozenset((Saw.FIRST, Saw.UNCHANGED, Saw.CHANGED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """One ordered look."""

    watch: Watch
    is_first: bool = False  # nothing of it was kept before
    visit: Visit | None = None  # the last one since the order; None: there was none
    changes: tuple[Change, ...] = ()  # reported since the order
    found: int = 0  # new targets that it listed
    why: WhyNotAnswer | None = None  # why there was no look

    @property
    def saw(self) -> Saw:
        if self.visit is None:
            return Saw.NOT_SEEN
        if self.changes:
            return Saw.CHANGED
        if self.visit.outcome not in SAW:
            return Saw.FAILED
        if self.watch.pending is not None:
            return Saw.UNCONFIRMED
        return Saw.FIRST if self.is_first else Saw.UNCHANGED


def looked_lines(one: Looked) -> list[Line]:
    if one.changes:
        risk: Risk = one.watch.risk
        return [spans for c in one.changes for spans in change_lines(c, url=one.watch.url, risk=risk)]
    style = "" if one.saw in IS_SEEN else "warn"
    head = line((style, f"{_WORDS[one.saw]:<10}"), "  ", quoted(shown(one.watch.url), "mark"), "  ")
    remedy = one.why.remedy if one.why else ""
    rest = [line(("dim", "    "), quoted(remedy, "dim"))] if remedy else []
    return [(*head, quoted(_said(one), limit=400)), *rest]


_WORDS = {
    Saw.FIRST: "first look",
    Saw.UNCHANGED: "unchanged",
    Saw.CHANGED: "changed",
    Saw.UNCONFIRMED: "differs",
    Saw.FAILED: "failed",
    Saw.NOT_SEEN: "not seen",
}


def _said(one: Looked) -> str:
    visit = one.visit
    if visit is None:
        return one.why.sentence if one.why else ""
    if one.saw is Saw.FAILED:
        detail = f" ({visit.detail})" if visit.detail else ""
        return f"{visit.outcome.value}: {MEANING[visit.outcome].words}{detail}"
    if one.saw is Saw.UNCONFIRMED:
        return "its second look was not waited for; the next run makes it"
    said = [] if visit.text_chars is None else [f"{visit.text_chars:,} characters"]
    said += [f"{one.found} new found"] if one.found else []
    return ", ".join(said)


def looked_json(one: Looked) -> dict[str, object]:
    visit, why = one.visit, one.why
    url, risk = one.watch.url, one.watch.risk
    return {
        "url": url,
        "saw": one.saw.value,
        "at": None if visit is None else visit.at,
        "outcome": None if visit is None else visit.outcome.value,
        "status": None if visit is None else visit.status,
        "detail": "" if visit is None else visit.detail,
        "found": one.found,
        "changes": [change_json(c, url=url, risk=risk, decided_at=None, with_diff=True) for c in one.changes],
        "reason": None if why is None else why.code,
        "answer": None if why is None else why.sentence,
        "remedy": None if why is None else why.remedy,
        "due_at": one.watch.due_at,
    }


def summary(looks: Sequence[Looked]) -> str:
    """`3 looked at: 1 changed, 2 unchanged; 1 not seen`."""
    counts = {saw: sum(one.saw is saw for one in looks) for saw in Saw}
    seen = [f"{counts[saw]} {_WORDS[saw]}" for saw in Saw if counts[saw] and saw in IS_SEEN]
    missed = [f"{counts[saw]} {_WORDS[saw]}" for saw in Saw if counts[saw] and saw not in IS_SEEN]
    return "; ".join(", ".join(part) for part in (seen, missed) if part) or "nothing to look at"


def looks_json(looks: Sequence[Looked], ordered_at: datetime) -> dict[str, object]:
    missed = sum(one.saw not in IS_SEEN for one in looks)
    return {
        "ordered_at": ordered_at,
        "looks": [looked_json(one) for one in looks],
        "seen": len(looks) - missed,
        "not_seen": missed,
    }
