"""Evidence handed out: `evidence cat` and `evidence export`."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.operations.arguments import a_moment
from vedette.operations.evidence import body_of, export_001, export_warc, kept_evidence, kept_json, text_of
from vedette.report.plain import count
from vedette.surface.cli.evidence import WhatArgument
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

CAT = (
    "vedette evidence cat https://example.org/rules --text\n"
    "vedette evidence cat https://example.org/rules --at 2026-11-15 > rules.html"
)
EXPORT = (
    "vedette evidence export https://example.org/rules --to rules.warc.gz\n"
    "vedette evidence export --as-001 --to evidence.db"
)


def register(app: typer.Typer) -> None:
    verb(app, "cat", example=CAT)(cat)
    verb(app, "export", example=EXPORT)(export)


def cat(
    session: Session,
    what: WhatArgument,
    at: Annotated[str | None, typer.Option("--at", help="As it was then: 24h (ago), 2026-11-15, ...")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The bytes as they came, decoded; the default.")] = False,
    text: Annotated[bool, typer.Option("--text", help="What it says, line by line.")] = False,
) -> None:
    """Print what was kept: the page of a URL as it was seen last, or at a time, or one piece of evidence.

    With --json: `rawContent` as 001 has it, text where it is text and base64 where it is not.
    """
    if raw and text:
        raise InputError("--raw and --text exclude each other")
    loaded = session.loaded
    one = kept_evidence(session.installation, what, at=a_moment(at, "--at", session.now()))
    if session.given.as_json:
        session.out.document(kept_json(loaded, one, with_text=text))
    elif text:
        session.out.text(text_of(loaded, one) + "\n")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(body_of(loaded, one))
        sys.stdout.buffer.flush()


def export(
    session: Session,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="A new file, NAME.warc.gz.")],
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[URL|ID|DIGEST]", help="A URL, or a piece of evidence; with --as-001 all by default."
        ),
    ] = None,
    since: Annotated[str | None, typer.Option("--since", help="24h, 7d, 2026-11-15, ...")] = None,
    as_001: Annotated[
        bool,
        typer.Option("--as-001", help="A SQLite file with the table Evidence of 001, rawContent filled."),
    ] = False,
) -> None:
    """Copy records as a WARC file that stands by itself and any WARC tool reads, or as the rows of 001."""
    start = a_moment(since, "--since", session.now())
    if as_001:
        _export_001(session, to, what, since=start)
        return
    if what is None:
        raise InputError("name a URL, a number or a sha256; only --as-001 takes all evidence")
    done = export_warc(session.installation, what, to, since=start)
    session.out.say(f"{count(done.records, 'record')}, {count(done.size, 'byte')} in {done.path}")
    if session.given.as_json:
        session.out.document({"file": str(done.path), "records": done.records, "bytes": done.size})


def _export_001(session: Session, to: Path, what: str | None, *, since: datetime | None) -> None:
    with session.out.progress("evidence") as progress:
        done = export_001(session.installation, to, what=what, since=since, progress=progress)
    lost = f"; {done.lost} without rawContent: their records cannot be read" if done.lost else ""
    session.out.say(f"{count(done.rows, 'row')} of Evidence in {done.path}{lost}")
    if session.given.as_json:
        session.out.document({"file": str(done.path), "rows": done.rows, "lost": done.lost})
