"""A worker with the role `crawl`: a run that shares its store with others and visits lanes by turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress

from vedette.app.archive_series import worker_name
from vedette.app.job_buses import open_calls
from vedette.app.open_store import open_store
from vedette.app.run import RunHooks, build_run, check_run, telling, without_garbage
from vedette.app.run_listeners import heard_by_all
from vedette.config.model import Loaded, database_notices
from vedette.contracts.errors import ConfigError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.core.lanes.visit import LEASE
from vedette.engine.crawl.lane_visitor import TURN_S, CalledVisits, LaneVisitor, VisitCalls, Visits
from vedette.engine.crawl.loop import Ended
from vedette.engine.crawl.run import CrawlRun, RunRequest
from vedette.jobs.lane_calls import LaneCalls
from vedette.lanes.held_lanes import LaneHolds
from vedette.store.lane_visits import LaneVisits
from vedette.store.migrate import prepare_place
from vedette.store.sqlite import Pick
from vedette.telemetry.server_clock import ServerClock

END_S = 15.0  # for giving back what is held
NEEDS_SERVER = (
    "workers share a store on PostgreSQL, and this one is the file {place}: copy it with `vedette db copy --to URL`, "
    "set DATABASE_URL, and start again; one process is `vedette run` or `vedette serve`"
)


def server_of(loaded: Loaded) -> PostgresAddress:
    """The shared store of this installation; ConfigError says what to do where it is a file."""
    if loaded.server is None:
        said = [NEEDS_SERVER.format(place=loaded.store), *database_notices(loaded.data)]
        raise ConfigError("; ".join(said))
    prepare_place(loaded.data, loaded.server)
    return loaded.server


def server_clock(clock: ServerClock, server: PostgresAddress) -> ServerClock:
    """The same, set by what the server shows."""
    with closing(LaneVisits(server, worker="", lease=LEASE)) as store:
        clock.heard(store.server_time())
    return clock


async def crawl(loaded: Loaded, hooks: RunHooks, started: Callable[[CrawlRun], None]) -> Ended:
    """Looks until `started`'s run is stopped.  Its clock is the server's, whatever this machine's says."""
    check_run(loaded.config)
    clock = hooks.clock if isinstance(hooks.clock, ServerClock) else ServerClock(hooks.clock)
    server_clock(clock, server_of(loaded))
    holds = LaneHolds(clock.stopwatch(), clock.now)
    async with heard_by_all(loaded.config, hooks.on_event, clock) as on_event:
        with open_store(loaded, Pick(), clock, tokens=holds.tokens) as opened:
            shared = RunHooks(
                on_event=on_event,
                clock=clock,
                fetcher=hooks.fetcher,
                beside=hooks.beside,
                route=hooks.route,
                on_served=hooks.on_served,
                owns_process=hooks.owns_process,
            )
            run = build_run(loaded, RunRequest(), shared, opened, holds)
            goes_on = hooks.beside(run) if hooks.beside is not None else telling(run, loaded)
            try:
                with without_garbage(hooks.owns_process):
                    async with goes_on, visiting(run, clock, open_calls(loaded, clock)):
                        started(run)
                        return await run.run()
            finally:
                run.tell_end()
                opened.reader.close()


@asynccontextmanager
async def visiting(
    run: CrawlRun, clock: ServerClock, calls: LaneCalls | None = None
) -> AsyncIterator[LaneVisitor]:
    """Lanes are taken, renewed and given back while the run goes; at its end all of them are free."""
    opened, visits = run.opened, run.parts.visits
    if visits is None or not isinstance(opened.path, PostgresAddress):
        raise RuntimeError("a run that has its store for itself visits nobody")
    post = asyncio.get_running_loop().call_soon_threadsafe

    def tell(call: Callable[..., None], *values: object) -> None:
        with suppress(RuntimeError):  # the loop is gone
            post(call, *values)

    hears = VisitCalls(
        gained=lambda taken, asked: tell(visits.gained, taken, asked),
        kept=lambda lanes, asked: tell(visits.kept, lanes, asked),
        lost=lambda lanes: tell(visits.lost, lanes),
        failed=lambda error: tell(run.engine.on_failed, error),
        server_time=clock.heard,
        ordered=lambda number: tell(visits.ordered, number),
    )
    worker = worker_name(opened.series)
    store = (
        LaneVisits(opened.path, worker=worker, lease=LEASE)
        if calls is None
        else CalledVisits(opened.path, worker=worker, lease=LEASE, calls=calls)
    )
    if opened.dead:
        await asyncio.to_thread(store.free_own, opened.dead)
    visitor = LaneVisitor(store, hears, visits.holds.stopwatch)
    visitor.start()
    tidying = asyncio.create_task(_tidy(run, visits, visitor))
    try:
        yield visitor
    finally:
        tidying.cancel()
        await asyncio.wait([tidying])
        visits.give_back_all(visitor)
        visitor.stop()
        await asyncio.to_thread(visitor.join, END_S)


async def _tidy(run: CrawlRun, visits: Visits, visitor: LaneVisitor) -> None:
    while True:
        visits.tidy(visitor, may_take=run.engine.may_begin)
        await asyncio.sleep(TURN_S)
