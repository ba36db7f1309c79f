"""From ids to rows at 4 bytes per target: the rows in the order of their ids, searched by halving.

The ids themselves are the table's column.  New ids wait in a dict until they are sorted in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
_TAIL = 1024  # new ids found by dict; grows with the rest, so that adding stays cheap


class Order:
    def __init__(self) -> None:
        self.rows = np.empty(0, np.int32)
        self._tail: dict[int, int] = {}

    def find(self, wanted: Rows, ids: Rows) -> Rows:
        """The row of each wanted id; -1 where it is not known.  `ids` is the table's column."""
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
        """New ids and their rows, which are in the table already."""
        if len(new) > _TAIL + len(self.rows) // 8:
            self._sort_in(np.concatenate([self.rows, [*self._tail.values()], rows]), ids)
            return
        self._tail.update(zip(new.tolist(), rows.tolist(), strict=True))
        if len(self._tail) > _TAIL + len(self.rows) // 8:
            self._sort_in(np.concatenate([self.rows, [*self._tail.values()]]), ids)

    def _sort_in(self, rows: NDArray[np.generic], ids: Rows) -> None:
        every = rows.astype(np.int32)
        self.rows, self._tail = every[np.argsort(ids[every], kind="stable")], {}
