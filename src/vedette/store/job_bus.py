"""The embedded job bus: one table, leases, no server.  Implements `contracts.ports.JobBus`."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import (
    SENTINEL,
    SENTINEL_RULE,
    Data,
    Depth,
    JobEnd,
    JobSettled,
    NewJob,
    ParkedJob,
    QueuedJob,
    QueueRule,
)
from vedette.contracts.sql_connection import SqlConnection
from vedette.core.queue_rules import back_off
from vedette.store import statements as sql
from vedette.store.connection import StorePlace, connect, told, transaction
from vedette.store.row_columns import reader
from vedette.store.rows import from_ms, job_row, to_ms
from vedette.store.text_columns import dump_json

RULES: Mapping[str, QueueRule] = {SENTINEL: SENTINEL_RULE}
PLAIN = QueueRule()
MINUTE = timedelta(minutes=1)
LOST = "its worker went away"
ROOM = 1000  # at most so many in one step
_FREE = (
    "SELECT number, id, name, data, attempts, added_at FROM jobs "
    "WHERE queue = ? AND state = 'waiting' AND due_at <= ? ORDER BY due_at, number LIMIT ?"
)
_LEASE = (
    "UPDATE jobs SET state = 'active', attempts = attempts + 1, started_at = ?, worker = ?, until_at = ? "
    "WHERE number = ?"
)
_ANY = (
    "SELECT 1 FROM jobs WHERE queue = ? AND state = 'waiting' AND due_at <= ? "
    "UNION ALL SELECT 1 FROM jobs WHERE queue = ? AND state = 'active' AND until_at <= ? LIMIT 1"
)
_LATE = "SELECT queue, id, attempts FROM jobs WHERE queue = ? AND state = 'active' AND until_at <= ?"
_MINE = "WHERE queue = ? AND id = ? AND state = 'active' AND worker = ? AND attempts = ?"
_DONE = f"UPDATE jobs SET state = 'done', ended_at = ?, result = ?, error = '', stack = '' {_MINE}"
_NEW_DONE = (
    "INSERT INTO jobs (queue, id, name, data, added_at, due_at, state, attempts, started_at, ended_at, result) "
    "VALUES (?, ?, ?, ?, ?, ?, 'done', 1, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_EXTEND = f"UPDATE jobs SET until_at = ? {_MINE}"
_AGAIN = (
    "UPDATE jobs SET state = 'waiting', due_at = ?, error = ?, stack = ?, queued_at = NULL "
    "WHERE queue = ? AND id = ?"
)
_PARK = "UPDATE jobs SET state = 'parked', ended_at = ?, error = ?, stack = ? WHERE queue = ? AND id = ?"
_TRIM = (
    "DELETE FROM jobs WHERE queue = ? AND state = ? AND number NOT IN "
    "(SELECT number FROM jobs WHERE queue = ? AND state = ? ORDER BY ended_at DESC, number DESC LIMIT ?)"
)
_PARKED_COLUMNS = "queue id name data error attempts ended_at stack".split()
_PARKED = f"SELECT {', '.join(_PARKED_COLUMNS)} FROM jobs WHERE state = 'parked'"
_read_parked = reader(
    ParkedJob,
    _PARKED_COLUMNS,
    **{name: name for name in ("queue", "id", "name", "error", "attempts", "stack")},
    data=("data", json.loads),
    failed_at=("ended_at", from_ms),
)


class SqliteJobBus:
    def __init__(self, path: StorePlace, rules: Mapping[str, QueueRule] = RULES) -> None:
        self._db = connect(path)
        self._path = path
        self._rules = rules
        self._ended: Counter[tuple[str, str]] = Counter()  # since the last trim, by queue and state

    def add(self, jobs: Sequence[NewJob], *, now: datetime) -> list[str]:
        with transaction(self._db, self._path) as db:
            return [self._add(db, job, now) for job in jobs]

    def take(self, queue: str, *, worker: str, now: datetime) -> QueuedJob | None:
        return next(iter(self.take_some(queue, worker=worker, now=now, most=1)), None)

    def take_some(self, queue: str, *, worker: str, now: datetime, most: int) -> list[QueuedJob]:
        rule = self._rule(queue)
        if not self._read(_ANY, (queue, to_ms(now), queue, to_ms(now))):
            return []  # a queue that is asked often and has nothing takes no lock
        with transaction(self._db, self._path) as db:
            self._return_lost(db, queue, now)
            room = min(most, self._room(db, queue, rule, now))
            rows = db.execute(_FREE, (queue, to_ms(now), room)).fetchall()
            until = to_ms(now + rule.lease)
            db.executemany(_LEASE, [(to_ms(now), worker, until, row[0]) for row in rows])
        return [_queued(queue, worker, row) for row in rows]

    def _read(self, query: str, values: Sequence[object]) -> list[Any]:
        """Outside of a transaction.  A server that is away for a moment is a StoreWaitError."""
        try:
            return list(self._db.execute(query, values).fetchall())
        except sqlite3.Error as error:
            raise told(error, self._path) from error

    def extend(self, job: QueuedJob, *, now: datetime) -> bool:
        with transaction(self._db, self._path) as db:
            until = to_ms(now + self._rule(job.queue).lease)
            return db.execute(_EXTEND, (until, *_mine(job))).rowcount > 0

    def done(self, job: QueuedJob, *, now: datetime, result: Data | None = None) -> None:
        self.end([JobEnd(job=job, result=result)], now=now)

    def failed(self, job: QueuedJob, *, now: datetime, error: str) -> datetime | None:
        return self.end([JobEnd(job=job, error=error)], now=now)[0]

    def end(self, ends: Sequence[JobEnd], *, now: datetime) -> list[datetime | None]:
        return [one.again_at for one in self.settle(ends, now=now, rules={})]

    def settle(
        self, ends: Sequence[JobEnd], *, now: datetime, rules: Mapping[tuple[str, str], QueueRule]
    ) -> list[JobSettled]:
        """The same; tells which were ours.  `rules`: of jobs that were ordered with their own."""
        with transaction(self._db, self._path) as db:
            db.executemany(_NEW_DONE, [_new_row(one, now) for one in ends if one.is_new])
            settled = [self._end(db, one, now, rules.get((one.job.queue, one.job.id))) for one in ends]
            self._trim(db, ends)
        return settled

    def depth(self, queue: str, *, now: datetime) -> Depth:
        query = "SELECT state, COUNT(*) FROM jobs WHERE queue = ? GROUP BY state"
        return Depth(**{state: int(count) for state, count in self._read(query, (queue,))})

    def parked(self, queue: str | None = None, *, most: int = 100) -> list[ParkedJob]:
        """Newest first."""
        where, values = ("", ()) if queue is None else (" AND queue = ?", (queue,))
        rows = self._read(f"{_PARKED}{where} ORDER BY ended_at DESC LIMIT ?", (*values, most))
        return [_read_parked(row) for row in rows]

    def retry(self, queue: str, job_id: str, *, now: datetime) -> bool:
        statement = (
            "UPDATE jobs SET state = 'waiting', attempts = 0, due_at = ?, error = '', stack = '', queued_at = NULL "
            "WHERE queue = ? AND id = ? AND state = 'parked'"
        )
        with transaction(self._db, self._path) as db:
            return db.execute(statement, (to_ms(now), queue, job_id)).rowcount > 0

    def drop(self, queue: str, job_id: str) -> bool:
        with transaction(self._db, self._path) as db:
            statement = "DELETE FROM jobs WHERE queue = ? AND id = ? AND state = 'parked'"
            return db.execute(statement, (queue, job_id)).rowcount > 0

    def lose(self, worker: str, *, now: datetime) -> int:
        """A worker of this name starts, so the one before it is gone: its jobs are tried again.  How many."""
        query = "SELECT queue, id, attempts FROM jobs WHERE state = 'active' AND worker = ?"
        if not self._read(query, (worker,)):
            return 0
        with transaction(self._db, self._path) as db:
            lost = db.execute(query, (worker,)).fetchall()
            for one in lost:
                self._fail(db, one, (LOST, ""), now)
        return len(lost)

    def close(self) -> None:
        self._db.close()

    def _add(self, db: SqlConnection, job: NewJob, now: datetime) -> str:
        name = job.id
        if name is None:
            number = db.execute("SELECT COALESCE(MAX(number), 0) + 1 FROM jobs").fetchone()[0]
            name = f"{job.name}-{number}"
        db.execute(sql.NEW_JOB, job_row(replace(job, id=checked_id(name)), at=now))
        return name

    def _end(self, db: SqlConnection, end: JobEnd, now: datetime, rule: QueueRule | None) -> JobSettled:
        job = end.job
        if end.error is not None:
            if db.execute(f"SELECT 1 FROM jobs {_MINE}", _mine(job)).fetchone() is None:
                return JobSettled(is_ours=False)
            what = (job.queue, job.id, job.attempt)
            again = self._fail(db, what, (end.error, end.stack), now, rule)
            return JobSettled(is_ours=True, again_at=again)
        is_ours = end.is_new or bool(db.execute(_DONE, (to_ms(now), _result(end), *_mine(job))).rowcount)
        for following in end.then if is_ours else ():
            self._add(db, following, now)
        return JobSettled(is_ours=is_ours)

    def _trim(self, db: SqlConnection, ends: Sequence[JobEnd]) -> None:
        self._trim_states(db, [(one.job.queue, "done" if one.error is None else "parked") for one in ends])

    def _trim_states(self, db: SqlConnection, ended: Sequence[tuple[str, str]]) -> None:
        """Drop the oldest of what ended.  It reads all that is kept, so up to a tenth more is left to gather."""
        self._ended.update(ended)
        for queue, state in list(self._ended):
            rule = self._rule(queue)
            keep = rule.keep_done if state == "done" else rule.keep_parked
            if self._ended[queue, state] > keep // 10:
                db.execute(_TRIM, (queue, state, queue, state, keep))
                del self._ended[queue, state]

    def _rule(self, queue: str) -> QueueRule:
        return self._rules.get(queue, PLAIN)

    def _room(self, db: SqlConnection, queue: str, rule: QueueRule, now: datetime) -> int:
        """How many more may start now."""
        room = ROOM
        if rule.at_once is not None:
            query = "SELECT COUNT(*) FROM jobs WHERE queue = ? AND state = 'active'"
            room = min(room, rule.at_once - db.execute(query, (queue,)).fetchone()[0])
        if rule.per_minute is not None:
            query = "SELECT COUNT(*) FROM jobs WHERE queue = ? AND started_at > ?"
            started = db.execute(query, (queue, to_ms(now - MINUTE))).fetchone()[0]
            room = min(room, rule.per_minute - started)
        return max(0, room)

    def _return_lost(self, db: SqlConnection, queue: str, now: datetime) -> None:
        """A worker that was killed says nothing; its lease does."""
        for late in db.execute(_LATE, (queue, to_ms(now))).fetchall():
            self._fail(db, late, (LOST, ""), now)

    def _fail(
        self,
        db: SqlConnection,
        job: tuple[str, str, int],
        why: tuple[str, str],
        now: datetime,
        ordered: QueueRule | None = None,
    ) -> datetime | None:
        queue, name, attempts = job
        rule = ordered or self._rule(queue)
        if attempts >= rule.attempts:
            db.execute(_PARK, (to_ms(now), *why, queue, name))
            return None
        again = now + back_off(rule, attempts)
        db.execute(_AGAIN, (to_ms(again), *why, queue, name))
        return again


def checked_id(name: str) -> str:
    """BullMQ refuses ids with a colon and ids that are numbers; a bus that takes them here would fail there."""
    if not name or ":" in name or name.isdigit():
        raise InputError(f"{name!r} is no id for a job; use letters, digits and hyphens, as in scout-17")
    return name


def _queued(queue: str, worker: str, row: tuple[Any, ...]) -> QueuedJob:
    """From the order of _FREE."""
    _, job_id, name, data, attempts, added = row
    return QueuedJob(
        queue=queue,
        id=job_id,
        name=name,
        data=json.loads(data),
        attempt=attempts + 1,
        added_at=from_ms(added),
        worker=worker,
    )


def _new_row(end: JobEnd, now: datetime) -> tuple[Any, ...]:
    """In the order of _NEW_DONE."""
    job, at = end.job, to_ms(now)
    return (job.queue, checked_id(job.id), job.name, dump_json(job.data), at, at, at, at, _result(end))


def _result(end: JobEnd) -> str | None:
    return None if end.result is None else dump_json(end.result)


def _mine(job: QueuedJob) -> tuple[str, str, str, int]:
    """A worker that lost its lease ends nothing: the job is at another attempt."""
    return job.queue, job.id, job.worker, job.attempt
