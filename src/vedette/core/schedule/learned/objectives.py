"""Keep a promise such as "CRITICAL seen within 4 h, 95 %", and say what share of changes it will cover.

While the budget carries it, the promise is *kept*: a target is looked at within the promised time, at every hour of the
week, from its first look on.  Left out are only targets that were watched for a week and hardly ever change: together
at most a part of the misses that the promise allows, counted with what is not known of their rates.  No rhythm of
a host and no sleep stretches it: what they say comes from looks that they themselves have thinned out.

Looks for objectives are at most TIER of the budget.  When that does not carry the promise, what there is goes
where it counts most, by the beliefs: a look sees in time what changed in the hours before it, so a target is looked at
when the first hour whose changes would else be seen too late is about to run out; hours in which it hardly changes may
run out.  "Hardly" is one number for all targets of a risk, in changes per hour, found by taking hours of targets by
descending rate of change, as one packs a knapsack; the forecast tells the shortfall.

Coverage: a change is in time by a tier look, by the interval of its target, or because a listing told of it in time.
The share is one of changes, so targets weigh by the changes that they will have: those of their rate, and those that
follow a change as far as looks like today's would show them (`changes`).  A target that sleeps and wakes is in no tier
when it wakes: until looks find it and the belief has caught up, its changes are seen by its interval only (`waking`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.words import Risk
from vedette.core.schedule.learned.beliefs import BeliefContext, Beliefs
from vedette.core.schedule.learned.settings import BURST_HOURS, FALLS_ASLEEP, WAKES

Floats = NDArray[np.float64]
Objectives = Mapping[str, tuple[float, float]]  # risk: hours, share

TIER = 0.4  # of the budget at most goes to objectives (docs/scheduling.md)
AIM = 0.25  # of the misses that the promise allows are aimed at in the knapsack: beliefs are estimates
SLACK = 0.1  # hours kept in hand for the wait in the lane
LEFT_OUT = 0.5  # of the misses that the promise allows may come from targets that are left out
KNOWN_HOURS = 168.0  # under watch before a target may be left out: a week has a weekend
_SURE = 1.645  # standard deviations: one-sided, 95 %
_AGES = 12.0  # hours: beliefs age by a review and a look before the number is worked out anew
_AHEAD = np.arange(72.0)  # hours that are looked ahead: a weekend and the night before it


@dataclass(frozen=True, slots=True)
class Tier:
    """What is looked at for the promise of one risk."""

    least: float  # changes per hour from which on an hour of a target must not run out; if kept, the target
    looks: float  # per day
    coverage: float  # share of changes seen in time by these looks
    wanted: float  # looks per day that the promise would take
    is_kept: bool = False  # at every hour, for all but the targets below `least`


def asked_hours(b: Beliefs, context: BeliefContext, risk: NDArray[np.int8], objectives: Objectives) -> Floats:
    """Hours after the last look at which an objective asks for the next; inf: none does."""
    asked = np.full(len(risk), np.inf)
    for name, (within, _) in objectives.items():
        mine = np.flatnonzero(risk == Risk[name])
        if not len(mine):
            continue
        part, near = b.take(mine), context.take(mine)
        least = context.published.objective_price[Risk[name]]
        if np.isfinite(least):
            asked[mine] = hours_left(part, near, within, least)
        kept = is_kept(part, near, context.published.kept_from[Risk[name]])
        asked[mine[kept]] = max(within - SLACK, SLACK)
    return asked


def is_kept(b: Beliefs, context: BeliefContext, least: float) -> NDArray[np.bool_]:
    """Which targets are looked at within the promised time, whatever the hour; `least` inf: none."""
    kept: NDArray[np.bool_] = (expected(b, context) >= least) | ((b.hours < KNOWN_HOURS) & np.isfinite(least))
    return kept


def expected(b: Beliefs, context: BeliefContext) -> Floats:
    """Changes per hour to expect, at no hour in particular; one that sleeps may wake."""
    shape, scale = context.prior
    rate: Floats = (b.events + shape) / (b.hours + scale) * (1.0 - b.asleep) + WAKES * b.asleep
    return rate


def kept(b: Beliefs, context: BeliefContext, goal: tuple[float, float], each: float) -> Tier:
    """The promise kept: who may be left out, and what the others take.  Each target stands for `each`.

    Who is left out adds up to few of the changes, even if they change more often than believed and the others less.
    """
    within, share = goal
    shape, scale = context.prior
    rate = expected(b, context)
    spread = (b.events + shape) / (b.hours + scale) ** 2
    known = np.flatnonzero(b.hours >= KNOWN_HOURS)
    slowest = known[np.argsort(rate[known], kind="stable")]
    total = max(each * rate.sum() - _SURE * np.sqrt(each * spread.sum()), 0.0)
    lost = each * np.cumsum(rate[slowest]) + _SURE * np.sqrt(each * np.cumsum(spread[slowest]))
    out = int(np.searchsorted(lost, LEFT_OUT * (1.0 - share) * total, side="right"))
    least = 0.0
    if out:  # the next one is kept, also when its belief has aged
        after = slowest[out] if out < len(slowest) else slowest[-1]
        aged = (b.hours[after] + scale) / (b.hours[after] + scale + _AGES)
        least = float(rate[after] * aged) if out < len(slowest) else float(rate[after] * (1.0 + 1e-9))
    stays = is_kept(b, context, least)
    looks = float(stays.sum()) * 24.0 / max(within - SLACK, SLACK)
    covered = float(rate[stays].sum() / max(rate.sum(), 1e-300))
    return Tier(least, looks, covered, looks, is_kept=True)


def in_tier(b: Beliefs, context: BeliefContext, one: Tier) -> NDArray[np.bool_]:
    """In which of the 48 hours of a working day and a weekend day each target is looked at for the promise."""
    if one.is_kept:
        return np.broadcast_to(is_kept(b, context, one.least)[:, None], (len(b), len(DAY_PART)))
    hours: NDArray[np.bool_] = weekly(b, context) >= one.least
    return hours


def published_tier(context: BeliefContext, risk: Risk) -> Tier:
    """The tier of a risk as it was published last."""
    least = context.published.kept_from[risk]
    if np.isfinite(least):
        return Tier(least, 0.0, 0.0, 0.0, is_kept=True)
    return Tier(context.published.objective_price[risk], 0.0, 0.0, 0.0)


def hours_left(b: Beliefs, context: BeliefContext, within: float, least: float) -> Floats:
    """Hours after the last look at which the objective asks for the next; inf: not within three days."""
    late = hazard(b, context, _AHEAD) >= least
    begun = b.last - np.floor(b.last)  # clocks go by full hours
    first = np.where(late.any(axis=1), np.maximum(late.argmax(axis=1) - begun, 0.0), np.inf)
    return np.maximum(first + within - SLACK, SLACK)


def hazard(b: Beliefs, context: BeliefContext, ahead: Floats) -> Floats:
    """Changes per hour expected so many hours after the last look, a matrix of targets and hours."""
    shape, scale = context.prior
    rate = (b.events + shape) / (b.hours + scale) * (1.0 - b.asleep)
    speed = context.clocks.now(context.host[:, None], np.floor(b.last)[:, None] + ahead)
    burst = np.zeros((len(b), len(ahead)))
    for more, hours in zip(context.published.bursts, BURST_HOURS, strict=True):
        burst += more / hours * np.exp(-(b.lag[:, None] + ahead) / hours)
    return rate[:, None] * speed + burst


def tier(b: Beliefs, context: BeliefContext, goal: tuple[float, float], room: float) -> Tier:
    """The least rate of change worth a tier look: as many as the promise takes, at most `room` looks per day."""
    within, share = goal
    rate = weekly(b, context)
    order = np.argsort(-rate, axis=None)
    flat = rate.ravel()[order]
    part = np.tile(DAY_PART, len(b))[order]
    covered = np.cumsum(flat * part) / max((flat * part).sum(), 1e-12)
    looks = np.cumsum(part) * 24.0 / max(within - SLACK, SLACK)
    enough = min(int(np.searchsorted(covered, 1.0 - (1.0 - share) * AIM)), len(flat) - 1)
    last = min(enough, int(np.searchsorted(looks, room, side="right")) - 1)
    if last < 0:
        return Tier(np.inf, 0.0, 0.0, float(looks[enough]))
    return Tier(float(flat[last]), float(looks[last]), float(covered[last]), float(looks[enough]))


def weekly(b: Beliefs, context: BeliefContext) -> Floats:
    """Changes per hour in each of the 48 hours of a working day and a weekend day."""
    shape, scale = context.prior
    rate = (b.events + shape) / (b.hours + scale) * (1.0 - b.asleep)
    rates: Floats = rate[:, None] * np.diff(context.clocks.upto[context.host], axis=2).reshape(len(b), 48)
    return rates


DAY_PART = np.repeat([5.0, 2.0], 24) / 168  # the part of the time that each of the 48 hours stands for


_CATCHES_UP = (
    1.5  # intervals from waking to the tier: half of one to the first look, one until the belief follows
)
_ENOUGH_CHANGES = 3.0  # changes of a target from which on its silence says whether it sleeps
_KNOWN_LAG = 2 * BURST_HOURS[-1]  # hours: a change found after a longer gap has no known time (learn.py)
_STEADY_SHARES = np.linspace(0.01, 0.99, 99)


@dataclass(frozen=True, slots=True)
class LookPattern:
    """How targets are looked at: every `gap` hours, and by the tier of an objective where there is one."""

    gap: Floats
    within: float  # hours
    tier: Tier | None


def coverage(b: Beliefs, context: BeliefContext, seen: LookPattern, weight: Floats, waking: Floats) -> float:
    """Share of the changes of these targets that are seen in time; `weight`: changes that each will have."""
    if not len(b):
        return 1.0
    rate = weekly(b, context)
    by_gap = np.minimum(1.0, seen.within / seen.gap)
    told = np.where(
        np.isfinite(context.listed_at),
        context.recall * np.minimum(1.0, seen.within / context.listed_every),
        0.0,
    )
    plain = 1.0 - (1.0 - by_gap) * (1.0 - told)
    in_time = plain
    if seen.tier is not None:
        part = rate * DAY_PART
        tiered = (part * in_tier(b, context, seen.tier)).sum(axis=1) / np.maximum(part.sum(axis=1), 1e-300)
        late = np.zeros(len(b)) if seen.tier.is_kept and seen.tier.least <= WAKES else waking
        in_time = plain + tiered * (1.0 - plain) * (1.0 - late)
    return float((weight * in_time).sum() / max(weight.sum(), 1e-300))


def changes(b: Beliefs, context: BeliefContext, gap: Floats) -> Floats:
    """Changes per hour that looks every `gap` hours would show: those of the rate, and those that follow one.

    The rate is credited with a part of the changes only (learn.py), so it alone would tell too few of busy targets.
    """
    published = context.published
    shape, scale = context.prior
    own = published.own * (b.events + shape) / (b.hours + scale) * (1.0 - b.asleep)
    every = own
    for _ in range(6):  # the more changes, the more that follow; it settles fast
        found = -np.expm1(-every * gap)
        after = np.zeros(len(b))
        for more, hours in zip(published.bursts, BURST_HOURS, strict=True):
            fades = np.exp(-gap / hours)
            near = found * np.exp(-gap / 2 / hours) / (1.0 - (1.0 - found) * fades)
            after += more * np.where(gap < _KNOWN_LAG, near, 0.0) * (1.0 - fades) / gap
        every = own + after
    return every


def waking(b: Beliefs, steady: float, gap: float) -> Floats:
    """Part of the changes of each target that come before it is known to be awake again; `gap`: hours between looks."""
    share = steady * b.steady / np.maximum(steady * b.steady + (1.0 - steady) * (1.0 - b.steady), 1e-12)
    part: Floats = min(1.0, _CATCHES_UP * gap * FALLS_ASLEEP) * (1.0 - share)
    return part


def steadiness(b: Beliefs) -> float:
    """The share of targets that never sleep, by those that changed often enough to tell.

    `steady` of a belief is the chance under even odds, so it is the likelihood of the one against the other.
    """
    likely = b.steady[b.events >= _ENOUGH_CHANGES]
    fit = np.log(np.outer(_STEADY_SHARES, likely) + np.outer(1.0 - _STEADY_SHARES, 1.0 - likely)).sum(axis=1)
    fit += np.log(_STEADY_SHARES * (1.0 - _STEADY_SHARES))
    odds = np.exp(fit - fit.max())
    return float((_STEADY_SHARES * odds).sum() / odds.sum())
