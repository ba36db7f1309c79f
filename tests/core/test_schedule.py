"""When to look next: 000 section 4, the policies behind the Protocol, and the due rule of the engine."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.contracts.schedule import Asked
from vedette.contracts.words import Risk
from vedette.core.evidence.ledger import adds_up
from vedette.core.schedule import POLICIES, make_policy
from vedette.core.schedule.columns import IdIndex, chances
from vedette.core.schedule.due import DUE_RULES, LookFacts, decide, due_params, value
from vedette.core.schedule.ewma import EwmaParams, EwmaRule, calculate_next_scan, interval
from vedette.core.schedule.outlook import forecast
from vedette.core.schedule.per_risk import FixedRule, PerRiskRule, per_risk_rule
from vedette.core.schedule.protocol import EPOCH, SchedulePolicy, from_hours, to_hours

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
VELOCITIES = st.floats(0, 1)
RISKS = st.sampled_from(Risk)
JITTERS = st.floats(0, 1, exclude_max=True)
RULES = st.sampled_from([EwmaRule(), FixedRule(), PerRiskRule(), EwmaRule(EwmaParams(base_hours=1))])

# 000 section 4, all cells: risk, and hours at velocity 0.1, 0.5, 0.9.
INTERVALS = {
    Risk.CRITICAL: (10.0, 4.0, 4.0),
    Risk.HIGH: (20.0, 4.0, 4.0),
    Risk.MEDIUM: (40.0, 8.0, 4.4),
    Risk.LOW: (80.0, 16.0, 8.9),  # the document cuts 8.89 to 8.8
}


@pytest.mark.parametrize("risk", Risk)
@pytest.mark.parametrize(("column", "velocity"), [(0, 0.1), (1, 0.5), (2, 0.9)])
def test_every_cell_of_the_interval_table(risk: Risk, column: int, velocity: float) -> None:
    assert round(interval(velocity, risk).hours, 1) == INTERVALS[risk][column]


def test_the_longest_interval_is_thirty_days() -> None:
    assert interval(0.0, Risk.LOW).hours == 720.0
    assert interval(0.01, Risk.CRITICAL).hours == 100.0


@pytest.mark.parametrize(("jitter", "hours"), [(0.0, 3.6), (0.5, 4.0), (1.0, 4.4)])
def test_jitter_comes_after_the_clamp_as_000_writes(jitter: float, hours: float) -> None:
    due = calculate_next_scan(0.9, Risk.CRITICAL, now=NOW, jitter=jitter)
    assert (due - NOW) / HOUR == pytest.approx(hours)


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1, math.inf])
def test_a_velocity_or_jitter_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(InputError, match="velocity"):
        calculate_next_scan(bad, Risk.LOW, now=NOW, jitter=0.5)
    with pytest.raises(InputError, match="jitter"):
        calculate_next_scan(0.5, Risk.LOW, now=NOW, jitter=bad)


@given(RULES, VELOCITIES, RISKS)
def test_reasons_add_up_and_columns_agree_bit_for_bit(rule: EwmaRule, velocity: float, risk: Risk) -> None:
    one = rule.interval(velocity, risk)
    column = rule.hours(np.array([velocity]), np.array([rule.by_risk[risk]]))
    assert adds_up(one.reasons, one.hours)
    assert column[0] == one.hours


@given(VELOCITIES, VELOCITIES, RISKS)
def test_more_velocity_or_more_risk_never_means_a_longer_wait(a: float, b: float, risk: Risk) -> None:
    slow, fast = sorted((a, b))
    assert interval(fast, risk).hours <= interval(slow, risk).hours
    assert interval(a, Risk.CRITICAL).hours <= interval(a, risk).hours <= interval(a, Risk.LOW).hours


# The due rule of the engine


def facts(**given: object) -> LookFacts:
    usual: dict[str, object] = {
        "velocity": 0.5, "scan_count": 10, "risk": Risk.MEDIUM, "changed": False, "now": NOW, "jitter": 0.5,
    }  # fmt: skip
    return LookFacts(**{**usual, **given})  # type: ignore[arg-type]


@given(
    st.sampled_from(sorted(DUE_RULES)), VELOCITIES, st.integers(0, 50), RISKS,
    st.sampled_from([True, False, None]), JITTERS, st.none() | st.integers(0, 10**6), st.booleans(),
)  # fmt: skip
def test_the_reasons_of_a_due_time_add_up_to_its_interval(
    policy: str,
    velocity: float,
    count: int,
    risk: Risk,
    changed: bool | None,
    jitter: float,
    ceiling: int | None,
    is_parked: bool,
) -> None:
    limit = None if ceiling is None else timedelta(seconds=ceiling)
    given = facts(
        velocity=velocity,
        scan_count=count,
        risk=risk,
        changed=changed,
        jitter=jitter,
        asked=Asked(ceiling=limit),
        is_parked=is_parked,
    )
    due = decide(given, due_params(policy))
    assert adds_up(due.reasons, due.interval / HOUR)
    assert due.due_at == NOW + due.interval > NOW
    if is_parked:
        assert due.interval >= 21.6 * HOUR
    elif limit is not None:
        assert due.interval <= max(limit, timedelta(minutes=1))


def test_a_look_that_succeeded_moves_the_velocity_and_a_failed_one_does_not() -> None:
    assert decide(facts(changed=True)).velocity == pytest.approx(0.65)
    assert decide(facts(changed=False)).velocity == pytest.approx(0.45)
    failed = decide(facts(changed=None))
    assert (failed.velocity, failed.scan_count) == (0.5, 10)
    assert decide(facts()).scan_count == 11


def test_decide_agrees_with_calculate_next_scan() -> None:
    due = decide(facts(changed=None, velocity=0.3, risk=Risk.HIGH, jitter=0.8))
    assert due.due_at == calculate_next_scan(0.3, Risk.HIGH, now=NOW, jitter=0.8)


def test_a_parked_watch_waits_at_its_long_interval() -> None:
    long = [decide(facts(risk=risk, changed=None, is_parked=True)).interval / HOUR for risk in Risk]
    assert long == [64.0, 32.0, 24.0, 24.0]
    asleep = decide(facts(velocity=0.01, risk=Risk.LOW, changed=None, is_parked=True))
    assert asleep.interval == 720 * HOUR


def test_scrape_frequency_is_a_ceiling_even_below_the_floor() -> None:
    daily = decide(facts(velocity=0.1, changed=None, asked=Asked(ceiling=24 * HOUR), jitter=0.0))
    assert daily.interval == 24 * HOUR
    hourly = decide(facts(asked=Asked(ceiling=HOUR), jitter=0.999))
    assert 0.9 * HOUR <= hourly.interval <= HOUR
    assert hourly.reasons[-1].code == "scrape_frequency"
    assert decide(facts(asked=Asked(ceiling=timedelta(0)))).interval == timedelta(minutes=1)
    assert decide(facts(asked=Asked(ceiling=9999 * HOUR))) == decide(facts())


def test_an_unknown_policy_of_the_due_rule_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'seed-ewma'"):
        due_params("seed-emwa")


def test_value_is_the_weight_when_due_and_grows_with_lateness() -> None:
    worth = [value(risk, NOW, 4 * HOUR, NOW) for risk in Risk]
    assert worth == [0.5, 1.0, 2.0, 4.0]
    assert value(Risk.MEDIUM, NOW, 4 * HOUR, NOW + 12 * HOUR) == 4.0
    assert value(Risk.MEDIUM, NOW, 4 * HOUR, NOW - 400 * HOUR) == 0.0
    assert value(Risk.LOW, NOW, timedelta(0), NOW + timedelta(minutes=1)) == 1.0


def test_hours_count_from_a_monday() -> None:
    assert EPOCH.weekday() == 0
    assert from_hours(to_hours(NOW)) == NOW
    assert to_hours(NOW) % 168 == NOW.weekday() * 24 + 12


# Policies


def policy_of(name: str = "seed-ewma", n: int = 8, **options: object) -> SchedulePolicy:
    policy = make_policy(name, seed=7, **options)
    ids = np.arange(n) * 10**15
    policy.add(ids, risk=[Risk(i % 4).name for i in range(n)], host=np.arange(n) % 2, now=0.0)
    return policy


def test_the_documents_policies_are_there_and_an_unknown_one_names_the_nearest() -> None:
    assert set(POLICIES) == {"learned", "seed-ewma", "fixed", "per-risk"}
    with pytest.raises(InputError, match=r"unknown schedule policy 'seed-ewm'; did you mean 'seed-ewma'"):
        make_policy("seed-ewm")
    with pytest.raises(
        InputError, match=r"unknown option of seed-ewma 'objektives'; did you mean 'objectives'"
    ):
        make_policy("seed-ewma", objektives={})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fixed", {"every_hours": 0}),
        ("fixed", {"every_hours": math.nan}),
        ("per-risk", {"hours": {"URGENT": 1}}),
        ("per-risk", {"hours": {"LOW": -1}}),
        ("seed-ewma", {"budget_per_day": -1}),
        ("seed-ewma", {"objectives": {"CRITICAL": (0, 0.95)}}),
        ("seed-ewma", {"objectives": {"CRITICAL": 4}}),
        ("seed-ewma", {"objectives": {"CRITICAL": (4, 1.5)}}),
    ],
)
def test_options_that_make_no_sense_are_refused(name: str, options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        make_policy(name, **options)


def test_what_was_never_looked_at_is_due_at_once() -> None:
    policy = policy_of()
    assert set(policy.next(0.0, None).tolist()) == {i * 10**15 for i in range(8)}
    told = policy.explain(0, 1.0)
    assert (told.p_changed, told.due_at, told.reasons[0].code) == (1.0, 0.0, "never_looked_at")


@pytest.mark.parametrize("name", sorted(DUE_RULES))
def test_a_policy_sets_due_times_by_its_rule(name: str) -> None:
    policy = policy_of(name)
    ids = policy.next(0.0, None)
    policy.observe(ids, 0.0, np.zeros(len(ids), bool))
    assert len(policy.next(0.0, None)) == 0
    for i in range(8):
        told = policy.explain(i * 10**15, 1.0)
        plain = DUE_RULES[name].interval(0.5, Risk(i % 4)).hours
        assert 0.9 * plain <= told.interval <= 1.1 * plain
        assert told.due_at == policy.next_due(i * 10**15) == told.interval
        assert adds_up(told.reasons, told.interval)
        assert 0 < told.p_changed < 1


def test_velocity_of_columns_follows_update_velocity_bit_for_bit() -> None:
    policy = policy_of(n=1)
    due = None
    velocity, count = 0.5, 0
    rng = np.random.default_rng(1)
    for look in range(60):
        changed = bool(rng.random() < 0.4)
        policy.observe([0], float(look), [changed])
        due = decide(facts(velocity=velocity, scan_count=count, changed=changed))
        velocity, count = due.velocity, due.scan_count
        told = policy.explain(0, float(look))
        assert told.reasons[:-1] == interval(velocity, Risk.LOW).reasons


def test_next_takes_the_most_overdue_first_and_the_higher_risk_of_equals() -> None:
    policy = make_policy("fixed", jitter_share=0.0)
    policy.add([1, 2, 3, 4], risk=["LOW", "CRITICAL", "LOW", "LOW"], host=[0, 0, 0, 0], now=0.0)
    policy.observe([1, 2, 3, 4], [0.0, 0.0, -5.0, 5.0], np.zeros(4, bool))
    assert policy.next(20.0, None).tolist() == [3]
    assert policy.next(20.0, 3).tolist() == [3, 2, 1]
    assert policy.next(20.0, 0).tolist() == []
    assert policy.next(20.0, 99).tolist() == [3, 2, 1, 4]


def test_next_leaves_hosts_without_room_alone() -> None:
    policy = policy_of(n=40)
    chosen = policy.next(1.0, 10, host_room={0: 2, 1: 0})
    assert len(chosen) == 2
    assert all((i // 10**15) % 2 == 0 for i in chosen.tolist())
    assert len(policy.next(1.0, None, host_room={0: 3})) == 23
    assert len(make_policy("fixed").next(1.0, 5, host_room={0: 1})) == 0


def test_a_failed_look_teaches_nothing_and_still_moves_the_due_time() -> None:
    policy = policy_of(n=1)
    for look in range(5):
        policy.observe([0], float(look), [True])
    before = policy.explain(0, 5.0)
    policy.observe([0], 5.0, [True], status=[503])
    after = policy.explain(0, 5.0)
    assert after.reasons[:-1] == before.reasons[:-1]
    assert after.due_at > before.due_at


def test_adding_again_changes_the_risk_and_keeps_what_was_learned() -> None:
    policy = policy_of(n=1)
    for look in range(8):
        policy.observe([0], float(look), [False])
    slow = policy.next_due(0)
    policy.add([0, 0], risk="CRITICAL", host=[0, 0], now=9.0)
    assert policy.next_due(0) < slow
    assert "CRITICAL" in policy.explain(0, 9.0).reasons[2].note


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_restart_decides_identically(name: str) -> None:
    one, two = policy_of(name, n=50), make_policy(name, seed=7)
    rng = np.random.default_rng(2)
    for t in range(30):
        ids = one.next(float(t), 9)
        one.observe(ids, float(t), rng.random(len(ids)) < 0.3)
    two.load(one.dump())
    assert two.dump() == one.dump()
    for t in range(30, 200, 7):
        ids = one.next(float(t), None)
        assert ids.tolist() == two.next(float(t), None).tolist()
        for policy in (one, two):
            policy.observe(ids, float(t), ids % 3 == 0)


def test_another_seed_gives_other_due_times_and_the_same_seed_the_same() -> None:
    dues = []
    for seed in (1, 1, 2):
        policy = make_policy("seed-ewma", seed=seed)
        policy.add([5], risk="LOW", host=[0], now=0.0)
        policy.observe([5], 0.0, [False])
        dues.append(policy.next_due(5))
    assert dues[0] == dues[1] != dues[2]


@pytest.mark.parametrize(
    "data", [b"", b"junk", b"{}\n", b'{"version":1,"rows":3,"columns":[],"head":{}}\nxx']
)
def test_what_is_no_dump_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        make_policy("seed-ewma").load(data)


def test_a_dump_of_another_policy_or_seed_is_refused() -> None:
    with pytest.raises(InputError, match="not of"):
        make_policy("fixed", seed=7).load(policy_of().dump())
    with pytest.raises(InputError, match="not of"):
        make_policy("seed-ewma", seed=8).load(policy_of().dump())


def test_bad_input_is_named() -> None:
    policy = policy_of()
    with pytest.raises(InputError, match="unknown target 77"):
        policy.observe([77], 0.0, [True])
    with pytest.raises(InputError, match="unknown risk"):
        policy.add([1], risk=["URGENT"], host=[0], now=0.0)
    with pytest.raises(InputError, match="risk"):
        policy.add([1], risk=[9], host=[0], now=0.0)
    with pytest.raises(InputError, match="host"):
        policy.add([1, 2], risk="LOW", host=[0], now=0.0)
    with pytest.raises(InputError, match="at most once"):
        policy.observe([0, 0], 0.0, [True, False])
    with pytest.raises(InputError, match="time"):
        policy.next(math.nan, 1)
    with pytest.raises(InputError, match="whole numbers"):
        policy.observe([0.5], 0.0, [True])  # type: ignore[list-item]
    with pytest.raises(InputError, match="unknown signal"):
        policy.signal([0], 0.0, kind="rumour")
    with pytest.raises(InputError):
        policy.next(0.0, -1)
    with pytest.raises(InputError):
        policy.forecast(0.0, math.nan)


def test_empty_lists_are_no_error() -> None:
    policy = make_policy("seed-ewma")
    policy.add([], risk=[], host=[], now=0.0)
    policy.observe([], 0.0, [])
    policy.signal([], 0.0, kind="hub", source=1, complete=True)
    assert policy.next(0.0, None).tolist() == []
    assert policy.forecast(0.0, 10.0).coverage["CRITICAL"] == 1.0


def test_names_ranks_and_one_for_all_are_the_same_risk() -> None:
    dues = []
    for risk in ("critical", 3, Risk.CRITICAL, ["CRITICAL"], np.array([3])):
        policy = make_policy("per-risk", jitter_share=0.0)
        policy.add([1], risk=risk, host=[0], now=0.0)  # type: ignore[arg-type]
        policy.observe([1], 0.0, [False])
        dues.append(policy.next_due(1))
    assert dues == [4.0] * 5
    assert per_risk_rule({"NORMAL": 5}).by_risk == (168.0, 5.0, 12.0, 4.0)


def test_a_forecast_moves_the_right_way_with_the_budget() -> None:
    policy = policy_of(n=400, objectives={"CRITICAL": (2.0, 0.9)})
    for t in range(0, 50, 5):
        ids = policy.next(float(t), None)
        policy.observe(ids, float(t), ids % 7 == 0)
    outlooks = [policy.forecast(50.0, budget) for budget in (100.0, 1000.0, 10_000.0)]
    assert outlooks[0].within == {"LOW": 4.0, "MEDIUM": 4.0, "HIGH": 4.0, "CRITICAL": 2.0}
    for few, many in pairwise(outlooks):
        for risk in Risk.__members__:
            assert few.coverage[risk] < many.coverage[risk] <= 1.0
            assert few.freshness[risk] < many.freshness[risk] <= 1.0
            assert few.age[risk] > many.age[risk] >= 0.0
        assert few.shortfall >= many.shortfall
    assert outlooks[0].shortfall == outlooks[0].needed - 100.0
    assert policy.forecast(50.0, None).shortfall == 0.0
    assert 0.0 <= policy.forecast(50.0, 0.0).coverage["CRITICAL"] < 1e-6


@pytest.mark.parametrize("rate", [1e-9, 1e-5, 1e-4, 1.01e-4, 0.01, 3.0])
def test_freshness_and_age_are_the_integrals_that_they_stand_for(rate: float) -> None:
    gap = 10.0
    x = (np.arange(200_000) + 0.5) * gap / 200_000
    table = {"risk": np.array([3]), "hours": np.array([gap]), "rate": np.array([rate])}
    told = forecast(table, 0.0, None, {})
    assert told.freshness["CRITICAL"] == pytest.approx(np.exp(-rate * x).mean(), rel=1e-6)
    assert told.age["CRITICAL"] == pytest.approx((x + np.expm1(-rate * x) / rate).mean(), rel=1e-3)
    assert told.coverage["CRITICAL"] == pytest.approx(0.4)


def test_a_budget_has_a_price() -> None:
    assert policy_of().explain(0, 0.0).price == 0.0
    assert policy_of(budget_per_day=96.0).explain(0, 0.0).price == pytest.approx(8 * 24 / 96)


# Chance, ids


def test_chance_is_even_and_known_by_its_counter() -> None:
    ids, zero = np.arange(20_000), np.zeros(20_000, np.int64)
    drawn = chances(1, ids, zero)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    assert abs(drawn.mean() - 0.5) < 0.01
    assert (chances(1, ids[5:6], zero[:1]) == drawn[5:6]).all()
    for other in (chances(2, ids, zero), chances(1, ids, zero + 1), chances(1, ids + 1, zero)):
        assert abs(np.corrcoef(drawn, other)[0, 1]) < 0.05
    assert chances(-3, np.array([2**63 - 1]), np.array([5])).shape == (1,)


def test_ids_are_found_in_any_order_and_at_any_size() -> None:
    index, rng = IdIndex(), np.random.default_rng(3)
    ids = rng.permutation(np.unique(rng.integers(0, 2**62, 5000)))
    for rows in np.array_split(np.arange(len(ids)), 40):
        index.add(ids[rows], rows, ids)
    asked = rng.permutation(len(ids))
    assert (index.find(ids[asked], ids) == asked).all()
    assert (index.find(np.array([-1, 2**62 + 1]), ids) == -1).all()
