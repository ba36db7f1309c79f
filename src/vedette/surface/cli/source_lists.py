"""Lists of sources from other tools and for them: import, export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vedette.config.values import PROFILES
from vedette.contracts.errors import InputError, RefusedError
from vedette.operations.source_lists import (
    REGISTRY,
    ImportRequest,
    SourceImport,
    export_sources,
    import_sources,
    source_import_json,
)
from vedette.registries import read_registry
from vedette.report.plain import count
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

MOST_BYTES = 64 * 1024 * 1024  # of a list to import
IMPORT_EXAMPLE = """vedette import urls.txt
vedette import jobs.yaml --format urlwatch
vedette import registry:croatia"""
EXPORT_EXAMPLE = """vedette export --format csv > sources.csv
vedette export --what changes --format jsonl --to changes.jsonl
vedette export --what signals --format jsonl | vedette rank - --top 20"""


def register(app: typer.Typer) -> None:
    verb(app, "import", example=IMPORT_EXAMPLE)(import_)
    verb(app, "export", example=EXPORT_EXAMPLE)(export)


def import_(
    session: Session,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A file, - for stdin, or registry:NAME (registry:croatia).")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="auto, urls, csv, xlsx, opml, urlwatch, webchanges, changedetection, distill, bookmarks, jsonl, "
            "yaml.",
        ),
    ] = "auto",
    strict: Annotated[bool, typer.Option("--strict", help="Import nothing when any line is bad.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be imported; write nothing.")
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="WHAT", help="Let this in: env:NAME, allow_networks=10.0.0.0/8."),
    ] = None,
) -> None:
    """Take sources over from other tools.

    Reads a URL list, CSV, a spreadsheet, OPML, the job file of urlwatch or webchanges, the watches of
    changedetection.io, the watchlist of Distill, bookmarks of a browser, and what `vedette export` writes.  Of a source
    that is known only what the line says is changed.

    Says for every line what was taken, what was left out, and what was refused and why.  A bad line loses nothing
    else; the exit code is then 2.

    A file cannot open a door of this machine: environment variables, networks, ports, proxies, name servers and
    certificates that it names are left out and told, line by line, unless `--allow` names them.
    """
    asked = ImportRequest(
        data=_read(file),
        name=file,
        form=form,
        strict=strict,
        dry_run=dry_run,
        allowed=frozenset(allow or ()),
    )
    done = import_sources(session.installation, asked)
    if session.given.as_json:
        session.out.document(source_import_json(done))
    else:
        _say_imported(session, asked, done)
    if done.problems:
        raise typer.Exit(Exit.BAD_INPUT)


def export(
    session: Session,
    form: Annotated[str, typer.Option("--format", help="csv, jsonl, opml, yaml or urls.")] = "csv",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="A new file.  [default: stdout]")
    ] = None,
    what: Annotated[
        str,
        typer.Option("--what", help="sources, watches (every known URL), changes, or signals (for `rank`)."),
    ] = "sources",
) -> None:
    """Give the sources to other tools.

    Of sources and watches `vedette import` reads every format back; `vedette rank` reads the signals (csv, jsonl);
    changes are written as csv or jsonl, with their diffs.  Cells that a spreadsheet would run are neutralised.
    """
    chosen = "jsonl" if session.given.as_json and form == "csv" else form
    done = export_sources(session.installation, what, chosen)
    if to is None:
        session.out.text(done.text)
        return
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(done.text)
    except FileExistsError:
        raise RefusedError(f"{to} exists; name another file") from None
    except OSError as error:
        raise InputError(f"cannot write {to}: {error.strerror}") from None
    session.out.note(f"{done.count} {what} written to {to}")


def _read(file: str) -> bytes:
    if file.startswith(REGISTRY):
        return read_registry(file.removeprefix(REGISTRY))
    if "://" in file:
        raise InputError(f"{file} is a URL; save it to a file first, or watch it with `vedette add`")
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(file, "rb") as source:
                data = source.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{file} is larger than {MOST_BYTES // 2**20} MiB; split it")
    return data


def _say_imported(session: Session, asked: ImportRequest, done: SourceImport) -> None:
    for word in done.unused:
        session.out.note(f"--allow {word}: nothing in the file asks for it")
    for entry in done.left_out:
        session.out.note(f"line {entry.line}: not carried over: {', '.join(entry.left_out)}")
    for problem in done.problems:
        text = f" ({problem.text})" if problem.text else ""
        session.out.say(f"line {problem.line}: not taken: {problem.why}{text}")
    session.out.done(_taken_words(done, is_stopped=asked.strict and bool(done.problems)))
    country = asked.name.removeprefix(REGISTRY)
    if asked.is_registry and country in PROFILES and session.loaded.config.profile != country:
        session.out.note(
            f"write `profile: {country}` into vedette.yaml: languages, zone and runs as its sources need them"
        )


def _taken_words(done: SourceImport, *, is_stopped: bool) -> str:
    good, saved, new = len(done.lines), len(done.saved), sum(done.saved)
    if is_stopped:
        return f"nothing imported: some lines are bad and --strict was given ({good} good)"
    if saved:
        return f"{count(saved, 'source')} taken from {done.form}: {new} new, {saved - new} known"
    return f"{count(good, 'source')} could be taken from {done.form}; nothing was written"
