"""One queue per lane.  The store is the truth; here is only what is leased, and when to ask again.

A lane is *due* when the store has eligible watches for it.  The engine asks for the lanes that are due and
have nothing leased, in one claim; nothing ever scans all due rows.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.watch import Ask, Job, Watch
from vedette.contracts.words import LaneKey, Risk, RunId, WatchId
from vedette.core.schedule.due import value

LEASE = timedelta(minutes=5)
HORIZON = timedelta(seconds=2)  # lease about this much work of a lane at once
MOST_PER_LANE = 16
Heads = Sequence[tuple[WatchId, Risk, datetime, int]]


@dataclass(slots=True, eq=False)
class _Queue:
    lane: LaneKey
    due_at: datetime | None = None  # earliest due time in the store, as far as we know
    jobs: deque[Job] = field(default_factory=deque)
    is_asking: bool = False


class Frontier:
    """Which lanes have work, which work is leased, and what a claim should ask for."""

    def __init__(self, *, run: RunId, most_per_lane: int = MOST_PER_LANE) -> None:
        self._run = run
        self._most = most_per_lane
        self._queues: dict[LaneKey, _Queue] = {}
        self._dues: list[tuple[datetime, LaneKey]] = []
        self.leased = 0  # jobs waiting here

    def note_due(self, lane: LaneKey, due_at: datetime) -> bool:
        """The store has (or will have) a watch of this lane due then.  True: earlier than known."""
        queue = self._queue(lane)
        if queue.due_at is not None and queue.due_at <= due_at:
            return False
        queue.due_at = due_at
        heapq.heappush(self._dues, (due_at, lane))
        return True

    def next_due(self) -> datetime | None:
        """When the next lane becomes due.  None: nothing is scheduled."""
        while self._dues:
            due_at, lane = self._dues[0]
            if self._queues[lane].due_at == due_at:
                return due_at
            heapq.heappop(self._dues)
        return None

    def pop_due(self, now: datetime) -> list[LaneKey]:
        """Lanes that have become due; each is given once per due time."""
        due: list[LaneKey] = []
        while (at := self.next_due()) is not None and at <= now:
            due.append(heapq.heappop(self._dues)[1])
        return due

    def wants(self, lane: LaneKey, now: datetime, gap: timedelta) -> Ask | None:
        """What to ask the store for this lane now, if anything."""
        queue = self._queue(lane)
        if queue.jobs or queue.is_asking or queue.due_at is None or queue.due_at > now:
            return None
        queue.is_asking = True
        most = self._most if not gap else max(1, min(self._most, int(HORIZON / gap)))
        return Ask(lane, most)

    def offer(
        self, lane: LaneKey, watches: Iterable[Watch], *, now: datetime, next_due: datetime | None
    ) -> None:
        """What the claim gave for this lane, best first, and when the lane is due after it."""
        queue = self._queue(lane)
        queue.is_asking = False
        for watch in watches:
            job = Job(
                watch=watch,
                lanes=(lane, LaneKey("all")),
                run=self._run,
                value=value(watch.risk, watch.due_at or now, watch.interval, now),
                leased_until=now + LEASE,
            )
            queue.jobs.append(job)
            self.leased += 1
        queue.due_at = None
        if next_due is not None:
            self.note_due(lane, next_due)

    def peek(self, lane: LaneKey) -> Job | None:
        queue = self._queues.get(lane)
        return queue.jobs[0] if queue and queue.jobs else None

    def pop(self, lane: LaneKey) -> Job:
        self.leased -= 1
        return self._queues[lane].jobs.popleft()

    def lanes(self) -> Iterable[LaneKey]:
        return self._queues.keys()

    def _queue(self, lane: LaneKey) -> _Queue:
        queue = self._queues.get(lane)
        if queue is None:
            queue = self._queues[lane] = _Queue(lane)
        return queue


def best(heads: Heads, most: int, now: datetime) -> list[WatchId]:
    """The best of the heads of the risk classes: by value, not by strict tiers."""
    ranked = sorted(heads, key=lambda head: -value(head[1], head[2], timedelta(seconds=head[3]), now))
    return [head[0] for head in ranked[:most]]
