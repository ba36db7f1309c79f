"""The long-running process: an engine, and beside it the sender, the watchdog, cron, the sentinel queue and metrics."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TextIO

from vedette import __version__
from vedette.app.channels import Telling, sending, told
from vedette.app.head_stamps import keep_stamping
from vedette.app.job_buses import carrier_of, keep_relaying, open_bus
from vedette.app.model_refresh import refresh_models
from vedette.app.process import run_loop
from vedette.app.run import RunHooks, run_with
from vedette.config.alert_policies import MODELS, RUNS, cron_entries, router, secrets_of, watchdog_params
from vedette.config.model import Config, Loaded, is_debug, is_production
from vedette.config.pace_policies import objectives
from vedette.config.policies import sources_of
from vedette.contracts.alerts import ChannelName, Delivery, Message
from vedette.contracts.errors import StoreError
from vedette.contracts.events import (
    Alerted,
    CronQueued,
    Event,
    JobEnded,
    JobStarted,
    ModelGone,
    ModelsRefreshed,
    NoticeTold,
    ProblemTold,
    Recovered,
    Serving,
    SourcesChecked,
)
from vedette.contracts.jobs import SENTINEL, STAGES, NewJob, QueuedJob, SentinelResult
from vedette.contracts.ports import Clock, JobBus
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import Group
from vedette.contracts.words import Outcome
from vedette.core.health.source_health import is_healthy
from vedette.core.older_sentinel import order_data, staggered
from vedette.core.urls.canonical import host_of
from vedette.engine.crawl.loop import Ended
from vedette.engine.crawl.run import CrawlRun, OnEvent, RunRequest
from vedette.engine.service.cron import CronEntry, missed
from vedette.engine.service.event_stream import EventStream
from vedette.engine.service.sentinel import EXTEND_S, SentinelHearing, SentinelQueue
from vedette.engine.service.watchdog import HealthChecked, check_health
from vedette.engine.stages.queue_worker import QueueWorker
from vedette.store import connection
from vedette.store.connection import StorePlace, connect
from vedette.store.job_bus import SqliteJobBus
from vedette.store.operator import fired, mark_fired, operating
from vedette.store.outbox import trim
from vedette.store.scrape import ScrapeFigures, figures
from vedette.store.worker_rows import loads
from vedette.telemetry.logs import LibraryLog, Log, LogScrubber
from vedette.telemetry.metrics import Meters, Registry

KEPT = timedelta(days=90)  # what was sent stays in the outbox for so long
WAIT_S = 5.0  # before what goes on beside the engine tries a store again that took nothing
NAP_S = 1.0  # cron looks at the clock so often: a machine that slept is late by no more
MARKS_LAST = timedelta(seconds=30)  # what the store has of the last fires is read again after this
FRESH = timedelta(seconds=15)  # figures of the store are read again after this,
REST = 20  # and never more than a twentieth of the time is spent on reading them


@dataclass(slots=True)
class ServiceState:
    """What the door shows."""

    metrics: Callable[[], Coroutine[Any, Any, str]]
    is_ready: Callable[[], bool]
    events: EventStream = field(default_factory=EventStream)


Door = Callable[[ServiceState], AbstractAsyncContextManager[str]]  # gives the address that it listens on


async def serve(loaded: Loaded, *, clock: Clock, stdout: TextIO, stderr: TextIO, door: Door) -> Ended:
    """Watches until told to stop.  Changes and alerts go to the channels, the log to stderr."""
    log = log_of(loaded.config, stderr)
    service = Service(loaded, clock, log.hear, door=door, stdout=stdout)
    with LibraryLog(log, clock):
        return await run_with(loaded, RunRequest(), replace(service.hooks(), owns_process=True))


def log_of(config: Config, stderr: TextIO) -> Log:
    """The log of a process that goes on for months, as it is configured."""
    return Log(
        stderr,
        is_json=config.log.format == "json" or (config.log.format == "auto" and is_production()),
        level="debug" if is_debug() else config.log.level,
        scrubber=LogScrubber(secrets_of(config)),
    )


@dataclass(slots=True)
class Service:
    loaded: Loaded
    clock: Clock
    hear: OnEvent
    door: Door
    stdout: TextIO
    meters: Meters = field(init=False)
    registry: Registry = field(init=False)
    is_ready: bool = False
    events: EventStream = field(default_factory=EventStream)
    path: StorePlace | None = None  # where figures and cron are read; None: where its run has them
    fail: Callable[[BaseException], None] = lambda error: None  # hears what a duty cannot go on with
    _wake: Callable[[], None] = lambda: None
    _figures_at: datetime | None = None

    def __post_init__(self) -> None:
        cron_entries(self.loaded.config)  # ConfigError before anything is opened
        hosts = frozenset(host_of(source.url) for source in sources_of(self.loaded.config))
        self.meters = Meters(domains=hosts, objectives=objectives(self.loaded.config))
        self.meters.build.set(1, (__version__,))
        self.registry = self.meters.registry()

    def hooks(self) -> RunHooks:
        """How the run of this service is embedded."""
        return RunHooks(
            on_event=self._tell,
            clock=self.clock,
            beside=self.beside,
            route=router(self.loaded.config, self.clock),
            on_served=lambda job, status, took: self.meters.job_ended(job.queue, status=status, took=took),
        )

    @asynccontextmanager
    async def beside(self, run: CrawlRun) -> AsyncIterator[None]:
        """Everything that goes on while the engine runs.  What breaks here stops the engine, loudly."""
        self.path, self.fail = run.opened.path, run.engine.on_failed
        self.hears(run)
        async with self.door(self.state()) as listen:
            self._tell(Serving(at=self.clock.now(), listen=listen))
            hearing = SentinelHearing(lane=run.parts.keeper.state, listeners=run.listeners)
            async with self.duties(run.opened.path, hearing):
                run.listeners.append(told(self._wake))
                self.is_ready = True
                try:
                    yield
                finally:
                    self.is_ready = False

    def state(self) -> ServiceState:
        """What the door shows."""
        return ServiceState(self._metrics, lambda: self.is_ready, self.events)

    def hears(self, run: CrawlRun) -> None:
        """What this run does is measured."""
        run.listeners.append(self._committed)
        self.registry.before.append(self.meters.watch_active(lambda: run.engine.under_way))

    @asynccontextmanager
    async def duties(
        self,
        path: StorePlace,
        hearing: SentinelHearing,
        more: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (),
    ) -> AsyncIterator[None]:
        """What is done once for a store: messages are sent, health is watched, cron and its jobs are kept."""
        told_of = Telling(self.stdout, self._sent, self._bug)
        with (
            sending(self.loaded.config, path, clock=self.clock, told=told_of) as (sender, poster),
            closing(SqliteJobBus(path)) as filled,
            closing(open_bus(self.loaded, path)) as served,  # a connection is one task's
        ):
            self._wake = sender.wake
            sentinel = QueueWorker(queue=self._sentinel(served, path, hearing), extend_s=EXTEND_S)
            works = (
                sender.run,
                self._watch_health,
                lambda: self._cron(filled),
                sentinel.run,
                lambda: keep_relaying(self.loaded, path, self.clock, self._problem),
                lambda: keep_stamping(self.loaded, self.clock, self._problem),
                *more,
            )
            tasks = [self._start(self._patiently(work)) for work in works]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
                await poster.close()

    @property
    def _place(self) -> StorePlace:
        if self.path is None:
            raise RuntimeError("the service has no store yet")
        return self.path

    async def check(self) -> HealthChecked:
        """One health check, now."""
        checked = await asyncio.to_thread(self._check)
        for alert in checked.opened:
            self._tell(Alerted(at=checked.at, type=alert.kind.value, subject=alert.subject, alert=alert.id))
        for alert in checked.recovered:
            self._tell(Recovered(at=checked.at, subject=alert.subject, alert=alert.id))
        if checked.opened or checked.recovered:
            self._wake()
        return checked

    async def fire(self, entry: CronEntry, at: datetime, bus: JobBus) -> None:
        """The jobs of a cron run have ids of their moment: fired twice, after a kill, they are queued once."""
        if entry.name == RUNS:
            orders = staggered(at, self.loaded.config.cron.stagger)
            stamp = int(at.timestamp())
            jobs = [
                NewJob(queue=SENTINEL, name=name, data=order_data(order), id=f"{name}-{stamp}", delay=delay)
                for name, order, delay in orders
            ]
            await asyncio.to_thread(bus.add, jobs, now=self.clock.now())
            for name, order, _ in orders:
                self._tell(CronQueued(at=self.clock.now(), job=name, run=order.run))
        elif entry.name == MODELS:
            await self._refresh_models()
        else:
            checked = await self.check()
            sick = sum(not is_healthy(one) for one in checked.healths)
            self._tell(SourcesChecked(at=checked.at, unhealthy=sick, sources=len(checked.healths)))
        await asyncio.to_thread(self._mark, entry.name, at)

    async def _refresh_models(self) -> None:
        """Asks the providers for their models.  Nobody is asked where there is no key."""
        called = await asyncio.to_thread(refresh_models, self.loaded, self._place, clock=self.clock)
        for finding in (finding for one in called for finding in one.findings):
            if finding.is_asked and finding.kind in ("renamed", "retired"):
                successor = finding.successor or "none"
                self._tell(ModelGone(at=self.clock.now(), model=finding.name, successor=successor))
        asked = sum(one.outcome is not None for one in called)
        listed = sum(one.listed for one in called)
        self._tell(ModelsRefreshed(at=self.clock.now(), asked=asked, listed=listed))

    async def _watch_health(self) -> None:
        while True:
            await asyncio.sleep(self.loaded.config.health.every.total_seconds())
            await self.check()

    async def _cron(self, bus: JobBus) -> None:
        """What fired last is read again when an entry seems due, and now and then: others may have set it."""
        entries = cron_entries(self.loaded.config)
        fired, read = await asyncio.to_thread(self._fired), self.clock.stopwatch()
        for entry in entries:
            if entry.name not in fired:
                fired[entry.name] = self.clock.now()
                await asyncio.to_thread(self._mark, entry.name, fired[entry.name])
        while True:
            now = self.clock.now()
            if read() >= MARKS_LAST or any(missed(one, fired.get(one.name), now) for one in entries):
                fired, read = await asyncio.to_thread(self._fired), self.clock.stopwatch()
            for entry in entries:
                at = missed(entry, fired.get(entry.name), now)
                if at is not None:
                    await self.fire(entry, at, bus)
                    fired[entry.name] = at
            await asyncio.sleep(NAP_S)

    def _sentinel(self, bus: JobBus, path: StorePlace, hearing: SentinelHearing) -> SentinelQueue:
        return SentinelQueue(
            bus=bus,
            path=path,
            clock=self.clock,
            lane=hearing.lane,
            listeners=hearing.listeners,
            patience=hearing.patience,
            on_started=lambda job: self._tell(JobStarted(at=self.clock.now(), job=job.id, queue=job.queue)),
            on_ended=self._job_ended,
        )

    async def _patiently(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A store that takes nothing just now is waited for, as the engine does: each of these can begin again."""
        while True:
            try:
                return await self._kept_up(work)
            except (StoreError, sqlite3.Error, BaseExceptionGroup) as error:
                if not connection.comes_back(error, self._place):
                    raise
            await asyncio.sleep(WAIT_S)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        return task

    async def _kept_up(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A machine without file descriptors has them again in a moment: the work goes on then, and nothing ends."""
        while True:
            try:
                return await work()
            except sqlite3.Error as error:
                raise connection.told(error, self._place) from error
            except (OSError, StoreError) as error:
                if not is_out_of_files(error):
                    raise
                self._problem(f"no file descriptors left (ulimit -n); trying again: {error}")
            await asyncio.sleep(NAP_S)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._problem(str(error) or type(error).__name__)
            self.fail(error)

    def _check(self) -> HealthChecked:
        config = self.loaded.config
        now, route = self.clock.now(), router(config, self.clock)
        with operating(self._place) as db:
            trim(db, before=now - KEPT)
            return check_health(db, now=now, params=watchdog_params(config), route=route)

    def _fired(self) -> dict[str, datetime]:
        with closing(connect(self._place, read_only=True)) as db:
            return fired(db)

    def _mark(self, name: str, at: datetime) -> None:
        with operating(self._place) as db:
            mark_fired(db, name, at)

    def _committed(self, group: Group) -> None:
        self.meters.hear(group, self.clock.now())

    def _sent(self, channel: ChannelName, message: Message, delivery: Delivery) -> None:
        self.meters.told.add((channel, delivery.outcome.value))
        detail = None if delivery.outcome is Outcome.OK else delivery.detail
        self._tell(
            NoticeTold(
                at=self.clock.now(),
                notice=message.notice.id,
                channel=channel,
                outcome=delivery.outcome,
                detail=detail,
            )
        )

    def _bug(self, channel: ChannelName, error: BaseException) -> None:
        self._problem(f"the channel {channel} failed: {error!r}")

    def _job_ended(self, job: QueuedJob, status: str, took: timedelta, result: SentinelResult | None) -> None:
        self.meters.job_ended(job.queue, status=status, took=took)
        checked, errors = (None, None) if result is None else (result.sources_checked, len(result.errors))
        self._tell(
            JobEnded(
                at=self.clock.now(),
                job=job.id,
                status=status,
                seconds=took,
                checked=checked,
                errors=errors,
            )
        )

    def _tell(self, event: Event) -> None:
        """To the log, and to whoever follows the stream."""
        self.hear(event)
        self.events.emit(event)

    def _problem(self, what: str) -> None:
        self._tell(ProblemTold(at=self.clock.now(), what=what))

    async def _metrics(self) -> str:
        now = self.clock.now()
        if self._figures_at is None or now >= self._figures_at:
            took = self.clock.stopwatch()
            self._show(await asyncio.to_thread(self._read_figures, now))
            self._figures_at = now + max(FRESH, REST * took())
            self.meters.read_at.set(now.timestamp())
        return self.registry.text()

    def _read_figures(self, now: datetime) -> ScrapeFigures:
        with closing(connect(self._place, read_only=True)) as db:
            found = figures(db, now=now)
            if isinstance(self._place, PostgresAddress):
                self.meters.show_roles(loads(db))
                carrier = carrier_of(self.loaded, now)
                self.meters.redis_away.set(float(bool(carrier.problem)))
                found.queues.update(carrier.depths)
            return found

    def _show(self, found: ScrapeFigures) -> None:
        meters = self.meters
        meters.due.replace(((risk.name,), float(count)) for risk, (count, _) in found.due.items())
        meters.oldest_due.replace(((risk.name,), age) for risk, (_, age) in found.due.items())
        meters.lanes.replace(((word,), float(count)) for word, count in found.lanes.items())
        meters.alerts.replace(((kind,), float(count)) for kind, count in found.alerts.items())
        meters.outbox.replace((key, float(count)) for key, count in found.outbox.items())
        queues = {
            **dict.fromkeys((SENTINEL, *STAGES), 0),
            **found.queues,
            "fetch": sum(count for count, _ in found.due.values()),
        }
        meters.depth.replace(((queue,), float(count)) for queue, count in queues.items())
        meters.evidence.set(float(found.evidence))


def is_out_of_files(error: BaseException | None) -> bool:
    """SQLite does not say so: it only cannot open its file, which it could before."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        if "unable to open database file" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def run_service(loaded: Loaded, *, clock: Clock, stdout: TextIO, stderr: TextIO, door: Door) -> Ended:
    """Blocking; SIGINT and SIGTERM end it cleanly."""
    return run_loop(serve(loaded, clock=clock, stdout=stdout, stderr=stderr, door=door))
