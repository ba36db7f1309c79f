"""One event per fact, with words of the glossary.  An event of a visit is emitted after its commit, never before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from vedette.contracts.watch import Group, Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact that is on disk."""

    name: str  # visited | changed | found | refused | parked | breaker | run_started | run_ended | problem
    at: datetime
    fields: dict[str, object] = field(default_factory=dict)

    def line(self) -> str:
        """One JSON object; control characters are escaped by JSON itself."""
        body = {"event": self.name, "at": self.at.isoformat(), **self.fields}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def events_of(group: Group) -> Iterator[Event]:
    """What a committed group says to the world, in order."""
    for placed in group.placed:
        yield from _of_visit(placed)
    for note in group.notes:
        fields: dict[str, object] = {"reasons": [[r.code, r.note] for r in note.decision.reasons]}
        yield Event(name=note.decision.action, at=note.at, fields=fields | note.decision.inputs)


def _of_visit(placed: Placed) -> Iterator[Event]:
    settled, written = placed.settlement, placed.written
    visit, watch = settled.visit, settled.watch
    yield Event(
        name="visited",
        at=visit.at,
        fields={
            "url": watch.url,
            "visit": visit.id,
            "outcome": visit.outcome.value,
            "status": visit.status,
            "seconds": round(visit.took.total_seconds(), 3),
            "changed": visit.changed,
            "digest": visit.digest.hex() if visit.digest else None,
            "evidence": placed.evidence,
            "segment": written.segment,
            "offset": written.offset,
            "length": written.length,
            "source": watch.source,
            "detail": visit.detail,
        },
    )
    if settled.found:
        fields: dict[str, object] = {"url": watch.url, "count": len(settled.found), "source": watch.source}
        yield Event(name="found", at=visit.at, fields=fields)
    if settled.parked is not None:
        words: dict[str, object] = {"url": watch.url, "outcome": settled.parked.outcome.value}
        words["attempts"] = settled.parked.attempts
        yield Event(name="parked", at=visit.at, fields=words)
    for report in settled.reports:
        yield Event(
            name="changed",
            at=visit.at,
            fields={
                "url": watch.url,
                "change": report.id,
                "kind": report.kind.value,
                "risk": watch.risk.name,
                "summary": report.comparison.summary,
                "layer": report.comparison.layer.value,
                "before": report.before_visit,
                "after": report.after_visit,
                "observed_at": report.observed_at.isoformat(),
            },
        )
