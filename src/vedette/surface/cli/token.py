"""Who may ask over HTTP: token add, list, revoke."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.access_tokens import SCOPES, list_tokens, make_token, revoke_token, token_json
from vedette.report.plain import moment
from vedette.surface.cli.output import print_line
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Whose it is: a person or a program.")]
HOMES = {"list": "", "add": "", "revoke": ""}


def register(app: typer.Typer) -> None:
    example = "vedette token add grafana\nvedette token add ana --scope write\nvedette token revoke grafana"
    tokens = group("token", example=example, default=token_list, homes=HOMES)(token_)
    verb(tokens, "list", example="vedette token list --all --json")(token_list)
    verb(tokens, "add", example="vedette token add ana --scope write")(token_add)
    verb(tokens, "revoke", example="vedette token revoke ana")(token_revoke)
    app.add_typer(tokens)


def token_() -> None:
    """Tokens for the dashboard and the API.

    While there is none, `serve` listens on loopback alone and lets this machine in.
    """


def token_list(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="Also those that were revoked.")] = False,
) -> None:
    """Those that let somebody in."""
    found = list_tokens(session.installation, every=every)
    if session.given.as_json:
        session.out.document({"tokens": [token_json(one) for one in found]})
        return
    rows = (
        (one.name, one.scope, moment(one.created_at), "" if one.revoked_at is None else "revoked")
        for one in found
    )
    empty = "no token; `vedette token add NAME` makes one"
    session.out.table(("NAME", "SCOPE", "MADE", "STATE"), rows, empty=empty)


def token_add(
    session: Session,
    name: NameArgument,
    scope: Annotated[
        str, typer.Option("--scope", help=f"{', '.join(SCOPES)}: each allows those before it.")
    ] = "read",
) -> None:
    """Make a token.  It is shown once, on stdout alone."""
    made = make_token(session.installation, name, scope)
    if session.given.as_json:
        session.out.document({**token_json(made.kept), "token": made.token})
        return
    print_line(made.token)
    session.out.note(
        f"the token of {made.kept.name}, with the scope {made.kept.scope}; it is not shown again"
    )


def token_revoke(session: Session, name: NameArgument) -> None:
    """Let it in no more.  Browsers that were logged in with it are logged out."""
    gone = revoke_token(session.installation, name)
    if session.given.as_json:
        session.out.document({"revoked": gone.name})
        return
    session.out.say(f"the token of {gone.name} lets nobody in any more")
