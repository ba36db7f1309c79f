"""One queue per lane.  The store is the truth; here is only what is leased, and when to ask again.

A lane is *due* when the store has eligible watches for it.  Lanes that are due, open and have nothing leased line
up by the best value waiting in them; a claim asks for as many of them as there is room.  Nothing scans all due rows.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.schedule import ScheduleRows
from vedette.contracts.watch import Ask, Group, Job, Watch
from vedette.contracts.words import LaneKey, Risk, RunId, WatchId
from vedette.core.lanes.waiting_requests import AT_ONCE, DOUBTFUL_SHARE, doubtful_order, doubtful_value
from vedette.core.schedule.due import is_fair_turn, value

LEASE = timedelta(minutes=5)
HORIZON = timedelta(seconds=2)  # lease about this much work of a lane at once
MOST_PER_LANE = 16
ROOM = 500  # leased at once; spec 000/5
USUAL = timedelta(hours=24)  # interval that a lane's lateness is measured by, until its watches are read
Heads = Sequence[tuple[WatchId, Risk, datetime, int]]
ALL = LaneKey("all")
Dues = Sequence[datetime | None]  # by risk
Gaps = Callable[[LaneKey], timedelta]


@dataclass(slots=True, eq=False)
class _Queue:
    lane: LaneKey
    dues: list[datetime | None] = field(default_factory=lambda: [None] * len(Risk))  # earliest, by risk
    jobs: deque[Job] = field(default_factory=deque)
    ordered: deque[WatchId] = field(default_factory=deque)  # by the operator: they come before what is due
    is_lined_up: bool = False
    is_asking: bool = False
    is_doubtful: bool = False  # as of when it lined up
    meanwhile: list[tuple[Risk, datetime]] = field(default_factory=list)  # noted while a claim was on its way

    def due_at(self) -> datetime | None:
        return min((due for due in self.dues if due is not None), default=None)

    def value(self, now: datetime) -> float:
        """Of the best class that is due."""
        best = 0.0
        for risk in Risk:
            due = self.dues[risk]
            if due is not None and due <= now:
                best = max(best, value(risk, due, USUAL, now))
        return best


class Frontier:
    """Which lanes have work, which work is leased, and what a claim should ask for."""

    def __init__(self, *, run: RunId, most_per_lane: int = MOST_PER_LANE, room: int = ROOM) -> None:
        self._run = run
        self._most = most_per_lane
        self._room = room
        self._queues: dict[LaneKey, _Queue] = {}
        self._dues: list[tuple[datetime, LaneKey]] = []
        self._line: list[tuple[float, int, LaneKey]] = []
        self._doubtful_line: list[tuple[float, int, LaneKey]] = []
        self._sequence = 0
        self._doubtful = 0  # of the leased, those of hosts that may not answer
        self.leased = 0  # jobs waiting here

    def note_due(self, lane: LaneKey, due_at: datetime, risk: Risk) -> None:
        """The store has a watch of this lane and class that is due then."""
        queue = self._queue(lane)
        if queue.is_asking:
            queue.meanwhile.append((risk, due_at))
        known = queue.dues[risk]
        if known is None or due_at < known:
            earliest = queue.due_at()
            queue.dues[risk] = due_at
            if earliest is None or due_at < earliest:
                heapq.heappush(self._dues, (due_at, lane))

    def note_ordered(self, lane: LaneKey, watch: WatchId, now: datetime) -> None:
        """The operator wants a look at it as soon as its lane allows."""
        self._queue(lane).ordered.append(watch)
        self.note_due(lane, now, Risk.MEDIUM)

    def note_group(self, group: Group, now: datetime) -> None:
        """What a committed group made due: its watches, what they found and named, what was moved beside them."""
        for placed in group.placed:
            settled = placed.settlement
            for watch in (settled.watch, *settled.found):
                if watch.due_at is not None:
                    self.note_due(watch.lane, watch.due_at, watch.risk)
            for signal in settled.signals:
                self.note_due(signal.lane, signal.due_at, Risk.MEDIUM)
            for raised in settled.raised:
                self.note_due(raised.lane, raised.due_at, Risk.CRITICAL)
        for job in group.released:
            self.note_due(job.watch.lane, job.watch.due_at or now, job.watch.risk)
        if group.schedule is not None:
            self._note_schedule(group.schedule)
        for due in () if group.hunt is None else (*group.hunt.chosen, *group.hunt.revisits):
            self.note_due(due.lane, due.at, due.risk)

    def _note_schedule(self, rows: ScheduleRows) -> None:
        for lane, at in rows.back:
            for risk in Risk:
                self.note_due(lane, at, risk)
        for leaf, due_at, _ in rows.replanned:
            self.note_due(leaf.lane, due_at, leaf.risk)

    def next_due(self) -> datetime | None:
        """When the next lane becomes due.  None: nothing is scheduled."""
        while self._dues:
            due_at, lane = self._dues[0]
            if self._queues[lane].due_at() == due_at:
                return due_at
            heapq.heappop(self._dues)
        return None

    def pop_due(self, now: datetime) -> list[LaneKey]:
        """Lanes that have become due; each is given once per due time."""
        due: list[LaneKey] = []
        while (at := self.next_due()) is not None and at <= now:
            due.append(heapq.heappop(self._dues)[1])
        return due

    def is_due(self, lane: LaneKey, now: datetime) -> bool:
        """The store has work for this lane that may be claimed now."""
        queue = self._queues.get(lane)
        due_at = queue.due_at() if queue is not None else None
        return due_at is not None and due_at <= now

    def line_up(self, lane: LaneKey, now: datetime, *, failures: int | None = None) -> None:
        """This lane could start work soon and has none leased: it stands in line for the next claim.

        Hosts that may not answer have a line of their own, so that they cannot take all the room.  `failures`: how
        often such a host failed in a row; None: it answers.
        """
        queue = self._queue(lane)
        due_at = queue.due_at()
        if queue.jobs or queue.is_asking or queue.is_lined_up or due_at is None or due_at > now:
            return
        queue.is_lined_up, queue.is_doubtful = True, failures is not None
        if failures is not None:
            worth = doubtful_value(queue.value(now), failures)
            heapq.heappush(self._doubtful_line, (-worth, doubtful_order(lane), lane))
            return
        self._sequence += 1
        heapq.heappush(self._line, (-queue.value(now), self._sequence, lane))

    def has_line(self) -> bool:
        return bool(self._line) or (bool(self._doubtful_line) and self._doubtful_room() > 0)

    def asks(self, gap_of: Gaps) -> list[Ask]:
        """The best lanes of the line, as far as there is room for leases."""
        asks = self._asks_of(self._line, self._room - self.leased, gap_of)
        left = self._room - self.leased - sum(ask.most for ask in asks)
        return asks + self._asks_of(self._doubtful_line, min(left, self._doubtful_room(), AT_ONCE), gap_of)

    def _asks_of(self, line: list[tuple[float, int, LaneKey]], room: int, gap_of: Gaps) -> list[Ask]:
        asks: list[Ask] = []
        while line and room > 0:
            lane = heapq.heappop(line)[2]
            queue = self._queues[lane]
            queue.is_lined_up, queue.is_asking = False, True
            gap = gap_of(lane)
            most = self._most if not gap else max(1, min(self._most, int(HORIZON / gap)))
            most = min(most, room)
            ordered = tuple(queue.ordered.popleft() for _ in range(min(most, len(queue.ordered))))
            asks.append(Ask(lane, most, ordered))
            room -= asks[-1].most
        return asks

    def _doubtful_room(self) -> int:
        return max(1, self._room // DOUBTFUL_SHARE) - self._doubtful

    def offer(self, lane: LaneKey, watches: Iterable[Watch], *, now: datetime, dues: Dues) -> None:
        """What the claim gave for this lane, best first, and when each class is due after it."""
        queue = self._queue(lane)
        queue.is_asking = False
        for watch in watches:
            job = Job(
                watch=watch,
                lanes=(lane, ALL),
                run=self._run,
                value=worth(watch, now),
                leased_until=now + LEASE,
            )
            queue.jobs.append(job)
            self._count(queue, 1)
        queue.dues = list(dues)
        due_at = queue.due_at()
        if due_at is not None:
            heapq.heappush(self._dues, (due_at, lane))
        noted, queue.meanwhile = queue.meanwhile, []
        for risk, at in noted:  # the claim may have been answered before these were written
            self.note_due(lane, at, risk)

    def peek(self, lane: LaneKey) -> Job | None:
        queue = self._queues.get(lane)
        return queue.jobs[0] if queue and queue.jobs else None

    def pop(self, lane: LaneKey) -> Job:
        queue = self._queues[lane]
        self._count(queue, -1)
        return queue.jobs.popleft()

    def give_back(self, lane: LaneKey) -> list[Job]:
        """The lane shut with work leased: others may have the room."""
        queue = self._queue(lane)
        jobs = list(queue.jobs)
        queue.jobs.clear()
        self._count(queue, -len(jobs))
        return jobs

    def _count(self, queue: _Queue, more: int) -> None:
        self.leased += more
        self._doubtful += more if queue.is_doubtful else 0

    def _queue(self, lane: LaneKey) -> _Queue:
        queue = self._queues.get(lane)
        if queue is None:
            queue = self._queues[lane] = _Queue(lane)
        return queue


def worth(watch: Watch, now: datetime) -> float:
    """What a look at this watch is worth now."""
    return value(watch.risk, watch.due_at or now, watch.interval, now)


def best(heads: Heads, most: int, now: datetime) -> list[WatchId]:
    """Second and ordered looks (their interval is -1), then the best by value, not by strict tiers.

    One claim in FAIR_TURNS leaves the risk aside and goes by lateness: a page whose interval its lane cannot keep is
    due at every claim, and what is worth less would wait for many of its own intervals.
    """
    is_fair = is_fair_turn(now)
    ranked = sorted(
        heads,
        key=lambda head: (
            head[3] >= 0,
            -value(Risk.LOW if is_fair else head[1], head[2], timedelta(seconds=head[3]), now),
        ),
    )
    return list(dict.fromkeys(head[0] for head in ranked))[:most]
