"""The open pages of a hunt in memory, as the store has them: what changed is read again before each choice.

At the start all are read, so a restart weighs what the run before it would have weighed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from vedette.contracts.hunt import Open
from vedette.contracts.words import SourceId, WatchId
from vedette.core.hunt_worth import Prospect
from vedette.core.open_pages import OpenPages

AT_ONCE = 5_000  # rows that are read at a time


class OpenSide(Protocol):
    """What is read of the store."""

    def open(self, after: int, most: int, *, now: datetime) -> list[Open]: ...
    def open_of(self, watches: Sequence[WatchId], *, now: datetime) -> list[Open]: ...
    def later(self, *, now: datetime) -> list[tuple[datetime, WatchId]]: ...
    def choosable(self) -> frozenset[SourceId]: ...


class HuntOpen:
    def __init__(self, store: OpenSide, seen_as: Callable[[Open], Prospect], *, seed: int) -> None:
        self._store, self._seen_as, self._seed = store, seen_as, seed
        self.pages = OpenPages(seed=seed)
        self._choosable: frozenset[SourceId] | None = None  # None: nothing was read yet
        self._changed: set[WatchId] = set()
        self._later: list[tuple[datetime, WatchId]] = []  # failures, and when they are forgotten

    def opened(self, watches: Iterable[WatchId]) -> None:
        """These may be open by now."""
        self._changed.update(watch for watch in watches if watch not in self.pages)

    def changed(self, watches: Iterable[WatchId]) -> None:
        """Something of these is written anew."""
        self._changed.update(watches)

    def again(self, at: datetime, watch: WatchId) -> None:
        heapq.heappush(self._later, (at, watch))

    def refresh(self, now: datetime) -> None:
        choosable = self._store.choosable()
        if choosable != self._choosable:  # the first time, or a source was paused or goes on
            self._read_all(now)
            self._choosable = choosable
        while self._later and self._later[0][0] <= now:
            self._changed.add(heapq.heappop(self._later)[1])
        if self._changed:
            self.confirmed(sorted(self._changed), now)
            self._changed = set()

    def confirmed(self, watches: Sequence[WatchId], now: datetime) -> dict[WatchId, Open]:
        """Those of them that are open by the store.  What is held here follows it."""
        found = {one.watch: one for one in self._store.open_of(watches, now=now)}
        self.pages.drop(watch for watch in watches if watch not in found)
        self.pages.put(map(self._seen_as, found.values()))
        return found

    def _read_all(self, now: datetime) -> None:
        self.pages = OpenPages(seed=self._seed)
        self._later = sorted(self._store.later(now=now))
        after = 0
        while rows := self._store.open(after, AT_ONCE, now=now):
            self.pages.put(map(self._seen_as, rows))
            after = rows[-1].watch
