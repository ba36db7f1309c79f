"""The long-running processes: serve, worker."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from vedette.contracts.errors import VedetteError
from vedette.report.plain import count
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


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
    from vedette.app.stage_worker import Hooks, Work, run_worker, stage_queues
    from vedette.report.plain import safe_json
    from vedette.surface.cli.output import print_line
    from vedette.telemetry.events import Event

    chosen = session.loaded.config.stages.queues if queues is None else stage_queues(queues)
    done = {"completed": 0, "failed": 0}

    def tally(job: object, status: str, took: object) -> None:
        done[status] += 1

    def hear(event: Event) -> None:
        if session.given.as_json:
            print_line(safe_json(event.line()))
        else:
            session.out.note(" ".join(f"{value}" for value in (event.name, *event.fields.values())))

    hooks = Hooks(hear, on_served=tally)
    work = Work(queues=chosen, until_idle=until_idle)
    run_worker(session.loaded, session.store(), clock=session.clock, hooks=hooks, work=work)
    ended = Event(name="worker_ended", at=session.now(), fields={**done})
    if session.given.as_json:
        print_line(safe_json(ended.line()))
    session.out.say(f"{count(done['completed'], 'job')} done, {count(done['failed'], 'attempt')} failed")


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
    from vedette.app.panel import Panel
    from vedette.app.service import run_service
    from vedette.config.model import secret
    from vedette.surface.http.panel_admin import PanelAdmin
    from vedette.surface.http.service_pages import opened

    row = session.loaded.config.serve
    token = None if row.token is None else secret(row.token, "`serve.token`")
    panel = Panel(session.loaded, clock=session.clock)
    admin = PanelAdmin(lambda writes: panel.view(read_only=not writes), session.clock)
    door = opened(listen or row.listen, token, admin, row.hosts)
    session.note_databases()
    ended = run_service(session.loaded, clock=session.clock, stdout=sys.stdout, stderr=sys.stderr, door=door)
    if isinstance(ended.error, VedetteError):
        raise ended.error
    if ended.error is not None:
        raise VedetteError(f"the service ended early: {ended.error}")
