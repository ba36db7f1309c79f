"""A queue by due time that stays cheap at a million targets: three tiers, each a small part of the one above.

All rows stand in `far`.  The earliest of them are also in `near`, the earliest of those in `hot`, which alone is
looked through for a decision.  A tier that runs low is filled from the one above by one partition of it, so a
decision costs O(1) on average.  Rows that moved are dropped from a tier when it is next looked through.

`vedette run` has its queue in the database; this one serves the policy in memory (policy.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

Due = Callable[[Rows], NDArray[np.float64]]  # due times of rows
_NEAR_PART = 32  # near is a 32nd of far
_LEAST_NEAR = 4096
_HOT_MOST = 512  # hot rows before the later ones step back
_FAR, _NEAR, _HOT = 0, 1, 2
_ALL = 1e300  # a tier that reaches this far holds all rows that are ever due


class TieredDueQueue:
    """Keeps the tier of each row, one byte.  Due times are the caller's."""

    def __init__(self, due: Due) -> None:
        self._due = due
        self.tier = np.zeros(0, np.int8)
        self._near: list[Rows] = []
        self._hot: Rows = np.empty(0, np.int64)
        self._near_until = -np.inf
        self._hot_until = -np.inf

    def moved(self, rows: Rows, size: int) -> None:
        """These rows have new due times; there are `size` rows in all."""
        if size > len(self.tier):
            self.tier = np.concatenate([self.tier, np.zeros(size - len(self.tier), np.int8)])
        when, tier = self._due(rows), self.tier[rows]
        into_hot = rows[(when <= self._hot_until) & (tier != _HOT)]
        into_near = rows[(when > self._hot_until) & (when <= self._near_until) & (tier == _FAR)]
        if len(into_hot):
            self.tier[into_hot] = _HOT
            self._hot = np.concatenate([self._hot, into_hot])
        if len(into_near):
            self.tier[into_near] = _NEAR
            self._near.append(into_near)

    def first(self, count: int) -> Rows:
        """The `count` rows due first, earliest first, of equals the lower row; all that are ever due when fewer."""
        count = min(count, len(self.tier))
        self._hot = self._keep(self._hot)
        if len(self._hot) < count and self._hot_until < _ALL:
            self._fill_hot(count)
        elif len(self._hot) > max(_HOT_MOST, 4 * count):
            self._thin(2 * count)
        due = self._due(self._hot)
        return self._hot[np.lexsort((self._hot, due))[:count]]

    def held(self) -> list[NDArray[np.generic]]:
        """Every array that is kept."""
        return [self.tier, self._hot, *self._near]

    def _keep(self, rows: Rows) -> Rows:
        due = self._due(rows)
        stays = due <= self._hot_until
        gone, when = rows[~stays], due[~stays]
        if len(gone):
            back = when <= self._near_until
            self.tier[gone] = np.where(back, _NEAR, _FAR)
            if back.any():
                self._near.append(gone[back])
        return rows[stays]

    def _fill_hot(self, count: int) -> None:
        near = self._gather()
        if len(near) + len(self._hot) < 2 * count and self._near_until < _ALL:
            near = self._fill_near(count)
        due = self._due(near)
        if 2 * count < len(near):
            self._hot_until = float(np.partition(due, 2 * count)[2 * count])
        else:
            self._hot_until = self._near_until
        joins = due <= self._hot_until
        self.tier[near[joins]] = _HOT
        self._hot = np.concatenate([self._hot, near[joins]])
        self._near = [near[~joins]]

    def _gather(self) -> Rows:
        """The near rows that still are: not hot, not moved far."""
        near = np.concatenate(self._near) if self._near else np.empty(0, np.int64)
        near = near[self.tier[near] == _NEAR]
        near = np.unique(near) if len(self._near) > 1 else near
        stays = self._due(near) <= self._near_until
        self.tier[near[~stays]] = _FAR
        return near[stays]

    def _fill_near(self, count: int) -> Rows:
        """Begin again from all rows."""
        due = self._due(np.arange(len(self.tier)))
        every = np.flatnonzero(due < _ALL)
        due = due[every]
        most = max(_LEAST_NEAR, 4 * count, len(every) // _NEAR_PART)
        self._near_until = float(np.partition(due, most)[most]) if most < len(every) else _ALL
        self._hot = np.empty(0, np.int64)
        near = every[due <= self._near_until]
        self.tier[:] = _FAR
        self.tier[near] = _NEAR
        return near

    def _thin(self, count: int) -> None:
        """Too many in hot: the later ones step back to near."""
        due = self._due(self._hot)
        self._hot_until = float(np.partition(due, count)[count])
        back = due > self._hot_until
        self.tier[self._hot[back]] = _NEAR
        self._near.append(self._hot[back])
        self._hot = self._hot[~back]
