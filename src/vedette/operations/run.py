"""A run: made, left to a service, and why it had nothing to look at."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TextIO

from vedette.app.background_run import BackgroundRun
from vedette.app.panel import Panel
from vedette.app.service import Door, run_service
from vedette.app.stage_worker import Hooks, Work, run_worker, stage_queues
from vedette.contracts.errors import VedetteError
from vedette.contracts.events import Event
from vedette.contracts.jobs import SENTINEL, NewJob, QueuedJob, SentinelOrder
from vedette.contracts.watch import Watch
from vedette.contracts.words import Risk, RunId, SourceId
from vedette.core.older_sentinel import order_data
from vedette.engine.crawl.loop import Ended
from vedette.engine.crawl.run import RunRequest
from vedette.operations.installation import Installation
from vedette.store.job_bus import SqliteJobBus
from vedette.store.operator import lock_holder
from vedette.store.views import WatchFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRun:
    job: str
    order: SentinelOrder
    has_engine: bool  # an engine runs on the store, and takes it

    def as_json(self) -> dict[str, object]:
        return {"job": self.job, "queue": SENTINEL, "data": order_data(self.order)}


@dataclass(frozen=True, slots=True)
class NothingDue:
    """Why a run had nothing to look at."""

    has_sources: bool
    next: Watch | None  # what is looked at next; None: nothing is scheduled
    unseen: int  # pages that the last look did not see


def queue_run(installation: Installation, *, source: str | None, tier: Risk | None) -> QueuedRun:
    """Direct injection (spec 001/7.3): a running `vedette serve` takes it from the queue."""
    now = installation.now()
    order = SentinelOrder(
        run=RunId(f"manual-{int(now.timestamp() * 1000)}"),
        source=None if source is None else SourceId(source),
        tier=tier,
    )
    with closing(SqliteJobBus(installation.store())) as bus:
        (job,) = bus.add([NewJob(queue=SENTINEL, name="sentinel-manual", data=order_data(order))], now=now)
    return QueuedRun(job=job, order=order, has_engine=lock_holder(installation.loaded.data) is not None)


def nothing_due(installation: Installation, request: RunRequest) -> NothingDue:
    """Asked after a run of this request that looked at nothing."""
    which = WatchFilter(source=request.source, tier=request.tier, by_due=True, only_scheduled=True)
    with installation.queries() as queries:
        return NothingDue(
            has_sources=bool(queries.source_ids()),
            next=next(iter(queries.watches(which, most=1)), None),
            unseen=queries.count_watches(replace(which, only_unseen=True)),
        )


def check_ended(ended: Ended, what: str) -> None:
    """Raises what ended it early."""
    if isinstance(ended.error, VedetteError):
        raise ended.error
    if ended.error is not None:
        raise VedetteError(f"the {what} ended early: {ended.error}")


# The long-running processes: the service, and workers of the queues after the look.


@dataclass(frozen=True, slots=True)
class WorkDone:
    completed: int
    failed: int  # attempts


def serve(installation: Installation, *, door: Door, stdout: TextIO, stderr: TextIO) -> None:
    """Runs until it is stopped: watches, sends messages, keeps the cron.  `door` is what it answers over HTTP."""
    loaded, clock = installation.loaded, installation.clock
    check_ended(run_service(loaded, clock=clock, stdout=stdout, stderr=stderr, door=door), "service")


def panel_of(installation: Installation) -> Panel:
    """The panel whose batches the service also shows."""
    return Panel(installation.loaded, clock=installation.clock)


def work_queues(
    installation: Installation, queues: str | None, *, until_idle: bool, on_event: Callable[[Event], None]
) -> WorkDone:
    """Serves `scout,ocr` or, None, the configured queues, until stopped or until nothing waits."""
    chosen = installation.loaded.config.stages.queues if queues is None else stage_queues(queues)
    done = {"completed": 0, "failed": 0}

    def tally(job: QueuedJob, status: str, took: timedelta) -> None:
        done[status] += 1

    run_worker(
        installation.loaded,
        installation.store(),
        clock=installation.clock,
        hooks=Hooks(on_event, on_served=tally),
        work=Work(queues=chosen, until_idle=until_idle),
    )
    return WorkDone(**done)


def background_run(
    installation: Installation,
    request: RunRequest,
    on_event: Callable[[Event], None],
    on_end: Callable[[], None],
) -> BackgroundRun:
    """A run beside the program that asks for it.  What stands in vedette.yaml is watched too."""
    return BackgroundRun(installation.loaded, request, installation.clock, on_event, on_end)
