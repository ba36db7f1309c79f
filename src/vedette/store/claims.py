"""What the store says about evidence, for `verify`: one consistent reading that no edited row can upset.

Rows are taken as they lie in the file.  A value of a kind that we never write makes the row unreadable, which is a
finding, not a failure.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vedette.contracts.errors import RESTORE, StoreError
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import ChainRow, Located, Segment, VisitFacts, WrittenRecord
from vedette.contracts.words import Outcome, VisitId, WatchId
from vedette.core.evidence import seals
from vedette.core.evidence.seal_check import compare, last_seals
from vedette.core.evidence.seals import COVERED, UPGRADED, Covered
from vedette.core.evidence.segments import SegmentName
from vedette.store.connection import StorePlace, connect
from vedette.store.rows import from_ms
from vedette.store.seal_rows import columns_of

Marks = Mapping[int, Iterable[bytes]]  # heads that HEADS remembers, by the number of links they cover
Wrong = tuple[str, str]  # which row, what is wrong with it
_VISIT = (
    'id, watch_id, url, at, outcome, status, digest, segment, seq, "offset", length, record_digest, chain'
)
_NEVER = from_ms(0)


class StoreClaims:
    """Reads on one connection, in one transaction."""

    def __init__(self, db: SqlConnection) -> None:
        self._db = db

    def hold(self) -> None:
        """From here on every answer is of one moment, whatever is committed meanwhile."""
        self._db.execute("BEGIN")

    def segments(self) -> list[Segment]:
        """Those that can be read; the others are named by `row_problems`."""
        rows = self._db.execute("SELECT name, retention, day, size, count, head, state FROM segments")
        return [_segment(row) for row in rows if _is_segment(row)]

    def rows(self, segment: str) -> Iterator[ChainRow]:
        """The visits of one segment in the order in which they were chained."""
        query = f"SELECT {_VISIT} FROM visits WHERE segment = ? ORDER BY seq"
        return (_chain_row(row) for row in self._db.execute(query, (segment,)))

    def blobs(self, segment: str) -> Iterator[tuple[bytes, Located]]:
        """Digest and place of the payloads that lie in one segment, in the order of their places."""
        query = 'SELECT DISTINCT digest, "offset", length FROM evidence WHERE segment = ? ORDER BY "offset"'
        for digest, offset, length in self._db.execute(query, (segment,)):
            if isinstance(digest, bytes) and isinstance(offset, int) and isinstance(length, int):
                yield digest, Located(segment=segment, offset=offset, length=length)

    def seal_problems(self, marks: Marks) -> Iterator[str]:
        """What is wrong with the chain of seals itself."""
        before, count, remembered = seals.START, 0, dict(marks)
        for number, kind, entries, chain in self._links():
            count += 1
            if number != count:
                yield f"link {number} where link {count} should be"
                count = number
            if not seals.is_packed(entries) or not isinstance(chain, bytes):
                yield f"link {number} cannot be read"
            elif seals.link(before, number, str(kind), entries) != chain:
                yield f"link {number}, or the one before it, is not what was written"
            if any(head != chain for head in remembered.pop(number, ())):
                yield f"HEADS remembers another head of link {number}"
            before = chain if isinstance(chain, bytes) else b""
        if not count:
            yield "there are no seals: the table was emptied"
        for number in sorted(remembered):
            yield f"HEADS remembers {number} links, the table ends with {count}"

    def row_problems(self) -> Iterator[Wrong]:
        """Every covered row that was edited, deleted or added."""
        for covered in COVERED:
            entries = (entries for _, _, entries, _ in self._links() if seals.is_packed(entries))
            rows = self._covered(covered)
            for key, words in compare(covered, last_seals(entries, covered.tag), rows):
                yield f"{covered.table} {key}", words

    def upgraded(self) -> int:
        """How many rows were sealed when the store was upgraded, and not when they were written."""
        links = (entries for _, kind, entries, _ in self._links() if kind == UPGRADED)
        return sum(len(entries) // seals.SIZE for entries in links if seals.is_packed(entries))

    def _links(self) -> Iterator[tuple[int, Any, Any, Any]]:
        return iter(self._db.execute("SELECT number, kind, entries, chain FROM seals ORDER BY number"))

    def _covered(self, covered: Covered) -> Iterable[tuple[Any, ...]]:
        key = covered.columns[0]
        rows = self._db.execute(f'SELECT {columns_of(covered)} FROM "{covered.table}" ORDER BY "{key}"')
        is_numbered = key == "id" and covered.table != "sources"
        return rows if is_numbered else sorted(rows, key=lambda row: seals.key_of(row[0]))


@contextmanager
def claims_of(path: StorePlace) -> Iterator[StoreClaims]:
    db = connect(path, read_only=True)
    if isinstance(db, sqlite3.Connection):  # PostgreSQL has no text that is not UTF-8
        db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield StoreClaims(db)
    except sqlite3.DatabaseError as error:
        raise StoreError(f"cannot read {path}: {error}; {RESTORE}") from None
    finally:
        db.close()


def _is_segment(row: tuple[Any, ...]) -> bool:
    name, retention, day, size, count, head, state = row
    words = all(isinstance(value, str) for value in (name, retention, day, state))
    return words and isinstance(size, int) and isinstance(count, int) and isinstance(head, bytes)


def _segment(row: tuple[Any, ...]) -> Segment:
    name, retention, day, size, count, head, state = row
    return Segment(name=name, retention=retention, day=day, size=size, count=count, head=head, state=state)


def _chain_row(row: tuple[Any, ...]) -> ChainRow:
    """A row that holds something we never write fits no link: its chain is empty."""
    try:
        return _read(row)
    except (TypeError, ValueError, OverflowError):
        return _unreadable(row)


def _read(row: tuple[Any, ...]) -> ChainRow:
    number, watch, url, at, outcome, status, digest, segment, seq, offset, length, record, chain = row
    if not all(isinstance(value, int | None) for value in (number, watch, at, status, seq, offset, length)):
        raise TypeError("not a number")
    if not all(isinstance(value, bytes | None) for value in (digest, record)) or not isinstance(chain, bytes):
        raise TypeError("not bytes")
    if SegmentName.parse(segment) is None:
        raise ValueError(segment)
    facts = VisitFacts(
        visit=VisitId(number),
        watch=WatchId(watch),
        url=str(url),
        at=from_ms(at),
        outcome=Outcome(outcome),
        status=status,
        digest=digest,
    )
    return ChainRow(facts=facts, written=_written(row, offset, length, record, chain))


def _unreadable(row: tuple[Any, ...]) -> ChainRow:
    number, seq = (value if isinstance(value, int) else 0 for value in (row[0], row[8]))
    facts = VisitFacts(
        visit=VisitId(number),
        watch=WatchId(0),
        url="",
        at=_NEVER,
        outcome=Outcome.BUG,
        status=None,
        digest=None,
    )
    return ChainRow(facts=facts, written=_written((number, *row[1:8], seq), None, None, None, b""))


def _written(
    row: tuple[Any, ...], offset: int | None, length: int | None, record: bytes | None, chain: bytes
) -> WrittenRecord:
    return WrittenRecord(
        visit=VisitId(row[0]),
        segment=str(row[7]),
        seq=row[8],
        offset=offset,
        length=length,
        record_digest=record,
        chain=chain,
    )
