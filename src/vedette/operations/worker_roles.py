"""Workers that share a store: one of them, and who does what."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TextIO

from vedette.app.crawl_worker import server_of
from vedette.app.job_buses import carrier_of
from vedette.app.service import Door, log_of
from vedette.app.worker import Worker, roles_of, run_roles
from vedette.contracts.events import Event
from vedette.contracts.workers import JobCarrier, Role, RoleLoad, WorkerRow
from vedette.operations.installation import Installation
from vedette.store.connection import connect
from vedette.store.worker_rows import loads, workers_of

__all__ = ["Door", "Role", "Roster", "roles_of", "roster", "work_roles"]


@dataclass(frozen=True, slots=True)
class Roster:
    """Who works on a store, and what waits for them."""

    workers: tuple[WorkerRow, ...]
    loads: tuple[RoleLoad, ...]
    carrier: JobCarrier


def roster(installation: Installation) -> Roster:
    loaded = installation.loaded
    with closing(connect(server_of(loaded), read_only=True)) as db:
        found = tuple(workers_of(db)), tuple(loads(db))
    return Roster(*found, carrier_of(loaded, installation.now()))


def work_roles(
    installation: Installation,
    roles: tuple[Role, ...],
    *,
    door: Door | None,
    stdout: TextIO,
    log: TextIO | Callable[[Event], None],
) -> None:
    """Works until it is stopped.  Events go to a log, as those of the service do, or to who asks for them."""
    loaded = installation.loaded
    hear = log if callable(log) else log_of(loaded.config, log).hear
    run_roles(Worker(loaded, roles, installation.clock, hear, stdout, door))
