"""What is kept as evidence: verify, show, export, heads, set-aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vedette.report.plain import count
from vedette.surface.cli.evidence_copies import CAT, EXPORT, WhatArgument, cat, export, find_evidence
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, group, verb

if TYPE_CHECKING:
    from vedette.evidence.verify_findings import EvidenceProblem, Report
    from vedette.store.views import ArtifactView, EvidenceView

_WHERE = {"seal": "seals"}  # what a problem without a segment is about; HEADS otherwise


def register(app: typer.Typer) -> None:
    evidence = group("evidence", example="vedette evidence verify")(evidence_)
    verb(evidence, "verify", example="vedette evidence verify\nvedette evidence verify --quick --json")(
        verify
    )
    verb(evidence, "show", example="vedette evidence show https://example.org/rules")(show)
    verb(evidence, "cat", example=CAT)(cat)
    verb(evidence, "export", example=EXPORT)(export)
    verb(evidence, "heads", example="vedette evidence heads")(heads)
    verb(evidence, "set-aside", example="vedette evidence set-aside\nvedette evidence verify")(set_aside)
    app.add_typer(evidence)


def evidence_() -> None:
    """What was seen, kept so that any change to it is found."""


def verify(
    session: Session,
    quick: Annotated[
        bool, typer.Option("--quick", help="Rows, sizes and heads only; records are not read.")
    ] = False,
) -> None:
    """Read all evidence again: finds any altered byte, and any edited, deleted or added row that evidence stands on.

    Tells expired from altered.  Exit 0 when all is whole, 6 when not.
    """
    from vedette.evidence.verify import Claims
    from vedette.evidence.verify import verify as check
    from vedette.store.claims import claims_of
    from vedette.store.migrate import ARCHIVE

    with claims_of(session.store()) as store, session.out.progress("reading evidence") as progress:

        def read_claims() -> Claims:
            store.hold()
            return Claims(store.segments(), store.rows, store.blobs, store)

        report = check(session.loaded.data / ARCHIVE, read_claims, full=not quick, progress=progress)
    if session.given.as_json:
        session.out.document(_report_json(report))
    else:
        _say_report(session, report)
    if not report.is_whole:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def show(session: Session, what: WhatArgument, limit: LimitOption = 50) -> None:
    """The pieces of evidence of a URL, or one piece by its number or digest: where it lies and what it is."""
    with session.queries() as queries:
        found = find_evidence(session, queries, what, limit)
        made = queries.artifacts([one.id for one in found])
    if session.given.as_json:
        documents = [
            _evidence_json(one) | _artifacts_json(made.get(one.id, [])) | _act_json(session, one)
            for one in found
        ]
        session.out.document({"evidence": documents})
        return
    from vedette.report.plain import moment
    from vedette.report.texts import artifact_words

    heads_ = ("ID", "AT", "WHAT", "TYPE", "BYTES", "SHA-256", "SEGMENT", "OFFSET", "TEXT")
    rows = (
        (
            str(one.id),
            moment(one.at),
            one.standing if one.standing != "no_content" else f"{one.status} {one.outcome}",
            one.content_class,
            str(one.size),
            one.digest.hex(),
            one.segment,
            str(one.offset),
            ", ".join(artifact_words(view.artifact) for view in made.get(one.id, [])),
        )
        for one in found
    )
    least = ("OFFSET", "SEGMENT", "BYTES", "TYPE")
    session.out.table(heads_, rows, empty=f"no evidence of {what}", least=least)


def heads(session: Session) -> None:
    """How far each segment has come.  Kept elsewhere, a head proves that nothing before it was changed since."""
    with session.queries() as queries:
        found = queries.segments()
    if session.given.as_json:
        body = [
            {"segment": s.name, "state": s.state, "count": s.count, "size": s.size, "head": s.head}
            for s in found
        ]
        session.out.document({"heads": body})
        return
    rows = ((s.name, s.state, str(s.count), str(s.size), s.head.hex()) for s in found)
    session.out.table(("SEGMENT", "STATE", "VISITS", "BYTES", "HEAD"), rows, empty="no segment yet")


def set_aside(session: Session) -> None:
    """Go on without archive files that are not as they were committed.

    Those that a start refuses, and those in which `evidence verify` finds altered records.  The better way is to
    restore archive and database from one backup (`vedette restore`).  This closes the damaged files as they are:
    nothing is deleted, `evidence verify` goes on naming what is lost, and lost pages are kept anew at their next look.
    """
    from vedette.operations.maintenance import set_aside_damaged

    session.store()
    with session.out.progress("reading evidence") as progress:
        found = set_aside_damaged(session.loaded, now=session.now(), progress=progress)
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


def _act_json(session: Session, one: EvidenceView) -> dict[str, object]:
    """What this state says of an act of the gazette."""
    from vedette.operations.acts import act_metadata
    from vedette.report.explanation import act_json

    said = act_metadata(session.loaded, one)
    return {} if said is None else {"act": act_json(said)}


def _evidence_json(one: EvidenceView) -> dict[str, object]:
    return {
        "evidence": one.id,
        "url": one.url,
        "at": one.at,
        "digest": one.digest,
        "content_class": one.content_class,
        "content_type": one.content_type,
        "size": one.size,
        "segment": one.segment,
        "offset": one.offset,
        "length": one.length,
        "standing": one.standing,
        "same_as": one.same_as,
        "outcome": one.outcome,
        "status": one.status,
    }


def _artifacts_json(made: list[ArtifactView]) -> dict[str, object]:
    """Evidence that no text was made of has no such key."""
    from vedette.report.texts import artifact_json

    return {"artifacts": [{**artifact_json(view.artifact), "at": view.at} for view in made]} if made else {}


def _report_json(report: Report) -> dict[str, object]:
    return {
        "whole": report.is_whole,
        "segments": report.segments,
        "expired": report.expired,
        "visits": report.visits,
        "records": report.records,
        "bytes_read": report.bytes_read,
        "sealed_late": report.sealed_late,
        "problems_found": sum(report.found.values()),
        "problems": [_problem_json(problem) for problem in report.problems],
    }


def _problem_json(problem: EvidenceProblem) -> dict[str, object]:
    table, _, key = problem.row.partition(" ")
    if table == "changes":
        return {"kind": "change", "change": int(key), "problem": problem.words}
    body: dict[str, object] = {"kind": problem.kind.value, "segment": problem.segment, "seq": problem.seq}
    return body | ({"row": problem.row} if problem.row else {}) | {"problem": problem.words}


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
