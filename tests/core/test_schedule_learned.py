"""The learned policy: what a look is worth, what it decides, what it remembers."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learned_kit import HOUR, around, belief, live, watching

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule import make_policy
from vedette.core.schedule.columns import IdIndex
from vedette.core.schedule.learned import beliefs, decide
from vedette.core.schedule.learned.explain import ExplainQuestion, explain_watch
from vedette.core.schedule.learned.memory import KINDS, TieredDueQueue
from vedette.core.schedule.learned.settings import KAPPA, Published
from vedette.core.schedule.learned.value import age_at_value, plan, value_at_cost, value_now
from vedette.core.schedule.protocol import from_hours

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


# The queue, the ids, the memory


@settings(max_examples=40)
@given(st.integers(1, 400), st.integers(0, 10**6))
def test_the_queue_gives_exactly_the_earliest(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    due = rng.integers(0, 50, size).astype(float)
    queue = TieredDueQueue(lambda rows: due[rows])
    queue.moved(np.arange(size), size)
    for _ in range(12):
        count = int(rng.integers(1, 30))
        assert queue.first(count).tolist() == np.lexsort((np.arange(size), due))[:count].tolist()
        moved = np.unique(rng.integers(0, size, 20))
        due[moved] = rng.integers(0, 90, len(moved))
        queue.moved(moved, size)


def test_the_queue_holds_with_many_rows_and_tiers() -> None:
    rng = np.random.default_rng(3)
    due = rng.random(30_000)
    queue = TieredDueQueue(lambda rows: due[rows])
    queue.moved(np.arange(len(due)), len(due))
    for _ in range(120):
        first = queue.first(50)
        assert first.tolist() == np.argsort(due, kind="stable")[:50].tolist()
        due[first] += rng.random(50)
        back = rng.integers(0, len(due), 3)
        due[back] -= 0.2
        queue.moved(np.unique(np.concatenate([first, back])), len(due))


@given(st.lists(st.integers(-(2**62), 2**62), unique=True, max_size=60), st.integers(1, 9))
def test_ids_are_found_where_they_were_put(ids: list[int], part: int) -> None:
    order, column = IdIndex(), np.array(ids, np.int64)
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
    columns, order, tier = sum(np.dtype(kind).itemsize for kind in KINDS.values()), 4, 1
    assert columns + order + tier <= 60
    assert len(policy.dump()) / n + order + tier <= 64


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
    assert 0 <= calm.rate_low < calm.rate < calm.rate_high  # type: ignore[operator]
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
    policy = watching(2, hosts=1)
    rate = policy.explain(0, 1.0).rate
    dues = []
    for t in (10.0, 50.0, 200.0):
        policy.observe([0], t, [True], status=[503])
        policy.observe([10**15], t, [False])  # its host is up
        dues.append(policy.next_due(0) - t)
        assert policy.explain(0, t).rate == pytest.approx(rate, rel=0.01)  # the prior moves a little
        assert 0 not in policy.next(t + 0.5, 2).tolist()
        told = policy.explain(0, t)
        assert told.reasons[-1].code == "failed"
        assert sum(reason.points for reason in told.reasons) == pytest.approx(told.interval)
    assert dues[0] < dues[1] <= dues[2]
    assert 0 in policy.next(dues[-1] + 200.0, 2).tolist()


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


# Rows


def test_a_watch_row_decides_as_the_policy_does() -> None:
    """The engine decides from rows, the policy from arrays in memory: one rule, one result."""
    policy = watching(8)
    live(policy, np.full(8, 0.05), 100.0, k=2)
    memory, ids = policy._rows, np.arange(8) * 10**15
    rows, state = memory.find(ids), memory.state
    packed = beliefs.pack_beliefs(memory.beliefs(rows))
    assert all(len(one) == beliefs.BELIEF_BYTES == 28 for one in packed)
    assert beliefs.pack_beliefs(beliefs.unpack_beliefs(packed)) == packed
    cases = [
        decide.Case(
            belief=packed[i],
            place=state.surroundings((int(memory["host"][rows[i]]), -1, -1), Risk(i % 4), 101.0),
            now=from_hours(101.0),
            changed=i % 2 == 0,
        )
        for i in range(8)
    ]
    published = state.published
    batch = decide.decide(cases, published, {})
    alone = decide.decide(cases[3:4], published, {})
    assert alone.decided[0] == batch.decided[3]
    policy.observe(ids, 101.0, [bool(case.changed) for case in cases])
    assert beliefs.pack_beliefs(memory.beliefs(rows)) == [one.belief for one in batch.decided]
    for i, one in zip(ids.tolist(), batch.decided, strict=True):
        assert policy.next_due(i) - 101.0 == pytest.approx(one.wait / HOUR, rel=1e-6)
        assert math.fsum(reason.points for reason in one.reasons) == pytest.approx(one.wait / HOUR)
    first = batch.decided[0]
    told = explain_watch(
        ExplainQuestion(
            belief=first.belief,
            place=cases[0].place,
            published=published,
            now=cases[0].now,
            due_at=cases[0].now + first.wait,
            objectives={},
        )
    )
    assert sum(reason.points for reason in told.reasons) == pytest.approx(told.interval)
    with pytest.raises(InputError, match="bytes"):
        beliefs.unpack_beliefs([b"short"])


def test_what_is_published_reads_back_as_it_was_written() -> None:
    published = Published(price=3.14159265358979, bursts=(0.1, 0.2, 0.3), objective_price=(math.inf,) * 4)
    once = beliefs.unpack_published(beliefs.pack_published(published))
    assert once == beliefs.unpack_published(beliefs.pack_published(once))
    assert once.price == pytest.approx(published.price, rel=1e-6)


def test_a_new_belief_is_one_of_a_target_never_looked_at() -> None:
    b = beliefs.unpack_beliefs([beliefs.new_belief(490_000.25)])
    assert (b.listed_change_p[0], b.last[0]) == (1.0, 490_000.25)


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
    places = [beliefs.Surroundings(risk=risk, price_factor=dear) for risk in Risk for dear in (1.0, 3.0)]
    goals = {"CRITICAL": (4.0, 0.95)}
    published = Published(price=2.0, objective_price=(math.inf, math.inf, math.inf, 0.001))
    for t in (490_000.25, 491_234.567):
        cases = [
            decide.Case(belief=beliefs.new_belief(t - 1), place=place, now=from_hours(t), changed=False)
            for place in places
        ]
        quick = decide.decide(cases, published, goals)
        group = decide.group_of(cases, published)
        slow = decide._told(cases, group, decide.advance(group, goals))
        assert quick.group is None
        assert [one.belief for one in quick.decided] == [one.belief for one in slow]
        for one, other in zip(quick.decided, slow, strict=True):
            assert one.wait / HOUR == pytest.approx(other.wait / HOUR, rel=1e-6)


@given(st.floats(0, 1), st.integers(1, 400), st.floats(1, 5000), st.floats(0, 4000))
def test_a_history_of_another_policy_becomes_a_belief(
    velocity: float, looks: int, span: float, ago: float
) -> None:
    b = beliefs.unpack_beliefs(
        [beliefs.remembered(velocity, looks, (1000.0, 1000.0 + span, 1000.0 + span - ago))]
    )
    assert 0 <= b.events[0] < 20
    assert 0 < b.hours[0] <= span + 1.0
    assert b.listed_change_p[0] == 0
