"""One alert on the way down, one recovery on the way up, however often it flaps in between."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.alerts import AlarmState, Sign
from vedette.core.health.alarm import DEFAULT, Move, hold, step

START = datetime(2026, 11, 15, 6, 30, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NO_PACE = timedelta(0)
Told = list[tuple[datetime, Move]]
SIGNS = st.sampled_from(list(Sign))
GAPS = st.integers(1, 3 * 24 * 60).map(lambda minutes: minutes * MINUTE)


def told(checks: Iterable[tuple[timedelta, Sign]], pace: timedelta = NO_PACE) -> Told:
    """What the operator hears of a series of checks, each so long after the one before."""
    state, now, heard = AlarmState(), START, []
    for after, sign in checks:
        now += after
        state, move = step(state, sign, now=now, pace=pace)
        if move is not None:
            heard.append((now, move))
    return heard


@pytest.mark.parametrize("pause", [MINUTE, 10 * MINUTE, HOUR, 3 * HOUR])
def test_a_source_that_flaps_ten_times_gives_one_alert_and_one_recovery(pause: timedelta):
    flaps = [(pause, Sign.BAD), (pause, Sign.GOOD)] * 10
    calm = [(HOUR, Sign.GOOD)] * 48
    assert [move for _, move in told([*flaps, *calm])] == [Move.RAISED, Move.RECOVERED]


def test_it_is_told_at_once_and_recovers_after_the_hold():
    heard = told([(MINUTE, Sign.BAD), *[(10 * MINUTE, Sign.GOOD)] * 30])
    assert heard == [(START + MINUTE, Move.RAISED), (START + 251 * MINUTE, Move.RECOVERED)]


@pytest.mark.parametrize(("relapses", "hours"), [(0, 4), (1, 8), (2, 16), (3, 24), (9, 24)])
def test_every_relapse_doubles_the_time_that_it_must_be_good(relapses: int, hours: int):
    flaps = [(HOUR, Sign.BAD), *[(HOUR, Sign.GOOD), (HOUR, Sign.BAD)] * relapses]
    heard = told([*flaps, *[(HOUR, Sign.GOOD)] * 30])
    well_since = START + (len(flaps) + 1) * HOUR
    assert heard[-1] == (well_since + hours * HOUR, Move.RECOVERED)


def test_where_looks_are_rare_two_of_them_must_agree():
    daily = [(DAY, Sign.BAD), (DAY, Sign.GOOD), (DAY, Sign.GOOD)]
    assert [move for _, move in told(daily, pace=DAY)] == [Move.RAISED]
    assert [move for _, move in told([*daily, (DAY, Sign.GOOD)], pace=DAY)][-1] is Move.RECOVERED


def test_unknown_is_neither_a_failure_nor_a_recovery():
    assert told([(HOUR, Sign.UNKNOWN)] * 50) == []
    assert [m for _, m in told([(HOUR, Sign.BAD), *[(HOUR, Sign.UNKNOWN)] * 50])] == [Move.RAISED]


def test_relapses_are_forgotten_after_a_week():
    episode = [(MINUTE, Sign.BAD), *[(HOUR, Sign.GOOD)] * 5]
    quiet = [(DAY, Sign.GOOD)] * 8
    heard = told([*episode, *quiet, *episode])
    assert [move for _, move in heard] == [Move.RAISED, Move.RECOVERED] * 2


@given(st.lists(st.tuples(GAPS, SIGNS), max_size=60))
def test_alerts_and_recoveries_alternate_and_an_alert_comes_first(checks: list[tuple[timedelta, Sign]]):
    moves = [move for _, move in told(checks)]
    assert moves == [Move.RAISED, Move.RECOVERED] * (len(moves) // 2) + [Move.RAISED] * (len(moves) % 2)


@given(
    st.lists(st.tuples(st.integers(1, 600), st.integers(1, 238)), min_size=1, max_size=40),
    st.integers(0, 24 * 60),
)
def test_no_flapping_within_the_hold_is_told_of_twice(phases: list[tuple[int, int]], last: int):
    """Bad for any time, good for less than four hours: one alert; then calm for as long as it takes: one recovery."""
    checks = []
    gap = last * MINUTE
    for bad, good in phases:
        checks += [(gap, Sign.BAD), (bad * MINUTE, Sign.BAD), (MINUTE, Sign.GOOD)]
        gap = good * MINUTE
    assert [move for _, move in told(checks)] == [Move.RAISED]
    assert [m for _, m in told([*checks, *[(HOUR, Sign.GOOD)] * 26])] == [Move.RAISED, Move.RECOVERED]


@given(st.integers(1, 23 * 60), st.integers(1, 23 * 60), st.integers(10, 60))
def test_however_slowly_it_flaps_the_alerts_are_few(bad: int, good: int, times: int):
    """Every relapse doubles the hold, so only the first few good phases are long enough to recover in."""
    checks = [(bad * MINUTE, Sign.GOOD), (good * MINUTE, Sign.BAD)] * times
    alerts = sum(move is Move.RAISED for _, move in told([(MINUTE, Sign.BAD), *checks]))
    assert alerts <= 2 + log2(DEFAULT.longest_hold / DEFAULT.recover_after)


@given(st.lists(st.tuples(GAPS, SIGNS), min_size=1, max_size=30))
def test_nothing_recovers_before_it_was_good_for_the_hold(checks: list[tuple[timedelta, Sign]]):
    state, now, good_since = AlarmState(), START, None
    for after, sign in checks:
        now += after
        if sign is Sign.BAD:
            good_since = None
        elif sign is Sign.GOOD:
            good_since = good_since or now
        state, move = step(state, sign, now=now, pace=NO_PACE)
        if move is Move.RECOVERED:
            assert good_since is not None
            assert now - good_since >= DEFAULT.recover_after


@given(st.lists(st.tuples(GAPS, SIGNS), min_size=2, max_size=30))
def test_a_check_said_twice_says_nothing_new(checks: list[tuple[timedelta, Sign]]):
    twice = [part for after, sign in checks for part in ((after, sign), (timedelta(0), sign))]
    assert told(twice) == told(checks)


@given(st.integers(0, 40), st.integers(0, 10_000))
def test_the_hold_grows_and_is_bounded(relapses: int, minutes: int):
    pace = minutes * MINUTE
    holds = [hold(n, pace) for n in range(relapses + 2)]
    assert all(a <= b for a, b in pairwise(holds))
    assert holds[-1] <= max(DEFAULT.longest_hold, 2 * pace)
