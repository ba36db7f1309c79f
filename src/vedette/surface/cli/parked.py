"""What used up its attempts: looks by their URL, jobs of queues by their id.  One verb for both."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.operations.arguments import a_url
from vedette.report.plain import count, moment
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session
from vedette.surface.cli.sources import tell
from vedette.surface.cli.verb import LimitOption, group, verb

if TYPE_CHECKING:
    from vedette.contracts.jobs import ParkedJob
    from vedette.contracts.watch import Parked

WhatArgument = Annotated[
    str, typer.Argument(metavar="URL|JOB", help="A URL in any spelling, or the id of a job, as scout-17.")
]
WhatOption = Annotated[
    str | None,
    typer.Argument(metavar="[URL|JOB]", help="A URL in any spelling, or the id of a job, as scout-17."),
]
MOST = 10_000  # each queue keeps a hundred
EveryOption = Annotated[bool, typer.Option("--all", help="All that is parked.")]


def register(app: typer.Typer) -> None:
    parked = group("parked", example="vedette parked\nvedette parked retry --all", default=parked_list)(
        parked_
    )
    verb(parked, "list", example="vedette parked list")(parked_list)
    verb(parked, "show", example="vedette parked show https://example.org/slow\nvedette parked show ocr-17")(
        parked_show
    )
    verb(
        parked, "retry", example="vedette parked retry https://example.org/slow\nvedette parked retry ocr-17"
    )(parked_retry)
    verb(parked, "drop", example="vedette parked drop https://example.org/slow")(parked_drop)
    app.add_typer(parked)


def parked_() -> None:
    """Looks and jobs that used up their attempts.

    A watch stays and is tried again at a long interval; a job of a queue waits for your word.
    """


def parked_list(session: Session, limit: LimitOption = 100) -> None:
    """What is parked, newest first: looks, then jobs of queues."""
    from vedette.report.verdicts import parked_job_json

    with session.queries() as queries:
        looks = queries.parked(most=limit)
    jobs = _jobs(session)[: limit or None]
    if session.given.as_json:
        body = {"parked": [_look_json(one) for one in looks], "jobs": [parked_job_json(one) for one in jobs]}
        session.out.document(body)
        return
    heads = ("SINCE", "OUTCOME", "ATTEMPTS", "WHAT", "DETAIL")
    rows = [*map(_look_cells, looks), *map(_job_cells, jobs)]
    session.out.table(heads, rows, empty="nothing is parked")


def parked_show(session: Session, what: WhatArgument) -> None:
    """One of them, whole.  A job with --json as DeadLetterJobData."""
    from vedette.report.plain import dump
    from vedette.report.verdicts import parked_job_json

    looks, jobs = _named(session, what)
    if session.given.as_json:
        session.out.document(parked_job_json(jobs[0]) if jobs else _look_json(looks[0]))
        return
    for job in jobs:
        session.out.say(
            f"{job.id} on {job.queue}: {count(job.attempts, 'attempt')}, since {moment(job.failed_at)}"
        )
        session.out.say(f"  {job.error}")
        session.out.say(f"  {dump(dict(job.data))}")
        for row in job.stack.splitlines():
            session.out.say(f"    {row}")
    for look in looks:
        session.out.say(
            f"{look.url}: {look.outcome.value} after {count(look.attempts, 'attempt')}, since {moment(look.at)}"
        )
        session.out.say(f"  {look.detail or 'no detail'}")


def parked_retry(session: Session, what: WhatOption = None, every: EveryOption = False) -> None:
    """Forget the failed attempts: look again as soon as the lane allows, give a job all its attempts again."""
    from vedette.store.job_bus import SqliteJobBus
    from vedette.store.operator import retry_parked

    looks, jobs = _chosen(session, what, every)
    now = session.now()
    with session.operating() as db:
        done = sum(retry_parked(db, one.watch, now=now) for one in looks)
    with closing(SqliteJobBus(session.store())) as bus:
        done += sum(bus.retry(one.queue, one.id, now=now) for one in jobs)
    tell(session, f"{done} due again", {"retried": done})


def parked_drop(session: Session, what: WhatOption = None, every: EveryOption = False) -> None:
    """Take it off the list; a watch keeps its long interval, a job is not done."""
    from vedette.store.job_bus import SqliteJobBus
    from vedette.store.operator import drop_parked

    looks, jobs = _chosen(session, what, every)
    with session.operating() as db:
        done = sum(drop_parked(db, one.watch) for one in looks)
    with closing(SqliteJobBus(session.store())) as bus:
        done += sum(bus.drop(one.queue, one.id) for one in jobs)
    tell(session, f"{done} dropped", {"dropped": done})


def _jobs(session: Session) -> list[ParkedJob]:
    from vedette.store.job_bus import SqliteJobBus

    with closing(SqliteJobBus(session.store())) as bus:
        return bus.parked(most=MOST)


def _chosen(session: Session, what: str | None, every: bool) -> tuple[list[Parked], list[ParkedJob]]:
    if (what is None) != every:
        raise InputError("name one URL or job, or --all")
    if what is not None:
        return _named(session, what)
    with session.queries() as queries:
        return queries.parked(), _jobs(session)


def _named(session: Session, what: str) -> tuple[list[Parked], list[ParkedJob]]:
    """A job by its id, else a look by its URL."""
    from vedette.core.urls.canonical import watch_id

    jobs = [job for job in _jobs(session) if job.id == what.strip()]
    if jobs:
        return [], jobs
    if "/" not in what:
        raise InputError(f"no parked job is called {what.strip()!r}; `vedette parked` shows what is parked")
    wanted = a_url(what)
    with session.queries() as queries:
        looks = queries.parked(watch_id(wanted))
    if not looks:
        raise VedetteError(f"{wanted} is not parked; `vedette parked` shows what is")
    return looks, []


def _look_json(one: Parked) -> dict[str, object]:
    return {
        "url": one.url,
        "outcome": one.outcome.value,
        "detail": one.detail,
        "attempts": one.attempts,
        "at": one.at,
    }


def _look_cells(one: Parked) -> tuple[Cell, ...]:
    from vedette.core.urls.canonical import shown
    from vedette.report.plain import moment, plain

    return (moment(one.at), one.outcome.value, str(one.attempts), shown(one.url), plain(one.detail, 100))


def _job_cells(one: ParkedJob) -> tuple[Cell, ...]:
    from vedette.report.plain import moment, plain

    return (moment(one.failed_at), "job failed", str(one.attempts), one.id, plain(one.error, 100))
