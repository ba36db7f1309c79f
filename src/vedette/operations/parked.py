"""What used up its attempts: looks by their URL, jobs of queues by their id."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.jobs import ParkedJob
from vedette.contracts.watch import Parked
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import a_url
from vedette.operations.installation import Installation
from vedette.store.job_bus import SqliteJobBus
from vedette.store.operator import drop_parked, retry_parked

MOST = 10_000  # each queue keeps a hundred


@dataclass(frozen=True, slots=True)
class ParkedWork:
    looks: tuple[Parked, ...] = ()  # newest first
    jobs: tuple[ParkedJob, ...] = ()


def list_parked(installation: Installation, limit: int = 0) -> ParkedWork:
    """At most `limit` looks and as many jobs; 0: all."""
    with installation.queries() as queries:
        looks = queries.parked(most=limit)
    return ParkedWork(tuple(looks), tuple(_jobs(installation)[: limit or None]))


def find_parked(installation: Installation, what: str) -> ParkedWork:
    """A job by its id, else a look by its URL."""
    jobs = tuple(job for job in _jobs(installation) if job.id == what.strip())
    if jobs:
        return ParkedWork(jobs=jobs)
    if "/" not in what:
        raise InputError(f"no parked job is called {what.strip()!r}; `vedette parked` shows what is parked")
    wanted = a_url(what)
    with installation.queries() as queries:
        looks = queries.parked(watch_id(wanted))
    if not looks:
        raise VedetteError(f"{wanted} is not parked; `vedette parked` shows what is")
    return ParkedWork(looks=tuple(looks))


def retry_work(installation: Installation, what: str | None) -> int:
    """Forget the failed attempts: look again as soon as the lane allows, give a job all its attempts again.

    None: of all that is parked.  Gives how many are due again.
    """
    chosen, now = _chosen(installation, what), installation.now()
    with installation.operating() as db:
        done = sum(retry_parked(db, one.watch, now=now) for one in chosen.looks)
    with closing(SqliteJobBus(installation.store())) as bus:
        return done + sum(bus.retry(one.queue, one.id, now=now) for one in chosen.jobs)


def drop_work(installation: Installation, what: str | None) -> int:
    """Take it off the list; a watch keeps its long interval, a job is not done.  None: all that is parked."""
    chosen = _chosen(installation, what)
    with installation.operating() as db:
        done = sum(drop_parked(db, one.watch) for one in chosen.looks)
    with closing(SqliteJobBus(installation.store())) as bus:
        return done + sum(bus.drop(one.queue, one.id) for one in chosen.jobs)


def _chosen(installation: Installation, what: str | None) -> ParkedWork:
    return list_parked(installation) if what is None else find_parked(installation, what)


def _jobs(installation: Installation) -> list[ParkedJob]:
    with closing(SqliteJobBus(installation.store())) as bus:
        return bus.parked(most=MOST)
