"""The `sentinel` queue beside a running engine: makes sources due, waits for their looks, gives the result.

The engine looks as it always does, by lanes and value; a job never asks anything itself, so it can hurt nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import SENTINEL, Idle, QueuedJob, SentinelOrder, SentinelResult
from vedette.contracts.lane import LaneState
from vedette.contracts.ports import Clock, JobBus
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import Group
from vedette.contracts.words import LaneKey, WatchId
from vedette.core.lanes.lane import SHUT, condition
from vedette.core.older_sentinel import read_order
from vedette.engine.crawl.run_result import RunLog
from vedette.report.looks import result_json
from vedette.store.connection import StorePlace
from vedette.store.operator import OwnAddress, operating, order_sources

POLL_S = 0.5
SERVER_POLL_S = 2.0  # a server is asked seldom
PATIENCE = timedelta(minutes=30)  # for all looks of one job; then it ends with what it has
EXTEND_S = 60.0
OnJob = Callable[[QueuedJob, str, timedelta, SentinelResult | None], None]


@dataclass(frozen=True, slots=True)
class SentinelWork:
    """One job, and since when."""

    job: QueuedJob
    took: Callable[[], timedelta]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentinelHearing:
    """What a queue hears of the looks that it orders.  Where others look, it orders and does not wait."""

    lane: Callable[[LaneKey], LaneState]
    listeners: list[Callable[[Group], None]] = field(default_factory=list)
    patience: timedelta = PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class SentinelQueue:
    bus: JobBus
    path: StorePlace
    clock: Clock
    lane: Callable[[LaneKey], LaneState]
    listeners: list[Callable[[Group], None]]  # whom the settler tells of every group
    on_started: Callable[[QueuedJob], None] = lambda job: None
    on_ended: OnJob = lambda job, status, took, result: None
    worker: str = "sentinel"
    patience: timedelta = PATIENCE

    async def take(self) -> SentinelWork | Idle:
        job = await asyncio.to_thread(self.bus.take, SENTINEL, worker=self.worker, now=self.clock.now())
        if job is None:
            return Idle(SERVER_POLL_S if isinstance(self.path, PostgresAddress) else POLL_S)
        self.on_started(job)
        return SentinelWork(job, self.clock.stopwatch())

    async def perform(self, work: SentinelWork) -> SentinelResult | InputError:
        try:
            order = read_order(work.job.data)
        except InputError as error:
            return error
        return await self.carry_out(order)

    async def extend(self, work: SentinelWork) -> None:
        await asyncio.to_thread(self.bus.extend, work.job, now=self.clock.now())

    async def end(self, work: SentinelWork, result: SentinelResult | InputError) -> int:
        job, now = work.job, self.clock.now()
        if isinstance(result, InputError):
            await asyncio.to_thread(self.bus.failed, job, now=now, error=str(result))
            self.on_ended(job, "failed", work.took(), None)
        else:
            await asyncio.to_thread(self.bus.done, job, now=now, result=result_json(result))
            self.on_ended(job, "completed", work.took(), result)
        return 1

    async def failed(self, work: SentinelWork | None, error: Exception) -> Idle:
        """What fails here stops the service, loudly."""
        raise error

    async def carry_out(self, order: SentinelOrder) -> SentinelResult:
        """Looks at what the order names; an order that names nothing that is there says so."""
        started, took = self.clock.now(), self.clock.stopwatch()
        watch = _Watch(self.lane)
        loop = asyncio.get_running_loop()

        def hear(group: Group) -> None:
            loop.call_soon_threadsafe(watch.take, group)

        self.listeners.append(hear)
        try:
            watch.expect(await asyncio.to_thread(self._order, order))
            await self._wait(watch, started + self.patience)
        finally:
            self.listeners.remove(hear)
        if order.source is not None and not watch.addresses:
            watch.failure = f"there is no active source {order.source!r}"
        return watch.result(took=took(), now=self.clock.now())

    def _order(self, order: SentinelOrder) -> list[OwnAddress]:
        with operating(self.path) as db:
            return order_sources(db, order, now=self.clock.now())

    async def _wait(self, watch: _Watch, until: datetime) -> None:
        while watch.waiting and self.clock.now() < until:
            await watch.moved(POLL_S)
            watch.skip_shut(self.clock.now())


@dataclass(slots=True)
class _Watch:
    """What one job waits for.  Lives in the loop's thread."""

    lane: Callable[[LaneKey], LaneState]
    addresses: dict[WatchId, OwnAddress] = field(default_factory=dict)
    waiting: set[WatchId] = field(default_factory=set)
    failure: str = ""
    _log: RunLog | None = None
    _early: list[Group] = field(default_factory=list)
    _skipped: dict[WatchId, str] = field(default_factory=dict)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def expect(self, addresses: list[OwnAddress]) -> None:
        self.addresses = {one.watch: one for one in addresses}
        self.waiting = set(self.addresses)
        self._log = RunLog(sources={one.source for one in addresses})
        for group in self._early:
            self.take(group)

    def take(self, group: Group) -> None:
        """The engine may be faster than the answer of the store that ordered it."""
        if self._log is None:
            self._early.append(group)
            return
        self._log.add(group)
        self.waiting -= {placed.settlement.watch.id for placed in group.placed}
        self._news.set()

    async def moved(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def skip_shut(self, now: datetime) -> None:
        """A host that is shut is not waited for: the breaker's hour is longer than anyone's patience."""
        for watch in tuple(self.waiting):
            word = condition(self.lane(self.addresses[watch].lane), now)
            if word in SHUT:
                self._skipped[watch] = f"its lane is {word}"
                self.waiting.discard(watch)

    def result(self, *, took: timedelta, now: datetime) -> SentinelResult:
        names = {one.source: one.name for one in self.addresses.values()}
        log = self._log or RunLog()
        result = log.result(
            took=took, now=now, lane=self.lane, name=lambda source: names[source], failure=self.failure
        )
        undone = self._skipped | dict.fromkeys(self.waiting, "not looked at in time")
        late = [f"{self.addresses[watch].name}: {why}" for watch, why in undone.items()]
        return replace(result, errors=(*result.errors, *late))
