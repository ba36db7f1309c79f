"""Evidence handed out: `evidence cat` and `evidence export`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.operations.arguments import a_moment
from vedette.operations.known_watch import known_watch
from vedette.report.plain import count
from vedette.surface.cli.session import Session

if TYPE_CHECKING:
    from datetime import datetime

    from vedette.store.queries import Queries
    from vedette.store.views import EvidenceView

WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL|ID|DIGEST", help="A URL, or a piece of evidence: its number, or the first digits."
    ),
]
CAT = (
    "vedette evidence cat https://example.org/rules --text\n"
    "vedette evidence cat https://example.org/rules --at 2026-11-15 > rules.html"
)
EXPORT = (
    "vedette evidence export https://example.org/rules --to rules.warc.gz\n"
    "vedette evidence export --as-001 --to evidence.db"
)
LEAST = 6  # digits of a sha256 that are taken for it
AMBIGUOUS = 3  # contents that an error names
_DIGEST = re.compile(r"^(?:sha256:)?([0-9a-fA-F]{64})$")
_HEX = re.compile(rf"^(?:sha256:)?[0-9a-fA-F]{{{LEAST},64}}$")


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
    from vedette.operations.evidence import body_of, raw_content, text_of

    if raw and text:
        raise InputError("--raw and --text exclude each other")
    one = _one(session, what, a_moment(at, "--at", session.now()))
    if session.given.as_json:
        content, encoding = raw_content(body_of(session.loaded, one), one.content_class, one.content_type)
        body = {"evidence": one.id, "url": one.url, "at": one.at, "digest": one.digest}
        said = {"contentType": one.content_type, "contentClass": one.content_class, "status": one.status}
        words = {"text": text_of(session.loaded, one)} if text else {}
        session.out.document({**body, **said, "rawContent": content, "rawContentEncoding": encoding, **words})
    elif text:
        session.out.text(text_of(session.loaded, one) + "\n")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(body_of(session.loaded, one))
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
        _export_001(session, to, what, start)
    elif what is None:
        raise InputError("name a URL, a number or a sha256; only --as-001 takes all evidence")
    else:
        _export_warc(session, to, what, start)


def find_evidence(session: Session, queries: Queries, what: str, most: int) -> list[EvidenceView]:
    """The pieces of evidence of a URL, newest first, or the one with this number or digest."""
    from vedette.contracts.words import EvidenceId

    digest = _DIGEST.match(what)
    if digest:
        found = queries.evidence_by_digest(bytes.fromhex(digest[1]))
    elif what.isascii() and what.isdigit():
        one = queries.evidence_by_id(EvidenceId(int(what))) if int(what) < 2**63 else None
        found = [] if one is None else [one]
    elif "://" in what or "." in what:
        return queries.evidence(known_watch(session.installation, queries, what).id, most=most)
    else:
        found = []
    if not found and _HEX.match(what):
        found = queries.evidence_by_digest(_whole_digest(queries, what.removeprefix("sha256:").lower()))
    elif not found and not what.isdigit():
        raise InputError(f"{what!r} is neither a URL, a number nor a sha256 (at least {LEAST} digits of it)")
    if not found:
        raise VedetteError(f"there is no evidence {what}")
    return found


def _whole_digest(queries: Queries, digits: str) -> bytes:
    """The one sha256 that begins so."""
    found = queries.digests(digits, most=AMBIGUOUS + 1)
    if len(found) > 1:
        names = ", ".join(one.hex() for one in found[:AMBIGUOUS])
        many = str(len(found)) if len(found) <= AMBIGUOUS else f"more than {AMBIGUOUS}"
        raise InputError(f"{many} contents begin with {digits}; write more digits: {names}")
    return found[0] if found else b""


def _one(session: Session, what: str, at: datetime | None) -> EvidenceView:
    from vedette.operations.evidence import shown_at

    with session.queries() as queries:
        if "://" not in what and (_DIGEST.match(what) or what.isdigit() or "." not in what):
            if at is not None:
                raise InputError("--at goes with a URL; a piece of evidence is of one moment")
            return find_evidence(session, queries, what, 1)[0]
        watch = known_watch(session.installation, queries, what)
        number = shown_at(session.loaded, watch.id, at or session.now())
        found = None if number is None else queries.evidence_by_id(number)
    if found is None:
        raise VedetteError(f"nothing is kept of {watch.url}{' of that time' if at else ''}")
    return found


def _export_warc(session: Session, to: Path, what: str, start: datetime | None) -> None:
    from vedette import __version__
    from vedette.contracts.evidence import Located
    from vedette.evidence.export import export as write
    from vedette.store.migrate import ARCHIVE

    with session.queries() as queries:
        found = [one for one in find_evidence(session, queries, what, 0) if start is None or one.at >= start]
    if not found:
        raise VedetteError(f"no evidence of {what}{' since then' if start else ''}")
    places = dict.fromkeys((one.segment, one.offset, one.length) for one in reversed(found))
    located = [Located(segment=segment, offset=at, length=length) for segment, at, length in places]
    software = f"vedette/{__version__}"
    done = write(session.loaded.data / ARCHIVE, located, to, software=software, now=session.now())
    session.out.say(f"{count(done.records, 'record')}, {count(done.size, 'byte')} in {done.path}")
    if session.given.as_json:
        session.out.document({"file": str(done.path), "records": done.records, "bytes": done.size})


def _export_001(session: Session, to: Path, what: str | None, start: datetime | None) -> None:
    from vedette.operations.evidence import export_001

    session.store()
    watch = None
    if what is not None:
        with session.queries() as queries:
            watch = known_watch(session.installation, queries, what).id
    with session.out.progress("evidence") as progress:
        done = export_001(session.loaded, to, since=start, watch=watch, progress=progress)
    lost = f"; {done.lost} without rawContent: their records cannot be read" if done.lost else ""
    session.out.say(f"{count(done.rows, 'row')} of Evidence in {done.path}{lost}")
    if session.given.as_json:
        session.out.document({"file": str(done.path), "rows": done.rows, "lost": done.lost})
