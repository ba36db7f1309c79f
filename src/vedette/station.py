"""Everything of one run, wired: the engine with its parts, the assessor of its looks, the settler of its groups."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from vedette.config import Loaded
from vedette.contracts.alerting import Message
from vedette.contracts.errors import StoreError
from vedette.contracts.jobs import Miss, QueuedJob, SentinelResult
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.watch import Decision, Group, LedgerNote, Placed
from vedette.contracts.words import LaneKey, Outcome, Reason, Risk, RunId, SourceId, WatchId
from vedette.core.auto_source import Homes
from vedette.core.lane import SHUT, condition
from vedette.core.limits import RunLimits
from vedette.core.schedule.due import LEARNED
from vedette.core.urls import lane_of
from vedette.engine.assess import AssessOptions, Assessor
from vedette.engine.compare import Comparer
from vedette.engine.documents import DocumentDesk
from vedette.engine.fallback import GuardedHunter, GuardedScheduler
from vedette.engine.finding import Finder
from vedette.engine.ids import Ids
from vedette.engine.inheriting import RiskHeirs
from vedette.engine.look import Looker
from vedette.engine.loop import Ended, Engine, Mode, Parts
from vedette.engine.memory import MemoryBudget
from vedette.engine.reading import ReadingDesk
from vedette.engine.recall import Memory
from vedette.engine.result import MOST_ERRORS, RunLog
from vedette.engine.robots import RobotsShelf
from vedette.engine.settler import Settler, SettlerCalls
from vedette.engine.sources import SourceBook
from vedette.engine.telling import messages_of
from vedette.engine.workers import Workers
from vedette.evidence.shelf import Shelf
from vedette.extract.documents.versions import reader_version
from vedette.fetch.browser import Chromium
from vedette.frontier import Frontier
from vedette.lanes import LaneKeeper
from vedette.lanes.purse import Purse
from vedette.opening import Opened
from vedette.policies import (
    classifier,
    due_rule,
    fetch_settings,
    hunt_options,
    lane_policies,
    retry_rule,
    rules_text,
    scheduler_options,
    screens,
)
from vedette.policies_alerting import router
from vedette.report.explaining import lane_words
from vedette.report.misses import miss_json
from vedette.report.results import result_json
from vedette.store.clock_heal import Ahead
from vedette.store.hunting import HuntReader, release
from vedette.store.migrate import ARCHIVE
from vedette.store.orders import HEALED
from vedette.store.rows import dump_json
from vedette.store.scheduling import ScheduleReader
from vedette.store.sqlite import LOOK
from vedette.telemetry.events import Event, events_of
from vedette.waiting import ToolWatch

if TYPE_CHECKING:
    from vedette.engine.hunter import Hunter
    from vedette.engine.scheduler import Scheduler

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
    looks: tuple[tuple[WatchId, LaneKey], ...] = ()  # only these, and end when each was seen;
    ordered_after: int | None = None  # their orders come after this one


GOES_ON = (
    "the run goes on and writes to new files; `vedette evidence set-aside` lets its pages be kept anew, "
    "`vedette restore BACKUP --replace` brings them back"
)


class Station:
    """Everything of one run, wired."""

    def __init__(
        self, loaded: Loaded, request: RunRequest, *, clock: Clock, opened: Opened, on_event: OnEvent
    ) -> None:
        self.loaded = loaded
        self.request = request
        self.clock = clock
        self.opened = opened
        self.on_event = on_event
        self.on_told: Callable[[], None] = lambda: None
        self.on_served: Callable[[QueuedJob, str, timedelta], None] = lambda job, status, took: None
        self.ended_by = ""
        self._last_words: list[Event] = []
        self._closings: deque[LedgerNote] = deque()  # why lanes closed, until their state is written
        config, reader = loaded.config, opened.reader
        self.route = router(config, clock) if config.notify.channels else None
        self.run_log = RunLog()
        self.listeners: list[Callable[[Group], None]] = [self.run_log.add]
        self.ids = Ids(after=reader.last_id())
        self._order = reader.last_order()
        self._began = clock.now()
        stamp = f"{self._began:%Y%m%dT%H%M%S%f}"[:-3]  # in a container every process may have the same number
        self.run_id = RunId(f"run-{stamp}-{os.getpid()}")
        self.policy = request.policy or config.schedule.policy
        self.keeper = LaneKeeper(
            lane_policies(config),
            load=reader.lane,
            clock=clock,
            not_before=self._began if opened.was_killed else None,
        )
        self.keeper.on_closed = lambda key, reason: self._closings.append(self._note("breaker", key, reason))
        self.purse = self._purse()
        self.frontier = Frontier(run=self.run_id, room=config.run.per_cycle)
        plain = fetch_settings(config)  # of all sources that have none of their own
        self.book = SourceBook(
            load=reader.source,
            settings_of=lambda source: fetch_settings(config, source) if source.fetch else plain,
            blocked_words=config.discover.blocked_words,
            own=reader.own_watch,
        )
        self.finder = Finder(
            known=reader.known,
            sitemaps=self._sitemaps,
            classify=classifier(config),
            most=config.run.max_sightings,
            homes=Homes(reader.sources()) if config.discover.auto_sources else None,
        )
        self.hunts = self._hunts()
        self.workers = Workers()
        self.engine = self._engine()

    async def run(self, fetcher: Fetcher) -> Ended:
        loop = asyncio.get_running_loop()
        settler = self._settler(loop)
        self._took = self.clock.stopwatch()
        self.engine.parts.settler = settler
        robots = RobotsShelf(load=self.opened.reader.robots, save=settler.aside, clock=self.clock)
        browser = Chromium(fetcher, self.clock)
        looker = Looker(
            fetcher=fetcher,
            keeper=self.keeper,
            robots=robots,
            clock=self.clock,
            settings_of=self.book.settings,
            needs_browser=self.book.needs_browser,
            renderer=browser,
            memory=self.engine.parts.memory,
        )
        self.engine.parts.serve = self._assessor(looker).serve
        tools = ToolWatch(self.opened.path, self.loaded.config.extract.ocr_languages, self.clock)
        await tools.retry()
        for lane, risk, due_at in self.opened.reader.lanes_due():
            self.frontier.note_due(lane, due_at, risk)
        self.opened.writer.start_run(
            self.run_id,
            now=self.clock.now(),
            policy=self.policy,
            digest=self.loaded.digest,
            rules=rules_text(self.loaded.config, fetch_only=self.request.fetch_only),
        )
        self.on_event(Event(name="run_started", at=self.clock.now(), fields={"run": self.run_id}))
        if self.opened.made_private:
            fields: dict[str, object] = {"count": self.opened.made_private}
            self.on_event(Event(name="made_private", at=self.clock.now(), fields=fields))
        if self.opened.healed.is_any:
            self._tell_healed(self.opened.healed)
        for one in self.opened.damage:
            self._problem(f"archive file {one.segment}: {one.words}; {GOES_ON}")
        settler.start()
        retrying = asyncio.create_task(tools.keep_on())
        try:
            ended = await self.engine.run()
        finally:
            retrying.cancel()
            await browser.close()
            await fetcher.close()
            self.workers.close()
        return self._end_run(ended)

    def _hunts(self) -> bool:
        """Does any source hunt?  What those that stopped hunting left open is looked at like anything else."""
        hunting = [source.id for source in self.opened.reader.sources() if source.options.hunt]
        with self.opened.writer.transaction() as db:
            release(db, hunting, now=self._began)
        return bool(hunting)

    def _purse(self) -> Purse:
        """The budgets of the day.  What a killed run had under way counts as spent."""
        schedule, opened = self.loaded.config.schedule, self.opened
        purse = Purse(schedule.budget_per_day, schedule.host_budget_per_day, load=opened.reader.lane)
        for lane in opened.writer.leased() if opened.was_killed else ():
            purse.spend(lane, self._began)
        return purse

    def _engine(self) -> Engine:
        request = self.request
        deadline = None if request.seconds is None else self._began + timedelta(seconds=request.seconds)
        parts = Parts(
            clock=self.clock,
            frontier=self.frontier,
            keeper=self.keeper,
            on_committed=self._note_group,
            on_stopping=lambda: self._save_desks(all_of_them=True),
            take_orders=self._take_orders if request.takes_orders else None,
            purse=self.purse,
            memory=MemoryBudget(self.loaded.config.run.memory),
            hunts=self.hunts,
            on_clock_set=self._clock_set,
        )
        limits = RunLimits(deadline=deadline, max_visits=request.max_visits)
        engine = Engine(parts, mode=request.mode, limits=limits, wanted=dict(request.looks) or None)
        if request.patience is not None:
            engine.patience = request.patience
        return engine

    def _assessor(self, looker: Looker) -> Assessor:
        config = self.loaded.config
        languages = config.extract.ocr_languages
        shelf = Shelf(self.loaded.data, reader_version(languages))
        return Assessor(
            looker=looker,
            finder=self.finder,
            comparer=Comparer(
                Memory(self.opened.reader, self.loaded.data / ARCHIVE),
                config.extract.scope,
                config.run.confirm_after,
                shelf=shelf,
            ),
            book=self.book,
            ids=self.ids,
            clock=self.clock,
            reading=ReadingDesk(
                looker=looker,
                workers=self.workers,
                documents=DocumentDesk(workers=self.workers, shelf=shelf, languages=languages),
                scope=config.extract.scope,
                worker_above=config.extract.worker_above,
                renders_shells=config.extract.render == "auto",
            ),
            screen=screens(config),
            peer=self.opened.reader.watch,
            heirs=RiskHeirs(
                peer=self.opened.reader.watch,
                has_own_risk=lambda source: self.book.desk(source).source.risk is not None,
                ids=self.ids,
            ),
            options=AssessOptions(
                due=due_rule(config, self.policy),
                retry=retry_rule(config),
                audit_share=config.schedule.audit_share,
                fetch_only=self.request.fetch_only,
                embeds=config.stages.embed,
                config_digest=self.loaded.digest,
            ),
        )

    def _sitemaps(self, origin: str) -> tuple[str, ...]:
        """What the origin's robots.txt names."""
        rules = self.opened.reader.robots(origin)
        return rules.sitemaps if rules else ()

    def _settler(self, loop: asyncio.AbstractEventLoop) -> Settler:
        post = loop.call_soon_threadsafe
        calls = SettlerCalls(
            committed=lambda group: self._acknowledge(group, post),
            claimed=lambda claimed: _post(post, self.engine.on_claimed, claimed),
            failed=lambda error: _post(post, self.engine.on_failed, error),
            dirty_lanes=lambda: (*self.keeper.take_dirty(), *self.purse.take_dirty()),
            lane_notes=self._take_closings,
            messages=self._messages,
            paused=lambda error: self._paused(post, "paused", {"what": str(error)}),
            resumed=lambda after: self._paused(post, "resumed", {"seconds": round(after.total_seconds(), 1)}),
            heal=lambda: self._heal(post),
        )
        if self.policy == LEARNED:
            calls = replace(calls, schedule=GuardedScheduler(self._scheduler(), self._problem).decide)
        if self.hunts:
            calls = replace(calls, hunt=GuardedHunter(self._hunter(), self._problem).hunt)
        return Settler(
            self.opened.writer, self.opened.archive, run=self.run_id, clock=self.clock, calls=calls
        )

    def _scheduler(self) -> Callable[[], Scheduler]:
        """Its code is read now: in the middle of a run there may be no file left to open."""
        import numpy.ma  # noqa: F401  np.unique reads it when it is first called

        from vedette.engine.scheduler import Scheduler  # numpy, which other policies do without

        reader = ScheduleReader(self.opened.writer.connection)
        options = scheduler_options(self.loaded.config, reader.crawl_delay)
        return lambda: Scheduler(reader, options, self.ids.next)

    def _hunter(self) -> Callable[[], Hunter]:
        """The same of the hunt."""
        from vedette.engine.hunter import Hunter  # numpy, which runs without a hunt do without

        reader = HuntReader(self.opened.writer.connection, self.opened.pick.clause())
        options = hunt_options(self.loaded.config)
        return lambda: Hunter(reader, options, self.ids.next)

    def _problem(self, what: str) -> None:
        self.on_event(Event(name="problem", at=self.clock.now(), fields={"what": what}))

    def _paused(self, post: Callable[..., object], word: str, fields: dict[str, object]) -> None:
        """In the settler's thread: the store takes nothing just now, or does again."""
        _post(post, self.engine.on_paused, word == "paused")
        self.on_event(Event(name=word, at=self.clock.now(), fields=fields))

    def _clock_set(self, by: timedelta) -> None:
        """While we run.  Memory is right again; the store is healed by the thread that writes to it."""
        now = self.clock.now()
        for desk in self.book.desks():
            desk.clock_set(by, now)
        self.on_event(Event(name="clock_set", at=now, fields={"seconds": round(by.total_seconds(), 3)}))
        self.engine.parts.settler.heal()

    def _heal(self, post: Callable[..., object]) -> None:
        """In the settler's thread."""
        writer, now = self.opened.writer, self.clock.now()
        healed = writer.heal(now=now, policy_of=lane_policies(self.loaded.config).of)
        if healed.is_any:
            self._tell_healed(healed)
            _post(post, self.engine.on_healed, writer.lanes_due())

    def _tell_healed(self, healed: Ahead) -> None:
        fields: dict[str, object] = asdict(healed)
        fields["until"] = None if healed.until is None else healed.until.isoformat()
        self.on_event(Event(name="clock_healed", at=self.clock.now(), fields=fields))

    def _acknowledge(self, group: Group, post: Callable[..., object]) -> None:
        """In the settler's thread, after the commit: first the world, then our own loop."""
        for listener in tuple(self.listeners):
            listener(group)
        for event in events_of(group):
            self.on_event(event)
        _post(post, self.engine.on_committed, group)

    def _messages(self, placed: Sequence[Placed]) -> tuple[Message, ...]:
        return () if self.route is None else messages_of(placed, self.route, self.book.is_muted)

    def _note_group(self, group: Group) -> None:
        self._save_desks()
        if group.messages:
            self.on_told()

    def _save_desks(self, *, all_of_them: bool = False) -> None:
        for state in self.book.unsaved(self.clock.now(), all_of_them=all_of_them):
            self.engine.parts.settler.aside(state)

    def _take_closings(self) -> tuple[LedgerNote, ...]:
        """In the settler's thread: with the state that they speak of, or before it, never after."""
        return tuple(self._closings.popleft() for _ in range(len(self._closings)))

    def _note(self, action: str, subject: LaneKey, reason: Reason) -> LedgerNote:
        now = self.clock.now()
        decision = Decision(action=action, reasons=(reason,), inputs={"lane": subject})
        return LedgerNote(id=self.ids.next(now), at=now, kind="lane", decision=decision)

    def _take_orders(self) -> None:
        """What the operator said from another process since we looked last."""
        for number, action, subject in self.opened.reader.orders(self._order):
            self._order = number
            if action == "source":
                self.book.forget(SourceId(subject))
                self.finder.forget(SourceId(subject))
            if action == HEALED:
                self._read_healed()
            if action in ("source", LOOK, HEALED):  # of a look its lane is told beside it
                continue
            lane = LaneKey(subject)
            if action == "lane":
                state = self.opened.reader.lane(lane)
                if state is not None:
                    self.keeper.replace(lane, state)
            self.frontier.note_due(lane, self.clock.now(), Risk.MEDIUM)
            self.engine.touch(lane)

    def _read_healed(self) -> None:
        """The operator had the store healed of times that lay too far ahead."""
        for lane in tuple(self.keeper.known()):
            state = self.opened.reader.lane(lane)
            if state is not None:
                self.keeper.replace(lane, state)
        self.engine.on_healed(self.opened.reader.lanes_due())

    def tell_end(self) -> None:
        """To the world: the last that it hears of this run, after all that went on beside it."""
        for event in self._last_words:
            self.on_event(event)

    def _end_run(self, ended: Ended) -> Ended:
        """Says how it ended, to the store.  A store that cannot take it will call it killed."""
        tally = asdict(ended.tally)
        now, self.ended_by = self.clock.now(), ended.by
        missed = self.run_log.missed(self._waiting(ended, now))
        try:
            self.opened.end_run(self.run_id, now=now, ended_by=ended.by, tally=dump_json(tally))
        except StoreError as error:
            ended = replace(ended, by="failed", error=ended.error or error)
        fields: dict[str, object] = {"run": self.run_id, "by": ended.by, **tally}
        if ended.error is not None:
            fields["error"] = str(ended.error)
        result = self._result(ended, now)
        words: dict[str, object] = {"run": self.run_id, "result": result_json(result)}
        self._last_words = [
            *(Event(name="not_seen", at=now, fields=miss_json(miss)) for miss in missed.misses[:MOST_ERRORS]),
            Event(name="run_result", at=now, fields=words),
            Event(name="run_ended", at=now, fields=fields),
        ]
        return replace(ended, result=result, missed=missed)

    def _waiting(self, ended: Ended, now: datetime) -> list[Miss]:
        """What a run that ended by itself left due: it did not come to it, and why."""
        if ended.by != "idle":
            return []
        by = self._began if self.request.mode is Mode.ONCE else now
        found = self.opened.reader.overdue(by, self._began, self.opened.pick)
        return [self._left(url, source, count, now) for url, source, count in found]

    def _left(self, url: str, source: SourceId, count: int, now: datetime) -> Miss:
        lane = lane_of(url)
        state = self.keeper.state(lane)
        is_shut = condition(state, now) in SHUT
        outcome = Outcome.LANE_CLOSED if is_shut else Outcome.BUDGET_SPENT
        detail = f"{lane}: {lane_words(state, now)}" if is_shut else "no look was left for it in this run"
        again_at = state.closed_until or state.held_until if is_shut else None
        return Miss(url=url, source=source, outcome=outcome, detail=detail, again_at=again_at, count=count)

    def _result(self, ended: Ended, now: datetime) -> SentinelResult:
        failure = "" if ended.error is None else str(ended.error)
        state, name = self.keeper.state, self.book.name
        return self.run_log.result(took=self._took(), now=now, lane=state, name=name, failure=failure)


def _post(post: Callable[..., object], call: Callable[..., None], value: object) -> None:
    """Into the loop's thread; a loop that is gone hears nothing."""
    with suppress(RuntimeError):
        post(call, value)
