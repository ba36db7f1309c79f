"""`vedette worker --roles`: any mix of roles in one process, any number of processes on one store.

A worker says every few seconds that it is there and what it does.  SIGTERM lets it end what it has begun.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TextIO

from vedette.app.archive_series import worker_name
from vedette.app.crawl_worker import crawl, server_clock, server_of
from vedette.app.panel_worker import PanelDuty
from vedette.app.process import run_loop, signals, this_process
from vedette.app.run import RunHooks
from vedette.app.scheduler_duty import SchedulerDuty
from vedette.app.service import Door, Service
from vedette.app.stage_worker import Hooks, keep_on, opened
from vedette.config.alert_policies import router
from vedette.config.model import Loaded
from vedette.contracts.errors import InputError, StoreError, StoreWaitError, TakenOverError, VedetteError
from vedette.contracts.events import ProblemTold, Serving
from vedette.contracts.lane import ALL
from vedette.contracts.ports import Clock
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection
from vedette.contracts.workers import Role, WorkerRow, WorkerState
from vedette.core.lanes.visit import LEASE
from vedette.core.text.nearest import unknown
from vedette.engine.crawl.run import CrawlRun, OnEvent
from vedette.store.connection import comes_back, connect, told
from vedette.store.migrate import newer_store
from vedette.store.worker_rows import say
from vedette.telemetry.server_clock import ServerClock

BEAT_S = 5.0
AGAIN_S = 1.0
START = timedelta(seconds=30)  # for a server that starts at the same time as its workers
DRAIN_S = 28.0  # what a worker that was told to stop may still take; docs/how-to/scale-out.md says 30


def roles_of(words: str) -> tuple[Role, ...]:
    """`crawl,stages` as roles; InputError names the nearest."""
    named = list(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))
    for name in named:
        if name not in tuple(Role):
            raise InputError(unknown("role", name, [role.value for role in Role]))
    if not named:
        raise InputError(f"name at least one role: {', '.join(Role)}")
    return tuple(Role(name) for name in named)


@dataclass(slots=True)
class Worker:
    """One process.  `door`: what it answers over HTTP; None: nothing."""

    loaded: Loaded
    roles: tuple[Role, ...]
    clock: Clock
    hear: OnEvent
    stdout: TextIO
    door: Door | None
    panel_lease: timedelta = LEASE  # a provider whose worker was silent for so long is free
    path: PostgresAddress = field(init=False)
    service: Service = field(init=False)
    state: WorkerState = WorkerState.RUNNING
    _run: CrawlRun | None = None
    _duty: SchedulerDuty | None = None
    _panel: PanelDuty | None = None
    _jobs: int = 0  # stage jobs that ended
    _error: BaseException | None = None
    _said: SqlConnection | None = None  # on which it says that it is there
    _saying: threading.Lock = field(default_factory=threading.Lock)
    _is_over: asyncio.Event = field(default_factory=asyncio.Event)
    _has_begun: asyncio.Event = field(default_factory=asyncio.Event)  # to look; cleared when it was said

    def __post_init__(self) -> None:
        self.path, self.clock = self._reached()
        self.service = Service(
            self.loaded,
            self.clock,
            self.hear,
            door=self.door or _no_door,
            stdout=self.stdout,
            path=self.path,
            fail=self._failed,
        )

    def _reached(self) -> tuple[PostgresAddress, Clock]:
        """The store and its clock.  A server that does not answer yet is told of, and waited for a while."""
        passed, is_told = self.clock.stopwatch(), False
        while True:
            try:
                path = server_of(self.loaded)
                if words := newer_store(path):
                    self.hear(ProblemTold(at=self.clock.now(), what=words))
                return path, server_clock(ServerClock(self.clock), path)
            except StoreWaitError as error:
                if passed() > START:
                    raise
                if not is_told:
                    words = f"{error}; it is asked again for {START.seconds} s"
                    self.hear(ProblemTold(at=self.clock.now(), what=words))
                is_told = True
            time.sleep(AGAIN_S)

    async def work(self) -> None:
        """Until it is told to stop, or a duty cannot go on: then that is raised."""
        duties: dict[Role, Callable[[], Coroutine[Any, Any, object]]] = {
            Role.CRAWL: self._crawl,
            Role.STAGES: self._stages,
            Role.PANEL: self._ask_models,
            Role.SCHEDULER: self._schedule,
        }
        async with AsyncExitStack() as held:
            held.enter_context(signals(self._stop))
            if self.door is not None:
                listen = await held.enter_async_context(self.door(self.service.state()))
                self.hear(Serving(at=self.clock.now(), listen=listen))
            beating = asyncio.create_task(self._beat())
            tasks = [asyncio.create_task(duties[role]()) for role in self.roles if role in duties]
            tasks.append(asyncio.create_task(self._until_told()))
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                self._stop("failed")
                await self._drain(tasks)
            finally:
                beating.cancel()
                await asyncio.wait([beating])
                self.state = WorkerState.ENDED
                await asyncio.to_thread(self._say_last)

    def _stop(self, by: str) -> None:
        """Nothing new is begun."""
        self.service.is_ready = False
        self.state = WorkerState.DRAINING
        if self._run is not None:
            self._run.engine.stop("stopped")
        self._is_over.set()

    def _failed(self, error: BaseException) -> None:
        self._error = self._error or error
        self._stop("failed")

    async def _until_told(self) -> None:
        await self._is_over.wait()
        if self._error is not None:
            raise self._error

    async def _drain(self, tasks: list[asyncio.Task[Any]]) -> None:
        _, late = await asyncio.wait(tasks, timeout=DRAIN_S)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        for task in tasks:
            error = None if task.cancelled() else task.exception()
            if error is not None:
                raise error

    async def _crawl(self) -> None:
        hooks = RunHooks(
            on_event=self.hear,
            clock=self.clock,
            beside=self._beside,
            route=router(self.loaded.config, self.clock),
            owns_process=True,
        )
        while (error := await self._crawled(hooks)) is not None:
            if self._is_over.is_set() or not self._comes_back(error):
                raise _as_ours(error, self.path)
            self.hear(
                ProblemTold(at=self.clock.now(), what=f"looks begin again when the store is back: {error}")
            )
            self._run = None
            await asyncio.sleep(AGAIN_S)

    async def _crawled(self, hooks: RunHooks) -> BaseException | None:
        """Why it ended; None: it was told to."""
        try:
            return (await crawl(self.loaded, hooks, self._started)).error
        except (VedetteError, sqlite3.Error, BaseExceptionGroup) as error:
            return error

    def _comes_back(self, error: BaseException) -> bool:
        """A server that is restarted cuts every line; all that was acknowledged is in it.

        Where another worker has our archive files meanwhile, there are others to be had.
        """
        return isinstance(error, TakenOverError) or comes_back(error, self.path)

    @asynccontextmanager
    async def _beside(self, run: CrawlRun) -> AsyncIterator[None]:
        """Messages are sent by the scheduler, stages are served by who has that role."""
        self.service.hears(run)
        yield

    def _started(self, run: CrawlRun) -> None:
        """Others hear of it at once: they leave it its part, and know whose its lanes are if it is killed."""
        self._run = run
        self._has_begun.set()
        if self._is_over.is_set():
            run.engine.stop("stopped")

    async def _stages(self) -> None:
        hooks = Hooks(self.hear, on_served=self._served)
        while True:
            try:
                return await self._serve_stages(hooks)
            except (StoreError, sqlite3.Error) as error:
                if self._is_over.is_set() or not comes_back(error, self.path):
                    raise
                self.hear(ProblemTold(at=self.clock.now(), what=f"stage jobs wait: {error}"))
            await asyncio.sleep(AGAIN_S)

    async def _serve_stages(self, hooks: Hooks) -> None:
        async with opened(self.loaded, self.path, clock=self.clock, hooks=hooks, worker=_name()) as worker:
            serving = asyncio.create_task(keep_on(worker, self.clock, hooks))
            told = asyncio.create_task(self._is_over.wait())
            await asyncio.wait([serving, told], return_when=asyncio.FIRST_COMPLETED)
            told.cancel()
            worker.stop()
            await serving

    async def _ask_models(self) -> None:
        self._panel = PanelDuty(
            self.loaded, self.path, self.clock, self.hear, worker=_name(), lease=self.panel_lease
        )
        await self._panel.run(self._is_over)

    async def _schedule(self) -> None:
        self._duty = SchedulerDuty(self.loaded, self.path, self.clock, self.service)
        duty = asyncio.create_task(self._duty.run())
        told = asyncio.create_task(self._is_over.wait())
        await asyncio.wait([duty, told], return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if not duty.done():
            duty.cancel()
            await asyncio.wait([duty])
        elif (error := duty.exception()) is not None:
            raise error

    def _served(self, job: Any, status: str, took: timedelta) -> None:
        self._jobs += 1
        self.service.meters.job_ended(job.queue, status=status, took=took)

    async def _beat(self) -> None:
        """Says that it is there.  Ready: the store heard it, and it has begun."""
        while True:
            self._has_begun.clear()
            try:
                crawlers = await asyncio.to_thread(self._say)
            except (StoreError, sqlite3.Error):
                self.service.is_ready = False
            else:
                is_begun = Role.CRAWL not in self.roles or self._run is not None
                self.service.is_ready = is_begun and self.state is WorkerState.RUNNING
                self._divide(max(1, crawlers))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_begun.wait(), BEAT_S)

    def _divide(self, crawlers: int) -> None:
        """What the installation may do as a whole is shared by those who look."""
        if self._run is None:
            return
        self._run.parts.look_budgets.divide(crawlers)
        if ALL in self.loaded.config.lanes and self._run.parts.visits is not None:
            self._run.parts.visits.keeper.divide_all(crawlers)

    def _say(self) -> int:
        """Gives how many workers look.  One that looks has its name when it has begun."""
        if Role.CRAWL in self.roles and self._run is None:
            return 1
        with self._saying:
            row = self._row()
            if self._said is not None:
                try:
                    return say(self._said, row)[Role.CRAWL]
                except sqlite3.Error:  # the session was cut: on a new one
                    self._said.close()
            self._said = connect(self.path)
            return say(self._said, row)[Role.CRAWL]

    def _say_last(self) -> None:
        with suppress(StoreError, sqlite3.Error):  # it will count as silent
            self._say()
        if self._said is not None:
            self._said.close()

    def _row(self) -> WorkerRow:
        run, now = self._run, self.clock.now()
        number = 0 if run is None else run.opened.series
        return WorkerRow(
            id=worker_name(number) or _name(),
            number=number,
            roles=self.roles,
            place=this_process(),
            state=self.state,
            started_at=now,
            beat_at=now,
            figures=self._figures(),
        )

    def _figures(self) -> dict[str, float]:
        run, figures = self._run, {"jobs": float(self._jobs)}
        if run is not None and run.parts.visits is not None:
            figures |= {
                "looks": float(run.engine.tally.visits),
                "under_way": float(run.engine.under_way),
                "visits": float(run.parts.visits.made),
            }
        if self._panel is not None:
            figures |= {"providers": float(self._panel.providers), "calls": float(self._panel.calls)}
        if self._duty is not None:
            figures["elected"] = float(self._duty.is_elected)
        return figures


def _as_ours(error: BaseException, path: PostgresAddress) -> VedetteError:
    """With what to do, where the store refused something."""
    if isinstance(error, VedetteError):
        return error
    return told(error, path) if isinstance(error, sqlite3.Error) else VedetteError(str(error))


def run_roles(worker: Worker) -> None:
    """Blocking; SIGINT and SIGTERM end it within half a minute."""
    run_loop(worker.work())


@asynccontextmanager
async def _no_door(state: object) -> AsyncIterator[str]:
    yield ""


def _name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"
