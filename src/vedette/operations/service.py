"""The long-running processes: the service, and workers of the queues after the look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TextIO

from vedette.app.panel import Panel
from vedette.app.service import Door, run_service
from vedette.app.stage_worker import Hooks, Work, run_worker, stage_queues
from vedette.contracts.events import Event
from vedette.contracts.jobs import QueuedJob
from vedette.operations.installation import Installation
from vedette.operations.run import check_ended


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
