"""Is the evidence what it was?  Reads everything again and trusts nothing but hashes.

Five witnesses must agree: the files, the rows of the visits, the rows of the segments, the seals of all covered rows,
and HEADS.  What one of them lost or changed, another still knows.  One record is held at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import BinaryIO, Protocol

from vedette.contracts.watch import SEALS, ChainRow, Located, RecordKind, Segment
from vedette.core.evidence import chain
from vedette.core.evidence.segments import SegmentName, order
from vedette.evidence.files import ArchivePlace, files_of
from vedette.evidence.heads import Anchors
from vedette.evidence.read_records import (
    RECORD_LIMIT,
    RecordStart,
    UnreadableRecord,
    check_digests,
    check_for_others,
    read_member,
    read_record,
    read_start,
    read_visit,
    segment_path,
)
from vedette.evidence.time_stamps import check_stamps

# What `verify` has to say.

MAX_PROBLEMS = 1000  # listed; all are counted


class ProblemKind(StrEnum):
    ALTERED = "altered"  # the bytes are not the ones that were written
    UNREADABLE = "unreadable"  # the bytes are, but they are no whole record
    MISSING = "missing"  # a file, or part of it, is gone and did not expire
    STRANGE = "strange"  # bytes that no row accounts for
    ROW = "row"  # a row is not what was chained or sealed, or is gone, added or moved
    SEGMENT = "segment"  # the row of a segment does not fit its visits or its neighbours
    BLOB = "blob"  # a blob points to something else
    HEADS = "heads"  # HEADS was changed, or remembers something else
    SEAL = "seal"  # the chain of sealed rows was changed
    STAMP = "stamp"  # a time stamp is not of what HEADS says, or not of the authority


@dataclass(frozen=True, slots=True)
class EvidenceProblem:
    kind: ProblemKind
    segment: str
    seq: int | None  # None: the segment as a whole
    words: str
    row: str = ""  # table and key, of a row that is no visit of a segment


@dataclass(slots=True)
class Report:
    """What was looked at and what was wrong."""

    segments: int = 0
    expired: int = 0
    visits: int = 0
    records: int = 0
    bytes_read: int = 0
    bytes_decoded: int = 0
    bytes_uncommitted: int = 0  # after the end of an open segment: normal while running and after a crash
    stamps: int = 0  # time stamps of HEADS
    stamped_until: datetime | None = None  # what the newest good one proves
    note: str = ""
    sealed_late: int = 0  # rows that were sealed at an upgrade, and not when they were written
    problems: list[EvidenceProblem] = field(default_factory=list)
    found: Counter[ProblemKind] = field(default_factory=Counter)

    @property
    def is_whole(self) -> bool:
        return not self.found

    def add(self, kind: ProblemKind, segment: str, seq: int | None, words: str, row: str = "") -> None:
        self.found[kind] += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(EvidenceProblem(kind, segment, seq, words, row))


# Is the evidence what it was?  Reads everything again and trusts nothing but hashes.


@dataclass(frozen=True, slots=True)
class Claims:
    """What the store says, in one consistent reading: all segments, rows by `seq`, blobs by offset."""

    segments: Iterable[Segment]
    rows: Callable[[str], Iterable[ChainRow]]
    blobs: Callable[[str], Iterable[tuple[bytes, Located]]] | None = None  # digest of the body, its place
    seals: SealClaims | None = None


class SealClaims(Protocol):
    """What the store says of its sealed rows."""

    def seal_problems(self, marks: Mapping[int, Iterable[bytes]]) -> Iterable[str]: ...
    def row_problems(self) -> Iterable[tuple[str, str]]: ...
    def upgraded(self) -> int: ...


def verify(
    directory: ArchivePlace,
    read_claims: Callable[[], Claims],
    *,
    full: bool = True,
    progress: Callable[[int, int], None] | None = None,
    roots: bytes | None = None,
) -> Report:
    """Checks all evidence.  Without `full` the records are not read: rows, sizes, heads and HEADS only.

    The store is read after HEADS (let `read_claims` begin the snapshot): a running archive commits first and
    notes in HEADS afterwards, so what HEADS had, the store must have.
    `progress` is told the bytes done and the bytes in all, after each visit.  `roots`: PEM, of whom time stamps are
    believed.
    """
    report = Report()
    _check_stamps(directory, roots, report)
    anchors = Anchors(directory)
    claims = read_claims()
    segments = sorted(claims.segments, key=order)
    _check_heads(anchors, {segment.name for segment in segments}, report)
    if claims.seals is not None:
        _check_seals(claims.seals, anchors, report)
    done, total = 0, sum(segment.size for segment in segments)
    before: Segment | None = None
    for segment in segments:
        if before is not None and order(before)[:2] != order(segment)[:2]:
            before = None  # of another series
        check = _SegmentCheck(directory, segment, claims, anchors, report)
        for position in check.run(before, full):
            if progress is not None:
                progress(done + position, total)
        done += segment.size
        before = segment
    return report


def _check_stamps(directory: ArchivePlace, roots: bytes | None, report: Report) -> None:
    found = check_stamps(directory, roots)
    report.stamps, report.stamped_until, report.note = found.count, found.until, found.note
    for words in found.problems:
        report.add(ProblemKind.STAMP, "", None, words)


def _check_heads(anchors: Anchors, names: set[str], report: Report) -> None:
    for words in anchors.problems:
        report.add(ProblemKind.HEADS, "", None, words)
    for file in anchors.missing(names):
        report.add(ProblemKind.HEADS, "", None, f"{file} is missing or empty")
    for name in sorted(anchors.latest.keys() - names):
        if anchors.tombstone(name) is None:
            report.add(ProblemKind.SEGMENT, name, None, "HEADS has this segment, the database does not")


def _check_seals(claims: SealClaims, anchors: Anchors, report: Report) -> None:
    for words in claims.seal_problems(anchors.marks(SEALS)):
        report.add(ProblemKind.SEAL, "", None, words)
    for row, words in claims.row_problems():
        report.add(ProblemKind.ROW, "", None, words, row)
    report.sealed_late = claims.upgraded()


class _SegmentCheck:
    """One segment: its file, its rows, its blobs and its lines in HEADS, side by side."""

    def __init__(
        self, directory: ArchivePlace, segment: Segment, claims: Claims, anchors: Anchors, report: Report
    ) -> None:
        self._directory = directory
        self._segment = segment
        self._rows = claims.rows
        self._blobs = iter(claims.blobs(segment.name) if claims.blobs is not None else ())
        self._blob = next(self._blobs, None)
        self._anchors = anchors
        self._marks = anchors.marks(segment.name)
        self._report = report
        self._head: bytes | None = None  # of the chain so far; None: not known
        self._seq = 0
        self._position = 0  # the file is accounted for up to here

    def run(self, before: Segment | None, full: bool) -> Iterator[int]:
        """Checks everything; gives the position in the file after each visit."""
        self._report.segments += 1
        name = SegmentName.parse(self._segment.name)
        if name is None:
            self._add(ProblemKind.SEGMENT, "no name that we would give")
            return
        if (name.retention, name.day.isoformat()) != (self._segment.retention, self._segment.day):
            self._add(ProblemKind.SEGMENT, "class or day is not that of its name")
        try:
            file = files_of(self._directory).reader(segment_path(self._directory, self._segment.name))
        except FileNotFoundError:
            yield from self._run_without_file()
            return
        with file:
            self._check_size(file)
            self._check_start(before)
            file.seek(self._position)
            for row in self._rows(self._segment.name):
                self._visit(row, file if full else None)
                yield self._position
        self._check_end()
        if self._position != self._segment.size:
            missing = self._segment.size - self._position
            self._add(ProblemKind.STRANGE, f"no row accounts for the last {missing} committed bytes")

    def _run_without_file(self) -> Iterator[int]:
        """Expired, or missing?  The rows must hold either way; an expired segment may have lost them all."""
        if is_expired := self._has_expired():
            self._report.expired += 1
        openings = self._marks.pop(0, set())
        self._head = openings.pop() if len(openings) == 1 else None
        for row in self._rows(self._segment.name):
            self._visit(row, None)
            yield self._segment.size
        if self._seq or not is_expired:
            self._check_end()

    def _has_expired(self) -> bool:
        segment, stone = self._segment, self._anchors.tombstone(self._segment.name)
        if stone is None:
            said = (
                "is said to have expired, but HEADS has no tombstone"
                if segment.state == "expired"
                else "is gone"
            )
            self._add(ProblemKind.MISSING, f"the file {said}")
            return False
        if (stone.count, stone.size, stone.head) != (segment.count, segment.size, segment.head):
            self._add(ProblemKind.SEGMENT, "is not what its tombstone in HEADS says")
        return True

    def _check_size(self, file: BinaryIO) -> None:
        extra = file.seek(0, 2) - self._segment.size
        if extra < 0:
            self._add(ProblemKind.MISSING, f"the file is {-extra} bytes shorter than committed")
        elif extra and self._segment.state == "open":
            self._report.bytes_uncommitted += extra
        elif extra:
            self._add(ProblemKind.STRANGE, f"{extra} bytes after the end of a closed segment")

    def _check_start(self, before: Segment | None) -> None:
        try:
            start = read_start(self._directory, self._segment.name)
        except UnreadableRecord as error:
            self._add(ProblemKind.ALTERED, f"the first record: {error}")
            return
        self._position, self._head = start.length, start.head
        self._report.bytes_read += start.length
        self._check_start_for_others(start.length)
        if any(head != start.head for head in self._marks.pop(0, ())):
            self._add(ProblemKind.HEADS, "HEADS remembers another beginning of this file")
        if not self._continues(start, before):
            self._add(ProblemKind.SEGMENT, "does not stand on the segment before it")

    def _check_start_for_others(self, length: int) -> None:
        """The first record too: whoever cannot read it reads nothing of the file."""
        place = Located(segment=self._segment.name, offset=0, length=length)
        try:
            check_for_others(read_record(read_member(self._directory, place)))
        except UnreadableRecord as error:
            self._add(ProblemKind.UNREADABLE, f"the first record: {error}")

    def _continues(self, start: RecordStart, before: Segment | None) -> bool:
        if before is None:
            before = self._anchors.tombstone(start.previous)  # a row of a segment that expired may be gone
        if before is None:
            return start.previous == "" and start.previous_head == chain.GENESIS
        return start.previous == before.name and start.previous_head == before.head

    def _visit(self, row: ChainRow, file: BinaryIO | None) -> None:
        self._report.visits += 1
        self._seq += 1
        written = row.written
        if written.seq != self._seq:
            self._add(ProblemKind.ROW, f"row {written.seq} where row {self._seq} should be", written.seq)
            self._seq = written.seq
        if written.segment != self._segment.name or written.visit != row.facts.visit:
            self._add(ProblemKind.ROW, "the row is of another segment or visit", written.seq)
        kind = None if self._head is None else chain.link_kind(self._head, row)
        if kind is None and self._head is not None:
            self._add(ProblemKind.ROW, "the row, or the one before it, is not what was chained", written.seq)
        self._head = written.chain
        if any(head != written.chain for head in self._marks.pop(self._seq, ())):
            self._add(ProblemKind.HEADS, "HEADS remembers another head here", written.seq)
        if written.offset is not None and written.length is not None:
            self._check_place(written.offset, written.length, written.seq)
            self._check_blobs(row, kind)
            if file is not None:
                self._check_record(row, kind, file)

    def _check_place(self, offset: int, length: int, seq: int) -> None:
        if offset != self._position and self._position:
            words = "bytes before it that no row accounts for" if offset > self._position else "overlaps"
            kind = ProblemKind.STRANGE if offset > self._position else ProblemKind.ROW
            self._add(kind, words, seq)
        self._position = offset + length

    def _check_record(self, row: ChainRow, kind: RecordKind | None, file: BinaryIO) -> None:
        written = row.written
        offset, length = written.offset or 0, written.length or 0
        if not (0 < length <= RECORD_LIMIT and offset >= 0 and offset + length <= self._segment.size):
            self._add(ProblemKind.ROW, "points outside of the file", written.seq)
            return
        if file.tell() != offset:
            file.seek(offset)
        member = file.read(length)
        self._report.records += 1
        self._report.bytes_read += len(member)
        if len(member) < length:
            self._add(ProblemKind.MISSING, "the file ends before the record", written.seq)
        elif sha256(member).digest() != written.record_digest:
            self._add(ProblemKind.ALTERED, "the record is not the one that was written", written.seq)
        else:
            self._check_content(row, kind, member)

    def _check_content(self, row: ChainRow, kind: RecordKind | None, member: bytes) -> None:
        try:
            records = read_visit(member)
            for one in records:
                check_digests(one)
                check_for_others(one)
        except UnreadableRecord as error:
            self._add(ProblemKind.UNREADABLE, str(error), row.written.seq)
            return
        self._report.bytes_decoded += sum(len(one.block) for one in records)
        visits = {one.headers.get("vedette-visit") for one in records}
        if kind not in (None, records[0].kind) or visits != {str(row.facts.visit)}:
            self._add(ProblemKind.ROW, "the record is of another kind or visit", row.written.seq)

    def _check_blobs(self, row: ChainRow, kind: RecordKind | None) -> None:
        """A blob must be the payload of the visit whose record it points to."""
        written = row.written
        place = Located(segment=written.segment, offset=written.offset or 0, length=written.length or 0)
        while self._blob is not None and self._blob[1].offset <= place.offset:
            fits = self._blob == (row.facts.digest, place) and kind in (RecordKind.RESPONSE, None)
            if not fits:
                self._add(ProblemKind.BLOB, f"blob {self._blob[0].hex()} points elsewhere", written.seq)
            self._blob = next(self._blobs, None)

    def _check_end(self) -> None:
        segment = self._segment
        if self._seq != segment.count:
            self._add(ProblemKind.SEGMENT, f"has {segment.count} visits, the rows end with {self._seq}")
        if self._head is not None and self._head != segment.head:
            self._add(ProblemKind.SEGMENT, "its head is not the end of its chain")
        for count in sorted(self._marks):
            self._add(ProblemKind.HEADS, f"HEADS remembers {count} visits, the rows end with {self._seq}")
        if segment.state != "open" and self._anchors.skipped_end(segment):
            self._add(ProblemKind.HEADS, "HEADS never saw the end of this segment, yet goes on after it")
        while self._blob is not None:
            self._add(ProblemKind.BLOB, f"blob {self._blob[0].hex()} points to no record")
            self._blob = next(self._blobs, None)

    def _add(self, kind: ProblemKind, words: str, seq: int | None = None) -> None:
        self._report.add(kind, self._segment.name, seq, words)
