"""One worker for every queue: the outbox, the stage queues, the sentinel queue.

Takes work, keeps its lease while it lasts, and goes on until nothing waits; then it rests until there is news.  What
the work is, and how it ends, its queue knows.  Rests are in real time: a clock that jumps belongs to the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from vedette.contracts.jobs import Idle
from vedette.contracts.ports import WorkQueue

W = TypeVar("W")
R = TypeVar("R")


@dataclass(slots=True, kw_only=True)
class QueueWorker(Generic[W, R]):
    queue: WorkQueue[W, R]
    extend_s: float | None = None  # None: its work has no lease
    rest: Callable[[float], float] = lambda worked_s: 0.0  # after so much work
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _hurry: asyncio.Event = field(default_factory=asyncio.Event)  # no rest any more
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_stopping: bool = False

    async def run(self) -> None:
        """Until `stop`, or cancelled."""
        loop = asyncio.get_running_loop()
        while not self._is_stopping:
            began = loop.time()
            self._news.clear()
            done = await self._turn()
            if isinstance(done, Idle):
                if not self._news.is_set():
                    self._idle.set()
                    await _wait(self._news, done.seconds)
                continue
            self._idle.clear()
            rest_s = self.rest(loop.time() - began)
            if rest_s > 0:
                await _wait(self._hurry, rest_s)

    async def drain(self) -> None:
        """Until nothing waits, or `stop`."""
        while not self._is_stopping and not isinstance(await self._turn(), Idle):
            pass

    async def turn(self) -> int:
        """One piece of work, if there is one; how many jobs that were."""
        done = await self._turn()
        return 0 if isinstance(done, Idle) else done

    async def settle_down(self, *, within: timedelta) -> None:
        """Whoever runs it beside something else has no more of that: wait until nothing waits, or so long."""
        self._idle.clear()
        self._hurry.set()
        self._news.set()
        await _wait(self._idle, within.total_seconds())

    def wake(self) -> None:
        """Something was put into the queue."""
        self._news.set()

    def stop(self) -> None:
        """The work at hand is ended, no other is begun."""
        self._is_stopping = True
        self._hurry.set()
        self._news.set()

    async def _turn(self) -> int | Idle:
        async with self._one:  # `drain` beside `run` must not take what is being done
            work: W | None = None
            try:
                taken = await self.queue.take()
                if isinstance(taken, Idle):
                    return taken
                work = taken
                async with self._held(work):
                    result = await self.queue.perform(work)
                done, work = work, None
                return await self.queue.end(done, result)
            except Exception as error:  # noqa: BLE001  the edge of every queue: it parks the work, or hands on
                return await self.queue.failed(work, error)

    @asynccontextmanager
    async def _held(self, work: W) -> AsyncIterator[None]:
        """Its lease lasts as long as the work does."""
        if self.extend_s is None:
            yield
            return
        is_over = asyncio.Event()
        holding = asyncio.create_task(self._hold(work, self.extend_s, is_over))
        try:
            yield
        finally:
            is_over.set()
            await holding  # whoever uses the queue next must find it free

    async def _hold(self, work: W, extend_s: float, is_over: asyncio.Event) -> None:
        while True:
            await _wait(is_over, extend_s)
            if is_over.is_set():
                return
            await self.queue.extend(work)


@dataclass(frozen=True, slots=True)
class QueueWorkers:
    """Several that cannot hold each other up: one task each."""

    each: Sequence[QueueWorker[Any, Any]]

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for worker in self.each:
                tasks.create_task(worker.run())

    async def drain(self) -> None:
        """What can be done now, and come back."""
        await asyncio.gather(*(worker.drain() for worker in self.each))

    def wake(self) -> None:
        for worker in self.each:
            worker.wake()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
