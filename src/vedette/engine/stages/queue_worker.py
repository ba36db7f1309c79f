"""Serves the stage queues: takes jobs in groups, lets handlers decide, writes what they give and then ends the jobs.

Looking comes first.  While looks are under way the worker rests nineteen times as long as it works, so that it
takes a twentieth of the time at most; when nothing is looked at it works through what waits.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.jobs import OCR, JobEnd, NewJob, QueuedJob
from vedette.contracts.ports import Clock, JobBus
from vedette.contracts.stage_work import Failed, Handled, StageOrder
from vedette.contracts.verdict import EvidenceFacts
from vedette.contracts.words import EvidenceId
from vedette.core.judging.verdict import read_stage_order
from vedette.judge import Handle, nothing

GROUP = 64  # jobs per transaction
ALONE = frozenset({OCR})  # minutes each: a group would keep others from taking them
REST = 19  # times the work, while looks are under way
LONGEST_REST_S = 2.0
POLL_S = 1.0  # without news: what was retried by hand, or put there by another process
EXTEND_S = 60.0
ERROR_CHARS, STACK_CHARS = 500, 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How one stage job ended."""

    job: QueuedJob
    is_done: bool
    error: str = ""
    again_at: datetime | None = None  # None with an error: parked


@dataclass(slots=True, kw_only=True)
class StageWorker:
    bus: JobBus
    handlers: Mapping[str, Handle]  # by queue, most urgent first
    facts: Callable[[EvidenceId], EvidenceFacts | None]
    save: Callable[[Sequence[Handled]], None]
    clock: Clock
    worker: str
    is_busy: Callable[[], bool] = lambda: False  # looks are under way
    on_served: Callable[[Sequence[Served], timedelta], None] = lambda served, took: None
    extend_s: float = EXTEND_S
    news: asyncio.Event = field(default_factory=asyncio.Event)
    _hurry: asyncio.Event = field(default_factory=asyncio.Event)  # nobody looks any more: no rest
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _is_stopping: bool = False

    async def run(self) -> None:
        """Until `stop`."""
        loop = asyncio.get_running_loop()  # its time is the time in which we rest, whatever the clock says
        while not self._is_stopping:
            began = loop.time()
            self.news.clear()
            if await self.turn():
                self._idle.clear()
                if self.is_busy():
                    await _wait(self._hurry, min(LONGEST_REST_S, REST * (loop.time() - began)))
            elif not self.news.is_set():
                self._idle.set()
                await _wait(self.news, POLL_S)

    async def drain(self) -> None:
        """Until nothing waits, or `stop`."""
        while not self._is_stopping and await self.turn():
            pass

    async def settle_down(self, *, within: timedelta) -> None:
        """For whoever runs it beside the looks and has no more of them: wait until nothing waits, or so long."""
        self._idle.clear()
        self._hurry.set()
        self.news.set()
        await _wait(self._idle, within.total_seconds())

    def stop(self) -> None:
        """The group at hand is ended, no other is begun."""
        self._is_stopping = True
        self._hurry.set()
        self.news.set()

    async def turn(self) -> int:
        """One group of the first queue that has any; how many jobs that were."""
        for queue, handle in self.handlers.items():
            most = 1 if queue in ALONE else GROUP
            now = self.clock.now()
            jobs = await asyncio.to_thread(self.bus.take_some, queue, worker=self.worker, now=now, most=most)
            if jobs:
                await self._serve(jobs, handle)
                return len(jobs)
        return 0

    async def _serve(self, jobs: Sequence[QueuedJob], handle: Handle) -> None:
        took = self.clock.stopwatch()
        ends: list[JobEnd] = []
        gave: list[Handled] = []
        async with self._held(jobs):
            for job in jobs:
                await self._follow(job, handle, ends, gave)
        await asyncio.to_thread(self.save, gave)
        again = await asyncio.to_thread(self.bus.end, ends, now=self.clock.now())
        served = [
            Served(job=end.job, is_done=end.error is None, error=end.error or "", again_at=at)
            for end, at in zip(ends, again, strict=True)
        ]
        self.on_served(served, took())

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

    @asynccontextmanager
    async def _held(self, jobs: Sequence[QueuedJob]) -> AsyncIterator[None]:
        """Their leases last as long as the work does."""
        is_over = asyncio.Event()
        holding = asyncio.create_task(self._hold(jobs, is_over))
        try:
            yield
        finally:
            is_over.set()
            await holding  # whoever uses the bus next must find it free

    async def _hold(self, jobs: Sequence[QueuedJob], is_over: asyncio.Event) -> None:
        while True:
            await _wait(is_over, self.extend_s)
            if is_over.is_set():
                return
            for job in jobs:
                await asyncio.to_thread(self.bus.extend, job, now=self.clock.now())


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


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
