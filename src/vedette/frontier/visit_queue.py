"""The queues of a worker among several: only of lanes that it holds.

What is due elsewhere is noted for whoever visits that lane next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.watch import Group, Job, Settlement, Watch
from vedette.contracts.words import LaneKey, Risk, RunId, WatchId
from vedette.core.lanes.visit import MOST_LOOKS, LaneVisit, is_long
from vedette.frontier.queue import ROOM, Dues, Frontier


@dataclass(slots=True, eq=False)
class _Visit:
    lasted: Callable[[], timedelta]
    looks: int = 0


class VisitFrontier(Frontier):
    """One queue for each lane that is held, from the moment it is ours until it is given back."""

    def __init__(
        self, *, run: RunId, stopwatch: Callable[[], Callable[[], timedelta]], room: int = ROOM
    ) -> None:
        super().__init__(run=run, room=room)
        self._stopwatch = stopwatch
        self._visits: dict[LaneKey, _Visit] = {}
        self._open: Counter[LaneKey] = Counter()  # looks that began, or were given back, and are not written
        self.elsewhere: dict[LaneKey, datetime] = {}  # due in lanes that are not ours

    def held(self) -> list[LaneKey]:
        return list(self._visits)

    def gained(self, lane: LaneKey, now: datetime) -> None:
        """The lane is ours: what is due there is claimed as its rule allows."""
        self._visits[lane] = _Visit(self._stopwatch())
        self.note_due(lane, now, Risk.MEDIUM)

    def wind_up(self, most: int) -> None:
        """So many lanes, those that are ours for longest, are others' soon: nothing new is begun there."""
        if most > 0:
            for visit in sorted(self._visits.values(), key=lambda one: one.lasted(), reverse=True)[:most]:
                visit.looks = max(visit.looks, MOST_LOOKS)

    def forget(self, lanes: Collection[LaneKey]) -> None:
        """They are no longer ours.  What was leased there is the next holder's."""
        for lane in lanes:
            if self._visits.pop(lane, None) is not None and lane in self._queues:
                self._count(self._queues[lane], -len(self._queues[lane].jobs))
                del self._queues[lane]

    def facts(self, lane: LaneKey, now: datetime) -> LaneVisit:
        """How the visit stands; requests under way the keeper knows."""
        visit, queue = self._visits[lane], self._queue(lane)
        due_at = queue.due_at()
        return LaneVisit(
            lasted=visit.lasted(),
            looks=visit.looks,
            busy=self._open[lane] + len(queue.jobs) + queue.is_asking + queue.is_lined_up,
            due_in=None if due_at is None else due_at - now,
        )

    def note_due(self, lane: LaneKey, due_at: datetime, risk: Risk) -> None:
        if lane in self._visits:
            super().note_due(lane, due_at, risk)
            return
        known = self.elsewhere.get(lane)
        if known is None or due_at < known:
            self.elsewhere[lane] = due_at

    def note_ordered(self, lane: LaneKey, watch: WatchId, now: datetime) -> None:
        if lane in self._visits:
            super().note_ordered(lane, watch, now)
        else:
            self.note_due(lane, now, Risk.MEDIUM)

    def note_group(self, group: Group, now: datetime) -> None:
        self._written(placed.settlement.job.watch.lane for placed in group.placed)
        self._written(job.watch.lane for job in group.released)
        super().note_group(group, now)

    def note_lost(self, looks: Sequence[Settlement]) -> None:
        self._written(settled.job.watch.lane for settled in looks)

    def line_up(self, lane: LaneKey, now: datetime, *, failures: int | None = None) -> None:
        if lane in self._visits and not is_long(self.facts(lane, now)):
            super().line_up(lane, now, failures=failures)

    def offer(self, lane: LaneKey, watches: Iterable[Watch], *, now: datetime, dues: Dues) -> None:
        if lane in self._visits:
            super().offer(lane, watches, now=now, dues=dues)

    def pop(self, lane: LaneKey) -> Job:
        self._open[lane] += 1
        self._visits[lane].looks += 1
        return super().pop(lane)

    def give_back(self, lane: LaneKey) -> list[Job]:
        jobs = super().give_back(lane)
        self._open[lane] += len(jobs)
        return jobs

    def _written(self, lanes: Iterable[LaneKey]) -> None:
        self._open.subtract(lanes)
