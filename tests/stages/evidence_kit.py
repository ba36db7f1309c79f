"""What the evidence tests share: visits, a database of two dicts, and disks that misbehave."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from vedette.contracts.watch import ArchiveEntry, ChainRow, Located, RecordKind, Segment, VisitFacts
from vedette.contracts.words import Outcome, VisitId, WatchId
from vedette.evidence.archive import Archive, ArchiveSettings
from vedette.evidence.files import ArchivePlace, Files
from vedette.evidence.verify import Claims, Report, verify

NOON = datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC)
AGAIN = 1000  # visits from here on repeat an earlier one in these tests: they add no blob
SMALL = ArchiveSettings(software="vedette test", segment_limit=1400, anchor_every=timedelta(seconds=60))


def visit(
    number: int, *, at: datetime = NOON, retention: str = "standard", body: bytes | None = None
) -> ArchiveEntry:
    """A plain answer of a page."""
    payload = f"<html><p>page {number}</p></html>".encode() if body is None else body
    return ArchiveEntry(
        facts=VisitFacts(
            visit=VisitId(number),
            watch=WatchId(number * 7919),
            url=f"https://www.hgk.hr/vijesti/{number}",
            at=at + timedelta(milliseconds=number),
            outcome=Outcome.OK,
            status=200,
            digest=sha256(payload).digest(),
        ),
        kind=RecordKind.RESPONSE,
        retention=retention,
        phrase="OK",
        headers=(("Content-Type", "text/html"), ("Transfer-Encoding", "chunked")),
        payload=payload,
        address="127.0.0.1",
    )


def again(entry: ArchiveEntry, number: int) -> ArchiveEntry:
    """The same page later, unchanged."""
    at = entry.facts.at + timedelta(minutes=1)
    return replace(
        entry,
        facts=replace(entry.facts, visit=VisitId(number), at=at),
        kind=RecordKind.IDENTICAL,
        payload=b"",
        refers_to=(entry.facts.url, entry.facts.at),
    )


def not_modified(entry: ArchiveEntry, number: int) -> ArchiveEntry:
    later = again(entry, number)
    facts = replace(later.facts, outcome=Outcome.NOT_MODIFIED, status=304, digest=None)
    return replace(later, facts=facts, kind=RecordKind.NOT_MODIFIED, phrase="Not Modified")


def nothing(number: int) -> ArchiveEntry:
    """A visit that ended in a timeout."""
    entry = visit(number)
    facts = replace(entry.facts, outcome=Outcome.TIMEOUT, status=None, digest=None)
    return ArchiveEntry(facts=facts, kind=RecordKind.NONE)


class Database:
    """Rows and segments as committed, and nothing else."""

    def __init__(self) -> None:
        self.segments: dict[str, Segment] = {}
        self.rows: dict[str, list[ChainRow]] = {}
        self.blobs: dict[str, list[tuple[bytes, Located]]] = {}

    def commit(self, rows: Iterable[ChainRow], segments: Iterable[Segment]) -> None:
        for row in rows:
            self.rows.setdefault(row.written.segment, []).append(row)
            if row.facts.digest is not None and row.facts.visit < AGAIN:
                self.blobs.setdefault(row.written.segment, []).append((row.facts.digest, located(row)))
        self.segments.update((segment.name, segment) for segment in segments)

    def claims(self) -> Claims:
        return Claims(
            self.segments.values(),
            lambda name: self.rows.get(name, []),
            lambda name: self.blobs.get(name, []),
        )

    def verify(self, directory: ArchivePlace, *, full: bool = True) -> Report:
        return verify(directory, self.claims, full=full)


def located(row: ChainRow) -> Located:
    written = row.written
    assert written.offset is not None
    assert written.length is not None
    return Located(segment=written.segment, offset=written.offset, length=written.length)


def keep(
    archive: Archive, database: Database, entries: Iterable[ArchiveEntry], *, now: datetime = NOON
) -> None:
    """One group, in the order that is promised: archive, sync, commit, said."""
    rows = [ChainRow(facts=entry.facts, written=archive.append(entry)) for entry in entries]
    segments = archive.sync()
    database.commit(rows, segments)
    archive.committed(now)


def started(
    directory: ArchivePlace, database: Database, files: Files | None = None, settings: ArchiveSettings = SMALL
) -> Archive:
    archive = Archive(directory, settings, files or QuickDisk())
    archive.recover(database.segments.values(), now=NOON)
    return archive


def sample(directory: ArchivePlace, files: Files | None = None) -> Database:
    """An archive with every kind of record, closed and open segments, two classes."""
    database = Database()
    archive = started(directory, database, files)
    first = visit(1)
    keep(archive, database, [first, nothing(2), visit(3)])
    keep(archive, database, [again(first, 1004), not_modified(first, 1005), visit(6), visit(7)])
    keep(archive, database, [visit(8), visit(9, retention="short"), visit(10)])
    archive.close(NOON)
    return database


class QuickDisk(Files):
    """For tests that do not pull the plug: nothing waits for the disk."""

    def fdatasync(self, handle: int) -> None:
        pass

    def fsync_directory(self, path: Path) -> None:
        pass


class PowerCut(Exception):
    """The machine stops here."""


class DroppingDisk(Files):
    """A disk that forgets what was not synced, and names that their directory was not synced for.

    The files are real, as a page cache is; `crash` leaves of them what the calls had made lasting.
    """

    def __init__(self, root: Path, *, stops_before: int | None = None) -> None:
        self._root = root
        self.stops_before = stops_before
        self._open: dict[int, int] = {}  # handle: file
        self._names: dict[Path, int] = {}
        self._lasting_names: dict[Path, int] = {}
        self._lasting: dict[int, bytes] = {}
        self._number = 0
        self.steps: list[str] = []

    def step(self, what: str) -> None:
        if self.stops_before == len(self.steps):
            raise PowerCut(what)
        self.steps.append(what)

    def create(self, path: Path) -> int:
        self.step(f"create {path.name}")
        handle = super().create(path)
        self._number += 1
        self._names[path] = self._open[handle] = self._number
        self._lasting[self._number] = b""
        return handle

    def open(self, path: Path) -> int:
        handle = super().open(path)
        self._open[handle] = self._names[path]
        return handle

    def write(self, handle: int, data: memoryview, offset: int) -> int:
        self.step("write")
        return super().write(handle, data, offset)

    def truncate(self, handle: int, size: int) -> None:
        self.step("truncate")
        super().truncate(handle, size)

    def fdatasync(self, handle: int) -> None:
        self.step("fdatasync")
        self._lasting[self._open[handle]] = os.pread(handle, os.fstat(handle).st_size, 0)

    def fsync_directory(self, path: Path) -> None:
        self.step("fsync_directory")
        kept = {name: file for name, file in self._lasting_names.items() if name.parent != path}
        self._lasting_names = kept | {name: file for name, file in self._names.items() if name.parent == path}

    def rename(self, old: Path, new: Path) -> None:
        self.step("rename")
        super().rename(old, new)
        self._names[new] = self._names.pop(old)

    def unlink(self, path: Path) -> None:
        self.step("unlink")
        super().unlink(path)
        del self._names[path]

    def close(self, handle: int) -> None:
        del self._open[handle]
        super().close(handle)

    def crash(self, leak: float = 0.0) -> None:
        """`leak`: the share of the unsynced bytes that made it to the disk all the same."""
        for handle in list(self._open):
            self.close(handle)
        cache = {self._names[path]: path.read_bytes() for path in self._names}
        for path in self._names:
            path.unlink()
        for path, number in self._lasting_names.items():
            kept = self._lasting[number]
            unsynced = cache.get(number, b"")[len(kept) :]
            path.write_bytes(kept + unsynced[: int(len(unsynced) * leak)])


class FullDisk(Files):
    """A disk with room for so many bytes more; it takes what fits and refuses the rest."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, handle: int, data: memoryview, offset: int) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = super().write(handle, data[: self.room], offset)
        self.room -= taken
        return taken


class NoFiles(Files):
    """A process that may open no file for a while."""

    is_out = False

    def create(self, path: Path) -> int:
        self._check()
        return super().create(path)

    def open(self, path: Path) -> int:
        self._check()
        return super().open(path)

    def fsync_directory(self, path: Path) -> None:
        self._check()
        super().fsync_directory(path)

    def _check(self) -> None:
        if self.is_out:
            raise OSError(errno.EMFILE, "Too many open files")
