"""What is held back: lanes (show, reset, block), and what is parked.  A running engine hears of it within a second."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import ParkedJob
from vedette.contracts.watch import Parked
from vedette.core.lanes.lane import BLOCKED, CLOSED, condition
from vedette.core.urls.canonical import shown
from vedette.operations.arguments import a_lane
from vedette.operations.lanes import (
    block_lane,
    drop_work,
    explained_lane_json,
    find_parked,
    list_lanes,
    list_parked,
    reset_lane,
    retry_work,
)
from vedette.report.lanes import lane_words
from vedette.report.plain import count, dump, moment, plain
from vedette.report.verdicts import parked_job_json, parked_look_json
from vedette.store.views import LaneView
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, group, verb

LaneArgument = Annotated[str, typer.Argument(metavar="LANE", help="host:example.org, a host, or a URL.")]


def register(app: typer.Typer) -> None:
    lanes = group(
        "lanes", example="vedette lanes show\nvedette lanes reset host:example.org", default=lanes_show
    )(lanes_)
    verb(lanes, "show", example="vedette lanes show host:example.org")(lanes_show)
    verb(lanes, "reset", example="vedette lanes reset example.org")(lanes_reset)
    verb(lanes, "block", example='vedette lanes block example.org --why "asked us to stop"')(lanes_block)
    app.add_typer(lanes)
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


def lanes_() -> None:
    """The queues in front of hosts: show, reset, block."""


def lanes_show(
    session: Session,
    lane: Annotated[
        str | None, typer.Argument(metavar="[LANE]", help="host:example.org, a host, or a URL.")
    ] = None,
    shut: Annotated[bool, typer.Option("--shut", help="Only those that something holds.")] = False,
) -> None:
    """Lanes and what holds them."""
    key, now = None if lane is None else a_lane(lane), session.now()
    found = list_lanes(session.installation, key, only_shut=shut)
    if session.given.as_json:
        bodies = [explained_lane_json(session.installation, view, now) for view in found]
        session.out.document({"lanes": bodies})
        return
    heads = ("LANE", "BREAKER", "WHAT HOLDS IT")
    empty = "no lane fits" if key is None else f"{key} has not been used yet: nothing holds it"
    session.out.table(heads, (_lane_cells(view, now) for view in found), empty=empty)


def lanes_reset(session: Session, lane: LaneArgument) -> None:
    """Lift the breaker, a Retry-After hold and a block.  The gap between requests and Crawl-delay stay."""
    key = a_lane(lane)
    reset_lane(session.installation, key)
    session.out.answer(
        f"the breaker of {key} is closed: requests may start", {"lane": key, "condition": CLOSED}
    )


def lanes_block(
    session: Session,
    lane: LaneArgument,
    why: Annotated[str, typer.Option("--why", help="For whoever asks later.")] = "",
) -> None:
    """Start nothing in this lane until it is reset."""
    key = a_lane(lane)
    state = block_lane(session.installation, key, why)
    body = {"lane": key, "condition": BLOCKED, "blocked_by": state.blocked_by}
    session.out.answer(f"{key} is blocked: {state.blocked_by}", body)


def _lane_cells(view: LaneView, now: datetime) -> tuple[Cell, ...]:
    word = condition(view.state, now)
    return (view.key, ("good" if word == CLOSED else "warn", word), lane_words(view.state, now))


# What used up its attempts: looks by their URL, jobs of queues by their id.  One verb for both.

WhatArgument = Annotated[
    str, typer.Argument(metavar="URL|JOB", help="A URL in any spelling, or the id of a job, as scout-17.")
]
WhatOption = Annotated[
    str | None,
    typer.Argument(metavar="[URL|JOB]", help="A URL in any spelling, or the id of a job, as scout-17."),
]
EveryOption = Annotated[bool, typer.Option("--all", help="All that is parked.")]


def parked_() -> None:
    """Looks and jobs that used up their attempts.

    A watch stays and is tried again at a long interval; a job of a queue waits for your word.
    """


def parked_list(session: Session, limit: LimitOption = 100) -> None:
    """What is parked, newest first: looks, then jobs of queues."""
    found = list_parked(session.installation, limit)
    if session.given.as_json:
        looks, jobs = map(parked_look_json, found.looks), map(parked_job_json, found.jobs)
        session.out.document({"parked": list(looks), "jobs": list(jobs)})
        return
    heads = ("SINCE", "OUTCOME", "ATTEMPTS", "WHAT", "DETAIL")
    rows = [*map(_look_cells, found.looks), *map(_job_cells, found.jobs)]
    session.out.table(heads, rows, empty="nothing is parked")


def parked_show(session: Session, what: WhatArgument) -> None:
    """One of them, whole.  A job with --json as DeadLetterJobData."""
    found = find_parked(session.installation, what)
    if session.given.as_json:
        session.out.document(
            parked_job_json(found.jobs[0]) if found.jobs else parked_look_json(found.looks[0])
        )
        return
    for job in found.jobs:
        session.out.say(
            f"{job.id} on {job.queue}: {count(job.attempts, 'attempt')}, since {moment(job.failed_at)}"
        )
        session.out.say(f"  {job.error}")
        session.out.say(f"  {dump(dict(job.data))}")
        for row in job.stack.splitlines():
            session.out.say(f"    {row}")
    for look in found.looks:
        session.out.say(
            f"{look.url}: {look.outcome.value} after {count(look.attempts, 'attempt')}, since {moment(look.at)}"
        )
        session.out.say(f"  {look.detail or 'no detail'}")


def parked_retry(session: Session, what: WhatOption = None, every: EveryOption = False) -> None:
    """Forget the failed attempts: look again as soon as the lane allows, give a job all its attempts again."""
    _check_choice(what, every)
    done = retry_work(session.installation, what)
    session.out.answer(f"{done} due again", {"retried": done})


def parked_drop(session: Session, what: WhatOption = None, every: EveryOption = False) -> None:
    """Take it off the list; a watch keeps its long interval, a job is not done."""
    _check_choice(what, every)
    done = drop_work(session.installation, what)
    session.out.answer(f"{done} dropped", {"dropped": done})


def _check_choice(what: str | None, every: bool) -> None:
    if (what is None) != every:
        raise InputError("name one URL or job, or --all")


def _look_cells(one: Parked) -> tuple[Cell, ...]:
    return (moment(one.at), one.outcome.value, str(one.attempts), shown(one.url), plain(one.detail, 100))


def _job_cells(one: ParkedJob) -> tuple[Cell, ...]:
    return (moment(one.failed_at), "job failed", str(one.attempts), one.id, plain(one.error, 100))
