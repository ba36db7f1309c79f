"""Runs the engine: checks the configuration, opens the store, wires a station and what goes on beside it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from vedette.app.channels import check_notify, sending
from vedette.app.crawl_run import CrawlRun, OnEvent, RunRequest
from vedette.app.open_store import open_store
from vedette.app.process import run_loop, signals
from vedette.app.stage_worker import DRAIN, Hooks, beside, hearing
from vedette.config.model import Config, Loaded
from vedette.config.policies import classifier, due_rule, fetch_settings, screens, sources_of
from vedette.contracts.errors import ConfigError, InputError
from vedette.contracts.ports import Clock, Fetcher
from vedette.engine.crawl.loop import Ended
from vedette.fetch.http import HttpFetcher, check_settings
from vedette.store.sqlite import Pick
from vedette.telemetry.clock import SystemClock

__all__ = ["Ended", "RunRequest", "run_async", "run_engine"]

Beside = Callable[[CrawlRun], AbstractAsyncContextManager[None]]
ENDED_BY_ITSELF = ("idle", "limit")
LAST_WORDS_S = 10.0  # at the end of a run, for what it still has to tell


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """What a run is embedded in."""

    on_event: OnEvent
    clock: Clock
    fetcher: Fetcher | None = None
    beside: Beside | None = None  # what goes on while it runs; None: only telling people
    owns_process: bool = False  # what is loaded by now may be kept from the garbage collector


def run_engine(
    loaded: Loaded, request: RunRequest, *, on_event: OnEvent, clock: Clock | None = None
) -> Ended:
    """Watch until told to stop.  Blocking; SIGINT and SIGTERM end it cleanly."""
    around = RunHooks(on_event=on_event, clock=clock or SystemClock(), owns_process=True)
    return run_loop(run_around(loaded, request, around))


async def run_async(
    loaded: Loaded,
    request: RunRequest,
    *,
    on_event: OnEvent,
    clock: Clock | None = None,
    fetcher: Fetcher | None = None,
) -> Ended:
    """The same inside a loop that somebody else owns."""
    around = RunHooks(on_event=on_event, clock=clock or SystemClock(), fetcher=fetcher)
    return await run_around(loaded, request, around)


async def run_around(loaded: Loaded, request: RunRequest, around: RunHooks) -> Ended:
    """The same, with what goes on beside it."""
    _check(loaded.config)
    check_notify(loaded.config)
    pick = Pick(
        tier=request.tier,
        source=request.source,
        fetch_only=request.fetch_only,
        discover_only=request.discover_only,
        ordered_after=request.ordered_after,
    )
    clock = around.clock
    with open_store(loaded, pick, clock) as opened:
        crawl_run = CrawlRun(loaded, request, clock=clock, opened=opened, on_event=around.on_event)
        try:
            with signals(crawl_run.engine.stop), _without_garbage(around.owns_process):
                async with (around.beside or _telling)(crawl_run), _judging(crawl_run):
                    return await crawl_run.run(around.fetcher or HttpFetcher(clock))
        finally:
            crawl_run.tell_end()
            opened.reader.close()


@asynccontextmanager
async def _telling(crawl_run: CrawlRun) -> AsyncIterator[None]:
    """Sends what the run tells of while it runs; at its end what is left gets a moment, the rest the next run."""
    config = crawl_run.loaded.config
    if not config.notify.channels:
        yield
        return
    with sending(config, crawl_run.opened.path, clock=crawl_run.clock) as (sender, poster):
        crawl_run.on_told = sender.wake
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
async def _judging(crawl_run: CrawlRun) -> AsyncIterator[None]:
    """Serves the stage queues beside the looks; a run that ended by itself leaves as little waiting as it can."""
    if not crawl_run.loaded.config.stages.in_process:
        yield
        return
    hooks = Hooks(
        crawl_run.on_event, lambda: crawl_run.engine.under_way > 0, lambda *said: crawl_run.on_served(*said)
    )
    async with beside(crawl_run.loaded, crawl_run.opened.path, clock=crawl_run.clock, hooks=hooks) as worker:
        crawl_run.listeners.append(hearing(worker))
        yield
        if crawl_run.ended_by in ENDED_BY_ITSELF:
            await worker.settle_down(within=DRAIN)


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


@contextmanager
def _without_garbage(owns_process: bool) -> Iterator[None]:
    """What is loaded by now stays: no later collection need walk over it.  Not in a process of somebody else."""
    if not owns_process:
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
