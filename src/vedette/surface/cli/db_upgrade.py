"""A store of another version, of another program or in another place: `db upgrade`, `db adopt` and `db copy`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from vedette.app.panel import Panel
from vedette.operations.adopt import Adopted, adopt_store
from vedette.operations.copy_store import copy_store
from vedette.operations.database import upgrade_database
from vedette.report.plain import count
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


def register(app: typer.Typer) -> None:
    verb(app, "upgrade", example="vedette db upgrade\nvedette db upgrade --panel")(upgrade)
    verb(app, "adopt", example="vedette db adopt old.db --dry-run\nvedette db adopt postgresql://host/name")(
        adopt
    )
    verb(
        app,
        "copy",
        example='vedette db copy --to "$DATABASE_URL"\nvedette db copy --to sqlite:///back/vedette.db --keep',
    )(copy)


def copy(
    session: Session,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="URL", help="postgresql://... or sqlite:///folder/vedette.db, without a store."
        ),
    ],
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Go on with the store that is there; the copy is for something else."),
    ] = False,
) -> None:
    """Move the store to PostgreSQL, or back into a file: every row, proven by counts and digests of each table.

    No engine may run meanwhile.  Stopped anywhere, say it again: it goes on where it was.  At the end a file that was
    the store is renamed to vedette.db.moved, so that DATABASE_URL says where the store is; --keep leaves it.  The
    archive of evidence stays in the data folder.
    """
    with session.out.progress("rows") as progress:
        done = copy_store(session.installation, to, keep=keep, progress=progress)
    if session.given.as_json:
        session.out.document(asdict(done) | {"rows": done.rows})
        return
    rows = ((one.table, str(one.rows), one.digest[:16]) for one in done.proofs if one.rows)
    session.out.table(("TABLE", "ROWS", "SHA-256"), rows, empty="no rows")
    session.out.say(f"{count(done.rows, 'row')} in {done.target}, the same as in {done.source}")
    if done.set_aside:
        session.out.note(f"the file is now {done.set_aside}; set DATABASE_URL to the new place, and go on")


def upgrade(
    session: Session,
    panel: Annotated[
        bool, typer.Option("--panel", help="Also what the panel needs in its database (DATABASE_URL).")
    ] = False,
) -> None:
    """Bring the store to this version.  Only ever adds; a store that is up to date is left alone.

    With --panel the tables, columns and indexes of the panel are added now, and not by the first `panel run`.
    """
    done = upgrade_database(session.installation)
    if panel:
        with Panel(session.loaded, clock=session.clock).store():
            session.out.note("the database of the panel has all that a batch needs")
    words = "is up to date" if done.before == done.version else f"upgraded from {done.before or 'nothing'}"
    session.out.say(f"{done.path} {words}: version {done.version}")
    if session.given.as_json:
        session.out.document({"path": str(done.path), "before": done.before, "version": done.version})


def adopt(
    session: Session,
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD", help="A SQLite file, or the URL of a database, with the table DiscoveredItem."
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")
    ] = False,
) -> None:
    """Take over the store of an older sentinel.

    There: columns are added, items classified and scheduled, scrapeFrequency marked as deprecated and kept.  Nothing
    is dropped, and rows that have a schedule keep it.  Here: its endpoints become sources, its items watches.  Stopped
    anywhere, say it again.  Exit 6 when rows could not be taken; each is named with its reason.
    """
    with session.out.progress("items") as progress:
        done = adopt_store(session.installation, old, is_trial=dry_run, progress=progress)
    if session.given.as_json:
        body = {name: getattr(done, name) for name in done.__slots__ if name != "problems"}
        problems = [{"row": row, "why": why} for row, why in done.problems]
        session.out.document({"dry_run": dry_run, **body, "problems": problems})
    else:
        _print_adopted(session, done, dry_run)
    if done.problems:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _print_adopted(session: Session, done: Adopted, dry_run: bool) -> None:
    word = "would be" if dry_run else "were"
    added = ", ".join(done.columns) or "none"
    for row, why in done.problems:
        session.out.say(f"{row}: not taken: {why}")
    session.out.say(f"{count(done.items, 'item')}; columns that {word} added: {added}")
    session.out.say(f"{count(done.scheduled, 'item')} {word} classified and scheduled")
    if not dry_run:
        session.out.say(
            f"{count(done.deprecated, 'endpoint')}: scrapeFrequency is marked as deprecated, and kept"
        )
        session.out.say(
            f"{count(done.sources, 'new source')}, {count(done.watches, 'new watch', 'new watches')}; "
            f"{count(done.left_alone, 'skipped item')} left alone"
        )
