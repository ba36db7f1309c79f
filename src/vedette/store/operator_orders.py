"""Words of the operator to an engine that is running in another process: it reads them once a second."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from vedette.contracts.lane import LaneState
from vedette.contracts.source import Source
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import LaneKey, WatchId
from vedette.core.urls.canonical import watch_id
from vedette.store import statements as sql
from vedette.store.rows import lane_id, lane_row, read_lane, to_ms

HEALED = "healed"  # the store was healed of times that lay too far ahead
LOOK = "look"  # names a watch, for a run of nothing else


def order(db: SqlConnection, action: str, subject: str, *, now: datetime) -> None:
    """Tell a running engine: action `due`, `lane` or `source`.  LOOK names a watch."""
    db.execute("INSERT INTO orders (at, action, subject) VALUES (?, ?, ?)", (to_ms(now), action, subject))


def save_lane(db: SqlConnection, key: LaneKey, state: LaneState, *, now: datetime) -> None:
    """The operator's word about a lane.  It stands against an engine that has not heard it yet."""
    before = lane_state(db, key)
    word = 1 if before is None else before.word + 1
    db.execute(sql.SAY_LANE, lane_row(key, replace(state, under_way=0, word=word)))
    order(db, "lane", key, now=now)


def lane_state(db: SqlConnection, key: LaneKey) -> LaneState | None:
    row = db.execute(sql.LANE, (lane_id(key),)).fetchone()
    return read_lane(row)[1] if row else None


# Where is a source's own address looked at?


def own_watch(db: SqlConnection, source: Source) -> WatchId:
    """Its own watch; where that was merged into another (spec 001/12.4), the one that is looked at instead."""
    own = watch_id(source.url)
    row = db.execute("SELECT merged_into FROM watches WHERE id = ?", (own,)).fetchone()
    return own if row is None or row[0] is None else WatchId(row[0])
