"""What a look costs: the price follows the budget, and rises where the room of a host is short."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

from vedette.contracts.words import Risk
from vedette.core.schedule.learned import beliefs, decide
from vedette.core.schedule.learned.review import ReviewTerms, Sample, price_factors, review
from vedette.core.schedule.learned.settings import FREE_PRICE, Published
from vedette.core.schedule.learned.value import crossing, values

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


def sample(n: int = 60, published: Published | None = None) -> Sample:
    places = [beliefs.Surroundings(risk=Risk(i % 4)) for i in range(n)]
    rows = [beliefs.remembered(0.1 + 0.8 * i / n, 20, (1000.0, 1400.0, None)) for i in range(n)]
    around = beliefs.context_of(places, published or Published())
    return Sample(beliefs.unpack_beliefs(rows), around, np.array([i % 4 for i in range(n)], np.int8), 1.0)


def test_the_shorter_the_budget_the_dearer_a_look() -> None:
    prices = [
        review(sample(), Published(), ReviewTerms(budget=budget)).price for budget in (1e6, 200.0, 60.0, 10.0)
    ]
    assert prices[0] == FREE_PRICE
    assert all(cheap < dear for cheap, dear in pairwise(prices))


def test_without_a_budget_nothing_but_floors_and_politeness_limits_looks() -> None:
    assert review(sample(), Published(price=99.0), ReviewTerms()).price == FREE_PRICE
    nobody = np.zeros(0, np.int64)
    empty = Sample(sample().beliefs.take(nobody), sample().context.take(nobody), np.zeros(0, np.int8), 1.0)
    assert review(empty, Published(price=99.0), ReviewTerms()).price == FREE_PRICE


def test_a_host_without_room_is_dearer_until_its_looks_fit() -> None:
    one = sample(published=Published(price=FREE_PRICE))
    host = np.arange(60) % 2
    dear = price_factors(one, host, {0: 30.0, 1: 1e6})
    assert set(dear) == {0}
    rows = np.flatnonzero(host == 0)
    gaps = crossing(values(one.beliefs, one.context)[0][rows], FREE_PRICE * dear[0])
    assert 0.7 * 30 < (24 / gaps).sum() <= 31


def test_an_objective_that_the_budget_cannot_carry_publishes_the_rate_from_which_on_it_asks() -> None:
    found = review(sample(), Published(), ReviewTerms(budget=50.0, objectives={"CRITICAL": (4.0, 0.95)}))
    assert math.isfinite(found.objective_price[Risk.CRITICAL])
    assert found.objective_price[Risk.LOW] == math.inf
    assert found.kept_from[Risk.CRITICAL] == math.inf


def test_an_objective_that_the_budget_carries_is_kept_for_everything_new() -> None:
    found = review(sample(), Published(), ReviewTerms(objectives={"CRITICAL": (4.0, 0.95)}))
    assert found.kept_from[Risk.CRITICAL] == 0.0
    assert found.objective_price == (math.inf,) * 4


def test_a_host_that_is_down_is_tried_every_hour_and_one_that_failed_once_later() -> None:
    def wait(failures: int, is_down: bool) -> float:
        case = decide.Case(
            belief=beliefs.looked_once(1000.0),
            place=beliefs.Surroundings(risk=Risk.MEDIUM),
            now=NOW,
            changed=None,
            failures=failures,
            is_down=is_down,
            is_parked=True,
        )
        decided = decide.decide([case], Published(price=1.0), {}).decided[0]
        assert decided.belief == case.belief  # a failure teaches nothing
        return decided.wait.total_seconds() / 3600

    assert [wait(n, True) for n in (1, 5, 24)] == [1.0, 1.0, 1.0]
    assert wait(26, True) == 4.0
    assert wait(1, False) == 4.0
    assert wait(2, False) == 8.0
