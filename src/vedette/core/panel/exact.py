"""Exact binomial probabilities.  No approximation: the cohorts are small and the rates near zero."""

from __future__ import annotations

import math
from collections.abc import Callable

_Z95 = 1.959963984540054  # two-sided 95 %


def at_least(hits: int, trials: int, rate: float) -> float:
    """P(X >= hits) for X ~ Binomial(trials, rate)."""
    if hits <= 0:
        return 1.0
    if hits > trials or rate <= 0:
        return 0.0
    if rate >= 1:
        return 1.0
    if hits <= trials * rate:  # the shorter sum is the other side
        return max(0.0, 1.0 - math.fsum(_terms(range(hits), trials, rate)))
    return min(1.0, math.fsum(_terms(range(hits, trials + 1), trials, rate)))


def interval(hits: int, trials: int, alpha: float = 0.05) -> tuple[float, float]:
    """Clopper-Pearson: the rates that `hits` of `trials` do not contradict at `alpha`, both sides together."""
    if trials <= 0:
        return 0.0, 1.0
    low = 0.0 if hits == 0 else _solve(lambda rate: at_least(hits, trials, rate) < alpha / 2)
    high = 1.0 if hits == trials else _solve(lambda rate: at_least(hits + 1, trials, rate) < 1 - alpha / 2)
    return low, high


def wilson_low(hits: int, trials: int, z: float = _Z95) -> float:
    """Lower end of the Wilson interval: a share that few trials cannot push to one."""
    if trials <= 0:
        return 0.0
    share, extra = hits / trials, z * z / trials
    middle = share + extra / 2
    spread = z * math.sqrt((share * (1 - share) + extra / 4) / trials)
    return max(0.0, (middle - spread) / (1 + extra))


def _terms(counts: range, trials: int, rate: float) -> list[float]:
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    whole = math.lgamma(trials + 1)
    terms = []
    for k in counts:
        ways = whole - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        term = math.exp(ways + k * log_rate + (trials - k) * log_rest)
        terms.append(term)
        if term < 1e-18 and k > trials * rate:
            break
    return terms


def _solve(holds: Callable[[float], bool]) -> float:
    """The rate at which the claim stops to hold; it holds from zero on."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
