"""May one more look start today?  At most `per_day` looks start in any 24 hours, whatever else is decided.

A bucket (GCRA, as in core/lanes/lane.py) that holds one hour's worth and fills in the course of a day: burst plus what
fills in 24 hours is the budget, so no window of 24 hours ever sees more.  A quarter of the bucket is kept for second
looks: what differs between two looks is noise only when they are seconds apart.

Every look counts: first and later ones, those that fail and are tried again, second looks, audits, listings.
What a look needs on its way does not: robots.txt and redirects are requests, and the lanes bound those.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

_DAY = timedelta(days=1)
_BURSTS = 24  # a day's budget is this many bursts
_RESERVE = 4  # one in so many looks of a burst is for second looks
_LEAST_FOR_TWO = 4  # looks per day from which on two may start at once


@dataclass(frozen=True, slots=True)
class LookAllowance:
    """Looks per day."""

    per_day: float

    @property
    def burst(self) -> int:
        """Looks that may start at once: at least one and its second look."""
        return max(1 if self.per_day < _LEAST_FOR_TWO else 2, int(self.per_day / _BURSTS))

    @property
    def reserve(self) -> int:
        """Of these, for second looks."""
        return 0 if self.burst == 1 else max(1, self.burst // _RESERVE)

    @property
    def steady(self) -> float:
        """Looks per day in the long run: the burst is given once."""
        return self.per_day - self.burst if self.per_day >= 2 else min(self.per_day, 1.0)

    @property
    def step(self) -> timedelta:
        return _DAY / self.steady


def opens_at(
    allowance: LookAllowance, empty_at: datetime | None, now: datetime, *, is_second: bool = False
) -> datetime | None:
    """When a look may start; None: now.  `empty_at`: when the bucket is empty again."""
    empty_at = within(allowance, empty_at, now)
    if empty_at is None:
        return None
    reserve = 0 if is_second else allowance.reserve
    at = empty_at - allowance.step * (allowance.burst - 1 - reserve)
    return at if at > now else None


def spent(allowance: LookAllowance, empty_at: datetime | None, now: datetime, looks: float = 1.0) -> datetime:
    """When the bucket is empty again, after so many looks more."""
    empty_at = within(allowance, empty_at, now)
    return (now if empty_at is None else max(empty_at, now)) + allowance.step * looks


def given_back(allowance: LookAllowance, empty_at: datetime) -> datetime:
    """The look did not take place."""
    return empty_at - allowance.step


def used(allowance: LookAllowance, empty_at: datetime | None, now: datetime) -> float:
    """How much of the bucket is in use, in looks."""
    empty_at = within(allowance, empty_at, now)
    return 0.0 if empty_at is None else max(0.0, (empty_at - now) / allowance.step)


def within(allowance: LookAllowance, empty_at: datetime | None, now: datetime) -> datetime | None:
    """Nobody owes more than a day.  What lies further ahead is of a clock that stood ahead: a used-up bucket."""
    if empty_at is None or empty_at <= now + max(_DAY, allowance.step * allowance.burst) + allowance.step:
        return empty_at
    return now + allowance.step * allowance.burst
