"""What the world hears of a run, one class per fact.  Log lines, the live view and `--json` follow from the same value.

Fields stand in the order of the JSON line.  An event of a visit is emitted after its commit, never before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from vedette.contracts.alerts import ChannelName
from vedette.contracts.copies import quick
from vedette.contracts.watch import Decision
from vedette.contracts.words import (
    ChangeId,
    EvidenceId,
    LaneKey,
    Outcome,
    Reason,
    Risk,
    RunId,
    SourceId,
    VisitId,
)


def _key(name: str) -> Any:
    """The field stands under this word in the line."""
    return field(metadata={"key": name})


def _where_known() -> Any:
    """The line has the field only where it is known."""
    return field(default=None, metadata={"optional": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact."""

    at: datetime

    @property
    def name(self) -> str:
        return NAMES[type(self)]

    @property
    def fields(self) -> dict[str, object]:
        """As the line has them."""
        found: dict[str, object] = {}
        for attribute, key, is_optional in _KEYS[type(self)]:
            value = getattr(self, attribute)
            if value is not None or not is_optional:
                found[key] = _plain(value)
        return found

    def line(self) -> str:
        """One JSON object; control characters are escaped by JSON itself."""
        body = {"event": self.name, "at": self.at.isoformat(), **self.fields}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


# Of a run.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    run: RunId


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Visited(Event):
    """A look was settled."""

    url: str
    visit: VisitId | None = None
    outcome: Outcome
    status: int | None = None
    seconds: timedelta = timedelta(0)
    changed: bool = False
    digest: bytes | None = None
    evidence: EvidenceId | None = None
    segment: str = ""
    offset: int | None = None
    length: int | None = None
    source: SourceId | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesFound(Event):
    url: str
    count: int
    source: SourceId


@dataclass(frozen=True, slots=True, kw_only=True)
class LookParked(Event):
    url: str
    outcome: Outcome
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Event):
    """A change was reported."""

    url: str
    change: ChangeId
    kind: str = ""
    risk: Risk
    summary: str = ""
    layer: str = ""
    before: VisitId | None = None
    after: VisitId | None = None
    observed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerOpened(Event):
    reasons: tuple[Reason, ...]
    lane: LaneKey


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerNoted(Event):
    """Any other decision that belongs to no look.  Its name is its action, its fields are its inputs."""

    decision: Decision

    @property
    def name(self) -> str:
        return self.decision.action

    @property
    def fields(self) -> dict[str, object]:
        return {"reasons": _plain(self.decision.reasons), **self.decision.inputs}


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePrivate(Event):
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused(Event):
    """The store takes nothing just now."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed(Event):
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSet(Event):
    seconds: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockHealed(Event):
    watches: int
    lanes: int
    others: int
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSeen(Event):
    """A page that the run did not see."""

    url: str
    source: SourceId
    outcome: Outcome
    detail: str
    count: int
    again_at: datetime | None
    is_dead_link: bool
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult(Event):
    run: RunId
    result: Mapping[str, object]  # in the words of spec 001/10.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    run: RunId
    by: str
    visits: int
    sightings: int
    wire_bytes: int
    errors: int
    error: str | None = _where_known()


# Of what goes on beside it.


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemTold(Event):
    """A fault of ours, or of the store."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryWarning(Event):
    logger: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving(Event):
    listen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerted(Event):
    type: str
    subject: str
    alert: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered(Event):
    subject: str
    alert: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesChecked(Event):
    unhealthy: int
    sources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeTold(Event):
    """An attempt to send ended."""

    notice: str
    channel: ChannelName
    outcome: Outcome
    detail: str | None = _where_known()


@dataclass(frozen=True, slots=True, kw_only=True)
class CronQueued(Event):
    job: str = _key("name")
    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted(Event):
    job: str
    queue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded(Event):
    job: str
    status: str
    seconds: timedelta
    checked: int | None = _where_known()
    errors: int | None = _where_known()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailed(Event):
    job: str
    queue: str
    error: str
    attempt: int
    again_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnded(Event):
    completed: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelNoted(Event):
    action: str
    subject: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsRefreshed(Event):
    asked: int
    listed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGone(Event):
    model: str
    successor: str


# The name of each, in lines that other programs read.
NAMES: Mapping[type[Event], str] = {
    RunStarted: "run_started",
    Visited: "visited",
    PagesFound: "found",
    LookParked: "parked",
    Changed: "changed",
    BreakerOpened: "breaker",
    MadePrivate: "made_private",
    Paused: "paused",
    Resumed: "resumed",
    ClockSet: "clock_set",
    ClockHealed: "clock_healed",
    NotSeen: "not_seen",
    RunResult: "run_result",
    RunEnded: "run_ended",
    ProblemTold: "problem",
    LibraryWarning: "library",
    Serving: "serving",
    Alerted: "alerted",
    Recovered: "recovered",
    SourcesChecked: "checked",
    NoticeTold: "told",
    CronQueued: "queued",
    JobStarted: "job_started",
    JobEnded: "job_ended",
    JobFailed: "job_failed",
    WorkerEnded: "worker_ended",
    PanelNoted: "panel_noted",
    ModelsRefreshed: "models_refreshed",
    ModelGone: "model_gone",
}


def _keys(kind: type[Event]) -> tuple[tuple[str, str, bool], ...]:
    """Attribute, key in the line, and whether it may be left out."""
    return tuple(
        (one.name, one.metadata.get("key", one.name), one.metadata.get("optional", False))
        for one in fields(kind)
        if one.name != "at"
    )


_KEYS = {kind: _keys(kind) for kind in NAMES}


def _plain(value: object) -> object:
    """A value of ours as JSON has it."""
    match value:
        case Risk():
            return value.name
        case Enum():
            return value.value
        case bytes():
            return value.hex()
        case datetime():
            return value.isoformat()
        case timedelta():
            return round(value.total_seconds(), 3)
        case tuple():
            return [[one.code, one.note] if isinstance(one, Reason) else one for one in value]
        case _:
            return value
