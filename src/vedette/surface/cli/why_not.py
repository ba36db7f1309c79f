"""`why-not`: why a URL was not looked at.  Apart from the lists, which load none of its rules."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.why_not import why_not as reasons_of
from vedette.operations.why_not import why_not_json
from vedette.report.plain import line, plain, quoted
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


def register(app: typer.Typer) -> None:
    verb(app, "why-not", example="vedette why-not https://example.org/private/")(why_not)


def why_not(
    session: Session, url: Annotated[str, typer.Argument(metavar="URL", help="In any spelling.")]
) -> None:
    """Why a URL was not looked at.

    robots.txt, a blocked word, a refused sighting, not yet due, a closed lane, parked, paused, merged, not chosen by
    the hunt, unknown.

    One sentence first, what to do about it second, everything else that holds it back after that.
    """

    found = reasons_of(session.installation, url)
    if session.given.as_json:
        session.out.document(why_not_json(found))
        return
    for number, answer in enumerate(found.answers):
        session.out.lines([line(quoted(answer.sentence, "" if number else "head"))])
        if answer.remedy:
            session.out.lines([line(("dim", f"  {plain(answer.remedy)}"))])
