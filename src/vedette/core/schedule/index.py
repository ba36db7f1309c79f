"""From ids to rows of columns: any 64-bit ids, whole arrays at once, 16 bytes per id."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_TAIL = (
    1024  # ids that are found by dict until they are sorted in; grows with the rest, so adding stays cheap
)

Rows = NDArray[np.int64]


class IdIndex:
    """Sorted ids with their rows, and a short unsorted tail."""

    def __init__(self) -> None:
        self._ids: Rows = np.empty(0, np.int64)
        self._rows: Rows = np.empty(0, np.int64)
        self._tail: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ids) + len(self._tail)

    def find(self, ids: Rows) -> Rows:
        """The row of each id; -1 where it is not known."""
        rows = np.full(len(ids), -1, np.int64)
        if len(self._ids):
            at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            hit = self._ids[at] == ids
            rows[hit] = self._rows[at[hit]]
        if self._tail:
            for place in np.flatnonzero(rows < 0).tolist():
                rows[place] = self._tail.get(int(ids[place]), -1)
        return rows

    def add(self, ids: Rows) -> Rows:
        """Rows for ids that are not known yet and differ from each other."""
        rows = np.arange(len(self), len(self) + len(ids), dtype=np.int64)
        self._tail.update(zip(ids.tolist(), rows.tolist(), strict=True))
        if len(self._tail) > _TAIL + len(self._ids) // 8:
            self._sort_in()
        return rows

    def _sort_in(self) -> None:
        ids = np.concatenate([self._ids, np.fromiter(self._tail, np.int64, len(self._tail))])
        rows = np.concatenate([self._rows, np.fromiter(self._tail.values(), np.int64, len(self._tail))])
        order = np.argsort(ids, kind="stable")
        self._ids, self._rows, self._tail = ids[order], rows[order], {}
