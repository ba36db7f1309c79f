"""Evidence checked: `evidence verify` and `evidence set-aside`."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.evidence.verify import Report
from vedette.operations.maintenance import report_json, set_aside_damaged, verify_evidence
from vedette.report.plain import count
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

_WHERE = {"seal": "seals"}  # what a problem without a segment is about; HEADS otherwise


def register(app: typer.Typer) -> None:
    verb(app, "verify", example="vedette evidence verify\nvedette evidence verify --quick --json")(verify)
    verb(app, "set-aside", example="vedette evidence set-aside\nvedette evidence verify")(set_aside)


def verify(
    session: Session,
    quick: Annotated[
        bool, typer.Option("--quick", help="Rows, sizes and heads only; records are not read.")
    ] = False,
) -> None:
    """Read all evidence again: finds any altered byte, and any edited, deleted or added row that evidence stands on.

    Tells expired from altered.  Exit 0 when all is whole, 6 when not.
    """
    with session.out.progress("reading evidence") as progress:
        report = verify_evidence(session.installation, quick=quick, progress=progress)
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
        session.out.say(
            f"{len(found.damage)} set aside; {found.payloads} lost pages are kept anew at their next look"
        )
    if found.before:
        session.out.say(f"set aside before, and still damaged: {', '.join(found.before)}")
    if found.others:
        session.out.say(
            f"{count(found.others, 'problem')} in rows of the database or in HEADS cannot be set aside: "
            "restore archive and database from one backup (`vedette restore BACKUP --replace`)"
        )
    if not (found.damage or found.before or found.others):
        session.out.say("nothing is damaged")


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
    segments, visits = count(report.segments, "segment"), count(report.visits, "visit")
    read = f"{segments} ({report.expired} expired), {visits}, {count(report.records, 'record')}"
    found = sum(report.found.values())
    session.out.say(f"{read}: {count(found, 'problem') if found else 'all whole'}")
    if found:
        session.out.note('what to do: docs/how-to/verify-evidence.md, "After a failed verify"')
