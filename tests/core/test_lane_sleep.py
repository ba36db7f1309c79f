"""Hours in which a lane sleeps."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.config.model import parse
from vedette.config.pace_policies import lane_policies
from vedette.contracts.errors import ConfigError
from vedette.contracts.lane import Go, LanePolicy, LaneState, Wait
from vedette.contracts.words import LaneKey
from vedette.core.lanes import lane
from vedette.core.lanes.sleep import awake_at, awake_share, sleep_minutes

NIGHT = LanePolicy(sleep=("22:00-06:00",))
DAY = datetime(2026, 3, 4, tzinfo=UTC)
TIMES = st.integers(0, 24 * 60 - 1).map(lambda minute: f"{minute // 60:02}:{minute % 60:02}")
WINDOWS = st.tuples(TIMES, TIMES).filter(lambda pair: pair[0] != pair[1]).map("-".join)


def at(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


@pytest.mark.parametrize(
    ("hours", "until"),
    [(21.99, None), (22, 30), (23.5, 30), (0, 6), (5.99, 6), (6, None), (12, None)],
)
def test_nothing_starts_while_the_lane_sleeps_also_over_midnight(hours: float, until: float | None):
    told = lane.ask(NIGHT, LaneState(), at(hours))
    if until is None:
        assert told == Go()
        assert lane.explain(NIGHT, LaneState(), at(hours)) == ()
    else:
        assert isinstance(told, Wait)
        assert (told.until, told.reason.code) == (at(until), "lane_asleep")
        assert lane.explain(NIGHT, LaneState(), at(hours))[0].note == "sleeps 22:00-06:00 UTC"


def test_a_wait_that_ends_while_the_lane_sleeps_ends_when_it_wakes():
    held = LaneState(held_until=at(23))
    told = lane.ask(NIGHT, held, at(21))
    assert isinstance(told, Wait)
    assert told.until == at(30)


def test_a_lane_that_sleeps_lets_fewer_calls_through_in_a_day():
    awake = replace(NIGHT, sleep=())
    assert lane.starts_per_day(NIGHT) == pytest.approx(lane.starts_per_day(awake) * 16 / 24)


@given(st.lists(WINDOWS, min_size=1, max_size=3), st.integers(0, 3 * 86_400))
def test_the_next_waking_moment_is_awake_and_nothing_before_it_is(windows: list[str], seconds: int):
    given_ = tuple(windows)
    try:
        asleep = sleep_minutes(given_)
    except ValueError:
        return  # these leave no minute
    now = DAY + timedelta(seconds=seconds)
    found = awake_at(given_, now)
    assert found.hour * 60 + found.minute not in asleep
    assert found - now < timedelta(days=1)
    before = now
    while before < found:
        assert before.hour * 60 + before.minute in asleep
        before += timedelta(minutes=1)
    assert 0.0 < awake_share(given_) < 1.0


def test_the_configuration_sets_it_for_one_lane_or_all():
    rows = {"default": {"sleep": ["22:00-06:00", "12:00-13:00"]}, "host:a.example": {"sleep": "01:00-02:00"}}
    policies = lane_policies(parse({"lanes": rows}))
    assert policies.of(LaneKey("host:b.example")).sleep == ("22:00-06:00", "12:00-13:00")
    assert policies.of(LaneKey("host:a.example")).sleep == ("01:00-02:00",)


@pytest.mark.parametrize(
    ("sleep", "words"),
    [
        ("noon", "write for example 22:00-06:00"),
        (["8-9"], "write for example 22:00-06:00"),
        (7, "write for example 22:00-06:00"),
        ("05:00-05:00", "starts when it ends"),
        (["00:00-12:00", "12:00-00:00"], "leaves no minute"),
    ],
)
def test_hours_that_cannot_be_are_told_with_what_to_write(sleep: object, words: str):
    with pytest.raises(ConfigError, match=words):
        parse({"lanes": {"default": {"sleep": sleep}}})
