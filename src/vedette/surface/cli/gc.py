"""What has had its time goes: gc."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.maintenance import collect, collected_json
from vedette.report.plain import count
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


def register(app: typer.Typer) -> None:
    verb(app, "gc", example="vedette gc --dry-run\nvedette gc")(gc)


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
