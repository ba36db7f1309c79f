"""Hours in which a lane starts nothing: `22:00-06:00`, every day, UTC (spec 004, sleep windows)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_DAY = 24 * 60  # minutes


@lru_cache(64)
def sleep_minutes(windows: tuple[str, ...]) -> frozenset[int]:
    """The minutes of a day in which the lane sleeps.  A window that ends before it starts goes over midnight."""
    found: set[int] = set()
    for window in windows:
        match = _WINDOW.fullmatch(window.replace(" ", ""))
        if match is None:
            raise ValueError(f"{window!r} is no window of a day; write for example 22:00-06:00")
        hour, minute, end_hour, end_minute = map(int, match.groups())
        start, end = hour * 60 + minute, end_hour * 60 + end_minute
        if start == end:
            raise ValueError(f"{window!r} starts when it ends")
        found.update(at % _DAY for at in range(start, end if end > start else end + _DAY))
    if len(found) == _DAY:
        raise ValueError(f"{', '.join(windows)} leaves no minute of the day to work in")
    return frozenset(found)


def awake_at(windows: tuple[str, ...], at: datetime) -> datetime:
    """The first moment from `at` on in which the lane does not sleep.  `at` is in UTC."""
    asleep = sleep_minutes(windows) if windows else frozenset[int]()
    minute = at.hour * 60 + at.minute
    if minute not in asleep:
        return at
    wait = next(step for step in range(1, _DAY) if (minute + step) % _DAY not in asleep)
    return at.replace(second=0, microsecond=0) + timedelta(minutes=wait)


def awake_share(windows: tuple[str, ...]) -> float:
    """The part of a day in which the lane works."""
    return 1.0 - len(sleep_minutes(windows)) / _DAY if windows else 1.0
