"""How fast a key is asked: raise slowly, fall fast, take a stated limit at its word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.lane import LanePolicy
from vedette.contracts.panel_run import Allowance
from vedette.contracts.words import Outcome
from vedette.core.panel.pace import (
    EXPECTED_LATENCY,
    SLOWEST,
    UNKNOWN_RATE,
    Heard,
    PaceParams,
    begin,
    ceiling,
    heard,
    hold,
    policy_of,
)

NOW = datetime(2026, 11, 16, 6, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
KEY = PaceParams(per_minute=100, at_once=16)
OK = Heard(outcome=Outcome.OK, took=SECOND)
FULL = Heard(outcome=Outcome.OK, took=SECOND, was_full=True)
THROTTLED = Heard(outcome=Outcome.THROTTLED, took=SECOND)
FAILED = Heard(outcome=Outcome.SERVER_ERROR, took=SECOND)


def after(pace, news, count, *, every=SECOND, since=NOW, params=KEY):
    for n in range(count):
        pace = heard(pace, params, news, since + n * every)
    return pace


def test_it_begins_just_below_the_configured_limit():
    assert begin(KEY).per_minute == pytest.approx(99.5)
    assert begin(PaceParams()).per_minute == UNKNOWN_RATE


@pytest.mark.parametrize("per_minute", [600, 6_000])
def test_its_width_is_what_the_rate_needs_while_answers_take_their_time(per_minute: int):
    pace = begin(PaceParams(per_minute=per_minute, at_once=10_000))
    under_way = pace.per_minute / 60 * EXPECTED_LATENCY
    assert under_way < pace.at_once <= under_way + 2


def test_a_429_halves_rate_and_width_once_per_round():
    pace = heard(begin(KEY), KEY, THROTTLED, NOW)
    assert pace.per_minute == pytest.approx(99.5 / 2)
    assert pace.at_once == begin(KEY).at_once // 2
    assert heard(pace, KEY, THROTTLED, NOW + SECOND) == pace
    assert heard(pace, KEY, THROTTLED, NOW + 30 * SECOND) == pace, (
        "the far end still counts the minute before"
    )
    assert heard(pace, KEY, THROTTLED, NOW + 61 * SECOND).per_minute < pace.per_minute


def test_it_climbs_back_to_just_below_where_it_met_the_limit_and_further_only_after_minutes():
    pace = after(heard(begin(KEY), KEY, THROTTLED, NOW), OK, 200, since=NOW + SECOND)
    assert pace.per_minute == pytest.approx(99.5 * 0.95, rel=0.01)
    later = after(pace, OK, 200, since=NOW + 310 * SECOND)
    assert later.per_minute == pytest.approx(99.5)


@given(st.lists(st.sampled_from([OK, FULL, THROTTLED, FAILED]), max_size=80), st.integers(1, 20))
def test_whatever_happens_it_stays_within_what_is_known(news, every):
    pace = begin(KEY)
    for n, one in enumerate(news):
        before = pace
        pace = heard(pace, KEY, one, NOW + n * every * SECOND)
        assert SLOWEST <= pace.per_minute <= ceiling(pace, KEY) + 1e-9
        assert 1 <= pace.at_once <= KEY.at_once
        assert pace.per_minute <= before.per_minute + 0.05 * 100, "raise slowly"
        if one is not OK and one is not FULL:
            assert pace.per_minute <= before.per_minute


def test_a_stated_limit_is_taken_at_once_up_and_down():
    told = Heard(outcome=Outcome.OK, took=SECOND, allowance=Allowance(requests_per_minute=40))
    pace = heard(begin(KEY), KEY, told, NOW)
    assert pace.per_minute == pytest.approx(40 * 0.995)
    more = Heard(outcome=Outcome.OK, took=SECOND, allowance=Allowance(requests_per_minute=80))
    assert heard(pace, KEY, more, NOW + SECOND).per_minute == pytest.approx(80 * 0.995)
    most = Heard(outcome=Outcome.OK, took=SECOND, allowance=Allowance(requests_per_minute=5000))
    assert heard(pace, KEY, most, NOW + SECOND).per_minute == pytest.approx(99.5), (
        "the configuration is the ceiling"
    )


def test_a_key_that_nobody_configured_takes_what_the_headers_state():
    told = Heard(outcome=Outcome.OK, took=SECOND, allowance=Allowance(requests_per_minute=600))
    unknown = PaceParams(at_once=64)
    pace = heard(begin(unknown), unknown, told, NOW)
    assert pace.per_minute == pytest.approx(597)
    assert pace.at_once >= 30


def test_tokens_a_minute_bound_the_rate_by_what_a_call_takes():
    told = Heard(outcome=Outcome.OK, took=SECOND, tokens=500, allowance=Allowance(tokens_per_minute=10_000))
    assert heard(begin(KEY), KEY, told, NOW).per_minute == pytest.approx(20 * 0.995)


def test_failures_take_a_third_of_the_width_and_nothing_of_the_rate():
    pace = heard(begin(KEY), KEY, FAILED, NOW)
    assert pace.at_once == int(begin(KEY).at_once * 2 / 3)
    assert pace.per_minute == begin(KEY).per_minute
    assert heard(pace, KEY, FAILED, NOW + SECOND).at_once == pace.at_once


def test_a_width_that_is_used_up_and_does_well_grows_and_one_that_is_not_does_not():
    assert after(begin(KEY), FULL, 100).at_once > begin(KEY).at_once
    assert after(begin(KEY), OK, 100).at_once == begin(KEY).at_once


def test_answers_that_become_three_times_slower_narrow_the_lane():
    pace = after(begin(KEY), FULL, 50)
    slow = Heard(outcome=Outcome.OK, took=6 * SECOND, was_full=True)
    assert after(pace, slow, 60, since=NOW + 50 * SECOND).at_once < pace.at_once


def test_a_policy_is_only_made_when_the_pace_differs():
    lane = LanePolicy()
    first = policy_of(begin(KEY), lane)
    assert policy_of(begin(KEY), first) is first


@pytest.mark.parametrize(
    ("allowance", "wait"),
    [
        (None, None),
        (Allowance(requests_left=3, requests_back_in=9 * SECOND), None),
        (Allowance(requests_left=0, requests_back_in=9 * SECOND), 9 * SECOND),
        (Allowance(requests_left=0), None),
        (Allowance(tokens_left=10, tokens_back_in=4 * SECOND), 4 * SECOND),
        (Allowance(tokens_left=1000, tokens_back_in=4 * SECOND), None),
        (Allowance(requests_left=0, requests_back_in=timedelta(days=2)), timedelta(minutes=2)),
    ],
)
def test_a_key_that_says_it_is_empty_is_left_alone_until_it_is_filled(allowance, wait):
    assert hold(allowance, tokens_each=100) == wait
