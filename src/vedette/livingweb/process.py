"""When pages change.  A process yields change times; a History remembers as many of them as were asked for.

Change times are whole seconds and no two are equal, so that Last-Modified can tell any two versions apart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from vedette.livingweb.chance import Chance

HOUR, DAY, WEEK = 3600.0, 86_400.0, 604_800.0
MONDAY = 4 * DAY  # 1970-01-05 00:00 UTC, so that (t - MONDAY) % WEEK is the second of the week
OPENS, CLOSES = 8, 17  # office hours, UTC
OFFICE_SHARE = 5 * (CLOSES - OPENS) / 168


class Process(Protocol):
    """How a page changes."""

    def times(self, chance: Chance, start: float) -> Iterator[float]:
        """Ascending times after `start`; may be endless."""
        ...


@dataclass(frozen=True, slots=True)
class Never:
    def times(self, chance: Chance, start: float) -> Iterator[float]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Poisson:
    per_day: float

    def times(self, chance: Chance, start: float) -> Iterator[float]:
        t = start
        while True:
            t += chance.exponential(DAY / self.per_day)
            yield t


@dataclass(frozen=True, slots=True)
class OfficeHours:
    """A Poisson process whose rate follows the week: `share` of all changes on Monday to Friday, 8 to 17."""

    per_day: float
    share: float = 0.95

    def times(self, chance: Chance, start: float) -> Iterator[float]:
        at_work = self.per_day * self.share / OFFICE_SHARE
        at_rest = self.per_day * (1 - self.share) / (1 - OFFICE_SHARE)
        peak, t = max(at_work, at_rest), start
        while True:
            t += chance.exponential(DAY / peak)
            if chance.unit() * peak < (at_work if _is_office(t) else at_rest):
                yield t


@dataclass(frozen=True, slots=True)
class Bursts:
    """Quiet for days, then about `size` edits minutes apart."""

    bursts_per_day: float
    size: float = 5.0
    gap: float = 600.0

    def times(self, chance: Chance, start: float) -> Iterator[float]:
        t = start
        while True:
            t += chance.exponential(DAY / self.bursts_per_day)
            yield t
            while chance.happens(1 - 1 / self.size):
                t += chance.exponential(self.gap)
                yield t


@dataclass(frozen=True, slots=True)
class Every:
    """Like a clock, with a phase of its own."""

    seconds: float

    def times(self, chance: Chance, start: float) -> Iterator[float]:
        t = start + chance.unit() * self.seconds
        while True:
            yield t
            t += self.seconds


@dataclass(frozen=True, slots=True)
class At:
    """Exactly then."""

    moments: tuple[float, ...]

    def times(self, chance: Chance, start: float) -> Iterator[float]:
        return iter(sorted(moment for moment in self.moments if moment > start))


class History:
    """The true changes of one page from `start` on.  Its first version is from `first_at`."""

    __slots__ = ("_first_at", "_source", "_start", "_times", "_until")

    def __init__(self, process: Process, chance: Chance, start: float, first_at: float) -> None:
        self._source = process.times(chance, start)
        self._start = start
        self._first_at = first_at
        self._times: list[float] = []
        self._until = start

    def version(self, t: float) -> int:
        """How many changes happened up to and including t."""
        self._know(t)
        return bisect_right(self._times, t)

    def changed_at(self, version: int) -> float:
        """When this version began."""
        return self._times[version - 1] if version else self._first_at

    def between(self, t0: float, t1: float) -> list[float]:
        """The changes in (t0, t1]."""
        self._know(t1)
        return self._times[bisect_right(self._times, t0) : bisect_right(self._times, t1)]

    def _know(self, t: float) -> None:
        while self._until <= t:
            raw = next(self._source, None)
            if raw is None:
                self._until = float("inf")
                return
            last = self._times[-1] if self._times else self._start
            self._until = max(float(int(raw)), float(int(last)) + 1.0)
            self._times.append(self._until)


@dataclass(frozen=True, slots=True)
class ChangeMix:
    """Which page of a host changes how: heavy-tailed rates (log-normal), some pages never."""

    median_days: float = 20.0
    sigma: float = 2.0
    cap_per_day: float = 24.0
    never: float = 0.15
    office: float = 0.35
    bursts: float = 0.15
    tempo: float = 1.0  # 10: everything ten times as often

    def draw(self, chance: Chance) -> Process:
        kind = chance.unit()
        rate = 2.718281828459045 ** (chance.normal() * self.sigma) / self.median_days
        rate = min(rate, self.cap_per_day) * self.tempo
        if kind < self.never or rate <= 0:
            return Never()
        if kind < self.never + self.office:
            return OfficeHours(rate)
        if kind < self.never + self.office + self.bursts:
            return Bursts(rate / 5.0, gap=600.0 / self.tempo)
        return Poisson(rate)


def _is_office(t: float) -> bool:
    second = (t - MONDAY) % WEEK
    return second < 5 * DAY and OPENS * HOUR <= second % DAY < CLOSES * HOUR
