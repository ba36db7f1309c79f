"""What is kept as evidence: verify, show, export, heads, set-aside."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.surface.cli.asking import known_watch
from vedette.surface.cli.exits import Exit
from vedette.surface.cli.session import Session, a_moment
from vedette.surface.cli.verbs import LimitOption, group, verb

if TYPE_CHECKING:
    from vedette.evidence.findings import Problem, Report
    from vedette.store.queries import Queries
    from vedette.store.views import ArtifactView, EvidenceView

WhatArgument = Annotated[str, typer.Argument(metavar="URL|ID|DIGEST", help="A URL, or a piece of evidence.")]
_WHERE = {"seal": "seals"}  # what a problem without a segment is about; HEADS otherwise
_DIGEST = re.compile(r"^(?:sha256:)?([0-9a-fA-F]{64})$")


def register(app: typer.Typer) -> None:
    evidence = group("evidence", example="vedette evidence verify")(evidence_)
    verb(evidence, "verify", example="vedette evidence verify\nvedette evidence verify --quick --json")(
        verify
    )
    verb(evidence, "show", example="vedette evidence show https://example.org/rules")(show)
    verb(evidence, "export", example="vedette evidence export https://example.org/rules --to rules.warc.gz")(
        export
    )
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
    """Read all evidence again and check it against the chain: finds any altered byte, edited row or lost record.

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
        found = _evidence(queries, what, limit)
        made = queries.artifacts([one.id for one in found])
    if session.given.as_json:
        documents = [_evidence_json(one) | _artifacts_json(made.get(one.id, [])) for one in found]
        session.out.document({"evidence": documents})
        return
    from vedette.report.plain import moment
    from vedette.report.texts import artifact_words

    heads_ = ("ID", "AT", "TYPE", "BYTES", "SHA-256", "SEGMENT", "OFFSET", "TEXT")
    rows = (
        (
            str(one.id),
            moment(one.at),
            one.content_class,
            str(one.size),
            one.digest.hex(),
            one.segment,
            str(one.offset),
            ", ".join(artifact_words(view.artifact) for view in made.get(one.id, [])),
        )
        for one in found
    )
    session.out.table(heads_, rows, empty=f"no evidence of {what}")


def export(
    session: Session,
    what: WhatArgument,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="A new file, NAME.warc.gz.")],
    since: Annotated[str | None, typer.Option("--since", help="24h, 7d, 2026-11-15, ...")] = None,
) -> None:
    """Copy records as a WARC file that stands by itself and any WARC tool reads."""
    from vedette import __version__
    from vedette.contracts.evidence import Located
    from vedette.evidence.export import export as write
    from vedette.store.migrate import ARCHIVE

    now = session.now()
    start = a_moment(since, "--since", now)
    with session.queries() as queries:
        found = [one for one in _evidence(queries, what, 0) if start is None or one.at >= start]
    if not found:
        raise VedetteError(f"no evidence of {what}{' since then' if start else ''}")
    places = dict.fromkeys((one.segment, one.offset, one.length) for one in reversed(found))
    located = [Located(segment=segment, offset=at, length=length) for segment, at, length in places]
    done = write(session.loaded.data / ARCHIVE, located, to, software=f"vedette/{__version__}", now=now)
    session.out.say(f"{done.records} records, {done.size} bytes in {done.path}")
    if session.given.as_json:
        session.out.document({"file": str(done.path), "records": done.records, "bytes": done.size})


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
    """Go on without archive files that a start refuses because they are not as they were committed.

    The better way is to restore archive and database from one backup.  This closes the damaged files as they are:
    nothing is deleted, `evidence verify` goes on naming what is lost, and lost pages are kept anew at their next look.
    """
    from vedette.upkeep import set_aside_damaged

    session.store()
    found = set_aside_damaged(session.loaded, now=session.now())
    if session.given.as_json:
        session.out.document({"set_aside": [{"segment": one.segment, "damage": one.words} for one in found]})
        return
    for one in found:
        session.out.say(f"{one.segment}: {one.words}")
    session.out.say(f"{len(found)} set aside" if found else "nothing is damaged")


def _evidence(queries: Queries, what: str, most: int) -> list[EvidenceView]:
    from vedette.contracts.words import EvidenceId

    digest = _DIGEST.match(what)
    if digest:
        found = queries.evidence_by_digest(bytes.fromhex(digest[1]))
    elif what.isascii() and what.isdigit():
        one = queries.evidence_by_id(EvidenceId(int(what))) if int(what) < 2**63 else None
        found = [] if one is None else [one]
    elif "://" in what or "." in what:
        return queries.evidence(known_watch(queries, what).id, most=most)
    else:
        raise InputError(f"{what!r} is neither a URL, a number nor a sha256")
    if not found:
        raise VedetteError(f"there is no evidence {what}")
    return found


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


def _problem_json(problem: Problem) -> dict[str, object]:
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
            f"{report.sealed_late} rows are older than their seals: what was done to them before the upgrade is unknown"
        )
    read = f"{report.segments} segments ({report.expired} expired), {report.visits} visits, {report.records} records"
    count = sum(report.found.values())
    session.out.say(f"{read}: {'all whole' if not count else f'{count} problems'}")
    if count:
        session.out.note('what to do: docs/how-to/verify-evidence.md, "After a failed verify"')
