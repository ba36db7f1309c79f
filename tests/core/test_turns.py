"""When the turn of an ordered look comes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.lane import Go, LanePolicy, LaneState
from vedette.core.lanes.lane import ask, finished, started, turn

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
STEADY = LanePolicy(gap_min=3 * SECOND, gap_max=3 * SECOND, per_minute=0)
DELAYS = st.none() | st.integers(1, 3600).map(lambda n: n * SECOND)


@given(st.integers(1, 30), DELAYS, st.none() | st.integers(1, 10**5).map(lambda n: NOW + n * SECOND))
def test_the_estimate_is_when_the_lane_lets_the_last_of_them_start(looks, delay, held):
    state = LaneState(crawl_delay=delay, held_until=held)
    told = turn(STEADY, state, NOW, looks=looks)
    now, starts = NOW, []
    while len(starts) < looks:
        answer = ask(STEADY, state, now)
        if isinstance(answer, Go):
            starts.append(now)
            state = finished(STEADY, started(STEADY, state, now, 0.0), ok=True, now=now)
        else:
            now = answer.until
    assert (told.start_at, told.end_at) == (starts[0], starts[-1])


def test_a_wait_is_named():
    state = LaneState(held_until=NOW + 60 * SECOND)
    told = turn(STEADY, state, NOW, looks=2)
    assert (told.start_at, told.end_at) == (NOW + 60 * SECOND, NOW + 63 * SECOND)
    assert told.reason.code == "lane_held"


def test_a_lane_that_the_operator_blocked_has_no_turn():
    assert turn(STEADY, LaneState(blocked_by="no"), NOW, looks=1).start_at is None


def test_a_lane_without_limits_has_no_wait():
    free = replace(STEADY, gap_min=0 * SECOND, gap_max=0 * SECOND)
    assert turn(free, LaneState(), NOW, looks=9).end_at == NOW
