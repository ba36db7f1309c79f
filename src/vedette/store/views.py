"""What queries give: frozen values for people and programs, never raw rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from vedette.contracts.change import (
    Change,
    ChangeState,
)
from vedette.contracts.documents import Artifact
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import Decision, Parked, Refused, SourceState, Visit
from vedette.contracts.words import (
    EvidenceId,
    LaneKey,
    Outcome,
    Reason,
    Risk,
    RunId,
    SourceId,
    VisitId,
    WatchId,
)
from vedette.store import rows
from vedette.store.row_columns import CHANGE_COLUMNS
from vedette.store.rows import from_ms, opt_at

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFilter:
    """Which watches; what is not given does not filter."""

    source: str | None = None
    host: str | None = None
    risk: Risk | None = None
    outcome: Outcome | None = None
    text: str | None = None  # part of the URL or the title
    due_before: datetime | None = None
    only_listings: bool = False
    only_scheduled: bool = False
    only_kept: bool = False  # whose source was not removed
    only_unseen: bool = False  # whose last look did not show them
    tier: Risk | None = None  # of its source
    sources: tuple[str, ...] | None = None  # of one of these
    by_due: bool = False  # in order of due time; otherwise in order of URL
    after: tuple[int | None, str] | None = None  # due time (ms) and URL of the last one of the page before


class WatchLine(NamedTuple):
    """A watch as lists show it, in the order of LINE_COLUMNS.

    Lists are long: what is costly to make of a column is made where it is asked for.
    """

    url: str
    title: str
    source: str
    lister: str | None
    node_type: str
    node_role: str | None
    rank: int  # of its risk
    velocity: float
    interval_s: int
    due_ms: int | None
    outcome: str | None  # of the last look
    visited_ms: int | None
    changed_ms: int | None
    merged_into: int | None

    @property
    def risk(self) -> Risk:
        return _RISKS[self.rank]

    @property
    def last_outcome(self) -> Outcome | None:
        return _OUTCOMES[self.outcome] if self.outcome else None

    @property
    def due_at(self) -> datetime | None:
        return opt_at(self.due_ms)

    @property
    def last_visit_at(self) -> datetime | None:
        return opt_at(self.visited_ms)


LINE_COLUMNS = (
    "url title source_id lister node_type node_role risk velocity interval_s due_at last_outcome last_visit_at "
    "last_changed_at merged_into"
).split()
_RISKS = tuple(Risk)
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """Which changes; what is not given does not filter."""

    since: datetime | None = None
    until: datetime | None = None
    risk: Risk | None = None  # this and graver
    states: tuple[ChangeState, ...] = ()
    watch: WatchId | None = None
    source: str | None = None
    sources: tuple[str, ...] | None = None  # of one of these
    text: str | None = None  # part of the URL, the title or the summary
    mark: str | None = None  # useful, noise; anything else: what nobody marked
    after: tuple[int, int] | None = None  # time (ms) and id of the last one of the page before


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    source: Source
    state: SourceState
    created_at: datetime
    watches: int = 0
    last_success_at: datetime | None = None  # of a look at its own address
    last_outcome: Outcome | None = None  # of the same; None: never looked at
    last_detail: str = ""
    read_as: ListerKind | None = None  # what `auto` became; None: it has not looked yet


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """A change with the target it happened on."""

    change: Change
    url: str
    title: str
    risk: Risk
    source: SourceId
    decided_at: datetime | None
    mark: str = ""  # what people say of it: useful, noise


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """What was decided at one visit, or by the operator."""

    at: datetime
    kind: str  # visit | lane | run | operator
    run: RunId
    visit: VisitId | None
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFilter:
    """Which rows of the ledger; every term narrows."""

    watch: WatchId | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneView:
    key: LaneKey
    state: LaneState


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseView:
    worker: str
    taken_at: datetime
    until_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalView:
    refused: Refused
    first_at: datetime
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactView:
    """Text made from a piece of evidence, and when."""

    evidence: EvidenceId
    artifact: Artifact
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenshotView:
    """A picture of a piece of evidence, and where its visit lies in the archive."""

    visit: VisitId
    evidence: EvidenceId
    at: datetime
    width: int
    height: int
    page_height: int  # more than `height`: only the upper part is in the picture
    size: int  # bytes
    segment: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceView:
    id: EvidenceId
    watch: WatchId
    url: str
    at: datetime
    digest: bytes
    content_class: str
    content_type: str
    size: int
    segment: str
    offset: int
    length: int
    standing: str  # contracts/watch.py Standing
    same_as: EvidenceId | None
    outcome: str | None  # of the look that kept it
    status: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    id: RunId
    started_at: datetime
    ended_at: datetime | None
    policy: str
    rules: str  # the configured rules, as JSON
    ended_by: str | None


def read_visit(row: Row) -> Visit:
    return Visit(
        id=VisitId(row["id"]),
        watch=WatchId(row["watch_id"]),
        run=RunId(row["run_id"]),
        at=from_ms(row["at"]),
        took=timedelta(milliseconds=row["took_ms"]),
        outcome=Outcome(row["outcome"]),
        url=row["url"],
        status=row["status"],
        changed=bool(row["changed"]),
        digest=row["digest"],
        evidence=row["evidence_id"],
        text_chars=row["text_chars"],
        wire_bytes=row["wire_bytes"],
        detail=row["detail"],
        audit=None if row["audit_s"] is None else timedelta(seconds=row["audit_s"]),
    )


def read_change(row: Row) -> ChangeView:
    return ChangeView(
        change=rows.read_change([row[name] for name in CHANGE_COLUMNS]),
        url=row["watch_url"],
        title=row["watch_title"],
        risk=Risk(row["watch_risk"]),
        source=SourceId(row["watch_source"]),
        decided_at=opt_at(row["decided_at"]),
        mark=row["mark"],
    )


def read_ledger(row: Row) -> LedgerView:
    return LedgerView(
        at=from_ms(row["at"]),
        kind=row["kind"],
        run=RunId(row["run_id"]),
        visit=None if row["visit_id"] is None else VisitId(row["visit_id"]),
        decisions=tuple(_decision(part) for part in json.loads(row["payload"])),
    )


def read_parked(row: Row) -> Parked:
    return Parked(
        watch=WatchId(row["watch_id"]),
        url=row["url"],
        outcome=Outcome(row["outcome"]),
        detail=row["detail"],
        attempts=row["attempts"],
        at=from_ms(row["at"]),
    )


def read_lease(row: Row) -> LeaseView:
    return LeaseView(
        worker=row["worker"], taken_at=from_ms(row["taken_at"]), until_at=from_ms(row["until_at"])
    )


def read_refusal(row: Row) -> RefusalView:
    refused = Refused(
        url=row["url"],
        id=WatchId(row["id"]),
        source=SourceId(row["source_id"]),
        reason=Reason(row["reason"], note=row["note"]),
        at=from_ms(row["last_at"]),
    )
    return RefusalView(refused=refused, first_at=from_ms(row["first_at"]), count=row["count"])


def read_evidence(row: Row) -> EvidenceView:
    return EvidenceView(
        id=EvidenceId(row["id"]),
        watch=WatchId(row["watch_id"]),
        url=row["url"],
        at=from_ms(row["at"]),
        digest=row["digest"],
        content_class=row["content_class"],
        content_type=row["content_type"],
        size=row["size"],
        segment=row["segment"],
        offset=row["offset"],
        length=row["length"],
        standing=row["standing"],
        same_as=row["same_as"],
        outcome=row["visit_outcome"],
        status=row["visit_status"],
    )


def read_screenshot(row: Row) -> ScreenshotView:
    names = ("width", "height", "page_height", "size", "segment", "offset", "length")
    return ScreenshotView(
        visit=VisitId(row["visit_id"]),
        evidence=EvidenceId(row["evidence_id"]),
        at=from_ms(row["at"]),
        **{name: row[name] for name in names},
    )


def read_artifact(row: Row) -> ArtifactView:
    made = Artifact(
        kind=row["kind"],
        reader=row["reader"],
        chars=row["chars"],
        confidence=row["confidence"],
        path=row["path"],
    )
    return ArtifactView(evidence=EvidenceId(row["evidence_id"]), artifact=made, at=from_ms(row["at"]))


def read_run(row: Row) -> RunView:
    return RunView(
        id=RunId(row["id"]),
        started_at=from_ms(row["started_at"]),
        ended_at=opt_at(row["ended_at"]),
        policy=row["policy"],
        rules=row["rules"],
        ended_by=row["ended_by"],
    )


def _decision(part: Mapping[str, Any]) -> Decision:
    return Decision(
        action=part["action"],
        reasons=_reasons(part.get("reasons") or ()),
        inputs=dict(part.get("inputs") or {}),
        output=part.get("output"),
    )


def _reasons(triples: Any) -> tuple[Reason, ...]:
    return tuple(Reason(code, float(points), note) for code, points, note in triples)


def source_view(row: Sequence[Any], watches: int) -> SourceView:
    source, state = rows.read_source(row)
    return SourceView(
        source=source,
        state=state,
        created_at=rows.source_made_at(row),
        watches=watches,
    )


def read_as(lister: str | None) -> ListerKind | None:
    """How an address is read; nothing as long as that is still to be found out."""
    return None if lister in (None, ListerKind.AUTO.value) else ListerKind(lister)
