"""The stage queues: jobs are taken in groups, handlers decide, what they give is written, then the jobs end.

Looking comes first.  While looks are under way the worker rests nineteen times as long as it works, so that it
takes a twentieth of the time at most; when nothing is looked at it works through what waits.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.jobs import OCR, Failed, Handled, Idle, JobEnd, NewJob, QueuedJob, StageOrder
from vedette.contracts.ports import Clock, JobBus
from vedette.contracts.verdict import EvidenceFacts
from vedette.contracts.words import EvidenceId
from vedette.core.judging.verdict import read_stage_order
from vedette.judge import Handle, nothing

GROUP = 64  # jobs per transaction
ALONE = frozenset({OCR})  # minutes each: a group would keep others from taking them
REST = 19  # times the work, while looks are under way
LONGEST_REST_S = 2.0
_NOTHING = Idle(1.0)  # without news: what was retried by hand, or put there by another process
EXTEND_S = 60.0
ERROR_CHARS, STACK_CHARS = 500, 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How one stage job ended."""

    job: QueuedJob
    is_done: bool
    error: str = ""
    again_at: datetime | None = None  # None with an error: parked


@dataclass(frozen=True, slots=True)
class StageGroup:
    """Jobs of one queue that are done together."""

    jobs: Sequence[QueuedJob]
    handle: Handle


@dataclass(frozen=True, slots=True)
class StageDone:
    """What a group gave, and how its jobs ended."""

    took: Callable[[], timedelta]
    ends: list[JobEnd] = field(default_factory=list)
    gave: list[Handled] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageQueue:
    bus: JobBus
    handlers: Mapping[str, Handle]  # by queue, most urgent first
    facts: Callable[[EvidenceId], EvidenceFacts | None]
    save: Callable[[Sequence[Handled]], None]
    clock: Clock
    worker: str
    on_served: Callable[[Sequence[Served], timedelta], None] = lambda served, took: None

    async def take(self) -> StageGroup | Idle:
        """One group of the first queue that has any."""
        for queue, handle in self.handlers.items():
            most = 1 if queue in ALONE else GROUP
            now = self.clock.now()
            jobs = await asyncio.to_thread(self.bus.take_some, queue, worker=self.worker, now=now, most=most)
            if jobs:
                return StageGroup(jobs, handle)
        return _NOTHING

    async def extend(self, work: StageGroup) -> None:
        for job in work.jobs:
            await asyncio.to_thread(self.bus.extend, job, now=self.clock.now())

    async def failed(self, work: StageGroup | None, error: Exception) -> Idle:
        """A bug of a handler is the job's, below: this is the store, or the worker itself."""
        raise error

    async def perform(self, work: StageGroup) -> StageDone:
        done = StageDone(self.clock.stopwatch())
        for job in work.jobs:
            await self._follow(job, work.handle, done.ends, done.gave)
        return done

    async def end(self, work: StageGroup, result: StageDone) -> int:
        """What they gave is written first, then they end."""
        ends = result.ends
        await asyncio.to_thread(self.save, result.gave)
        again = await asyncio.to_thread(self.bus.end, ends, now=self.clock.now())
        served = [
            Served(job=end.job, is_done=end.error is None, error=end.error or "", again_at=at)
            for end, at in zip(ends, again, strict=True)
        ]
        self.on_served(served, result.took())
        return len(work.jobs)

    async def _follow(self, job: QueuedJob, handle: Handle, ends: list[JobEnd], gave: list[Handled]) -> None:
        """One job, and at once what follows from it and is ours: the evidence is laid open once for all of it.

        What follows and fails waits in its own queue, where its attempts are counted.
        """
        try:
            order = read_stage_order(job.data)
        except InputError as error:
            ends.append(JobEnd(job=job, error=str(error)))
            return
        facts = self.facts(order.evidence)
        given = await _given(order, facts, handle)
        if isinstance(given, Failed):
            ends.append(JobEnd(job=job, error=given.error, stack=given.stack))
            return
        following = [(job, False, given)]
        while following:
            now, is_new, done = following.pop()
            gave.append(done)
            waits: list[NewJob] = []
            for then in done.then:
                more = await self._at_once(then, order, facts)
                if more is None:
                    waits.append(then)
                else:
                    following.append((self._new(then), True, more))
            ends.append(JobEnd(job=now, is_new=is_new, result=done.result, then=tuple(waits)))

    async def _at_once(self, then: NewJob, order: StageOrder, facts: EvidenceFacts | None) -> Handled | None:
        """None: it has to wait, for another worker, for its turn, or for another attempt."""
        handle = self.handlers.get(then.queue)
        if handle is None or then.queue in ALONE:
            return None
        given = await _given(order, facts, handle)
        return given if isinstance(given, Handled) else None

    def _new(self, then: NewJob) -> QueuedJob:
        return QueuedJob(
            queue=then.queue,
            id=then.id or "",
            name=then.name,
            data=then.data,
            attempt=1,
            added_at=self.clock.now(),
            worker=self.worker,
        )


def rest_while(is_busy: Callable[[], bool]) -> Callable[[float], float]:
    """How long the worker rests after so much work: looking comes first."""
    return lambda worked_s: min(LONGEST_REST_S, REST * worked_s) if is_busy() else 0.0


async def _given(order: StageOrder, facts: EvidenceFacts | None, handle: Handle) -> Handled | Failed:
    """What the handler says.  A bug fails the job and tells where it is."""
    if facts is None:
        return nothing(order)
    try:
        return await handle(order, facts)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  the edge of the stage loop: the job is parked, the others go on
        stack = "".join(traceback.format_exception(error))
        return Failed(error=f"{type(error).__name__}: {error}"[:ERROR_CHARS], stack=stack[-STACK_CHARS:])
