"""Why we looked, or will look: explain."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.explain import explain as explained
from vedette.report.explanation import explanation_json, explanation_lines
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


def register(app: typer.Typer) -> None:
    verb(app, "explain", example="vedette explain https://example.org/rules")(explain)


def explain(
    session: Session,
    url: Annotated[str, typer.Argument(metavar="URL", help="In any spelling.")],
    visits: Annotated[
        int, typer.Option("--visits", min=0, metavar="N", help="At most so many looks; 0: all.")
    ] = 10,
) -> None:
    """The recorded decision about a URL, with its reasons.

    Risk, role, velocity, interval, due time, and reasons with points that add up.  Prints
    what was decided at the last look and never decides again.  Of the learned policy also the rate of change, the
    chance of a change by now, value against price, and the plan taken apart; and what the scout said of the page.
    Looks are listed newest first.
    """
    now = session.now()
    said = explained(session.installation, url, visits=visits)
    if session.given.as_json:
        session.out.document(explanation_json(said, now))
    else:
        session.out.lines(explanation_lines(said, now))
