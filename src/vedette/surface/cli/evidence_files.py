"""The verbs of `evidence` that read its files: verify, set-aside, cat, screenshot, export."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.evidence.verify import Report
from vedette.operations.arguments import a_moment
from vedette.operations.evidence import (
    RecordChoice,
    body_of,
    export_001,
    export_records,
    kept_evidence,
    kept_json,
    text_of,
)
from vedette.operations.maintenance import report_json, set_aside_damaged, stamp_evidence, verify_evidence
from vedette.operations.screenshots import find_screenshot, screenshot_json, screenshot_png
from vedette.report.plain import count, moment
from vedette.surface.cli.evidence import WhatArgument
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

_WHERE = {"seal": "seals", "stamp": "STAMPS"}  # what a problem without a segment is about; HEADS otherwise


def register(app: typer.Typer) -> None:
    verb(app, "verify", example="vedette evidence verify\nvedette evidence verify --quick --json")(verify)
    verb(app, "stamp", example="vedette evidence stamp")(stamp)
    verb(app, "set-aside", example="vedette evidence set-aside\nvedette evidence verify")(set_aside)
    verb(app, "cat", example=CAT)(cat)
    verb(app, "screenshot", example=SCREENSHOT)(screenshot)
    verb(app, "export", example=EXPORT)(export)


def verify(
    session: Session,
    quick: Annotated[
        bool, typer.Option("--quick", help="Rows, sizes and heads only; records are not read.")
    ] = False,
    tsa_ca: Annotated[
        Path | None,
        typer.Option(
            "--tsa-ca", metavar="FILE", help="CA of the time stamps, PEM.  [default: evidence.time_stamps_ca]"
        ),
    ] = None,
) -> None:
    """Read all evidence again: finds any altered byte, and any edited, deleted or added row that evidence stands on.

    Time stamps of HEADS are checked offline: what was stamped, and by whom where the authority's CA is given.
    Tells expired from altered.  Exit 0 when all is whole, 6 when not.
    """
    with session.out.progress("reading evidence") as progress:
        report = verify_evidence(session.installation, quick=quick, progress=progress, ca=tsa_ca)
    if session.given.as_json:
        session.out.document(report_json(report))
    else:
        _say_report(session, report)
    if not report.is_whole:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def set_aside(session: Session) -> None:
    """Go on without archive files that are not as they were committed.

    Those that a start refuses, and those in which `evidence verify` finds altered records.  The better way is to
    restore archive and database from one backup (`vedette restore`).  This closes the damaged files as they are:
    nothing is deleted, `evidence verify` goes on naming what is lost, and lost pages are kept anew at their next look.
    """
    with session.out.progress("reading evidence") as progress:
        found = set_aside_damaged(session.installation, progress=progress)
    if session.given.as_json:
        aside = [{"segment": one.segment, "damage": one.words} for one in found.damage]
        more = {
            "payloads": found.payloads,
            "set_aside_before": list(found.before),
            "other_problems": found.others,
        }
        session.out.document({"set_aside": aside, **more})
        return
    for one in found.damage:
        session.out.say(f"{one.segment}: {one.words}")
    if found.damage:
        session.out.say(f"{len(found.damage)} set aside; {_lost(found.payloads)} kept anew at the next look")
    if found.before:
        session.out.say(f"set aside before, and still damaged: {', '.join(found.before)}")
    if found.others:
        session.out.say(
            f"{count(found.others, 'problem')} in rows of the database or in HEADS cannot be set aside: "
            "restore archive and database from one backup (`vedette restore BACKUP --replace`)"
        )
    if not (found.damage or found.before or found.others):
        session.out.say("nothing is damaged")


def stamp(session: Session) -> None:
    """Have HEADS stamped now by the authority of `evidence.time_stamps`.  A service does it daily."""
    made = stamp_evidence(session.installation)
    if session.given.as_json:
        session.out.document({"stamped": made})
    else:
        session.out.say(
            f"{count(made, 'time stamp')} kept in STAMPS" if made else "HEADS has nothing new to stamp"
        )


def _say_report(session: Session, report: Report) -> None:
    for problem in report.problems:
        place = problem.row or f"{problem.segment or _WHERE.get(problem.kind, 'HEADS')}"
        place += "" if problem.seq is None else f" #{problem.seq}"
        session.out.say(f"{problem.kind.value:<11}{place}: {problem.words}")
    hidden = sum(report.found.values()) - len(report.problems)
    if hidden > 0:
        session.out.say(f"... and {hidden} more")
    if report.sealed_late:
        session.out.note(
            f"{count(report.sealed_late, 'row')} older than the seals: "
            "what was done to them before the upgrade is unknown"
        )
    if report.stamped_until is not None:
        session.out.say(
            f"{count(report.stamps, 'time stamp')}; HEADS was seen by {moment(report.stamped_until)}"
        )
    if report.note:
        session.out.note(report.note)
    segments, visits = count(report.segments, "segment"), count(report.visits, "visit")
    read = f"{segments} ({report.expired} expired), {visits}, {count(report.records, 'record')}"
    found = sum(report.found.values())
    session.out.say(f"{read}: {count(found, 'problem') if found else 'all whole'}")
    if found:
        session.out.note('what to do: docs/how-to/verify-evidence.md, "After a failed verify"')


CAT = (
    "vedette evidence cat https://example.org/rules --text\n"
    "vedette evidence cat https://example.org/rules --at 2026-11-15 > rules.html"
)
SCREENSHOT = (
    "vedette evidence screenshot https://example.org/rules > rules.png\n"
    "vedette evidence screenshot https://example.org/rules --at 2026-11-15 > before.png"
)
EXPORT = (
    "vedette evidence export https://example.org/rules --to rules.warc.gz\n"
    "vedette evidence export --change 12 --to change-12.wacz\n"
    "vedette evidence export --as-001 --to evidence.db"
)


def _lost(pages: int) -> str:
    return f"{count(pages, 'lost page')} {'is' if pages == 1 else 'are'}"


def cat(
    session: Session,
    what: WhatArgument,
    at: Annotated[str | None, typer.Option("--at", help="As it was then: 24h (ago), 2026-11-15, ...")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="The bytes as they came, decoded; the default of a pipe.")
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="What it says, line by line.")] = False,
) -> None:
    """Print what was kept: the page of a URL as it was seen last, or at a time, or one piece of evidence.

    A terminal shows control characters and does not obey them (`\\x1b`), unless --raw; a pipe gets them as they are.

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
    elif sys.stdout.isatty() and not raw:
        session.out.text(body_of(loaded, one).decode("utf-8", "replace") + "\n")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(body_of(loaded, one))
        sys.stdout.buffer.flush()


def screenshot(
    session: Session,
    what: WhatArgument,
    at: Annotated[str | None, typer.Option("--at", help="As it was then: 24h (ago), 2026-11-15, ...")] = None,
) -> None:
    """The picture of a page as the browser showed it (PNG), of a source with `screenshot: true`.

    With --json: its size and where it lies, without the picture.
    """
    when = a_moment(at, "--at", session.now())
    if session.given.as_json:
        session.out.document(screenshot_json(*find_screenshot(session.installation, what, at=when)))
        return
    if sys.stdout.isatty():
        raise InputError("a terminal shows no picture; write it into a file: `> page.png`")
    png = screenshot_png(session.installation, what, at=when)
    sys.stdout.flush()
    sys.stdout.buffer.write(png)
    sys.stdout.buffer.flush()


def export(
    session: Session,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="A new file, NAME.warc.gz or NAME.wacz.")],
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[URL|ID|DIGEST]", help="A URL, or a piece of evidence; with --as-001 all by default."
        ),
    ] = None,
    change: Annotated[
        str | None, typer.Option("--change", metavar="N", help="The two states of this change.")
    ] = None,
    since: Annotated[str | None, typer.Option("--since", help="24h, 7d, 2026-11-15, ...")] = None,
    as_001: Annotated[
        bool,
        typer.Option("--as-001", help="A SQLite file with the table Evidence of 001, rawContent filled."),
    ] = False,
) -> None:
    """Copy records into a file that stands by itself, or as the rows of 001.

    NAME.warc.gz is read by any WARC tool; NAME.wacz is opened by viewers of archived pages (ReplayWeb.page), with an
    index and the pages by name.
    """
    start = a_moment(since, "--since", session.now())
    if as_001:
        _export_001(session, to, what, since=start)
        return
    if what is not None and change is not None:
        raise InputError("--change: a change has its own two states; leave out the URL or the piece")
    done = export_records(session.installation, RecordChoice(what=what, change=change, since=start), to)
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
