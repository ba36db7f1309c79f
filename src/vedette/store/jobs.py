"""The embedded job bus: one table, leases, no server.  Implements `contracts.ports.JobBus`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import (
    SENTINEL,
    SENTINEL_RULE,
    Data,
    Depth,
    NewJob,
    ParkedJob,
    QueuedJob,
    QueueRule,
)
from vedette.store.rows import dump_json, from_ms, to_ms
from vedette.store.sqlite import connect, transaction

RULES: Mapping[str, QueueRule] = {SENTINEL: SENTINEL_RULE}
PLAIN = QueueRule()
MINUTE = timedelta(minutes=1)
LOST = "its worker went away"
_NEW = "INSERT INTO jobs (queue, id, name, data, added_at, due_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_FREE = (
    "SELECT number, id, name, data, attempts, added_at FROM jobs "
    "WHERE queue = ? AND state = 'waiting' AND due_at <= ? ORDER BY due_at, number LIMIT 1"
)
_LEASE = (
    "UPDATE jobs SET state = 'active', attempts = attempts + 1, started_at = ?, worker = ?, until_at = ? "
    "WHERE number = ?"
)
_LATE = "SELECT queue, id, attempts FROM jobs WHERE queue = ? AND state = 'active' AND until_at <= ?"
_MINE = "WHERE queue = ? AND id = ? AND state = 'active' AND worker = ? AND attempts = ?"
_DONE = f"UPDATE jobs SET state = 'done', ended_at = ?, result = ?, error = '' {_MINE}"
_EXTEND = f"UPDATE jobs SET until_at = ? {_MINE}"
_AGAIN = "UPDATE jobs SET state = 'waiting', due_at = ?, error = ? WHERE queue = ? AND id = ?"
_PARK = "UPDATE jobs SET state = 'parked', ended_at = ?, error = ? WHERE queue = ? AND id = ?"
_TRIM = (
    "DELETE FROM jobs WHERE queue = ? AND state = ? AND number NOT IN "
    "(SELECT number FROM jobs WHERE queue = ? AND state = ? ORDER BY ended_at DESC, number DESC LIMIT ?)"
)
_PARKED = "SELECT queue, id, name, data, error, attempts, ended_at FROM jobs WHERE state = 'parked'"


class SqliteJobBus:
    def __init__(self, path: Path, rules: Mapping[str, QueueRule] = RULES) -> None:
        self._db = connect(path)
        self._path = path
        self._rules = rules

    def add(self, jobs: Sequence[NewJob], *, now: datetime) -> list[str]:
        with transaction(self._db, self._path) as db:
            return [self._add(db, job, now) for job in jobs]

    def take(self, queue: str, *, worker: str, now: datetime) -> QueuedJob | None:
        rule = self._rule(queue)
        with transaction(self._db, self._path) as db:
            self._return_lost(db, queue, now)
            if not self._may_start(db, queue, rule, now):
                return None
            row = db.execute(_FREE, (queue, to_ms(now))).fetchone()
            if row is None:
                return None
            number, job_id, name, data, attempts, added = row
            db.execute(_LEASE, (to_ms(now), worker, to_ms(now + rule.lease), number))
        return QueuedJob(
            queue=queue,
            id=job_id,
            name=name,
            data=json.loads(data),
            attempt=attempts + 1,
            added_at=from_ms(added),
            worker=worker,
        )

    def extend(self, job: QueuedJob, *, now: datetime) -> bool:
        with transaction(self._db, self._path) as db:
            until = to_ms(now + self._rule(job.queue).lease)
            return db.execute(_EXTEND, (until, *_mine(job))).rowcount > 0

    def done(self, job: QueuedJob, *, now: datetime, result: Data | None = None) -> None:
        with transaction(self._db, self._path) as db:
            text = None if result is None else dump_json(result)
            db.execute(_DONE, (to_ms(now), text, *_mine(job)))
            keep = self._rule(job.queue).keep_done
            db.execute(_TRIM, (job.queue, "done", job.queue, "done", keep))

    def failed(self, job: QueuedJob, *, now: datetime, error: str) -> datetime | None:
        with transaction(self._db, self._path) as db:
            is_ours = db.execute(f"SELECT 1 FROM jobs {_MINE}", _mine(job)).fetchone() is not None
            return self._fail(db, (job.queue, job.id, job.attempt), error, now) if is_ours else None

    def depth(self, queue: str, *, now: datetime) -> Depth:
        query = "SELECT state, COUNT(*) FROM jobs WHERE queue = ? GROUP BY state"
        return Depth(**{state: int(count) for state, count in self._db.execute(query, (queue,))})

    def parked(self, queue: str | None = None, *, most: int = 100) -> list[ParkedJob]:
        """Newest first."""
        where, values = ("", ()) if queue is None else (" AND queue = ?", (queue,))
        rows = self._db.execute(f"{_PARKED}{where} ORDER BY ended_at DESC LIMIT ?", (*values, most))
        return [
            ParkedJob(
                queue=row[0],
                id=row[1],
                name=row[2],
                data=json.loads(row[3]),
                error=row[4],
                attempts=row[5],
                failed_at=from_ms(row[6]),
            )
            for row in rows
        ]

    def retry(self, queue: str, job_id: str, *, now: datetime) -> bool:
        statement = (
            "UPDATE jobs SET state = 'waiting', attempts = 0, due_at = ?, error = '' "
            "WHERE queue = ? AND id = ? AND state = 'parked'"
        )
        with transaction(self._db, self._path) as db:
            return db.execute(statement, (to_ms(now), queue, job_id)).rowcount > 0

    def drop(self, queue: str, job_id: str) -> bool:
        with transaction(self._db, self._path) as db:
            statement = "DELETE FROM jobs WHERE queue = ? AND id = ? AND state = 'parked'"
            return db.execute(statement, (queue, job_id)).rowcount > 0

    def close(self) -> None:
        self._db.close()

    def _add(self, db: sqlite3.Connection, job: NewJob, now: datetime) -> str:
        number = db.execute("SELECT COALESCE(MAX(number), 0) + 1 FROM jobs").fetchone()[0]
        name = checked_id(job.id or f"{job.name}-{number}")
        values = (job.queue, name, job.name, dump_json(job.data), to_ms(now), to_ms(now + job.delay))
        db.execute(_NEW, values)
        return name

    def _rule(self, queue: str) -> QueueRule:
        return self._rules.get(queue, PLAIN)

    def _may_start(self, db: sqlite3.Connection, queue: str, rule: QueueRule, now: datetime) -> bool:
        if rule.at_once is not None:
            query = "SELECT COUNT(*) FROM jobs WHERE queue = ? AND state = 'active'"
            if db.execute(query, (queue,)).fetchone()[0] >= rule.at_once:
                return False
        if rule.per_minute is None:
            return True
        query = "SELECT COUNT(*) FROM jobs WHERE queue = ? AND started_at > ?"
        return bool(db.execute(query, (queue, to_ms(now - MINUTE))).fetchone()[0] < rule.per_minute)

    def _return_lost(self, db: sqlite3.Connection, queue: str, now: datetime) -> None:
        """A worker that was killed says nothing; its lease does."""
        for late in db.execute(_LATE, (queue, to_ms(now))).fetchall():
            self._fail(db, late, LOST, now)

    def _fail(
        self, db: sqlite3.Connection, job: tuple[str, str, int], error: str, now: datetime
    ) -> datetime | None:
        queue, name, attempts = job
        rule = self._rule(queue)
        if attempts >= rule.attempts:
            db.execute(_PARK, (to_ms(now), error, queue, name))
            db.execute(_TRIM, (queue, "parked", queue, "parked", rule.keep_parked))
            return None
        again = now + rule.backoff * (1 << (attempts - 1))
        db.execute(_AGAIN, (to_ms(again), error, queue, name))
        return again


def checked_id(name: str) -> str:
    """BullMQ refuses ids with a colon and ids that are numbers; a bus that takes them here would fail there."""
    if not name or ":" in name or name.isdigit():
        raise InputError(f"{name!r} is no id for a job; use letters, digits and hyphens, as in scout-17")
    return name


def _mine(job: QueuedJob) -> tuple[str, str, str, int]:
    """A worker that lost its lease ends nothing: the job is at another attempt."""
    return job.queue, job.id, job.worker, job.attempt
