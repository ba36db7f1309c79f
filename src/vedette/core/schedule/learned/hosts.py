"""What is known per host: its clock, how lively it is, how far its listings and its Last-Modified may be believed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.schedule import HostBelief
from vedette.contracts.words import LaneKey
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.listing import Quality
from vedette.core.schedule.learned.lively import HostActivity
from vedette.core.schedule.learned.options import LearnedOptions

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_DATES = (1.0, 0.25)  # dates that could be true and that could not, before any was seen
_TRUSTED = 3.0  # believed while there are three times as many good ones
DOWN = 3  # failed looks in a row, of any targets, after which a host counts as down
PROBE_HOURS = 1.0  # between two tries of a host that is down (the breaker of spec 001: 1 h)
_TOO_NEW = 0.01  # a date within the last hundredth of the gap is as likely the time of the look

KINDS: dict[str, Any] = {
    "id": np.int64,
    "spent": np.float32,
    "day": np.float32,
    "streak": np.int16,
    "failed_at": np.float64,
    "dates": np.dtype((np.float32, (2,))),
    "lively": np.dtype((np.float64, (2,))),
    "quality": np.dtype((np.float64, (4,))),
    "counts": np.dtype((np.float32, (2, 24))),
    "upto": np.dtype((np.float32, (2, 25))),
}


class Hosts:
    """Hosts are numbered from 0 as they appear."""

    def __init__(self) -> None:
        self.clocks = Clocks()
        self.quality = Quality()
        self.lively = HostActivity()
        self.ids: dict[int, int] = {}
        self._dates = np.zeros((0, 2), np.float32)
        self._spent = np.zeros(0, np.float32)  # looks on the day below
        self._day = np.zeros(0, np.float32)
        self.streak = np.zeros(0, np.int16)  # failed looks in a row, over all targets of the host
        self.failed_at = np.zeros(0)
        self.dear = np.zeros(0)  # how many times the price a look costs; the engine's, see prices.py
        self.failing: dict[int, set[int]] = {}  # rows of each host whose last look failed

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, hosts: Rows) -> Rows:
        """The number of each host; new ones are taken in."""
        names, places = np.unique(hosts, return_inverse=True)
        numbers = np.array([self.ids.setdefault(one, len(self.ids)) for one in names.tolist()], np.int64)
        more = len(self.ids) - len(self._dates)
        if more:
            self.clocks.grow(len(self.ids))
            self.quality.grow(len(self.ids))
            self.lively.grow(len(self.ids))
            self._dates = np.concatenate([self._dates, np.tile(np.array(_DATES, np.float32), (more, 1))])
            self._spent, self._day, self.streak, self.failed_at = (
                np.concatenate([one, np.zeros(more, one.dtype)])
                for one in (self._spent, self._day, self.streak, self.failed_at)
            )
            self.dear = np.concatenate([self.dear, np.ones(more)])
        return numbers[places] if len(names) else np.empty(0, np.int64)

    def believed(self, host: Rows, seen: tuple[Flags, Floats, Floats, Floats]) -> Floats:
        """Last-Modified where the host's dates are to be trusted, else NaN; and count how these ones look.

        `seen`: was there a change, last look, this look, Last-Modified.  A date before the last look cannot be
        that of the change, a date after this look lies, one of just now is likely made up by the server.
        """
        changed, last, at, modified = seen
        given = changed & ~np.isnan(modified)
        good = (modified > last) & (modified <= at) & (at - modified > _TOO_NEW * (at - last))
        np.add.at(self._dates, (host[given], np.where(good[given], 0, 1)), 1.0)
        trusted = self._dates[host, 0] > _TRUSTED * self._dates[host, 1]
        return np.where(trusted & changed, modified, np.nan)

    def spend(self, host: Rows, at: Floats) -> None:
        """Count looks per host and day."""
        day = np.floor(at / 24.0).astype(np.float32)
        self._spent[host[day > self._day[host]]] = 0.0
        np.maximum.at(self._day, host, day)
        np.add.at(self._spent, host, 1.0)

    def left(self, host: Rows, t: float, options: LearnedOptions) -> dict[int, int]:
        """Looks that each host has left by now.  A day's budget opens hour by hour, so that it lasts the day."""
        day, hour = divmod(t / 24.0, 1.0)
        names = {number: one for one, number in self.ids.items()} if options.host_budgets else {}
        room = {}
        for number in host.tolist():
            most = options.host_budget(names.get(number, -1))
            if most is not None:
                spent = float(self._spent[number]) if self._day[number] == day else 0.0
                room[number] = max(0, int(most * min(1.0, hour + 1 / 24) - spent))
        return room

    def answered(self, host: Rows, rows: Rows, at: Floats, good: Flags) -> list[int]:
        """Note which looks failed.  Gives the rows that failed while their host was down, now that it is back."""
        back: set[int] = set()
        for number, row, t, is_good in zip(
            host.tolist(), rows.tolist(), at.tolist(), good.tolist(), strict=True
        ):
            if not is_good:
                self.failing.setdefault(number, set()).add(row)
                self.streak[number] = min(self.streak[number] + 1, 1000)
                self.failed_at[number] = t
            elif number in self.failing:
                self.failing[number].discard(row)
                if self.streak[number] >= DOWN:
                    back |= self.failing[number]
                self.streak[number] = 0
        return sorted(back - {int(row) for row in rows[~good]})

    def closed(self, t: float) -> dict[int, int]:
        """Hosts that are down and how many looks may try them now: one an hour."""
        down = np.flatnonzero(self.streak >= DOWN)
        return {int(one): int(t - self.failed_at[one] >= PROBE_HOURS) for one in down}

    def remember(self, number: int, row: HostBelief) -> None:
        """As its row says."""
        self.clocks.counts[number] = np.frombuffer(row.counts, "<f4").reshape(2, 24)
        self.quality.counts[number] = row.quality
        self.lively.counts[number] = row.lively
        self._dates[number] = row.dates
        self.streak[number], self.failed_at[number], self.dear[number] = row.streak, row.failed_at, row.dear

    def belief(self, number: int, lane: LaneKey) -> HostBelief:
        """As its row keeps it, but for the clock that is published for it."""
        return HostBelief(
            lane=lane,
            counts=self.clocks.counts[number].astype("<f4").tobytes(),
            quality=tuple(self.quality.counts[number].tolist()),
            dates=tuple(self._dates[number].tolist()),
            streak=int(self.streak[number]),
            failed_at=float(self.failed_at[number]),
            dear=float(self.dear[number]),
            lively=tuple(self.lively.counts[number].tolist()),
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        ids = np.fromiter(self.ids, np.int64, len(self.ids))
        return {
            "id": ids,
            "spent": self._spent,
            "day": self._day,
            "streak": self.streak,
            "failed_at": self.failed_at,
            "dates": self._dates,
            "lively": self.lively.counts,
            "quality": self.quality.counts,
            "counts": self.clocks.counts,
            "upto": self.clocks.upto,
        }

    def restore(self, columns: dict[str, NDArray[Any]], failing: tuple[Rows, Rows]) -> None:
        """`failing`: rows whose last look failed, and their hosts."""
        for row, host in zip(*(one.tolist() for one in failing), strict=True):
            self.failing.setdefault(host, set()).add(row)
        self.ids = {one: number for number, one in enumerate(columns["id"].tolist())}
        self._spent, self._day = columns["spent"], columns["day"]
        self.streak, self.failed_at = columns["streak"], columns["failed_at"]
        self.dear = np.ones(len(self.ids))
        self.lively.counts = columns["lively"]
        self._dates, self.quality.counts = columns["dates"], columns["quality"]
        self.clocks.counts, self.clocks.upto = columns["counts"], columns["upto"]
