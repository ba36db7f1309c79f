"""What is to be expected of a target that nobody has watched yet?  The Gamma that the others fit best.

One step of expectation and maximisation at every review: the mean rate and the mean log rate of the targets, as
believed, are those of the new prior.  It starts from PRIOR, held with the weight of some targets.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import Beliefs
from vedette.core.schedule.learned.settings import PRIOR

Floats = NDArray[np.float64]
_TRUST = 100.0  # targets that the first prior counts for
_SHAPES = (0.15, 1.0)  # outside, a few odd targets would rule all others
_HOURS = (50.0, 500.0)


def fitted(b: Beliefs, prior: tuple[float, float]) -> tuple[float, float]:
    """The next prior, given the one in force and targets that were looked at."""
    seen = b.hours > 0
    shape, hours = b.events[seen] + prior[0], b.hours[seen] + prior[1]
    count = len(shape) + _TRUST
    mean = ((shape / hours).sum() + _TRUST * PRIOR[0] / PRIOR[1]) / count
    first = float(digamma(np.array([PRIOR[0]]))[0]) - math.log(PRIOR[1])
    mean_log = ((digamma(shape) - np.log(hours)).sum() + _TRUST * first) / count
    new = float(np.clip(_shape(math.log(mean) - mean_log), *_SHAPES))
    return new, float(np.clip(new / mean, *_HOURS))


def digamma(x: Floats) -> Floats:
    """By recurrence to x + 6 and Stirling's series; error below 1e-7."""
    far = x + 6.0
    below = sum(1.0 / (x + k) for k in range(6))
    result: Floats = np.log(far) - 0.5 / far - 1.0 / (12.0 * far**2) + 1.0 / (120.0 * far**4) - below
    return result


def _shape(gap: float) -> float:
    """The shape with log(shape) - digamma(shape) = gap, by halving."""
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = math.sqrt(low * high)
        if math.log(middle) - float(digamma(np.array([middle]))[0]) > gap:
            low = middle
        else:
            high = middle
    return low
