"""How often does each target change, as far as its gaps tell?  A posterior on a grid of rates.

A gap of D hours without a change has likelihood exp(-rate D), one with a change 1 - exp(-rate D).  The prior is
learned from all targets together (empirical Bayes by EM), starting from "every order of magnitude alike" and held
near it by one pseudo-target per grid point.  A target that changed at every look could have any rate above
about one per gap: there the posterior stays wide, and it should.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vedette.core.whatif.history import Floats, Gaps, Rows

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
