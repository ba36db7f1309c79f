"""How much of the promise was kept lately?  The share of changes that were seen in time, as far as looks can tell.

A change with a date was in time or was not; one without fell anywhere between two looks.  A gap in which more was
expected counts for more changes.  Old days fade.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.words import Risk
from vedette.core.schedule.learned.learn import Lesson

Floats = NDArray[np.float64]
_FADE_HOURS = 120.0  # five days
_ENOUGH = 30.0  # changes before the measured share counts as much as the forecast


class Kept:
    """Per risk: changes seen in time, and changes seen."""

    def __init__(self) -> None:
        self.counts = np.zeros((2, len(Risk)))
        self.at = 0.0
        self.within = np.full(len(Risk), 4.0)  # hours; 000 section 8

    def learn(self, risk: NDArray[np.int8], lesson: Lesson) -> None:
        """Looks that found a change, at targets of these risks."""
        within, gap = self.within[risk], np.maximum(lesson.gap, 1e-6)
        in_time = np.where(np.isnan(lesson.since), np.minimum(1.0, within / gap), lesson.since <= within)
        expected = np.maximum(lesson.expected, 1e-6)
        weight = expected / -np.expm1(-expected) * (1.0 + lesson.followers)
        for place, seen in enumerate((in_time * weight, weight)):
            self.counts[place] += np.bincount(risk, seen, len(Risk))

    def fade(self, t: float) -> None:
        if t > self.at:
            self.counts *= np.exp(-(t - self.at) / _FADE_HOURS)
            self.at = t

    def corrected(self, risk: Risk, forecast: float, usual: float) -> float:
        """The forecast, moved as far as the measured share differs from what was forecast for the usual budget."""
        seen, count = self.counts[:, risk]
        if count <= 0 or not 0.0 < usual < 1.0:
            return forecast
        trust = count / (count + _ENOUGH)
        measured = min(max(seen / count, 1e-3), 1.0 - 1e-3)
        shift = trust * (_log_odds(measured) - _log_odds(usual))
        if not 0.0 < forecast < 1.0:
            return forecast
        return float(1.0 / (1.0 + np.exp(-(_log_odds(forecast) + shift))))


def _log_odds(p: float) -> float:
    return float(np.log(p / (1.0 - p)))
