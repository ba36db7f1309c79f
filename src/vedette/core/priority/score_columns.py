"""The score of spec 002 for large lists: arrays in, arrays out, by the rules of `score.py`.

`visits` has no points, so it is no column; URLs stay with the caller, who asks for the rows that he shows.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.core.priority.score import (
    BASE,
    HIGHEST,
    LOWEST,
    MICROSECOND,
    MOST_AHEAD,
    RELEVANCE_POINTS,
    RULES,
    Facts,
    ScoredUrl,
    UrlSignals,
    check_now,
    half_up,
    scored,
)

Moments = NDArray[np.datetime64]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignalColumns:
    """UrlSignals by column, one row per URL.  Dates are `datetime64` in UTC, NaT where there is none."""

    last_visited: Moments
    last_changed: Moments
    topic_relevance: NDArray[np.float64]
    hub_depth: NDArray[np.int64]
    is_hub: NDArray[np.bool_]

    def __post_init__(self) -> None:
        for name, kinds in _KINDS.items():
            column = getattr(self, name)
            if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind not in kinds:
                raise InputError(f"{name} must be a numpy array of one dimension of {_WORDS[kinds]}")
            if len(column) != len(self.last_visited):
                raise InputError(
                    f"{name} has {len(column)} rows, last_visited has {len(self.last_visited)}; they must agree"
                )
        for name in ("last_visited", "last_changed"):
            _refuse(name, getattr(self, name), "in the years 1 to 9999", _is_out_of_time)
        _refuse("topic_relevance", self.topic_relevance, "from 0 to 1", _is_no_share)
        _refuse("hub_depth", self.hub_depth, "from 0 up", lambda depth: depth < 0)

    def __len__(self) -> int:
        return len(self.last_visited)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredColumns:
    """The scores, and what is needed to explain any row of them."""

    score: NDArray[np.uint8]
    marks: NDArray[np.uint8]  # bit n: row n of RULES holds
    relevance: NDArray[np.uint8]  # points

    def order(self, *, top: int | None = None, min_score: int = LOWEST) -> NDArray[np.int64]:
        """Rows by score, highest first; equal scores keep their order.  `top`: at most so many."""
        if top is not None and top < 0:
            raise InputError(f"top is {top}; it must be a whole number from 0 up, or None for all")
        rows = np.flatnonzero(self.score >= min_score)
        ranked = rows[np.argsort(HIGHEST - self.score[rows], kind="stable")]
        return ranked[:top]

    def scored(self, row: int, url: str) -> ScoredUrl:
        """The row as a value, with its reasons."""
        bits = int(self.marks[row])
        return scored(url, [bool(bits >> n & 1) for n in range(len(RULES))], int(self.relevance[row]))


def score_columns(columns: SignalColumns, *, now: datetime) -> ScoredColumns:
    """What `score_url_priority` gives for every row."""
    check_now(now)
    at = np.datetime64((now - _EPOCH) // MICROSECOND, "us")
    share = columns.topic_relevance.astype(np.float64, copy=False)  # of float32, 0.8 would not be above 0.8
    facts = Facts(
        visited=_ages("last_visited", columns.last_visited, at),
        changed=_ages("last_changed", columns.last_changed, at),
        relevance=share,
        depth=columns.hub_depth,
        is_hub=columns.is_hub,
    )
    relevance = half_up(share * RELEVANCE_POINTS).astype(np.uint8)
    marks = np.zeros(len(columns), np.uint8)
    total = relevance.astype(np.int16) + np.int16(BASE)
    for n, rule in enumerate(RULES):
        holds = rule.holds(facts)
        marks |= holds.astype(np.uint8) << np.uint8(n)
        total += holds * np.int16(rule.points)
    return ScoredColumns(total.clip(LOWEST, HIGHEST).astype(np.uint8), marks, relevance)


class ColumnBuilder:
    """Columns that grow row by row: 33 bytes a row, whatever the size of the list."""

    def __init__(self) -> None:
        self._visited, self._changed = array("q"), array("q")
        self._relevance, self._depth, self._is_hub = array("d"), array("q"), array("b")

    def add(self, signals: UrlSignals) -> None:
        self._visited.append(_ticks(signals.last_visited))
        self._changed.append(_ticks(signals.last_changed))
        self._relevance.append(signals.topic_relevance)
        self._depth.append(signals.hub_depth)
        self._is_hub.append(signals.is_hub)

    def columns(self) -> SignalColumns:
        return SignalColumns(
            last_visited=np.array(self._visited, np.int64).view("datetime64[us]"),
            last_changed=np.array(self._changed, np.int64).view("datetime64[us]"),
            topic_relevance=np.array(self._relevance, np.float64),
            hub_depth=np.array(self._depth, np.int64),
            is_hub=np.array(self._is_hub, np.bool_),
        )


def _ticks(moment: datetime | None) -> int:
    return _NAT if moment is None else (moment - _EPOCH) // MICROSECOND


_NAT = int(np.datetime64("NaT", "us").astype(np.int64))
_KINDS = {"last_visited": "M", "last_changed": "M", "topic_relevance": "f", "hub_depth": "iu", "is_hub": "b"}
_WORDS = {"M": "datetime64", "f": "floats", "iu": "integers", "b": "booleans"}


def _ages(name: str, moments: Moments, at: np.datetime64) -> NDArray[np.float64]:
    """Microseconds since then; NaN where there is no date.  Exact for 285 years, far beyond every bound."""
    fine = moments.astype("datetime64[us]")
    ages = (at - fine).astype(np.int64).astype(np.float64)
    ages[np.isnat(fine)] = np.nan
    _refuse(name, fine, "at most an hour after now", lambda column: ages < -MOST_AHEAD)
    return ages


def _is_out_of_time(column: Moments) -> Any:
    """Beyond `datetime`, where coarse units would wrap around as microseconds."""
    years = column.astype("datetime64[Y]").astype(np.int64) + 1970
    return ((years < 1) | (years > 9999)) & ~np.isnat(column)


def _is_no_share(column: NDArray[np.float64]) -> Any:
    return ~((column >= 0.0) & (column <= 1.0))  # NaN is none either


def _refuse(name: str, column: NDArray[Any], must: str, is_bad: Callable[[Any], Any]) -> None:
    rows = np.flatnonzero(is_bad(column))
    if len(rows):
        raise InputError(
            f"{name} of row {rows[0]} is {column[rows[0]]}; it must be {must}; {len(rows)} rows are so"
        )
