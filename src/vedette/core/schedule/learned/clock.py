"""When in the week do the pages of a host change?  Clock hours run fast when they do, slow when they do not.

A host has 48 numbers: the hours of a working day and of a weekend day.  A week has 168 clock hours whatever
the numbers are, so a rate per clock hour is a rate per hour on average.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WEEK = 168.0
_HOURS = np.arange(168)
_KIND = (_HOURS >= 120).astype(np.int64)  # 0: a working day, 1: a day of the weekend
_CELLS = 50  # two days of 25 sums
_CELL = 25 * _KIND + _HOURS % 24
_WORKDAYS = np.minimum(_HOURS // 24, 5).astype(np.float64)  # whole days of the week that are over
_FREE_DAYS = np.maximum(_HOURS // 24 - 5, 0).astype(np.float64)
_DAYS = np.array([5.0, 2.0])  # working days, weekend days
_FLAT_COUNT = 48.0  # changes of the whole population before its own rhythm outweighs a flat one
_SHARED_COUNT = 24.0  # changes of one host before its own rhythm outweighs that of all
_LONGEST = 24.0  # hours: a longer gap says nothing about the hour of the day
COMMON_LEAST = 48.0  # changes of all hosts before those without a clock of their own follow their rhythm
FLAT: NDArray[np.float32] = np.broadcast_to(np.arange(25, dtype=np.float32), (2, 25))


class Clocks:
    """Change counts per host and hour, and the clock that follows from them."""

    def __init__(self) -> None:
        self.counts = np.zeros((0, 2, 24), np.float32)
        self.shared = np.zeros((2, 24))
        self.upto = np.zeros((0, 2, 25), np.float32)  # clock hours from midnight to each full hour
        self.common = FLAT  # the published clock of hosts that have none of their own

    def grow(self, hosts: int) -> None:
        """Room for hosts 0 .. hosts - 1; a new one follows the clock of all."""
        more = hosts - len(self.counts)
        if more > 0:
            self.counts = np.concatenate([self.counts, np.zeros((more, 2, 24), np.float32)])
            self.upto = np.concatenate([self.upto, np.broadcast_to(self.common, (more, 2, 25))])

    def hours(self, host: NDArray[Any], start: Floats, end: Floats) -> Floats:
        """Clock hours from `start` to `end`; the arguments broadcast."""
        return self._reading(host, end) - self._reading(host, start)

    def now(self, host: NDArray[Any], t: Floats) -> Floats:
        """How fast the clock of each host runs at `t`; 1 on average over a week."""
        return self._speed(host, _hour(t)[0])

    def count(self, host: NDArray[Any], start: Floats, end: Floats) -> NDArray[Any]:
        """Changes that happened between `start` and `end` (equal: known to the moment).

        Gives the hosts that it counted for; their clocks go on as before until they are `set`.
        """
        short = end - start <= _LONGEST
        host, start, end = host[short], start[short], end[short]
        if not len(host):
            return host
        at = start[:, None] + (np.arange(8) + 0.5) / 8 * (end - start)[:, None]
        hour, _ = _hour(at)
        share = self._speed(host[:, None], hour)
        share /= share.sum(axis=1, keepdims=True)
        places = (np.broadcast_to(host[:, None], at.shape), _KIND[hour], hour % 24)
        np.add.at(self.counts, places, share.astype(np.float32))
        np.add.at(self.shared, places[1:], share)
        return host

    def learn(self, host: NDArray[Any], start: Floats, end: Floats) -> None:
        self.set(self.count(host, start, end))

    def set(self, hosts: NDArray[Any]) -> None:
        """From now on these clocks go by what was counted."""
        if len(hosts):
            self._set(np.unique(hosts))

    def shared_clock(self) -> Floats:
        """The clock of a host that nothing is known of."""
        return _summed(self._shared_speed())

    def _set(self, hosts: NDArray[Any]) -> None:
        counts = self.counts[hosts].astype(np.float64)
        week = (
            self._shared_speed() * _DAYS[:, None] / WEEK
        )  # share of the week's change per hour of each kind
        mixed = (_smooth(counts) + _SHARED_COUNT * week) / (
            counts.sum(axis=(1, 2), keepdims=True) + _SHARED_COUNT
        )
        self.upto[hosts] = _summed(mixed * WEEK / _DAYS[:, None]).astype(np.float32)

    def _speed(self, host: NDArray[Any], hour: NDArray[Any]) -> Floats:
        flat, place = self.upto.reshape(-1), host * _CELLS + _CELL[hour]
        speed: Floats = (flat.take(place + 1) - flat.take(place)).astype(np.float64)
        return speed

    def _shared_speed(self) -> Floats:
        flat = np.ones((2, 24)) * _DAYS[:, None] / WEEK
        mixed = (_smooth(self.shared) + _FLAT_COUNT * flat) / (self.shared.sum() + _FLAT_COUNT)
        speed: Floats = mixed * WEEK / _DAYS[:, None]
        return speed

    def _reading(self, host: NDArray[Any], t: Floats) -> Floats:
        """Clock hours since the first Monday."""
        hour, within = _hour(t)
        flat, first = self.upto.reshape(-1), np.multiply(host, _CELLS, dtype=np.int64)
        place = first + _CELL[hour]
        low = flat.take(place)
        days = _WORKDAYS[hour] * flat.take(first + 24) + _FREE_DAYS[hour] * flat.take(first + 49)
        weeks = np.floor(t) - hour
        reading: Floats = weeks + days + low + within * (flat.take(place + 1) - low)
        return reading


def _hour(t: Floats) -> tuple[NDArray[Any], Floats]:
    """Hour of the week, and the part of it that is gone."""
    whole = np.floor(t)
    return whole.astype(np.int64) % 168, t - whole


def _smooth(counts: Floats) -> Floats:
    """A quarter to each neighbouring hour, round the clock."""
    smooth: Floats = 0.5 * counts + 0.25 * (np.roll(counts, 1, axis=-1) + np.roll(counts, -1, axis=-1))
    return smooth


def _summed(speed: Floats) -> Floats:
    return np.concatenate([np.zeros((*speed.shape[:-1], 1)), speed.cumsum(axis=-1)], axis=-1)
