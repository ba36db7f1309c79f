"""The rows of the scheduler and of a hunt: read on the settler's own connection, written with its group."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from vedette.contracts.hunt import HuntRecord, HuntRows, HuntState, Open, Waiting
from vedette.contracts.schedule import HostBelief, HubBelief, Leaf, PublishedRow, ScheduleRows
from vedette.contracts.words import LaneKey, Risk, SourceId, WatchId
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.connection import in_parts, marks
from vedette.store.row_columns import (
    HOST_COLUMNS,
    HUB_COLUMNS,
    HUNT_COLUMNS,
    LEAF_COLUMNS,
    PUBLISHED_COLUMNS,
    reader,
    writer,
)
from vedette.store.rows import RISKS, from_ms, lane_id, opt_at, opt_ms, opt_seconds, to_ms


class ScheduleReader:
    """What the scheduler reads.  Implements the `ScheduleSide` of the engine."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def hosts(self, lanes: Sequence[LaneKey]) -> list[HostBelief]:
        return [_read_host(row) for row in self._by_id(sql.HOSTS_BY_ID, [lane_id(key) for key in lanes])]

    def hubs(self, watches: Sequence[WatchId]) -> list[HubBelief]:
        return [_read_hub(row) for row in self._by_id(sql.HUBS_BY_ID, watches)]

    def clocks(self, ids: Sequence[int]) -> dict[int, bytes]:
        return dict(self._by_id(sql.CLOCKS_BY_ID, ids))

    def leaves(self, watches: Sequence[WatchId]) -> list[Leaf]:
        return [read_leaf(row) for row in self._by_id(sql.LEAVES_BY_ID, watches)]

    def published(self) -> PublishedRow | None:
        row = self._db.execute(sql.LAST_PUBLISHED).fetchone()
        return None if row is None else read_published(row)

    def running(self) -> str:
        row = self._db.execute(sql.RUNNING).fetchone()
        return "" if row is None else str(row[0])

    def scheduled(self) -> int:
        """How many watches have a due time."""
        return int(self._db.execute(sql.COUNT_SCHEDULED).fetchone()[0])

    def sample(self, after: int, most: int) -> list[Leaf]:
        """Scheduled watches with ids above `after`, in order."""
        return [read_leaf(row) for row in self._db.execute(sql.LEAVES_FROM, (after, most))]

    def planned(self, after: int, most: int, *, now: datetime) -> list[Leaf]:
        """The same of those that wait for nothing but their time."""
        return [read_leaf(row) for row in self._db.execute(sql.PLANNED_FROM, (after, to_ms(now), most))]

    def crawl_delay(self, lane: LaneKey) -> timedelta | None:
        """What robots.txt of this host asks for."""
        row = self._db.execute(sql.CRAWL_DELAY, (lane_id(lane),)).fetchone()
        return None if row is None or row[0] is None else timedelta(milliseconds=row[0])

    def _by_id(self, query: str, ids: Sequence[int]) -> Iterator[Any]:
        return in_parts(self._db, query, ids)


def schedule_statements(rows: ScheduleRows) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """After the watches of the group were moved: a mark and a new due time come on top."""
    published = rows.published
    return [
        (sql.SAVE_HOST, [_host_row(one) for one in rows.hosts]),
        (sql.SAVE_HUB, [_hub_row(one) for one in rows.hubs]),
        (sql.SAVE_CLOCK, list(rows.clocks)),
        (sql.SAVE_PUBLISHED, [] if published is None else [_published_row(published)]),
        (sql.SAVE_SCHEDULER, [(1, rows.running)] if rows.running else []),
        (sql.MARK_WATCH, [(belief, watch) for watch, belief in rows.marks]),
        (sql.TRY_AGAIN, [(to_ms(at), lane_id(lane), to_ms(at)) for lane, at in rows.back]),
        (
            sql.REPLAN_WATCH,
            [(to_ms(due_at), opt_seconds(wait), leaf.id) for leaf, due_at, wait in rows.replanned],
        ),
    ]


read_published = reader(
    PublishedRow, PUBLISHED_COLUMNS, version="version", at=("at", from_ms), body="body", clock="clock_id"
)
_published_row = writer(PUBLISHED_COLUMNS, version="version", at=("at", to_ms), body="body", clock_id="clock")
read_leaf = reader(
    Leaf,
    LEAF_COLUMNS,
    id="id",
    lane=("url", lane_of),
    risk=("risk", RISKS),
    parent="parent_id",
    belief="belief",
    created_at=("created_at", from_ms),
    due_at=("due_at", opt_at),
    is_listing=("lister", lambda lister: lister not in (None, "page", "crawl")),
)


def _together(*values: Any) -> tuple[Any, ...]:
    return values


_read_host = reader(
    HostBelief,
    HOST_COLUMNS,
    lane="key",
    counts="counts",
    quality=(("named", "missed", "invented", "room"), _together),
    dates=(("dates_good", "dates_bad"), _together),
    streak="streak",
    failed_at="failed_at",
    dear="dear",
    clock="clock_id",
    fresh="fresh",
    lively=(("firsts", "firsts_due"), _together),
)
_host_row = writer(
    HOST_COLUMNS,
    lane_id=("lane", lane_id),
    key="lane",
    counts="counts",
    named=("quality", itemgetter(0)),
    missed=("quality", itemgetter(1)),
    invented=("quality", itemgetter(2)),
    room=("quality", itemgetter(3)),
    dates_good=("dates", itemgetter(0)),
    dates_bad=("dates", itemgetter(1)),
    streak="streak",
    failed_at="failed_at",
    dear="dear",
    clock_id="clock",
    fresh="fresh",
    firsts=("lively", itemgetter(0)),
    firsts_due=("lively", itemgetter(1)),
)
_HUB = {name: name for name in HUB_COLUMNS if name not in ("watch_id", "key")}
_read_hub = reader(HubBelief, HUB_COLUMNS, watch="watch_id", lane="key", **_HUB)
_hub_row = writer(HUB_COLUMNS, watch_id="watch", key="lane", **_HUB)


# The rows of a hunt.

_read_state = reader(HuntState, HUNT_COLUMNS, number="number", empty_at=("empty_at", opt_at), after="after")


class HuntReader:
    """What a hunt reads.  Implements the `HuntSide` of the engine."""

    def __init__(self, db: sqlite3.Connection, pick: str = "") -> None:
        """`pick`: SQL about the watch `w`, of a run that looks at a part only."""
        self._db = db
        self._open, self._waiting = sql.open_and_waiting(pick)

    def state(self) -> HuntState:
        row = self._db.execute(sql.HUNT).fetchone()
        return HuntState() if row is None else _read_state(row)

    def records(self, places: Sequence[str]) -> dict[str, HuntRecord]:
        """Of those that were ever looked at."""
        return {place: HuntRecord(*rest) for place, *rest in in_parts(self._db, sql.YIELDS_BY_PLACE, places)}

    def prospects(self, watches: Sequence[WatchId]) -> set[WatchId]:
        """Which of these a hunt found and has not seen."""
        return {WatchId(watch) for (watch,) in in_parts(self._db, sql.PROSPECTS_BY_ID, watches)}

    def open(self, after: int, most: int) -> list[Open]:
        """What may be chosen, with ids above `after`, in order."""
        rows = self._db.execute(self._open, (after, most))
        return [Open(WatchId(i), url, Risk(risk)) for i, url, risk in rows]

    def waiting(self, *, now: datetime) -> list[Waiting]:
        """What was chosen and not looked at yet."""
        at = to_ms(now)
        rows = self._db.execute(self._waiting, (at, at))
        return [Waiting(WatchId(i), url, bool(shut)) for i, url, shut in rows]

    def hosts(self, most: int) -> list[tuple[str, HuntRecord]]:
        """Hosts that were looked at, those that gave most first."""
        rows = self._db.execute(sql.BEST_HOSTS, (most,))
        return [(place, HuntRecord(*rest)) for place, *rest in rows]

    def counts(self) -> tuple[int, int]:
        """How many are open, and how many were chosen and wait."""
        is_open, waiting = self._db.execute(sql.COUNT_PROSPECTS).fetchone()
        return is_open or 0, waiting

    def texts(self, keys: Sequence[int]) -> set[int]:
        """Which of these texts some page has shown already."""
        return {key for (key,) in in_parts(self._db, sql.TEXT_KEYS, keys)}


def release(db: sqlite3.Connection, hunting: Sequence[SourceId], *, now: datetime) -> int:
    """What other sources left open, because they do not hunt any more, is due.  Gives how many."""
    due = db.execute(sql.RELEASE.format(marks=marks(hunting)), (to_ms(now), *hunting)).rowcount
    db.execute(sql.END_RELEASED.format(marks=marks(hunting)), hunting)
    return due


def hunt_statements(rows: HuntRows) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """After the watches of the group were written and moved."""
    state = rows.state
    return [
        (sql.NEW_PROSPECT, [(watch,) for watch in rows.opened]),
        (sql.END_PROSPECT, [(watch,) for watch in rows.ended]),
        (sql.CHOOSE_PROSPECT, [(to_ms(one.at), one.watch) for one in rows.chosen]),
        (sql.CHOOSE_WATCH, [(to_ms(one.at), one.watch) for one in rows.chosen]),
        (sql.SAVE_YIELD, [(place, *record) for place, record in rows.yields]),
        (sql.SAVE_HUNT, [] if state is None else [(1, state.number, opt_ms(state.empty_at), state.after)]),
    ]
