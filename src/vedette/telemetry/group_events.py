"""What a committed group says to the world."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.contracts.events import (
    BreakerOpened,
    Changed,
    Event,
    LedgerNoted,
    LookParked,
    PagesFound,
    Visited,
)
from vedette.contracts.watch import Group, LedgerNote, Placed
from vedette.contracts.words import LaneKey


def events_of(group: Group) -> Iterator[Event]:
    """In order."""
    for placed in group.placed:
        yield from _of_visit(placed)
    for note in group.notes:
        yield _of_note(note)


def _of_note(note: LedgerNote) -> Event:
    decision = note.decision
    if decision.action == "breaker":
        return BreakerOpened(at=note.at, reasons=decision.reasons, lane=LaneKey(str(decision.inputs["lane"])))
    return LedgerNoted(at=note.at, decision=decision)


def _of_visit(placed: Placed) -> Iterator[Event]:
    settled, written = placed.settlement, placed.written
    visit, watch = settled.visit, settled.watch
    yield Visited(
        at=visit.at,
        url=watch.url,
        visit=visit.id,
        outcome=visit.outcome,
        status=visit.status,
        seconds=visit.took,
        changed=visit.changed,
        digest=visit.digest or None,
        evidence=placed.evidence,
        segment=written.segment,
        offset=written.offset,
        length=written.length,
        source=watch.source,
        detail=visit.detail,
    )
    if settled.found:
        yield PagesFound(at=visit.at, url=watch.url, count=len(settled.found), source=watch.source)
    if settled.parked is not None:
        parked = settled.parked
        yield LookParked(at=visit.at, url=watch.url, outcome=parked.outcome, attempts=parked.attempts)
    for report in settled.reports:
        yield Changed(
            at=visit.at,
            url=watch.url,
            change=report.id,
            kind=report.kind.value,
            risk=watch.risk,
            summary=report.comparison.summary,
            layer=report.comparison.layer.value,
            before=report.before_visit,
            after=report.after_visit,
            observed_at=report.observed_at,
        )
