"""Lanes: show, reset, block.  A running engine hears of it within a second."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from vedette.core.lanes.lane import BLOCKED, CLOSED, condition
from vedette.operations.arguments import a_lane
from vedette.operations.lanes import block_lane, explained_lane_json, list_lanes, reset_lane
from vedette.report.lanes import lane_words
from vedette.store.views import LaneView
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb

LaneArgument = Annotated[str, typer.Argument(metavar="LANE", help="host:example.org, a host, or a URL.")]


def register(app: typer.Typer) -> None:
    lanes = group(
        "lanes", example="vedette lanes show\nvedette lanes reset host:example.org", default=lanes_show
    )(lanes_)
    verb(lanes, "show", example="vedette lanes show host:example.org")(lanes_show)
    verb(lanes, "reset", example="vedette lanes reset example.org")(lanes_reset)
    verb(lanes, "block", example='vedette lanes block example.org --why "asked us to stop"')(lanes_block)
    app.add_typer(lanes)


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
