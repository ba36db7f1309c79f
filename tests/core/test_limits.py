"""Deadlines and limits of a run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vedette.core.limits.budget import RunLimits, has_room, limits_moved, over

NOW = datetime(2026, 11, 15, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


def test_a_run_without_limits_goes_on() -> None:
    assert over(RunLimits(), NOW, visits=10**9) is None
    assert has_room(RunLimits(), 10**9)


@pytest.mark.parametrize(
    ("limits", "visits", "code"),
    [
        (RunLimits(deadline=NOW), 0, "deadline"),
        (RunLimits(max_visits=3), 3, "max_visits"),
        (RunLimits(max_visits=0), 0, "max_visits"),
    ],
)
def test_each_limit_stops_the_run_and_says_so(limits: RunLimits, visits: int, code: str) -> None:
    reason = over(limits, NOW, visits=visits)
    assert reason is not None
    assert reason.code == code


def test_the_hard_stop_is_a_moment() -> None:
    limits = RunLimits(deadline=NOW)
    assert over(limits, NOW - timedelta(microseconds=1)) is None
    assert over(limits, NOW) is not None


def test_below_every_limit_it_goes_on() -> None:
    limits = RunLimits(soft_deadline=NOW, deadline=LATER, max_visits=4)
    assert over(limits, NOW, visits=3) is None
    assert has_room(limits, 3)
    assert not has_room(limits, 4)


def test_a_clock_that_is_set_leaves_the_deadlines_as_far_away_as_they_were() -> None:
    by = timedelta(days=90)
    limits = RunLimits(soft_deadline=NOW, deadline=LATER, max_visits=4)
    assert limits_moved(limits, by) == RunLimits(soft_deadline=NOW + by, deadline=LATER + by, max_visits=4)
    assert limits_moved(RunLimits(), by) == RunLimits()
