"""Truths that fit a history: when the changes may have come that its looks show, and how many there were.

Two extremes put exactly one change into every gap that showed one: right after the look before, or right before
the look that showed it.  A draw goes further.  Per target it takes a rate from the posterior; per gap that showed a
change a number of changes (Poisson, at least one) at uniform moments; where nobody looked (before the first look,
after the last) a Poisson number.  What the looks cannot tell is moved for all targets at once, from draw to draw:
rates towards the lower or the upper end of what is possible, the share of targets whose changes come in bursts of
edits minutes apart, the share whose changes keep office hours, and which hours these are.  So the draws spread over
what is not known instead of averaging it away.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from vedette.core.schedule.chance import chances
from vedette.core.whatif.history import (
    Flags,
    Floats,
    Gaps,
    History,
    Rates,
    Rows,
    Truth,
    estimate,
    first_and_last,
    gaps,
    sorted_truth,
)

_RIGHT_AFTER = 1e-6  # hours: after the look, before any other
_MANY = 30.0  # from here on a Poisson number is drawn as a rounded normal one
TILTS = (1 / 3, 2.0)  # exponents of the quantile: every target towards its upper, its lower end
BURSTS = (0.0, 0.4)  # share of targets that change in bursts
CLOCKS = (0.0, 0.8)  # share of targets that change in the nine hours of somebody's day
_OFFICE = 9.0  # hours
_TRIES = 4  # moments that are drawn for a change with a clock; the first within its hours is taken
BURST_SIZE = 4.0  # further edits after the first, on average,
BURST_GAP = 1 / 6  # 10 minutes apart


class Extreme(StrEnum):
    EARLY = "early"  # right after the look before
    LATE = "late"  # right before the look that showed it


@dataclass(frozen=True, slots=True)
class Imputer:
    """A history and what its gaps say; makes one truth at a time."""

    history: History
    gaps: Gaps
    rates: Rates

    def extreme(self, which: Extreme) -> Truth:
        """One change per gap that showed one, as early or as late as it can have been."""
        changed = self.gaps.changed
        at = self.gaps.end[changed]
        if which is Extreme.EARLY:
            at = np.minimum(self.gaps.begin[changed] + _RIGHT_AFTER, at)
        return self._truth(self.gaps.row[changed], at)

    def draw(self, number: int, of: int, seed: int = 0) -> Truth:
        """The `number`-th of `of` draws; the same arguments give the same truth."""
        dice = _Dice(seed, number)
        tilt = _between(TILTS, (number + 0.5) / of, by_ratio=True)
        # What is unknown must not move together: each runs through the draws in an order of its own.
        stride = _stride(of)
        bursts = _between(BURSTS, ((number * stride) % of + 0.5) / of)
        clocks = _between(CLOCKS, ((number * stride * stride) % of + 0.5) / of)
        targets = len(self.history.targets)
        rate = self.rates.quantiles(dice.roll(targets) ** tilt)
        is_bursty, has_clock = dice.roll(targets) < bursts, dice.roll(targets) < clocks
        row, begin, end, least = self._spans()
        count = _counts(rate[row] * (end - begin), least, dice.roll(len(row)))
        count = np.where(is_bursty[row], np.minimum(count, 1), count)
        row, begin, end = np.repeat(row, count), np.repeat(begin, count), np.repeat(end, count)
        at = _moments(begin, end, has_clock[row], dice)
        more, when = _bursts(is_bursty[row], at, end, dice)
        return self._truth(np.r_[row, row[more]], np.r_[at, when])

    def _spans(self) -> tuple[Rows, Floats, Floats, Rows]:
        """Where changes may have been: row, from, to, and how many there were at least."""
        first, last = first_and_last(self.history)
        since = self.history.targets.since
        everyone = np.arange(len(since))
        changed = self.gaps.changed
        row = np.concatenate([self.gaps.row[changed], everyone, everyone])
        begin = np.concatenate([self.gaps.begin[changed], np.minimum(since, first), last])
        end = np.concatenate([self.gaps.end[changed], first, np.full(len(since), self.history.end)])
        least = np.concatenate([np.ones(int(changed.sum()), np.int64), np.zeros(2 * len(since), np.int64)])
        return row, begin, end, least

    def _truth(self, row: Rows, at: Floats) -> Truth:
        return sorted_truth(self.history.targets, row, at, (self.history.start, self.history.end))


def imputer(history: History) -> Imputer:
    """Everything that all draws share."""
    between = gaps(history)
    return Imputer(history, between, estimate(between, len(history.targets)))


class _Dice:
    """Numbers in [0, 1) by counter: the n-th column of one draw."""

    def __init__(self, seed: int, draw: int) -> None:
        self._seed = seed
        self._n = draw << 16

    def roll(self, count: int) -> Floats:
        self._n += 1
        return chances(self._seed, np.arange(count), np.full(count, self._n))


def _counts(mean: Floats, least: Rows, u: Floats) -> Rows:
    """Poisson numbers by their quantile, not below `least` (0 or 1)."""
    floor = np.where(least > 0, np.exp(-mean), 0.0)  # a truncated quantile starts above the chance of none
    u = floor + u * (1.0 - floor)
    count = np.zeros(len(mean), np.int64)
    few = np.flatnonzero(mean <= _MANY)
    term = np.exp(-mean[few])
    reach, k = term.copy(), 0
    while len(few):
        few_open = u[few] > reach
        few, term, reach = few[few_open], term[few_open], reach[few_open]
        k += 1
        count[few] = k
        term = term * mean[few] / k
        reach = reach + np.maximum(term, 1e-12)  # rounding must not let the sum stop short of 1
    many = mean > _MANY
    z = (u[many] ** 0.135 - (1.0 - u[many]) ** 0.135) / 0.1975  # normal quantile (Tukey's lambda), +-0.01
    count[many] = np.rint(mean[many] + np.sqrt(mean[many]) * z).astype(np.int64)
    return np.maximum(count, least)


def _moments(begin: Floats, end: Floats, has_clock: Flags, dice: _Dice) -> Floats:
    """Anywhere in the gap; with a clock rather within its hours, where the gap has any."""
    opens = float(dice.roll(1)[0]) * 24.0
    at = end - (end - begin) * dice.roll(len(begin))
    for _ in range(_TRIES - 1):
        other = end - (end - begin) * dice.roll(len(begin))
        at = np.where(has_clock & ((at - opens) % 24.0 >= _OFFICE), other, at)
    return at


def _bursts(is_bursty: Flags, at: Floats, end: Floats, dice: _Dice) -> tuple[Rows, Floats]:
    """Further edits after those of bursty targets, within their gap: index of the first edit, and when."""
    heads = np.flatnonzero(is_bursty)
    share = 1.0 / (1.0 + BURST_SIZE)
    size = np.floor(np.log1p(-dice.roll(len(heads))) / np.log1p(-share)).astype(np.int64)
    index = np.repeat(heads, size)
    wait = -np.log1p(-dice.roll(len(index))) * BURST_GAP
    total = np.cumsum(wait)
    starts = np.repeat(np.cumsum(size) - size, size)
    before = np.where(starts > 0, total[np.maximum(starts - 1, 0)], 0.0)
    when = at[index] + total - before
    inside = when <= end[index]
    return index[inside], when[inside]


def _between(ends: tuple[float, float], part: float, *, by_ratio: bool = False) -> float:
    low, high = ends
    return float(low * (high / low) ** part) if by_ratio else low + (high - low) * part


def _stride(of: int) -> int:
    """Near the golden section of `of` and without a common divisor with it."""
    stride = max(1, round(of * 0.618))
    while np.gcd(stride, of) != 1:
        stride += 1
    return stride
