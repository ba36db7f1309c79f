"""What is worked out again every few hours from a sample of the targets: prior, objectives, price, short hosts.

The price is the one at which the targets, as believed, ask for as many looks as the budget has.  Without a budget
it is FREE_PRICE, so that politeness and the floors of the intervals are the only limits: a look is then made as soon
as it saves one stale hour of a MEDIUM target.  At a host that is asked for more looks than its lane (or its budget)
allows, looks cost more, so that its own targets share its room by value instead of queueing for it.

The prior is the Gamma that the targets fit best: one step of expectation and maximisation at every review, by which the
mean rate and the mean log rate of the targets, as believed, are those of the new prior.  It starts from PRIOR, held
with the weight of some targets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.words import Risk
from vedette.core.schedule.learned.beliefs import BeliefContext, Beliefs
from vedette.core.schedule.learned.objectives import DAY_PART, TIER, Objectives, Tier, in_tier, kept, tier
from vedette.core.schedule.learned.settings import FREE_PRICE, MOST_HOURS, PRIOR, Published
from vedette.core.schedule.learned.value import crossing, least_hours, values

Floats = NDArray[np.float64]
_PRICES = np.geomspace(1e-4, 1e7, 60)  # searched for the one that spends the budget
_FACTORS = np.geomspace(1.0, 1e6, 40)  # how many times the price a look at a short host may cost
_FULL = 0.9  # of a host's room is planned with; the rest is for second looks and retries
_TRUST = 100.0  # targets that the first prior counts for
_SHAPES = (0.15, 1.0)  # outside, a few odd targets would rule all others
_HOURS = (50.0, 500.0)


@dataclass(slots=True)
class Sample:
    """Some of the targets, standing for `each` targets apiece."""

    beliefs: Beliefs
    context: BeliefContext
    risk: NDArray[np.int8]
    each: float

    def only(self, rows: NDArray[np.int64]) -> Sample:
        return Sample(self.beliefs.take(rows), self.context.take(rows), self.risk[rows], self.each)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewTerms:
    """What the operator asks for and allows, in looks per day."""

    budget: float | None = None
    objectives: Objectives = field(default_factory=dict)  # risk: hours, share


def review(sample: Sample, published: Published, terms: ReviewTerms) -> Published:
    """What is published next: prior, what objectives take, price."""
    if not len(sample.risk):
        return replace(published, price=FREE_PRICE if terms.budget is None else published.price)
    prior = fitted(sample.beliefs.take(sample.context.hub_value == 0), published.prior)
    sample = Sample(
        sample.beliefs,
        replace(sample.context, published=replace(published, prior=prior)),
        sample.risk,
        sample.each,
    )
    packed = tiers(sample, terms.objectives, terms.budget)
    price = FREE_PRICE
    if terms.budget is not None:
        left = terms.budget - sum(one.looks for one in packed.values())
        price = max(FREE_PRICE, price_for(sample, max(left, 1e-9), packed))
    return replace(promised(published, packed), prior=prior, price=price)


def price_factors(sample: Sample, host: NDArray[np.int64], room: Mapping[int, float]) -> dict[int, float]:
    """How many times the price a look costs, at the hosts that are asked for more than their room."""
    value, least = values(sample.beliefs, sample.context)[0], least_hours(sample.risk, sample.context)
    price = sample.context.published.price

    def asked(rows: NDArray[np.int64], times: float) -> float:
        gap = np.clip(crossing(value[rows], price * times), least[rows], MOST_HOURS)
        return float((24.0 / gap).sum()) * sample.each

    every = np.bincount(host, 24.0 / np.clip(crossing(value, price), least, MOST_HOURS)) * sample.each
    factors = {}
    for number, most in room.items():
        if number < len(every) and every[number] > _FULL * most:
            rows = np.flatnonzero(host == number)
            looks = np.array([asked(rows, times) for times in _FACTORS])
            factors[number] = float(np.exp(np.interp(-_FULL * most, -looks, np.log(_FACTORS))))
    return factors


def price_for(sample: Sample, budget: float, packed: Mapping[str, Tier]) -> float:
    """The price at which the targets ask for `budget` looks per day beside those for objectives."""
    table, free = values(sample.beliefs, sample.context)[0], outside_tiers(sample, packed)
    least = least_hours(sample.risk, sample.context)
    asked = [
        looks_per_day(
            np.clip(crossing(table, one * sample.context.price_factor), least, MOST_HOURS), sample, free
        )
        for one in _PRICES
    ]
    return float(np.exp(np.interp(-budget, -np.array(asked), np.log(_PRICES))))


def tiers(sample: Sample, objectives: Objectives, budget: float | None) -> dict[str, Tier]:
    """The knapsack of each risk with an objective; they share what the tier may spend."""
    found: dict[str, Tier] = {}
    room = np.inf if budget is None else TIER * budget
    for name in sorted(objectives, key=lambda one: -Risk[one]):
        rows = np.flatnonzero(sample.risk == Risk[name])
        if len(rows):
            one = _packed(sample.only(rows), objectives[name], room / sample.each)
            found[name] = replace(one, looks=one.looks * sample.each, wanted=one.wanted * sample.each)
            room -= found[name].looks
    return found


def _packed(part: Sample, goal: tuple[float, float], room: float) -> Tier:
    """The promise kept, if the room carries that; else the knapsack."""
    whole = kept(part.beliefs, part.context, goal, part.each)
    if whole.looks <= room:
        return whole
    return replace(tier(part.beliefs, part.context, goal, room), wanted=whole.looks)


def promised(published: Published, packed: Mapping[str, Tier]) -> Published:
    """What is published of the tiers."""
    kept_from, hours_from = [0.0] * len(Risk), [np.inf] * len(Risk)
    for name, one in packed.items():
        rank = Risk[name]
        kept_from[rank], hours_from[rank] = (one.least, np.inf) if one.is_kept else (np.inf, one.least)
    return replace(published, kept_from=tuple(kept_from), objective_price=tuple(hours_from))


def fitted(b: Beliefs, prior: tuple[float, float]) -> tuple[float, float]:
    """The next prior, given the one in force and targets that were looked at."""
    seen = b.hours > 0
    shape, hours = b.events[seen] + prior[0], b.hours[seen] + prior[1]
    count = len(shape) + _TRUST
    mean = ((shape / hours).sum() + _TRUST * PRIOR[0] / PRIOR[1]) / count
    first = float(digamma(np.array([PRIOR[0]]))[0]) - math.log(PRIOR[1])
    mean_log = ((digamma(shape) - np.log(hours)).sum() + _TRUST * first) / count
    new = float(np.clip(_shape(math.log(mean) - mean_log), *_SHAPES))
    return new, float(np.clip(new / mean, *_HOURS))


def digamma(x: Floats) -> Floats:
    """By recurrence to x + 6 and Stirling's series; error below 1e-7."""
    far = x + 6.0
    below = sum(1.0 / (x + k) for k in range(6))
    result: Floats = np.log(far) - 0.5 / far - 1.0 / (12.0 * far**2) + 1.0 / (120.0 * far**4) - below
    return result


def _shape(gap: float) -> float:
    """The shape with log(shape) - digamma(shape) = gap, by halving."""
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = math.sqrt(low * high)
        if math.log(middle) - float(digamma(np.array([middle]))[0]) > gap:
            low = middle
        else:
            high = middle
    return low


def looks_per_day(gap: Floats, sample: Sample, free: Floats) -> float:
    return float((free * 24.0 / gap).sum()) * sample.each


def outside_tiers(sample: Sample, packed: Mapping[str, Tier]) -> Floats:
    """The part of the time in which no objective looks at a target anyway."""
    free = np.ones(len(sample.risk))
    for name, one in packed.items():
        rows = np.flatnonzero(sample.risk == Risk[name])
        part = sample.only(rows)
        free[rows] = ~in_tier(part.beliefs, part.context, one) @ DAY_PART
    return free
