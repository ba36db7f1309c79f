"""A job bus whose rows are in the store and whose jobs BullMQ brings to workers.  Implements `contracts.ports.JobBus`.

Written first is always the row.  Redis may be away at any line of this: what it did not hear of it is told again by
`hand_over` and `compare`, and what it delivers twice the rows answer with "it has ended" or "not yet".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime

from vedette.contracts.errors import ConfigError, StoreError, StoreWaitError
from vedette.contracts.jobs import Data, Depth, JobEnd, JobSettled, NewJob, ParkedJob, QueuedJob
from vedette.contracts.ports import JobRows
from vedette.core.queue_rules import Carried, must_replace
from vedette.jobs.bullmq_queues import BullmqQueues, HeldJob

GROUP = 500  # rows in one step
WINDOW = (
    10_000  # rows of a queue that Redis carries at once: bounds its memory, and how long a wipe takes to mend
)
ROUNDS = 50  # of deliveries that the rows say no to


class BullmqJobBus:
    """One task's, as the bus of the store is."""

    def __init__(self, rows: JobRows, queues: BullmqQueues, *, window: int = WINDOW) -> None:
        self._rows = rows
        self._window = window
        self._queues = queues
        self._taken: dict[tuple[str, str], HeldJob] = {}
        self._marks: dict[str, str] = {}  # how far the events of a queue were read

    def add(self, jobs: Sequence[NewJob], *, now: datetime) -> list[str]:
        ids = self._rows.add(jobs, now=now)
        self._hand_over_soon((job.queue for job in jobs), now)
        return ids

    def take(self, queue: str, *, worker: str, now: datetime) -> QueuedJob | None:
        return next(iter(self.take_some(queue, worker=worker, now=now, most=1)), None)

    def take_some(self, queue: str, *, worker: str, now: datetime, most: int) -> list[QueuedJob]:
        most = min(most, self._rows.room(queue, now=now))
        if most <= 0:
            return []
        self._queues.free_stalled(queue)
        self.hand_over(queue, now=now)
        jobs: list[QueuedJob] = []
        for _ in range(ROUNDS):
            found = self._take(queue, worker, now, most - len(jobs))
            if found is None:
                break
            jobs += found
            if len(jobs) >= most:
                break
        return jobs

    def extend(self, job: QueuedJob, *, now: datetime) -> bool:
        is_ours = self._rows.extend(job, now=now)
        taken = self._taken.get((job.queue, job.id))
        if is_ours and taken is not None:
            with suppress(StoreWaitError):
                self._queues.extend(job.queue, taken, self._rows.rule(job.queue).lease)
        return is_ours

    def done(self, job: QueuedJob, *, now: datetime, result: Data | None = None) -> None:
        self.end([JobEnd(job=job, result=result)], now=now)

    def failed(self, job: QueuedJob, *, now: datetime, error: str) -> datetime | None:
        return self.end([JobEnd(job=job, error=error)], now=now)[0]

    def end(self, ends: Sequence[JobEnd], *, now: datetime) -> list[datetime | None]:
        keys = {(one.job.queue, one.job.id) for one in ends}
        rules = {key: self._taken[key].delivered.rule for key in keys if key in self._taken}
        settled = self._rows.settle(ends, now=now, rules=rules)
        with suppress(StoreWaitError):  # the rows know
            for end, one in zip(ends, settled, strict=True):
                if one.is_ours and not end.is_new:
                    self._tell_end(end, one, now)
        self._hand_over_soon((then.queue for end in ends for then in end.then), now)
        return [one.again_at for one in settled]

    def depth(self, queue: str, *, now: datetime) -> Depth:
        """Jobs of other programs that nobody took yet are counted too, while Redis answers."""
        rows = self._rows.depth(queue, now=now)
        with suppress(StoreWaitError):
            waiting, active = self._queues.counts(queue)
            return Depth(
                waiting=waiting + self._rows.unqueued_count(queue),
                active=max(active, rows.active),
                done=rows.done,
                parked=rows.parked,
            )
        return rows

    def parked(self, queue: str | None = None, *, most: int = 100) -> list[ParkedJob]:
        return self._rows.parked(queue, most=most)

    def retry(self, queue: str, job_id: str, *, now: datetime) -> bool:
        is_retried = self._rows.retry(queue, job_id, now=now)
        if is_retried:
            self._hand_over_soon([queue], now)
        return is_retried

    def drop(self, queue: str, job_id: str) -> bool:
        is_dropped = self._rows.drop(queue, job_id)
        if is_dropped:
            with suppress(StoreWaitError):
                self._queues.remove(queue, [job_id])
        return is_dropped

    def lose(self, worker: str, *, now: datetime) -> int:
        return self._rows.lose(worker, now=now)

    def close(self) -> None:
        self._rows.close()
        self._queues.close()

    def hand_over(self, queue: str, *, now: datetime) -> int:
        """Gives BullMQ the rows that it does not carry, up to its window; how many."""
        count = 0
        while orders := self._rows.unqueued(queue, most=GROUP):
            room = self._window - self._rows.queued_count(queue)
            orders = orders[: max(0, room)]
            if not orders:
                break
            ids = [one.id for one in orders]
            known = self._queues.carried(queue, ids)
            again = [name for name, carried in zip(ids, known, strict=True) if must_replace(carried)]
            if again:
                self._queues.remove(queue, again)
            fresh = [one for one, carried in zip(orders, known, strict=True) if carried is not Carried.WAITS]
            self._queues.put(queue, fresh, self._rows.rule(queue), now=now)
            self._rows.mark_queued(queue, ids, now=now)
            count += len(ids)
        return count

    def hear(self, queue: str, *, now: datetime) -> int:
        """Ends that workers of other programs made since it was asked last; how many."""
        ends, mark = self._queues.ended_since(queue, self._marks.get(queue, ""))
        if ends:
            known = self._queues.carried(queue, [one.id for one in ends])
            over = (Carried.COMPLETED, Carried.FAILED, Carried.NOT)  # else it was retried since
            ends = [one for one, carried in zip(ends, known, strict=True) if carried in over]
            whole = {one.id: one for one in self._queues.ends(queue, [one.id for one in ends])}
            ends = [whole.get(one.id, one) for one in ends]
        count = self._rows.ended_elsewhere(queue, ends, now=now)
        self._marks[queue] = mark
        return count

    def compare(self, queue: str, *, now: datetime) -> int:
        """All rows that BullMQ should carry: what it lost is handed over again, what ended there ends; how many."""
        count, after = 0, ""
        while rows := self._rows.queued(queue, after=after, most=GROUP):
            after = rows[-1]
            known = dict(zip(rows, self._queues.carried(queue, rows), strict=True))
            ended = [row for row, one in known.items() if one in (Carried.COMPLETED, Carried.FAILED)]
            lost = [row for row, one in known.items() if one is Carried.NOT]
            self._rows.ended_elsewhere(queue, self._queues.ends(queue, ended), now=now)
            if lost:
                self._rows.mark_queued(queue, lost, now=None)
            count += len(ended) + len(lost)
        self.hand_over(queue, now=now)
        return count

    def _take(self, queue: str, worker: str, now: datetime, most: int) -> list[QueuedJob] | None:
        """None: nothing is delivered."""
        rule = self._rows.rule(queue)
        taken = self._queues.take(queue, worker=worker, now=now, most=most, rule=rule)
        if not taken:
            return None
        try:
            leases = self._rows.lease(queue, [one.delivered for one in taken], worker=worker, now=now)
        except StoreError:
            self._give_back(queue, taken, now)
            raise
        jobs = []
        for one, lease in zip(taken, leases, strict=True):
            if lease.job is not None:
                self._taken[queue, lease.job.id] = one
                jobs.append(lease.job)
            elif lease.again_at is not None:
                self._queues.delay(queue, one, now=now, until=lease.again_at)
            else:
                self._queues.complete(queue, one, now=now)
        return jobs

    def _give_back(self, queue: str, taken: Sequence[HeldJob], now: datetime) -> None:
        with suppress(StoreWaitError, ConfigError):
            for one in taken:
                self._queues.delay(queue, one, now=now, until=now)

    def _tell_end(self, end: JobEnd, settled: JobSettled, now: datetime) -> None:
        queue, name = end.job.queue, end.job.id
        taken = self._taken.pop((queue, name), None)
        if taken is None:
            return
        why = (end.error or "", end.stack)
        if end.error is None:
            self._queues.complete(queue, taken, now=now, result=end.result)
        elif settled.again_at is None:
            self._queues.fail(queue, taken, now=now, why=why)
        elif self._queues.delay(queue, taken, now=now, until=settled.again_at, why=why):
            self._rows.mark_queued(queue, [name], now=now)

    def _hand_over_soon(self, queues: Iterable[str], now: datetime) -> None:
        """At once where Redis answers; else who serves the queue does it."""
        with suppress(StoreWaitError, ConfigError):
            for queue in dict.fromkeys(queues):
                self.hand_over(queue, now=now)
