"""No stored time lies further ahead than its rule allows, whatever a clock said."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.lane import LanePolicy, LaneState, Wait
from vedette.core.lanes.lane import ask, finished, started
from vedette.core.limits import budget as budgets
from vedette.core.limits import clock_limits as ahead

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
POLICY = LanePolicy()
TIMES = ("next_start_at", "bucket_at", "closed_until", "held_until")


@pytest.mark.parametrize("wait", [HOUR, 6 * HOUR, 30 * DAY])
@pytest.mark.parametrize("jump", [timedelta(minutes=2), DAY, 90 * DAY, 3650 * DAY])
def test_a_watch_that_was_looked_at_ahead_of_time_waits_as_long_from_now(wait: timedelta, jump: timedelta):
    looked = NOW + jump
    assert ahead.due(looked + wait, looked_at=looked, interval=wait, now=NOW) == NOW + wait


@pytest.mark.parametrize("wait", [timedelta(0), HOUR, 30 * DAY])
def test_a_due_time_that_its_interval_allows_is_left_alone(wait: timedelta):
    for looked in (None, NOW - HOUR, NOW):
        assert ahead.due(NOW + wait, looked_at=looked, interval=wait, now=NOW) == NOW + wait


def test_a_due_time_beyond_every_interval_comes_back_to_the_longest_that_is_allowed():
    assert ahead.due(NOW + 90 * DAY, looked_at=None, interval=HOUR, now=NOW) == NOW + DAY
    assert ahead.due(NOW + 90 * DAY, looked_at=NOW - DAY, interval=7 * DAY, now=NOW) == NOW + 7 * DAY


def test_a_lane_that_lives_by_its_policy_is_never_touched():
    chance, state, now = random.Random(1), LaneState(), NOW
    for _ in range(2000):
        assert ahead.lane(POLICY, state, now) == state
        now += timedelta(seconds=chance.random() * 30)
        answer = ask(POLICY, state, now)
        now = max(now, getattr(answer, "until", None) or now)
        state = started(POLICY, state, now, chance.random())
        hold = timedelta(hours=chance.random() * 48) if chance.random() < 0.1 else None
        state = finished(POLICY, state, ok=chance.random() < 0.5, now=now, retry_after=hold)


def test_a_lane_that_was_used_under_a_clock_that_stood_ahead_opens_within_its_policy():
    for seed in range(200):
        chance = random.Random(seed)
        times = {name: NOW + chance.random() * 400 * DAY for name in TIMES if chance.random() < 0.7}
        state = ahead.lane(POLICY, LaneState(failures=chance.randrange(12), **times), NOW)
        assert all(at is None or at <= NOW + DAY for name in TIMES if (at := getattr(state, name)) or True)
        if state.closed_until is None and state.held_until is None:
            answer = ask(POLICY, state, NOW)
            assert (getattr(answer, "until", None) or NOW) <= NOW + timedelta(seconds=5)


@pytest.mark.parametrize("by", [90 * DAY, 2 * DAY, -2 * DAY, -90 * DAY])
def test_a_clock_that_is_set_leaves_as_much_to_wait_as_there_was(by: timedelta):
    """Also of what was noted between the moment that it was set and the moment that we saw it."""
    second = timedelta(seconds=1)
    state = LaneState(
        failures=6, next_start_at=NOW + 3 * second, closed_until=NOW + HOUR, held_until=NOW + 2 * HOUR
    )
    before = ahead.moved_lane(POLICY, state, by, NOW + by)
    waits = [at - (NOW + by) for at in (before.next_start_at, before.closed_until, before.held_until) if at]
    assert waits == [3 * second, HOUR, 2 * HOUR]
    assert ahead.moved_lane(POLICY, state, by, NOW) == state


@pytest.mark.parametrize("per_day", [1.0, 5.0, 1000.0])
def test_a_budget_that_was_spent_ahead_of_time_is_a_used_up_one_and_no_more(per_day: float):
    budget = budgets.daily(per_day)
    late = budgets.reserve(budget, NOW + 90 * DAY, budget.burst)
    answer = budgets.ask(late, NOW, is_second=True)
    assert isinstance(answer, Wait)
    assert answer.until is not None
    assert answer.until <= NOW + budget.step
    assert budgets.used(late, NOW) == pytest.approx(budget.burst)
    assert budgets.used(budgets.reserve(budget, NOW, budget.burst), NOW) == pytest.approx(budget.burst)
