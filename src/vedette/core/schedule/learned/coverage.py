"""What share of the changes will be seen in time?

A change is in time by a tier look, by the interval of its target, or because a listing told of it in time.  The share
is one of changes, so targets weigh by the changes that they will have: those of their rate, and those that follow a
change as far as looks like today's would show them (`changes`).  A target that sleeps and wakes is in no tier
when it wakes: until looks find it and the belief has caught up, its changes are seen by its interval only (`waking`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import BeliefContext, Beliefs
from vedette.core.schedule.learned.objective import DAY_PART, Tier, in_tier, weekly
from vedette.core.schedule.learned.settings import BURST_HOURS, FALLS_ASLEEP, WAKES

Floats = NDArray[np.float64]
_CATCHES_UP = (
    1.5  # intervals from waking to the tier: half of one to the first look, one until the belief follows
)
_TELLING = 3.0  # changes of a target from which on its silence says whether it sleeps
_KNOWN_LAG = 2 * BURST_HOURS[-1]  # hours: a change found after a longer gap has no known time (learn.py)
_SHARES = np.linspace(0.01, 0.99, 99)


@dataclass(frozen=True, slots=True)
class Seen:
    """How targets are looked at: every `gap` hours, and by the tier of an objective where there is one."""

    gap: Floats
    within: float  # hours
    tier: Tier | None


def coverage(b: Beliefs, around: BeliefContext, seen: Seen, weight: Floats, waking: Floats) -> float:
    """Share of the changes of these targets that are seen in time; `weight`: changes that each will have."""
    if not len(b):
        return 1.0
    rate = weekly(b, around)
    by_gap = np.minimum(1.0, seen.within / seen.gap)
    told = np.where(
        np.isfinite(around.listed_at), around.recall * np.minimum(1.0, seen.within / around.listed_every), 0.0
    )
    plain = 1.0 - (1.0 - by_gap) * (1.0 - told)
    in_time = plain
    if seen.tier is not None:
        part = rate * DAY_PART
        tiered = (part * in_tier(b, around, seen.tier)).sum(axis=1) / np.maximum(part.sum(axis=1), 1e-300)
        late = np.zeros(len(b)) if seen.tier.is_kept and seen.tier.least <= WAKES else waking
        in_time = plain + tiered * (1.0 - plain) * (1.0 - late)
    return float((weight * in_time).sum() / max(weight.sum(), 1e-300))


def changes(b: Beliefs, around: BeliefContext, gap: Floats) -> Floats:
    """Changes per hour that looks every `gap` hours would show: those of the rate, and those that follow one.

    The rate is credited with a part of the changes only (learn.py), so it alone would tell too few of busy targets.
    """
    published = around.published
    shape, scale = around.prior
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
    likely = b.steady[b.events >= _TELLING]
    fit = np.log(np.outer(_SHARES, likely) + np.outer(1.0 - _SHARES, 1.0 - likely)).sum(axis=1)
    fit += np.log(_SHARES * (1.0 - _SHARES))
    odds = np.exp(fit - fit.max())
    return float((_SHARES * odds).sum() / odds.sum())
