"""The work of a crawl, for the dispatcher: lanes that are due, jobs that are leased, looks, what the settler wrote.

When a lane is considered, and what of it starts, is in lanes/dispatcher.py.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from vedette.contracts.copies import replace
from vedette.contracts.jobs import Missed, SentinelResult
from vedette.contracts.lane import Go, Wait
from vedette.contracts.ports import Clock
from vedette.contracts.watch import Group, Job, Release, Settlement
from vedette.contracts.words import LaneKey, Reason, Risk, WatchId
from vedette.core.lanes.outcomes import MEANING
from vedette.core.limits.budget import RunLimits, Tally, counted
from vedette.engine.crawl.memory_room import MemoryBudget
from vedette.engine.settle.settler import Claimed, Settler
from vedette.frontier import Frontier
from vedette.frontier.queue import worth
from vedette.lanes import LaneKeeper
from vedette.lanes.dispatcher import GRACE_S, Begun, Dispatcher, DispatchTerms
from vedette.lanes.keeper import PATIENCE, is_shut
from vedette.lanes.look_budgets import LookBudgets, SecondLooks

SOON = timedelta(seconds=2)  # a lane that opens within this may lease work already
UNSETTLED = 600  # looks that wait for their commit; beyond it no new look starts
SECOND_LOOKS = timedelta(seconds=90)  # until idle: a second look that comes within this is waited for
IDLE_PATIENCE = timedelta(seconds=40)  # once, until_idle: what starts within this is waited for
ORDERS = timedelta(seconds=1)  # how often the operator's words are read


class Mode(StrEnum):
    FOREVER = "forever"
    ONCE = "once"  # what is due at the start, nothing that becomes due later
    UNTIL_IDLE = "until_idle"


class Serve(Protocol):
    """Looks at a target and says what it settled."""

    async def __call__(self, job: Job) -> Settlement | Release: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended."""

    by: str  # idle | limit | stopped | failed
    tally: Tally
    error: BaseException | None = None
    result: SentinelResult | None = None  # spec 001/10.5
    missed: Missed = Missed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the loop moves values between."""

    clock: Clock
    frontier: Frontier
    keeper: LaneKeeper
    settler: Settler
    serve: Serve
    on_committed: Callable[[Group], None] = lambda group: None
    on_stopping: Callable[[], None] = lambda: None  # the last moment to hand something to the settler
    take_orders: Callable[[], None] | None = None  # the operator's words from other processes
    memory: MemoryBudget = field(default_factory=MemoryBudget)  # what looks hold until they are written
    look_budgets: LookBudgets = field(default_factory=lambda: LookBudgets(None, None))  # looks per day
    hunts: bool = False  # somebody has to ask the settler to choose
    on_clock_set: Callable[[timedelta], None] = lambda by: None  # the clock was set forward or back


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """What kind of run it is, and how long it goes."""

    mode: Mode = Mode.FOREVER
    limits: RunLimits = RunLimits()
    patience: timedelta = IDLE_PATIENCE
    grace_s: float = GRACE_S
    orders_every: timedelta = ORDERS
    wanted: Mapping[WatchId, LaneKey] | None = None  # not None: it ends when each of these was seen


class Engine:
    """One run of the crawler."""

    def __init__(self, parts: Parts, terms: RunTerms) -> None:
        self.parts = parts
        self.tally = Tally()
        self._mode = terms.mode
        self._patience = terms.patience
        self._orders_every = terms.orders_every
        self._wanted = None if terms.wanted is None else dict(terms.wanted)
        dispatch = DispatchTerms(
            limits=terms.limits,
            has_doubt=True,
            is_rationed=parts.look_budgets.is_limited,
            grace_s=terms.grace_s,
        )
        self._dispatcher = Dispatcher(self, parts.keeper, parts.clock, dispatch)
        self._wakes = parts.keeper.wakes
        self._seconds = SecondLooks(parts.look_budgets)
        self._unsettled = 0
        self._is_claiming = False
        self._is_paused = False
        self._hunts = 0  # choices asked for and not made
        self._hunt_at: datetime | None = None  # when there may be something to choose, though no look ends
        self._orders_at: datetime | None = None

    async def run(self) -> Ended:
        self._hunt_at = self.parts.clock.now() if self.parts.hunts else None
        by = await self._dispatcher.run()
        return Ended(by=by, tally=self.tally, error=self._dispatcher.error)

    def stop(self, reason: str = "stopped") -> None:
        """No new looks; those under way may end."""
        self._dispatcher.stop(reason)

    @property
    def under_way(self) -> int:
        """Looks that have started and not ended."""
        return self._dispatcher.under_way

    def touch(self, lane: LaneKey) -> None:
        """Something about this lane changed."""
        self._wakes.touch(lane)

    # What the settler tells.

    def on_claimed(self, claimed: Claimed) -> None:
        now = self.parts.clock.now()
        self._is_claiming = False
        for lane, watches, dues in claimed:
            self.parts.frontier.offer(lane, watches, now=now, dues=dues)
            self._wakes.touched[lane] = None
        self._wakes.news.set()

    def on_committed(self, group: Group) -> None:
        now, touched = self.parts.clock.now(), self._wakes.touched
        self.parts.frontier.note_group(group, now)
        for placed in group.placed:
            self._note_seen(placed.settlement)
            touched[placed.settlement.watch.lane] = None
        ended = [placed.settlement.watch for placed in group.placed] + [job.watch for job in group.released]
        self._unsettled -= len(ended)
        for watch in ended:
            self.parts.memory.free(watch.id)
        touched.update((job.watch.lane, None) for job in group.released)
        self._hunts -= group.hunts
        again_at = None if group.hunt is None else group.hunt.again_at
        if again_at is not None and (self._mode is not Mode.ONCE or again_at <= now):
            self._hunt_at = again_at  # a run that looks once chooses for the next one, and waits for nothing
        self.tally = counted(self.tally, group)
        self.parts.on_committed(group)
        self._wakes.news.set()

    def on_paused(self, is_paused: bool) -> None:
        """The store takes nothing just now, or does again: meanwhile no look starts, and those under way may end."""
        self._is_paused = is_paused
        self._wakes.touched.update(dict.fromkeys(self.parts.keeper.known()))
        self._wakes.news.set()

    def on_failed(self, error: BaseException) -> None:
        """Storage broke: nothing can be acknowledged any more."""
        self._unsettled = 0
        self._dispatcher.fail(error)

    def on_healed(self, dues: Iterable[tuple[LaneKey, Risk, datetime]]) -> None:
        """The store was healed of times that lay too far ahead: this is when its lanes are due."""
        for lane, risk, due_at in dues:
            self.parts.frontier.note_due(lane, due_at, risk)
        self._wakes.news.set()

    # What the dispatcher asks.

    @property
    def ended(self) -> int:
        return self.tally.visits

    @property
    def begun(self) -> int:
        """Looks under way count as visits already: the limit is never passed."""
        return self.tally.visits + self._unsettled

    def begin_turn(self, now: datetime) -> None:
        if self.parts.take_orders and (self._orders_at is None or now >= self._orders_at):
            self._orders_at = now + self._orders_every
            self.parts.take_orders()

    def due(self, now: datetime) -> Iterable[LaneKey]:
        if self._hunt_at is not None and now >= self._hunt_at:
            self._hunt_at = None
            self._hunts += 1
            self.parts.settler.hunt()
        return self.parts.frontier.pop_due(self._horizon(now))

    def has_work(self, lane: LaneKey, now: datetime) -> bool:
        frontier = self.parts.frontier
        return frontier.peek(lane) is not None or frontier.is_due(lane, self._horizon(now))

    def offer(self, lane: LaneKey, answer: Go | Wait, now: datetime) -> float | Wait | None:
        job = self.parts.frontier.peek(lane)
        if job is None:
            self._line_up(lane, answer, now)
            return None
        is_overtaken = self._seconds.overtakes(job.watch, now)
        if is_overtaken or (isinstance(answer, Wait) and is_shut(answer, now + PATIENCE)):
            self._give_back(lane)
            return None
        if isinstance(answer, Wait):
            return None
        is_second = job.watch.pending is not None
        return self._seconds.wait(job.watch, now) or (math.inf if is_second else worth(job.watch, now))

    def start(self, lane: LaneKey, lanes: tuple[LaneKey, ...], now: datetime) -> Begun | Wait | None:
        job = self.parts.frontier.peek(lane)
        if job is None:
            return None
        wait = self._seconds.wait(job.watch, now)
        if wait is not None:
            return wait
        self.parts.frontier.pop(lane)
        job = replace(job, lanes=lanes, value=worth(job.watch, now))
        self.parts.look_budgets.spend(lane, now)
        self.parts.keeper.start(lanes, now)
        self._unsettled += 1
        return self._look(job)

    def end_turn(self, now: datetime) -> None:
        """One claim at a time, for the best lanes of the line."""
        if self._is_claiming or not self.parts.frontier.has_line():
            return
        asks = self.parts.frontier.asks(self.parts.keeper.gap)
        if asks:
            self._is_claiming = True
            self.parts.settler.claim(asks, due_by=self._horizon(now))

    def is_paused(self) -> bool:
        return self._is_paused

    def has_room(self) -> bool:
        """Looks that stepped aside are not what the settler has to write now."""
        return self._unsettled - self.parts.keeper.aside < UNSETTLED

    def is_busy(self) -> bool:
        return self._unsettled > self._dispatcher.under_way or self._is_claiming or self._hunts > 0

    def is_done(self, now: datetime) -> bool:
        dispatcher = self._dispatcher
        if dispatcher.stopped_by:
            return True
        if any((dispatcher.under_way, self._unsettled, self._is_claiming, self._hunts, self._wakes.touched)):
            return False
        if self._wanted is not None:
            if not self._wanted or self._is_hopeless(now):
                dispatcher.stop("limit" if self._wanted else "idle")
        elif self._mode is not Mode.FOREVER and not self._is_worth_waiting(now):
            dispatcher.stop("idle")
        return bool(dispatcher.stopped_by)

    def next_at(self) -> datetime | None:
        due = None if self._mode is Mode.ONCE else self.parts.frontier.next_due()
        return min((at for at in (self._orders_at, self._hunt_at, due) if at is not None), default=None)

    def on_limit(self, reason: Reason) -> None:
        self.stop("limit")

    def on_clock_set(self, by: timedelta, now: datetime) -> None:
        self.parts.look_budgets.clock_set(by, now)
        self._seconds.clock_set(now)
        self._orders_at = None
        self._hunt_at = None if self._hunt_at is None else now
        self.parts.on_clock_set(by)

    async def close(self) -> None:
        """What is left is written."""
        self.parts.on_stopping()
        self.parts.settler.stop()
        while self.parts.settler.is_alive():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)  # acknowledgements that the settler posted

    async def _look(self, job: Job) -> None:
        settler = self.parts.settler
        try:
            result = await self.parts.serve(job)
        except asyncio.CancelledError:
            settler.aside(Release(job))
            raise
        if isinstance(result, Release):
            self.parts.look_budgets.give_back(job.watch.lane)
            settler.aside(result)
        else:
            settler.settle(result)
        if self._dispatcher.asking <= 1:
            settler.hurry()
        self._wakes.touch(job.watch.lane)

    def _line_up(self, lane: LaneKey, answer: Go | Wait, now: datetime) -> None:
        """Work of a lane that is open, or soon, is leased as far as its budget allows."""
        open_at = answer.until if isinstance(answer, Wait) else now
        if open_at is None or open_at > now + SOON or not self._dispatcher.may_start():
            return
        until = self._seconds.leases_at(lane, now)
        if until is not None:
            self._wakes.add(lane, until)
            return
        failures = self.parts.keeper.doubt(lane)
        self.parts.frontier.line_up(lane, self._horizon(now), failures=failures)

    def _give_back(self, lane: LaneKey) -> None:
        """Work that was leased for a lane that shut must not take the room of others."""
        for job in self.parts.frontier.give_back(lane):
            self._unsettled += 1
            self.parts.settler.aside(Release(job))

    def _note_seen(self, settled: Settlement) -> None:
        """A second look is waited for, and so is the next try of a look that failed."""
        watch = settled.watch
        is_second = self._seconds.note(watch)
        if is_second:
            self._wakes.add(watch.lane, watch.due_at)
        is_retried = settled.parked is None and MEANING[settled.visit.outcome].retry
        if self._wanted is not None and not is_second and not is_retried:
            self._wanted.pop(watch.id, None)

    def _horizon(self, now: datetime) -> datetime:
        """What is due by then may be claimed."""
        return self._dispatcher.started_at if self._mode is Mode.ONCE else now

    def _is_hopeless(self, now: datetime) -> bool:
        """No look that is still wanted can start before the run ends."""
        last, wanted = self._dispatcher.limits.deadline, set((self._wanted or {}).values())
        return last is not None and not any(self._opens_by(lane, last, now) for lane in wanted)

    def _opens_by(self, lane: LaneKey, last: datetime, now: datetime) -> bool:
        answer = self.parts.keeper.ask((lane,), now)
        until = answer.until if isinstance(answer, Wait) else now
        spent = self.parts.look_budgets.opens_at(lane, now) or now
        return until is not None and max(until, spent) <= last

    def _is_worth_waiting(self, now: datetime) -> bool:
        """Something is due, or will be soon, in a lane that opens soon."""
        last, frontier = now + self._patience, self.parts.frontier
        by = self._horizon(last)
        if (self.parts.look_budgets.opens_at(None, now) or now) > last:
            return False
        is_hunting = self._hunt_at is not None and self._hunt_at <= last
        if is_hunting or frontier.leased or self._has_second_look(now):
            return True
        due = frontier.next_due()
        if due is not None and due <= by:
            return True
        return any(frontier.is_due(lane, by) for lane in self._wakes.by(last))

    def _has_second_look(self, now: datetime) -> bool:
        """One that comes within its own patience: a removal is looked at again after a minute."""
        if self._mode is not Mode.UNTIL_IDLE:
            return False
        last = now + max(self._patience, SECOND_LOOKS)
        lanes = self._seconds.between(now - SECOND_LOOKS, last)
        return any(self._opens_by(lane, last, now) for lane in lanes)
