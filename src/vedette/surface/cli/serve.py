"""The long-running processes: serve, worker."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from vedette.config.model import secret
from vedette.contracts.events import Event, WorkerEnded
from vedette.operations.run import panel_of, work_queues
from vedette.operations.run import serve as serve_for_ever
from vedette.report.plain import count, safe_json
from vedette.surface.cli.output import print_line
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb
from vedette.surface.http.panel_admin import PanelAdmin
from vedette.surface.http.service_pages import opened


def register(app: typer.Typer) -> None:
    verb(app, "serve", example="vedette serve\nVEDETTE_ENV=production vedette serve --listen 127.0.0.1:9464")(
        serve
    )
    verb(app, "worker", example="vedette worker\nvedette worker --queues ocr,embed --until-idle")(worker)


def worker(
    session: Session,
    queues: Annotated[
        str | None, typer.Option("--queues", metavar="A,B", help="Of scout, router, ocr, extract, embed.")
    ] = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End when nothing waits.")] = False,
) -> None:
    """Serve the queues after the look.

    The queues are scout, router, ocr, extract and embed.

    A run serves them itself unless `stages.in_process` is false; this takes the work to other processes, as many as
    you like beside one engine.  What fails is tried three times and then parked (`vedette parked`).
    """

    def hear(event: Event) -> None:
        if session.given.as_json:
            print_line(safe_json(event.line()))
        else:
            session.out.note(" ".join(f"{value}" for value in (event.name, *event.fields.values())))

    done = work_queues(session.installation, queues, until_idle=until_idle, on_event=hear)
    ended = WorkerEnded(at=session.now(), **asdict(done))
    if session.given.as_json:
        print_line(safe_json(ended.line()))
    session.out.say(f"{count(done.completed, 'job')} done, {count(done.failed, 'attempt')} failed")


def serve(
    session: Session,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="ADDRESS:PORT", help="Instead of `serve.listen`.")
    ] = None,
) -> None:
    """Watch for ever, tell people, keep the cron.

    Everything that `run` does, and beside it: changes and alerts go to the channels of `notify`, sources are checked,
    cron queues the runs of `cron`, the `sentinel` queue is served, `/metrics` is answered, and so are the pages of the
    panel's batches (/batch/ID, /provider/NAME/state, /kill-switch).  The log goes to stderr, as JSON where VEDETTE_ENV
    or NODE_ENV is production.
    """
    row = session.loaded.config.serve
    token = None if row.token is None else secret(row.token, "`serve.token`")
    panel = panel_of(session.installation)
    admin = PanelAdmin(lambda writes: panel.view(read_only=not writes), session.clock)
    door = opened(listen or row.listen, token, admin, row.hosts, session.installation)
    session.note_databases()
    serve_for_ever(session.installation, door=door, stdout=sys.stdout, stderr=sys.stderr)
