"""The rows of the scheduler and of a hunt: read on the settler's own connection, written with its group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from vedette.contracts.schedule import HostBelief, HubBelief, Leaf, PublishedRow, ScheduleRows
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import LaneKey, WatchId
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.connection import at_once, in_parts, marks
from vedette.store.row_columns import (
    HOST_COLUMNS,
    HUB_COLUMNS,
    LEAF_COLUMNS,
    PUBLISHED_COLUMNS,
    reader,
    writer,
)
from vedette.store.rows import RISKS, from_ms, lane_id, opt_at, opt_seconds, to_ms

ADDED = ("looks", "planned", "found")  # counters of looks; the others are the word of who reviews


class ScheduleReader:
    """What the scheduler reads.  Implements the `ScheduleSide` of the engine."""

    def __init__(self, db: SqlConnection) -> None:
        self._db = db

    def ask_ahead(self, lanes: Sequence[LaneKey], hubs: Sequence[WatchId]) -> None:
        """These hosts and hubs, and what was published, will be asked for.  A file answers when it is asked."""

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


class ServerScheduleReader(ScheduleReader):
    """Of a store on a server: all that was said ahead is asked for in one trip, which answers until the next."""

    def __init__(self, db: SqlConnection) -> None:
        super().__init__(db)
        self._ahead: dict[str, tuple[frozenset[int], list[Any]]] = {}  # keys and rows, by query

    def ask_ahead(self, lanes: Sequence[LaneKey], hubs: Sequence[WatchId]) -> None:
        keys = {
            sql.HOSTS_BY_ID: frozenset(map(lane_id, lanes)),
            sql.HUBS_BY_ID: frozenset(hubs),
            sql.LAST_PUBLISHED: frozenset[int](),
        }
        asked = {query: of for query, of in keys.items() if of or query == sql.LAST_PUBLISHED}
        told = at_once(
            self._db, [(query.format(marks=marks(tuple(of))), tuple(of)) for query, of in asked.items()]
        )
        self._ahead = {query: (of, rows) for (query, of), rows in zip(asked.items(), told, strict=True)}

    def published(self) -> PublishedRow | None:
        if sql.LAST_PUBLISHED not in self._ahead:
            return super().published()
        _, rows = self._ahead.pop(sql.LAST_PUBLISHED)
        return read_published(rows[0]) if rows else None

    def _by_id(self, query: str, ids: Sequence[int]) -> Iterator[Any]:
        known, rows = self._ahead.get(query, (frozenset[int](), []))
        if not ids or not known.issuperset(ids):
            return super()._by_id(query, ids)
        wanted = set(ids)
        return iter([row for row in rows if row[0] in wanted])  # lane_id and watch_id come first


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


def merged(stored: str, before: str, mine: str) -> str:
    """What is stored, with what one worker learned between `before` and `mine`."""
    if not stored or not before:
        return mine
    there, was, now = json.loads(stored), json.loads(before), json.loads(mine)
    made = {name: _moved(there[name], was[name], now[name]) for name in now if name != "running"}
    counters = {
        name: there["running"].get(name, value) if value == was["running"].get(name) else value
        for name, value in now["running"].items()
    }
    for name in ADDED:
        counters[name] = there["running"][name] + now["running"][name] - was["running"][name]
    counters["started_at"] = min(there["running"]["started_at"], now["running"]["started_at"])
    return json.dumps({"running": counters, **made}, separators=(",", ":"))


def _moved(there: Any, was: Any, now: Any) -> Any:
    """Element by element: `there` and as much more as `now` has over `was`."""
    if isinstance(now, list):
        return [_moved(*three) for three in zip(there, was, now, strict=True)]
    return there + now - was


def publish_schedule(db: SqlConnection, rows: ScheduleRows) -> None:
    """What the one scheduler of several workers publishes, beside what they learn.

    Of hosts only what it alone decides.  A watch that was looked at meanwhile is planned already.
    """
    stored = db.execute(sql.RUNNING).fetchone()
    running = merged(str(stored[0]) if stored else "", rows.before, rows.running)
    published = rows.published
    for statement, values in (
        (sql.SAVE_CLOCK, list(rows.clocks)),
        (sql.SAVE_PUBLISHED, [] if published is None else [_published_row(published)]),
        (sql.SAVE_SCHEDULER, [(1, running)]),
        (sql.PRICE_HOST, [(one.dear, one.clock, one.fresh, lane_id(one.lane)) for one in rows.hosts]),
        (
            sql.REPLAN_SETTLED,
            [
                (to_ms(due_at), opt_seconds(wait), leaf.id, to_ms(leaf.due_at))
                for leaf, due_at, wait in rows.replanned
                if leaf.due_at is not None
            ],
        ),
    ):
        if values:
            db.executemany(statement, values)


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
