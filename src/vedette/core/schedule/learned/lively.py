"""Hosts differ: on one nearly every page changes some day, on another hardly any ever does.

A target that never changed is expected to do so by what its host's other targets did.  Of each host two sums are
kept: first changes of targets that looks found, and those that the beliefs, without this, had to expect.  How far
apart hosts are is learned too (`spread`): where they are all alike, the few changes of one host say nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.settings import ALIKE

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
_TRUSTS = np.geomspace(0.25, 256.0, 21)
_SURE = 4.0  # nats by which hosts that differ must fit better than hosts that are alike
_BOUNDS = (-4.0, 2.0)  # of the result, in powers of two,
_STEPS = 2  # and steps of each: what moves with every look would be another plan for every new page


class HostActivity:
    """Of hosts, by number."""

    def __init__(self) -> None:
        self.counts = np.zeros((0, 2))  # first changes seen, and expected

    def grow(self, hosts: int) -> None:
        more = hosts - len(self.counts)
        if more > 0:
            self.counts = np.concatenate([self.counts, np.zeros((more, 2))])

    def learn(self, host: Rows, seen: Floats, room: Floats) -> None:
        """Targets without a known change were looked at: how many had changed, how many were to be expected."""
        np.add.at(self.counts[:, 0], host, seen)
        np.add.at(self.counts[:, 1], host, room)

    def times(self, host: NDArray[Any], spread: tuple[float, float]) -> Floats:
        """How many times as likely as elsewhere a target of the host is to change at all."""
        ratio, trust = spread
        if trust >= ALIKE:
            return np.ones(len(host))
        seen, room = self.counts[host].T
        power = np.log2((seen + trust) / (ratio * room + trust))
        times: Floats = np.exp2(np.round(np.clip(power, *_BOUNDS) * _STEPS) / _STEPS)
        return times


def spread(counts: Floats) -> tuple[float, float]:
    """First changes seen for each expected, over all hosts, and the trust that a host is as the others are.

    The liveliness of hosts is Gamma(trust, trust), so first changes are negative binomial; the likeliest trust wins.
    """
    seen, room = counts[counts[:, 1] > 0].T
    if not seen.sum():
        return 1.0, ALIKE
    ratio = float(seen.sum() / room.sum())
    due = ratio * room
    alike = float((seen * np.log(due) - due).sum())
    fits = np.array([_fit(seen, due, float(trust)) for trust in _TRUSTS])
    best = int(fits.argmax())
    return (ratio, float(_TRUSTS[best])) if fits[best] > alike + _SURE else (ratio, ALIKE)


def _fit(seen: Floats, due: Floats, trust: float) -> float:
    """Log likelihood of the counts, but for what does not hang on the trust."""
    rising = np.array([_rising(trust, int(count)) for count in seen])
    mixed = seen * np.log(due / (trust + due)) - trust * np.log1p(due / trust)
    return float((rising + mixed).sum())


@lru_cache(maxsize=65536)
def _rising(trust: float, count: int) -> float:
    return math.lgamma(trust + count) - math.lgamma(trust)
