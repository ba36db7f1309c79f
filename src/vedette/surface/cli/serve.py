"""The long-running processes: serve, worker; and who works: workers."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from vedette.config.model import secret
from vedette.contracts.events import Event, WorkerEnded
from vedette.operations.run import panel_of, work_queues
from vedette.operations.run import serve as serve_for_ever
from vedette.operations.worker_roles import Door, Role, roles_of, roster, work_roles
from vedette.report.plain import count, safe_json
from vedette.report.worker_list import (
    carrier_json,
    carrier_words,
    role_json,
    role_words,
    worker_cells,
    worker_json,
)
from vedette.surface.cli.output import print_line
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb
from vedette.surface.http.panel_admin import PanelAdmin
from vedette.surface.http.service_pages import opened


def register(app: typer.Typer) -> None:
    verb(app, "serve", example="vedette serve\nVEDETTE_ENV=production vedette serve --listen 127.0.0.1:9464")(
        serve
    )
    verb(
        app,
        "worker",
        example="vedette worker\nvedette worker --queues ocr,embed --until-idle\nvedette worker --roles crawl,stages",
    )(worker)
    verb(app, "workers", example="vedette workers\nvedette workers --json")(workers)


def worker(
    session: Session,
    queues: Annotated[
        str | None, typer.Option("--queues", metavar="A,B", help="Of scout, router, ocr, extract, embed.")
    ] = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End when nothing waits.")] = False,
    roles: Annotated[
        str | None, typer.Option("--roles", metavar="A,B", help="Of crawl, stages, panel, scheduler, serve.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="ADDRESS:PORT", help="Answer /readyz and /metrics there."),
    ] = None,
) -> None:
    """Serve the queues after the look, or share a store on PostgreSQL with other workers.

    The queues are scout, router, ocr, extract and embed.

    A run serves them itself unless `stages.in_process` is false; this takes the work to other processes, as many as
    you like beside one engine.  What fails is tried three times and then parked (`vedette parked`).

    With `--roles`, on a store in PostgreSQL: `crawl` looks, `stages` serves the queues, `panel` asks batches of `panel
    run --detach`, `scheduler` publishes prices and keeps the cron (one works, others wait to take over), `serve`
    answers over HTTP.  Any number of workers, on any number of machines that share the data folder; no host and no
    provider sees more of them together than its lane allows.  SIGTERM lets a worker end what it has begun.
    """
    if roles is not None:
        _work_roles(session, roles, listen)
        return

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


def _work_roles(session: Session, words: str, listen: str | None) -> None:
    roles, row = roles_of(words), session.loaded.config.serve
    where = listen or (row.listen if Role.SERVE in roles else None)
    door = None if where is None else _door(session, where)

    def hear(event: Event) -> None:
        print_line(safe_json(event.line()))

    as_json = session.given.as_json
    stdout = sys.stderr if as_json else sys.stdout  # with --json every line of stdout is an event
    work_roles(session.installation, roles, door=door, stdout=stdout, log=hear if as_json else sys.stderr)


def workers(session: Session) -> None:
    """Who works on the store, in which roles, and what waits for them.

    A worker that was not heard of for a minute is silent: what it held is taken by others.
    """
    found = roster(session.installation)
    if session.given.as_json:
        session.out.document(
            {
                "workers": [worker_json(one) for one in found.workers],
                "roles": [role_json(one) for one in found.loads],
                "queues": carrier_json(found.carrier),
            }
        )
        return
    heads = ("WORKER", "STATE", "ROLES", "LANES", "LOOKS", "HEARD", "WHERE")
    empty = "no worker has been started on this store: vedette worker --roles crawl,stages,scheduler"
    session.out.table(heads, (worker_cells(one, session.now()) for one in found.workers), empty=empty)
    for one in found.loads:
        session.out.note(role_words(one))
    session.out.note(carrier_words(found.carrier))


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
    door = _door(session, listen or session.loaded.config.serve.listen)
    session.note_databases()
    serve_for_ever(session.installation, door=door, stdout=sys.stdout, stderr=sys.stderr)


def _door(session: Session, listen: str) -> Door:
    row = session.loaded.config.serve
    token = None if row.token is None else secret(row.token, "`serve.token`")
    panel = panel_of(session.installation)
    admin = PanelAdmin(lambda writes: panel.view(read_only=not writes), session.clock)
    return opened(listen, token, admin, row.hosts, session.installation)
