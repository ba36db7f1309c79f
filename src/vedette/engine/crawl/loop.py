"""The loop: lanes that are due, jobs that are leased, looks that are under way, settlements that are written.

A lane is considered when something about it changed (work, a claim, a call that ended, its time): one timer each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from vedette.contracts.hunt import HuntRows
from vedette.contracts.jobs import Missed, SentinelResult
from vedette.contracts.lane import Wait
from vedette.contracts.ports import Clock
from vedette.contracts.schedule import ScheduleRows
from vedette.contracts.watch import Group, Job, Release, Settlement
from vedette.contracts.words import LaneKey, Risk, WatchId
from vedette.core.lanes.outcomes import MEANING
from vedette.core.limits.run_limits import RunLimits, Tally, counted, spent
from vedette.engine.crawl.memory_room import MemoryBudget
from vedette.engine.crawl.ready_lanes import ReadyLanes, WakeUps
from vedette.engine.settle.settler import Claimed, Settler
from vedette.frontier import Frontier
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import ALL, DOUBTFUL, PATIENCE, is_shut
from vedette.lanes.look_budgets import LookBudgets

SOON = timedelta(seconds=2)  # a lane that opens within this may lease work already
UNSETTLED = 600  # looks that wait for their commit; beyond it no new look starts
SET = timedelta(seconds=2)  # a clock that differs by more from the passing of time was set
SECOND_LOOKS = timedelta(seconds=90)  # until idle: a second look that comes within this is waited for
GRACE_S = 10.0
IDLE_PATIENCE = timedelta(seconds=40)  # once, until_idle: what starts within this is waited for


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


@dataclass(slots=True, kw_only=True)
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


@dataclass(slots=True)
class Engine:
    parts: Parts
    mode: Mode = Mode.FOREVER
    limits: RunLimits = field(default_factory=RunLimits)
    patience: timedelta = IDLE_PATIENCE
    grace_s: float = GRACE_S  # for looks that are under way when the run ends
    tally: Tally = field(default_factory=Tally)
    wanted: dict[WatchId, LaneKey] | None = None  # not None: the run ends when each of these was seen
    _started_at: datetime | None = None
    _ready: ReadyLanes = field(default_factory=ReadyLanes)
    _timers: WakeUps = field(default_factory=WakeUps)
    _touched: dict[LaneKey, None] = field(default_factory=dict)  # in the order in which it happened
    _is_claiming: bool = False
    _is_paused: bool = False
    _hunts: int = 0  # choices asked for and not made
    _looks: set[asyncio.Task[None]] = field(default_factory=set)
    _unsettled: int = 0
    _sequence: int = 0
    _stop_reason: str = ""
    _error: BaseException | None = None
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _orders_at: datetime | None = None
    _moved: timedelta = timedelta(0)  # how far the clock had been set when we looked last
    _hunt_at: datetime | None = None  # when there may be something to choose, though no look ends
    _seconds: dict[LaneKey, datetime] = field(default_factory=dict)  # when a second look is due in a lane
    _pending: dict[WatchId, tuple[datetime, LaneKey]] = field(default_factory=dict)  # second looks to come

    async def run(self) -> Ended:
        clock = self.parts.clock
        self._started_at, self._moved = clock.now(), clock.moved()
        self._hunt_at = self._started_at if self.parts.hunts else None
        self.parts.keeper.on_wait = self._stand
        self.parts.keeper.on_free = self.touch
        try:
            while True:
                self._note_clock()
                now = clock.now()
                self._turn(now)
                if self._is_done(now):
                    break
                await clock.pause(self._wake, self._next_wake(), is_busy=self._is_busy())
                self._wake.clear()
        finally:
            await self._shut_down()
        return Ended(by="failed" if self._error else self._stop_reason, tally=self.tally, error=self._error)

    def stop(self, reason: str = "stopped") -> None:
        """No new looks; those under way may end."""
        self._stop_reason = self._stop_reason or reason
        self._wake.set()

    @property
    def under_way(self) -> int:
        """Looks that have started and not ended."""
        return len(self._looks)

    def touch(self, lane: LaneKey) -> None:
        """Something about this lane changed."""
        self._touched[lane] = None
        self._wake.set()

    def on_claimed(self, claimed: Claimed) -> None:
        now = self.parts.clock.now()
        self._is_claiming = False
        for lane, watches, dues in claimed:
            self.parts.frontier.offer(lane, watches, now=now, dues=dues)
            self._touched[lane] = None
        self._wake.set()

    def on_committed(self, group: Group) -> None:
        frontier = self.parts.frontier
        for placed in group.placed:
            settled = placed.settlement
            self._unsettled -= 1
            self.parts.memory.free(settled.watch.id)
            for watch in (settled.watch, *settled.found):
                if watch.due_at is not None:
                    frontier.note_due(watch.lane, watch.due_at, watch.risk)
            for signal in settled.signals:
                frontier.note_due(signal.lane, signal.due_at, Risk.MEDIUM)
            for raised in settled.raised:
                frontier.note_due(raised.lane, raised.due_at, Risk.CRITICAL)
            self._note_seen(settled)
            self._touched[settled.watch.lane] = None
        self._note_schedule(group.schedule)
        self._hunts -= group.hunts
        self._note_hunt(group.hunt)
        for job in group.released:
            self._unsettled -= 1
            self.parts.memory.free(job.watch.id)
            frontier.note_due(job.watch.lane, job.watch.due_at or self.parts.clock.now(), job.watch.risk)
            self._touched[job.watch.lane] = None
        self.tally = counted(self.tally, group)
        self.parts.on_committed(group)
        self._wake.set()

    def _note_seen(self, settled: Settlement) -> None:
        """A second look is waited for, and so is the next try of a look that failed."""
        watch = settled.watch
        is_second = watch.pending is not None and watch.due_at is not None
        if is_second and watch.due_at is not None:
            self._seconds[watch.lane] = watch.due_at
            self._pending[watch.id] = (watch.due_at, watch.lane)
            self._wait_for(watch.lane, watch.due_at)
        else:
            self._pending.pop(watch.id, None)
        is_retried = settled.parked is None and MEANING[settled.visit.outcome].retry
        if self.wanted is not None and not is_second and not is_retried:
            self.wanted.pop(watch.id, None)

    def _note_schedule(self, rows: ScheduleRows | None) -> None:
        """What the scheduler moved beside the looks of the group."""
        if rows is None:
            return
        frontier = self.parts.frontier
        for lane, at in rows.back:
            for risk in Risk:
                frontier.note_due(lane, at, risk)
        for leaf, due_at, _ in rows.replanned:
            frontier.note_due(leaf.lane, due_at, leaf.risk)

    def _note_hunt(self, rows: HuntRows | None) -> None:
        """What was chosen is due; of a run that looks at what was due before, by the next one."""
        if rows is None:
            return
        for one in rows.chosen:
            self.parts.frontier.note_due(one.lane, one.at, one.risk)
        if self.mode is not Mode.ONCE:
            self._hunt_at = rows.again_at or self._hunt_at

    def on_paused(self, is_paused: bool) -> None:
        """The store takes nothing just now, or does again: meanwhile no look starts, and those under way may end."""
        self._is_paused = is_paused
        self._touched.update(dict.fromkeys(self.parts.keeper.known()))
        self._wake.set()

    def on_failed(self, error: BaseException) -> None:
        """Storage broke: nothing can be acknowledged any more."""
        self._error = self._error or error  # what follows from the first is less telling
        self._unsettled = 0
        self.stop("failed")

    def on_healed(self, dues: Iterable[tuple[LaneKey, Risk, datetime]]) -> None:
        """The store was healed of times that lay too far ahead: this is when its lanes are due."""
        for lane, risk, due_at in dues:
            self.parts.frontier.note_due(lane, due_at, risk)
        self._wake.set()

    def _note_clock(self) -> None:
        """A clock that was set: whatever we wait for in memory is as far away as it was before."""
        by = self.parts.clock.moved() - self._moved
        if abs(by) < SET:
            return
        now = self.parts.clock.now()
        self._moved += by
        self.parts.keeper.clock_set(by)
        self.parts.look_budgets.clock_set(by, now)
        self._touched.update(dict.fromkeys(self._timers.clear()))
        self._orders_at = None
        self._hunt_at = None if self._hunt_at is None else now
        self._seconds = dict.fromkeys(self._seconds, now)
        self._pending = {watch: (now, lane) for watch, (_, lane) in self._pending.items()}
        if self._started_at is not None:
            self._started_at += by
        if self.limits.deadline is not None:
            self.limits = replace(self.limits, deadline=self.limits.deadline + by)
        self.parts.on_clock_set(by)

    def _turn(self, now: datetime) -> None:
        if spent(self.limits, self.tally, now) is not None:
            self.stop("limit")
        if self.parts.take_orders and (self._orders_at is None or now >= self._orders_at):
            self._orders_at = now + timedelta(seconds=1)
            self.parts.take_orders()
        if not self._may_go_on():
            return
        if self._hunt_at is not None and now >= self._hunt_at:
            self._hunt_at = None
            self._hunts += 1
            self.parts.settler.hunt()
        self._touched.update(dict.fromkeys(self.parts.frontier.pop_due(self._horizon(now))))
        self._touched.update(dict.fromkeys(self._timers.due(now)))
        touched, self._touched = deque(self._touched), {}
        while touched and self._may_go_on():
            self._consider(touched.popleft(), now)
        self._touched = dict.fromkeys((*touched, *self._touched))
        self._dispatch(now)
        if self.parts.frontier.has_line() and not self._is_claiming and self._may_go_on():
            asks = self.parts.frontier.asks(self.parts.keeper.gap)
            if asks:
                self._is_claiming = True
                self.parts.settler.claim(asks, due_by=self._horizon(now))

    def _consider(self, lane: LaneKey, now: datetime) -> None:
        """What can happen in this lane now: a waiter goes on, a job starts, work is leased, or a wake-up is set."""
        keeper, frontier = self.parts.keeper, self.parts.frontier
        until = keeper.wake(lane)
        if keeper.has_waiters(lane):
            self._wait_for(lane, until)
            return
        job = frontier.peek(lane)
        if job is None and not frontier.is_due(lane, self._horizon(now)):
            return
        if job is not None and self._is_overtaken(job, now):
            self._give_back(lane)
            return
        answer = keeper.ask((lane,), now)
        if isinstance(answer, Wait) and answer.until is not None:
            self._wait_for(lane, answer.until)
        if job is None:
            open_at = answer.until if isinstance(answer, Wait) else now
            is_open = open_at is not None and open_at <= now + SOON
            if is_open and self._may_start() and self._has_budget(lane, now):
                frontier.line_up(lane, self._horizon(now), failures=keeper.doubt(lane))
        elif isinstance(answer, Wait):
            if is_shut(answer, now + PATIENCE):
                self._give_back(lane)
        elif lane not in self._ready and self._may_spend(job, now):
            self._ready.push(lane, job.value, keeper.doubt(lane))

    def _dispatch(self, now: datetime) -> None:
        """Start the best waiting jobs of lanes that are open, as far as the width allows."""
        while self._ready and self._may_go_on() and self._may_start() and self._has_settled():
            answer = self.parts.keeper.ask((ALL,), now)
            if isinstance(answer, Wait):
                self._wait_for(ALL, answer.until)
                return
            doubt = self.parts.keeper.doubt_waits(now)
            lane = self._ready.pop(may_doubt=doubt is None)
            if lane is None:
                self._wait_for(DOUBTFUL, doubt.until if doubt is not None else None)
                return
            self._start(lane, now)
            if self._may_go_on():
                self._consider(lane, now)
            else:
                self._touched[lane] = None

    def _has_settled(self) -> bool:
        """Looks that stepped aside are not what the settler has to write now."""
        return self._unsettled - self.parts.keeper.aside < UNSETTLED

    def _start(self, lane: LaneKey, now: datetime) -> None:
        keeper, frontier = self.parts.keeper, self.parts.frontier
        job = frontier.peek(lane)
        lanes = keeper.lanes_to(lane)
        if job is None or isinstance(keeper.ask(lanes, now), Wait) or not self._may_spend(job, now):
            return
        job = replace(frontier.pop(lane), lanes=lanes)
        self.parts.look_budgets.spend(lane, now)
        keeper.start(lanes, now)
        self._unsettled += 1
        task = asyncio.create_task(self._look(job))
        self._looks.add(task)
        task.add_done_callback(self._looked)

    def _may_spend(self, job: Job, now: datetime) -> bool:
        """Is there budget for this look?  If not, its lane is woken when there is."""
        lane, is_second = job.watch.lane, job.watch.pending is not None
        until = self.parts.look_budgets.opens_at(lane, now, is_second=is_second)
        self._wait_for(lane, until)
        return until is None

    def _has_budget(self, lane: LaneKey, now: datetime) -> bool:
        """May work of this lane be leased?  Second looks may dip into what is kept for them."""
        look_budgets = self.parts.look_budgets
        until = look_budgets.opens_at(lane, now)
        if until is None:
            return True
        if self._may_look_again(lane, now):
            del self._seconds[lane]  # one claim for each: what else comes with it waits for its budget
            return True
        self._wait_for(lane, until)
        return False

    def _is_overtaken(self, job: Job, now: datetime) -> bool:
        """Does this job wait for a budget that a second look in its lane need not wait for?"""
        lane = job.watch.lane
        if lane not in self._seconds or job.watch.pending is not None:
            return False
        return self.parts.look_budgets.opens_at(lane, now) is not None and self._may_look_again(lane, now)

    def _may_look_again(self, lane: LaneKey, now: datetime) -> bool:
        """A second look is due, and there is budget kept for it."""
        due_at = self._seconds.get(lane)
        if due_at is None or due_at > now:
            return False
        return self.parts.look_budgets.opens_at(lane, now, is_second=True) is None

    def _give_back(self, lane: LaneKey) -> None:
        """Work that was leased for a lane that shut must not take the room of others."""
        for job in self.parts.frontier.give_back(lane):
            self._unsettled += 1
            self.parts.settler.aside(Release(job))

    async def _look(self, job: Job) -> None:
        try:
            result = await self.parts.serve(job)
        except asyncio.CancelledError:
            self.parts.settler.aside(Release(job))
            raise
        if isinstance(result, Release):
            self.parts.look_budgets.give_back(job.watch.lane)
            self.parts.settler.aside(result)
        else:
            self.parts.settler.settle(result)
        if len(self._looks) - self.parts.keeper.waiting <= 1:
            self.parts.settler.hurry()
        self.touch(job.watch.lane)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._looks.discard(task)
        self._wake.set()
        error = None if task.cancelled() else task.exception()
        if error is not None:  # `serve` parks a job that it fails on: what comes through is no job's fault
            self.on_failed(error)

    def _stand(self, lane: LaneKey, until: datetime) -> None:
        """A look under way waits in this lane.  The loop may sleep already, without knowing of this time."""
        self._wait_for(lane, until)
        self._wake.set()

    def _wait_for(self, lane: LaneKey, until: datetime | None) -> None:
        """At most one pending wake-up per lane."""
        if until is not None:
            self._timers.add(lane, until)

    def _next_wake(self) -> datetime | None:
        sooner = (self._orders_at, self.limits.deadline, self._hunt_at, self._timers.next_at())
        times = [at for at in sooner if at is not None]
        due = self.parts.frontier.next_due()
        if due is not None and self.mode is not Mode.ONCE:
            times.append(due)
        return min(times) if times else None

    def _horizon(self, now: datetime) -> datetime:
        """What is due by then may be claimed."""
        return self._started_at if self.mode is Mode.ONCE and self._started_at else now

    def _is_busy(self) -> bool:
        """Something will happen without the clock moving: a request, a write, a claim."""
        asking = len(self._looks) - self.parts.keeper.waiting
        return asking > 0 or self._unsettled > len(self._looks) or self._is_claiming or self._hunts > 0

    def _may_go_on(self) -> bool:
        """On a clock that steps, only one thing is under way: what ends first must not depend on the machine."""
        return not (self.parts.clock.is_stepped and self._is_busy())

    def _may_start(self) -> bool:
        if self._stop_reason or self._is_paused:
            return False
        most = self.limits.max_visits  # looks under way count as visits already: the limit is never passed
        return most is None or self.tally.visits + self._unsettled < most

    def _is_done(self, now: datetime) -> bool:
        if self._stop_reason:
            return True
        if self._looks or self._unsettled or self._is_claiming or self._hunts or self._touched:
            return False
        if self.wanted is not None:
            if not self.wanted or self._is_hopeless(now):
                self.stop("limit" if self.wanted else "idle")
        elif self.mode is not Mode.FOREVER and not self._has_work(now):
            self.stop("idle")
        return bool(self._stop_reason)

    def _is_hopeless(self, now: datetime) -> bool:
        """No look that is still wanted can start before the run ends."""
        last = self.limits.deadline
        return last is not None and not any(
            self._opens_by(lane, last, now) for lane in set((self.wanted or {}).values())
        )

    def _opens_by(self, lane: LaneKey, last: datetime, now: datetime) -> bool:
        answer = self.parts.keeper.ask((lane,), now)
        until = answer.until if isinstance(answer, Wait) else now
        spent = self.parts.look_budgets.opens_at(lane, now) or now
        return until is not None and max(until, spent) <= last

    def _has_work(self, now: datetime) -> bool:
        """Something is due, or will be soon, in a lane that opens soon."""
        last = now + self.patience
        by = self._horizon(last)
        if (self.parts.look_budgets.opens_at(None, now) or now) > last:
            return False
        if self._hunt_at is not None and self._hunt_at <= last:
            return True
        if self.mode is Mode.UNTIL_IDLE and self._has_second_look(now):
            return True
        due = self.parts.frontier.next_due()
        return (
            self.parts.frontier.leased > 0
            or (due is not None and due <= by)
            or any(self.parts.frontier.is_due(lane, by) for lane in self._timers.by(last))
        )

    def _has_second_look(self, now: datetime) -> bool:
        """One that comes within its own patience: a removal is looked at again after a minute."""
        first, last = now - SECOND_LOOKS, now + max(self.patience, SECOND_LOOKS)
        return any(
            first <= at <= last and self._opens_by(lane, last, now) for at, lane in self._pending.values()
        )

    async def _shut_down(self) -> None:
        """Looks under way get a moment, then are cancelled and give their leases back."""
        self.parts.keeper.dismiss()
        if self._looks and not self._error:
            await asyncio.wait(self._looks, timeout=self.grace_s)
        for task in self._looks:
            task.cancel()
        if self._looks:
            await asyncio.wait(self._looks, timeout=self.grace_s)
        self.parts.on_stopping()
        self.parts.settler.stop()
        while self.parts.settler.is_alive():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)  # acknowledgements that the settler posted
