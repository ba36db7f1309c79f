"""The learned policy: objectives, and what is told of them beforehand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from learned_kit import RISKS, around, belief, live, watching

from vedette.core.schedule import make_policy
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.objectives import (
    KNOWN_HOURS,
    LEFT_OUT,
    LookPattern,
    Tier,
    asked_hours,
    changes,
    coverage,
    expected,
    is_kept,
    kept,
    steadiness,
    waking,
)
from vedette.core.schedule.learned.review import Sample, tiers
from vedette.core.schedule.learned.settings import Published

GOAL = {"CRITICAL": (4.0, 0.95)}


def test_an_objective_is_kept_within_its_tier_and_the_forecast_says_when_it_cannot_be() -> None:
    goal = {"CRITICAL": (4.0, 0.95)}
    rates = np.where(np.arange(80) % 4 == 3, 0.05, 0.01)
    policy = watching(80, objectives=goal)
    live(policy, rates, 24 * 5.0, k=14)
    gaps = [policy.explain(i * 10**15, 120.0).interval for i in range(3, 80, 4)]
    assert np.mean(np.array(gaps) <= 4.0) > 0.9
    rich, poor = (policy.forecast(120.0, looks) for looks in (14 * 24.0, 60.0))
    assert rich.coverage["CRITICAL"] > 0.95
    assert rich.shortfall == 0.0
    assert poor.coverage["CRITICAL"] < 0.7
    assert poor.shortfall > 0.0
    assert poor.needed == pytest.approx(rich.needed)


CRITICAL = np.int8(3)


def office_hours() -> Clocks:
    """The clock of a host that was only ever seen to change on working days, eight to four."""
    clocks = Clocks()
    clocks.grow(1)
    monday = np.arange(8.0, 16.0)
    for _ in range(40):
        clocks.learn(np.zeros(8, np.int64), monday, monday)
    return clocks


@pytest.mark.parametrize("last", [0.0, 17.0, 120.0, 136.5, 167.9])
@pytest.mark.parametrize("lively", [0.0625, 1.0])
def test_a_new_target_is_looked_at_within_its_promise_whatever_the_hour(last: float, lively: float) -> None:
    near = replace(around(1), clocks=office_hours(), host_activity=np.array([lively]))
    for hours in (0.0, 8.0, 100.0, 160.0):
        b = belief(1, hours=hours, last=last, asleep=0.9)
        for published in (Published(), Published(kept_from=(0.0, 0.0, 0.0, 1.0))):
            part = replace(near, published=published)
            assert asked_hours(b, part, np.array([CRITICAL]), GOAL)[0] == pytest.approx(3.9)


def test_who_is_left_out_of_a_promise_is_little_of_all_changes_even_if_beliefs_are_wrong() -> None:
    rng = np.random.default_rng(3)
    left_out = 0
    for _ in range(60):
        n = int(rng.integers(1, 400))
        hours = rng.choice([10.0, 200.0, 2000.0, 40_000.0], n)
        b = belief(
            n, events=rng.choice([0.0, 0.0, 3.0, 40.0], n), hours=hours, asleep=rng.choice([0.0, 0.5], n)
        )
        near, rate = around(n), expected(b, around(n))
        one = kept(b, near, (4.0, 0.95), 1.0)
        stays = is_kept(b, near, one.least)
        assert stays[b.hours < KNOWN_HOURS].all()
        assert rate[~stays].sum() <= 0.05 * LEFT_OUT * rate.sum()
        assert one.coverage == pytest.approx(rate[stays].sum() / rate.sum())
        aged = replace(b, hours=b.hours + 4.0)  # the next look finds nothing: it stays
        assert is_kept(aged, near, one.least)[stays].all()
        left_out += int((~stays).sum())
    assert left_out > 0


def test_a_promise_that_the_budget_does_not_carry_goes_where_most_changes_are() -> None:
    b = belief(40, events=np.r_[np.full(4, 30.0), np.zeros(36)], hours=500.0)
    part = Sample(b, around(40), np.full(40, CRITICAL), 1.0)
    rich, poor = (tiers(part, GOAL, budget)["CRITICAL"] for budget in (None, 100.0))
    assert rich.is_kept
    assert not poor.is_kept
    assert poor.looks <= 40.0
    assert poor.wanted == rich.looks


def test_an_objective_asks_again_for_a_look_that_failed() -> None:
    busy, n = 3 * 10**15, 200
    rates = np.full(n, 0.02)
    rates[3] = 0.2
    policy = watching(n, hosts=50, objectives={"CRITICAL": (4.0, 0.95)})
    live(policy, rates, 240.0, k=3)
    last = policy.explain(busy, 240.0).due_at - policy.explain(busy, 240.0).interval
    policy.observe([busy], last + 4.0, [False], status=[503])
    looked: list[int] = []
    for t in np.arange(1.0, 4.0) + max(last + 4.0, 240.0):
        chosen = policy.next(float(t), 3)
        policy.observe(chosen, float(t), np.zeros(len(chosen), bool))
        looked += chosen.tolist()
    assert busy in looked


def test_a_forecast_moves_the_right_way() -> None:
    policy = watching(200, objectives={"CRITICAL": (4.0, 0.95)})
    live(policy, np.full(200, 0.02), 80.0, k=20)
    told = [policy.forecast(80.0, budget) for budget in (20.0, 100.0, 500.0, 3000.0)]
    for few, many in pairwise(told):
        assert few.shortfall >= many.shortfall
        for risk in RISKS:
            assert few.coverage[risk] <= many.coverage[risk] + 1e-9
            assert few.freshness[risk] <= many.freshness[risk] + 1e-9
            assert few.age[risk] >= many.age[risk] - 1e-9
    busier = watching(200, objectives={"CRITICAL": (4.0, 0.95)})
    live(busier, np.full(200, 0.1), 80.0, k=20)
    assert busier.forecast(80.0, 100.0).freshness["MEDIUM"] < told[1].freshness["MEDIUM"]
    limits = [policy.forecast(80.0, 500.0, host_limits={0: most}) for most in (5.0, 20.0, 1e6)]
    for tight, wide in pairwise(limits):
        assert tight.coverage["LOW"] <= wide.coverage["LOW"]
        assert tight.tight_hosts.get(0, 0.0) >= wide.tight_hosts.get(0, 0.0)
    assert limits[0].tight_hosts[0] > 0
    assert limits[2].tight_hosts == {}


def test_targets_weigh_by_all_their_changes_also_those_that_follow_one() -> None:
    b, gap = belief(3, events=5.0, hours=100.0), np.array([1.0, 10.0, 200.0])
    plain = changes(b, around(3), gap)
    assert plain == pytest.approx(np.full(3, (5.0 + 0.3) / (100.0 + 100.0)))  # the rate, under PRIOR
    bursty = changes(b, around(3, published=Published(bursts=(0.5, 0.5, 0.5))), gap)
    assert (
        bursty[0] > bursty[1] > bursty[2] == pytest.approx(plain[2])
    )  # nobody sees what follows for 200 hours


def test_a_target_that_sleeps_and_wakes_is_promised_less_the_longer_nobody_looks() -> None:
    b = belief(2, events=9.0, hours=100.0, steady=np.array([1.0, 0.2]))
    short, long = (waking(b, 0.5, gap) for gap in (10.0, 100.0))
    assert short[0] == long[0] == 0.0
    assert 0.0 < short[1] < long[1] < 1.0
    assert waking(b, 0.9, 100.0)[1] < long[1]  # where few sleep, this one hardly does
    seen = LookPattern(np.full(2, 40.0), 4.0, Tier(0.01, 12.0, 1.0, 12.0))
    kept = [coverage(b, around(2), seen, np.ones(2), late) for late in (short, long)]
    assert 1.0 > kept[0] > kept[1] > 4.0 / 40.0


def test_how_many_sleep_is_told_by_those_that_changed_often() -> None:
    awake = belief(40, events=9.0, steady=0.7)
    slept = belief(40, events=9.0, steady=np.r_[np.full(20, 0.7), np.zeros(20)])
    assert steadiness(awake) > 0.85
    assert steadiness(slept) < 0.3  # half slept, and the others may yet
    assert steadiness(belief(40, events=1.0, steady=0.0)) == pytest.approx(0.5)  # too few changes to tell


@pytest.mark.parametrize("k", [6, 12])
def test_a_forecast_is_near_what_is_then_seen(k: int) -> None:
    """Steady pages, most of them slow; so few looks do not carry the objective, and it says so."""
    n, rng = 160, np.random.default_rng(5)
    rates = np.exp(rng.normal(math.log(1 / 150), 1.5, n))
    policy = make_policy("learned", seed=7, objectives={"CRITICAL": (4.0, 0.95)})
    ids = np.arange(n)
    policy.add(ids, risk=np.where(ids % 4, "MEDIUM", "CRITICAL").tolist(), host=ids % 4, now=0.0)
    policy.observe(ids, 0.0, np.zeros(n, bool))
    changed = [np.cumsum(rng.exponential(1 / rate, int(rate * 1400) + 20)) for rate in rates]
    last, told, total, in_time = np.zeros(n), None, 0, 0
    for t in np.arange(1.0, 800.0):
        if t == 336.0:
            told = policy.forecast(t, 24.0 * k)
        chosen = policy.next(float(t), k)
        found = [changed[i][(changed[i] > last[i]) & (changed[i] <= t)] for i in chosen.tolist()]
        policy.observe(chosen, float(t), [len(one) > 0 for one in found])
        last[chosen] = t
        if told is not None:
            critical = [one for i, one in zip(chosen.tolist(), found, strict=True) if i % 4 == 0]
            in_time += sum(int((t - one <= 4.0).sum()) for one in critical)
    total = sum(int(((one >= 336.0) & (one < 796.0)).sum()) for one in changed[::4])
    assert told is not None
    assert told.coverage["CRITICAL"] == pytest.approx(in_time / total, abs=0.05)
    assert told.coverage["CRITICAL"] < 0.95
    assert told.shortfall > 0
