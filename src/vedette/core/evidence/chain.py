"""What makes evidence one unbroken chain: each visit is hashed together with everything before it.

A segment opens with a link over its name and its first record, on top of the head that the segment before it
ended with; every visit adds one link.  Whoever holds a head can tell whether anything under it was touched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from typing import Any

from vedette.contracts.watch import ChainRow, RecordKind, Segment, VisitFacts

VERSION = "vedette-chain-1"  # part of every link: another encoding is another version, never a silent change
GENESIS = sha256(VERSION.encode()).digest()  # what the first segment of a retention class stands on

Spelling = Mapping[type, Callable[[Any], str]]  # how JSON spells values of exactly these types
NUMBERS: Spelling = {int: int.__repr__, type(None): lambda _: "null"}
_ASCII: Spelling = {**NUMBERS, str: encode_basestring_ascii}
_JSON = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_RECORDED = (RecordKind.RESPONSE, RecordKind.NOT_MODIFIED, RecordKind.IDENTICAL)


def canonical_facts(
    facts: VisitFacts, kind: RecordKind, offset: int | None, length: int | None, record_digest: bytes | None
) -> bytes:
    """The one spelling of a visit: a JSON array of plain values, in this order.

    Times are whole microseconds since 1970 in UTC, digests lower-case hex; null is what is absent.
    """
    return _spell(
        "visit",
        facts.visit,
        facts.watch,
        facts.url,
        microseconds(facts.at),
        str(facts.outcome),
        facts.status,
        _hex(facts.digest),
        str(kind),
        offset,
        length,
        _hex(record_digest),
    )


def link(previous: bytes, facts: bytes) -> bytes:
    """The head after `facts`.  `previous` is always 32 bytes, so no two inputs spell the same."""
    return sha256(previous + facts).digest()


def opening(previous: bytes, name: str, warcinfo_digest: bytes) -> bytes:
    """The head of a segment that holds no visit yet: it stands on the segment before it."""
    return link(previous, _spell("segment", name, _hex(warcinfo_digest)))


def anchor(event: str, segment: Segment, at: datetime) -> bytes:
    """How far a segment had come, as one line of plain text: `sha256sum` is enough to check it by hand."""
    state = f"{segment.name} {segment.count} {segment.size} {segment.head.hex()}"
    return f"{stamp(at)} {event} {state}".encode("ascii")


def tombstone(segment: Segment, at: datetime) -> bytes:
    """What stays of a segment that retention dropped."""
    return anchor("expired", segment, at)


def link_kind(previous: bytes, row: ChainRow) -> RecordKind | None:
    """The kind of record under which the row continues the chain from `previous`; None: under no kind.

    A row does not carry its kind.  The link does, so an edited row matches none.
    """
    written = row.written
    kinds = (RecordKind.NONE,) if written.offset is None else _RECORDED
    for kind in kinds:
        facts = canonical_facts(row.facts, kind, written.offset, written.length, written.record_digest)
        if link(previous, facts) == written.chain:
            return kind
    return None


def microseconds(at: datetime) -> int:
    """Exact, and the same for every spelling of one moment.  A naive time is a bug and raises."""
    return (at - _EPOCH) // _MICROSECOND


def stamp(at: datetime) -> str:
    """UTC with microseconds, always 27 characters.  A naive time is a bug and raises."""
    if at.tzinfo is not UTC:  # not astimezone: that would take a naive time for local time and say nothing
        at = _EPOCH + (at - _EPOCH)
    return f"{at.isoformat(timespec='microseconds')[:26]}Z"


def spelled(values: Iterable[Any], spelling: Spelling) -> str:
    """A JSON array, as the standard library writes it, at a fifth of its price.  KeyError: of another type."""
    return f"[{','.join([spelling[type(value)](value) for value in values])}]"


def _spell(*values: str | int | None) -> bytes:
    said = (VERSION, *values)
    try:
        return spelled(said, _ASCII).encode("ascii")
    except KeyError:  # a subclass, as a test may have it
        return _JSON.encode(said).encode("ascii")


def _hex(digest: bytes | None) -> str | None:
    return None if digest is None else digest.hex()
