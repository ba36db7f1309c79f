"""Nobody passes the keeper against a lane's policy, and nobody is forgotten in a lane."""

from __future__ import annotations

import asyncio
import heapq
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import patient
from settlements import ALL, HOUR, NOON, SECOND, a_watch

from vedette.contracts.lane import Go, LanePolicy, LaneState, Wait
from vedette.contracts.watch import Watch
from vedette.contracts.words import ChangeId, LaneKey, Reason
from vedette.lanes import LaneKeeper, LanePolicies
from vedette.lanes.keeper import PATIENCE
from vedette.lanes.look_budgets import LookBudgets, SecondLooks
from vedette.telemetry.clock import JumpingClock

A, B, C = (LaneKey(f"host:{name}.example") for name in "abc")
POLITE = LanePolicy(gap_min=2 * SECOND, gap_max=2 * SECOND, per_minute=0, trips_after=2)
FREE = LanePolicy(gap_min=0 * SECOND, gap_max=0 * SECOND, per_minute=0, at_once=1000, trips_after=10**6)


def keeper_of(
    policy: LanePolicy = POLITE,
    *,
    at_once: int = 64,
    clock: JumpingClock | None = None,
    known: dict[LaneKey, LaneState] | None = None,
    not_before: datetime | None = None,
    on_closed: Callable[[LaneKey, Reason], None] = lambda key, reason: None,
) -> LaneKeeper:
    policies = LanePolicies(default=policy, named={"all": replace(FREE, at_once=at_once)})
    clock = clock or JumpingClock(NOON)
    return LaneKeeper(
        policies, load=(known or {}).get, clock=clock, not_before=not_before, on_closed=on_closed
    )


def test_a_lane_has_its_own_policy_or_that_of_its_kind_or_the_default():
    own, kind, default = (replace(POLITE, at_once=n) for n in (1, 2, 3))
    policies = LanePolicies(default=default, named={A: own, "engine": kind})
    assert policies.of(A) is own
    assert policies.of(LaneKey("engine:browser")) is kind
    assert policies.of(B) is default


def test_a_request_needs_a_permit_of_every_lane_and_the_longest_wait_speaks():
    keeper = keeper_of(known={B: LaneState(held_until=NOON + HOUR), A: LaneState(held_until=NOON + SECOND)})
    assert keeper.ask((C, ALL), NOON) == Go()
    assert keeper.ask((A, B, ALL), NOON).until == NOON + HOUR
    keeper.start((C, ALL), NOON)
    full = keeper.ask((C, A), NOON)
    assert (full.until, full.reason.code) == (None, "lane_full")


def test_the_gap_counts_from_when_the_request_went_out():
    keeper = keeper_of()
    keeper.start((A, ALL), NOON)
    keeper.sent((A, ALL), NOON + SECOND)
    keeper.finish((A, ALL), ok=True, now=NOON + SECOND)
    assert keeper.ask((A, ALL), NOON + SECOND).until == NOON + 3 * SECOND
    assert keeper.ask((B, ALL), NOON + SECOND) == Go()
    assert dict(keeper.take_dirty())[A].next_start_at == NOON + 3 * SECOND


def test_one_at_a_time_the_gap_counts_from_when_the_far_end_had_surely_seen_the_request():
    """It may have been held up on its way: by the line, or by a far end that is busy."""
    keeper = keeper_of()
    keeper.start((A, ALL), NOON)
    keeper.sent((A, ALL), NOON)
    keeper.heard((A, ALL), NOON + 5 * SECOND)
    keeper.finish((A, ALL), ok=True, now=NOON + 6 * SECOND)
    assert keeper.ask((A, ALL), NOON + 6 * SECOND).until == NOON + 7 * SECOND


def test_with_several_at_once_a_slow_answer_holds_up_nobody():
    keeper = keeper_of(replace(POLITE, at_once=2))
    keeper.start((A, ALL), NOON)
    keeper.sent((A, ALL), NOON)
    keeper.heard((A, ALL), NOON + 5 * SECOND)
    assert keeper.ask((A, ALL), NOON + 5 * SECOND) == Go()


def test_only_the_far_ends_own_lane_learns_how_a_call_ended():
    keeper = keeper_of()
    for second in (0, 10):
        keeper.start((A, ALL), NOON + second * SECOND)
        closed = keeper.finish(
            (A, ALL), ok=False, now=NOON + second * SECOND, retry_after=timedelta(minutes=second)
        )
    assert [(key, reason.code) for key, reason in closed] == [(A, "breaker_open")]
    assert re.fullmatch(r"until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", closed[0][1].note)
    assert keeper.state(A).failures == 2
    assert keeper.state(ALL) == replace(keeper.state(ALL), failures=0, closed_until=None, held_until=None)


async def test_those_who_wait_in_a_lane_go_in_the_order_in_which_they_came():
    clock = JumpingClock(NOON)
    keeper = keeper_of(clock=clock)
    keeper.start((A, ALL), NOON)
    entered: list[int] = []

    async def go_in(number: int) -> None:
        assert await keeper.enter((A, ALL)) is None
        entered.append(number)
        keeper.finish((A, ALL), ok=True, now=clock.now())

    tasks = []
    for number in range(4):
        tasks.append(asyncio.create_task(go_in(number)))
        await asyncio.sleep(0)
    assert keeper.waiting == 4
    keeper.finish((A, ALL), ok=True, now=clock.now())
    for _ in range(4):
        clock.advance(2 * SECOND)
        keeper.wake(A)
        await asyncio.sleep(0)
    await asyncio.wait_for(asyncio.gather(*tasks), patient(10))
    assert entered == [0, 1, 2, 3]
    assert keeper.waiting == 0


async def test_a_look_that_waits_goes_before_a_new_one():
    clock = JumpingClock(NOON)
    keeper = keeper_of(clock=clock)
    keeper.start((A, ALL), NOON)
    keeper.finish((A, ALL), ok=True, now=NOON)
    task = asyncio.create_task(keeper.enter((A, ALL)))
    await asyncio.sleep(0)
    clock.advance(2 * SECOND)
    assert keeper.ask((A, ALL), clock.now()).reason.code == "lane_queue"
    keeper.wake(A)
    assert await task is None


@pytest.mark.parametrize(
    "state",
    [LaneState(closed_until=NOON + HOUR), LaneState(held_until=NOON + HOUR), LaneState(blocked_by="no")],
)
async def test_a_look_gives_up_at_once_on_a_lane_that_is_shut(state: LaneState):
    keeper = keeper_of(known={A: state})
    wait = await asyncio.wait_for(keeper.enter((A, ALL)), patient(10))
    assert isinstance(wait, Wait)
    assert keeper.state(A).under_way == keeper.state(ALL).under_way == 0


async def test_a_look_gives_up_when_the_lane_shuts_while_it_waits():
    clock = JumpingClock(NOON)
    keeper = keeper_of(clock=clock)
    keeper.start((A, ALL), NOON)
    task = asyncio.create_task(keeper.enter((A, ALL)))
    await asyncio.sleep(0)
    keeper.finish((A, ALL), ok=None, now=NOON, retry_after=HOUR)
    assert keeper.wake(A) is None
    assert (await task).until == NOON + HOUR
    assert not keeper.has_waiters(A)


async def test_nobody_waits_in_a_lane_for_longer_than_patience():
    """Even where nothing says when the lane opens: the call under way may never end."""
    clock = JumpingClock(NOON)
    keeper = keeper_of(clock=clock)
    keeper.start((A, ALL), NOON)
    task = asyncio.create_task(keeper.enter((A, ALL)))
    await asyncio.sleep(0)
    assert keeper.wakes.next_at() == NOON + PATIENCE
    assert list(keeper.wakes.due(NOON + PATIENCE)) == [A]
    clock.advance(PATIENCE)
    assert keeper.wake(A) is None
    assert (await task).reason.code == "lane_full"


async def test_who_has_its_host_but_not_the_machine_waits_for_the_machine():
    """It once stood at the head of its host's lane, and nobody woke it when the machine had room again."""
    clock = JumpingClock(NOON)
    keeper = keeper_of(clock=clock, at_once=1, known={A: LaneState(next_start_at=NOON + SECOND)})
    task = asyncio.create_task(keeper.enter((A, ALL)))
    await asyncio.sleep(0)
    assert keeper.has_waiters(A)
    keeper.start((B, ALL), NOON)
    clock.advance(SECOND)
    keeper.wake(A)
    assert (keeper.has_waiters(A), keeper.has_waiters(ALL)) == (False, True)
    keeper.finish((B, ALL), ok=True, now=clock.now())
    assert list(keeper.wakes.touched) == [B, ALL]
    keeper.wake(ALL)
    assert await task is None
    assert keeper.state(ALL).under_way == 1


async def test_a_look_that_was_cancelled_does_not_stand_in_the_way():
    clock = JumpingClock(NOON)
    keeper = keeper_of(clock=clock)
    keeper.start((A, ALL), NOON)
    first, second = (asyncio.create_task(keeper.enter((A, ALL))) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    keeper.finish((A, ALL), ok=True, now=NOON)
    clock.advance(2 * SECOND)
    keeper.wake(A)
    assert await second is None
    assert keeper.waiting == 0


async def test_a_run_that_ends_dismisses_those_who_wait():
    keeper = keeper_of()
    keeper.start((A, ALL), NOON)
    task = asyncio.create_task(keeper.enter((A, ALL)))
    await asyncio.sleep(0)
    keeper.dismiss()
    assert (await task).reason.code == "stopped"
    assert isinstance(await asyncio.wait_for(keeper.enter((A, ALL)), patient(10)), Wait)
    assert await keeper.enter((B, ALL)) is None


def test_a_crawl_delay_widens_the_gap_and_is_waited_out_once():
    keeper = keeper_of()
    assert keeper.gap(A) == 2 * SECOND
    keeper.crawl_delay(A, 30.0)
    assert keeper.gap(A) == 30 * SECOND
    assert keeper.ask((A,), NOON).until == NOON + 30 * SECOND
    keeper.take_dirty()
    keeper.crawl_delay(A, 30.0)
    assert keeper.take_dirty() == ()
    keeper.crawl_delay(A, None)
    assert keeper.gap(A) == 2 * SECOND


def test_the_gap_is_the_stricter_of_gap_and_bucket():
    assert keeper_of(replace(POLITE, per_minute=20)).gap(A) == 3 * SECOND
    assert keeper_of(replace(POLITE, per_minute=0)).gap(A) == 2 * SECOND


def test_after_a_kill_every_host_is_left_alone_for_one_gap():
    keeper = keeper_of(not_before=NOON)
    assert keeper.ask((A,), NOON).until == NOON + 2 * SECOND
    assert keeper.ask((ALL,), NOON) == Go()
    assert keeper_of().ask((A,), NOON) == Go()


def test_the_operators_word_wins_but_does_not_shorten_the_gap():
    """The row that the operator changed may be older than our last start."""
    keeper = keeper_of(known={A: LaneState(closed_until=NOON + HOUR)})
    keeper.start((A,), NOON)
    keeper.replace(A, LaneState(failures=0, next_start_at=NOON - HOUR))
    state = keeper.state(A)
    assert (state.under_way, state.closed_until) == (1, None)
    assert state.next_start_at == NOON + 2 * SECOND
    keeper.replace(A, replace(state, blocked_by="they asked us to stop"))
    keeper.finish((A,), ok=True, now=NOON)
    assert keeper.ask((A,), NOON + HOUR).reason.code == "lane_blocked"


def test_a_lane_that_moved_reaches_the_group_once_with_its_last_state():
    keeper = keeper_of()
    keeper.start((A, ALL), NOON)
    keeper.finish((A, ALL), ok=False, now=NOON)
    keeper.start((B, ALL), NOON)
    moved = keeper.take_dirty()
    assert [key for key, _ in moved] == [A, B]
    assert moved[0][1] == keeper.state(A)
    assert keeper.take_dirty() == ()
    keeper.finish((B, ALL), ok=True, now=NOON)
    assert [key for key, _ in keeper.take_dirty()] == [B]


def test_no_move_is_lost_between_the_loop_and_the_thread_that_writes():
    keeper = keeper_of(FREE)
    lanes = [LaneKey(f"host:{n}") for n in range(5000)]  # each moves once: what is lost stays lost
    written: dict[LaneKey, LaneState] = {}
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            written.update(keeper.take_dirty())

    thread = threading.Thread(target=write)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        for lane in lanes:
            keeper.start((lane,), NOON)
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(before)
    written.update(keeper.take_dirty())
    assert written == {key: keeper.state(key) for key in lanes}


# a small world of hosts, on a clock that jumps


@dataclass
class World:
    """Drives a keeper as the engine does: wakes a lane when its time has come or a call in it ended, else never."""

    keeper: LaneKeeper
    clock: JumpingClock
    policy: LanePolicy
    ends: list[tuple[datetime, int, asyncio.Event]] = field(default_factory=list)  # of calls
    starts: dict[LaneKey, list[datetime]] = field(default_factory=dict)
    gave_up: int = 0
    number: int = 0

    def next_at(self) -> datetime | None:
        times = (self.ends[0][0] if self.ends else None, self.keeper.wakes.next_at())
        return min((at for at in times if at is not None), default=None)

    async def call(self, lane: LaneKey, took: timedelta, ok: bool | None) -> None:
        if await self.keeper.enter((lane, ALL)) is not None:
            self.gave_up += 1
            return
        self.starts.setdefault(lane, []).append(self.clock.now())
        assert self.keeper.state(lane).under_way <= self.policy.at_once
        assert self.keeper.state(ALL).under_way <= 2
        over = asyncio.Event()
        self.number += 1
        heapq.heappush(self.ends, (self.clock.now() + took, self.number, over))
        await over.wait()
        self.keeper.finish((lane, ALL), ok=ok, now=self.clock.now())

    async def run(self, calls: list[tuple[LaneKey, timedelta, bool | None]]) -> None:
        tasks = [asyncio.create_task(self.call(*call)) for call in calls]
        await asyncio.sleep(0)
        while not all(task.done() for task in tasks):
            await self._settle()
            if (at := self.next_at()) is not None:
                self.clock.advance(max(timedelta(0), at - self.clock.now()))
                while self.ends and self.ends[0][0] <= self.clock.now():
                    heapq.heappop(self.ends)[2].set()
            await asyncio.sleep(0)
            await self._settle()
            assert self.next_at() or all(task.done() for task in tasks), "someone was forgotten"
        await asyncio.gather(*tasks)

    async def _settle(self) -> None:
        wakes = self.keeper.wakes
        while lanes := [*wakes.touched, *wakes.due(self.clock.now())]:
            wakes.touched.pop(lanes[0], None)
            for lane in lanes[1:]:
                wakes.touch(lane)
            wakes.add(lanes[0], self.keeper.wake(lanes[0]))
            for _ in range(3):
                await asyncio.sleep(0)


calls = st.lists(
    st.tuples(
        st.sampled_from([A, B, C]),
        st.integers(0, 20).map(lambda s: s * SECOND),
        st.sampled_from([True, True, False, None]),
    ),
    min_size=1,
    max_size=14,
)


@settings(deadline=None, max_examples=60)
@given(calls, st.integers(1, 2), st.sampled_from([2, 99]))
def test_no_width_is_exceeded_no_gap_is_cut_and_nobody_is_forgotten(plan, at_once: int, trips_after: int):
    policy = replace(POLITE, at_once=at_once, trips_after=trips_after)
    clock = JumpingClock(NOON)
    world = World(keeper_of(policy, at_once=2, clock=clock), clock, policy)
    asyncio.run(asyncio.wait_for(world.run(plan), patient(60)))
    assert sum(map(len, world.starts.values())) + world.gave_up == len(plan)
    for starts in world.starts.values():
        assert all(later - sooner >= policy.gap_min for sooner, later in pairwise(starts))
    assert world.keeper.state(ALL).under_way == 0


async def test_a_slow_host_does_not_keep_others_from_their_turn():
    clock = JumpingClock(NOON)
    world = World(keeper_of(at_once=2, clock=clock), clock, POLITE)
    slow = [(A, 60 * SECOND, True)] * 3
    await world.run([*slow, *[(B, 0 * SECOND, True)] * 5])
    assert max(world.starts[B]) == NOON + 8 * SECOND


def test_why_a_lane_closed_is_told_before_its_state_can_be_taken():
    """The settler takes states from another thread: a closed lane must never be written without its reason."""
    told = []

    def on_closed(key: LaneKey, reason: object) -> None:
        told.append((key, [state.closed_until for taken, state in keeper.take_dirty() if taken == key]))

    keeper = keeper_of(on_closed=on_closed)
    for n in range(2):
        keeper.start((A, ALL), NOON + n * HOUR)
        keeper.finish((A, ALL), ok=False, now=NOON + n * HOUR)
    assert told == [(A, [None])]
    assert dict(keeper.take_dirty())[A].closed_until is not None


@pytest.mark.parametrize("hours", [1, 2.03, 24 * 90])
def test_a_clock_that_was_set_back_in_a_run_holds_a_lane_up_for_one_gap(hours):
    clock = JumpingClock(NOON + hours * HOUR)
    keeper = keeper_of(clock=clock)
    keeper.start((A, ALL), clock.now())
    keeper.finish((A, ALL), ok=True, now=clock.now(), retry_after=30 * SECOND)
    clock.advance(-hours * HOUR)
    told = keeper.ask((A, ALL), NOON)
    assert told.until is not None
    assert told.until - NOON <= 32 * SECOND
    assert keeper.ask((A, ALL), told.until) == Go(), "asked again then, it goes"


@pytest.mark.parametrize("hours", [1, 2.03, 24 * 90])
def test_a_lane_that_was_written_by_a_clock_ahead_is_open_after_one_gap(hours):
    ahead = NOON + hours * HOUR
    known = {A: LaneState(next_start_at=ahead, bucket_at=ahead, failures=2, closed_until=ahead + 60 * SECOND)}
    keeper = keeper_of(replace(POLITE, closed_for=60 * SECOND, closed_most=HOUR), known=known)
    told = keeper.ask((A, ALL), NOON)
    assert told.until is not None
    assert told.until - NOON <= 62 * SECOND


def test_while_most_doubtful_hosts_fail_they_start_no_more_often_than_the_width_and_others_as_ever():
    clock = JumpingClock(NOON)
    keeper = keeper_of(clock=clock)
    keeper.start((A, ALL), NOON)
    keeper.finish((A, ALL), ok=True, now=NOON)

    def one_more(number: int, ok: bool) -> None:
        lanes = keeper.lanes_to(LaneKey(f"host:{number}.example"))
        keeper.start(lanes, NOON)
        keeper.finish(lanes, ok=ok, now=NOON)

    for number in range(100):
        one_more(number, ok=False)
    assert keeper.doubt_waits(NOON) is None, "some failures are ordinary"
    for number in range(100, 200):
        one_more(number, ok=False)
    one_more(200, ok=False)
    waits = keeper.doubt_waits(NOON)
    assert waits is not None
    assert waits.until == NOON + SECOND / 64
    assert keeper.doubt_waits(NOON + SECOND / 64) is None
    assert isinstance(keeper.ask((A, ALL), NOON + 2 * SECOND), Go)
    for number in range(201, 320):
        one_more(number, ok=True)
    assert keeper.doubt_waits(NOON) is None, "they answer again"


# Budgets of looks


def budgeted(*watches: Watch, per_day: float = 8.0) -> SecondLooks:
    """Looks that each found a difference, one after another, at noon."""
    looks = SecondLooks(LookBudgets(per_day, None))
    for watch in watches:
        looks.budgets.spend(watch.lane, NOON)
        looks.note(watch)
    return looks


def differs(n: int, due_at: datetime) -> Watch:
    return a_watch(f"https://a.example/{n}", pending=ChangeId(n), due_at=due_at)


def test_a_lane_whose_budget_is_spent_opens_for_its_second_look():
    other = a_watch("https://a.example/other", due_at=NOON)
    looks = budgeted(differs(1, NOON + 5 * SECOND))
    waits = looks.wait(other, NOON)
    assert waits is not None
    assert waits.until == NOON + 5 * SECOND, "the lane is considered again when the second look is due"
    assert looks.leases_at(other.lane, NOON) == NOON + 5 * SECOND
    assert looks.overtakes(other, NOON + 5 * SECOND)
    assert looks.leases_at(other.lane, NOON + 5 * SECOND) is None
    assert looks.leases_at(other.lane, NOON + 5 * SECOND) == NOON + 4 * HOUR, "one claim for each second look"


def test_two_second_looks_of_a_lane_are_each_claimed():
    looks = budgeted(differs(1, NOON + 5 * SECOND), differs(2, NOON + 9 * SECOND), per_day=96.0)
    lane = LaneKey("host:a.example")
    looks.budgets.spend(lane, NOON)
    assert [looks.leases_at(lane, NOON + n * SECOND) for n in (5, 9)] == [None, None]


def test_a_second_look_that_comes_late_waits_for_the_room_of_two():
    late = differs(1, NOON + 5 * SECOND)
    looks = budgeted(late, differs(2, NOON + 5 * SECOND))
    close, then = looks.wait(late, NOON + 5 * SECOND), looks.wait(late, NOON + HOUR)
    assert close is not None
    assert then is not None
    assert close.until == NOON + 4 * HOUR
    assert then.until == NOON + 8 * HOUR
