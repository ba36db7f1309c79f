"""A budget is hard: whatever is asked, no 24 hours see more looks than it allows, and no batch costs more."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.lane import Go, Wait
from vedette.core.limits.budget import Budget, ask, budget_moved, daily, reserve, settle, used

START = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)


def opens_at(budget: Budget, now: datetime, *, is_second: bool = False) -> datetime | None:
    answer = ask(budget, now, is_second=is_second)
    return answer.until if isinstance(answer, Wait) else None


def started(per_day: float, waits: list[float], second: list[bool]) -> list[datetime]:
    """Looks that start as early as they may, after the waits (hours) that their schedule leaves between them."""
    budget, now, looks = daily(per_day), START, []
    for wait, is_second in zip(waits, second, strict=True):
        now += timedelta(hours=wait)
        now = opens_at(budget, now, is_second=is_second) or now
        budget = reserve(budget, now)
        looks.append(now)
    return looks


@given(
    st.floats(0.5, 400),
    st.lists(st.tuples(st.sampled_from([0.0, 0.0, 0.01, 0.5, 7.0]), st.booleans()), min_size=1, max_size=300),
)
def test_no_24_hours_see_more_looks_than_the_budget(per_day: float, asked: list[tuple[float, bool]]) -> None:
    looks = started(per_day, [wait for wait, _ in asked], [is_second for _, is_second in asked])
    for n, begin in enumerate(looks):
        assert bisect_left(looks, begin + DAY) - n <= max(1.0, per_day)


def test_in_the_long_run_nearly_the_whole_budget_can_be_spent() -> None:
    looks = started(240, [0.0] * 1000, [False] * 1000)
    days = (looks[-1] - looks[0]) / DAY
    assert 1000 / days >= 0.95 * 240
    assert daily(240).steady == 230


def test_second_looks_may_take_what_others_may_not() -> None:
    budget = daily(480)
    while opens_at(budget, START) is None:
        budget = reserve(budget, START)
    assert opens_at(budget, START, is_second=True) is None
    assert used(budget, START) == pytest.approx(budget.burst - budget.kept)


def test_a_look_that_did_not_take_place_is_given_back() -> None:
    once = reserve(daily(24), START)
    assert opens_at(once, START) == once.empty_at
    assert opens_at(settle(once, 1.0, 0.0), START) is None
    assert settle(once, 1.0, 1.0) == once


def test_a_clock_that_is_set_leaves_of_a_budget_what_was_left() -> None:
    once = reserve(daily(24), START)
    moved = budget_moved(once, 90 * DAY, START + 90 * DAY)
    assert used(moved, START + 90 * DAY) == pytest.approx(used(once, START))


def test_a_budget_without_a_limit_lets_everything_start_and_still_counts() -> None:
    budget = settle(reserve(Budget(), START, 5.0), 5.0, 3.0)
    assert ask(budget, START, 10.0**9) == Go()
    assert (budget.spent, budget.reserved) == (3.0, 0.0)


def test_what_is_spent_once_does_not_come_back_with_time() -> None:
    budget = replace(Budget(most=1.0), spent=1.0)
    answer = ask(budget, START + 365 * DAY, 0.1)
    assert isinstance(answer, Wait)
    assert answer.until is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=60), st.floats(0, 5), st.integers(1, 8))
def test_the_ceiling_holds_whatever_is_under_way(
    calls: list[tuple[float, float]], ceiling: float, width: int
) -> None:
    """Each call costs a share of the most that it can; calls end in any order."""
    budget = Budget(most=ceiling)
    under_way: list[tuple[float, float]] = []
    for most, share in calls:
        if len(under_way) == width:
            budget = settle(budget, *under_way.pop(0))
        if isinstance(ask(budget, START, most), Go):
            budget = reserve(budget, START, most)
            under_way.append((most, most * share))
    for done in under_way:
        budget = settle(budget, *done)
    assert budget.spent <= ceiling + 1e-9
    assert budget.reserved == pytest.approx(0, abs=1e-9)
