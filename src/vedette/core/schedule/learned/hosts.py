"""What is known per host: its clock, how active it is, how far its listings and its Last-Modified may be believed.

Hosts differ: on one nearly every page changes some day, on another hardly any ever does.  A target that never changed
is expected to do so by what its host's other targets did.  Of each host two sums are kept: first changes of targets
that looks found, and those that the beliefs, without this, had to expect.  How far apart hosts are is learned too
(`spread`): where they are all alike, the few changes of one host say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.schedule import HostBelief
from vedette.contracts.words import LaneKey
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.listings import Quality
from vedette.core.schedule.learned.settings import ALIKE

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_DATES = (1.0, 0.25)  # dates that could be true and that could not, before any was seen
_TRUSTED = 3.0  # believed while there are three times as many good ones
DOWN = 3  # failed looks in a row, of any targets, after which a host counts as down
PROBE_HOURS = 1.0  # between two tries of a host that is down, as long as a lane's breaker keeps it closed
FRESH = 8  # changes of a host after which its clock is published anew
_MOST_STREAK = 1000
_TOO_NEW = 0.01  # a date within the last hundredth of the gap is as likely the time of the look
_TRUSTS = np.geomspace(0.25, 256.0, 21)
_SURE = 4.0  # nats by which hosts that differ must fit better than hosts that are alike
_BOUNDS = (-4.0, 2.0)  # of the activity, in powers of two,
_STEPS = 2  # and steps of each: what moves with every look would be another plan for every new page

KINDS: dict[str, Any] = {
    "dates": np.dtype((np.float32, (2,))), "streak": np.dtype(np.int16), "failed_at": np.dtype(np.float64),
    "price_factor": np.dtype(np.float64), "fresh": np.dtype(np.int32), "has_clock": np.dtype(np.bool_),
    "activity": np.dtype((np.float64, (2,))), "quality": np.dtype((np.float64, (4,))),
    "counts": np.dtype((np.float32, (2, 24))), "upto": np.dtype((np.float32, (2, 25))),
}  # fmt: skip


class Hosts:
    """Hosts are numbered from 0 as they appear.  The arrays have room for some more."""

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}
        self.clocks = Clocks()
        self.quality = Quality()
        self.activity = HostActivity()
        self.dates = np.zeros((0, 2), np.float32)
        self.streak = np.zeros(0, np.int16)  # failed looks in a row, over all targets of the host
        self.failed_at = np.zeros(0)
        self.price_factor = np.zeros(0)  # how many times the price a look costs (review.py)
        self.fresh = np.zeros(0, np.int32)  # changes counted since its clock was published
        self.has_clock = np.zeros(0, bool)  # its own; the others follow the clock of all

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, hosts: Iterable[Hashable]) -> Rows:
        """The number of each host; new ones are taken in."""
        ids = self.ids
        numbers = np.fromiter((ids.setdefault(one, len(ids)) for one in hosts), np.int64)
        room = len(self.streak)
        if len(ids) > room:  # by a quarter at a time: arrays are copied when they grow
            self._grow(max(len(ids), room + room // 4))
        return numbers

    def believed(self, host: Rows, seen: tuple[Flags, Floats, Floats, Floats]) -> Floats:
        """Last-Modified where the host's dates are to be trusted, else NaN; and count how these ones look.

        `seen`: was there a change, last look, this look, Last-Modified.  A date before the last look cannot be
        that of the change, a date after this look lies, one of just now is likely made up by the server.
        """
        changed, last, at, modified = seen
        given = changed & ~np.isnan(modified)
        good = (modified > last) & (modified <= at) & (at - modified > _TOO_NEW * (at - last))
        np.add.at(self.dates, (host[given], np.where(good[given], 0, 1)), 1.0)
        trusted = self.dates[host, 0] > _TRUSTED * self.dates[host, 1]
        return np.where(trusted & changed, modified, np.nan)

    def heard(self, number: int, ok: bool, t: float) -> tuple[bool, bool]:
        """Its answer to one look: (does its row change, is it back after it was down?)"""
        was = int(self.streak[number])
        if not ok:
            self.streak[number] = min(was + 1, _MOST_STREAK)
            self.failed_at[number] = t
        elif was:
            self.streak[number] = 0
        return not ok or was > 0, ok and was >= DOWN

    def remember(self, number: int, row: HostBelief) -> None:
        """As its row says, but for its clock."""
        self.clocks.counts[number] = np.frombuffer(row.counts, "<f4").reshape(2, 24)
        self.quality.counts[number] = row.quality
        self.activity.counts[number] = row.lively
        self.dates[number] = row.dates
        self.streak[number], self.failed_at[number] = row.streak, row.failed_at
        self.price_factor[number], self.fresh[number] = row.dear, row.fresh

    def belief(self, number: int, lane: LaneKey, clock: int | None) -> HostBelief:
        """As its row keeps it; `clock`: the id of its own published clock."""
        return HostBelief(
            lane=lane,
            counts=self.clocks.counts[number].astype("<f4").tobytes(),
            quality=tuple(self.quality.counts[number].tolist()),
            dates=tuple(self.dates[number].tolist()),
            streak=int(self.streak[number]),
            failed_at=float(self.failed_at[number]),
            dear=float(self.price_factor[number]),
            lively=tuple(self.activity.counts[number].tolist()),
            clock=clock,
            fresh=int(self.fresh[number]),
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """One array for each of KINDS."""
        arrays = {
            "activity": self.activity.counts, "quality": self.quality.counts,
            "counts": self.clocks.counts, "upto": self.clocks.upto,
        }  # fmt: skip
        return {key: arrays.get(key, getattr(self, key, None))[: len(self)] for key in KINDS}  # type: ignore[index]

    def restore(self, ids: Iterable[Hashable], columns: dict[str, NDArray[Any]]) -> None:
        self.ids = {one: number for number, one in enumerate(ids)}
        columns = dict(columns)
        self.activity.counts, self.quality.counts = columns.pop("activity"), columns.pop("quality")
        self.clocks.counts, self.clocks.upto = columns.pop("counts"), columns.pop("upto")
        for key, column in columns.items():
            setattr(self, key, column)

    def _grow(self, room: int) -> None:
        more = room - len(self.streak)
        for part in (self.clocks, self.quality, self.activity):
            part.grow(room)
        self.dates = np.concatenate([self.dates, np.tile(np.array(_DATES, np.float32), (more, 1))])
        self.price_factor = np.concatenate([self.price_factor, np.ones(more)])
        for key in ("streak", "failed_at", "fresh", "has_clock"):
            column = getattr(self, key)
            setattr(self, key, np.concatenate([column, np.zeros(more, column.dtype)]))


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

    The activity of hosts is Gamma(trust, trust), so first changes are negative binomial; the likeliest trust wins.
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
