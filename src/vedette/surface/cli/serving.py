"""The long-running process: serve."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from vedette.contracts.errors import VedetteError
from vedette.surface.cli.session import Session
from vedette.surface.cli.verbs import verb


def register(app: typer.Typer) -> None:
    verb(app, "serve", example="vedette serve\nVEDETTE_ENV=production vedette serve --listen 127.0.0.1:9464")(
        serve
    )


def serve(
    session: Session,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="ADDRESS:PORT", help="Instead of `serve.listen`.")
    ] = None,
) -> None:
    """Watch for ever, tell people, keep the cron.

    Everything that `run` does, and beside it: changes and alerts go to the channels of `notify`, sources are checked,
    cron queues the runs of `cron`, the `sentinel` queue is served, `/metrics` is answered.  The log goes to stderr,
    as JSON where VEDETTE_ENV or NODE_ENV is production.
    """
    from vedette.config import secret
    from vedette.service import run_service
    from vedette.surface.door import door

    row = session.loaded.config.serve
    token = None if row.token is None else secret(row.token, "`serve.token`")
    opened = door(listen or row.listen, token)
    ended = run_service(
        session.loaded, clock=session.clock, stdout=sys.stdout, stderr=sys.stderr, door=opened
    )
    if isinstance(ended.error, VedetteError):
        raise ended.error
    if ended.error is not None:
        raise VedetteError(f"the service ended early: {ended.error}")
