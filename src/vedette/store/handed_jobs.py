"""The rows of jobs that BullMQ carries.  Implements `contracts.ports.JobRows`.

A row is the truth: it says whose job it is, how often it was tried, and whether it has ended.  `queued_at` says whether
BullMQ carries it.  What BullMQ lost is handed over again; what it delivers although the row has ended is not worked on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from vedette.contracts.jobs import Delivered, EndElsewhere, HandOver, Lease, QueuedJob, QueueRule
from vedette.contracts.sql_connection import SqlConnection
from vedette.store.connection import IN_AT_ONCE, transaction
from vedette.store.job_bus import SqliteJobBus
from vedette.store.rows import from_ms, to_ms
from vedette.store.text_columns import dump_json

AGAIN = timedelta(seconds=1)  # a queue whose rule lets nothing start is asked again after this
_ROW = "SELECT state, attempts, due_at, until_at, added_at FROM jobs WHERE queue = ? AND id = ?"
_ADOPT = (
    "INSERT INTO jobs (queue, id, name, data, added_at, due_at, queued_at) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
_LEASE = (
    "UPDATE jobs SET state = 'active', attempts = ?, started_at = ?, worker = ?, until_at = ?, queued_at = ? "
    "WHERE queue = ? AND id = ?"
)
_UNQUEUED = (
    "SELECT id, name, data, added_at, due_at, attempts FROM jobs WHERE queue = ? AND state = 'waiting' "
    "AND queued_at IS NULL ORDER BY due_at, number LIMIT ?"
)
_CARRIED = "FROM jobs WHERE queue = ? AND state = 'waiting' AND queued_at IS NOT NULL"
_QUEUED = f"SELECT id {_CARRIED} AND id > ? ORDER BY id LIMIT ?"
_MARK = "UPDATE jobs SET queued_at = ? WHERE queue = ? AND state = 'waiting' AND id IN ({marks})"
_ENDED = (
    "UPDATE jobs SET state = ?, ended_at = ?, result = ?, error = ?, stack = ?, attempts = ? "
    "WHERE queue = ? AND id = ? AND state = 'waiting'"
)
_UNCARRIED = "SELECT COUNT(*) FROM jobs WHERE queue = ? AND state = 'waiting' AND queued_at IS NULL"


class HandedJobs(SqliteJobBus):
    def rule(self, queue: str) -> QueueRule:
        return self._rule(queue)

    def room(self, queue: str, *, now: datetime) -> int:
        """How many may start now.  What workers have lost is given back first."""
        if self._read(_LATE_ANY, (queue, to_ms(now))):
            with transaction(self._db, self._path) as db:
                self._return_lost(db, queue, now)
        return self._room(self._db, queue, self._rule(queue), now)

    def lease(self, queue: str, delivered: Sequence[Delivered], *, worker: str, now: datetime) -> list[Lease]:
        """One answer for each.  A job that no row knows gets one."""
        if not delivered:
            return []
        with transaction(self._db, self._path) as db:
            room = self._room(db, queue, self._rule(queue), now)
            given: list[Lease] = []
            for one in delivered:
                is_full = room <= 0
                lease = Lease(again_at=now + AGAIN) if is_full else self._leased(db, queue, one, worker, now)
                room -= lease.job is not None
                given.append(lease)
        return given

    def unqueued(self, queue: str, *, most: int) -> list[HandOver]:
        """Rows that wait and that BullMQ does not carry yet, the first due first."""
        return [
            HandOver(
                queue=queue,
                id=name,
                name=kind,
                data=json.loads(data),
                added_at=from_ms(added),
                due_at=from_ms(due),
                attempts=attempts,
            )
            for name, kind, data, added, due, attempts in self._read(_UNQUEUED, (queue, most))
        ]

    def queued(self, queue: str, *, after: str, most: int) -> list[str]:
        """Ids of rows that wait and that BullMQ carries, in order of their ids."""
        return [name for (name,) in self._read(_QUEUED, (queue, after, most))]

    def queued_count(self, queue: str) -> int:
        return int(self._read(f"SELECT COUNT(*) {_CARRIED}", (queue,))[0][0])

    def unqueued_count(self, queue: str) -> int:
        return int(self._read(_UNCARRIED, (queue,))[0][0])

    def mark_queued(self, queue: str, ids: Sequence[str], *, now: datetime | None) -> None:
        """BullMQ carries them; None: it does not."""
        at = None if now is None else to_ms(now)
        with transaction(self._db, self._path) as db:
            for first in range(0, len(ids), IN_AT_ONCE):
                some = ids[first : first + IN_AT_ONCE]
                db.execute(_MARK.format(marks=", ".join("?" * len(some))), (at, queue, *some))

    def ended_elsewhere(self, queue: str, ends: Sequence[EndElsewhere], *, now: datetime) -> int:
        """Rows that wait are done or parked by what another program says; how many."""
        if not ends:
            return 0
        with transaction(self._db, self._path) as db:
            count = sum(db.execute(_ENDED, (*_end_values(one, now), queue, one.id)).rowcount for one in ends)
            self._trim_states(db, [(queue, "done" if one.error is None else "parked") for one in ends])
        return count

    def _leased(self, db: SqlConnection, queue: str, one: Delivered, worker: str, now: datetime) -> Lease:
        at = to_ms(now)
        row = db.execute(_ROW, (queue, one.id)).fetchone()
        if row is None:
            values = (queue, one.id, one.name, dump_json(one.data), to_ms(one.added_at), at, at)
            db.execute(_ADOPT, values)
            row = ("waiting", 0, at, None, to_ms(one.added_at))
        state, attempts, due, until, added = row
        if state == "done":
            return Lease()
        if state == "active":  # its worker is alive, or counts as gone soon
            return Lease(again_at=max(from_ms(until), now + AGAIN))
        if state == "waiting" and due > at:
            return Lease(again_at=from_ms(due))
        made = (
            0 if state == "parked" else max(attempts, one.attempts)
        )  # parked: somebody retried it over there
        until = to_ms(now + self._rule(queue).lease)
        db.execute(_LEASE, (made + 1, at, worker, until, at, queue, one.id))
        return Lease(
            job=QueuedJob(
                queue=queue,
                id=one.id,
                name=one.name,
                data=one.data,
                attempt=made + 1,
                added_at=from_ms(added),
                worker=worker,
            )
        )


_LATE_ANY = "SELECT 1 FROM jobs WHERE queue = ? AND state = 'active' AND until_at <= ? LIMIT 1"


def _end_values(one: EndElsewhere, now: datetime) -> tuple[object, ...]:
    """In the order of _ENDED."""
    state = "done" if one.error is None else "parked"
    return state, to_ms(now), one.result, one.error or "", one.stack, one.attempts
