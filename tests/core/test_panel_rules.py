"""What a batch is, what it costs, when it stops: the pure rules of the panel."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.panel_run import BatchShape, Price, Prompt
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING, Failure
from vedette.core.limits.budget import RunLimits
from vedette.core.panel import deadline
from vedette.core.panel.cell_end import RETRIES, Again, Done, PutBack, ending
from vedette.core.panel.pace import Latencies
from vedette.core.panel.plan import (
    CellPlace,
    PlanLimits,
    PlanTerms,
    block,
    cells,
    cells_per_tier,
    cost_of,
    lower_bound,
    most_cost,
    number_of,
    place_of,
    plan,
    rows_between,
    tiers,
    typical_cost,
    unpriced,
)

NOW = datetime(2026, 11, 16, 6, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ASK = Prompt(prompt_type="brand", text="What is {domain}?", most_tokens=100)


def prompts(*given_tiers: int) -> tuple[Prompt, ...]:
    return tuple(
        Prompt(prompt_type=f"p{n}", text="{domain}", tier=tier) for n, tier in enumerate(sorted(given_tiers))
    )


SHAPES = st.builds(
    BatchShape,
    domains=st.integers(1, 9),
    models=st.lists(st.text("ab", min_size=1), min_size=1, max_size=3, unique=True).map(tuple),
    prompts=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(
        lambda given_tiers: prompts(*given_tiers)
    ),
    repeats=st.integers(1, 3),
)


@given(SHAPES)
def test_every_cell_has_one_number_and_every_number_one_cell(shape):
    places = [
        CellPlace(m, p, r, d)
        for m in range(len(shape.models))
        for p in range(len(shape.prompts))
        for r in range(shape.repeats)
        for d in range(shape.domains)
    ]
    numbers = [number_of(shape, place) for place in places]
    assert numbers == list(range(cells(shape)))
    assert [place_of(shape, number) for number in numbers] == places


@given(SHAPES, st.integers(1, 5))
def test_a_dropped_tier_is_the_tail_of_every_block(shape, tier):
    for model in range(len(shape.models)):
        kept = block(shape, model, dropped_from=tier)
        whole = block(shape, model)
        assert kept.start == whole.start
        assert {place_of(shape, n).model for n in whole} == {model}
        assert all(shape.prompts[place_of(shape, n).prompt].tier < tier for n in kept)
        assert all(shape.prompts[place_of(shape, n).prompt].tier >= tier for n in whole if n not in kept)


@given(SHAPES, st.data())
def test_within_a_piece_only_the_domain_differs(shape, data):
    first = data.draw(st.integers(0, cells(shape)))
    last = data.draw(st.integers(first, cells(shape)))
    pieces = rows_between(shape, first, last)
    assert [n for piece in pieces for n in piece] == list(range(first, last))
    for piece in pieces:
        assert len({place_of(shape, n)[:3] for n in piece}) == 1


@given(SHAPES)
def test_the_tiers_add_up(shape):
    assert sum(cells_per_tier(shape).values()) * len(shape.models) == cells(shape)
    assert list(cells_per_tier(shape)) == list(tiers(shape))


@given(st.integers(1, 500), st.lists(st.floats(1, 1000), min_size=1, max_size=4))
def test_no_schedule_beats_the_lower_bound(requests, rates):
    """Simulated: every key starts a call whenever its spacing allows."""
    starts = sorted(n * 60 / rate for rate in rates for n in range(requests))[:requests]
    assert lower_bound(requests, rates, 0.0) == pytest.approx(starts[-1], abs=1e-3)


def test_the_plan_names_who_binds_and_says_what_fits():
    shape = BatchShape(domains=10_000, models=("slow", "fast"), prompts=(ASK,))
    limits = [PlanLimits(model="slow", per_minute=(84,)), PlanLimits(model="fast", per_minute=(500, 500))]
    made = plan(shape, limits, {"slow": Price(request=0.001)}, PlanTerms())
    assert (made.cells, made.binds) == (20_000, "slow")
    assert (made.within_target, made.within_hard) == (False, False), "84 leaves no room to ask 1 % again"
    assert made.lower_bound == pytest.approx(timedelta(seconds=9999 * 60 / 84 + 2), abs=timedelta(seconds=1))
    assert made.unpriced == ("fast",)
    assert made.cost_usd == pytest.approx(10.0)
    wide = plan(shape, [PlanLimits(model="slow", per_minute=(85, 85)), limits[1]], {}, PlanTerms())
    assert (wide.within_target, wide.within_hard) == (True, True)


def test_the_plan_knows_when_the_calls_at_once_bind():
    """003: 120,000 calls of 2 s in an hour need 67 at once."""
    shape = BatchShape(domains=10_000, models=tuple("abcdefghijkl"), prompts=(ASK,))
    limits = [PlanLimits(model=name, per_minute=(1000,)) for name in shape.models]
    assert plan(shape, limits, {}, PlanTerms(at_once=64)).binds == "concurrency"
    assert not plan(shape, limits, {}, PlanTerms(at_once=64)).within_target
    assert plan(shape, limits, {}, PlanTerms(at_once=96)).within_target


def test_a_key_without_a_known_limit_has_no_bound_and_is_named():
    shape = BatchShape(domains=10, models=("a",), prompts=(ASK,))
    made = plan(shape, [PlanLimits(model="a", per_minute=(0.0,))], {}, PlanTerms())
    assert made.unlimited == ("a",)
    assert made.providers[0].expected is None


SOFT, HARD = NOW + 60 * MINUTE, NOW + 120 * MINUTE
LINES = RunLimits(soft_deadline=SOFT, deadline=HARD)


def test_before_the_soft_cut_nothing_is_dropped():
    load = deadline.Load({1: 10**6, 2: 10**6, 3: 10**6}, 1.0)
    assert deadline.drops(LINES, [load], NOW + 59 * MINUTE, is_first_look=True) == ()


def test_at_the_soft_cut_the_lowest_tier_goes_even_when_there_is_time():
    load = deadline.Load({1: 10, 2: 10, 3: 10}, 1.0)
    [drop] = deadline.drops(LINES, [load], SOFT, is_first_look=True)
    assert (drop.tier, drop.reason.code) == (3, "soft_cut")
    assert deadline.drops(LINES, [load], SOFT + MINUTE, is_first_look=False) == ()


def test_tiers_go_in_order_until_the_rest_fits_and_the_first_stays():
    slow = deadline.Load({1: 3000, 2: 1000, 3: 1000}, 1.0)
    quick = deadline.Load({1: 1}, 0.1)
    gone = deadline.drops(LINES, [quick, slow], SOFT, is_first_look=True)
    assert [drop.tier for drop in gone] == [3, 2]
    hopeless = deadline.Load({1: 10**6, 2: 1}, 1.0)
    assert [d.tier for d in deadline.drops(LINES, [hopeless], SOFT, is_first_look=True)] == [2]
    alone = deadline.Load({1: 10**6}, 1.0)
    assert deadline.drops(LINES, [alone], SOFT, is_first_look=True) == ()


@given(
    st.lists(st.dictionaries(st.integers(1, 5), st.integers(0, 10_000)), min_size=1, max_size=4),
    st.floats(0.01, 10),
    st.integers(0, 140),
    st.booleans(),
)
def test_what_is_kept_fits_or_is_the_first_tier_alone(waiting, each, minute, is_first):
    now = NOW + minute * MINUTE
    loads = [deadline.Load(tier, each) for tier in waiting]
    gone = [drop.tier for drop in deadline.drops(LINES, loads, now, is_first_look=is_first)]
    assert gone == sorted(gone, reverse=True)
    assert 1 not in gone
    if now >= SOFT:
        known = {tier for load in waiting for tier, count in load.items() if count}
        kept = sorted(known - set(gone))
        room = max(0.0, (HARD - now).total_seconds())
        assert not kept or kept == [1] or max(load.seconds(kept) for load in loads) <= room


def test_a_call_costs_at_most_its_text_and_all_tokens_it_may_answer():
    price = Price(tokens_in=2.0, tokens_out=10.0, request=0.001)
    assert cost_of(price, 1_000_000, 100_000) == pytest.approx(3.001)
    assert most_cost(price, ASK, 12) >= typical_cost(price, ASK, 12) > 0.001
    assert cost_of(None, 10, 10) == 0
    assert unpriced(("a", "b"), {"a": price}) == ("b",)


@pytest.mark.parametrize("outcome", Outcome)
@given(attempt=st.integers(1, 5), jitter=st.floats(0, 0.999))
def test_a_cell_is_done_asked_again_or_put_back_by_the_one_table(outcome, attempt, jitter):
    end = ending(Failure(outcome, attempt), now=NOW, jitter=jitter)
    if outcome in (Outcome.AUTH_ERROR, Outcome.QUOTA_SPENT):
        assert isinstance(end, PutBack)
    elif MEANING[outcome].retry and attempt < RETRIES.attempts:
        assert isinstance(end, Again)
        assert NOW <= end.at <= NOW + RETRIES.longest
    else:
        assert isinstance(end, Done)


def test_retry_after_wins_over_our_own_delay():
    end = ending(Failure(Outcome.THROTTLED, 1, timedelta(seconds=42)), now=NOW, jitter=0.5)
    assert isinstance(end, Again)
    assert end.at == NOW + timedelta(seconds=42)


@given(st.lists(st.floats(1, 60_000), min_size=1, max_size=300), st.sampled_from([0.5, 0.95, 0.99]))
def test_quantiles_are_right_within_five_percent(times, share):
    counted = Latencies()
    for time in times:
        counted.add(time)
    exact = sorted(times)[max(0, -(-int(share * 100) * len(times) // 100) - 1)]
    assert counted.quantile(share) == pytest.approx(exact, rel=0.05, abs=1)
