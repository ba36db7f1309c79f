"""What was seen, as columns: who was looked at when, and which looks showed a change.

History is interval-censored: a look that shows a change says that it came after the look before, not when, nor
whether it came alone.  Times are hours of the schedule layer (`core/schedule/protocol.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError

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
