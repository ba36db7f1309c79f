"""Whose lane it is: the leases that workers hold on lanes of a store on PostgreSQL, and when each lane is due.

A lease is a row with a token that rises with every holder; the transaction that settles looks checks it.  `due_at` of
a lane that is held is the moment at which its holder counts as gone, so one index serves both.  Times are the server's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from vedette.contracts.lane import DueLane, LaneHold, LaneState
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection
from vedette.contracts.words import LaneKey
from vedette.core.lanes.visit import SWEPT_AT_ONCE
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.connection import Order, at_once, connect, told
from vedette.store.row_columns import LANE_COLUMNS
from vedette.store.rows import from_ms, lane_id, lane_row, read_lane, to_ms

# The beginning of the statement: compared with a time that moves while it runs, no index would be used.
SERVER_MS = "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)"
_STATE = ", ".join(f"l.{name}" for name in LANE_COLUMNS)
_RETURNS = f"SELECT t.lane_id, t.key, t.token, t.was_lost, {_STATE} FROM taken t LEFT JOIN lanes l ON l.id = t.lane_id"
# Lanes of workers that are gone come first, whatever waits.  Whoever takes lanes at the same time passes over those
# that we are about to take.
_TAKE = (
    f"WITH lost AS (SELECT lane_id, worker FROM lane_visits WHERE worker <> '' AND due_at <= {SERVER_MS} "
    "ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED), "
    f"waiting AS (SELECT lane_id, worker FROM lane_visits WHERE worker = '' AND due_at <= {SERVER_MS} - ? "
    "ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED), "
    "free AS (SELECT * FROM lost UNION ALL "
    "(SELECT * FROM waiting LIMIT GREATEST(0, ? - (SELECT COUNT(*) FROM lost)))), "
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
# Nobody may take the lane before this transaction ends, so what holds here holds when the rows are written.
_HOLDS = "EXISTS (SELECT 1 FROM lane_visits WHERE lane_id = ? AND worker = ? AND token = ?)"
_SAVE_LANE = (
    f"INSERT INTO lanes ({', '.join(LANE_COLUMNS)}) SELECT {', '.join('?' * len(LANE_COLUMNS))} WHERE {_HOLDS} "
    + sql.LANE_CONFLICT
)
_REST = "UPDATE lane_visits SET worker = '', due_at = NULL WHERE lane_id = ? AND worker = ? AND token = ?"
# A lane that was forgotten, or moved nearer by somebody who told nobody, is found here: a part of all lanes at a time.
_SLICE = (
    "WITH RECURSIVE hop(lane, n) AS (SELECT MIN(lane_id), 1 FROM watches WHERE lane_id > ? UNION ALL "
    "SELECT (SELECT MIN(lane_id) FROM watches WHERE lane_id > hop.lane), n + 1 FROM hop "
    "WHERE hop.lane IS NOT NULL AND n < ?) SELECT lane FROM hop WHERE lane IS NOT NULL"
)
_UNKNOWN = (
    "SELECT (SELECT url FROM watches WHERE lane_id = s.lane LIMIT 1), "
    f"{_WORTH.format(due=_first_due('s.lane'), lane='s.lane')} FROM unnest(CAST(? AS BIGINT[])) AS s(lane) "
    "WHERE NOT EXISTS (SELECT 1 FROM lane_visits v WHERE v.lane_id = s.lane)"
)
_SWEEP = (
    "UPDATE lane_visits v SET due_at = n.due FROM (SELECT o.lane_id, "
    f"{_WORTH.format(due=_first_due('o.lane_id'), lane='o.lane_id')} AS due FROM lane_visits o "
    "WHERE o.worker = '' AND o.lane_id > ? AND o.lane_id <= ?) n "
    "WHERE v.lane_id = n.lane_id AND v.worker = '' AND n.due IS NOT NULL AND (v.due_at IS NULL OR n.due < v.due_at)"
)
_LOWEST = -(1 << 63)  # before every number of a lane
_SWEPT = (
    f"INSERT INTO cron_marks (name, fired_at) VALUES ('lanes', {SERVER_MS}) ON CONFLICT (name) DO UPDATE SET "
    f"fired_at = excluded.fired_at WHERE cron_marks.fired_at <= excluded.fired_at - ? RETURNING fired_at"
)
_NOW = f"SELECT {SERVER_MS}"
_GONE = (
    f"UPDATE lane_visits SET due_at = LEAST(due_at, {SERVER_MS}) WHERE worker = ? AND worker <> '' "
    "AND EXISTS (SELECT 1 FROM workers WHERE id = ? AND place = ?)"
)
# Of lanes that are due no more are counted than many workers could hold: the rest changes nobody's share.
_MOST_COUNTED = 50_000
_CROWD = (
    "SELECT (SELECT COUNT(*) FROM lane_visits WHERE worker <> '') + (SELECT COUNT(*) FROM (SELECT 1 FROM lane_visits "
    f"WHERE worker = '' AND due_at <= {SERVER_MS} LIMIT {_MOST_COUNTED}) d), "
    "(SELECT COUNT(*) FROM workers WHERE number > 0 AND id <> ? AND state = 'running' "
    f"AND beat_at > {SERVER_MS} - 20000)"
)
_COUNTS = (
    "SELECT (SELECT COUNT(*) FROM lane_visits WHERE worker <> ''), COUNT(*), "
    f"{SERVER_MS} - MIN(due_at) FROM lane_visits WHERE worker = '' AND due_at <= {SERVER_MS}"
)


Returned = tuple[
    LaneKey, int, LaneState | None
]  # a lane that is given back: its token, and its state as it is now
_LAST_ORDER = "SELECT COALESCE(MAX(id), 0) FROM orders"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneExchange:
    """What a worker asks for and gives in one trip."""

    room: int = 0  # lanes that are due may be taken, so many of them
    lost_room: int = 0  # and so many of workers that are gone, whatever the room
    late: timedelta = timedelta(0)  # only those that are late by so much
    called: Sequence[LaneKey] = ()  # these are taken where they are due,
    named: Sequence[LaneKey] = ()  # these due or not
    back: Sequence[Returned] = ()
    sooner: Mapping[LaneKey, datetime] = field(
        default_factory=dict
    )  # work that came up in lanes that are not ours


@dataclass(frozen=True, slots=True)
class Exchanged:
    taken: list[LaneHold]
    last_order: int  # of the operator; 0: none


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewedLeases:
    """How a worker stands among others."""

    kept: frozenset[LaneKey]  # lanes that are still its own
    busy: int  # lanes that are held or due
    workers: int  # that hold any, this one among them
    at: datetime  # by the server's clock


class LaneVisits:
    """The leases of one worker, on a connection of its own.  No statement waits for those who write looks."""

    def __init__(self, path: PostgresAddress, *, worker: str, lease: timedelta) -> None:
        self._db = connect(path)
        self._path = path
        self._worker = worker
        self._lease = int(lease.total_seconds() * 1000)
        self._swept_to = _LOWEST

    def free_own(self, dead: str) -> int:
        """Those of a worker of this name that is gone: `dead`, the process whose lock we have.  How many.

        A worker of this name on another machine may only have lost its session: its leases end by themselves.
        """
        with self._telling() as db:
            return db.execute(_GONE, (self._worker, self._worker, dead)).rowcount

    def exchange(self, asked: LaneExchange) -> Exchanged:
        """All of it in one trip, or nothing.  Lanes are taken before any is given back: others have a turn first.

        A lane that is another's by now is not given back, and nothing of its state is written.
        """
        takes = self._takes(asked)
        orders = [("START TRANSACTION", ()), *takes, *self._writes(asked), (_LAST_ORDER, ()), ("COMMIT", ())]
        with self._telling() as db:
            try:
                told = at_once(db, orders)
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
        taken = [_hold(row) for rows in told[1 : 1 + len(takes)] for row in rows]
        return Exchanged(taken, told[-2][0][0])

    def take(self, most: int, *, late: timedelta = timedelta(0)) -> list[LaneHold]:
        """Lanes of workers that are gone, then those that are due, or late by so much; what waits longest first."""
        return self.exchange(LaneExchange(room=most, late=late)).taken

    def take_named(self, lanes: Sequence[LaneKey]) -> list[LaneHold]:
        """Those of these that are nobody's, due or not."""
        return self.exchange(LaneExchange(named=lanes)).taken

    def give_back(self, lanes: Sequence[Returned]) -> None:
        """With their states."""
        self.exchange(LaneExchange(back=lanes))

    def sooner(self, dues: Mapping[LaneKey, datetime]) -> None:
        """Work came up in lanes that are not ours."""
        self.exchange(LaneExchange(sooner=dues))

    def due(self, most: int) -> list[DueLane]:
        """Lanes that are due and nobody's, the one that waits longest first.  Takes none."""
        with self._telling() as db:
            rows = db.execute(f"{_DUE_LANES} LIMIT ?", (most,)).fetchall()
        return [DueLane(LaneKey(key), number, token) for key, number, token in rows]

    def renew(self, tokens: Mapping[LaneKey, int]) -> RenewedLeases:
        """Those that are still ours are ours for another lease.  In one trip that waits for nobody."""
        lanes = {lane_id(lane): lane for lane in tokens}
        query = _RENEW.format(marks=", ".join("?" * len(lanes)))
        orders = [(query, (self._lease, self._worker, *lanes)), (_CROWD, (self._worker,)), (_NOW, ())]
        with self._telling() as db:
            rows, ((busy, others),), ((now,),) = at_once(db, orders)
        kept = frozenset(lanes[number] for number, token in rows if tokens[lanes[number]] == token)
        return RenewedLeases(kept=kept, busy=busy, workers=others + 1, at=from_ms(now))

    def sweep(self, every: timedelta | None = None) -> int:
        """Makes visits of what is due in the next part of all lanes, from the watches alone.  How many were wrong.

        With `every`: unless somebody did so since.
        """
        with self._telling() as db:
            if every is not None:
                wait = int(every.total_seconds() * 1000)
                if db.execute(_SWEPT, (wait,)).fetchone() is None:
                    return 0
            first = self._swept_to
            lanes = [row[0] for row in db.execute(_SLICE, (first, SWEPT_AT_ONCE))]
            self._swept_to = lanes[-1] if len(lanes) == SWEPT_AT_ONCE else _LOWEST
            if not lanes:
                return 0
            found = db.execute(_UNKNOWN, (lanes,)).fetchall()
            rows = [(lane_id(lane), lane, due) for lane, due in ((lane_of(url), due) for url, due in found)]
            db.executemany(_NEW, rows)
            return len(rows) + db.execute(_SWEEP, (first, lanes[-1])).rowcount

    def server_time(self) -> datetime:
        with self._telling() as db:
            return from_ms(db.execute(_NOW).fetchone()[0])

    def close(self) -> None:
        self._db.close()

    def _takes(self, asked: LaneExchange) -> list[Order]:
        """Each of them answers with lanes."""
        ours = (self._worker, self._lease)
        takes: list[Order] = []
        if asked.named:  # one that nobody looked at yet has no row
            takes.append((_NEW, [(lane_id(lane), lane, None) for lane in asked.named]))
        for lanes, which in ((asked.named, _FREE), (asked.called, _DUE)):
            if lanes:
                ids = [lane_id(lane) for lane in lanes]
                query = _TAKE_NAMED.format(marks=", ".join("?" * len(ids)), which=which)
                takes.append((query, (*ids, *ours)))
        room, lost = max(asked.room, 0), max(asked.room, asked.lost_room)
        if lost > 0:
            late = int(asked.late.total_seconds() * 1000)
            takes.append((_TAKE, (lost, late, room, room, *ours)))
        return takes

    def _writes(self, asked: LaneExchange) -> list[Order]:
        writes: list[Order] = []
        back = sorted(asked.back, key=lambda one: lane_id(one[0]))
        if back:
            writes.append(held_lanes_query(self._worker, [lane for lane, _, _ in back]))
        holds = [(lane_id(lane), self._worker, token) for lane, token, _ in back]
        both = list(zip(back, holds, strict=True))
        saved = [(*lane_row(lane, state), *hold) for (lane, _, state), hold in both if state]
        rest = [hold for (_, _, state), hold in both if _is_blocked(state)]
        free = [(_opens(state), *hold) for (_, _, state), hold in both if not _is_blocked(state)]
        sooner = [(lane_id(lane), lane, to_ms(at)) for lane, at in sorted(asked.sooner.items())]
        pairs = ((_SAVE_LANE, saved), (_REST, rest), (_GIVE_BACK, free), (_SOONER, sooner))
        return [*writes, *((words, rows) for words, rows in pairs if rows)]

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


_ALL_HELD = (
    "SELECT 1 / (CASE WHEN COUNT(*) = ? THEN 1 ELSE 0 END) FROM (SELECT 1 FROM lane_visits v "
    "JOIN unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[])) AS h(lane, token) "
    "ON v.lane_id = h.lane AND v.token = h.token WHERE v.worker = ? FOR KEY SHARE OF v) AS held"
)


def all_held_query(worker: str, tokens: Mapping[LaneKey, int]) -> list[Order]:
    """Fails, and the transaction with it, where one of these tokens is not what the lane has."""
    if not tokens:
        return []
    lanes = [lane_id(lane) for lane in tokens]
    return [(_ALL_HELD, (len(lanes), lanes, list(tokens.values()), worker))]


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
