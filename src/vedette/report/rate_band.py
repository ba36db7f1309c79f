"""A learned rate of change and how sure it is, on a line from once a year to every hour."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vedette.report.beliefs import Believed

WIDTH = 600.0
LEAST, MOST = 1 / 365, 24.0  # changes a day
_MARKS = ((1 / 365, "yearly"), (1 / 30, "monthly"), (1 / 7, "weekly"), (1.0, "daily"), (24.0, "hourly"))
_EDGE = 30.0  # room for the words of the first and the last mark
_UNITS = ((1.0, "day"), (7.0, "week"), (30.0, "month"), (365.0, "year"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RateBand:
    """Places on the line, and the same in words."""

    best: float
    low: float
    width: float
    words: str
    low_words: str
    high_words: str
    ticks: tuple[tuple[float, str], ...]


def rate_band(one: Believed) -> RateBand:
    low, high = _place(one.rate_low), _place(one.rate_high)
    return RateBand(
        best=_place(one.rate),
        low=low,
        width=round(max(2.0, high - low), 1),
        words=rate_words(one.rate),
        low_words=rate_words(one.rate_low),
        high_words=rate_words(one.rate_high),
        ticks=tuple((_place(rate), words) for rate, words in _MARKS),
    )


def rate_words(per_day: float) -> str:
    """`3.5 changes a week`: in the shortest time that has at least one."""
    if per_day * _UNITS[-1][0] < 0.05:
        return "hardly ever"
    days, name = next((unit for unit in _UNITS if per_day * unit[0] >= 1), _UNITS[-1])
    number = f"{per_day * days:.2g}" if per_day * days < 10 else f"{per_day * days:.0f}"
    return f"{number} {'change' if number == '1' else 'changes'} a {name}"


def _place(per_day: float) -> float:
    bounded = min(MOST, max(LEAST, per_day))
    share = math.log(bounded / LEAST) / math.log(MOST / LEAST)
    return round(_EDGE + (WIDTH - 2 * _EDGE) * share, 1)
