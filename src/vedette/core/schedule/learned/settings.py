"""The constants of the learned policy, each with its source, and what the scheduler publishes.

Every constant was chosen once for all worlds of the freshness judge together and then frozen
(docs/scheduling.md has the figures).  None depends on the number of targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

KAPPA = 1 / 24  # per hour: a day of age costs as much as being stale (cost J of the freshness judge)
WEIGHT = np.array([0.5, 1.0, 2.0, 4.0])  # a stale hour, LOW to CRITICAL (protocol.RISK_WEIGHT)
LEAST_HOURS = np.array([4.0, 4.0, 2.0, 1.0])  # min_interval per risk (docs/adr/README.md)
LEAST_HUB_HOURS = 1.0  # a listing speaks for targets of every risk
MOST_HOURS = 720.0  # 30 days, the ceiling of spec 000/4

PRIOR = (0.3, 100.0)  # Gamma(shape, clock hours) before anything was seen

STEADY = 0.5  # chance that a new target never sleeps
AWAKE = 0.8  # of those that sleep, awake when first met
FALLS_ASLEEP = 1 / (25 * 24)  # per hour
WAKES = 1 / (60 * 24)

BURST_HOURS = np.array([3.0, 12.0, 48.0])  # time constants of changes that follow a change
BURST_START = 0.3  # further changes per change and constant, before anything was seen,
BURST_TRUST = 20.0  # held with the weight of so many changes

FREE_PRICE = 1.0  # no budget binds: a look is worth one stale hour of a MEDIUM target
ACQUAINTED_HOURS = (
    6.0  # a new target is seen twice on one day, so that its noise is known before the date changes
)
ALIKE = 1e9  # the trust (lively.py) at which no host is more lively than another
START_PRICE = 10.0  # weighted stale hours per look; moves within the first looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What one scheduler learns from all targets and publishes; with it every worker decides alike."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Published:
        """From JSON, which knows lists only, and no infinity.  Of an older version, whose promises were a knapsack."""
        lists = {
            key: tuple(np.inf if part is None else part for part in one)
            for key, one in fields.items()
            if isinstance(one, list)
        }
        return cls(**{"kept_from": (np.inf,) * 4, **fields, **lists})

    price: float = START_PRICE
    prior: tuple[float, float] = PRIOR
    hosts: tuple[float, float] = (1.0, ALIKE)  # how far they differ, see lively.py
    bursts: tuple[float, ...] = (BURST_START,) * len(BURST_HOURS)
    own: float = (
        1.0  # changes seen for each that the rates alone expect, so that bursts explain only what decays
    )
    objective_price: tuple[float, ...] = (
        np.inf,
    ) * 4  # per risk: the least change per hour a tier look is for
    kept_from: tuple[float, ...] = (
        0.0,
    ) * 4  # per risk: changes per hour from which on its promise is kept (objective.py); inf: it cannot be
