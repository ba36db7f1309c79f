"""The targets as columns: 60 bytes each with the index (order.py) and the queue (ladder.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import NEW_MARK, Beliefs
from vedette.core.schedule.learned.settings import AWAKE, STEADY

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

KINDS: dict[str, Any] = {
    "id": np.int64, "host": np.int32, "hub": np.int32, "risk": np.int8, "failures": np.int8,
    "events": np.float32, "hours": np.float32, "steady": np.float16, "asleep": np.float16, "last": np.float64,
    "lag": np.float16, "mark": np.float16, "mark_lag": np.float16, "share": np.float16, "wait": np.float32,
    "promise": np.float16,
}  # fmt: skip
BELIEF = ("events", "hours", "steady", "asleep", "last", "lag", "mark", "mark_lag")
_NEW: dict[str, float] = {
    "hub": -1, "steady": STEADY, "asleep": (1 - STEADY) * (1 - AWAKE), "lag": np.inf, "mark": NEW_MARK,
    "promise": np.inf,
}  # fmt: skip
_MOST_LAG = 60_000.0  # float16 ends at 65,504; a change so long ago is as good as none


class Table:
    """Columns with room to grow.

    A target is due `wait` hours after its last good look by its price, or `promise` hours if an objective asks.
    """

    def __init__(self) -> None:
        self.size = 0
        self._columns: dict[str, NDArray[Any]] = {key: np.empty(0, kind) for key, kind in KINDS.items()}

    def __getitem__(self, key: str) -> NDArray[Any]:
        """The column; a view, so writing to it writes to the table."""
        return self._columns[key][: self.size]

    def add(self, ids: Rows, now: float) -> Rows:
        """New targets: never looked at, due at once."""
        rows = np.arange(self.size, self.size + len(ids))
        self._grow(len(ids))
        for key in KINDS:
            self[key][rows] = _NEW.get(key, 0)
        self["id"][rows] = ids
        self["last"][rows] = now
        return rows

    def due(self, rows: Rows) -> Floats:
        due: Floats = self["last"][rows] + np.minimum(self["wait"][rows], self["promise"][rows])
        return due

    def due_by_price(self, rows: Rows) -> Floats:
        due: Floats = self["last"][rows] + self["wait"][rows]
        return due

    def due_by_promise(self, rows: Rows) -> Floats:
        due: Floats = self["last"][rows] + self["promise"][rows]
        return due

    def beliefs(self, rows: Rows) -> Beliefs:
        return Beliefs(*(self[key][rows].astype(np.float64) for key in BELIEF))

    def believe(self, rows: Rows, b: Beliefs) -> None:
        for key in BELIEF:
            if key != "lag":
                self[key][rows] = getattr(b, key)
        self["lag"][rows] = np.where(b.lag > _MOST_LAG, np.inf, b.lag)

    def columns(self) -> dict[str, NDArray[Any]]:
        return {key: self[key] for key in KINDS}

    def restore(self, columns: dict[str, NDArray[Any]]) -> None:
        self._columns, self.size = columns, len(columns["id"])

    def _grow(self, more: int) -> None:
        room = len(self._columns["id"])
        self.size += more
        if self.size > room:
            wanted = max(self.size, room + room // 8)
            for key, column in self._columns.items():
                self._columns[key] = np.concatenate([column, np.empty(wanted - room, column.dtype)])
