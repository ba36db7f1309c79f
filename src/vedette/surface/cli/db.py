"""The database of the store: the group, `db status` and `db path`."""

from __future__ import annotations

from pathlib import Path

import typer

from vedette.operations.database import database_path, database_status, status_json
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb

HOMES = {"status": "", "upgrade": "db_upgrade", "adopt": "db_upgrade", "path": "", "copy": "db_upgrade"}


def register(app: typer.Typer) -> None:
    db = group("db", example="vedette db status", default=status, homes=HOMES)(db_)
    verb(db, "status", example="vedette db status --json")(status)
    verb(db, "path", example="sqlite3 $(vedette db path) .tables")(path)
    app.add_typer(db)


def db_() -> None:
    """The database of the store."""


def status(session: Session) -> None:
    """Version, size and number of rows by table."""
    found = database_status(session.installation)
    if session.given.as_json:
        session.out.document(status_json(found))
        return
    last = found.last_run
    session.out.say(f"{found.path}: version {found.version} of {found.newest}, {found.size / 2**20:.1f} MiB")
    session.out.say(
        f"engine: {found.engine or 'not running'}; last run {f'{last.id} ({last.ended_by})' if last else 'none'}"
    )
    rows = ((name, str(number)) for name, number in found.rows.items())
    session.out.table(("TABLE", "ROWS"), rows, empty="no tables")


def path(session: Session) -> None:
    """Where the database is."""
    place = database_path(session.installation)
    name = str(place.resolve()) if isinstance(place, Path) else str(place)
    if session.given.as_json:
        session.out.document({"path": name, "exists": session.installation.has_store})
    else:
        session.out.say(name)
