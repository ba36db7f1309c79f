"""Keep a promise such as "CRITICAL seen within 4 h, 95 %" at the least number of looks.

A look sees in time what changed in the hours before it.  So a target is looked at when the first hour whose changes
would else be seen too late is about to run out; hours in which it hardly changes may run out.  "Hardly" is one number
for all targets of a risk, in changes per hour: the highest that still keeps the promise, by the beliefs.  It is
found by taking hours of targets by descending rate of change, as one packs a knapsack.  Looks for objectives are at
most TIER of the budget; when that does not carry the promise, the number rises and the forecast says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import Around, Beliefs
from vedette.core.schedule.learned.settings import BURST_HOURS

Floats = NDArray[np.float64]
TIER = 0.4  # of the budget at most goes to objectives (DESIGN section 4)
AIM = 0.25  # of the misses that the promise allows are aimed at: beliefs are estimates
SLACK = 0.1  # hours kept in hand for the wait in the lane
_AHEAD = np.arange(72.0)  # hours that are looked ahead: a weekend and the night before it


@dataclass(frozen=True, slots=True)
class Tier:
    """The knapsack of one risk."""

    least: float  # changes per hour from which on an hour of a target must not run out
    looks: float  # per day
    coverage: float  # share of changes seen in time by these looks
    wanted: float  # looks per day that the promise would take


def hours_left(b: Beliefs, around: Around, within: float, least: float) -> Floats:
    """Hours after the last look at which the objective asks for the next; inf: not within three days."""
    late = hazard(b, around, _AHEAD) >= least
    begun = b.last - np.floor(b.last)  # clocks go by full hours
    first = np.where(late.any(axis=1), np.maximum(late.argmax(axis=1) - begun, 0.0), np.inf)
    return np.maximum(first + within - SLACK, SLACK)


def hazard(b: Beliefs, around: Around, ahead: Floats) -> Floats:
    """Changes per hour expected so many hours after the last look, a matrix of targets and hours."""
    shape, scale = around.prior
    rate = (b.events + shape) / (b.hours + scale) * (1.0 - b.asleep)
    speed = around.clocks.now(around.host[:, None], np.floor(b.last)[:, None] + ahead)
    burst = np.zeros((len(b), len(ahead)))
    for more, hours in zip(around.published.bursts, BURST_HOURS, strict=True):
        burst += more / hours * np.exp(-(b.lag[:, None] + ahead) / hours)
    return rate[:, None] * speed + burst


def tier(b: Beliefs, around: Around, goal: tuple[float, float], room: float) -> Tier:
    """The least rate of change worth a tier look: as many as the promise takes, at most `room` looks per day."""
    within, share = goal
    rate = weekly(b, around)
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


def weekly(b: Beliefs, around: Around) -> Floats:
    """Changes per hour in each of the 48 hours of a working day and a weekend day."""
    shape, scale = around.prior
    rate = (b.events + shape) / (b.hours + scale) * (1.0 - b.asleep)
    rates: Floats = rate[:, None] * np.diff(around.clocks.upto[around.host], axis=2).reshape(len(b), 48)
    return rates


DAY_PART = np.repeat([5.0, 2.0], 24) / 168  # the part of the time that each of the 48 hours stands for
