"""Whose lane it is: the leases that workers hold on lanes of a store on PostgreSQL, and when each lane is due.

A lease is a row with a token that rises with every holder; the transaction that settles looks checks it.  `due_at` of
a lane that is held is the moment at which its holder counts as gone, so one index serves both.  Times are the server's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from vedette.contracts.lane import DueLane, LaneHold, LaneState
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection
from vedette.contracts.words import LaneKey
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.connection import at_once, connect, told
from vedette.store.row_columns import LANE_COLUMNS
from vedette.store.rows import from_ms, lane_id, lane_row, read_lane, to_ms

SERVER_MS = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
_STATE = ", ".join(f"l.{name}" for name in LANE_COLUMNS)
_RETURNS = f"SELECT t.lane_id, t.key, t.token, t.was_lost, {_STATE} FROM taken t LEFT JOIN lanes l ON l.id = t.lane_id"
# Whoever takes lanes at the same time passes over those that we are about to take.
_TAKE = (
    f"WITH free AS (SELECT lane_id, worker FROM lane_visits WHERE due_at <= {SERVER_MS} - ? ORDER BY due_at LIMIT ? "
    "FOR UPDATE SKIP LOCKED), "
    f"taken AS (UPDATE lane_visits v SET worker = ?, token = v.token + 1, due_at = {SERVER_MS} + ? FROM free f "
    "WHERE v.lane_id = f.lane_id RETURNING v.lane_id, v.key, v.token, f.worker <> '' AS was_lost) " + _RETURNS
)
_DUE = f"v.due_at <= {SERVER_MS}"
_DUE_LANES = f"SELECT v.key, v.lane_id, v.token FROM lane_visits v WHERE {_DUE} ORDER BY v.due_at"
_FREE = f"(v.worker = '' OR v.due_at <= {SERVER_MS})"
_TAKE_NAMED = (
    "WITH free AS (SELECT v.lane_id, v.worker FROM lane_visits v WHERE v.lane_id IN ({marks}) "
    "AND {which} FOR UPDATE SKIP LOCKED), "
    f"taken AS (UPDATE lane_visits v SET worker = ?, token = v.token + 1, due_at = {SERVER_MS} + ? FROM free f "
    "WHERE v.lane_id = f.lane_id RETURNING v.lane_id, v.key, v.token, f.worker <> '' AS was_lost) " + _RETURNS
)
_NEW = "INSERT INTO lane_visits (lane_id, key, due_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_RENEW = (
    f"UPDATE lane_visits SET due_at = {SERVER_MS} + ? WHERE worker = ? AND lane_id IN ({{marks}}) "
    "RETURNING lane_id, token"
)
_SOONER = (
    "INSERT INTO lane_visits (lane_id, key, due_at) VALUES (?, ?, ?) ON CONFLICT (lane_id) DO UPDATE SET "
    "due_at = LEAST(lane_visits.due_at, excluded.due_at) WHERE lane_visits.worker = ''"
)
_OF_CLASS = (
    "(SELECT MIN(w.due_at) FROM watches w "
    "WHERE w.lane_id = {lane} AND w.risk = {risk} AND w.due_at IS NOT NULL)"
)


def _first_due(lane: str) -> str:
    """When the first watch of a lane is due: one seek for each class."""
    return "LEAST(" + ", ".join(_OF_CLASS.format(lane=lane, risk=risk) for risk in range(4)) + ")"


# Nothing is worth a visit before the lane is open.  LEAST and GREATEST pass over what is not known.
_OPENS = "GREATEST(l.closed_until, l.held_until, l.next_start_at)"
_WORTH = (
    f"(SELECT CASE WHEN d.due IS NULL OR l.blocked_by <> '' THEN NULL ELSE GREATEST(d.due, {_OPENS}) END "
    "FROM (SELECT {due} AS due) d LEFT JOIN lanes l ON l.id = {lane})"
)
_GIVE_BACK = (
    f"UPDATE lane_visits v SET worker = '', due_at = GREATEST({_first_due('v.lane_id')}, CAST(? AS BIGINT)) "
    "WHERE v.lane_id = ? AND v.worker = ? AND v.token = ?"
)
_REST = "UPDATE lane_visits SET worker = '', due_at = NULL WHERE lane_id = ? AND worker = ? AND token = ?"
# A lane that was forgotten, or moved nearer by somebody who told nobody, is found here.
_HOP = (
    "WITH RECURSIVE hop(lane) AS (SELECT MIN(lane_id) FROM watches UNION ALL "
    "SELECT (SELECT MIN(lane_id) FROM watches WHERE lane_id > hop.lane) FROM hop WHERE hop.lane IS NOT NULL) "
)
_UNKNOWN = (
    _HOP + "SELECT (SELECT url FROM watches WHERE lane_id = hop.lane LIMIT 1), "
    f"{_WORTH.format(due=_first_due('hop.lane'), lane='hop.lane')} FROM hop WHERE hop.lane IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM lane_visits v WHERE v.lane_id = hop.lane)"
)
_SWEEP = (
    "UPDATE lane_visits v SET due_at = n.due FROM (SELECT o.lane_id, "
    f"{_WORTH.format(due=_first_due('o.lane_id'), lane='o.lane_id')} AS due FROM lane_visits o WHERE o.worker = '') n "
    "WHERE v.lane_id = n.lane_id AND v.worker = '' AND n.due IS NOT NULL AND (v.due_at IS NULL OR n.due < v.due_at)"
)
_SWEPT = (
    f"INSERT INTO cron_marks (name, fired_at) VALUES ('lanes', {SERVER_MS}) ON CONFLICT (name) DO UPDATE SET "
    f"fired_at = excluded.fired_at WHERE cron_marks.fired_at <= excluded.fired_at - ? RETURNING fired_at"
)
_GONE = f"UPDATE lane_visits SET due_at = {SERVER_MS} WHERE worker = ?"
_CROWD = (
    f"SELECT (SELECT COUNT(*) FROM lane_visits WHERE worker <> '' OR due_at <= {SERVER_MS}), "
    "(SELECT COUNT(*) FROM workers WHERE number > 0 AND id <> ? AND state = 'running' "
    f"AND beat_at > {SERVER_MS} - 20000)"
)
_COUNTS = (
    f"SELECT COUNT(*) FILTER (WHERE worker <> ''), COUNT(*) FILTER (WHERE worker = '' AND due_at <= {SERVER_MS}), "
    f"MAX({SERVER_MS} - due_at) FILTER (WHERE worker = '' AND due_at <= {SERVER_MS}) FROM lane_visits "
    f"WHERE worker <> '' OR due_at <= {SERVER_MS}"
)


class LaneVisits:
    """The leases of one worker, on a connection of its own.  No statement waits for those who write looks."""

    def __init__(self, path: PostgresAddress, *, worker: str, lease: timedelta) -> None:
        self._db = connect(path)
        self._path = path
        self._worker = worker
        self._lease = int(lease.total_seconds() * 1000)

    def free_own(self) -> int:
        """Those of a worker of this name that is gone: its archive files are ours by now, so it is.  How many."""
        with self._telling() as db:
            return db.execute(_GONE, (self._worker,)).rowcount

    def take(self, most: int, *, late: timedelta = timedelta(0)) -> list[LaneHold]:
        """Lanes that are due, or late by so much, and nobody's; the one that waits longest first."""
        waited = int(late.total_seconds() * 1000)
        with self._telling() as db:
            return [_hold(row) for row in db.execute(_TAKE, (waited, most, self._worker, self._lease))]

    def take_due(self, lanes: Sequence[LaneKey]) -> list[LaneHold]:
        """Those of these that are due and nobody's."""
        with self._telling() as db:
            return self._take_some(db, [lane_id(lane) for lane in lanes], _DUE)

    def due(self, most: int) -> list[DueLane]:
        """Lanes that are due and nobody's, the one that waits longest first.  Takes none."""
        with self._telling() as db:
            rows = db.execute(f"{_DUE_LANES} LIMIT ?", (most,)).fetchall()
        return [DueLane(LaneKey(key), number, token) for key, number, token in rows]

    def take_named(self, lanes: Sequence[LaneKey]) -> list[LaneHold]:
        """Those of these that are nobody's, due or not."""
        ids = [lane_id(lane) for lane in lanes]
        with self._telling() as db:
            db.executemany(_NEW, [(number, lane, None) for number, lane in zip(ids, lanes, strict=True)])
            return self._take_some(db, ids, _FREE)

    def renew(self, tokens: Mapping[LaneKey, int]) -> set[LaneKey]:
        """Those that are still ours, for another lease."""
        if not tokens:
            return set()
        lanes = {lane_id(lane): lane for lane in tokens}
        with self._telling() as db:
            query = _RENEW.format(marks=", ".join("?" * len(lanes)))
            rows = db.execute(query, (self._lease, self._worker, *lanes)).fetchall()
        return {lanes[number] for number, token in rows if tokens[lanes[number]] == token}

    def give_back(self, lanes: Sequence[tuple[LaneKey, int, LaneState | None]]) -> None:
        """With their states, in one step.  A lane that is another's by now is passed over."""
        if not lanes:
            return
        with self._telling() as db:
            try:
                keys = [lane for lane, _, _ in lanes]
                _, held = at_once(db, [("START TRANSACTION", ()), held_lanes_query(self._worker, keys)])
                tokens = held_tokens(keys, held)
                ours = [one for one in lanes if tokens.get(one[0]) == one[1]]
                rest = [one for one in ours if _is_blocked(one[2])]
                free = [one for one in ours if not _is_blocked(one[2])]
                saved = [lane_row(lane, state) for lane, _, state in ours if state]
                rested = [(lane_id(one[0]), self._worker, one[1]) for one in rest]
                freed = [(_opens(one[2]), lane_id(one[0]), self._worker, one[1]) for one in free]
                writes = [(sql.SAVE_LANE, saved), (_REST, rested), (_GIVE_BACK, freed)]
                at_once(db, [*(one for one in writes if one[1]), ("COMMIT", ())])
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def sooner(self, dues: Mapping[LaneKey, datetime]) -> None:
        """Work came up in lanes that are not ours."""
        rows = [(lane_id(lane), lane, to_ms(at)) for lane, at in sorted(dues.items())]
        with self._telling() as db:
            db.executemany(_SOONER, rows)

    def sweep(self, every: timedelta | None = None) -> bool:
        """Makes visits of all that is due, from the watches alone.  With `every`: unless somebody did so since."""
        with self._telling() as db:
            if every is not None:
                wait = int(every.total_seconds() * 1000)
                if db.execute(_SWEPT, (wait,)).fetchone() is None:
                    return False
            found = db.execute(_UNKNOWN).fetchall()
            rows = [(lane_id(lane), lane, due) for lane, due in ((lane_of(url), due) for url, due in found)]
            db.executemany(_NEW, rows)
            db.execute(_SWEEP)
        return True

    def crowd(self) -> tuple[int, int]:
        """Lanes that are held or due, and workers that hold any, this one among them."""
        with self._telling() as db:
            busy, workers = db.execute(_CROWD, (self._worker,)).fetchone()
        return busy, workers + 1

    def server_time(self) -> datetime:
        with self._telling() as db:
            return from_ms(db.execute(f"SELECT {SERVER_MS}").fetchone()[0])

    def close(self) -> None:
        self._db.close()

    def _take_some(self, db: SqlConnection, ids: Sequence[int], which: str) -> list[LaneHold]:
        query = _TAKE_NAMED.format(marks=", ".join("?" * len(ids)), which=which)
        return [_hold(row) for row in db.execute(query, (*ids, self._worker, self._lease))] if ids else []

    @contextmanager
    def _telling(self) -> Iterator[SqlConnection]:
        try:
            yield self._db
        except sqlite3.Error as error:
            raise told(error, self._path) from error


_TOKENS = "SELECT lane_id, token FROM lane_visits WHERE worker = ?"


def held_lanes_query(worker: str, lanes: Sequence[LaneKey]) -> tuple[str, tuple[Any, ...]]:
    """Asks for the tokens of those that this worker holds; nobody takes one of them before the transaction ends."""
    # KEY SHARE: who takes a lane over asks FOR UPDATE and passes over it, who renews a lease does not wait.
    numbers = sorted({lane_id(lane) for lane in lanes})
    query = f"{_TOKENS} AND lane_id IN ({', '.join('?' * len(numbers))}) FOR KEY SHARE"
    return query, (worker, *numbers)


def held_tokens(lanes: Sequence[LaneKey], rows: Iterable[Any]) -> dict[LaneKey, int]:
    """The answer to that."""
    ids = {lane_id(lane): lane for lane in lanes}
    return {ids[number]: token for number, token in rows}


def lane_counts(db: SqlConnection) -> tuple[int, int, timedelta]:
    """Lanes that are held; lanes that are due and nobody's; how long the first of these has waited."""
    held, due, late = db.execute(_COUNTS).fetchone()
    return held, due, timedelta(milliseconds=late or 0)


def _hold(row: Any) -> LaneHold:
    _, key, token, was_lost, *state = row
    known = read_lane(tuple(state))[1] if state[0] is not None else None
    return LaneHold(lane=LaneKey(key), token=token, state=known, was_lost=bool(was_lost))


def _is_blocked(state: LaneState | None) -> bool:
    return state is not None and bool(state.blocked_by)


def _opens(state: LaneState | None) -> int | None:
    if state is None:
        return None
    times = (state.closed_until, state.held_until, state.next_start_at)
    return max((to_ms(at) for at in times if at is not None), default=None)
