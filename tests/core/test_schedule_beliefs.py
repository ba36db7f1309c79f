"""The learned policy: what it believes of targets, clocks and listings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from learned_kit import around, belief, looks, watching

from vedette.core.schedule import make_policy
from vedette.core.schedule.learned.beliefs import Beliefs
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.hosts import Hosts
from vedette.core.schedule.learned.learn import Calibration, learn
from vedette.core.schedule.learned.listings import ListingReport, hub_contribution, listed_change
from vedette.core.schedule.learned.review import digamma, fitted
from vedette.core.schedule.learned.settings import Published
from vedette.core.schedule.learned.value import unseen

# What it believes


def test_quiet_hours_lower_the_rate_and_a_change_raises_it() -> None:
    start = belief(events=1.0, hours=100.0)
    quiet, _ = learn(start, around(), looks(50.0, False))
    busy, _ = learn(start, around(), looks(50.0, True))
    rates = [(b.events[0] + 0.3) / (b.hours[0] + 100) for b in (quiet, start, busy)]
    assert rates[0] < rates[1] < rates[2]
    assert (quiet.events[0], quiet.hours[0]) == (1.0, 150.0)


def test_a_dated_change_counts_one_and_the_hours_since() -> None:
    after, lesson = learn(belief(), around(), looks(50.0, True, 40.0))
    assert after.events[0] == pytest.approx(1.0)
    assert after.hours[0] == pytest.approx(10.0)
    assert after.lag[0] == 10.0
    assert (lesson.start[0], lesson.end[0]) == (40.0, 40.0)


@pytest.mark.parametrize(
    ("events", "hours", "gap"), [(0.0, 0.0, 24.0), (5.0, 200.0, 4.0), (0.2, 900.0, 700.0)]
)
def test_an_undated_change_matches_the_two_moments_of_the_true_posterior(
    events: float, hours: float, gap: float
) -> None:
    after, _ = learn(belief(events=events, hours=hours), around(), looks(gap, True))
    a, b = events + 0.3, hours + 100.0
    rate = np.geomspace(1e-13, 50, 400_000)
    density = rate ** (a - 1) * np.exp(-b * rate) * -np.expm1(-rate * gap) * rate  # * rate: a log grid
    mean = (density * rate).sum() / density.sum()
    square = (density * rate**2).sum() / density.sum()
    got_a, got_b = after.events[0] + 0.3, after.hours[0] + 100.0
    if got_b > 100.0:  # the belief never falls below the prior
        assert got_a / got_b == pytest.approx(mean, rel=1e-3)
        assert got_a / got_b**2 == pytest.approx(square - mean**2, rel=1e-2)


def test_the_first_look_teaches_no_rate() -> None:
    after, lesson = learn(belief(listed_change_p=1.0), around(), looks(50.0, True, 30.0))
    assert (after.events[0], after.hours[0], after.listed_change_p[0], after.last[0]) == (0.0, 0.0, 0.0, 50.0)
    assert after.lag[0] == 20.0
    assert not lesson.taught[0]


def test_a_page_that_changed_often_and_falls_silent_is_believed_asleep_and_wakes_with_a_change() -> None:
    b = belief(events=60.0, hours=600.0, steady=0.5, asleep=0.05, last=0.0)
    for day in range(1, 15):
        b, _ = learn(b, around(), looks(24.0 * day, False))
    assert b.asleep[0] > 0.8
    assert b.hours[0] < 600.0 + 0.5 * 14 * 24  # the quiet weeks do not count against the rate
    b, _ = learn(b, around(), looks(24.0 * 15, True))
    assert b.asleep[0] < 0.05


def test_a_change_in_the_wake_of_another_is_credited_to_the_burst() -> None:
    busy = around(published=Published(bursts=(1.0, 0.0, 0.0)))
    alone, _ = learn(belief(events=1.0, hours=1000.0), busy, looks(6.0, True))
    wake, _ = learn(belief(events=1.0, hours=1000.0, lag=0.0), busy, looks(6.0, True))
    assert wake.events[0] < 1.1 < alone.events[0]


@given(
    events=st.floats(0, 1e4), hours=st.floats(0, 1e5), steady=st.floats(0, 1), part=st.floats(0, 1),
    lag=st.floats(0, 1e4), start=st.floats(0, 1e6),
)  # fmt: skip
@example(events=0, hours=534, steady=0, part=1, lag=501, start=0)  # wakes about as fast as it changes
def test_the_chance_of_an_unseen_change_is_a_chance_and_never_falls(
    events: float, hours: float, steady: float, part: float, lag: float, start: float
) -> None:
    b = belief(events=events, hours=hours, steady=steady, asleep=(1 - steady) * part, lag=lag, last=start)
    ages = np.geomspace(0.01, 5000, 60)[None, :]
    column = (slice(None), None)
    p = unseen(b.take(column), around(published=Published()).take(column), ages).changed[0]
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p) >= -1e-6).all()


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(0.001, 300), st.booleans())
def test_beliefs_stay_sane_whatever_is_seen(seen: list[bool], gap: float, dated: bool) -> None:
    b, t = belief(steady=0.5, asleep=0.1), 0.0
    for changed in seen:
        t += gap
        b, _ = learn(b, around(published=Published()), looks(t, changed, t - gap / 3 if dated else math.nan))
        for part in (b.events, b.hours, b.steady, b.asleep):
            assert np.isfinite(part).all()
            assert part[0] >= 0
        assert b.steady[0] + b.asleep[0] <= 1 + 1e-9


# Clocks


def test_a_week_has_168_clock_hours_whatever_was_learned() -> None:
    clocks = Clocks()
    clocks.grow(2)
    at = np.array([9.5 + 24 * (i % 5) + 168 * (i // 5) for i in range(400)])
    clocks.learn(np.zeros(400, np.int64), at, at)
    assert clocks.hours(np.array([0, 1]), np.zeros(2), np.full(2, 168.0)) == pytest.approx([168.0, 168.0])
    for start in (3.3, 111.0, 160.7):
        assert clocks.hours(np.array([0]), np.array([start]), np.array([start + 336.0])) == pytest.approx(
            336.0
        )
    office, night = clocks.now(np.array([0, 0]), np.array([9.5, 2.0]))
    assert office > 5 > 0.5 > night
    assert clocks.now(np.array([1]), np.array([9.5]))[0] < office / 3  # another host has not shown it


def test_changes_known_only_to_an_interval_teach_the_clock_too() -> None:
    clocks = Clocks()
    clocks.grow(1)
    for day in range(600):
        if day % 7 < 5:
            clocks.learn(np.zeros(1, np.int64), np.array([day * 24 + 8.0]), np.array([day * 24 + 12.0]))
    assert clocks.now(np.zeros(1, np.int64), np.array([10.0]))[0] > 3
    assert clocks.now(np.zeros(1, np.int64), np.array([20.0]))[0] < 0.5


def test_a_clock_moves_the_look_behind_the_busy_hours() -> None:
    policy = watching(4, hosts=1)
    for week in range(12):
        for day in range(5):
            t = week * 168 + day * 24 + 8.0
            policy.observe([0], t, [False])
            policy.observe([0], t + 4, [True])
        policy.next(t + 5, None)  # clocks are published by the reviews
    told = policy.explain(0, 12 * 168.0)
    assert any(reason.code == "clock" for reason in told.reasons)


# Listings


def test_a_mark_is_strong_on_a_busy_page_and_weak_on_one_that_never_changed() -> None:
    b = Beliefs(
        *(np.concatenate(pair) for pair in zip(_parts(20.0, 500.0), _parts(0.0, 20_000.0), strict=True))
    )
    told = ListingReport(10.0, 0.0, 0.8, 0.001)
    marks, lag = listed_change(b, around(2), told, np.full(2, np.nan))
    assert marks[0] > 0.9 > 0.2 > marks[1] > 0
    assert lag == pytest.approx([5.0, 5.0])


def _parts(events: float, hours: float) -> list[np.ndarray]:
    b = belief(events=events, hours=hours)
    return [b.events, b.hours, b.steady, b.asleep, b.last, b.lag, b.listed_change_p, b.listed_change_lag]


def test_a_mark_dated_before_our_last_look_says_nothing() -> None:
    marks, _ = listed_change(
        belief(events=20.0, hours=500.0, last=8.0),
        around(),
        ListingReport(10.0, 0.0, 0.8, 0.001),
        np.array([7.0]),
    )
    assert marks[0] == 0.0


def test_a_listing_that_cries_wolf_loses_its_weight() -> None:
    policy = make_policy("learned")
    policy.add([1], risk="LOW", host=[0], now=0.0)
    policy.add(np.arange(10, 20), risk="MEDIUM", host=np.zeros(10, int), parent=np.ones(10, int), now=0.0)
    policy.observe([1, *range(10, 20)], 0.0, np.zeros(11, bool))
    chances = []
    for t in range(1, 60):
        policy.observe([1], float(t), [True])
        policy.signal([10 + t % 10], float(t), kind="hub", source=1, complete=True)
        chances.append(policy.explain(10 + t % 10, float(t)).p_changed)
        policy.observe([10 + t % 10], float(t) + 0.1, [False])
    assert chances[-1] < 0.2 * chances[0]


def test_what_a_complete_listing_does_not_name_is_less_likely_changed() -> None:
    b = belief(events=5.0, hours=200.0)
    alone = around()
    covered = around(listed_at=np.array([20.0]), listed_every=np.array([2.0]), recall=np.array([0.8]))
    plain, listed = (unseen(b, one, np.array([20.0])).changed[0] for one in (alone, covered))
    assert 0.1 * plain < listed < 0.35 * plain


def test_a_hub_pulls_less_when_looks_are_dear() -> None:
    b = belief(events=1.0, hours=800.0)
    pulls = []
    for price in (1.0, 30.0, 1000.0, 1e5):
        setting = around(published=Published(price=price), recall=np.array([0.8]))
        pulls.append(float(hub_contribution(b, setting, np.array([8e-4]))[0]))
    assert pulls == sorted(pulls, reverse=True)
    assert pulls[0] > 2 * pulls[-1]


def test_a_target_that_a_hub_brings_is_looked_at_first() -> None:
    policy = watching(400)
    policy.add([5], risk="LOW", host=[0], parent=[0], now=3.0)
    assert policy.next(3.0, 1).tolist() == [5]
    assert policy.explain(5, 3.0).reasons[0].code == "never_looked_at"


def test_dates_of_a_host_that_makes_them_up_are_not_believed() -> None:
    hosts = Hosts()
    hosts.numbers(np.array([7]))
    here, yes, zero = np.zeros(1, np.int64), np.ones(1, bool), np.zeros(1)
    assert hosts.believed(here, (yes, zero, np.array([10.0]), np.array([4.0]))) == [4.0]
    for _ in range(3):
        hosts.believed(here, (yes, zero, np.array([10.0]), np.array([10.0])))
    assert np.isnan(hosts.believed(here, (yes, zero, np.array([10.0]), np.array([4.0]))))[0]


# All targets together


def test_calibration_tells_what_such_predictions_were_worth() -> None:
    table, rng = Calibration(), np.random.default_rng(1)
    p = rng.random(5000)
    table.learn(p, rng.random(5000) < p**2)
    told = table.honest(np.array([0.0, 0.3, 0.7, 1.0]))
    assert told == pytest.approx([0.0, 0.09, 0.49, 1.0], abs=0.06)
    assert Calibration().honest(np.array([0.3])) == pytest.approx([0.3], abs=0.01)


def test_a_handful_of_looks_hardly_moves_what_is_told() -> None:
    """Five looks, four of them with a change that nobody expected: no reason to tell of 36 % after two minutes."""
    table = Calibration()
    table.learn(np.full(5, 0.001), np.array([True, True, True, True, False]))
    table.learn(np.full(3, 0.02), np.ones(3, bool))
    told = table.honest(np.array([0.0, 0.0004, 0.001, 0.02]))
    assert told[0] == 0.0
    assert (told[1:] < 2.0 * np.array([0.0004, 0.001, 0.02])).all()
    assert (np.diff(told) > 0).all()


def test_the_prior_follows_the_targets() -> None:
    assert digamma(np.array([0.3, 1.0, 10.0])) == pytest.approx([-3.5025242, -0.5772157, 2.2517526], abs=1e-6)
    rng = np.random.default_rng(2)
    rate = rng.gamma(0.6, 1 / 300.0, 4000)
    hours = np.full(4000, 2000.0)
    b = Beliefs(rng.poisson(rate * hours).astype(float), hours, *(np.zeros(4000) for _ in range(6)))
    prior = (0.3, 100.0)
    for _ in range(200):
        prior = fitted(b, prior)
    assert prior[0] == pytest.approx(0.6, rel=0.2)
    assert prior[0] / prior[1] == pytest.approx(0.6 / 300, rel=0.2)
