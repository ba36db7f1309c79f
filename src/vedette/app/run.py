"""Runs the engine: checks the configuration, opens the store, wires a station and what goes on beside it."""

from __future__ import annotations

import asyncio
import gc
import resource
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from vedette.app.channels import check_notify, sending
from vedette.app.crawl_run import OnEvent, RunRequest, Station
from vedette.app.open_store import open_store
from vedette.app.stage_worker import DRAIN, Hooks, beside, hearing
from vedette.config.model import Config, Loaded
from vedette.config.policies import classifier, due_rule, fetch_settings, screens, sources_of
from vedette.contracts.errors import ConfigError, InputError
from vedette.contracts.ports import Clock, Fetcher
from vedette.engine.loop import Ended
from vedette.fetch.http import HttpFetcher, check_settings
from vedette.store.sqlite import Pick
from vedette.telemetry.clock import SystemClock

__all__ = ["Ended", "RunRequest", "run_async", "run_engine"]

Beside = Callable[[Station], AbstractAsyncContextManager[None]]
ENDED_BY_ITSELF = ("idle", "limit")
DESCRIPTORS = 8192
LAST_WORDS_S = 10.0  # at the end of a run, for what it still has to tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
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
    raise_descriptors()
    with suppress(ImportError):
        import uvloop

        uvloop.install()
    around = Around(on_event=on_event, clock=clock or SystemClock(), owns_process=True)
    return asyncio.run(run_around(loaded, request, around))


def raise_descriptors() -> None:
    """As many open files as we may have: every request that waits is one, and 1,024 are the usual beginning."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


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
        ordered_after=request.ordered_after,
    )
    clock = around.clock
    with open_store(loaded, pick, clock) as opened:
        station = Station(loaded, request, clock=clock, opened=opened, on_event=around.on_event)
        try:
            with _signals(station.engine.stop), _without_garbage(around.owns_process):
                async with (around.beside or _telling)(station), _judging(station):
                    return await station.run(around.fetcher or HttpFetcher(clock))
        finally:
            station.tell_end()
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


@asynccontextmanager
async def _judging(station: Station) -> AsyncIterator[None]:
    """Serves the stage queues beside the looks; a run that ended by itself leaves as little waiting as it can."""
    if not station.loaded.config.stages.in_process:
        yield
        return
    hooks = Hooks(
        station.on_event, lambda: station.engine.under_way > 0, lambda *said: station.on_served(*said)
    )
    async with beside(station.loaded, station.opened.path, clock=station.clock, hooks=hooks) as worker:
        station.listeners.append(hearing(worker))
        yield
        if station.ended_by in ENDED_BY_ITSELF:
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
