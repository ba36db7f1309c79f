"""A look now: what to look at, for how long to wait, and what was seen."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.core.lanes.turn_forecast import TurnForecast
from vedette.operations.arguments import a_duration
from vedette.operations.look_now import LookForecast, order_looks_now
from vedette.report.looks import IS_SEEN, Looked, looked_lines, looks_json, summary
from vedette.report.plain import span, when
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

TOLD_FROM = timedelta(seconds=5)  # a longer wait is reported, by lane
EXAMPLE = """vedette look https://example.org/rules
vedette look --source example-news
vedette look --all --patience 30m --json"""


def register(app: typer.Typer) -> None:
    verb(app, "look", example=EXAMPLE)(look)


def look(
    session: Session,
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL...]", help="Watched pages.")] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="ID", help="All that is watched of this source.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that is watched.")] = False,
    patience: Annotated[
        str | None,
        typer.Option(
            "--patience", help="Wait at most 40s, 5m, ...  [default: the estimate, and 30 minutes more]"
        ),
    ] = None,
) -> None:
    """Look now at what is watched, and tell what was seen.

    Waits its turn: gap, Crawl-delay, Retry-After and breaker of the lane hold as ever, and the wait is told before it
    begins.  A running engine gets the order and makes the look; without one this command makes it.  A first
    difference is looked at twice, as in a run.

    Exit 1 when something was not seen; the order stands, so the next run looks at it.  Ctrl-C loses nothing.
    """
    if bool(urls) + (source is not None) + everything != 1:
        raise InputError("say what to look at: one or more URLs, --source ID, or --all")
    bound = None if patience is None else a_duration(patience, "--patience")
    is_stopped = False
    with session.out.progress("looking") as progress:

        def tell(looked: Looked, done: int, whole: int) -> None:
            if not session.given.as_json:
                session.out.lines(looked_lines(looked))
            progress(done, whole)

        looks = order_looks_now(session.installation, urls or [], source, session.engine, tell)
        forecast = looks.forecast(bound)
        _tell_wait(session, forecast)
        try:
            looks.wait(forecast.until)
        except KeyboardInterrupt:
            is_stopped = True
        seen = looks.finish()
    _report(session, seen, looks.ordered_at)
    if is_stopped or looks.is_stopped:
        raise typer.Exit(Exit.INTERRUPTED)
    if any(one.saw not in IS_SEEN for one in seen):
        raise typer.Exit(Exit.FAILED)


def _report(session: Session, looks: list[Looked], ordered_at: datetime) -> None:
    if session.given.as_json:
        session.out.document(looks_json(looks, ordered_at))
    else:
        session.out.note(summary(looks))


def _tell_wait(session: Session, forecast: LookForecast) -> None:
    """Says for how long, lane by lane where it is long."""
    for lane, turn in forecast.turns.items():
        if turn.start_at is None or turn.start_at - forecast.at > TOLD_FROM:
            session.out.note(f"{lane}: {_turn_words(turn, forecast.at)}")
    pages = "1 page" if forecast.looks == 1 else f"{forecast.looks:,} pages"
    longest = forecast.longest
    turn_comes = "now" if longest < timedelta(seconds=1) else f"within about {span(longest)}"
    if forecast.looks:
        session.out.note(f"{pages} to look at, {turn_comes}; waiting at most {span(forecast.limit)}")


def _turn_words(turn: TurnForecast, now: datetime) -> str:
    reason = turn.reason
    why = f" ({reason.code}: {reason.note})" if reason and reason.note else ""
    if turn.start_at is None:
        return f"blocked by the operator{why}; `vedette lanes reset` opens it"
    return f"its turn comes {when(turn.start_at, now)}{why}"
