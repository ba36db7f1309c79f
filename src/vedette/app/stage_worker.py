"""What serves the stage queues, beside a run or as `vedette worker`, and retries what a missing tool had parked."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from vedette.app.job_buses import open_bus
from vedette.app.process import run_loop, signals
from vedette.config.model import Loaded
from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.events import Event, JobFailed, ProblemTold
from vedette.contracts.jobs import STAGES, QueuedJob
from vedette.contracts.ports import Clock
from vedette.contracts.watch import Group
from vedette.contracts.words import WatchId
from vedette.core.text.nearest import unknown
from vedette.engine.crawl.compare_states import PastStates
from vedette.engine.crawl.content_reader import DocumentReader
from vedette.engine.stages.evidence_access import EvidenceAccess, Neighbours
from vedette.engine.stages.queue_worker import QueueWorker
from vedette.engine.stages.stage_queue import EXTEND_S, Served, StageDone, StageGroup, StageQueue, rest_while
from vedette.engine.workers.pool import Workers
from vedette.evidence.text_cache import TextCache
from vedette.extract.documents.language import reader_version
from vedette.extract.ocr import missing_tools
from vedette.fetch.browser import find_browser
from vedette.judge import Handle, handlers
from vedette.store.connection import StorePlace, connect
from vedette.store.operator import operating, parked_for_tools, retry_for_tools
from vedette.store.rows import to_ms
from vedette.store.sqlite import Reader
from vedette.store.stage_results import EvidenceFactsReader, StageFindings

BESIDE = "beside"  # the worker of a run; one per store, as there is one run
DRAIN = timedelta(seconds=10)  # at the end of a run that had nothing more to look at
GRACE_S = 10.0  # for the group at hand
AGAIN_S = 5.0  # after the store could not be used
StageWorker = QueueWorker[StageGroup, StageDone]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a worker on its own is to do."""

    queues: tuple[str, ...] = STAGES
    until_idle: bool = False


@dataclass(frozen=True, slots=True)
class Hooks:
    """Whom a stage worker asks and tells."""

    on_event: Callable[[Event], None]
    is_busy: Callable[[], bool] = lambda: False
    on_served: Callable[[QueuedJob, str, timedelta], None] = lambda job, status, took: None
    queues: tuple[str, ...] = ()  # empty: as configured


@asynccontextmanager
async def opened(
    loaded: Loaded, path: StorePlace, *, clock: Clock, hooks: Hooks, worker: str
) -> AsyncIterator[StageWorker]:
    """A stage worker with everything that it needs, on connections of its own."""
    config = loaded.config
    workers = Workers()
    text_cache = TextCache(loaded.data, reader_version(config.extract.ocr_languages))
    stage = DocumentReader(workers=workers, text_cache=text_cache, languages=config.extract.ocr_languages)
    with (
        closing(open_bus(loaded, path)) as bus,
        closing(EvidenceFactsReader(path)) as rows,
        closing(StageFindings(path)) as findings,
        closing(Reader(path)) as reader,
    ):
        evidence = EvidenceAccess(
            body=PastStates(reader, loaded.archive).body,
            text_cache=text_cache,
            documents=stage,
            workers=workers,
            neighbours=Neighbours(rows.vectors, least=config.stages.similar),
            scope=config.extract.scope,
            worker_above=config.extract.worker_above,
            redacts=lambda watch: redacts(reader, watch),
        )
        served = handlers(evidence, clock=clock, embeds=config.stages.embed)
        queues = hooks.queues or config.stages.queues
        chosen: dict[str, Handle] = {name: served[name] for name in STAGES if name in queues}
        bus.lose(worker, now=clock.now())
        try:
            queue = StageQueue(
                bus=bus,
                handlers=chosen,
                facts=rows.facts,
                save=lambda handled: findings.save(handled, at_ms=to_ms(clock.now())),
                clock=clock,
                worker=worker,
                on_served=lambda ended, took: _tell(ended, took, clock, hooks),
            )
            yield QueueWorker(queue=queue, extend_s=EXTEND_S, rest=rest_while(hooks.is_busy))
        finally:
            workers.close()


def redacts(reader: Reader, watch: WatchId) -> bool:
    """True where personal data is taken out of what is read of this watch."""
    known = reader.watch(watch)
    loaded = reader.source(known.source) if known is not None else None
    return loaded is not None and loaded[0].options.redacts


@asynccontextmanager
async def beside(
    loaded: Loaded, path: StorePlace, *, clock: Clock, hooks: Hooks
) -> AsyncIterator[StageWorker]:
    """The stage worker of a run.  What it cannot do is told and stops no look."""
    async with opened(loaded, path, clock=clock, hooks=hooks, worker=BESIDE) as worker:
        task = asyncio.create_task(keep_on(worker, clock, hooks))
        try:
            yield worker
        finally:
            worker.stop()
            _, late = await asyncio.wait([task], timeout=GRACE_S)
            for one in late:
                one.cancel()
                await asyncio.wait([one])


def hearing(worker: StageWorker) -> Callable[[Group], None]:
    """For the settler's thread: wakes the worker when a group brought new evidence."""
    post = asyncio.get_running_loop().call_soon_threadsafe

    def hear(group: Group) -> None:
        if any(placed.payload is not None for placed in group.placed):
            with suppress(RuntimeError):  # the loop is gone
                post(worker.wake)

    return hear


def run_worker(loaded: Loaded, path: StorePlace, *, clock: Clock, hooks: Hooks, work: Work) -> None:
    """Blocking; SIGINT and SIGTERM end it after the group at hand."""
    run_loop(_work(loaded, path, clock=clock, hooks=hooks, work=work))


def stage_queues(words: str | None) -> tuple[str, ...]:
    """`scout,extract` as queues; InputError names the nearest."""
    named = tuple(word.strip() for word in (words or "").split(",") if word.strip())
    for name in named:
        if name not in STAGES:
            raise InputError(unknown("queue", name, STAGES))
    return named or STAGES


async def _work(loaded: Loaded, path: StorePlace, *, clock: Clock, hooks: Hooks, work: Work) -> None:
    """`vedette worker`: until told to stop, or until nothing waits."""
    name = f"{socket.gethostname()}-{os.getpid()}"
    serving = replace(hooks, queues=work.queues)
    async with opened(loaded, path, clock=clock, hooks=serving, worker=name) as worker:
        with signals(lambda by: worker.stop()):
            await (worker.drain() if work.until_idle else worker.run())


async def keep_on(worker: StageWorker, clock: Clock, hooks: Hooks) -> None:
    """A store or a Redis that takes nothing now may do so later; until then the jobs wait where they are."""
    told = ""
    while True:
        try:
            await worker.run()
        except (StoreError, sqlite3.Error) as error:
            if str(error) != told:
                told = str(error)
                hooks.on_event(ProblemTold(at=clock.now(), what=f"stage jobs wait: {error}"))
            await asyncio.sleep(AGAIN_S)
        else:
            return


def _tell(ended: Iterable[Served], took: timedelta, clock: Clock, hooks: Hooks) -> None:
    """Every job is counted; what failed is told."""
    served = list(ended)
    each = took / max(1, len(served))
    for one in served:
        hooks.on_served(one.job, "completed" if one.is_done else "failed", each)
        if not one.is_done:
            hooks.on_event(
                JobFailed(
                    at=clock.now(),
                    job=one.job.id,
                    queue=one.job.queue,
                    error=one.error,
                    attempt=one.job.attempt,
                    again_at=one.again_at,
                )
            )


# What was parked because a tool was missing (tesseract, kreuzberg, a browser) is looked at again once it is there.

EVERY_S = 300.0  # installations happen in real time, whatever clock the run goes by


@dataclass(slots=True)
class ToolWatch:
    path: StorePlace  # of the database
    languages: str
    clock: Clock
    _missing: frozenset[str] | None = (
        None  # when we looked last; a tool that does not work is not tried for ever
    )

    async def retry(self) -> int:
        """Makes due what no longer waits for a tool; how many.  Asks for no tool while nothing waits."""
        if not await asyncio.to_thread(self._waits):
            return 0
        missing = await missing_tools(self.languages) | {find_browser()[1]}
        is_news, self._missing = missing != self._missing, missing
        return await asyncio.to_thread(self._retry, missing) if is_news else 0

    async def keep_on(self) -> None:
        """The same from time to time, for a run that goes on for months."""
        while True:
            await asyncio.sleep(EVERY_S)
            with suppress(StoreError, sqlite3.Error):  # the run itself says what is wrong with the store
                await self.retry()

    def _waits(self) -> bool:
        with closing(connect(self.path, read_only=True)) as db:
            return bool(parked_for_tools(db))

    def _retry(self, missing: frozenset[str]) -> int:
        with operating(self.path) as db:
            return retry_for_tools(db, missing, now=self.clock.now())
