"""`backup`, `restore` and `gc`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from vedette.operations.backup import Backup, back_up
from vedette.operations.backup import restore as bring_back
from vedette.operations.maintenance import collect, collected_json
from vedette.report.plain import count, moment
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


def register(app: typer.Typer) -> None:
    verb(app, "backup", example="vedette backup backups/monday")(backup)
    verb(
        app,
        "restore",
        example="vedette restore backups/monday --data new\nvedette restore backups/monday --replace",
    )(restore)
    verb(app, "gc", example="vedette gc --dry-run\nvedette gc")(gc)


def backup(
    session: Session,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A new folder.")],
) -> None:
    """Copy the whole store, also while an engine runs: one moment of the database, and the evidence that it covers.

    The copy is verified.  Exit 6 when it holds problems, which are then those of the store itself.
    """
    with session.out.progress("copying") as progress:
        made = back_up(session.installation, target, progress=progress)
    _tell(session, made, f"backup made in {target}")


def restore(
    session: Session,
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="What `vedette backup` made.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Move the store that is there aside first; nothing is deleted.")
    ] = False,
) -> None:
    """Bring a store back from a backup.  Refuses to touch a store that is there, unless told to (exit 3).

    The copy is verified before it takes the place of anything.  Stop the engine first.
    """
    with session.out.progress("copying") as progress:
        found = bring_back(session.installation, backup, replace=replace, progress=progress)
    _tell(
        session,
        found,
        f"restored in {session.loaded.data}, as of {moment(datetime.fromisoformat(found.made_at))}",
    )


def _tell(session: Session, made: Backup, words: str) -> None:
    if session.given.as_json:
        session.out.document(asdict(made))
    looks, files = count(made.visits, "look"), count(made.segments, "archive file")
    session.out.say(f"{words}: {looks}, {files}, {count(made.size, 'byte')}")
    if made.problems:
        session.out.note(f"{count(made.problems, 'problem')} in it; `vedette evidence verify` names them")
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def gc(
    session: Session,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; drop nothing.")] = False,
) -> None:
    """Drop archive files and decisions that have had their time.

    Archive files by `evidence.retention`, decisions by `evidence.ledger`.

    Only whole files of days that are over go.  Each leaves a tombstone: `evidence verify` says expired, not missing.
    Text that was made of them goes with them, and of prices and clocks what no decision on record names any more.
    The visits and the digests of what they showed stay.  Needs the store for itself: stop the engine first (exit 3).
    """
    done = collect(session.installation, is_trial=dry_run)
    if session.given.as_json:
        session.out.document({"dry_run": dry_run, **collected_json(done)})
        return
    for segment in done.segments:
        session.out.say(f"{segment.name}: {count(segment.count, 'visit')}, {count(segment.size, 'byte')}")
    word = "would go" if dry_run else "dropped"
    session.out.say(
        f"{word}: {len(done.segments)} archive files, {count(done.size, 'byte')}; text of {done.texts} documents; "
        f"{count(done.ledger, 'decision')} of the ledger, {done.versions} old prices and clocks"
    )
