"""What was seen, as columns: who was looked at when, and which looks showed a change.

History is interval-censored: a look that shows a change says that it came after the look before, not when, nor
whether it came alone.  Times are hours of the schedule layer (`core/schedule/hours.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Whom it is about.  A target's row number is its id wherever a policy is played."""

    risk: Rows  # ranks, LOW 0 to CRITICAL 3
    host: Rows
    since: Floats  # known to us from then on

    def __len__(self) -> int:
        return len(self.risk)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Looks that said something about the content, by row, then by time.  `start` and `end` frame all of them."""

    targets: Targets
    row: Rows
    at: Floats
    changed: Flags  # differs from the look before; never the first look of a row
    audit: Floats  # hours of the interval that an audit fell into; NaN: not an audit
    start: float
    end: float
    requests: int  # all that were made, failed ones and second looks too

    @property
    def days(self) -> float:
        return (self.end - self.start) / 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Every change of every target, by row, then by time."""

    targets: Targets
    row: Rows
    at: Floats
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """The time between two looks at one target, and whether it held a change."""

    row: Rows
    begin: Floats
    end: Floats
    changed: Flags

    @property
    def hours(self) -> Floats:
        return self.end - self.begin


def sorted_truth(targets: Targets, row: Rows, at: Floats, frame: tuple[float, float]) -> Truth:
    """Changes in any order as a Truth; those outside the frame are left out."""
    start, end = frame
    _check_frame(start, end)
    inside = (at > start) & (at <= end)
    row, at = row[inside], at[inside]
    order = np.lexsort((at, row))
    return Truth(targets=targets, row=row[order], at=at[order], start=start, end=end)


def gaps(history: History) -> Gaps:
    """Between consecutive looks of each target."""
    same = history.row[1:] == history.row[:-1]
    return Gaps(
        row=history.row[1:][same],
        begin=history.at[:-1][same],
        end=history.at[1:][same],
        changed=history.changed[1:][same],
    )


def first_and_last(history: History) -> tuple[Floats, Floats]:
    """When each target was looked at first and last; `end` and `end` for one that never was."""
    n = len(history.targets)
    first, last = np.full(n, history.end), np.full(n, history.end)
    if len(history.row):
        rows, begin = np.unique(history.row, return_index=True)
        stop = np.r_[begin[1:], len(history.row)] - 1
        first[rows], last[rows] = history.at[begin], history.at[stop]
    return first, last


def _check_frame(start: float, end: float) -> None:
    if not start < end:
        raise InputError(f"a history from {start!r} to {end!r} has no length")
