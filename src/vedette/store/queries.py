"""The cold side of the store: questions that people ask, in SQLAlchemy Core, answered with frozen values."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, and_, create_engine, exists, func, or_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from vedette.contracts.errors import StoreError
from vedette.contracts.evidence import Segment
from vedette.contracts.fetching import RobotsRules
from vedette.contracts.lane import LaneState
from vedette.contracts.schedule import PublishedRow
from vedette.contracts.source import Source
from vedette.contracts.watch import Parked, Visit, Watch
from vedette.contracts.words import (
    ChangeId,
    EvidenceId,
    LaneKey,
    Outcome,
    VisitId,
    WatchId,
)
from vedette.core.outcomes import SEEN
from vedette.core.urls import lane_of, watch_id
from vedette.store import queue_schema, views
from vedette.store import schema as t
from vedette.store.connecting import connect, unusable
from vedette.store.rows import (
    WATCH_COLUMNS,
    from_ms,
    lane_id,
    opt_at,
    read_lane,
    read_robots,
    read_source,
    read_watch,
    to_ms,
)
from vedette.store.scheduling import read_published
from vedette.store.statements import (
    LANE_COLUMNS,
    ROBOTS_COLUMNS,
    SEGMENT_COLUMNS,
    SOURCE_COLUMNS,
)

_T = TypeVar("_T")
_TELLING = (Outcome.OK, Outcome.NOT_MODIFIED, Outcome.GONE)  # looks that say whether the content changed
_WATCH = select(*(t.watches.c[name] for name in WATCH_COLUMNS))
_SOURCE = select(*(t.sources.c[name] for name in SOURCE_COLUMNS))
_CHANGE = select(
    t.changes,
    func.coalesce(t.watches.c.url, "").label("watch_url"),
    func.coalesce(t.watches.c.title, "").label("watch_title"),
    func.coalesce(t.watches.c.risk, 1).label("watch_risk"),
    func.coalesce(t.watches.c.source_id, "").label("watch_source"),
).outerjoin_from(t.changes, t.watches, t.watches.c.id == t.changes.c.watch_id)


_EVIDENCE = select(
    t.evidence, t.visits.c.outcome.label("visit_outcome"), t.visits.c.status.label("visit_status")
).outerjoin_from(t.evidence, t.visits, t.visits.c.id == t.evidence.c.id)


class Queries:
    """Sees what is committed.  Close it, or use it in a `with`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._engine = create_engine(
            "sqlite://", creator=lambda: connect(path, read_only=True), poolclass=NullPool
        )
        self._db = self._opened()

    def __enter__(self) -> Queries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()
        self._engine.dispose()

    def watch(self, watch: WatchId) -> Watch | None:
        return self._one(_WATCH.where(t.watches.c.id == watch), read_watch)

    def watches(self, which: views.WatchFilter, *, most: int = 0) -> Iterator[Watch]:
        order = (t.watches.c.due_at, t.watches.c.id) if which.by_due else (t.watches.c.url,)
        query = _limited(_WATCH.where(*_watch_terms(which)).order_by(*order), most)
        return map(read_watch, self._rows(query))

    def count_watches(self, which: views.WatchFilter) -> int:
        query = select(func.count()).select_from(t.watches).where(*_watch_terms(which))
        return int(self._scalar(query) or 0)

    def sources(self) -> list[views.SourceView]:
        """All of them, highest tier first, with how many watches each has."""
        counts = dict(self._rows(select(t.watches.c.source_id, func.count()).group_by(t.watches.c.source_id)))
        query = _SOURCE.order_by(t.sources.c.tier.desc(), t.sources.c.id)
        found = [_source_view(row, counts.get(row[0], 0)) for row in self._rows(query)]
        return [self._with_looks(view) for view in found]

    def source_ids(self) -> list[str]:
        return [row[0] for row in self._rows(select(t.sources.c.id).order_by(t.sources.c.id))]

    def source_lanes(self) -> list[str]:
        """The lanes of what was configured."""
        return sorted({lane_of(row[0]) for row in self._rows(select(t.sources.c.url))})

    def has_pages(self, lane: LaneKey) -> bool:
        """Is anything watched in this lane?"""
        query = select(t.watches.c.id).where(t.watches.c.lane_id == lane_id(lane))
        return self._first(query) is not None

    def source(self, source: str) -> views.SourceView | None:
        count = select(func.count()).select_from(t.watches).where(t.watches.c.source_id == source)
        row = self._first(_SOURCE.where(t.sources.c.id == source))
        return None if row is None else self._with_looks(_source_view(row, int(self._scalar(count) or 0)))

    def visit(self, visit: VisitId) -> Visit | None:
        row = self._first(select(t.visits).where(t.visits.c.id == visit))
        return None if row is None else views.read_visit(row._mapping)

    def visits(self, watch: WatchId, *, most: int) -> list[Visit]:
        """Newest first."""
        visits = t.visits
        query = select(visits).where(visits.c.watch_id == watch).order_by(visits.c.at.desc())
        return [views.read_visit(row._mapping) for row in self._rows(_limited(query, most))]

    def targets(self) -> Iterator[tuple[int, str, int, int]]:
        """Id, URL, risk and creation (ms) of every watch that is looked at."""
        c = t.watches.c
        query = select(c.id, c.url, c.risk, c.created_at).where(c.merged_into.is_(None)).order_by(c.id)
        return (tuple(row) for row in self._rows(query))

    def looks(self, since: datetime | None = None) -> Iterator[tuple[int, int, int | None, bool]]:
        """Watch, time (ms), audit interval (s) and "showed a change" of every look that saw content, or that it was
        gone.  By watch, then by time."""
        visits, changes = t.visits.c, t.changes.c
        shown = exists().where(
            changes.watch_id == visits.watch_id, changes.after_visit == visits.id, changes.state != "rejected"
        )
        terms: list[Any] = [visits.outcome.in_([one.value for one in _TELLING])]
        if since is not None:
            terms.append(visits.at >= to_ms(since))
        query = select(visits.watch_id, visits.at, visits.audit_s, shown).where(*terms)
        return (tuple(row) for row in self._rows(query.order_by(visits.watch_id, visits.at)))

    def requests(self, since: datetime | None = None) -> tuple[int, datetime | None, datetime | None]:
        """How many looks there were of any outcome, the first and the last."""
        terms = () if since is None else (t.visits.c.at >= to_ms(since),)
        at = t.visits.c.at
        query: Any = select(func.count(), func.min(at), func.max(at)).where(*terms)
        row = self._first(query)
        return int(row[0]), opt_at(row[1]), opt_at(row[2])

    def ledger(self, watch: WatchId, *, most: int) -> list[views.LedgerView]:
        """Newest first."""
        ledger = t.ledger
        query = (
            select(ledger).where(ledger.c.watch_id == watch).order_by(ledger.c.at.desc(), ledger.c.id.desc())
        )
        return [views.read_ledger(row._mapping) for row in self._rows(_limited(query, most))]

    def decisions(self, which: views.LedgerFilter) -> Iterator[views.LedgerView]:
        """All that was decided, oldest first."""
        query = select(t.ledger).where(*_ledger_terms(which)).order_by(t.ledger.c.id)
        return (views.read_ledger(row._mapping) for row in self._rows(query))

    def count_decisions(self, which: views.LedgerFilter) -> int:
        """Rows of the ledger."""
        query = select(func.count()).select_from(t.ledger).where(*_ledger_terms(which))
        return int(self._scalar(query) or 0)

    def changes(self, which: views.ChangeFilter, *, most: int = 0) -> Iterator[views.ChangeView]:
        """Newest first."""
        query = _CHANGE.where(*_change_terms(which)).order_by(t.changes.c.observed_at.desc(), t.changes.c.id)
        return (views.read_change(row._mapping) for row in self._rows(_limited(query, most)))

    def change(self, change: ChangeId) -> views.ChangeView | None:
        row = self._first(_CHANGE.where(t.changes.c.id == change))
        return None if row is None else views.read_change(row._mapping)

    def lanes(self) -> list[views.LaneView]:
        query = select(*(t.lanes.c[name] for name in LANE_COLUMNS)).order_by(t.lanes.c.key)
        return [views.LaneView(key=key, state=state) for key, state in map(read_lane, self._rows(query))]

    def lane(self, key: LaneKey) -> LaneState | None:
        query = select(*(t.lanes.c[name] for name in LANE_COLUMNS)).where(t.lanes.c.id == lane_id(key))
        found = self._one(query, read_lane)
        return None if found is None else found[1]

    def looks_asked_of(self, key: LaneKey, *, beside: WatchId) -> float:
        """Looks a day that the watches of this lane are planned for, that one left out."""
        c = t.watches.c
        wait = func.coalesce(c.audit_s, c.interval_s)
        terms = (c.lane_id == lane_id(key), c.due_at.is_not(None), c.id != beside, wait >= 60)
        return float(self._scalar(select(func.sum(86_400.0 / wait)).where(*terms)) or 0.0)

    def asking(self) -> dict[str, Source]:
        """By URL: the sources that ask for an interval."""
        c = t.sources.c
        asks = or_(c.scrape_frequency_s.is_not(None), c.options.contains('"every":', autoescape=True))
        return {source.url: source for source, _ in map(read_source, self._rows(_SOURCE.where(asks)))}

    def due_in(self, key: LaneKey, at: datetime) -> int:
        """How many watches of this lane are due by then."""
        c = t.watches.c
        query = select(func.count()).where(c.lane_id == lane_id(key), c.due_at <= to_ms(at))
        return int(self._scalar(query) or 0)

    def looked_at(self, watches: Sequence[WatchId], *, since: datetime) -> list[Watch]:
        """Those of these that were looked at since then."""
        c = t.watches.c
        return [
            read_watch(row)
            for part in _parts(watches)
            for row in self._rows(_WATCH.where(c.id.in_(part), c.last_visit_at >= to_ms(since)))
        ]

    def not_due(self, watches: Sequence[WatchId], at: datetime, *, since: datetime) -> list[WatchId]:
        """Those of these that are due later than that, or never, and were not looked at since."""
        c = t.watches.c
        later = or_(c.due_at.is_(None), c.due_at > to_ms(at))
        unseen = or_(c.last_visit_at.is_(None), c.last_visit_at < to_ms(since))
        return [
            WatchId(row[0])
            for part in _parts(watches)
            for row in self._rows(select(c.id).where(c.id.in_(part), later, unseen))
        ]

    def count_found(self, parent: WatchId, *, since: datetime) -> int:
        """Watches that this one listed first since then."""
        c = t.watches.c
        query = select(func.count()).where(c.parent_id == parent, c.created_at >= to_ms(since))
        return int(self._scalar(query) or 0)

    def lease(self, watch: WatchId) -> views.LeaseView | None:
        row = self._first(select(t.leases).where(t.leases.c.watch_id == watch))
        if row is None:
            return None
        return views.LeaseView(
            worker=row.worker, taken_at=from_ms(row.taken_at), until_at=from_ms(row.until_at)
        )

    def is_open(self, watch: WatchId) -> bool:
        """Does it wait to be chosen by a hunt?"""
        rows = t.prospects.c
        query = select(rows.watch_id).join(t.watches, t.watches.c.id == rows.watch_id)
        is_open = (rows.watch_id == watch, rows.chosen_at.is_(None), t.watches.c.due_at.is_(None))
        return self._first(query.where(*is_open)) is not None

    def refusal(self, watch: WatchId) -> views.RefusalView | None:
        row = self._first(select(t.refusals).where(t.refusals.c.id == watch))
        return None if row is None else views.read_refusal(row._mapping)

    def parked(self, watch: WatchId | None = None, *, most: int = 0) -> list[Parked]:
        """Newest first."""
        terms = () if watch is None else (t.parked.c.watch_id == watch,)
        query = select(t.parked).where(*terms).order_by(t.parked.c.at.desc())
        return [views.read_parked(row._mapping) for row in self._rows(_limited(query, most))]

    def robots(self, origin: str) -> RobotsRules | None:
        query = select(*(t.robots.c[name] for name in ROBOTS_COLUMNS)).where(t.robots.c.origin == origin)
        return self._one(query, read_robots)

    def evidence(self, watch: WatchId, *, most: int = 0) -> list[views.EvidenceView]:
        """Newest first."""
        query = _EVIDENCE.where(t.evidence.c.watch_id == watch).order_by(t.evidence.c.at.desc())
        return [views.read_evidence(row._mapping) for row in self._rows(_limited(query, most))]

    def evidence_by_id(self, evidence: EvidenceId) -> views.EvidenceView | None:
        row = self._first(_EVIDENCE.where(t.evidence.c.id == evidence))
        return None if row is None else views.read_evidence(row._mapping)

    def artifacts(self, evidence: list[EvidenceId]) -> dict[EvidenceId, list[views.ArtifactView]]:
        """What text was made of these pieces of evidence."""
        found: dict[EvidenceId, list[views.ArtifactView]] = {}
        for start in range(0, len(evidence), 500):
            named = t.artifacts.c.evidence_id.in_(evidence[start : start + 500])
            for row in self._rows(select(t.artifacts).where(named).order_by(t.artifacts.c.kind)):
                one = views.read_artifact(row._mapping)
                found.setdefault(one.evidence, []).append(one)
        return found

    def evidence_by_digest(self, digest: bytes) -> list[views.EvidenceView]:
        query = _EVIDENCE.where(t.evidence.c.digest == digest).order_by(t.evidence.c.at)
        return [views.read_evidence(row._mapping) for row in self._rows(query)]

    def segments(self) -> list[Segment]:
        query = select(*(t.segments.c[name] for name in SEGMENT_COLUMNS)).order_by(t.segments.c.name)
        return [Segment(**row._mapping) for row in self._rows(query)]

    def runs(self, *, most: int) -> list[views.RunView]:
        query = _limited(select(t.runs).order_by(t.runs.c.started_at.desc()), most)
        return [views.read_run(row._mapping) for row in self._rows(query)]

    def published(self, version: int | None = None) -> PublishedRow | None:
        """What the scheduler published, in that version or last."""
        query = select(t.published).order_by(t.published.c.version.desc()).limit(1)
        if version is not None:
            query = query.where(t.published.c.version == version)
        row = next(iter(self._rows(query)), None)
        return None if row is None else read_published(tuple(row))

    def clock(self, number: int) -> bytes | None:
        """A clock of a host that was published."""
        found: bytes | None = self._scalar(select(t.clocks.c.data).where(t.clocks.c.id == number))
        return found

    def running(self) -> str:
        """The sums of the scheduler, as JSON; empty: it has none yet."""
        return str(self._scalar(select(t.scheduler.c.running)) or "")

    def counts(self) -> dict[str, int]:
        """Rows by table."""
        return {
            table.name: int(self._scalar(select(func.count()).select_from(table)) or 0)
            for table in queue_schema.metadata.sorted_tables
        }

    def _with_looks(self, view: views.SourceView) -> views.SourceView:
        """How the looks at its own address ended; where that was merged, at the one that is looked at instead."""
        visits, watches = t.visits.c, t.watches.c
        own = watch_id(view.source.url)
        row = self._first(select(watches.merged_into, watches.last_outcome).where(watches.id == own))
        if row is None:
            return view
        if row.merged_into is not None:
            own = WatchId(row.merged_into)
        of_it = select(visits.at, visits.outcome, visits.detail).where(visits.watch_id == own)
        last = self._first(of_it.order_by(visits.at.desc()))
        good = last
        if last is not None and Outcome(last.outcome) not in SEEN:
            was_seen = visits.outcome.in_([outcome.value for outcome in SEEN])
            good = self._first(of_it.where(was_seen).order_by(visits.at.desc()))
        times = [at for at in (good and from_ms(good.at), view.state.last_success_at) if at]
        return replace(
            view,
            last_success_at=max(times, default=None),
            last_outcome=Outcome(last.outcome) if last else None,
            last_detail=last.detail if last else "",
        )

    def _opened(self) -> Connection:
        try:
            return self._engine.connect()
        except DBAPIError as error:
            raise self._broken(error) from None

    def _rows(self, query: Select[Any]) -> Iterator[Any]:
        try:
            yield from self._db.execute(query)
        except DBAPIError as error:
            raise self._broken(error) from None

    def _first(self, query: Select[Any]) -> Any:
        return next(self._rows(query.limit(1)), None)

    def _one(self, query: Select[Any], read: Callable[[Any], _T]) -> _T | None:
        row = self._first(query)
        return None if row is None else read(row)

    def _scalar(self, query: Select[Any]) -> Any:
        row = self._first(query)
        return None if row is None else row[0]

    def _broken(self, error: DBAPIError) -> StoreError:
        why = error.orig if isinstance(error.orig, sqlite3.Error) else sqlite3.DatabaseError(str(error.orig))
        return StoreError(unusable(self._path, why))


def _watch_terms(which: views.WatchFilter) -> list[Any]:
    c = t.watches.c
    terms: list[Any] = []
    if which.source is not None:
        terms.append(c.source_id == which.source)
    if which.host is not None:
        terms.append(c.lane_id == lane_id(LaneKey(f"host:{which.host}")))
    if which.risk is not None:
        terms.append(c.risk == int(which.risk))
    if which.outcome is not None:
        terms.append(c.last_outcome == which.outcome.value)
    if which.text:
        parts = (column.icontains(which.text, autoescape=True) for column in (c.url, c.title))
        terms.append(or_(*parts))
    if which.due_before is not None:
        terms.append(and_(c.due_at.is_not(None), c.due_at <= to_ms(which.due_before)))
    if which.tier is not None:
        terms.append(c.source_id.in_(select(t.sources.c.id).where(t.sources.c.tier == int(which.tier))))
    only = (
        (which.only_listings, c.lister.is_not(None)),
        (which.only_scheduled, c.due_at.is_not(None)),
        (which.only_unseen, c.last_outcome.not_in([outcome.value for outcome in SEEN])),
    )
    return [*terms, *(term for is_asked, term in only if is_asked)]


def _ledger_terms(which: views.LedgerFilter) -> list[Any]:
    c = t.ledger.c
    terms: list[Any] = []
    if which.watch is not None:
        terms.append(c.watch_id == which.watch)
    if which.since is not None:
        terms.append(c.at >= to_ms(which.since))
    return terms


def _change_terms(which: views.ChangeFilter) -> list[Any]:
    c = t.changes.c
    terms: list[Any] = []
    if which.since is not None:
        terms.append(c.observed_at >= to_ms(which.since))
    if which.until is not None:
        terms.append(c.observed_at < to_ms(which.until))
    if which.risk is not None:
        terms.append(t.watches.c.risk >= int(which.risk))
    if which.states:
        terms.append(c.state.in_([state.value for state in which.states]))
    if which.watch is not None:
        terms.append(c.watch_id == which.watch)
    if which.source is not None:
        terms.append(t.watches.c.source_id == which.source)
    return terms


def _parts(ids: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (ids[start : start + 500] for start in range(0, len(ids), 500))


def _limited(query: Select[Any], most: int) -> Select[Any]:
    return query.limit(most) if most else query


def _source_view(row: Sequence[Any], watches: int) -> views.SourceView:
    source, state = read_source(row)
    return views.SourceView(
        source=source,
        state=state,
        created_at=from_ms(row[SOURCE_COLUMNS.index("created_at")]),
        watches=watches,
    )
