"""The rows of the scheduler: read on the settler's own connection, written with its group."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from vedette.contracts.schedule import HostBelief, HubBelief, Leaf, PublishedRow, ScheduleRows
from vedette.contracts.words import LaneKey, Risk, WatchId
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.rows import from_ms, lane_id, opt_at, opt_seconds, to_ms

Row = tuple[Any, ...]
_CHUNK = 500


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

    def _by_id(self, query: str, ids: Sequence[int]) -> Iterator[Row]:
        for start in range(0, len(ids), _CHUNK):
            part = ids[start : start + _CHUNK]
            yield from self._db.execute(query.format(marks=",".join("?" * len(part))), part)


def schedule_statements(rows: ScheduleRows) -> list[tuple[str, list[Row]]]:
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


def read_published(row: Row) -> PublishedRow:
    return PublishedRow(version=row[0], at=from_ms(row[1]), body=row[2], clock=row[3])


def read_leaf(row: Row) -> Leaf:
    return Leaf(
        id=WatchId(row[0]),
        lane=lane_of(row[1]),
        risk=Risk(row[2]),
        parent=None if row[3] is None else WatchId(row[3]),
        belief=row[4],
        created_at=from_ms(row[5]),
        due_at=opt_at(row[6]),
        is_listing=row[7] not in (None, "page", "crawl"),
    )


def _published_row(one: PublishedRow) -> Row:
    return (one.version, to_ms(one.at), one.body, one.clock)


def _host_row(one: HostBelief) -> Row:
    return (
        lane_id(one.lane), one.lane, one.counts, *one.quality, *one.dates, one.streak, one.failed_at, one.dear,
        one.clock, one.fresh, *one.lively,
    )  # fmt: skip


def _read_host(row: Row) -> HostBelief:
    return HostBelief(
        lane=LaneKey(row[1]), counts=row[2], quality=tuple(row[3:7]), dates=tuple(row[7:9]), streak=row[9],
        failed_at=row[10], dear=row[11], clock=row[12], fresh=row[13], lively=tuple(row[14:16]),
    )  # fmt: skip


def _hub_row(one: HubBelief) -> Row:
    return (
        one.watch, one.lane, one.leaves, one.listed_at, one.every, one.pull, one.births, one.since,
    )  # fmt: skip


def _read_hub(row: Row) -> HubBelief:
    return HubBelief(
        watch=WatchId(row[0]), lane=LaneKey(row[1]), leaves=row[2], listed_at=row[3], every=row[4], pull=row[5],
        births=row[6], since=row[7],
    )  # fmt: skip
