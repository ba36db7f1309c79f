"""Lanes that have a job and are open: which of them starts next?

Hosts that may not answer stand apart, so that they cannot take the places of those that do.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from vedette.contracts.words import LaneKey
from vedette.core.lanes.waiting_requests import TURNS, doubtful_order, doubtful_value

_Heap = list[tuple[float, int, LaneKey]]


@dataclass(slots=True)
class ReadyLanes:
    _answering: _Heap = field(default_factory=list)
    _doubtful: _Heap = field(default_factory=list)
    _inside: set[LaneKey] = field(default_factory=set)
    _sequence: int = 0
    _in_turn: int = 0  # lanes given from the first since the last from the second

    def __contains__(self, lane: LaneKey) -> bool:
        return lane in self._inside

    def __bool__(self) -> bool:
        return bool(self._inside)

    def push(self, lane: LaneKey, value: float, failures: int | None) -> None:
        """`failures`: of a host that may not answer; None: it does."""
        self._inside.add(lane)
        if failures is None:
            self._sequence += 1
            heapq.heappush(self._answering, (-value, self._sequence, lane))
        else:
            worth = doubtful_value(value, failures)
            heapq.heappush(self._doubtful, (-worth, doubtful_order(lane), lane))

    def pop(self, *, may_doubt: bool) -> LaneKey | None:
        """The best; one doubtful lane after so many others, where it `may`."""
        is_turn = self._in_turn >= TURNS or not self._answering
        if self._doubtful and may_doubt and is_turn:
            heap, self._in_turn = self._doubtful, 0
        elif self._answering:
            heap, self._in_turn = self._answering, self._in_turn + 1
        else:
            return None
        lane = heapq.heappop(heap)[2]
        self._inside.discard(lane)
        return lane


# When is each lane to be considered again?  At most one wake-up for each; the soonest stands.


@dataclass(slots=True)
class WakeUps:
    _heap: list[tuple[datetime, int, LaneKey]] = field(default_factory=list)
    _at: dict[LaneKey, datetime] = field(default_factory=dict)
    _sequence: int = 0

    def add(self, lane: LaneKey, until: datetime) -> None:
        planned = self._at.get(lane)
        if planned is not None and planned <= until:
            return
        self._at[lane] = until
        self._sequence += 1
        heapq.heappush(self._heap, (until, self._sequence, lane))

    def due(self, now: datetime) -> Iterator[LaneKey]:
        """Lanes whose time has come, in order; each is given once."""
        while self._heap and self._heap[0][0] <= now:
            at, _, lane = heapq.heappop(self._heap)
            if self._at.get(lane) == at:
                del self._at[lane]
                yield lane

    def clear(self) -> list[LaneKey]:
        """The clock was set: nobody knows when.  Gives the lanes that waited, in the order in which they would come."""
        lanes = [lane for _, _, lane in sorted(self._heap)]
        self._heap.clear()
        self._at.clear()
        return lanes

    def next_at(self) -> datetime | None:
        return self._heap[0][0] if self._heap else None

    def by(self, last: datetime) -> Iterator[LaneKey]:
        """Lanes that are to be considered by then."""
        return (lane for at, _, lane in self._heap if at <= last)
