"""Builds a run and runs it: configuration checked, store opened, every part made once and handed to the run."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy.ma  # noqa: F401  np.unique reads it when it is first called: then there may be no file left to open

from vedette.app.archive_series import worker_name
from vedette.app.channels import sending, told
from vedette.app.open_store import onion_names, open_store
from vedette.app.process import run_loop, signals
from vedette.app.run_listeners import heard_by_all
from vedette.app.stage_worker import DRAIN, Hooks, ToolWatch, beside, hearing
from vedette.config.alert_policies import router
from vedette.config.model import Config, Loaded
from vedette.config.pace_policies import lane_policies
from vedette.config.policies import (
    check_config,
    classifier,
    due_rule,
    fetch_settings,
    retry_rule,
    screens,
    sources_of,
)
from vedette.config.rules import hunt_options, rules_text, scheduler_options
from vedette.contracts.errors import ConfigError
from vedette.contracts.events import ProblemTold
from vedette.contracts.jobs import QueuedJob
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.words import RunId, SourceId
from vedette.core.evidence.screen import screen_url
from vedette.core.schedule.due import LEARNED
from vedette.core.settled_watch import LookRules
from vedette.core.urls.classify import Homes
from vedette.engine.crawl.answer_screen import AnswerScreen, ScreeningFetcher
from vedette.engine.crawl.assess import AssessOptions, Assessor
from vedette.engine.crawl.compare_states import Comparer, PastStates, WaitingPages
from vedette.engine.crawl.content_reader import ContentReader, DocumentReader
from vedette.engine.crawl.find_urls import Finder, Intake, RiskHeirs
from vedette.engine.crawl.lane_visitor import Visits
from vedette.engine.crawl.look import Looker
from vedette.engine.crawl.loop import Ended, Serve
from vedette.engine.crawl.memory_room import MemoryBudget
from vedette.engine.crawl.onion_names import OnionFetcher
from vedette.engine.crawl.robots_cache import RobotsCache
from vedette.engine.crawl.run import CrawlRun, LaneClosings, OnEvent, Opened, RunFacts, RunParts, RunRequest
from vedette.engine.crawl.source_runtime import SourceBook
from vedette.engine.settle.change_messages import Route
from vedette.engine.settle.fallback import GuardedHunter, GuardedScheduler
from vedette.engine.settle.hunter import Hunter
from vedette.engine.settle.ids import Ids
from vedette.engine.settle.scheduler import Scheduler
from vedette.engine.settle.settler import Hunt
from vedette.engine.settle.settler_orders import Aside
from vedette.engine.workers.pool import Workers
from vedette.evidence.text_cache import TextCache
from vedette.extract.documents.language import reader_version
from vedette.fetch.browser import Chromium
from vedette.fetch.http import HttpFetcher, check_settings
from vedette.frontier import Frontier
from vedette.frontier.visit_queue import VisitFrontier
from vedette.lanes import LaneKeeper
from vedette.lanes.held_lanes import HeldLaneKeeper, LaneHolds
from vedette.lanes.look_budgets import LookBudgets
from vedette.store.compliance import ComplianceFile
from vedette.store.hunt_rows import HuntReader, release
from vedette.store.schedule_rows import ScheduleReader, ServerScheduleReader
from vedette.store.sqlite import Pick, Reader
from vedette.telemetry.clock import SystemClock

__all__ = ["Ended", "RunRequest", "run_async", "run_engine"]

Beside = Callable[[CrawlRun], AbstractAsyncContextManager[None]]
OnServed = Callable[[QueuedJob, str, timedelta], None]
ENDED_BY_ITSELF = ("idle", "limit")
SELDOM = (20_000, 10, 10)  # new objects before one looks for garbage; about 200 looks
LAST_WORDS_S = 10.0  # at the end of a run, for what it still has to tell


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """What a run is embedded in."""

    on_event: OnEvent
    clock: Clock
    fetcher: Fetcher | None = None
    beside: Beside | None = None  # what goes on while it runs; None: only telling people
    route: Route | None = None  # to whom changes are told; None: as the configuration says
    on_served: OnServed = lambda job, status, took: None  # hears of every stage job that ended
    owns_process: bool = False  # what is loaded by now may be kept from the garbage collector


def run_engine(
    loaded: Loaded, request: RunRequest, *, on_event: OnEvent, clock: Clock | None = None
) -> Ended:
    """Watch until told to stop.  Blocking; SIGINT and SIGTERM end it cleanly."""
    hooks = RunHooks(on_event=on_event, clock=clock or SystemClock(), owns_process=True)
    return run_loop(run_with(loaded, request, hooks))


async def run_async(
    loaded: Loaded,
    request: RunRequest,
    *,
    on_event: OnEvent,
    clock: Clock | None = None,
    fetcher: Fetcher | None = None,
) -> Ended:
    """The same inside a loop that somebody else owns."""
    hooks = RunHooks(on_event=on_event, clock=clock or SystemClock(), fetcher=fetcher)
    return await run_with(loaded, request, hooks)


async def run_with(loaded: Loaded, request: RunRequest, hooks: RunHooks) -> Ended:
    """The same, with what goes on beside it."""
    check_run(loaded.config)
    pick = Pick(
        tier=request.tier,
        source=request.source,
        fetch_only=request.fetch_only,
        discover_only=request.discover_only,
        ordered_after=request.ordered_after,
    )
    async with heard_by_all(loaded.config, hooks.on_event, hooks.clock) as on_event:
        with open_store(loaded, pick, hooks.clock) as opened:
            return await _run_opened(loaded, request, replace(hooks, on_event=on_event), opened)


async def _run_opened(loaded: Loaded, request: RunRequest, hooks: RunHooks, opened: Opened) -> Ended:
    run = build_run(loaded, request, hooks, opened)
    goes_on = hooks.beside(run) if hooks.beside is not None else telling(run, loaded)
    try:
        with signals(run.engine.stop), without_garbage(hooks.owns_process):
            async with goes_on, _judging(run, loaded, hooks):
                return await run.run()
    finally:
        run.tell_end()
        opened.reader.close()


def build_run(
    loaded: Loaded, request: RunRequest, hooks: RunHooks, opened: Opened, holds: LaneHolds | None = None
) -> CrawlRun:
    """The one place where a run is put together.  `holds`: of a worker among several; None: the store is ours."""
    config, reader, clock = loaded.config, opened.reader, hooks.clock
    facts = _facts(loaded, request, clock.now(), worker_name(opened.series))
    ids = Ids(opened.series, after=reader.last_id())
    policies, closings = lane_policies(config), LaneClosings(ids, clock)
    keeper, frontier, visits = _lanes(config, (facts, opened), clock, closings, holds)
    screening = _screening(loaded, hooks)
    fetcher = _fetcher(loaded, hooks, screening)
    crawl = _Crawl(
        loaded=loaded,
        facts=facts,
        opened=opened,
        clock=clock,
        ids=ids,
        keeper=keeper,
        fetcher=fetcher,
        browser=Chromium(fetcher, clock),
        memory=MemoryBudget(config.run.memory),
        workers=Workers(),
        book=_book(config, reader),
        finder=_finder(config, reader, screening),
        screening=screening,
    )

    def problem(what: str) -> None:
        hooks.on_event(ProblemTold(at=clock.now(), what=what))

    scheduler = _scheduler(config, facts, opened, ids, problem)
    budgets = _look_budgets(config, opened, facts.began_at)
    if visits is not None:
        visits.on_gained += [budgets.forget, *([] if scheduler is None else [scheduler.visited])]
    parts = RunParts(
        facts=facts,
        clock=clock,
        opened=opened,
        fetcher=fetcher,
        browser=crawl.browser,
        keeper=keeper,
        closings=closings,
        look_budgets=budgets,
        frontier=frontier,
        book=crawl.book,
        finder=crawl.finder,
        memory=crawl.memory,
        workers=crawl.workers,
        tools=ToolWatch(opened.path, config.extract.ocr_languages, clock),
        policy_of=policies.of,
        serve=crawl.serve,
        on_event=hooks.on_event,
        schedule=None if scheduler is None else scheduler.decide,
        hunt=_hunt(config, facts, opened, ids, problem),
        route=hooks.route or (router(config, clock) if config.notify.channels else None),
        visits=visits,
        on_lost=(lambda: None) if scheduler is None else scheduler.forget,
    )
    return CrawlRun(parts)


def _fetcher(loaded: Loaded, hooks: RunHooks, screening: AnswerScreen) -> Fetcher:
    fetcher = hooks.fetcher or HttpFetcher(hooks.clock)
    if (names := onion_names(loaded.config, loaded.data)) is not None:
        fetcher = OnionFetcher(fetcher, names)
    return fetcher if screening.is_idle else ScreeningFetcher(fetcher, screening, hooks.clock)


def _lanes(
    config: Config,
    of: tuple[RunFacts, Opened],
    clock: Clock,
    closings: LaneClosings,
    holds: LaneHolds | None,
) -> tuple[LaneKeeper, Frontier, Visits | None]:
    """Who says what may be asked, and what is asked next."""
    (facts, opened), policies, room = of, lane_policies(config), config.run.per_cycle
    if holds is None:
        not_before = facts.began_at if opened.was_killed else None
        load = opened.reader.lane
        keeper = LaneKeeper(policies, load=load, clock=clock, not_before=not_before, on_closed=closings.add)
        return keeper, Frontier(run=facts.id, room=room), None
    held = HeldLaneKeeper(holds, policies, clock=clock, on_closed=closings.add)
    frontier = VisitFrontier(run=facts.id, stopwatch=clock.stopwatch, room=room)
    return held, frontier, Visits(clock=clock, holds=holds, keeper=held, frontier=frontier)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crawl:
    """The parts of a look: who fetches, reads, compares, finds."""

    loaded: Loaded
    facts: RunFacts
    opened: Opened
    clock: Clock
    ids: Ids
    keeper: LaneKeeper
    fetcher: Fetcher
    browser: Chromium
    memory: MemoryBudget
    workers: Workers
    book: SourceBook
    finder: Finder
    screening: AnswerScreen

    def serve(self, save: Callable[[Aside], None]) -> Serve:
        """How a job becomes a settlement; `save` writes a value along with the next group."""
        config, reader = self.loaded.config, self.opened.reader
        looker = self._looker(save)
        languages = config.extract.ocr_languages
        text_cache = TextCache(self.loaded.data, reader_version(languages))
        past = PastStates(reader, self.loaded.archive)
        extract, waiting = config.extract, WaitingPages()
        return Assessor(
            looker=looker,
            finder=self.finder,
            comparer=Comparer(
                past,
                extract.scope,
                config.run.confirm_after,
                text_cache=text_cache,
                waiting=waiting,
                redacts=self.book.redacts,
                filters=self.book.filters,
            ),
            book=self.book,
            ids=self.ids,
            clock=self.clock,
            reading=ContentReader(
                looker=looker,
                workers=self.workers,
                documents=DocumentReader(workers=self.workers, text_cache=text_cache, languages=languages),
                scope=extract.scope,
                worker_above=extract.worker_above,
                renders_shells=extract.render == "auto",
                waiting=waiting,
                redacts=self.book.redacts,
                filters=self.book.filters,
            ),
            screen=self.screening,
            peer=reader.watch,
            heirs=RiskHeirs(peer=reader.watch, has_own_risk=self._has_own_risk, ids=self.ids),
            options=self._options(),
        ).serve

    def _looker(self, save: Callable[[Aside], None]) -> Looker:
        return Looker(
            fetcher=self.fetcher,
            keeper=self.keeper,
            robots=RobotsCache(load=self.opened.reader.robots, save=save, clock=self.clock),
            clock=self.clock,
            settings_of=self.book.settings,
            needs_browser=self.book.needs_browser,
            takes_screenshot=self.book.takes_screenshot,
            renderer=self.browser,
            memory=self.memory,
        )

    def _options(self) -> AssessOptions:
        config = self.loaded.config
        rules = LookRules(
            due=due_rule(config, self.facts.policy),
            retry=retry_rule(config),
            audit_share=config.schedule.audit_share,
            fetch_only=self.facts.request.fetch_only,
        )
        return AssessOptions(rules=rules, embeds=config.stages.embed)

    def _has_own_risk(self, source: SourceId) -> bool:
        return self.book.runtime(source).source.risk is not None


def _book(config: Config, reader: Reader) -> SourceBook:
    plain = fetch_settings(config)  # of all sources that have none of their own
    return SourceBook(
        load=reader.source,
        settings_of=lambda source: (
            fetch_settings(config, source) if source.fetch or source.options.hunt else plain
        ),
        blocked_words=config.discover.blocked_words,
        own=reader.own_watch,
    )


def _screening(loaded: Loaded, hooks: RunHooks) -> AnswerScreen:
    """What is never kept, and who is asked nothing any more.  Sources that were left out are told by number."""
    config, compliance = loaded.config, ComplianceFile(loaded.data)
    table = screens(config)
    for number, source in enumerate(sources_of(config) if config.screen else ()):
        if (row := screen_url(source.url, table)) is not None:
            what = f"sources.{number} is not watched: row {row.name!r} of `screen` refuses its address"
            hooks.on_event(ProblemTold(at=hooks.clock.now(), what=what))
    return AnswerScreen(table, compliance.blocked(), compliance.add)


def _finder(config: Config, reader: Reader, screening: AnswerScreen) -> Finder:
    def sitemaps(origin: str) -> tuple[str, ...]:
        rules = reader.robots(origin)
        return rules.sitemaps if rules else ()

    return Finder(
        known=reader.known,
        sitemaps=sitemaps,
        classify=classifier(config),
        intake=Intake(
            most=config.run.max_sightings,
            homes=Homes(reader.sources()) if config.discover.auto_sources else None,
            refuses=None if screening.is_idle else screening.refuses,
        ),
    )


def _facts(loaded: Loaded, request: RunRequest, now: datetime, worker: str) -> RunFacts:
    stamp = f"{now:%Y%m%dT%H%M%S%f}"[:-3]  # in a container every process may have the same number
    return RunFacts(
        id=RunId(f"run-{stamp}-{worker or os.getpid()}"),
        request=request,
        began_at=now,
        policy=request.policy or loaded.config.schedule.policy,
        digest=loaded.digest,
        rules=rules_text(loaded.config, fetch_only=request.fetch_only),
    )


def _look_budgets(config: Config, opened: Opened, began_at: datetime) -> LookBudgets:
    """The budgets of the day.  What a killed run had under way counts as spent."""
    schedule = config.schedule
    budgets = LookBudgets(
        schedule.budget_per_day,
        schedule.host_budget_per_day,
        load=opened.reader.lane,
        worker=worker_name(opened.series),
    )
    for lane in opened.writer.leased() if opened.was_killed else ():
        budgets.spend(lane, began_at)
    return budgets


def _scheduler(
    config: Config, facts: RunFacts, opened: Opened, ids: Ids, problem: Callable[[str], None]
) -> GuardedScheduler | None:
    """The learned policy decides whole groups; every other one decides look by look.

    Beside other workers the price is what the one with the role `scheduler` publishes.
    """
    if facts.policy != LEARNED:
        return None
    kind = ServerScheduleReader if opened.series else ScheduleReader
    reader = kind(opened.writer.connection)
    options = replace(scheduler_options(config, reader.crawl_delay), reviews=not opened.series)
    rule = due_rule(config, facts.policy)
    return GuardedScheduler(lambda: Scheduler(reader, options, ids.next), problem, rule)


def _hunt(
    config: Config, facts: RunFacts, opened: Opened, ids: Ids, problem: Callable[[str], None]
) -> Hunt | None:
    """Where any source hunts.  What those that stopped hunting left open is looked at like anything else."""
    sources = opened.reader.sources()
    hunting = [source.id for source in sources if source.options.hunt]
    if opened.series:
        if active := [source.id for source in sources if source.options.hunt and source.is_active]:
            raise ConfigError(
                f"{active[0]} hunts, and a hunt has one engine: `vedette sources pause {active[0]}` lets workers start "
                "without it; hunt meanwhile in a store of its own, or stop the workers and use `vedette run`"
            )
        return None
    with opened.writer.transaction() as db:
        release(db, hunting, now=facts.began_at)
    if not hunting:
        return None
    reader = HuntReader(opened.writer.connection, opened.pick.clause())
    options = hunt_options(config, hunting, fitted=reader.weights())
    options = replace(options, looks=facts.request.max_visits)
    return GuardedHunter(lambda now: Hunter(reader, options, ids.next, now), problem).hunt


@asynccontextmanager
async def telling(run: CrawlRun, loaded: Loaded) -> AsyncIterator[None]:
    """Sends what the run tells of while it runs; at its end what is left gets a moment, the rest the next run."""
    config = loaded.config
    if not config.notify.channels:
        yield
        return
    with sending(config, run.opened.path, clock=run.clock) as (sender, poster):
        run.listeners.append(told(sender.wake))
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


@asynccontextmanager
async def _judging(run: CrawlRun, loaded: Loaded, around: RunHooks) -> AsyncIterator[None]:
    """Serves the stage queues beside the looks; a run that ended by itself leaves as little waiting as it can."""
    if not loaded.config.stages.in_process:
        yield
        return
    hooks = Hooks(around.on_event, lambda: run.engine.under_way > 0, around.on_served)
    async with beside(loaded, run.opened.path, clock=run.clock, hooks=hooks) as worker:
        run.listeners.append(hearing(worker))
        yield
        if run.ended_by in ENDED_BY_ITSELF:
            await worker.settle_down(within=DRAIN)


def check_run(config: Config) -> None:
    """Raises ConfigError for what no look could use, before anything is opened."""
    check_config(config)
    settings = {fetch_settings(config), *(fetch_settings(config, source) for source in sources_of(config))}
    for one in settings:
        check_settings(one)


@contextmanager
def without_garbage(owns_process: bool) -> Iterator[None]:
    """What is loaded by now stays: no later collection need walk over it.  Not in a process of somebody else.

    A look leaves hardly any cycles, and what waits for its commit is no garbage.
    """
    if not owns_process:
        yield
        return
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.collect()  # the run alone: what was there before it is still set aside
        gc.unfreeze()
