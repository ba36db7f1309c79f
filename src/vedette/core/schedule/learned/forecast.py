"""What would a budget buy?  The policy's own rule, played forward on a sample of its targets.

At a price every target has an interval (value.plan) and with it freshness, age and the share of changes seen in time;
the price is the one at which the looks add up to the budget.  Hosts have limits: the intervals of a host that is asked
for more than its limit are stretched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.words import Reason, Risk
from vedette.core.schedule.learned.objectives import (
    DAY_PART,
    TIER,
    LookPattern,
    Objectives,
    Tier,
    changes,
    coverage,
    in_tier,
    published_tier,
    steadiness,
    tier,
    waking,
)
from vedette.core.schedule.learned.review import Sample, looks_per_day, outside_tiers, price_for, tiers
from vedette.core.schedule.learned.settings import MOST_HOURS
from vedette.core.schedule.learned.value import crossing, least_hours, unseen, values
from vedette.core.schedule.protocol import Forecast

Floats = NDArray[np.float64]
WITHIN = 4.0  # hours in which CRITICAL changes are to be seen where nothing else was asked for
_GROWTH = 0.75  # of the way from today's beliefs to known rates, on average over the weeks to come
_QUANTILES = 8
_NORMAL = np.array(
    [-1.534, -0.887, -0.489, -0.157, 0.157, 0.489, 0.887, 1.534]
)  # middles of eight even parts
_KNOWN_HOURS = 1e5  # watched so long, a rate is known


@dataclass(slots=True)
class ForecastQuestion:
    t: float
    budget: float | None
    objectives: Objectives
    host_limits: Mapping[int, float]  # by host number, looks per day


def forecast(sample: Sample, asked: ForecastQuestion) -> Forecast:
    """Per risk class what the budget gives, what is missing, and which hosts cannot keep up."""
    packed = tiers(sample, asked.objectives, asked.budget)
    spent = sum(one.looks for one in packed.values())
    budget = asked.budget
    price = today = sample.context.published.price
    if budget is not None:
        price = price_for(sample, max(budget - spent, 1e-9), packed)
    free = _priced(sample, price)
    now = free if price == today else _priced(sample, today)
    gap, tight = _hold(free.copy(), sample, asked.host_limits)
    own = looks_per_day(gap, sample, outside_tiers(sample, packed))
    needed, missing = own + spent, 0.0
    if packed and budget is not None:
        needed = sum(one.wanted for one in packed.values()) / TIER
        missing = max(0.0, needed - budget)
    fresh, age = _state(sample, gap)
    groups = {one.name: np.flatnonzero(sample.risk == one) for one in Risk}
    plans = _Plans(
        price,
        gap,
        gap / np.maximum(free, 1e-9),
        _today(sample, asked.objectives, now),
        steadiness(sample.beliefs),
    )
    within, seen = _coverage(sample, plans, groups, packed, asked.objectives)
    return Forecast(
        at=asked.t, budget=budget, needed=needed, shortfall=missing,
        freshness={name: _mean(fresh[rows], 1.0) for name, rows in groups.items()},
        age={name: _mean(age[rows], 0.0) for name, rows in groups.items()},
        within=within, coverage=seen, tight_hosts=tight,
        reasons=(
            Reason("objectives", spent, "looks per day for objectives"),
            Reason("schedule", own, "looks per day at the price"),
            Reason("shortfall", missing, "looks per day missing"),
        ),
    )  # fmt: skip


def _coverage(
    sample: Sample,
    plans: _Plans,
    groups: Mapping[str, NDArray[np.int64]],
    packed: Mapping[str, Tier],
    goals: Objectives,
) -> tuple[dict[str, float], dict[str, float]]:
    """Of each risk class the hours that count as in time, and the share of changes seen within them."""
    within = {name: goals.get(name, (WITHIN, 0.0))[0] for name in groups}
    seen = {
        name: _in_time(sample, plans, rows, (within[name], packed.get(name))) for name, rows in groups.items()
    }
    for name, one in packed.items():
        seen[name] = _learning(sample, plans, groups[name], (goals[name], one), seen[name])
    return within, seen


def _hold(gap: Floats, sample: Sample, limits: Mapping[int, float]) -> tuple[Floats, dict[int, float]]:
    """Stretch the intervals of hosts that are asked for more than they allow; looks per day beyond it by host."""
    tight = {}
    order = np.argsort(sample.context.host, kind="stable")  # one search for each host, and not one pass
    hosts = np.fromiter(limits, np.int64, len(limits))
    begins = np.searchsorted(sample.context.host, hosts, "left", order).tolist()
    ends = np.searchsorted(sample.context.host, hosts, "right", order).tolist()
    for (host, most), begin, end in zip(limits.items(), begins, ends, strict=True):
        rows = order[begin:end]
        asked = float((24.0 / gap[rows]).sum()) * sample.each
        if asked > most:
            tight[host] = asked - most
            gap[rows] *= asked / max(most, 1e-9)
    return gap, tight


def _state(sample: Sample, gap: Floats) -> tuple[Floats, Floats]:
    """Share of the time that a copy is current, and its mean age, when looked at every `gap` hours."""
    part = (np.arange(8) + 0.5) / 8
    column = (slice(None), None)
    p = unseen(sample.beliefs.take(column), sample.context.take(column), gap[:, None] * part).changed
    return 1.0 - p.mean(axis=1), (p * (1.0 - part)).mean(axis=1) * gap


@dataclass(frozen=True, slots=True)
class _Plans:
    """How the targets of a sample are looked at, and what weighs them."""

    price: float
    gap: Floats  # hours between looks
    stretch: Floats  # of these, by the limits of hosts
    weight: Floats  # changes per hour
    steady: float  # share of targets that never sleep


def _today(sample: Sample, objectives: Iterable[str], gap: Floats) -> Floats:
    """Changes per hour of each target, as far as looks at today's price (every `gap` hours) would show them.

    Today's, whatever budget is asked about: the changes of a world do not hang on how often one looks.
    """
    often = np.full(len(gap), WITHIN)
    plain, busy = (changes(sample.beliefs, sample.context, one) for one in (gap, often))
    tier = np.zeros(len(gap))
    for risk in objectives:
        rows = np.flatnonzero(sample.risk == Risk[risk])
        part = sample.only(rows)
        tier[rows] = in_tier(part.beliefs, part.context, published_tier(part.context, Risk[risk])) @ DAY_PART
    return plain + tier * (busy - plain)


def _in_time(
    sample: Sample, plans: _Plans, rows: NDArray[np.int64], goal: tuple[float, Tier | None]
) -> float:
    """Share of the changes of these targets that are seen in time, by what is believed of them today."""
    part, gap = sample.only(rows), plans.gap[rows]
    asleep = waking(part.beliefs, plans.steady, _middle(gap))
    return coverage(part.beliefs, part.context, LookPattern(gap, *goal), plans.weight[rows], asleep)


def _learning(
    sample: Sample,
    plans: _Plans,
    rows: NDArray[np.int64],
    goal: tuple[tuple[float, float], Tier],
    now: float,
) -> float:
    """Coverage in the weeks to come: from what beliefs give now, most of the way to knowing the rates."""
    (within, share), packed = goal
    if packed.is_kept:
        return now
    part = sample.only(rows)
    known = sharpened(part)
    sure = tier(known.beliefs, known.context, (within, share), packed.looks / known.each)
    gap = _priced(known, plans.price) * np.tile(plans.stretch[rows], _QUANTILES)
    times = _rate(known) / np.maximum(np.tile(_rate(part), _QUANTILES), 1e-300)
    weight = np.tile(plans.weight[rows], _QUANTILES) * times
    asleep = waking(known.beliefs, plans.steady, _middle(plans.gap[rows]))
    then = coverage(known.beliefs, known.context, LookPattern(gap, within, sure), weight, asleep)
    return now + _GROWTH * max(0.0, then - now)


def _priced(sample: Sample, price: float) -> Floats:
    """Hours between looks at a price."""
    least = least_hours(sample.risk, sample.context)
    return np.clip(
        crossing(values(sample.beliefs, sample.context)[0], price * sample.context.price_factor),
        least,
        MOST_HOURS,
    )


def _rate(sample: Sample) -> Floats:
    shape, scale = sample.context.prior
    rate: Floats = (sample.beliefs.events + shape) / (sample.beliefs.hours + scale)
    return rate


def _middle(gap: Floats) -> float:
    """The median; numpy's own loads masked arrays for it."""
    if not len(gap):
        return MOST_HOURS
    ordered, half = np.sort(gap), len(gap) // 2
    return float(ordered[half] if len(gap) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def sharpened(sample: Sample) -> Sample:
    """Each target as several with known rates, at even quantiles of its belief."""
    shape, scale = sample.context.prior
    a, hours = sample.beliefs.events + shape, sample.beliefs.hours + scale
    every = np.tile(np.arange(len(a)), _QUANTILES)
    normal = np.repeat(_NORMAL, len(a))
    root = (
        1.0 - 1.0 / (9.0 * a[every]) + normal / (3.0 * np.sqrt(a[every]))
    )  # Wilson and Hilferty, see explain.py
    rate = a[every] * np.maximum(root, 0.0) ** 3 / hours[every]
    # the quantiles of a skewed belief are scaled to its mean
    rate *= np.tile(a / hours, _QUANTILES) / np.maximum(
        np.tile(rate.reshape(_QUANTILES, -1).mean(axis=0), _QUANTILES), 1e-12
    )
    beliefs = sample.beliefs.take(every)
    beliefs.hours = np.full(len(every), _KNOWN_HOURS)
    beliefs.events = rate * (_KNOWN_HOURS + scale) - shape[every]
    return Sample(beliefs, sample.context.take(every), sample.risk[every], sample.each / _QUANTILES)


def _mean(column: Floats, empty: float) -> float:
    return float(column.mean()) if len(column) else empty
