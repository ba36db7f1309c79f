"""Rows of the workers that share a store: who is there, what each does, and what waits for them.  On PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from vedette.contracts.errors import StoreWaitError
from vedette.contracts.jobs import STAGES
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection
from vedette.contracts.workers import Role, RoleLoad, WorkerRow, WorkerState
from vedette.store.connection import at_once, connect
from vedette.store.lane_visits import SERVER_MS, lane_counts
from vedette.store.panel.panel_visits import panel_waits
from vedette.store.rows import from_ms
from vedette.store.text_columns import dump_json

SILENT = timedelta(seconds=60)  # a worker that was not heard of for so long does not count
KEPT = timedelta(days=1)  # its row stays for so long
_SILENT_MS, _KEPT_MS = (int(span.total_seconds() * 1000) for span in (SILENT, KEPT))
_SAY = (
    "INSERT INTO workers (id, number, roles, place, state, started_at, beat_at, figures) "
    f"VALUES (?, ?, ?, ?, ?, {SERVER_MS}, {SERVER_MS}, ?) ON CONFLICT (id) DO UPDATE SET number = excluded.number, "
    "roles = excluded.roles, state = excluded.state, beat_at = excluded.beat_at, figures = excluded.figures, "
    "started_at = CASE WHEN workers.place = excluded.place THEN workers.started_at ELSE excluded.started_at END, "
    "place = excluded.place"
)
_FORGET = f"DELETE FROM workers WHERE beat_at < {SERVER_MS} - {_KEPT_MS}"
_ALL = (
    "SELECT w.id, w.number, w.roles, w.place, w.state, w.started_at, w.beat_at, w.figures, "
    f"w.beat_at < {SERVER_MS} - {_SILENT_MS}, "
    "(SELECT COUNT(*) FROM lane_visits v WHERE v.worker = w.id AND v.worker <> '' AND w.number > 0) "
    "FROM workers w ORDER BY w.started_at, w.id"
)
_ALIVE = f"SELECT roles FROM workers WHERE beat_at >= {SERVER_MS} - {_SILENT_MS} AND state <> '{WorkerState.ENDED}'"
_JOBS = (
    "SELECT COUNT(*), MIN(due_at) FROM jobs WHERE queue IN ({marks}) AND state = 'waiting' AND due_at <= "
    + SERVER_MS
)
_MESSAGES = "SELECT COUNT(*), MIN(due_at) FROM outbox WHERE state = 'waiting' AND due_at <= " + SERVER_MS


def say(db: SqlConnection, row: WorkerRow) -> Mapping[Role, int]:
    """What a worker does now, and how many of each role were heard of lately.  Times are the server's."""
    roles = ",".join(row.roles)
    values = (row.id, row.number, roles, row.place, row.state.value, dump_json(dict(row.figures)))
    return _count(at_once(db, [(_SAY, values), (_FORGET, ()), (_ALIVE, ())])[-1])


def workers_of(db: SqlConnection) -> list[WorkerRow]:
    """All that are known, oldest first."""
    return [
        WorkerRow(
            id=name,
            number=number,
            roles=_roles(roles),
            place=place,
            state=WorkerState.SILENT if is_silent and state != WorkerState.ENDED else WorkerState(state),
            started_at=from_ms(started),
            beat_at=from_ms(beat),
            figures=json.loads(figures),
            lanes=lanes,
        )
        for name, number, roles, place, state, started, beat, figures, is_silent, lanes in db.execute(_ALL)
    ]


def alive(db: SqlConnection) -> Mapping[Role, int]:
    """How many workers of each role were heard of lately."""
    return _count(db.execute(_ALIVE))


def _count(found: Iterable[tuple[str]]) -> Mapping[Role, int]:
    count = dict.fromkeys(Role, 0)
    for (roles,) in found:
        for role in _roles(roles):
            count[role] += 1
    return count


def loads(db: SqlConnection) -> list[RoleLoad]:
    """What waits for each role, for people and for autoscalers."""
    workers = alive(db)
    _, lanes, lane_wait = lane_counts(db)
    now = db.execute(f"SELECT {SERVER_MS}").fetchone()[0]
    waits: dict[Role, tuple[int, timedelta]] = {Role.CRAWL: (lanes, lane_wait)}
    waits[Role.STAGES] = _waiting(db, _JOBS.format(marks=", ".join("?" * len(STAGES))), STAGES, now)
    waits[Role.PANEL] = panel_waits(db, now)
    waits[Role.SCHEDULER] = _waiting(db, _MESSAGES, (), now)
    return [
        RoleLoad(role=role, workers=workers[role], due=due, late=late) for role, (due, late) in waits.items()
    ]


def _waiting(db: SqlConnection, query: str, values: Sequence[str], now: int) -> tuple[int, timedelta]:
    count, since = db.execute(query, values).fetchone()
    return count, timedelta(milliseconds=max(0, now - since) if since is not None else 0)


def _roles(words: str) -> tuple[Role, ...]:
    return tuple(Role(word) for word in words.split(",") if word)


ELECTED = 0x76656477  # class of the lock; those before it are in store/postgres.py
_STAND = f"SELECT pg_try_advisory_lock({ELECTED}, hashtext(current_schema()))"


class Election:
    """One of several workers is elected: it holds an advisory lock for as long as its session lives."""

    def __init__(self, path: PostgresAddress) -> None:
        self._db = connect(path)

    def stand(self) -> bool:
        """True where this worker is the one.  Asked again, it says whether it still is."""
        try:
            return bool(self._db.execute(_STAND).fetchone()[0])
        except (sqlite3.Error, StoreWaitError):
            return False  # the session is gone, and the lock with it

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()
