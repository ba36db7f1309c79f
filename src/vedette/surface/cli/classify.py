"""What a URL says by its words alone: classify.  Nothing is fetched."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.classified import classified_json, classify_page
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import UrlArgument, verb


def register(app: typer.Typer) -> None:
    verb(app, "classify", example="vedette classify https://example.org/zakon/123")(classify)


def classify(
    session: Session,
    url: UrlArgument,
    content_type: Annotated[
        str | None, typer.Option("--content-type", help="As the server would say it.")
    ] = None,
) -> None:
    """Node type, role and risk of a URL by its words.

    Nothing is fetched.  Names the row that decided: of a language pack (hr, en; `classify.packs` chooses), or of
    `classify.patterns`.
    """
    page = classify_page(session.loaded.config, url, content_type)
    if session.given.as_json:
        session.out.document(classified_json(page))
        return
    said = page.said
    role = said.node_role.value if said.node_role else "none"
    session.out.say(
        f"{said.node_type.value}  role {role}  risk {said.risk.name}  ({said.reason.code}: {said.reason.note})"
    )
    if page.blocked_by is not None:
        session.out.note(f"it would not be watched: the host contains the blocked word {page.blocked_by!r}")
