"""How likely is an unseen change, what is a look worth, and from when on is it worth its price?

The chance that our copy is unchanged at some age is

    unchanged = (steady * G + awake * W + asleep * Z) * exp(-bursts)

G is the chance of no change in X clock hours at a Gamma rate: (b / (b + X)) ** a.  With y = -log G, a target that is
awake either stays so (exp(-off) * G, off = falls_asleep * age) or falls asleep before it changes (taken at the mean
rate, which keeps the chance of a change from ever falling); one that sleeps has first to wake (on = wakes * age) and
then to change, the sum of two exponential times.  Hours that a complete listing covered without naming the target count
only for the share of changes that it misses.

A copy that is stale costs `weight` per hour, and kappa times its age on top: at age x the cost runs at
c(x) = p(x) + kappa * S(x), S being the integral of p.  Looking every D hours at a price per look costs least where

    value(D) = weight * (D * p - S + kappa * (D * S - Q)) = price,      Q the integral of S;

below it a look is too early, above it too late.  D * S - Q is the integral of u * p(u), which saves one integral.

When a listing names a target, c jumps.  Then the value is that of a plain copy whose cost runs at the same c: the
target is looked at when going on as it is costs more per hour than the best plan from a fresh copy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.beliefs import BeliefContext, Beliefs
from vedette.core.schedule.learned.settings import (
    BURST_HOURS,
    FALLS_ASLEEP,
    KAPPA,
    LEAST_HOURS,
    LEAST_HUB_HOURS,
    MOST_HOURS,
    WAKES,
)

Floats = NDArray[np.float64]

_APART = 1e-9  # two time constants closer than this are kept apart, for the sum of two exponentials


@dataclass(slots=True)
class Unseen:
    """The parts of the chance of no change."""

    clock: Floats  # clock hours, less what listings covered
    hazard: Floats  # y: changes expected of the rate alone, if awake all the time
    steady: Floats  # joint chances of no change (bursts apart) and of each state at the end
    awake: Floats
    asleep: Floats
    burst: Floats  # changes expected in the wake of the last one

    @property
    def changed(self) -> Floats:
        p: Floats = 1.0 - (self.steady + self.awake + self.asleep) * np.exp(-self.burst)
        return np.maximum(p, 0.0)


def unseen(b: Beliefs, context: BeliefContext, age: Floats) -> Unseen:
    """At `age` hours after the last look.  All arguments broadcast, so ages may be a grid."""
    shape, scale = context.prior
    clock = clock_hours(b, context, age)
    hazard = context.published.own * (b.events + shape) * np.log1p(clock / (b.hours + scale))
    none = np.exp(-hazard)
    off, on = FALLS_ASLEEP * age, WAKES * age
    still = np.exp(-off) * none
    flat = context.published.own * (b.events + shape) / (b.hours + scale) * clock + off
    fell = off * -np.expm1(-flat) / np.maximum(flat, 1e-12)
    sleeps = np.exp(-on)
    gap = np.maximum(np.abs(hazard - on), _APART)
    woke = on * np.exp(-np.minimum(on, hazard)) * -np.expm1(-gap) / gap
    awake = 1.0 - b.steady - b.asleep
    return Unseen(
        clock=clock,
        hazard=hazard,
        steady=b.steady * none,
        awake=awake * still + b.asleep * woke,
        asleep=awake * fell + b.asleep * sleeps,
        burst=bursts(context, b.lag, age),
    )


def clock_hours(b: Beliefs, context: BeliefContext, age: Floats) -> Floats:
    """Clock hours from the last look to `age` later, those that a listing covers thinned by its recall."""
    end = b.last + age
    full = context.clocks.hours(context.host, b.last, end)
    if not np.isfinite(context.listed_at).any():
        return full
    covered_to = np.maximum(np.minimum(context.listed_at, end), end - context.listed_every)
    covered = context.clocks.hours(context.host, b.last, np.maximum(covered_to, b.last))
    return np.maximum(full - context.recall * covered, 0.0)


def bursts(context: BeliefContext, lag: Floats, age: Floats) -> Floats:
    """Changes expected to follow the last known one, between the last look and `age` hours later."""
    expected = np.zeros(np.broadcast_shapes(lag.shape, age.shape))
    for more, hours in zip(context.published.bursts, BURST_HOURS, strict=True):
        expected += more * np.exp(-lag / hours) * -np.expm1(-age / hours)
    return expected


_NODES, _SHARES = np.polynomial.legendre.leggauss(6)
_PLACES = np.r_[(_NODES + 1) / 2, 1.0]  # six nodes for the integrals, and the end itself
_SHARES = _SHARES / 2
GRID = np.geomspace(0.25, MOST_HOURS, 25)  # ages that a plan is sought on; 40 % apart, then interpolated
_SLOWEST = 1e-6  # changes per hour: once in a century


def value_now(b: Beliefs, context: BeliefContext, t: float) -> tuple[Floats, Floats]:
    """Value of a look at `t`, and the chance that it finds a change."""
    age = np.maximum(t - b.last, 1e-6)
    column = (slice(None), None)
    seen = unseen(b.take(column), context.take(column), age[:, None] * _PLACES)
    p = seen.changed
    area = p[:, :-1] @ _SHARES
    first = p[:, :-1] @ (_SHARES * _PLACES[:-1])
    plain = age * (p[:, -1] - area) + KAPPA * age**2 * first
    stale = 1.0 - (1.0 - p[:, -1]) * (1.0 - b.listed_change_p)
    marked = np.flatnonzero(b.listed_change_p > 0)
    if len(marked):
        old = (
            np.maximum(age - b.listed_change_lag, 0.0) * b.listed_change_p
            + (1.0 - b.listed_change_p) * age * area
        )
        cost = stale + KAPPA * old
        ahead = rate_ahead(b.take(marked), context.take(marked))
        plain[marked] = np.maximum(plain[marked], value_at_cost(cost[marked], ahead))
    return context.weight * plain + listing_value(context.hub_value, age), stale


def plan(b: Beliefs, context: BeliefContext, least: Floats) -> Floats:
    """Hours after the last look at which the value reaches the price, at least `least`; marks are not counted."""
    value, _ = values(b, context)
    return np.clip(crossing(value, context.price), least, MOST_HOURS)


def least_hours(risk: NDArray[np.int8], context: BeliefContext) -> Floats:
    """The floor of the interval: by risk, and of a hub with a listing that of the highest risk."""
    return np.where(context.hub_value > 0, np.minimum(LEAST_HOURS[risk], LEAST_HUB_HOURS), LEAST_HOURS[risk])


def values(b: Beliefs, context: BeliefContext) -> tuple[Floats, Floats]:
    """Value and chance of change at every age of the grid."""
    column = (slice(None), None)
    p = unseen(b.take(column), context.take(column), GRID[None, :]).changed
    width = np.diff(GRID, prepend=0.0)
    before = np.concatenate([np.zeros((len(p), 1)), p[:, :-1]], axis=1)
    area = np.cumsum((p + before) / 2 * width, axis=1)
    first = np.cumsum((p * GRID + before * (GRID - width)) / 2 * width, axis=1)
    plain = context.weight[:, None] * (GRID * p - area + KAPPA * first)
    return plain + listing_value(context.hub_value[:, None], GRID), p


def listing_value(hub_value: Floats, age: Floats) -> Floats:
    """What a hub's listing is worth beside the hub's own page: its leaves' changes, stale until it tells of them."""
    value: Floats = hub_value * age**2 * (0.5 + KAPPA * age / 3.0)
    return value


def value_at_cost(cost: Floats, rate: Floats) -> Floats:
    """Value of a plain copy with that rate at the age where its cost runs at `cost` per hour.

    For a slow target c = rate * (D + kappa D^2 / 2); solved for D and put into rate * (D^2 / 2 + kappa D^3 / 3).
    """
    age = (np.sqrt(1.0 + 2.0 * KAPPA * cost / rate) - 1.0) / KAPPA
    value: Floats = rate * age**2 * (0.5 + KAPPA * age / 3.0)
    return value


def age_at_value(value: Floats, rate: Floats) -> Floats:
    """Hours after which a target with that rate is worth `value`: rate * (D^2 / 2 + kappa D^3 / 3) = value."""
    age = np.minimum(np.sqrt(2.0 * value / rate), np.cbrt(3.0 * value / (KAPPA * rate)))
    for _ in range(3):  # Newton; the start is within a factor of 1.3
        age -= (rate * age**2 * (0.5 + KAPPA * age / 3.0) - value) / (rate * age * (1.0 + KAPPA * age))
    return age


def rate_ahead(b: Beliefs, context: BeliefContext) -> Floats:
    """Changes per hour to expect after a look, bursts spread over the longest constant."""
    shape, scale = context.prior
    base = (b.events + shape) / (b.hours + scale) * (1.0 - b.asleep)
    after = np.zeros(b.lag.shape)
    for more, hours in zip(context.published.bursts, BURST_HOURS, strict=True):
        after += more * np.exp(-b.lag / hours)
    rate: Floats = np.maximum(base + after / (10.0 * BURST_HOURS[-1]), _SLOWEST)
    return rate


def crossing(value: Floats, price: Floats | float) -> Floats:
    """The first age at which the value reaches the price, by a power law between two ages of the grid."""
    price = np.broadcast_to(np.asarray(price, np.float64), len(value))
    reached = value >= price[:, None]
    at = np.where(reached.any(axis=1), reached.argmax(axis=1), len(GRID) - 1)
    rows = np.arange(len(value))
    high = np.maximum(value[rows, at], 1e-300)
    low = np.maximum(np.where(at > 0, value[rows, at - 1], 1e-300), 1e-300)
    lower = np.where(at > 0, GRID[at - 1], 0.0)
    upper = GRID[at]
    with np.errstate(divide="ignore"):
        power = np.log(price / low) / np.maximum(np.log(high / low), 1e-9)
        between = lower * (upper / np.maximum(lower, 1e-9)) ** np.clip(power, 0.0, 1.0)
    return np.where(at > 0, between, upper)
