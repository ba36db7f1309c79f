"""How likely is a change that we have not seen, at some age of our copy?

    unchanged = (steady * G + awake * W + asleep * Z) * exp(-bursts)

G is the chance of no change in X clock hours at a Gamma rate: (b / (b + X)) ** a.  With y = -log G, a target
that is awake either stays so (exp(-off) * G, off = falls_asleep * age) or falls asleep before it changes (taken at
the mean rate, which keeps the chance of a change from ever falling); one that
sleeps has first to wake (on = wakes * age) and then to change, the sum of two exponential times.  Hours that a
complete listing covered without naming the target count only for the share of changes that it misses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import BeliefContext, Beliefs
from vedette.core.schedule.learned.settings import BURST_HOURS, FALLS_ASLEEP, WAKES

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


def unseen(b: Beliefs, around: BeliefContext, age: Floats) -> Unseen:
    """At `age` hours after the last look.  All arguments broadcast, so ages may be a grid."""
    shape, scale = around.prior
    clock = clock_hours(b, around, age)
    hazard = around.published.own * (b.events + shape) * np.log1p(clock / (b.hours + scale))
    none = np.exp(-hazard)
    off, on = FALLS_ASLEEP * age, WAKES * age
    still = np.exp(-off) * none
    flat = around.published.own * (b.events + shape) / (b.hours + scale) * clock + off
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
        burst=bursts(around, b.lag, age),
    )


def clock_hours(b: Beliefs, around: BeliefContext, age: Floats) -> Floats:
    """Clock hours from the last look to `age` later, those that a listing covers thinned by its recall."""
    end = b.last + age
    full = around.clocks.hours(around.host, b.last, end)
    if not np.isfinite(around.listed_at).any():
        return full
    covered_to = np.maximum(np.minimum(around.listed_at, end), end - around.listed_every)
    covered = around.clocks.hours(around.host, b.last, np.maximum(covered_to, b.last))
    return np.maximum(full - around.recall * covered, 0.0)


def bursts(around: BeliefContext, lag: Floats, age: Floats) -> Floats:
    """Changes expected to follow the last known one, between the last look and `age` hours later."""
    expected = np.zeros(np.broadcast_shapes(lag.shape, age.shape))
    for more, hours in zip(around.published.bursts, BURST_HOURS, strict=True):
        expected += more * np.exp(-lag / hours) * -np.expm1(-age / hours)
    return expected
