"""Chance without drawing: a counter-based hash of (seed, id, n).  One decision has one number, always."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014)
_GOLDEN = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_MASK = (1 << 64) - 1


def chances(seed: int, ids: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """A number in [0, 1) for each (id, n)."""
    with np.errstate(over="ignore"):
        mixed = _stir(ids.astype(np.uint64) + np.uint64(_start(seed)))
        mixed = _stir(mixed + n.astype(np.uint64) * np.uint64(_GOLDEN))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _start(seed: int) -> int:
    """The seed, stirred once: neighbouring seeds must not give neighbouring streams."""
    mixed = (seed * _GOLDEN + _GOLDEN) & _MASK
    for shift, factor in ((30, _MIX[0]), (27, _MIX[1])):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & _MASK
    return mixed ^ (mixed >> 31)


def _stir(mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_MIX[0])
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_MIX[1])
    return mixed ^ (mixed >> np.uint64(31))
