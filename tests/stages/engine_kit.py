"""An engine without disk and network: a store of dicts, looks that do what they are told, a clock that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

from machine import patient
from settlements import NOON, RUN, SECOND, a_look, a_place

from vedette.contracts.lane import LanePolicy, LaneState
from vedette.contracts.watch import Ask, Group, Job, Release, Settlement, Watch
from vedette.contracts.words import LaneKey, Risk, WatchId
from vedette.core.limits.budget import RunLimits
from vedette.engine.crawl.loop import IDLE_PATIENCE, Ended, Engine, Mode, Parts, RunTerms
from vedette.engine.settle.settler_orders import Aside
from vedette.frontier import Frontier
from vedette.frontier.queue import best
from vedette.lanes import LaneKeeper, LanePolicies
from vedette.telemetry.clock import JumpingClock

POLITE = LanePolicy(gap_min=2 * SECOND, gap_max=2 * SECOND, per_minute=0, trips_after=2)
WIDE = replace(POLITE, gap_min=0 * SECOND, gap_max=0 * SECOND, trips_after=10**6)


class MemorySettler:
    """Answers and commits in the next round of the loop, in order; the truth is two dicts."""

    def __init__(self, clock: JumpingClock) -> None:
        self.watches: dict[WatchId, Watch] = {}
        self.leases: set[WatchId] = set()
        self.engine: Engine
        self.visited: list[Watch] = []
        self.asked: list[Ask] = []
        self.released: list[Job] = []
        self.fails: Exception | None = None
        self._clock = clock
        self._alive = True
        self._waiting: list[Settlement | Aside] = []

    def claim(self, asks: Sequence[Ask], *, due_by: datetime) -> None:
        self.asked += asks
        asyncio.get_running_loop().call_soon(self._answer, asks, due_by)

    def settle(self, settlement: Settlement) -> None:
        self._wait(settlement)

    def aside(self, value: Aside) -> None:
        self._wait(value)

    def hurry(self) -> None:
        pass

    def stop(self) -> None:
        self._commit()
        self._alive = False

    def is_alive(self) -> bool:
        return self._alive

    def _wait(self, value: Settlement | Aside) -> None:
        self._waiting.append(value)
        asyncio.get_running_loop().call_soon(self._commit)

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting or not self._alive:
            return
        if self.fails is not None:
            self._alive = False
            self.engine.on_failed(self.fails)
            return
        settled = [value for value in waiting if isinstance(value, Settlement)]
        released = [value.job for value in waiting if isinstance(value, Release)]
        for one in settled:
            self.watches.update((watch.id, watch) for watch in (*one.found, one.watch))
            self.visited.append(one.watch)
        self.released += released
        self.leases -= {job.watch.id for job in released} | {one.watch.id for one in settled}
        group = Group(run=RUN, placed=tuple(map(a_place, settled)), released=tuple(released))
        self.engine.on_committed(group)

    def _answer(self, asks: Sequence[Ask], due_by: datetime) -> None:
        claimed = []
        for ask in asks:
            free = [
                w
                for w in self.watches.values()
                if w.lane == ask.lane and w.due_at and w.id not in self.leases
            ]
            due = [(w.id, w.risk, w.due_at, 3600) for w in free if w.due_at <= due_by]
            chosen = best(due, ask.most, self._clock.now())
            self.leases.update(chosen)
            rest = [w for w in free if w.id not in chosen]
            dues = [min((w.due_at for w in rest if w.risk is risk), default=None) for risk in Risk]
            claimed.append((ask.lane, [self.watches[i] for i in chosen], dues))
        self.engine.on_claimed(claimed)


class CountingKeeper(LaneKeeper):
    """Counts how often a lane is woken."""

    woken = 0

    def wake(self, key: LaneKey) -> datetime | None:
        self.woken += 1
        return super().wake(key)


Serve = Callable[[Job], Awaitable[object]]


@dataclass
class Rig:
    """An engine and everything that a test asks it about."""

    mode: Mode = Mode.UNTIL_IDLE
    policy: LanePolicy = POLITE
    at_once: int = 64
    limits: RunLimits = field(default_factory=RunLimits)
    room: int = 500
    is_known: bool = False  # every host answered before this run
    patience: timedelta = IDLE_PATIENCE
    grace_s: float = 0.05
    on_stopping: Callable[[], None] = lambda: None
    take_orders: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        self.clock = JumpingClock(NOON, is_stepped=False)  # many looks at once, as on the machine's own clock
        self.policies = LanePolicies(default=self.policy, named={"all": replace(WIDE, at_once=self.at_once)})
        self.keeper = CountingKeeper(
            self.policies, load=lambda key: LaneState() if self.is_known else None, clock=self.clock
        )
        self.frontier = Frontier(run=RUN, room=self.room)
        self.settler = MemorySettler(self.clock)
        parts = Parts(
            clock=self.clock,
            frontier=self.frontier,
            keeper=self.keeper,
            settler=self.settler,  # type: ignore[arg-type]
            serve=self.serve,  # type: ignore[arg-type]
            on_stopping=lambda: self.on_stopping(),
            take_orders=None if self.take_orders is None else lambda: self.take_orders(),
        )
        terms = RunTerms(mode=self.mode, limits=self.limits, grace_s=self.grace_s, patience=self.patience)
        self.engine = Engine(parts, terms)
        self.settler.engine = self.engine
        self.during: dict[LaneKey, Serve] = {}  # what happens while a look in this lane is under way
        self.started: list[tuple[str, datetime]] = []
        self.under_way = self.most_under_way = 0
        self._numbers = count(1)

    def plant(self, *watches: Watch) -> None:
        for watch in watches:
            self.settler.watches[watch.id] = watch
            if watch.due_at is not None:
                self.frontier.note_due(watch.lane, watch.due_at, watch.risk)

    async def run(self) -> Ended:
        return await asyncio.wait_for(self.engine.run(), patient(30))

    async def serve(self, job: Job) -> Settlement | Release:
        """Takes no time, unless `during` says otherwise; the permit ends with it."""
        self.started.append((job.watch.url, self.clock.now()))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        ok: bool | None = True
        try:
            during = self.during.get(job.watch.lane)
            if during is not None:
                said = await during(job)
                if isinstance(said, Settlement | Release):
                    return said
                ok = said is not False
            return a_look(job.watch, next(self._numbers), at=self.clock.now())
        finally:
            self.under_way -= 1
            self.keeper.finish(job.lanes, ok=ok, now=self.clock.now())
