"""When is each lane to be considered again?  At most one wake-up for each; the soonest stands."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from vedette.contracts.words import LaneKey


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
