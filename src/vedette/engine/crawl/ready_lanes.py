"""Lanes that have a job and are open: which of them starts next?

Hosts that may not answer stand apart, so that they cannot take the places of those that do.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

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
