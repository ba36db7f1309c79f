"""Starts work of lanes as soon as they allow it: looks at pages, calls of providers.

A lane is considered when something about it changed: work came, a call in it ended, its time came.  At most one timer
per lane.  Lanes that are open and have work stand in a heap by the value of their best job and share the width `all`.
Hosts that may not answer stand apart, so that they cannot take the places of those that do.

The dispatcher knows lanes, time and what is under way.  What the work is, and what it may cost, its client knows: an
answer of a budget is a `Go` or a `Wait`, as that of a lane.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from vedette.contracts.lane import ALL, Go, Wait
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Reason
from vedette.core.lanes.waiting_requests import TURNS, doubtful_order, doubtful_value
from vedette.core.limits.budget import RunLimits, has_room, limits_moved, over
from vedette.lanes.keeper import DOUBTFUL, LaneKeeper

SET = timedelta(seconds=2)  # a clock that differs by more from the passing of time was set
GRACE_S = 10.0
Begun = Coroutine[Any, Any, None]


class LaneWork(Protocol):
    """The work of a run, by lane."""

    @property
    def ended(self) -> int:
        """What counts against the limit of visits."""

    @property
    def begun(self) -> int:
        """The same, with what is under way."""

    def begin_turn(self, now: datetime) -> None:
        """What happens by time alone."""

    def due(self, now: datetime) -> Iterable[LaneKey]:
        """Lanes that have got work since the last turn."""

    def has_work(self, lane: LaneKey, now: datetime) -> bool:
        """True where there is anything to ask this lane for."""

    def offer(self, lane: LaneKey, answer: Go | Wait, now: datetime) -> float | Wait | None:
        """What the best job of a lane that was asked is worth, or what it waits for; None: there is none to start."""

    def start(self, lane: LaneKey, lanes: tuple[LaneKey, ...], now: datetime) -> Begun | Wait | None:
        """Take the best job of this lane, and the permits.  A wait without a time: until something ends."""

    def end_turn(self, now: datetime) -> None:
        """Everything that could start has started: ask for more."""

    def is_paused(self) -> bool:
        """True while nothing starts."""

    def has_room(self) -> bool:
        """True where more results may come, beside those that are not written yet."""

    def is_busy(self) -> bool:
        """True where something will happen without the clock moving, beside what is under way."""

    def is_done(self, now: datetime) -> bool: ...

    def next_at(self) -> datetime | None:
        """When there is something to do although nothing happens in a lane."""

    def on_limit(self, reason: Reason) -> None:
        """The run has reached a limit."""

    def on_clock_set(self, by: timedelta, now: datetime) -> None: ...

    async def close(self) -> None:
        """Nothing is under way any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchTerms:
    """By what a run goes."""

    limits: RunLimits = RunLimits()
    has_doubt: bool = False  # whether a far end answers may be unknown, as of hosts
    is_rationed: bool = (
        False  # starts are what is scarce, not the width: hosts that may not answer go by value too
    )
    grace_s: float = GRACE_S  # for what is under way when the run ends


class Dispatcher:
    """One run of some work, from its first start to its end."""

    def __init__(self, work: LaneWork, keeper: LaneKeeper, clock: Clock, terms: DispatchTerms) -> None:
        self._work = work
        self._keeper = keeper
        self._clock = clock
        self._has_doubt = terms.has_doubt
        self._grace_s = terms.grace_s
        self.limits = terms.limits
        self.wakes = keeper.wakes
        self.stopped_by = ""
        self.error: BaseException | None = None
        self.started_at = clock.now()
        self._moved = clock.moved()  # how far the clock had been set when we looked last
        self._ready = _ReadyLanes(terms.is_rationed)
        self._under_way: set[asyncio.Task[None]] = set()
        self._held: dict[
            LaneKey, None
        ] = {}  # lanes that could start if what is under way cost less than it may

    async def run(self) -> str:
        """Until the work is done, or something stops it.  Gives the word that it ended by; empty: nothing did."""
        clock, news = self._clock, self.wakes.news
        self.started_at, self._moved = clock.now(), clock.moved()
        try:
            while True:
                self._note_clock()
                now = clock.now()
                self._turn(now)
                if self.error is not None or self._work.is_done(now):
                    break
                await clock.pause(news, self._next_at(), is_busy=self.is_busy())
                news.clear()
        finally:
            await self._shut_down()
        return "failed" if self.error is not None else self.stopped_by

    def stop(self, reason: str) -> None:
        """Nothing starts any more; what is under way may end."""
        self.stopped_by = self.stopped_by or reason
        self.wakes.news.set()

    def fail(self, error: BaseException) -> None:
        """What no job is to blame for ends the run."""
        self.error = self.error or error  # what follows from the first is less telling
        self.stop("failed")

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    @property
    def asking(self) -> int:
        """Of these, those that do not stand in a lane."""
        return len(self._under_way) - self._keeper.waiting

    def is_busy(self) -> bool:
        """Something will happen without the clock moving: a request, a write, a claim."""
        return self.asking > 0 or self._work.is_busy()

    def may_start(self) -> bool:
        return not self.stopped_by and has_room(self.limits, self._work.begun) and not self._work.is_paused()

    def may_go_on(self) -> bool:
        """On a clock that steps, only one thing is under way: what ends first must not depend on the machine."""
        return not (self._clock.is_stepped and self.is_busy())

    def _note_clock(self) -> None:
        """A clock that was set: whatever we wait for in memory is as far away as it was before."""
        by = self._clock.moved() - self._moved
        if abs(by) < SET:
            return
        now = self._clock.now()
        self._moved += by
        self._keeper.clock_set(by)
        self.wakes.touched.update(dict.fromkeys(self.wakes.clear()))
        self.started_at += by
        self.limits = limits_moved(self.limits, by)
        self._work.on_clock_set(by, now)

    def _turn(self, now: datetime) -> None:
        reason = over(self.limits, now, visits=self._work.ended)
        if reason is not None:
            self._work.on_limit(reason)
        self._work.begin_turn(now)
        if not self.may_go_on():
            return
        wakes = self.wakes
        wakes.touched.update(dict.fromkeys(self._work.due(now)))
        wakes.touched.update(dict.fromkeys(wakes.due(now)))
        touched, wakes.touched = deque(wakes.touched), {}
        while touched and self.may_go_on():
            self._consider(touched.popleft(), now)
        wakes.touched = dict.fromkeys((*touched, *wakes.touched))
        self._dispatch(now)
        if self.may_go_on():
            self._work.end_turn(now)

    def _consider(self, lane: LaneKey, now: datetime) -> None:
        """What can happen in this lane now: a waiter goes on, a job lines up to start, or a timer is set."""
        keeper = self._keeper
        if keeper.has_waiters(lane):
            self.wakes.add(lane, keeper.wake(lane))
            if keeper.has_waiters(lane):
                return
        if not self._work.has_work(lane, now):
            return
        answer = keeper.ask((lane,), now)
        if isinstance(answer, Wait):
            self.wakes.add(lane, answer.until)
        worth = self._work.offer(lane, answer, now)
        if isinstance(worth, Wait):
            self._hold(lane, worth)
        elif worth is not None and lane not in self._ready:
            self._ready.push(lane, worth, keeper.doubt(lane) if self._has_doubt else None)

    def _dispatch(self, now: datetime) -> None:
        """Start the best waiting jobs of lanes that are open, as far as the width allows."""
        keeper, ready = self._keeper, self._ready
        while ready and self.may_go_on() and self.may_start() and self._work.has_room():
            answer = keeper.ask((ALL,), now)
            if isinstance(answer, Wait):
                self.wakes.add(ALL, answer.until)
                return
            doubt = keeper.doubt_waits(now) if ready.has_doubtful else None
            lane = ready.pop(may_doubt=doubt is None)
            if lane is None:
                self.wakes.add(DOUBTFUL, doubt.until if doubt is not None else None)
                return
            if not self._start(lane, now):
                continue
            if self.may_go_on():
                self._consider(lane, now)
            else:
                self.wakes.touched[lane] = None

    def _start(self, lane: LaneKey, now: datetime) -> bool:
        """False: the best job of the lane waits for its budget, and so does the lane."""
        lanes = self._keeper.lanes_to(lane) if self._has_doubt else (lane, ALL)
        if isinstance(self._keeper.ask(lanes[:-1], now), Wait):  # `all` was asked before
            return True
        begun = self._work.start(lane, lanes, now)
        if isinstance(begun, Wait):
            self._hold(lane, begun)
            return False
        if begun is not None:
            task = asyncio.create_task(begun)
            self._under_way.add(task)
            task.add_done_callback(self._ended)
        return True

    def _hold(self, lane: LaneKey, answer: Wait) -> None:
        if answer.until is None:
            self._held[lane] = None
        else:
            self.wakes.add(lane, answer.until)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Not before the task is over: the last one that ends must not be counted as under way."""
        self._under_way.discard(task)
        error = None if task.cancelled() else task.exception()
        if (
            error is not None
        ):  # a job that fails is parked by its client: what comes through is no job's fault
            self.fail(error)
        self.wakes.touched.update(self._held)
        self._held.clear()
        self.wakes.news.set()

    def _next_at(self) -> datetime | None:
        deadline = None if self.stopped_by else self.limits.deadline
        times = (deadline, self.wakes.next_at(), self._work.next_at())
        return min((at for at in times if at is not None), default=None)

    async def _shut_down(self) -> None:
        """What is under way gets a moment, then is cancelled."""
        self._keeper.dismiss()
        if self._under_way and self.error is None:
            await asyncio.wait(self._under_way, timeout=self._grace_s)
        for task in self._under_way:
            task.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=self._grace_s)
        await self._work.close()


_Heap = list[tuple[float, int, LaneKey]]


@dataclass(slots=True)
class _ReadyLanes:
    """Lanes that have a job and are open, the one that starts next first."""

    _by_value: bool  # no turns: the best of all
    _answering: _Heap = field(default_factory=list)
    _doubtful: _Heap = field(default_factory=list)
    _inside: set[LaneKey] = field(default_factory=set)
    _sequence: int = 0
    _in_turn: int = 0  # lanes given from the first since the last from the second

    def __contains__(self, lane: LaneKey) -> bool:
        return lane in self._inside

    def __bool__(self) -> bool:
        return bool(self._inside)

    @property
    def has_doubtful(self) -> bool:
        return bool(self._doubtful)

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
        if self._doubtful and may_doubt and self._is_doubtful_turn():
            heap, self._in_turn = self._doubtful, 0
        elif self._answering:
            heap, self._in_turn = self._answering, self._in_turn + 1
        else:
            return None
        lane = heapq.heappop(heap)[2]
        self._inside.discard(lane)
        return lane

    def _is_doubtful_turn(self) -> bool:
        if not self._answering:
            return True
        return self._doubtful[0] < self._answering[0] if self._by_value else self._in_turn >= TURNS
