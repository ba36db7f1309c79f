"""A run: made, left to a service, and why it had nothing to look at."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

from vedette.contracts.errors import VedetteError
from vedette.contracts.jobs import SENTINEL, NewJob, SentinelOrder
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
