"""`digest`: what hunts found, for people who were not there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vedette.contracts.words import Outcome
from vedette.operations.arguments import a_moment
from vedette.operations.hunt_digest import (
    check_digest_name,
    digest_file,
    digest_json,
    hunt_digest,
    send_digest,
)
from vedette.report.digest_letter import digest_markdown
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

EXAMPLE = "vedette digest --since 7d --out digest.html\nvedette digest --mail team"


def register(app: typer.Typer) -> None:
    verb(app, "digest", example=EXAMPLE)(digest)


def digest(
    session: Session,
    since: Annotated[
        str | None, typer.Option("--since", help="What was found since: 7d, 2026-11-15, ...  [default: 7d]")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, max=50, metavar="N", help="Pages at most.")] = 10,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it there: a .md or .html file.")
    ] = None,
    mail: Annotated[
        str | None, typer.Option("--mail", metavar="CHANNEL", help="Send it to this channel of `notify`.")
    ] = None,
) -> None:
    """What hunts found, each with why it is odd: text, HTML or mail.

    The oddest page of each host, with claims that quote the stored text of the page.  Where nothing stood out it says
    so.  Without --out and --mail it is printed as Markdown.
    """
    if out is not None:
        check_digest_name(out.name)
    found = hunt_digest(session.installation, since=a_moment(since, "--since", session.now()), top=top)
    if out is not None:
        out.write_text(digest_file(found, out.name), encoding="utf-8")
        session.out.note(f"{out}: {found.headline}")
    if session.given.as_json:
        session.out.document(digest_json(found))
    elif out is None and mail is None:
        session.out.text(digest_markdown(found))
    if mail is not None:
        delivery = send_digest(session.installation, found, mail)
        if delivery.outcome is not Outcome.OK:
            session.out.note(f"{mail}: not delivered, {delivery.detail or delivery.outcome.value}")
            raise typer.Exit(Exit.FAILED)
        session.out.note(f"{mail}: delivered")
