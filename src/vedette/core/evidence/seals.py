"""Which rows evidence stands on, and how each of them is sealed.

A seal is the sha256 of one row.  Every transaction that writes, changes or drops such rows appends one link: the
seals of those rows, chained to the link before.  So the last seal of a row says what the row must be now; a row
without a seal was added by someone else, and a seal without a row means that the row was deleted.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any

from vedette.core.evidence.chain import NUMBERS, Spelling, spelled

VERSION = "vedette-seals-1"  # part of every link: another encoding is another version
START = sha256(VERSION.encode()).digest()  # what the first link stands on
GONE = bytes(32)  # instead of a seal: the row was dropped, by gc or by the operator
BEGUN = "begun"  # the store was new
UPGRADED = "upgraded"  # rows of a store that had no seals yet: sealed as they were then
WRITTEN = "written"

_ENTRY = struct.Struct(">Bq32s")  # tag, key, seal
SIZE = _ENTRY.size  # of a packed entry
Entry = tuple[int, int, bytes]  # tag of the table, key of the row, seal
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Covered:
    """A table, and the columns of it that are sealed, its key first.  A tag never gets another list of columns."""

    tag: int
    table: str
    columns: tuple[str, ...]


COVERED = (
    Covered(
        1,
        "visits",
        (
            "id", "watch_id", "run_id", "at", "took_ms", "outcome", "url", "status", "changed", "digest",
            "evidence_id", "text_chars", "wire_bytes", "detail", "segment", "seq", "kind", "offset", "length",
            "record_digest", "chain", "audit_s",
        ),
    ),
    Covered(
        2,
        "evidence",
        (
            "id", "watch_id", "digest", "url", "at", "content_class", "content_type", "size", "segment", "offset",
            "length", "stored_by", "standing", "same_as", "source_id",
        ),
    ),
    Covered(
        3,
        "changes",
        (
            "id", "watch_id", "kind", "state", "before_visit", "after_visit", "before_evidence", "after_evidence",
            "observed_at", "decided_at", "layer", "similarity", "summary", "diff", "reasons", "seal",
        ),
    ),
    Covered(4, "ledger", ("id", "at", "watch_id", "visit_id", "run_id", "kind", "payload")),
    Covered(5, "segments", ("name", "retention", "day", "size", "count", "head", "state")),
    # What a source is; how it fares (failures, pauses, tallies) is state that every look moves.
    Covered(
        6,
        "sources",
        (
            "id", "name", "url", "lister", "options", "risk", "tier", "scrape_frequency_s", "retention", "fetch",
            "origin", "created_at",
        ),
    ),
)  # fmt: skip
BY_TABLE = {one.table: one for one in COVERED}


def row_seal(table: str, row: Row) -> bytes:
    """The seal of a row as the database gives it, in the order of the covered columns."""
    try:
        said = spelled((table, *row), _SPELLING)
    except KeyError:
        said = _SPELL([table, *row])
    return sha256(said.encode("utf-8", "surrogateescape")).digest()


def key_of(value: Any) -> int:
    """A number that stands for the key of a row: itself, or the first 63 bits of a text's sha256."""
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return value
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    return int.from_bytes(sha256(data).digest()[:8]) >> 1


def pack(entries: Iterable[Entry]) -> bytes:
    return b"".join([_ENTRY.pack(*entry) for entry in entries])


def link(before: bytes, number: int, kind: str, entries: bytes) -> bytes:
    """The head after this transaction."""
    said = json.dumps([VERSION, number, kind, sha256(entries).hexdigest()], separators=(",", ":"))
    return sha256(before + said.encode()).digest()


def is_packed(entries: object) -> bool:
    return isinstance(entries, bytes) and len(entries) % SIZE == 0


def _bytes(value: object) -> object:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise TypeError(f"{type(value).__name__} is no value of a row")


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise KeyError(value)
    return float.__repr__(value)


# The standard library's JSON: a seal must come out the same with every version of every library.
_SPELL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_bytes).encode
_SPELLING: Spelling = {
    **NUMBERS,
    str: encode_basestring,
    float: _float,
    bytes: lambda value: f'{{"hex":"{value.hex()}"}}',
}
