"""What does a budget buy?  Expected freshness, age and coverage of interval policies, per risk class.

A target changes at the rate that its velocity implies.  Looked at every I hours, its copy is current
(1 - exp(-rate I)) / (rate I) of the time, and a change is seen within T hours with chance min(1, T / I).
With a budget the policy takes the best values, so looks settle where age / interval is the same for all:
the price.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason, Risk
from vedette.core.schedule.ewma import VelocityParams
from vedette.core.schedule.protocol import Forecast

DEFAULT_WITHIN = 4.0  # hours: spec 000/8 promises CRITICAL within 4
_LEAST_BUDGET = 1e-9  # looks per day; keeps a budget of 0 finite
_SHORTEST = 1 / 60  # hours; two looks in one moment say nothing about a rate
_SLOWEST = 1e-12  # changes per hour; below it a target is as good as static


def forecast(
    table: Mapping[str, NDArray[Any]],
    t: float,
    budget: float | None,
    objectives: Mapping[str, tuple[float, float]],
) -> Forecast:
    """Per risk class, what `budget` looks per day give.  `table` has risk, rate and hours of every target."""
    hours, risk = table["hours"], table["risk"]
    needed = float((24.0 / hours).sum()) if len(hours) else 0.0
    gap = hours if budget is None else hours * price(hours, budget)
    rate = table["rate"]
    fresh, age = _fresh(rate, gap), _age(rate, gap)
    within = {name: DEFAULT_WITHIN for name in Risk.__members__} | {
        name: reach for name, (reach, _) in objectives.items()
    }
    groups = {one.name: np.flatnonzero(risk == one) for one in Risk}
    missing = 0.0 if budget is None else max(0.0, needed - budget)
    return Forecast(
        at=t,
        budget=budget,
        needed=needed,
        shortfall=missing,
        freshness={name: _mean(fresh[rows], 1.0) for name, rows in groups.items()},
        age={name: _mean(age[rows], 0.0) for name, rows in groups.items()},
        within=within,
        coverage={name: _coverage(rate[rows], gap[rows], within[name]) for name, rows in groups.items()},
        reasons=(Reason("schedule", needed, "looks per day"), Reason("shortfall", missing, "looks per day")),
    )


def price(hours: NDArray[Any], budget: float | None) -> float:
    """How many intervals a target waits when `budget` looks a day go to the best values; 0: nothing binds."""
    if budget is None or not len(hours):
        return 0.0
    return float((24.0 / hours).sum()) / max(budget, _LEAST_BUDGET)


def rates(velocity: NDArray[Any], gap: NDArray[Any], params: VelocityParams) -> NDArray[np.float64]:
    """Changes per hour that a velocity implies, `gap` being the hours between the last two looks.

    The EWMA rises faster than it falls, so it settles above the share of looks that find a change: at
    v = a p / (a p + b (1 - p)) with its two alphas a and b.  Solved for p, that is what is used here.
    """
    rise, fall = params.alpha_change, params.alpha_stable
    seen = fall * velocity / (rise * (1 - velocity) + fall * velocity)
    rate: NDArray[np.float64] = np.maximum(-np.log1p(-seen) / np.maximum(gap, _SHORTEST), _SLOWEST)
    return rate


def check_objectives(objectives: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """By canonical risk name, hours above 0, share in (0, 1]."""
    checked = {}
    for name, goal in objectives.items():
        try:
            reach, share = float(goal[0]), float(goal[1])
            key = Risk.parse(name).name
        except (TypeError, ValueError, IndexError) as problem:
            raise InputError(f"objective {name!r}: {problem}; write (hours, share)") from None
        if not (0 < reach < float("inf") and 0 < share <= 1):
            raise InputError(
                f"objective {name!r}: hours above 0 and a share above 0, at most 1; got {goal!r}"
            )
        checked[key] = (reach, share)
    return checked


def _fresh(rate: NDArray[Any], gap: NDArray[Any]) -> NDArray[np.float64]:
    share: NDArray[np.float64] = -np.expm1(-rate * gap) / (rate * gap)
    return share


def _age(rate: NDArray[Any], gap: NDArray[Any]) -> NDArray[np.float64]:
    """Mean over the gap of x - (1 - exp(-rate x)) / rate, the expected age of the first unseen change."""
    x = rate * gap
    exact = gap * (0.5 - 1.0 / x - np.expm1(-x) / x**2)
    series = gap * (x / 6.0)  # for small x the exact form cancels away
    age: NDArray[np.float64] = np.where(x < 1e-3, series, exact)
    return age


def _coverage(rate: NDArray[Any], gap: NDArray[Any], within: float) -> float:
    if not len(rate):
        return 1.0
    return float((rate * np.minimum(1.0, within / gap)).sum() / rate.sum())


def _mean(column: NDArray[Any], empty: float) -> float:
    return float(column.mean()) if len(column) else empty
