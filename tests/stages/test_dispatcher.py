"""The dispatcher with work that is none of ours: what starts, in which order, and how it ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from machine import patient
from settlements import ALL, HOUR, NOON, SECOND

from vedette.contracts.lane import Go, LanePolicy, LaneState, Wait
from vedette.contracts.words import LaneKey, Reason
from vedette.core.limits.budget import Budget, RunLimits, ask, reserve, settle
from vedette.lanes import LaneKeeper, LanePolicies
from vedette.lanes.dispatcher import Begun, Dispatcher, DispatchTerms
from vedette.telemetry.clock import JumpingClock

A, B, C = (LaneKey(f"host:{name}.example") for name in "abc")
FREE = LanePolicy(gap_min=0 * SECOND, gap_max=0 * SECOND, per_minute=0, at_once=100, trips_after=10**6)
POLITE = replace(FREE, gap_min=2 * SECOND, gap_max=2 * SECOND, at_once=1)


@dataclass
class Errands:
    """So many errands in each lane, each worth as much as its lane; one costs at most a dollar."""

    left: dict[LaneKey, int]
    policy: LanePolicy = POLITE
    at_once: int = 64
    limits: RunLimits = field(default_factory=RunLimits)
    worth: dict[LaneKey, float] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    hold: set[LaneKey] = field(default_factory=set)  # errands there take until they are cancelled
    grace_s: float = 0.05
    price: float = 1.0
    started: list[tuple[LaneKey, timedelta]] = field(default_factory=list)
    room: int = 10**6  # results that nobody has written yet
    ended: int = 0
    begun: int = 0
    cancelled: int = 0
    limit: Reason | None = None
    most: int = 0

    def __post_init__(self) -> None:
        self.clock = JumpingClock(NOON, is_stepped=False)
        policies = LanePolicies(default=self.policy, named={"all": replace(FREE, at_once=self.at_once)})
        self.keeper = LaneKeeper(policies, load=lambda key: LaneState(), clock=self.clock)
        terms = DispatchTerms(limits=self.limits, grace_s=self.grace_s)
        self.dispatcher = Dispatcher(self, self.keeper, self.clock, terms)
        self.news = deque(self.left)

    async def run(self) -> str:
        return await asyncio.wait_for(self.dispatcher.run(), patient(20))

    def begin_turn(self, now: datetime) -> None:
        pass

    def due(self, now: datetime) -> Iterable[LaneKey]:
        found, self.news = self.news, deque()
        return found

    def has_work(self, lane: LaneKey, now: datetime) -> bool:
        return self.left.get(lane, 0) > 0

    def offer(self, lane: LaneKey, answer: Go | Wait, now: datetime) -> float | Wait | None:
        return None if isinstance(answer, Wait) else self.worth.get(lane, 1.0)

    def start(self, lane: LaneKey, lanes: tuple[LaneKey, ...], now: datetime) -> Begun | Wait | None:
        answer = ask(self.budget, now, 1.0)
        if isinstance(answer, Wait):
            if not self.dispatcher.under_way:
                self.dispatcher.stop("budget_spent")
            return answer
        self.budget = reserve(self.budget, now, 1.0)
        self.left[lane] -= 1
        self.begun += 1
        self.keeper.start(lanes, now)
        self.started.append((lane, now - NOON))
        return self.errand(lane, lanes)

    def end_turn(self, now: datetime) -> None:
        pass

    def is_paused(self) -> bool:
        return False

    def has_room(self) -> bool:
        return self.room > 0

    def is_busy(self) -> bool:
        return False

    def is_done(self, now: datetime) -> bool:
        return bool(self.dispatcher.stopped_by) or not (self.dispatcher.under_way or any(self.left.values()))

    def next_at(self) -> datetime | None:
        return None

    def on_limit(self, reason: Reason) -> None:
        self.limit = reason
        self.dispatcher.stop("limit")

    def on_clock_set(self, by: timedelta, now: datetime) -> None:
        pass

    async def close(self) -> None:
        pass

    async def errand(self, lane: LaneKey, lanes: tuple[LaneKey, ...]) -> None:
        self.most = max(self.most, self.dispatcher.under_way)
        try:
            await asyncio.sleep(0)
            if lane in self.hold:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.budget = settle(self.budget, 1.0, self.price)
            self.keeper.finish(lanes, ok=True, now=self.clock.now())
        self.ended += 1


async def test_each_lane_keeps_its_gap_and_none_waits_for_another():
    work = Errands({A: 3, B: 2})
    assert await work.run() == ""
    assert sorted(work.started) == [(A, n * 2 * SECOND) for n in range(3)] + [
        (B, n * 2 * SECOND) for n in range(2)
    ]


async def test_while_the_width_is_full_the_best_lane_starts_first_whoever_came_first():
    work = Errands({A: 2, B: 2, C: 2}, policy=FREE, at_once=1, worth={A: 1.0, B: 3.0, C: 2.0})
    await work.run()
    assert [lane for lane, _ in work.started] == [B, B, C, C, A, A]
    assert work.most == 1


async def test_lanes_of_equal_worth_take_turns():
    work = Errands({A: 3, B: 3}, policy=FREE, at_once=1)
    await work.run()
    assert [lane for lane, _ in work.started] == [A, B, A, B, A, B]


async def test_a_lane_that_is_shut_keeps_no_other_from_starting():
    work = Errands({A: 1, B: 3}, policy=FREE, worth={A: 99.0})
    work.keeper.replace(A, LaneState(closed_until=NOON + HOUR / 2))
    await work.run()
    assert [at for lane, at in work.started if lane == B] == [timedelta(0)] * 3
    assert [at for lane, at in work.started if lane == A] == [HOUR / 2]


async def test_a_budget_that_is_reserved_is_waited_for_and_a_spent_one_ends_the_run():
    """Each may cost a dollar and costs a quarter: more start as others end, and nothing after the last dollar."""
    work = Errands({A: 20}, policy=FREE, budget=Budget(most=2.0), price=0.25)
    assert await work.run() == "budget_spent"
    assert work.most == 2
    assert 1.0 < work.budget.spent <= 2.0
    assert work.left[A] > 0


async def test_after_the_deadline_nothing_starts_and_the_reason_is_told():
    work = Errands({A: 10}, limits=RunLimits(deadline=NOON + 5 * SECOND))
    assert await work.run() == "limit"
    assert work.limit is not None
    assert work.limit.code == "deadline"
    assert [at for _, at in work.started] == [0 * SECOND, 2 * SECOND, 4 * SECOND]


async def test_a_limit_of_visits_counts_what_is_under_way():
    work = Errands({A: 10}, policy=FREE, limits=RunLimits(max_visits=3))
    assert await work.run() == "limit"
    assert len(work.started) == 3


async def test_what_is_under_way_at_the_end_gets_its_grace_and_is_cancelled_then():
    work = Errands({A: 1, B: 1}, policy=FREE, hold={A})
    asyncio.get_running_loop().call_later(0.05, work.dispatcher.stop, "stopped")
    assert await work.run() == "stopped"
    assert (work.ended, work.cancelled) == (1, 1)
    assert work.keeper.state(ALL).under_way == 0


async def test_a_fault_that_is_no_jobs_ends_the_run_at_once_and_is_told():
    work = Errands({A: 1, B: 1}, policy=FREE, hold={A}, grace_s=500.0)
    asyncio.get_running_loop().call_later(0.05, work.dispatcher.fail, RuntimeError("the disk is away"))
    assert await work.run() == "failed"
    assert str(work.dispatcher.error) == "the disk is away"
    assert work.cancelled == 1
