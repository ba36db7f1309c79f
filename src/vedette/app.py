"""The only place that builds objects."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from vedette.checkup import check_sources
from vedette.config import Config, Loaded
from vedette.contracts.alerting import Message
from vedette.contracts.errors import ConfigError, InputError, StoreError
from vedette.contracts.jobs import SentinelResult
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.watch import Decision, Group, LedgerNote, Placed
from vedette.contracts.words import LaneKey, Reason, Risk, RunId, SourceId
from vedette.core.auto_source import Homes
from vedette.core.limits import RunLimits
from vedette.core.schedule.due import LEARNED
from vedette.engine.assess import AssessOptions, Assessor
from vedette.engine.compare import Comparer
from vedette.engine.documents import DocumentDesk
from vedette.engine.fallback import GuardedScheduler
from vedette.engine.finding import Finder
from vedette.engine.ids import Ids
from vedette.engine.look import Looker
from vedette.engine.loop import Ended, Engine, Mode, Parts
from vedette.engine.reading import ReadingDesk
from vedette.engine.recall import Memory
from vedette.engine.result import RunLog
from vedette.engine.robots import RobotsShelf
from vedette.engine.settler import Settler, SettlerCalls
from vedette.engine.sources import SourceBook
from vedette.engine.telling import messages_of
from vedette.engine.workers import Workers
from vedette.evidence.archive import Archive, ArchiveSettings
from vedette.evidence.shelf import Shelf
from vedette.extract.documents.versions import reader_version
from vedette.fetch.browser import Chromium
from vedette.fetch.http import HttpFetcher, check_settings
from vedette.frontier import Frontier
from vedette.lanes import LaneKeeper
from vedette.lanes.purse import Purse
from vedette.policies import (
    classifier,
    due_rule,
    fetch_settings,
    lane_policies,
    retry_rule,
    rules_text,
    scheduler_options,
    screens,
    sources_of,
)
from vedette.policies_alerting import router
from vedette.report.results import result_json
from vedette.store.migrate import ARCHIVE, prepare
from vedette.store.operator import save_source
from vedette.store.rows import dump_json
from vedette.store.scheduling import ScheduleReader
from vedette.store.sqlite import Pick, Reader, StoreLock, Writer
from vedette.telemetry.clock import SystemClock
from vedette.telemetry.events import Event, events_of
from vedette.telling import check_notify, sending
from vedette.tryout import fetch_robots, look_once
from vedette.waiting import ToolWatch

if TYPE_CHECKING:
    from vedette.engine.scheduler import Scheduler

__all__ = ["Ended", "RunRequest", "check_sources", "fetch_robots", "look_once", "run_async", "run_engine"]

OnEvent = Callable[[Event], None]
Beside = Callable[["Station"], AbstractAsyncContextManager[None]]
LAST_WORDS_S = 10.0  # at the end of a run, for what it still has to tell


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a run is embedded in."""

    on_event: OnEvent
    clock: Clock
    fetcher: Fetcher | None = None
    beside: Beside | None = None  # what goes on while it runs; None: only telling people


def run_engine(
    loaded: Loaded, request: RunRequest, *, on_event: OnEvent, clock: Clock | None = None
) -> Ended:
    """Watch until told to stop.  Blocking; SIGINT and SIGTERM end it cleanly."""
    with suppress(ImportError):
        import uvloop

        uvloop.install()
    return asyncio.run(run_async(loaded, request, on_event=on_event, clock=clock))


async def run_async(
    loaded: Loaded,
    request: RunRequest,
    *,
    on_event: OnEvent,
    clock: Clock | None = None,
    fetcher: Fetcher | None = None,
) -> Ended:
    """The same inside a loop that somebody else owns."""
    around = Around(on_event=on_event, clock=clock or SystemClock(), fetcher=fetcher)
    return await run_around(loaded, request, around)


async def run_around(loaded: Loaded, request: RunRequest, around: Around) -> Ended:
    """The same, with what goes on beside it."""
    _check(loaded.config)
    check_notify(loaded.config)
    pick = Pick(
        tier=request.tier,
        source=request.source,
        fetch_only=request.fetch_only,
        discover_only=request.discover_only,
    )
    clock = around.clock
    with _open_store(loaded, pick, clock) as opened:
        station = Station(loaded, request, clock=clock, opened=opened, on_event=around.on_event)
        try:
            with _signals(station.engine.stop):
                async with (around.beside or _telling)(station):
                    return await station.run(around.fetcher or HttpFetcher(clock))
        finally:
            opened.reader.close()


@asynccontextmanager
async def _telling(station: Station) -> AsyncIterator[None]:
    """Sends what the run tells of while it runs; at its end what is left gets a moment, the rest the next run."""
    config = station.loaded.config
    if not config.notify.channels:
        yield
        return
    with sending(config, station.opened.path, clock=station.clock) as (sender, poster):
        station.on_told = sender.wake
        task = asyncio.create_task(sender.run())
        try:
            yield
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS_S):
                    await sender.drain()
        finally:
            task.cancel()
            await asyncio.wait([task])
            await poster.close()


def _check(config: Config) -> None:
    """Raises ConfigError for what no look could use, before anything is opened."""
    settings = {fetch_settings(config), *(fetch_settings(config, source) for source in sources_of(config))}
    for one in settings:
        check_settings(one)
    try:
        screens(config)
        classifier(config)("https://vedette.example/")
        due_rule(config, config.schedule.policy)
    except InputError as error:
        raise ConfigError(str(error)) from None


@dataclass(slots=True)
class _Opened:
    """A store that is ours until we let go of it."""

    writer: Writer
    reader: Reader
    archive: Archive
    was_killed: bool
    path: Path

    def end_run(self, run: RunId, *, now: datetime, ended_by: str, tally: str) -> None:
        """After the settler has closed its connection.  The last one that closes folds the log into the database."""
        self.reader.close()
        last = Writer(self.path, worker="")
        try:
            last.end_run(run, now=now, ended_by=ended_by, tally=tally)
        finally:
            last.close()


def _save_sources(loaded: Loaded, writer: Writer, now: datetime) -> None:
    """The configured sources are in the store, each with its first watch."""
    with writer.transaction() as db:
        for source in sources_of(loaded.config):
            save_source(db, source, now=now, classify=classifier(loaded.config))


@contextmanager
def _open_store(loaded: Loaded, pick: Pick, clock: Clock) -> Iterator[_Opened]:
    path = prepare(loaded.data)
    lock = StoreLock(loaded.data / "lock")
    lock.take(f"pid {os.getpid()} on {socket.gethostname()}")
    try:
        writer = Writer(path, worker=f"{socket.gethostname()}:{os.getpid()}", pick=pick)
        writer.checkpoint()  # a run that is killed again and again would never come to it
        _save_sources(loaded, writer, clock.now())
        limit = loaded.config.evidence.segment_limit
        archive = Archive(loaded.data / ARCHIVE, ArchiveSettings(segment_limit=limit))
        archive.recover(writer.segments(), now=clock.now())
        yield _Opened(writer, Reader(path), archive, writer.was_killed(), path)
    finally:
        lock.release()


class Station:
    """Everything of one run, wired."""

    def __init__(
        self, loaded: Loaded, request: RunRequest, *, clock: Clock, opened: _Opened, on_event: OnEvent
    ) -> None:
        self.loaded = loaded
        self.request = request
        self.clock = clock
        self.opened = opened
        self.on_event = on_event
        self.on_told: Callable[[], None] = lambda: None
        self.route = router(loaded.config, clock) if loaded.config.notify.channels else None
        self.run_log = RunLog()
        self.listeners: list[Callable[[Group], None]] = [self.run_log.add]
        self.ids = Ids(after=opened.reader.last_id())
        now = self.clock.now()
        self.run_id = RunId(f"run-{now:%Y%m%dT%H%M%S}-{os.getpid()}")
        self.policy = self.request.policy or self.loaded.config.schedule.policy
        self.keeper = LaneKeeper(
            lane_policies(self.loaded.config),
            load=self.opened.reader.lane,
            clock=self.clock,
            not_before=now if self.opened.was_killed else None,
        )
        schedule = self.loaded.config.schedule
        self.purse = Purse(
            schedule.budget_per_day, schedule.host_budget_per_day, load=self.opened.reader.lane
        )
        for lane in self.opened.writer.leased() if self.opened.was_killed else ():
            self.purse.spend(lane, now)
        self.frontier = Frontier(run=self.run_id, room=self.loaded.config.run.per_cycle)
        self.book = SourceBook(
            load=self.opened.reader.source,
            settings_of=lambda source: fetch_settings(self.loaded.config, source),
            blocked_words=self.loaded.config.discover.blocked_words,
        )
        self.finder = Finder(
            known=self.opened.reader.known,
            sitemaps=self._sitemaps,
            classify=classifier(self.loaded.config),
            most=self.loaded.config.run.max_sightings,
            homes=Homes(self.opened.reader.sources()) if self.loaded.config.discover.auto_sources else None,
        )
        self.workers = Workers()
        self._order = self.opened.reader.last_order()
        seconds = self.request.seconds
        limits = RunLimits(
            deadline=now + timedelta(seconds=seconds) if seconds is not None else None,
            max_visits=self.request.max_visits,
        )
        parts = Parts(
            clock=self.clock,
            frontier=self.frontier,
            keeper=self.keeper,
            on_committed=self._note_group,
            on_stopping=lambda: self._save_desks(all_of_them=True),
            take_orders=self._take_orders if self.request.takes_orders else None,
            purse=self.purse,
        )
        self.engine = Engine(parts, mode=self.request.mode, limits=limits)
        if self.request.patience is not None:
            self.engine.patience = self.request.patience

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
            on_closed=lambda key, reason: settler.aside(self._note("breaker", key, reason)),
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
            rules=rules_text(self.loaded.config),
        )
        self.on_event(Event(name="run_started", at=self.clock.now(), fields={"run": self.run_id}))
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
            options=AssessOptions(
                due=due_rule(config, self.policy),
                retry=retry_rule(config),
                audit_share=config.schedule.audit_share,
                fetch_only=self.request.fetch_only,
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
            messages=self._messages,
        )
        if self.policy == LEARNED:
            calls = replace(calls, schedule=GuardedScheduler(self._scheduler, self._problem).decide)
        return Settler(
            self.opened.writer, self.opened.archive, run=self.run_id, clock=self.clock, calls=calls
        )

    def _scheduler(self) -> Scheduler:
        from vedette.engine.scheduler import Scheduler  # numpy, which other policies do without

        reader = ScheduleReader(self.opened.writer.connection)
        return Scheduler(reader, scheduler_options(self.loaded.config, reader.crawl_delay), self.ids.next)

    def _problem(self, what: str) -> None:
        self.on_event(Event(name="problem", at=self.clock.now(), fields={"what": what}))

    def _acknowledge(self, group: Group, post: Callable[..., object]) -> None:
        """In the settler's thread, after the commit: first the world, then our own loop."""
        for listener in tuple(self.listeners):
            listener(group)
        for event in events_of(group):
            self.on_event(event)
        _post(post, self.engine.on_committed, group)

    def _messages(self, placed: Sequence[Placed]) -> tuple[Message, ...]:
        return () if self.route is None else messages_of(placed, self.route)

    def _note_group(self, group: Group) -> None:
        self._save_desks()
        if group.messages:
            self.on_told()

    def _save_desks(self, *, all_of_them: bool = False) -> None:
        for state in self.book.unsaved(self.clock.now(), all_of_them=all_of_them):
            self.engine.parts.settler.aside(state)

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
                continue
            lane = LaneKey(subject)
            if action == "lane":
                state = self.opened.reader.lane(lane)
                if state is not None:
                    self.keeper.replace(lane, state)
            self.frontier.note_due(lane, self.clock.now(), Risk.MEDIUM)
            self.engine.touch(lane)

    def _end_run(self, ended: Ended) -> Ended:
        """Says how it ended, to the store and to the world.  A store that cannot take it will call it killed."""
        tally = asdict(ended.tally)
        now = self.clock.now()
        try:
            self.opened.end_run(self.run_id, now=now, ended_by=ended.by, tally=dump_json(tally))
        except StoreError as error:
            ended = replace(ended, by="failed", error=ended.error or error)
        fields: dict[str, object] = {"run": self.run_id, "by": ended.by, **tally}
        if ended.error is not None:
            fields["error"] = str(ended.error)
        result = self._result(ended, now)
        words: dict[str, object] = {"run": self.run_id, "result": result_json(result)}
        self.on_event(Event(name="run_result", at=now, fields=words))
        self.on_event(Event(name="run_ended", at=now, fields=fields))
        return replace(ended, result=result)

    def _result(self, ended: Ended, now: datetime) -> SentinelResult:
        failure = "" if ended.error is None else str(ended.error)
        state, name = self.keeper.state, self.book.name
        return self.run_log.result(took=self._took(), now=now, lane=state, name=name, failure=failure)


def _post(post: Callable[..., object], call: Callable[..., None], value: object) -> None:
    """Into the loop's thread; a loop that is gone hears nothing."""
    with suppress(RuntimeError):
        post(call, value)


@contextmanager
def _signals(stop: Callable[[str], None]) -> Iterator[None]:
    """SIGINT and SIGTERM end the run cleanly; a second one ends it at once."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        for number in numbers:
            loop.add_signal_handler(number, _stop_once, stop, loop, numbers)
    try:
        yield
    finally:
        if is_main:
            for number in numbers:
                loop.remove_signal_handler(number)


def _stop_once(
    stop: Callable[[str], None], loop: asyncio.AbstractEventLoop, numbers: tuple[int, ...]
) -> None:
    stop("stopped")
    for number in numbers:
        loop.remove_signal_handler(number)
