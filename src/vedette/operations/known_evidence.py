"""The pieces of evidence that somebody means by a URL, a number or a digest."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import datetime

from vedette.config.model import Loaded
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.words import EvidenceId, WatchId
from vedette.operations.installation import Installation
from vedette.operations.known_watch import known_watch
from vedette.store.connection import connect
from vedette.store.migrate import DATABASE
from vedette.store.queries import Queries
from vedette.store.rows import to_ms
from vedette.store.views import EvidenceView

LEAST = 6  # digits of a sha256 that are taken for it
AMBIGUOUS = 3  # contents that an error names
_DIGEST = re.compile(r"^(?:sha256:)?([0-9a-fA-F]{64})$")
_SEEN = (
    "SELECT evidence_id FROM visits WHERE watch_id = ? AND at <= ? AND evidence_id IS NOT NULL "
    "AND outcome IN ('ok', 'not_modified', 'parse_failed', 'tool_missing') ORDER BY at DESC LIMIT 1"
)
_HEX = re.compile(rf"^(?:sha256:)?[0-9a-fA-F]{{{LEAST},64}}$")


def is_piece(what: str) -> bool:
    """Does it name one piece of evidence, and not a URL?"""
    return "://" not in what and bool(_DIGEST.match(what) or what.isdigit() or "." not in what)


def find_evidence(installation: Installation, queries: Queries, what: str, most: int) -> list[EvidenceView]:
    """The pieces of evidence of a URL, newest first, or the one with this number or digest."""
    digest = _DIGEST.match(what)
    if digest:
        found = queries.evidence_by_digest(bytes.fromhex(digest[1]))
    elif what.isascii() and what.isdigit():
        one = queries.evidence_by_id(EvidenceId(int(what))) if int(what) < 2**63 else None
        found = [] if one is None else [one]
    elif "://" in what or "." in what:
        return queries.evidence(known_watch(installation, queries, what).id, most=most)
    else:
        found = []
    if not found and _HEX.match(what):
        found = queries.evidence_by_digest(_whole_digest(queries, what.removeprefix("sha256:").lower()))
    elif not found and not what.isdigit():
        raise InputError(f"{what!r} is neither a URL, a number nor a sha256 (at least {LEAST} digits of it)")
    if not found:
        raise VedetteError(f"there is no evidence {what}")
    return found


def shown_at(loaded: Loaded, watch: WatchId, at: datetime) -> EvidenceId | None:
    """What the last look before that moment showed; None: nothing was seen by then, or it expired."""
    with closing(connect(loaded.data / DATABASE, read_only=True)) as db:
        row = db.execute(_SEEN, (watch, to_ms(at))).fetchone()
    return None if row is None else EvidenceId(row[0])


def _whole_digest(queries: Queries, digits: str) -> bytes:
    """The one sha256 that begins so."""
    found = queries.digests(digits, most=AMBIGUOUS + 1)
    if len(found) > 1:
        names = ", ".join(one.hex() for one in found[:AMBIGUOUS])
        many = str(len(found)) if len(found) <= AMBIGUOUS else f"more than {AMBIGUOUS}"
        raise InputError(f"{many} contents begin with {digits}; write more digits: {names}")
    return found[0] if found else b""
