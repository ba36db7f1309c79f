"""One run while it goes: what its engine and its settler tell each other, and what the world hears of it.

Everything it needs is built before it (`app/run.py`); nothing is set afterwards.  What goes on beside it listens.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from vedette.contracts.alerts import Message
from vedette.contracts.errors import StoreError, StoreWaitError
from vedette.contracts.events import (
    ClockHealed,
    ClockSet,
    Event,
    MadePrivate,
    NotSeen,
    Paused,
    ProblemTold,
    Resumed,
    RunEnded,
    RunResult,
    RunStarted,
)
from vedette.contracts.jobs import Miss, Missed, SentinelResult
from vedette.contracts.lane import LanePolicy
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.watch import Decision, Group, LedgerNote, Placed, Settlement
from vedette.contracts.words import LaneKey, Outcome, Reason, Risk, RunId, SourceId, WatchId
from vedette.core.health.remedies import advice
from vedette.core.lanes.lane import BLOCKED, SHUT, condition
from vedette.core.limits.budget import RunLimits
from vedette.core.urls.canonical import lane_of
from vedette.engine.crawl.find_urls import Finder
from vedette.engine.crawl.lane_visitor import Visits
from vedette.engine.crawl.loop import IDLE_PATIENCE, ORDERS, Ended, Engine, Mode, Parts, RunTerms, Serve
from vedette.engine.crawl.memory_room import MemoryBudget
from vedette.engine.crawl.run_result import MOST_ERRORS, RunLog
from vedette.engine.crawl.source_runtime import SourceBook
from vedette.engine.settle.change_messages import Route, messages_of
from vedette.engine.settle.group_pace import OWN, SHARED
from vedette.engine.settle.ids import Ids
from vedette.engine.settle.settler import Decide, Hunt, Settler, SettlerCalls
from vedette.engine.settle.settler_orders import Aside
from vedette.engine.workers.pool import Workers
from vedette.evidence.archive import Archive
from vedette.evidence.recovery import Damage
from vedette.fetch.browser import Chromium
from vedette.frontier import Frontier
from vedette.lanes import LaneKeeper
from vedette.lanes.look_budgets import LookBudgets
from vedette.report.lanes import lane_words
from vedette.report.looks import result_json
from vedette.store.clock_repair import Ahead
from vedette.store.connection import StorePlace, may_wait
from vedette.store.operator_orders import HEALED, LOOK
from vedette.store.sqlite import Pick, Reader, Writer
from vedette.store.text_columns import dump_json
from vedette.telemetry.group_events import events_of
from vedette.telemetry.wall_clock import cpu_seconds

OnEvent = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What kind of run the operator wants."""

    mode: Mode = Mode.FOREVER
    tier: Risk | None = None
    source: str | None = None
    fetch_only: bool = False
    discover_only: bool = False
    policy: str | None = None
    seconds: float | None = None
    max_visits: int | None = None
    patience: timedelta | None = None
    takes_orders: bool = True  # listen to the operator's words from other processes
    orders_every: timedelta = ORDERS  # of the run's own time, which may be compressed
    looks: tuple[tuple[WatchId, LaneKey], ...] = ()  # only these, and end when each was seen;
    ordered_after: int | None = None  # their orders come after this one


ORDER_LASTS = timedelta(days=1)  # after that an ordered look is one of those that are due
GOES_ON = (
    "the run goes on and writes to new files; `vedette evidence set-aside` lets its pages be kept anew, "
    "`vedette restore BACKUP --replace` brings them back"
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A store that is ours until we let go of it."""

    writer: Writer
    reader: Reader
    archive: Archive
    was_killed: bool
    path: StorePlace
    pick: Pick  # what of it the run looks at
    made_private: int = 0  # files and folders that were open to others
    healed: Ahead = Ahead()  # times that a clock that stood ahead had left
    damage: tuple[
        Damage, ...
    ] = ()  # archive files that are not whole, and that nothing is written to any more
    series: int = 0  # number of the archive files that are this worker's; 0: the store has one engine
    dead: str = ""  # the process that had them and is gone; empty: it ended well, or nobody knows

    def end_run(self, run: RunId, *, now: datetime, ended_by: str, tally: str) -> None:
        """After the settler has closed its connection.  The last one that closes folds the log into the database."""
        self.reader.close()
        last = Writer(self.path, worker="")
        try:
            last.end_run(run, now=now, ended_by=ended_by, tally=tally)
        finally:
            last.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a run is called, and by what it goes."""

    id: RunId
    request: RunRequest
    began_at: datetime
    policy: str
    digest: str  # of the configuration
    rules: str  # what it decides by, for the record


class Tools(Protocol):
    """Sees to what was parked because a tool was missing."""

    async def retry(self) -> int: ...
    async def keep_on(self) -> None: ...


class LaneClosings:
    """Why lanes closed, until their state is written."""

    def __init__(self, ids: Ids, clock: Clock) -> None:
        self._ids = ids
        self._clock = clock
        self._notes: deque[LedgerNote] = deque()

    def add(self, lane: LaneKey, reason: Reason) -> None:
        now = self._clock.now()
        decision = Decision(action="breaker", reasons=(reason,), inputs={"lane": lane})
        self._notes.append(LedgerNote(id=self._ids.next(now), at=now, kind="lane", decision=decision))

    def take(self) -> tuple[LedgerNote, ...]:
        """In the settler's thread: with the state that they speak of, or before it, never after."""
        return tuple(self._notes.popleft() for _ in range(len(self._notes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """What a run works with."""

    facts: RunFacts
    clock: Clock
    opened: Opened
    fetcher: Fetcher
    browser: Chromium
    keeper: LaneKeeper
    closings: LaneClosings
    look_budgets: LookBudgets
    frontier: Frontier
    book: SourceBook
    finder: Finder
    memory: MemoryBudget
    workers: Workers
    tools: Tools
    policy_of: Callable[[LaneKey], LanePolicy]
    serve: Callable[[Callable[[Aside], None]], Serve]  # how a job is served; takes what saves a value
    on_event: OnEvent
    schedule: Decide | None = None
    hunt: Hunt | None = None
    route: Route | None = None  # to whom changes are told; None: to nobody
    visits: Visits | None = None  # of a worker among several; None: all lanes are ours
    on_lost: Callable[[], None] = lambda: None  # what was decided of a group was not written


class CrawlRun:
    """A run, ready to go.  Made inside the loop that it runs in."""

    def __init__(self, parts: RunParts) -> None:
        self.parts = parts
        self.clock = parts.clock
        self.opened = parts.opened
        self.on_event = parts.on_event
        self.ended_by = ""
        self.run_log = RunLog()
        self.listeners: list[Callable[[Group], None]] = [
            self.run_log.add
        ]  # called by the settler after a commit
        self._last_words: list[Event] = []
        self._order = parts.opened.reader.last_order()
        self._took = parts.clock.stopwatch()
        self._cpu_before = cpu_seconds()
        self.settler = self._settler(asyncio.get_running_loop())
        self.engine = self._engine()

    async def run(self) -> Ended:
        parts = self.parts
        await parts.tools.retry()
        for lane, risk, due_at in () if parts.visits is not None else self.opened.reader.lanes_due():
            parts.frontier.note_due(lane, due_at, risk)
        self._note_ordered(parts.facts.request.ordered_after or 0)
        self._start()
        retrying = asyncio.create_task(parts.tools.keep_on())
        try:
            ended = await self.engine.run()
        finally:
            retrying.cancel()
            await parts.browser.close()
            await parts.fetcher.close()
            parts.workers.close()
        return self._end_run(ended)

    def tell_end(self) -> None:
        """To the world: the last that it hears of this run, after all that went on beside it."""
        for event in self._last_words:
            self.on_event(event)

    def _start(self) -> None:
        """On record, and in words; then the settler begins."""
        facts, opened = self.parts.facts, self.opened
        opened.writer.start_run(
            facts.id, now=self.clock.now(), policy=facts.policy, digest=facts.digest, rules=facts.rules
        )
        now = self.clock.now()
        self.on_event(RunStarted(at=now, run=facts.id))
        if opened.made_private:
            self.on_event(MadePrivate(at=now, count=opened.made_private))
        if opened.healed.is_any:
            self._tell_healed(opened.healed)
        for one in opened.damage:
            what = f"archive file {one.segment}: {one.words}; {GOES_ON}"
            self.on_event(ProblemTold(at=now, what=what))
        self.settler.start()

    def _engine(self) -> Engine:
        parts, request = self.parts, self.parts.facts.request
        seconds = request.seconds
        deadline = None if seconds is None else parts.facts.began_at + timedelta(seconds=seconds)
        patience = IDLE_PATIENCE if request.patience is None else request.patience
        moved = Parts(
            clock=self.clock,
            frontier=parts.frontier,
            keeper=parts.keeper,
            settler=self.settler,
            serve=parts.serve(self.settler.aside),
            on_committed=lambda group: self._save_sources(),
            on_stopping=lambda: self._save_sources(all_of_them=True),
            take_orders=self._take_orders if request.takes_orders else None,
            look_budgets=parts.look_budgets,
            memory=parts.memory,
            hunts=parts.hunt is not None,
            on_clock_set=self._clock_set,
        )
        limits = RunLimits(deadline=deadline, max_visits=request.max_visits)
        wanted = dict(request.looks) or None
        terms = RunTerms(
            mode=request.mode,
            limits=limits,
            wanted=wanted,
            patience=patience,
            orders_every=request.orders_every,
        )
        return Engine(moved, terms)

    def _settler(self, loop: asyncio.AbstractEventLoop) -> Settler:
        parts, post = self.parts, loop.call_soon_threadsafe
        calls = SettlerCalls(
            committed=lambda group: self._acknowledge(group, post),
            claimed=lambda claimed: _post(post, self.engine.on_claimed, claimed),
            failed=lambda error: _post(post, self.engine.on_failed, error),
            dirty_lanes=lambda: (*parts.keeper.take_dirty(), *parts.look_budgets.take_dirty()),
            lane_notes=parts.closings.take,
            messages=self._messages,
            pace=OWN if parts.visits is None else SHARED,
            paused=lambda error: self._paused(post, Paused(at=self.clock.now(), what=str(error))),
            resumed=lambda after: self._paused(post, self._resumed(after)),
            heal=lambda: self._heal(post),
            lost=lambda looks: self._lost(looks, post),
        )
        if parts.schedule is not None:
            calls = replace(calls, schedule=parts.schedule)
        if parts.hunt is not None:
            calls = replace(calls, hunt=parts.hunt)
        opened = self.opened
        return Settler(opened.writer, opened.archive, run=parts.facts.id, clock=self.clock, calls=calls)

    def _paused(self, post: Callable[..., object], event: Paused | Resumed) -> None:
        """In the settler's thread: the store takes nothing just now, or does again."""
        _post(post, self.engine.on_paused, isinstance(event, Paused))
        self.on_event(event)

    def _resumed(self, after: timedelta) -> Resumed:
        return Resumed(at=self.clock.now(), seconds=round(after.total_seconds(), 1))

    def _lost(self, looks: Sequence[Settlement], post: Callable[..., object]) -> None:
        """In the settler's thread: another worker has the lanes of these by now."""
        self.parts.on_lost()
        lanes = sorted({settled.job.watch.lane for settled in looks})
        what = f"another worker has {', '.join(lanes[:3])} by now: {len(looks)} looks were not written"
        self.on_event(ProblemTold(at=self.clock.now(), what=what))
        _post(post, self._forget_looks, looks)

    def _forget_looks(self, looks: Sequence[Settlement]) -> None:
        self.engine.on_lost(looks)
        if self.parts.visits is not None:
            self.parts.visits.has_doubt = True
        for settled in looks:
            self.parts.book.forget(settled.watch.source)

    def _clock_set(self, by: timedelta) -> None:
        """While we run.  Memory is right again; the store is healed by the thread that writes to it."""
        now = self.clock.now()
        for runtime in self.parts.book.runtimes():
            runtime.clock_set(by, now)
        self.on_event(ClockSet(at=now, seconds=by))
        self.settler.heal()

    def _heal(self, post: Callable[..., object]) -> None:
        """In the settler's thread."""
        writer, now = self.opened.writer, self.clock.now()
        healed = writer.heal(now=now, policy_of=self.parts.policy_of)
        if healed.is_any:
            self._tell_healed(healed)
            _post(post, self.engine.on_healed, writer.lanes_due())

    def _tell_healed(self, healed: Ahead) -> None:
        self.on_event(ClockHealed(at=self.clock.now(), **asdict(healed)))

    def _acknowledge(self, group: Group, post: Callable[..., object]) -> None:
        """In the settler's thread, after the commit: first the world, then our own loop."""
        for listener in tuple(self.listeners):
            listener(group)
        for event in events_of(group):
            self.on_event(event)
        _post(post, self.engine.on_committed, group)

    def _messages(self, placed: Sequence[Placed]) -> tuple[Message, ...]:
        return (
            ()
            if self.parts.route is None
            else messages_of(placed, self.parts.route, self.parts.book.is_muted, self.parts.book.tags)
        )

    def _save_sources(self, *, all_of_them: bool = False) -> None:
        for state in self.parts.book.unsaved(self.clock.now(), all_of_them=all_of_them):
            self.settler.aside(state)

    def _take_orders(self) -> None:
        """A server that is away is asked again with the next turn.  A worker's visitor has heard if there are any."""
        visits = self.parts.visits
        if visits is not None and visits.last_order <= self._order:
            return
        try:
            self._hear_orders()
        except StoreWaitError:
            return
        except sqlite3.Error as error:
            if not may_wait(error, self.opened.path):
                raise

    def _hear_orders(self) -> None:
        """What the operator said from another process since we looked last."""
        before = self._order
        for number, action, subject in self.opened.reader.orders(self._order):
            self._order = number
            if action == "source":
                self.parts.book.forget(SourceId(subject))
                self.parts.finder.forget(SourceId(subject))
            if action == HEALED:
                self._read_healed()
            if action in ("source", LOOK, HEALED):  # of a look its lane is told beside it
                continue
            lane = LaneKey(subject)
            if action == "lane":
                state = self.opened.reader.lane(lane)
                if state is not None:
                    self.parts.keeper.replace(lane, state)
            self.parts.frontier.note_due(lane, self.clock.now(), Risk.MEDIUM)
            self.engine.touch(lane)
        if self._order > before:
            self._note_ordered(before)

    def _note_ordered(self, after: int) -> None:
        """Looks that were ordered by name come before all that is due in their lanes."""
        now = self.clock.now()
        for watch, lane in self.opened.reader.ordered_looks(after=after, since=now - ORDER_LASTS):
            self.parts.frontier.note_ordered(lane, watch, now)
            self.engine.touch(lane)

    def _read_healed(self) -> None:
        """The operator had the store healed of times that lay too far ahead."""
        for lane in tuple(self.parts.keeper.known()):
            state = self.opened.reader.lane(lane)
            if state is not None:
                self.parts.keeper.replace(lane, state)
        self.engine.on_healed(self.opened.reader.lanes_due())

    def _end_run(self, ended: Ended) -> Ended:
        """Says how it ended, to the store.  A store that cannot take it will call it killed."""
        tally = asdict(ended.tally)
        kept = dump_json({**tally, "cpu_seconds": round(cpu_seconds() - self._cpu_before, 3)})
        now, self.ended_by = self.clock.now(), ended.by
        missed = self._behind_lanes(self.run_log.missed(self._waiting(ended, now)), now)
        try:
            self.opened.end_run(self.parts.facts.id, now=now, ended_by=ended.by, tally=kept)
        except StoreError as error:
            ended = replace(ended, by="failed", error=ended.error or error)
        failure, run = None if ended.error is None else str(ended.error), self.parts.facts.id
        result = self._result(ended, now)
        self._last_words = [
            *(_not_seen(miss, now) for miss in missed.misses[:MOST_ERRORS]),
            RunResult(at=now, run=run, result=result_json(result)),
            RunEnded(at=now, run=run, by=ended.by, error=failure, **tally),
        ]
        return replace(ended, result=result, missed=missed)

    def _waiting(self, ended: Ended, now: datetime) -> list[Miss]:
        """What a run that ended by itself left due: it did not come to it, and why."""
        if ended.by != "idle":
            return []
        by = self.parts.facts.began_at if self.parts.facts.request.mode is Mode.ONCE else now
        found = self.opened.reader.overdue(by, self.parts.facts.began_at, self.opened.pick)
        return [self._left(url, source, count, now) for url, source, count in found]

    def _left(self, url: str, source: SourceId, count: int, now: datetime) -> Miss:
        lane = lane_of(url)
        state = self.parts.keeper.state(lane)
        is_shut = condition(state, now) in SHUT
        outcome = Outcome.LANE_CLOSED if is_shut else Outcome.BUDGET_SPENT
        detail = f"{lane}: {lane_words(state, now)}" if is_shut else "no look was left for it in this run"
        return Miss(url=url, source=source, outcome=outcome, detail=detail, count=count, is_own=True)

    def _behind_lanes(self, missed: Missed, now: datetime) -> Missed:
        """Nothing is tried again before its lane lets it through."""
        return replace(missed, misses=tuple(self._behind_lane(miss, now) for miss in missed.misses))

    def _behind_lane(self, miss: Miss, now: datetime) -> Miss:
        state = self.parts.keeper.state(lane_of(miss.url))
        word = condition(state, now)
        if word not in SHUT:
            return miss
        opens_at = None if word == BLOCKED else state.closed_until or state.held_until
        times = [at for at in (miss.again_at, opens_at) if at is not None]
        return replace(miss, again_at=max(times) if opens_at is not None else None)

    def _result(self, ended: Ended, now: datetime) -> SentinelResult:
        failure = "" if ended.error is None else str(ended.error)
        state, name = self.parts.keeper.state, self.parts.book.name
        return self.run_log.result(took=self._took(), now=now, lane=state, name=name, failure=failure)


def _not_seen(miss: Miss, now: datetime) -> NotSeen:
    return NotSeen(
        at=now,
        url=miss.url,
        source=miss.source,
        outcome=miss.outcome,
        detail=miss.detail,
        count=miss.count,
        again_at=miss.again_at,
        is_dead_link=miss.is_dead_link,
        remedy=advice(miss.outcome, url=miss.url, detail=miss.detail),
    )


def _post(post: Callable[..., object], call: Callable[..., None], value: object) -> None:
    """Into the loop's thread; a loop that is gone hears nothing."""
    with suppress(RuntimeError):
        post(call, value)
