"""What callers hand over, checked once for every policy, and the rows of their ids.

Bad input is an InputError that says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule.protocol import Risks

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Floats, Ints

Rows = NDArray[np.int64]
SIGNALS = frozenset(("hub", "sitemap", "feed", "push"))
_TAIL = 1024  # new ids found by dict; grows with the rest, so that adding stays cheap


def as_ids(ids: Ints) -> Rows:
    keys = np.asarray(ids)
    if keys.size == 0:
        return np.empty(0, np.int64)
    if keys.ndim != 1 or keys.dtype.kind not in "iu":
        raise InputError("ids are one row of whole numbers")
    return keys.astype(np.int64, copy=False)


def one_each(keys: Rows, values: Ints, what: str) -> Rows:
    column = as_ids(values)
    if len(column) != len(keys):
        raise InputError(f"{len(keys)} ids and {len(column)} values of {what}: give one for each")
    return column


def as_ranks(risk: Risks, n: int) -> NDArray[np.int8]:
    """Ranks from names or ranks, one for all or one each."""
    asked = np.asarray(risk, object)
    given = [asked.item()] * n if asked.ndim == 0 else asked.tolist()
    if len(given) != n:
        raise InputError(f"{n} ids and {len(given)} risks: give one for each, or one for all")
    known: dict[object, int] = {}
    for word in given:
        if word not in known:
            known[word] = _rank(word)
    return np.fromiter((known[word] for word in given), np.int8, n)


def _rank(word: str | int) -> int:
    try:
        return Risk.parse(word) if isinstance(word, str) else Risk(word)
    except (TypeError, ValueError) as problem:
        raise InputError(f"risk: {problem}") from None


def as_time(t: float) -> None:
    if not math.isfinite(t):
        raise InputError(f"time is {t!r}; it must be a number of hours")


def as_times(t: float | Floats, n: int) -> NDArray[np.float64]:
    column = np.asarray(t, np.float64)
    if not np.isfinite(column).all() or column.shape not in ((), (n,)):
        raise InputError("times are hours: one for all ids, or one for each")
    return np.broadcast_to(column, (n,))


def as_dates(dates: Floats | None, n: int) -> NDArray[np.float64]:
    """Dates in hours, NaN where none is known; what is infinite is no date."""
    if dates is None:
        return np.full(n, np.nan)
    column = np.asarray(dates, np.float64)
    if column.shape != (n,):
        raise InputError(f"{n} ids and {column.size} dates: give one for each, NaN where there is none")
    return np.where(np.isfinite(column), column, np.nan)


def is_good(status: Rows) -> NDArray[np.bool_]:
    good: NDArray[np.bool_] = ((status >= 200) & (status < 300)) | (status == 304)
    return good


def fits(host: Rows, room: Mapping[int, int]) -> NDArray[np.bool_]:
    """Best first: does the n-th of its host still fit?"""
    order = np.argsort(host, kind="stable")
    ordered = host[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(host) else order
    nth = np.empty(len(host), np.int64)
    nth[order] = np.arange(len(host)) - np.repeat(first, np.diff(np.r_[first, len(host)]))
    most = np.array([room.get(int(one), len(host)) for one in ordered[first]], np.int64)
    limit = np.empty(len(host), np.int64)
    limit[order] = np.repeat(most, np.diff(np.r_[first, len(host)]))
    fits: NDArray[np.bool_] = nth < limit
    return fits


class IdIndex:
    """From ids to rows at 4 bytes for each: the rows in the order of their ids, searched by halving.

    The ids themselves are a column of the caller.  New ids wait in a dict until they are sorted in.
    """

    def __init__(self) -> None:
        self.rows = np.empty(0, np.int32)
        self._tail: dict[int, int] = {}

    def find(self, wanted: Rows, ids: Rows) -> Rows:
        """The row of each wanted id; -1 where it is not known.  `ids` is the column."""
        found = np.full(len(wanted), -1, np.int64)
        if len(self.rows):
            low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(self.rows))
            for _ in range(len(self.rows).bit_length()):
                middle = (low + high) >> 1
                less = ids[self.rows[np.minimum(middle, len(self.rows) - 1)]] < wanted
                go = low < high
                low = np.where(go & less, middle + 1, low)
                high = np.where(go & ~less, middle, high)
            at = self.rows[np.minimum(low, len(self.rows) - 1)]
            found = np.where(ids[at] == wanted, at, found)
        if self._tail:
            for place in np.flatnonzero(found < 0).tolist():
                found[place] = self._tail.get(int(wanted[place]), -1)
        return found

    def add(self, new: Rows, rows: Rows, ids: Rows) -> None:
        """New ids and their rows, which are in the column already."""
        if len(new) > _TAIL + len(self.rows) // 8:
            self._sort_in(np.concatenate([self.rows, [*self._tail.values()], rows]), ids)
            return
        self._tail.update(zip(new.tolist(), rows.tolist(), strict=True))
        if len(self._tail) > _TAIL + len(self.rows) // 8:
            self._sort_in(np.concatenate([self.rows, [*self._tail.values()]]), ids)

    def _sort_in(self, rows: NDArray[np.generic], ids: Rows) -> None:
        every = rows.astype(np.int32)
        self.rows, self._tail = every[np.argsort(ids[every], kind="stable")], {}
