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
NAMES = st.sampled_from(["Mon", "tue", "Wed", "Thu", "FRI", "Sat", "Sun"])
SPANS = st.one_of(NAMES, st.tuples(NAMES, NAMES).map("-".join))
DAYED = st.one_of(SPANS, st.tuples(SPANS, WINDOWS).map(" ".join))


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


def minute_of(moment: datetime) -> int:
    return (moment.weekday() * 24 + moment.hour) * 60 + moment.minute


SATURDAY, MONDAY = 72, 120  # hours after DAY, which is a Wednesday


@pytest.mark.parametrize(
    ("window", "hours", "until"),
    [
        ("Sat-Sun", SATURDAY - 0.1, None),
        ("Sat-Sun", SATURDAY, MONDAY),
        ("sat - sun", MONDAY - 0.1, MONDAY),
        ("Sat-Sun", MONDAY, None),
        ("Sun", SATURDAY, None),
        ("Fri-Mon", SATURDAY - 24, MONDAY + 24),
        ("Fri-Mon", MONDAY + 24, None),
        ("Mon-Fri 18:00-07:00", SATURDAY + 1, SATURDAY + 7),
        ("Mon-Fri 18:00-07:00", SATURDAY + 20, None),
        ("Sun 23:00-01:00", MONDAY + 0.5, MONDAY + 1),
        ("Sun 23:00-01:00", 23.5, None),
        ("Wed 10:00-12:00", 11, 12),
    ],
)
def test_days_of_the_week_can_be_named(window: str, hours: float, until: float | None):
    found = awake_at((window,), at(hours))
    assert found == at(hours if until is None else until)


def test_a_weekend_and_the_nights_before_it_are_one_sleep():
    told = lane.ask(LanePolicy(sleep=("Sat-Sun", "20:00-06:00")), LaneState(), at(SATURDAY - 3))
    assert isinstance(told, Wait)
    assert told.until == at(MONDAY + 6)


@given(st.lists(st.one_of(WINDOWS, DAYED), min_size=1, max_size=3), st.integers(0, 9 * 86_400))
def test_the_next_waking_moment_is_awake_and_nothing_before_it_is(windows: list[str], seconds: int):
    given_ = tuple(windows)
    try:
        asleep = sleep_minutes(given_)
    except ValueError:
        return  # these leave no minute
    now = DAY + timedelta(seconds=seconds)
    found = awake_at(given_, now)
    assert minute_of(found) not in asleep
    assert found - now < timedelta(days=7)
    before = now
    while before < found:
        assert minute_of(before) in asleep
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
        ("Sam-Son", "is no day; write Mon"),
        ("", "Sat-Sun or Fri 18:00-07:00"),
        ("Mon-Sun", "leaves no minute"),
        (["00:00-12:00", "12:00-00:00"], "leaves no minute"),
    ],
)
def test_hours_that_cannot_be_are_told_with_what_to_write(sleep: object, words: str):
    with pytest.raises(ConfigError, match=words):
        parse({"lanes": {"default": {"sleep": sleep}}})
