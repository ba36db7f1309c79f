"""The learned policy: what it believes, what it decides, what it promises."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule import make_policy
from vedette.core.schedule.hours import from_hours
from vedette.core.schedule.learned import deciding, row
from vedette.core.schedule.learned.belief import Around, Beliefs
from vedette.core.schedule.learned.calibration import Calibration
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.coverage import Seen, changes, coverage, steadiness, waking
from vedette.core.schedule.learned.hosts import Hosts
from vedette.core.schedule.learned.ladder import Ladder
from vedette.core.schedule.learned.learn import Looks, learn
from vedette.core.schedule.learned.listing import Told, mark, share
from vedette.core.schedule.learned.objective import Tier
from vedette.core.schedule.learned.order import Order
from vedette.core.schedule.learned.policy import LearnedPolicy
from vedette.core.schedule.learned.prior import digamma, fitted
from vedette.core.schedule.learned.settings import KAPPA, Published
from vedette.core.schedule.learned.table import KINDS
from vedette.core.schedule.learned.unseen import unseen
from vedette.core.schedule.learned.worth import age_at_value, plan, value_at_cost, value_now

HOUR = timedelta(hours=1)
RISKS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")


def belief(n: int = 1, **parts: float | np.ndarray) -> Beliefs:
    plain = {
        "events": 0.0, "hours": 0.0, "steady": 1.0, "asleep": 0.0, "last": 0.0, "lag": math.inf, "mark": 0.0,
        "mark_lag": 0.0,
    } | parts  # fmt: skip
    return Beliefs(*(np.full(n, value) for value in plain.values()))


def around(n: int = 1, clocks: Clocks | None = None, **parts: object) -> Around:
    flat = Clocks()
    flat.grow(1)
    plain: dict[str, object] = {
        "published": Published(bursts=(0.0, 0.0, 0.0)), "clocks": clocks or flat, "host": np.zeros(n, np.int64),
        "weight": np.ones(n), "listed_at": np.full(n, -np.inf), "listed_every": np.full(n, np.inf),
        "recall": np.zeros(n), "pull": np.zeros(n), "dear": np.ones(n), "lively": np.ones(n),
    } | parts  # fmt: skip
    return Around(**plain)  # type: ignore[arg-type]


def looks(at: float, changed: bool, modified: float = math.nan, n: int = 1) -> Looks:
    return Looks(np.full(n, at), np.full(n, changed), np.full(n, modified))


def watching(n: int = 40, hosts: int = 4, **options: object) -> LearnedPolicy:
    policy = make_policy("learned", seed=7, **options)
    assert isinstance(policy, LearnedPolicy)
    policy.add(
        np.arange(n) * 10**15, risk=[RISKS[i % 4] for i in range(n)], host=np.arange(n) % hosts, now=0.0
    )
    policy.observe(np.arange(n) * 10**15, 0.0, np.zeros(n, bool))
    return policy


def live(policy: LearnedPolicy, rates: np.ndarray, until: float, k: int | None = 4, step: float = 1.0) -> int:
    """Pages that change at random, looked at as the policy says; ids are i * 10**15.  Gives the number of looks."""
    rng = np.random.default_rng(1)
    last, count = np.zeros(len(rates)), 0
    for t in np.arange(step, until, step):
        ids = policy.next(float(t), k)
        i = ids // 10**15
        changed = rng.random(len(i)) < -np.expm1(-rates[i] * (t - last[i]))
        policy.observe(ids, float(t), changed)
        last[i] = t
        count += len(i)
    return count


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
    after, lesson = learn(belief(mark=1.0), around(), looks(50.0, True, 30.0))
    assert (after.events[0], after.hours[0], after.mark[0], after.last[0]) == (0.0, 0.0, 0.0, 50.0)
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
    told = policy.explain(0, 12 * 168.0)
    assert any(reason.code == "clock" for reason in told.reasons)


# What a look is worth


def test_the_value_is_the_integral_that_it_stands_for() -> None:
    b, age = belief(events=2.0, hours=50.0), 30.0
    value, stale = value_now(b, around(), age)
    x = (np.arange(20_000) + 0.5) * age / 20_000
    p = 1 - (150 / (150 + x)) ** 2.3
    area, first = p.mean() * age, (p * x).mean() * age
    assert stale[0] == pytest.approx(1 - (150 / 180) ** 2.3)
    assert value[0] == pytest.approx(age * stale[0] - area + KAPPA * first, rel=1e-4)


@given(st.floats(0, 500), st.floats(0, 5000), st.floats(0.01, 1e4))
def test_the_plan_is_where_the_value_reaches_the_price(events: float, hours: float, price: float) -> None:
    b, setting = (
        belief(events=events, hours=hours),
        around(published=Published(price=price, bursts=(0.0,) * 3)),
    )
    wait = plan(b, setting, np.zeros(1))
    if 0.25 < wait[0] < 700:
        assert value_now(b, setting, float(wait[0]))[0][0] == pytest.approx(price, rel=0.2)


def test_dearer_looks_come_later_and_higher_risk_sooner() -> None:
    b = belief(4, events=3.0, hours=100.0)
    setting = around(4, weight=np.array([0.5, 1.0, 2.0, 4.0]))
    waits = [
        plan(b, replace(setting, published=Published(price=price)), np.zeros(4))
        for price in (1.0, 10.0, 100.0)
    ]
    for cheap, dear in pairwise(waits):
        assert (cheap < dear).all()
    assert (np.diff(waits[1]) < 0).all()


@given(st.floats(1e-6, 0.05), st.floats(0.01, 1000))
def test_age_at_value_and_value_at_cost_are_inverses(rate: float, value: float) -> None:
    age = age_at_value(np.array([value]), np.array([rate]))
    cost = rate * (age + KAPPA * age**2 / 2)
    assert value_at_cost(cost, np.array([rate]))[0] == pytest.approx(value, rel=1e-4)


# Listings


def test_a_mark_is_strong_on_a_busy_page_and_weak_on_one_that_never_changed() -> None:
    b = Beliefs(
        *(np.concatenate(pair) for pair in zip(_parts(20.0, 500.0), _parts(0.0, 20_000.0), strict=True))
    )
    told = Told(10.0, 0.0, 0.8, 0.001)
    marks, lag = mark(b, around(2), told, np.full(2, np.nan))
    assert marks[0] > 0.9 > 0.2 > marks[1] > 0
    assert lag == pytest.approx([5.0, 5.0])


def _parts(events: float, hours: float) -> list[np.ndarray]:
    b = belief(events=events, hours=hours)
    return [b.events, b.hours, b.steady, b.asleep, b.last, b.lag, b.mark, b.mark_lag]


def test_a_mark_dated_before_our_last_look_says_nothing() -> None:
    marks, _ = mark(
        belief(events=20.0, hours=500.0, last=8.0), around(), Told(10.0, 0.0, 0.8, 0.001), np.array([7.0])
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
        pulls.append(float(share(b, setting, np.array([8e-4]))[0]))
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


# The queue, the ids, the memory


@settings(max_examples=40)
@given(st.integers(1, 400), st.integers(0, 10**6))
def test_the_ladder_gives_exactly_the_earliest(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    due = rng.integers(0, 50, size).astype(float)
    ladder = Ladder(lambda rows: due[rows])
    ladder.moved(np.arange(size), size)
    for _ in range(12):
        count = int(rng.integers(1, 30))
        assert ladder.first(count).tolist() == np.lexsort((np.arange(size), due))[:count].tolist()
        moved = np.unique(rng.integers(0, size, 20))
        due[moved] = rng.integers(0, 90, len(moved))
        ladder.moved(moved, size)


def test_the_ladder_holds_with_many_rows_and_rungs() -> None:
    rng = np.random.default_rng(3)
    due = rng.random(30_000)
    ladder = Ladder(lambda rows: due[rows])
    ladder.moved(np.arange(len(due)), len(due))
    for _ in range(120):
        first = ladder.first(50)
        assert first.tolist() == np.argsort(due, kind="stable")[:50].tolist()
        due[first] += rng.random(50)
        back = rng.integers(0, len(due), 3)
        due[back] -= 0.2
        ladder.moved(np.unique(np.concatenate([first, back])), len(due))


@given(st.lists(st.integers(-(2**62), 2**62), unique=True, max_size=60), st.integers(1, 9))
def test_ids_are_found_where_they_were_put(ids: list[int], part: int) -> None:
    order, column = Order(), np.array(ids, np.int64)
    for start in range(0, len(ids), part):
        rows = np.arange(start, min(start + part, len(ids)))
        order.add(column[rows], rows, column)
    order._sort_in(np.arange(len(ids)), column) if len(ids) > 30 else None
    wanted = np.array([*ids[::-1], 2**62 + 1], np.int64)
    assert order.find(wanted, column).tolist() == [*range(len(ids))[::-1], -1]


def test_a_target_takes_at_most_64_bytes() -> None:
    policy = make_policy("learned")
    n = 20_000
    policy.add(np.arange(n), risk="LOW", host=np.arange(n) // 100, now=0.0)
    columns, order, rung = sum(np.dtype(kind).itemsize for kind in KINDS.values()), 4, 1
    assert columns + order + rung <= 60
    assert len(policy.dump()) / n + order + rung <= 64


# What it decides


def test_looks_go_where_change_is() -> None:
    rates = np.full(40, 0.001)
    rates[5] = 0.2
    policy = watching(40)
    live(policy, rates, 300.0, k=2)
    busy, calm = policy.explain(5 * 10**15, 300.0), policy.explain(9 * 10**15, 300.0)
    assert busy.rate > 10 * calm.rate
    assert busy.rate_low is not None
    assert busy.rate_low < busy.rate < busy.rate_high  # type: ignore[operator]
    assert busy.interval < calm.interval


def test_a_price_settles_and_a_short_budget_makes_looks_dearer() -> None:
    rates = np.full(40, 0.01)
    prices = []
    for k in (1, 8):
        policy = watching(40)
        live(policy, rates, 100.0, k=k)
        prices.append(policy.explain(0, 100.0).price)
    assert prices[0] > 3 * prices[1]


@pytest.mark.parametrize("budget", [20.0, 80.0])
def test_a_daily_budget_is_spent_and_not_overspent(budget: float) -> None:
    policy = watching(200, budget_per_day=budget)
    spent = live(policy, np.full(200, 0.02), 24 * 20.0, k=None, step=4.0)
    assert 0.6 * budget < spent / 20 < 1.3 * budget


def test_hosts_without_room_are_left_alone_and_their_budget_is_kept() -> None:
    policy = watching(40)
    chosen = policy.next(50.0, 10, host_room={0: 2, 1: 0})
    hosts = [i // 10**15 % 4 for i in chosen.tolist()]
    assert len(chosen) == 10
    assert hosts.count(0) <= 2
    assert hosts.count(1) == 0
    strict = watching(40, host_budget_per_day=6.0, host_budgets={3: 0.0})
    assert live(strict, np.full(40, 0.1), 24 * 5.0, k=4) <= 3 * 6 * 6
    assert all(i // 10**15 % 4 != 3 for i in strict.next(130.0, 30).tolist())


def test_a_failed_look_teaches_nothing_and_waits_longer_each_time() -> None:
    policy = watching(1)
    rate = policy.explain(0, 1.0).rate
    dues = []
    for t in (10.0, 50.0, 200.0):
        policy.observe([0], t, [True], status=[503])
        dues.append(policy.next_due(0) - t)
        assert policy.explain(0, t).rate == rate
        assert len(policy.next(t + 0.5, 1)) == 0
        told = policy.explain(0, t)
        assert told.reasons[-1].code == "failed"
        assert sum(reason.points for reason in told.reasons) == pytest.approx(told.interval)
    assert dues[0] < dues[1] <= dues[2]
    assert policy.next(dues[-1] + 200.0, 1).tolist() == [0]


def test_no_interval_is_below_the_floor_of_its_risk() -> None:
    policy = watching(4)
    live(policy, np.full(4, 3.0), 60.0, k=4)
    for i, floor in enumerate((4.0, 4.0, 2.0, 1.0)):
        assert policy.explain(i * 10**15, 60.0).interval >= floor


def test_reasons_add_up_to_the_interval() -> None:
    policy = watching(40, objectives={"CRITICAL": (4.0, 0.95)})
    live(policy, np.linspace(0.001, 0.3, 40), 120.0)
    policy.add([5], risk="HIGH", host=[0], parent=[0], now=120.0)
    policy.signal([10**15, 2 * 10**15], 121.0, kind="hub", source=0, complete=True)
    codes = set()
    for i in [*(np.arange(40) * 10**15).tolist(), 5]:
        told = policy.explain(i, 121.0)
        assert sum(reason.points for reason in told.reasons) == pytest.approx(told.interval, abs=1e-9)
        assert 0 <= told.p_changed <= 1
        codes |= {reason.code for reason in told.reasons}
    assert {"rate", "objective", "mark", "recency"} <= codes


# Promises


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
    seen = Seen(np.full(2, 40.0), 4.0, Tier(0.01, 12.0, 1.0, 12.0))
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


def test_calibration_tells_what_such_predictions_were_worth() -> None:
    table, rng = Calibration(), np.random.default_rng(1)
    p = rng.random(5000)
    table.learn(p, rng.random(5000) < p**2)
    told = table.honest(np.array([0.0, 0.3, 0.7, 1.0]))
    assert told == pytest.approx([0.0, 0.09, 0.49, 1.0], abs=0.06)
    assert Calibration().honest(np.array([0.3])) == pytest.approx([0.3], abs=0.01)


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


# Rows


def test_a_watch_row_decides_as_the_policy_does() -> None:
    policy = watching(8)
    live(policy, np.full(8, 0.05), 100.0, k=2)
    memory = policy._memory
    rows = memory.find(np.arange(8) * 10**15)
    packed = row.pack_beliefs(memory.table.beliefs(rows))
    assert all(len(one) == row.BELIEF_BYTES == 28 for one in packed)
    assert row.pack_beliefs(row.unpack_beliefs(packed)) == packed
    host = memory.table["host"]
    cases = [
        deciding.Case(
            belief=packed[i],
            place=row.Place(risk=Risk(i % 4), host_clock=row.pack_clock(memory.hosts.clocks, int(host[i]))),
            now=from_hours(101.0),
            changed=i % 2 == 0,
        )
        for i in range(8)
    ]
    batch = deciding.decide(cases, memory.published, {})
    alone = deciding.decide(cases[3:4], memory.published, {})
    assert alone.decided[0] == batch.decided[3]
    policy.observe(np.arange(8) * 10**15, 101.0, [case.changed for case in cases])
    assert row.pack_beliefs(memory.table.beliefs(rows)) == [one.belief for one in batch.decided]
    first = batch.decided[0]
    told = deciding.tell(
        deciding.Told(
            belief=first.belief,
            place=cases[0].place,
            published=memory.published,
            now=cases[0].now,
            due_at=cases[0].now + first.wait,
            objectives={},
        )
    )
    assert sum(reason.points for reason in told.reasons) == pytest.approx(told.interval)
    for one in batch.decided:
        assert math.fsum(reason.points for reason in one.reasons) == pytest.approx(one.wait / HOUR)
    with pytest.raises(InputError, match="bytes"):
        row.unpack_beliefs([b"short"])


def test_what_is_published_reads_back_as_it_was_written() -> None:
    published = Published(price=3.14159265358979, bursts=(0.1, 0.2, 0.3), objective_price=(math.inf,) * 4)
    once = row.unpack_published(row.pack_published(published))
    assert once == row.unpack_published(row.pack_published(once))
    assert once.price == pytest.approx(published.price, rel=1e-6)


def test_a_new_belief_is_one_of_a_target_never_looked_at() -> None:
    b = row.unpack_beliefs([row.new_belief(490_000.25)])
    assert (b.mark[0], b.last[0]) == (1.0, 490_000.25)


# Bad input


def test_bad_input_is_named_or_has_a_meaning() -> None:
    policy = watching(8)
    with pytest.raises(InputError, match="looks come in order"):
        policy.observe([0], -5.0, [False])
    with pytest.raises(InputError, match="dates"):
        policy.observe([0], 5.0, [True], last_modified=[1.0, 2.0])
    with pytest.raises(InputError, match="at most once"):
        policy.observe([0, 0], 5.0, [True, True])
    with pytest.raises(InputError, match="unknown risk"):
        policy.add([77], risk="URGENT", host=[0], now=0.0)
    with pytest.raises(InputError, match="unknown target"):
        policy.signal([78], 5.0, kind="feed")
    with pytest.raises(InputError, match="time"):
        policy.explain(0, math.inf)
    with pytest.raises(InputError, match="budget"):
        make_policy("learned", host_budget_per_day=-1)
    with pytest.raises(InputError, match="budget"):
        policy.forecast(0.0, -3.0)
    policy.observe([0], 5.0, [True], last_modified=[900.0])  # a date to come is no date
    policy.observe([10**15], 5.0, [True], last_modified=[math.nan])
    policy.signal([0, 0], 6.0, kind="sitemap", source=99, modified=[math.inf, 5.5])
    assert math.isfinite(policy.explain(0, 7.0).p_changed)
    empty = make_policy("learned")
    empty.add([], risk=[], host=[], now=0.0)
    empty.observe([], 0.0, [])
    empty.signal([], 0.0, kind="push")
    assert empty.next(0.0, 3).tolist() == []
    assert empty.next(0.0, None).tolist() == []
    assert empty.forecast(0.0, 10.0).coverage["CRITICAL"] == 1.0


# Hosts that are down, and a restart among all of it


def test_a_host_that_is_down_is_tried_once_an_hour_and_caught_up_with_when_it_is_back() -> None:
    policy = watching(40, hosts=2)
    mine = [i * 10**15 for i in range(0, 40, 2)]
    policy.observe(mine[:5], 30.0, np.zeros(5, bool), status=[503] * 5)
    hosts = [i // 10**15 % 2 for i in policy.next(30.5, 12).tolist()]
    assert hosts.count(0) == 0
    hosts = [i // 10**15 % 2 for i in policy.next(31.0, 12).tolist()]
    assert hosts.count(0) == 1
    assert min(policy.next_due(i) for i in mine[:5]) > 30.5
    policy.observe([mine[9]], 31.0, [False])
    assert max(policy.next_due(i) for i in mine[:5]) <= 31.0
    chosen = policy.next(31.0, 40).tolist()
    assert set(mine[:5]) <= set(chosen)


def test_one_broken_page_does_not_close_its_host_nor_come_back_with_every_good_look() -> None:
    policy = watching(8, hosts=1)
    for t in (10.0, 20.0, 40.0, 80.0):
        policy.observe([0], t, [False], status=[500])
        policy.observe([10**15], t + 0.1, [False])
        assert policy.next_due(0) > t + 1
    assert len(policy.next(81.0, 7)) > 3


def test_a_restart_in_the_middle_of_everything_decides_identically() -> None:
    goal = {"CRITICAL": (4.0, 0.95)}
    one, two = watching(60, objectives=goal), make_policy("learned", seed=7, objectives=goal)
    one.add([5, 6], risk="HIGH", host=[0, 9], parent=[0, 0], now=0.5)
    rng = np.random.default_rng(5)
    for t in np.arange(1.0, 60.0):
        ids = one.next(float(t), 5)
        status = np.where(rng.random(len(ids)) < 0.2, 503, 200)
        one.observe(ids, float(t), rng.random(len(ids)) < 0.3, status=status)
        one.signal(ids[:2], float(t), kind="hub", source=0, complete=True)
    two.load(one.dump())
    assert two.dump() == one.dump()
    for t in np.arange(60.0, 120.0):
        ids = one.next(float(t), 5)
        assert ids.tolist() == two.next(float(t), 5).tolist()
        for policy in (one, two):
            policy.observe(ids, float(t), ids % 3 == 0, status=np.where(ids % 7 == 0, 500, 200))
            policy.signal(ids[:1], float(t), kind="hub", source=0, complete=True)
    assert two.dump() == one.dump()


def test_a_first_look_is_decided_alone_as_in_a_group() -> None:
    """The remembered plan of first looks is the one that would be made."""
    places = [row.Place(risk=risk, dear=dear) for risk in Risk for dear in (1.0, 3.0)]
    goals = {"CRITICAL": (4.0, 0.95)}
    published = Published(price=2.0, objective_price=(math.inf, math.inf, math.inf, 0.001))
    for t in (490_000.25, 491_234.567):
        cases = [
            deciding.Case(belief=row.new_belief(t - 1), place=place, now=from_hours(t), changed=False)
            for place in places
        ]
        quick = deciding.decide(cases, published, goals)
        slow = deciding._decide(cases, published, goals)
        assert [one.belief for one in quick.decided] == [one.belief for one in slow.decided]
        for one, other in zip(quick.decided, slow.decided, strict=True):
            assert one.wait / HOUR == pytest.approx(other.wait / HOUR, rel=1e-6)
        assert len(quick.good) == 0


@given(st.floats(0, 1), st.integers(1, 400), st.floats(1, 5000), st.floats(0, 4000))
def test_a_history_of_another_policy_becomes_a_belief(
    velocity: float, looks: int, span: float, ago: float
) -> None:
    b = row.unpack_beliefs([row.remembered(velocity, looks, (1000.0, 1000.0 + span, 1000.0 + span - ago))])
    assert 0 <= b.events[0] < 20
    assert 0 < b.hours[0] <= span + 1.0
    assert b.mark[0] == 0
