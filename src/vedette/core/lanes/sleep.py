"""Hours in which a lane starts nothing, in UTC (spec 004, sleep windows).

`22:00-06:00` is every night, `Sat-Sun` the whole weekend, `Fri 18:00-07:00` the night that begins on a Friday.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAYS = r"([A-Za-z]{3})(?:-([A-Za-z]{3}))?"
_HOURS = r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)"
_WINDOW = re.compile(rf"(?:{_DAYS})?(?:{_HOURS})?")
_DAY = 24 * 60  # minutes
_WEEK = 7 * _DAY


@lru_cache(64)
def sleep_minutes(windows: tuple[str, ...]) -> frozenset[int]:
    """The minutes of a week, from Monday on, in which the lane sleeps.

    A window that ends before it starts goes over midnight, from the days that it names into the ones after them.
    """
    found: set[int] = set()
    for window in windows:
        start, end = _hours(window)
        for day in _days(window):
            found.update((day * _DAY + at) % _WEEK for at in range(start, end))
    if len(found) == _WEEK:
        raise ValueError(f"{', '.join(windows)} leaves no minute of the week to work in")
    return frozenset(found)


def awake_at(windows: tuple[str, ...], at: datetime) -> datetime:
    """The first moment from `at` on in which the lane does not sleep.  `at` is in UTC."""
    if not windows:
        return at
    wait = _waits(windows)[at.weekday() * _DAY + at.hour * 60 + at.minute]
    return at if wait == 0 else at.replace(second=0, microsecond=0) + timedelta(minutes=wait)


def awake_share(windows: tuple[str, ...]) -> float:
    """The part of the time in which the lane works."""
    return 1.0 - len(sleep_minutes(windows)) / _WEEK if windows else 1.0


@lru_cache(64)
def _waits(windows: tuple[str, ...]) -> tuple[int, ...]:
    """How many minutes are left to sleep, for each minute of a week."""
    asleep = sleep_minutes(windows)
    waits = [0] * _WEEK
    for at in range(2 * _WEEK - 1, -1, -1):  # twice: a sleep may go on into the next week
        minute = at % _WEEK
        waits[minute] = waits[(minute + 1) % _WEEK] + 1 if minute in asleep else 0
    return tuple(waits)


def _days(window: str) -> list[int]:
    first, last = _match(window).group(1, 2)
    if first is None:
        return list(range(7))
    for name in (first, last or first):
        if name.lower() not in DAYS:
            raise ValueError(f"{name!r} is no day; write {', '.join(map(str.title, DAYS))}")
    start, end = DAYS.index(first.lower()), DAYS.index((last or first).lower())
    return [(start + step) % 7 for step in range((end - start) % 7 + 1)]


def _hours(window: str) -> tuple[int, int]:
    """From and to, in minutes of a day; beyond its end where the window goes over midnight."""
    hours = _match(window).group(3, 4, 5, 6)
    if hours[0] is None:
        return 0, _DAY
    start, end = int(hours[0]) * 60 + int(hours[1]), int(hours[2]) * 60 + int(hours[3])
    if start == end:
        raise ValueError(f"{window!r} starts when it ends")
    return start, end if end > start else end + _DAY


def _match(window: str) -> re.Match[str]:
    match = _WINDOW.fullmatch(window.replace(" ", ""))
    if match is None or not match.group():
        raise ValueError(
            f"{window!r} is no window of time; write for example 22:00-06:00, Sat-Sun or Fri 18:00-07:00"
        )
    return match
