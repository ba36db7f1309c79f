"""Many plays as bounds: what a policy would have done, as far as the history can say.

Every draw of the imputer is a truth that fits the history.  The policy is played on each; a figure's bounds reach
over all draws, and at least so many standard deviations around their mean (in logarithms for what has no upper
end).  The extremes are kept apart: they say what the looks alone force, one change per gap that showed one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from vedette.contracts.words import Risk
from vedette.core.schedule.protocol import SchedulePolicy
from vedette.core.whatif.history import Floats, Truth
from vedette.core.whatif.impute import Extreme, Imputer
from vedette.core.whatif.play import CLASSES, PlayResult, PlayTerms, play

DRAWS = 20
# Standard deviations that bounds reach at least.  Found by trial on living webs: few figures escape (a test counts).
_SPREAD = {"requests": 3.0, "delay": 4.0, "within": 4.0, "missed": 3.0, "changes": 3.0}
ALL = "ALL"
FIGURES = ("requests", "delay", "within", "missed", "changes")
_SHARES = frozenset({"within"})

Figures = Mapping[str, float]  # by name of FIGURES; NaN: nothing to measure it by
Table = Mapping[str, Figures]  # by risk name, and ALL


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one figure.  `middle` is the median draw; `least` and `most` reach over the extremes too.

    NaN: nothing to measure it by.
    """

    low: float
    middle: float
    high: float
    least: float
    most: float

    def contains(self, value: float) -> bool:
        """Is it inside, to a rounding error?"""
        slack = 1e-9 * max(1.0, abs(value))
        return self.low - slack <= value <= self.high + slack

    @property
    def is_known(self) -> bool:
        return not math.isnan(self.low)


BoundTable = Mapping[str, Mapping[str, Bounds]]


@dataclass(frozen=True, slots=True)
class PlayedTruth:
    """A policy with a budget, and what it would have done."""

    policy: str
    budget: float | None  # looks per day; None: no limit
    table: BoundTable

    @property
    def limit(self) -> str:
        return "no limit" if self.budget is None else f"{self.budget:,.0f}/day"


def figures(played: PlayResult) -> Table:
    """Per risk class and for all: requests per day, mean delay in hours, share within the objective, states
    never seen, changes."""
    table = {risk.name: _figures(played, np.eye(CLASSES)[risk]) for risk in reversed(Risk)}
    return {**table, ALL: _figures(played, np.ones(CLASSES))}


def bounds(
    make: Callable[[], SchedulePolicy],
    history: Imputer,
    terms: PlayTerms,
    draws: int = DRAWS,
    on_play: Callable[[int, int], None] | None = None,
) -> BoundTable:
    """Play the policy on every draw and both extremes."""
    truths: list[Callable[[], Truth]] = [partial(history.draw, n, draws) for n in range(draws)]
    truths += [partial(history.extreme, which) for which in Extreme]
    tables = []
    for n, truth in enumerate(truths, 1):
        tables.append(figures(play(make(), truth(), terms)))
        if on_play is not None:
            on_play(n, len(truths))
    return {
        risk: {name: _bounds(name, [table[risk][name] for table in tables], draws) for name in FIGURES}
        for risk in tables[0]
    }


def exact(table: Table) -> BoundTable:
    """The figures of a truth that is known, as bounds without width."""
    return {
        risk: {name: Bounds(value, value, value, value, value) for name, value in one.items()}
        for risk, one in table.items()
    }


def _figures(played: PlayResult, weight: Floats) -> Figures:
    changes = float(weight @ played.changes)
    return {
        "requests": float(weight @ played.looks) / played.days,
        "delay": _ratio(float(weight @ played.delay), changes),
        "within": _ratio(float(weight @ played.in_time), float(weight @ played.judged)),
        "missed": float(weight @ played.missed),
        "changes": changes,
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _bounds(name: str, values: Iterable[float], draws: int) -> Bounds:
    every = np.array(list(values))
    drawn, known = every[:draws], every[~np.isnan(every)]
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return Bounds(*[math.nan] * 5)
    low, high = _reach(drawn, _SPREAD[name], is_share=name in _SHARES)
    least, most = min(low, float(known.min())), max(high, float(known.max()))
    return Bounds(low, float(np.median(drawn)), high, least, most)


def _reach(drawn: Floats, deviations: float, *, is_share: bool) -> tuple[float, float]:
    scaled = drawn if is_share else np.log1p(drawn)
    spread = deviations * float(scaled.std(ddof=1)) if len(drawn) > 1 else 0.0
    low, high = float(scaled.mean()) - spread, float(scaled.mean()) + spread
    if is_share:
        return max(0.0, min(low, float(drawn.min()))), min(1.0, max(high, float(drawn.max())))
    return max(0.0, min(math.expm1(low), float(drawn.min()))), max(math.expm1(high), float(drawn.max()))
