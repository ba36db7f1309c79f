"""What was seen, as columns: who was looked at when, and which looks showed a change.

History is interval-censored: a look that shows a change says that it came after the look before, not when, nor
whether it came alone.  Times are hours of the schedule layer (`core/schedule/protocol.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.core.schedule.columns import chances

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Whom it is about.  A target's row number is its id wherever a policy is played."""

    risk: Rows  # ranks, LOW 0 to CRITICAL 3
    host: Rows
    since: Floats  # known to us from then on

    def __len__(self) -> int:
        return len(self.risk)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Looks that said something about the content, by row, then by time.  `start` and `end` frame all of them."""

    targets: Targets
    row: Rows
    at: Floats
    changed: Flags  # differs from the look before; never the first look of a row
    audit: Floats  # hours of the interval that an audit fell into; NaN: not an audit
    start: float
    end: float
    requests: int  # all that were made, failed ones and second looks too

    @property
    def days(self) -> float:
        return (self.end - self.start) / 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Every change of every target, by row, then by time."""

    targets: Targets
    row: Rows
    at: Floats
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """The time between two looks at one target, and whether it held a change."""

    row: Rows
    begin: Floats
    end: Floats
    changed: Flags

    @property
    def hours(self) -> Floats:
        return self.end - self.begin


def sorted_truth(targets: Targets, row: Rows, at: Floats, frame: tuple[float, float]) -> Truth:
    """Changes in any order as a Truth; those outside the frame are left out."""
    start, end = frame
    _check_frame(start, end)
    inside = (at > start) & (at <= end)
    row, at = row[inside], at[inside]
    order = np.lexsort((at, row))
    return Truth(targets=targets, row=row[order], at=at[order], start=start, end=end)


def gaps(history: History) -> Gaps:
    """Between consecutive looks of each target."""
    same = history.row[1:] == history.row[:-1]
    return Gaps(
        row=history.row[1:][same],
        begin=history.at[:-1][same],
        end=history.at[1:][same],
        changed=history.changed[1:][same],
    )


def first_and_last(history: History) -> tuple[Floats, Floats]:
    """When each target was looked at first and last; `end` and `end` for one that never was."""
    n = len(history.targets)
    first, last = np.full(n, history.end), np.full(n, history.end)
    if len(history.row):
        rows, begin = np.unique(history.row, return_index=True)
        stop = np.r_[begin[1:], len(history.row)] - 1
        first[rows], last[rows] = history.at[begin], history.at[stop]
    return first, last


def _check_frame(start: float, end: float) -> None:
    if not start < end:
        raise InputError(f"a history from {start!r} to {end!r} has no length")


# How often does each target change, as far as its gaps tell?  A posterior on a grid of rates.
#
# A gap of D hours without a change has likelihood exp(-rate D), one with a change 1 - exp(-rate D).  The prior is
# learned from all targets together (empirical Bayes by EM), starting from "every order of magnitude alike" and held
# near it by one pseudo-target per grid point.  A target that changed at every look could have any rate above
# about one per gap: there the posterior stays wide, and it should.

SLOWEST = 1 / (3 * 365 * 24)  # changes per hour: once in three years,
FASTEST = 2.0  # to once in half an hour; what changes faster is not told apart
POINTS = 48
_ROUNDS = 40  # of EM; the weights move by less than 1e-3 from there on


@dataclass(frozen=True, slots=True)
class Rates:
    """Posterior of every target over `grid`, as cumulative sums."""

    grid: Floats  # changes per hour
    cumulative: Floats  # targets x POINTS

    def quantiles(self, u: Floats) -> Floats:
        """The rate of each target at its own quantile `u` in [0, 1), between grid points by its logarithm."""
        index = (self.cumulative < u[:, None]).sum(axis=1).clip(0, POINTS - 1)
        rows = np.arange(len(u))
        above = self.cumulative[rows, index]
        below = np.where(index > 0, self.cumulative[rows, np.maximum(index - 1, 0)], 0.0)
        part = ((u - below) / np.maximum(above - below, 1e-300)).clip(0, 1)
        step = np.log(self.grid[1] / self.grid[0])
        rate: Floats = self.grid[index] * np.exp((part - 0.5) * step)
        return rate

    def mean(self, rows: Rows) -> Floats:
        """The expected rate of these targets."""
        weights = np.diff(self.cumulative[rows], axis=1, prepend=0.0)
        mean: Floats = weights @ self.grid
        return mean


def estimate(gaps: Gaps, targets: int) -> Rates:
    """The rates of all targets, from their gaps.

    Targets without a gap have the prior and no likelihood of their own: they are counted, not computed one by one.
    """
    grid = np.geomspace(SLOWEST, FASTEST, POINTS)
    rows, place = np.unique(gaps.row, return_inverse=True)
    silent = targets - len(rows)
    likelihood = _log_likelihood(replace(gaps, row=place), len(rows), grid)
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    prior = np.full(POINTS, 1.0 / POINTS)
    used = prior
    for _ in range(_ROUNDS):
        used = prior
        # einsum, because `@` takes every core for a product as small as this
        whole = np.einsum("tp,p->t", likelihood, used)  # the posterior is likelihood * used / whole
        told = np.einsum("tp,t->p", likelihood, 1.0 / whole) + silent / used.sum()
        prior = (told * used + 1.0) / (targets + POINTS)
    posterior = likelihood * used
    posterior /= posterior.sum(axis=1, keepdims=True)
    cumulative = np.empty((targets, POINTS))
    cumulative[:] = np.cumsum(used / used.sum())
    cumulative[rows] = np.cumsum(posterior, axis=1)
    return Rates(grid, cumulative)


def _log_likelihood(gaps: Gaps, targets: int, grid: Floats) -> Floats:
    hours = np.maximum(gaps.hours, 1e-9)
    quiet = np.bincount(gaps.row, np.where(gaps.changed, 0.0, hours), targets)
    table = -quiet[:, None] * grid
    rows, changed = gaps.row[gaps.changed], hours[gaps.changed]
    for n, rate in enumerate(grid):
        table[:, n] += np.bincount(rows, np.log(-np.expm1(-rate * changed)), targets)
    return table


# Truths that fit a history: when the changes may have come that its looks show, and how many there were.
#
# Two extremes put exactly one change into every gap that showed one: right after the look before, or right before
# the look that showed it.  A draw goes further.  Per target it takes a rate from the posterior; per gap that showed a
# change a number of changes (Poisson, at least one) at uniform moments; where nobody looked (before the first look,
# after the last) a Poisson number.  What the looks cannot tell is moved for all targets at once, from draw to draw:
# rates towards the lower or the upper end of what is possible, the share of targets whose changes come in bursts of
# edits minutes apart, the share whose changes keep office hours, and which hours these are.  So the draws spread over
# what is not known instead of averaging it away.

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
