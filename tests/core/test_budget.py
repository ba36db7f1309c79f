"""A budget is hard: whatever is asked, no 24 hours see more looks than it allows."""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.core.limits.look_budget import LookAllowance, given_back, opens_at, spent, used

START = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)


def started(per_day: float, waits: list[float], second: list[bool]) -> list[datetime]:
    """Looks that start as early as they may, after the waits (hours) that their schedule leaves between them."""
    allowance, empty_at, now, looks = LookAllowance(per_day), None, START, []
    for wait, is_second in zip(waits, second, strict=True):
        now += timedelta(hours=wait)
        now = opens_at(allowance, empty_at, now, is_second=is_second) or now
        empty_at = spent(allowance, empty_at, now)
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
    assert LookAllowance(240).steady == 230


def test_second_looks_may_take_what_others_may_not() -> None:
    allowance = LookAllowance(480)
    empty_at = None
    while opens_at(allowance, empty_at, START) is None:
        empty_at = spent(allowance, empty_at, START)
    assert opens_at(allowance, empty_at, START, is_second=True) is None
    assert used(allowance, empty_at, START) == pytest.approx(allowance.burst - allowance.reserve)


def test_a_look_that_did_not_take_place_is_given_back() -> None:
    allowance = LookAllowance(24)
    once = spent(allowance, None, START)
    assert opens_at(allowance, once, START) == once
    assert opens_at(allowance, given_back(allowance, once), START) is None
