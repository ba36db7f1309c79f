"""Does it happen as often as we say?  What was predicted, bin by bin, against what the looks then saw.

The bins are even in log odds.  A bin corrects itself as far as it has seen, or should have seen, enough *changes*:
many looks at what hardly ever changes say little.  Between bins it is interpolated, down to no chance at no time.
Only what is told to people is corrected: the order of looks does not depend on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EDGES = np.linspace(-5.0, 5.0, 15)  # log odds: from 0.7 % to 99.3 %
_TRUST = 10.0  # changes before a bin believes what it saw more than what it predicted
BINS = len(_EDGES) + 1


class Calibration:
    """Per bin: looks, sum of the predictions, changes seen."""

    def __init__(self) -> None:
        self.counts = np.zeros((3, BINS))

    def learn(self, predicted: Floats, changed: NDArray[np.bool_]) -> None:
        place = np.digitize(_log_odds(predicted), _EDGES)
        for row, seen in enumerate((np.ones(len(place)), predicted, changed.astype(np.float64))):
            self.counts[row] += np.bincount(place, seen, BINS)

    def honest(self, p: Floats) -> Floats:
        """The chance to tell: the predicted one, moved by what such predictions were worth so far."""
        looks, said, seen = self.counts
        middle = _chance(np.r_[_EDGES[0] - 1, (_EDGES[1:] + _EDGES[:-1]) / 2, _EDGES[-1] + 1])
        at = np.where(looks > 0, said / np.maximum(looks, 1.0), middle)
        times = (seen + _TRUST) / (said + _TRUST)
        now = np.maximum.accumulate(np.minimum(at * times, 1.0))
        told: Floats = np.interp(p, np.r_[0.0, at, 1.0], np.r_[0.0, now, 1.0])
        return told


def _log_odds(p: Floats) -> Floats:
    inside = np.clip(p, 1e-9, 1.0 - 1e-9)
    odds: Floats = np.log(inside / (1.0 - inside))
    return odds


def _chance(odds: Floats) -> Floats:
    chance: Floats = 1.0 / (1.0 + np.exp(-odds))
    return chance
