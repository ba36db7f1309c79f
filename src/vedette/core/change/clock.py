"""Values that show when the page was asked for: a time of day, a date, seconds since 1970."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from vedette.contracts.change import Template
from vedette.core.change.kinds import DATE, NUMBER, TIME, kind_of
from vedette.core.change.template import values
from vedette.core.text.dates import read_date

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)  # within less hardly any midnight passes, and a date that moves was edited
TOLERANCE = timedelta(minutes=2)
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})")


def shows_the_time(template: Template, texts: tuple[str, str], ats: tuple[datetime, datetime]) -> bool:
    """Did every value move exactly as far as the time between the two looks?"""
    shown = values(template, texts[0]), values(template, texts[1])
    if shown[0] is None or shown[1] is None:
        return False
    pairs = zip(shown[0], shown[1], template.kinds, strict=True)
    return all(_is_clock(one, other, kind, ats) for one, other, kind in pairs)


def bare_clock(one: str, other: str, ats: tuple[datetime, datetime]) -> str | None:
    """The kind of value, where lines hold nothing but one that moved with the time."""
    kind = kind_of(one)
    return kind if kind == kind_of(other) and _is_clock(one, other, kind, ats) else None


def shows_moment(text: str, at: datetime) -> bool:
    """May a line that is nothing but a value show this moment?  A time of day may, in some part of the world."""
    if kind_of(text) != DATE:
        return True
    date = read_date(text)
    return date is not None and abs(date - at) <= DAY


def rises(template: Template, one: str, other: str) -> bool:
    """Is it one whole number that went up?"""
    if template.kinds != (NUMBER,):
        return False
    shown = values(template, one), values(template, other)
    if shown[0] is None or shown[1] is None or "," in shown[0][0] + shown[1][0]:
        return False
    sizes = [_size(value[0]) for value in shown if value is not None]
    return sizes[0] < sizes[1]


def _size(value: str) -> tuple[int, str]:
    """Ordered like the numbers, however long they are."""
    digits = "".join(char for char in value if char.isdigit()).lstrip("0")
    return len(digits), digits


def _is_clock(one: str, other: str, kind: str, ats: tuple[datetime, datetime]) -> bool:
    if kind == TIME:
        return _is_time_of_day(one, other, ats[1] - ats[0])
    if kind == DATE:
        dates = read_date(one), read_date(other)
        near = [date is not None and abs(date - at) <= DAY for date, at in zip(dates, ats, strict=True)]
        return all(near) and (ats[1] - ats[0] >= HOUR or _moves_with_time(one, other, ats[1] - ats[0]))
    return kind == NUMBER and _is_epoch(one, other, ats[1] - ats[0])


def _moves_with_time(one: str, other: str, passed: timedelta) -> bool:
    """Over midnight a date moves within the hour; the time of day beside it tells."""
    first, then = _TIME_OF_DAY.search(one), _TIME_OF_DAY.search(other)
    return first is not None and then is not None and _is_time_of_day(first[0], then[0], passed)


def _is_time_of_day(one: str, other: str, passed: timedelta) -> bool:
    read = [_TIME_OF_DAY.match(text) for text in (one, other)]
    minutes = [int(found[1]) * 60 + int(found[2]) for found in read if found is not None]
    if len(minutes) < len(read):  # the place showed a time, and something else beside it
        return False
    shown = timedelta(minutes=(minutes[1] - minutes[0]) % 1440)
    off = abs(shown - passed % DAY)
    return min(off, DAY - off) <= TOLERANCE


def _is_epoch(one: str, other: str, passed: timedelta) -> bool:
    """Seconds or milliseconds since 1970."""
    if not (one.isdecimal() and other.isdecimal() and len(one) == len(other) and len(one) in (10, 13)):
        return False
    unit = timedelta(seconds=1) if len(one) == 10 else timedelta(milliseconds=1)
    return abs((int(other) - int(one)) * unit - passed) <= TOLERANCE
