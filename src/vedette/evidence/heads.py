"""HEADS: a small append-only file beside the archive that remembers how far each segment had come.

A row and its record can be deleted together and the segment row edited to fit; the head that was written down
here before still says otherwise.  Lines are chained to each other; printing the last one elsewhere (a mail, a
notary, a newspaper) fixes everything before it.

    2026-11-15T10:00:00.000000Z anchor standard-20261115-0001 1200 7340032 <head> <chain>

Every worker has a file of its own, HEADS-<worker>: one writer, one chain of lines.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from vedette.contracts.errors import NO_MORE_FILES, StoreError, StoreWaitError
from vedette.contracts.watch import SEALS, Segment
from vedette.core.evidence import chain
from vedette.core.evidence.segments import SegmentName, is_worker, worker_of
from vedette.evidence.files import FULL, NO_FILES, ArchivePlace, Files, StorageAway, files_of, write_all

FILE_NAME = "HEADS"
_LINE_LIMIT = 512  # a line of ours is about 250 bytes
_LINE = re.compile(
    r"(?P<at>[0-9T:.-]{26})Z (?P<event>[a-z]+) (?P<segment>[a-z0-9_-]+) "
    r"(?P<count>[0-9]{1,18}) (?P<size>[0-9]{1,18}) (?P<head>[0-9a-f]{64}) (?P<chain>[0-9a-f]{64})"
)
_NOTHING = Segment(name="-", retention="", day="", size=0, count=0, head=chain.GENESIS)


class HeadEvent(StrEnum):
    BEGUN = "begun"  # the archive was new
    OPENED = "opened"  # how its chain begins, before any visit
    ANCHOR = "anchor"  # so far had the segment come, committed
    CLOSED = "closed"  # its last state
    RECOVERED = "recovered"  # found committed at a start, not written down before the stop
    EXPIRED = "expired"  # retention dropped the file
    DAMAGED = "damaged"  # the operator went on without it; `verify` goes on naming it


@dataclass(frozen=True, slots=True)
class HeadLine:
    """One line: how far `segment` had come.  `chain` covers the line and all lines before it."""

    at: datetime
    event: HeadEvent
    segment: Segment
    chain: bytes

    def __str__(self) -> str:
        return f"{chain.anchor(self.event, self.segment, self.at).decode()} {self.chain.hex()}"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not as it was written, and its number from 1."""

    number: int
    words: str
    is_torn: bool = False  # the last line, without its end: a crash of the machine can leave that


class Heads:
    """Appends to HEADS.  One writer at a time; whoever holds the archive holds this."""

    def __init__(self, directory: ArchivePlace, files: Files, worker: str = "") -> None:
        self.directory = directory
        self.worker = worker
        self.name = file_name(worker)
        self._path = directory / self.name
        self.files = files
        self._size = 0
        self._chain = chain.GENESIS
        self.latest: dict[str, HeadLine] = {}  # the newest line of each segment
        self.is_new = True
        self._load()

    def begin(self, now: datetime) -> None:
        """Makes the file.  Before the first segment, so that a missing HEADS is never innocent."""
        if self.files.size(self._path) is None:
            self.files.close(self.files.create(self._path))
        self._append([(HeadEvent.BEGUN, _NOTHING)], now)
        self.files.fsync_directory(self.directory)
        self.is_new = False

    def note(self, events: list[tuple[HeadEvent, Segment]], now: datetime) -> None:
        """Writes down committed states, lasting when this returns.  StoreError: nothing was written."""
        if events:
            self._append(events, now)

    def repair(self) -> None:
        """Cuts a last line that a crash of the machine left unfinished."""
        if (self.files.size(self._path) or 0) > self._size:
            handle = self.files.open(self._path)
            try:
                self.files.truncate(handle, self._size)
                self.files.fdatasync(handle)
            finally:
                self.files.close(handle)

    def _load(self) -> None:
        newest = newest_heads(self.directory, self.worker)
        self.latest = {line.segment.name: line for line in newest}
        if newest:
            self._chain = newest[-1].chain
            self.is_new = False
        if (size := self.files.size(self._path)) is not None:
            self._size = size - _unfinished(
                self.files.read_at(self._path, max(0, size - _LINE_LIMIT), _LINE_LIMIT)
            )

    def _append(self, events: list[tuple[HeadEvent, Segment]], now: datetime) -> None:
        lines = _chained(events, now, self._chain)
        data = "".join(f"{line}\n" for line in lines).encode()
        try:
            if (self.files.size(self._path) or 0) != self._size:
                raise StoreError(
                    f"{self._path} was changed by someone else; stop the other process, start again"
                )
            self._write(data)
        except StorageAway as error:
            raise StoreWaitError(f"cannot write {self._path}: {error}") from error
        except OSError as error:
            words = NO_MORE_FILES if error.errno in NO_FILES else "free space or check the disk"
            kind = StoreWaitError if error.errno in (*FULL, *NO_FILES) else StoreError
            raise kind(f"cannot write {self._path}: {error}; {words}") from error
        self._size += len(data)
        self._chain = lines[-1].chain
        self.latest.update((line.segment.name, line) for line in lines)

    def _write(self, data: bytes) -> None:
        """All of it, lasting, or nothing of it."""
        handle = self.files.open(self._path)
        try:
            write_all(self.files, handle, data, self._size)
            self.files.fdatasync(handle)
        except OSError:
            self.files.truncate(handle, self._size)
            raise
        finally:
            self.files.close(handle)


def file_name(worker: str) -> str:
    """The file of a worker's heads; an embedded store has the plain one."""
    return f"{FILE_NAME}-{worker}" if worker else FILE_NAME


def head_files(directory: ArchivePlace) -> dict[str, str]:
    """The files of heads that are there: worker and name."""
    names = sorted(name for name in files_of(directory).sizes(directory) if name.startswith(FILE_NAME))
    workers = {name.removeprefix(FILE_NAME).removeprefix("-"): name for name in names}
    return {
        worker: name for worker, name in workers.items() if is_worker(worker) and file_name(worker) == name
    }


def newest_heads(directory: ArchivePlace, worker: str = "") -> list[HeadLine]:
    """The last line of each segment, newest last: what to print or publish.

    Quick, because every start needs it; whether all lines are right is for `read_heads` and `verify`.
    """
    newest: dict[bytes, bytes] = {}
    with suppress(FileNotFoundError), files_of(directory).reader(directory / file_name(worker)) as file:
        for raw in file:
            if len(fields := raw.split(b" ", 3)) == 4 and raw.endswith(b"\n"):
                newest.pop(fields[2], None)
                newest[fields[2]] = raw
    lines = (_parse(raw[:-1].decode("ascii", "replace")) for raw in newest.values())
    return [line for line in lines if line is not None]


def read_heads(directory: ArchivePlace, worker: str = "") -> Iterator[HeadLine | BadLine]:
    """Every line in order, checked.  After a bad line, the chain is taken up from the last good one."""
    with suppress(FileNotFoundError), files_of(directory).reader(directory / file_name(worker)) as file:
        before, number = chain.GENESIS, 0
        while raw := file.readline(_LINE_LIMIT):
            number += 1
            if not raw.endswith(b"\n"):
                yield BadLine(number, "the line has no end", is_torn=len(raw) < _LINE_LIMIT)
                continue
            line = _parse(raw[:-1].decode("ascii", "replace"))
            if line is None:
                yield BadLine(number, "the line cannot be read")
                continue
            if chain.link(before, chain.anchor(line.event, line.segment, line.at)) != line.chain:
                yield BadLine(number, "the line does not follow from the lines before it")
            before = line.chain
            yield line


def _parse(text: str) -> HeadLine | None:
    found = _LINE.fullmatch(text)
    if found is None or found["event"] not in HeadEvent._value2member_map_:
        return None
    try:
        at = datetime.fromisoformat(found["at"]).replace(tzinfo=UTC)
    except ValueError:
        return None
    name = SegmentName.parse(found["segment"])
    segment = Segment(
        name=found["segment"],
        retention=name.retention if name else "",
        day=name.day.isoformat() if name else "",
        size=int(found["size"]),
        count=int(found["count"]),
        head=bytes.fromhex(found["head"]),
    )
    line = HeadLine(at, HeadEvent(found["event"]), segment, bytes.fromhex(found["chain"]))
    return line if str(line) == text else None


def _chained(events: list[tuple[HeadEvent, Segment]], at: datetime, before: bytes) -> list[HeadLine]:
    lines = []
    for event, segment in events:
        before = chain.link(before, chain.anchor(event, segment, at))
        lines.append(HeadLine(at, event, segment, before))
    return lines


def _unfinished(tail: bytes) -> int:
    """The size of an unfinished last line."""
    return len(tail) - tail.rfind(b"\n") - 1


# HEADS as `verify` needs it: what was once written down about each segment.

_MARK = struct.Struct(">Q32s")  # packed: a year of HEADS is half a million lines


class Anchors:
    """All lines of HEADS, of all workers, by segment."""

    def __init__(self, directory: ArchivePlace) -> None:
        self.problems: list[str] = []
        self.latest: dict[str, HeadLine] = {}
        self._marks: defaultdict[str, bytearray] = defaultdict(bytearray)
        self._newest: dict[tuple[str, str], SegmentName] = {}  # by series
        self._tombstones: dict[str, Segment] = {}
        self._workers: set[str] = set()  # whose file has lines
        for worker, file in head_files(directory).items():
            for line in read_heads(directory, worker):
                if isinstance(line, HeadLine):
                    self._workers.add(worker)
                    self._add(line)
                else:
                    hint = "; a crash can leave that, the next start repairs it" if line.is_torn else ""
                    self.problems.append(f"line {line.number} of {file}: {line.words}{hint}")
        for name in ("-", SEALS):
            self.latest.pop(name, None)

    def missing(self, names: Iterable[str]) -> list[str]:
        """The files of heads that should be there when there are segments of these names."""
        writers = {worker_of(name) or "" for name in names}
        return [file_name(worker) for worker in sorted(writers - self._workers)]

    def marks(self, name: str) -> dict[int, set[bytes]]:
        """The heads that were written down for a segment, by the number of visits they cover."""
        marks: dict[int, set[bytes]] = {}
        for count, head in _MARK.iter_unpack(self._marks.get(name, b"")):
            marks.setdefault(count, set()).add(head)
        return marks

    def tombstone(self, name: str) -> Segment | None:
        """The last state of a segment that retention dropped."""
        return self._tombstones.get(name)

    def skipped_end(self, segment: Segment) -> bool:
        """Did HEADS go on to later segments of the class without the last state of this one?

        The very last states may be missing: a stop between commit and HEADS leaves that until the next start.
        """
        name, line = SegmentName.parse(segment.name), self.latest.get(segment.name)
        newest = None if name is None else self._newest.get(name.series)
        is_passed = name is not None and newest is not None and name < newest
        return is_passed and (line is None or line.segment.count != segment.count)

    def _add(self, line: HeadLine) -> None:
        segment = line.segment
        self.latest[segment.name] = line
        self._marks[segment.name] += _MARK.pack(segment.count, segment.head)
        name = SegmentName.parse(segment.name)
        if name is not None and name >= self._newest.get(name.series, name):
            self._newest[name.series] = name
        if line.event is HeadEvent.EXPIRED:
            self._tombstones[segment.name] = segment
