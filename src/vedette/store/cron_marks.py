"""What triggers need of the store: when cron fired last, and which sources a sentinel job looks at."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.jobs import SentinelOrder
from vedette.contracts.source import Source
from vedette.contracts.words import LaneKey, SourceId, WatchId
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.operator import make_due
from vedette.store.operator_orders import own_watch
from vedette.store.rows import opt_at, read_source, to_ms


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """A source's own address, due now."""

    watch: WatchId
    source: SourceId
    name: str
    lane: LaneKey


def fired_at(db: sqlite3.Connection, name: str) -> datetime | None:
    row = db.execute("SELECT fired_at FROM cron_marks WHERE name = ?", (name,)).fetchone()
    return None if row is None else opt_at(row[0])


def mark_fired(db: sqlite3.Connection, name: str, at: datetime) -> None:
    db.execute(sql.upsert("cron_marks", ["name", "fired_at"], "name"), (name, to_ms(at)))


def order_sources(db: sqlite3.Connection, order: SentinelOrder, *, now: datetime) -> list[OwnAddress]:
    """Makes the addresses of these sources due now, highest tier first, then the one not seen for longest.

    A source that failed too often rests (spec 001/6.1).  One with an interval of its own is left alone until it is
    time (spec 001/11.3), unless the order names it.
    """
    chosen = []
    for row in db.execute(sql.SOURCES).fetchall():
        source, state = read_source(row)
        watch = own_watch(db, source)
        seen_at = _last_visit(db, watch)
        is_closed = state.closed_until is not None and state.closed_until > now
        if not is_closed and _is_asked_for(source, order, seen_at, now):
            chosen.append((-source.tier, to_ms(seen_at) if seen_at else 0, source, watch))
    chosen.sort(key=lambda one: one[:2])
    return [
        OwnAddress(watch, source.id, source.name, lane_of(source.url))  # a merge stays on its host
        for _, _, source, watch in chosen
        if make_due(db, watch, now=now)
    ]


def _is_asked_for(source: Source, order: SentinelOrder, seen_at: datetime | None, now: datetime) -> bool:
    if not source.is_active:
        return False
    if order.source is not None:
        return source.id == order.source
    if order.tier is not None and source.tier is not order.tier:
        return False
    rests = source.scrape_frequency if source.every is None else source.every
    return rests is None or seen_at is None or seen_at + rests <= now


def _last_visit(db: sqlite3.Connection, watch: WatchId) -> datetime | None:
    row = db.execute("SELECT last_visit_at FROM watches WHERE id = ?", (watch,)).fetchone()
    return None if row is None else opt_at(row[0])
