"""What is kept as evidence: the group, `evidence show` and `evidence heads`."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.evidence_list import (
    ListedEvidence,
    archive_heads,
    evidence_json,
    head_json,
    list_evidence,
)
from vedette.report.plain import moment
from vedette.report.verdicts import artifact_words
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, group, verb

WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL|ID|DIGEST", help="A URL, or a piece of evidence: its number, or the first digits."
    ),
]
HOMES = {
    "verify": "evidence_files",
    "show": "",
    "cat": "evidence_files",
    "screenshot": "evidence_files",
    "export": "evidence_files",
    "heads": "",
    "set-aside": "evidence_files",
    "stamp": "evidence_files",
}


def register(app: typer.Typer) -> None:
    evidence = group("evidence", example="vedette evidence verify", homes=HOMES)(evidence_)
    verb(evidence, "show", example="vedette evidence show https://example.org/rules")(show)
    verb(evidence, "heads", example="vedette evidence heads")(heads)
    app.add_typer(evidence)


def evidence_() -> None:
    """What was seen, kept so that any change to it is found."""


def show(session: Session, what: WhatArgument, limit: LimitOption = 50) -> None:
    """The pieces of evidence of a URL, or one piece by its number or digest: where it lies and what it is."""
    found = list_evidence(session.installation, what, most=limit, with_acts=session.given.as_json)
    if session.given.as_json:
        session.out.document({"evidence": [evidence_json(one) for one in found]})
        return
    heads_ = ("ID", "AT", "WHAT", "TYPE", "BYTES", "SHA-256", "SEGMENT", "OFFSET", "TEXT")
    least = ("OFFSET", "SEGMENT", "BYTES", "TYPE")
    session.out.table(heads_, map(_cells, found), empty=f"no evidence of {what}", least=least)


def heads(session: Session) -> None:
    """How far each segment has come.  Kept elsewhere, a head proves that nothing before it was changed since."""
    found = archive_heads(session.installation)
    if session.given.as_json:
        session.out.document({"heads": [head_json(one) for one in found]})
        return
    rows = ((s.name, s.state, str(s.count), str(s.size), s.head.hex()) for s in found)
    session.out.table(("SEGMENT", "STATE", "VISITS", "BYTES", "HEAD"), rows, empty="no segment yet")


def _cells(one: ListedEvidence) -> tuple[str, ...]:
    view = one.view
    return (
        str(view.id),
        moment(view.at),
        view.standing if view.standing != "no_content" else f"{view.status} {view.outcome}",
        view.content_class,
        str(view.size),
        view.digest.hex(),
        view.segment,
        str(view.offset),
        ", ".join(artifact_words(made.artifact) for made in one.texts),
    )
