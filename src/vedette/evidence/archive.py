"""The archive: entries in, places and chain links out.  One thread owns it, and one worker owns its series of files.

The order is the promise: `append` any number of entries, `sync`, commit what `sync` gave together with the
rows of the visits, then say `committed`.  Whatever stops in between, the committed state is on the disk, and
everything after it is cut at the next start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256

from vedette.contracts.errors import NO_MORE_FILES, StoreError, StoreWaitError
from vedette.contracts.watch import ArchiveEntry, RecordKind, Segment, WrittenRecord
from vedette.core.evidence import chain
from vedette.core.evidence.segments import SegmentName, is_full, next_name, order, worker_of
from vedette.evidence import recovery
from vedette.evidence.files import FULL, NO_FILES, ArchivePlace, Files, StorageAway, files_of, write_all
from vedette.evidence.heads import HeadEvent, Heads
from vedette.evidence.read_records import segment_name, segment_path
from vedette.evidence.recovery import Damage, Recovery
from vedette.evidence.warc import screenshot_record, visit_record, warcinfo_record

GIB = 1024**3
TOGETHER = 256 * 1024  # bytes of records that are written at once


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    """The knobs of the archive."""

    worker: str = ""  # whose series of files this is; empty: the one engine of an embedded store
    software: str = "vedette"  # as named in each file
    segment_limit: int = GIB  # a segment that reached this is closed
    anchor_every: timedelta = timedelta(seconds=60)  # how far HEADS may lag behind


@dataclass(slots=True)
class _File:
    """A segment that this process writes."""

    name: SegmentName
    text: str  # the name as it is written
    handle: int
    size: int
    count: int
    head: bytes
    synced_size: int
    committed: Segment | None = None  # as the database has it; None: not at all yet
    is_closed: bool = False
    opened: Segment | None = None  # its state before any visit, until HEADS has it
    waiting: list[bytes] = field(default_factory=list)  # records at the end that are not written yet
    waiting_size: int = 0

    def add(self, member: bytes) -> None:
        self.waiting.append(member)
        self.waiting_size += len(member)
        self.size += len(member)

    def forget(self) -> None:
        self.waiting.clear()
        self.waiting_size = 0

    def state(self) -> Segment:
        return Segment(
            name=self.text,
            retention=self.name.retention,
            day=self.name.day.isoformat(),
            size=self.size,
            count=self.count,
            head=self.head,
            state="closed" if self.is_closed else "open",
        )


class Archive:
    """Appends, syncs, undoes.  After `sync` only `committed` or `rollback` may follow."""

    def __init__(
        self, directory: ArchivePlace, settings: ArchiveSettings | None = None, files: Files | None = None
    ) -> None:
        self._directory = directory
        self._settings = settings or ArchiveSettings()
        self._files = files or files_of(directory)
        self._current: dict[str, _File] = {}  # by retention class
        self._touched: dict[str, _File] = {}  # since the last commit
        self._newest: dict[str, tuple[SegmentName, bytes]] = {}  # before the current one: name and last head
        self._newest_committed: dict[str, tuple[SegmentName, bytes]] = {}
        self._set_aside: list[Segment] = []  # damaged, to be committed as closed
        self._sealed: Segment | None = None
        self._heads: Heads | None = None
        self._awaits_commit = False
        self._unnoted: list[tuple[HeadEvent, Segment]] = []  # HEADS could not be written
        self._broken = ""

    def recover(
        self,
        segments: Iterable[Segment],
        *,
        now: datetime,
        set_aside_damaged: bool = False,
        also: Sequence[Damage] = (),
    ) -> Recovery:
        """Takes up the committed state: call it first, with ALL segment rows.  StoreError names damage.

        Only the series of this worker is looked at, cut and written: the files of others are theirs.
        `also` is damage that only reading the records shows; it is set aside with the rest.
        """
        worker = self._settings.worker
        known = {segment.name: segment for segment in segments if (worker_of(segment.name) or "") == worker}
        try:
            self._files.make_directory(self._directory)
            heads = Heads(self._directory, self._files, worker)
            disk = recovery.files_on_disk(self._directory, self._files, worker)
            blocking = recovery.blocking_damage(known, heads, disk)
            if not set_aside_damaged:
                recovery.refuse(blocking, self._directory)
            else:
                found = [*also, *recovery.lasting_damage(known, heads, disk)]
                blocking += recovery.not_yet_set_aside(found, known, heads, blocking)
            return self._take_up(known, heads, blocking, now)
        except OSError as error:
            raise StoreError(f"cannot take up the archive in {self._directory}: {error}") from error

    def append(self, entry: ArchiveEntry) -> WrittenRecord:
        """Takes the record and links the visit.  StoreError: all since the last commit is undone.

        `sync` has it on the disk at the latest.
        """
        self._check_ready()
        try:
            file = self._file_for(entry)
            self._touched[file.text] = file
            offset, length, digest = None, None, None
            member = b""
            if entry.kind is not RecordKind.NONE:
                member = visit_record(entry, file.text)
                if entry.screenshot is not None:
                    member += screenshot_record(entry, entry.screenshot, file.text)
                offset, length, digest = file.size, len(member), sha256(member).digest()
                file.add(member)
                if file.waiting_size >= TOGETHER:
                    self._write(file)
        except OSError as error:
            raise self._undone(error) from error
        facts = chain.canonical_facts(entry.facts, entry.kind, offset, length, digest)
        file.count += 1
        file.head = chain.link(file.head, facts)
        return WrittenRecord(
            visit=entry.facts.visit,
            segment=file.text,
            seq=file.count,
            offset=offset,
            length=length,
            record_digest=digest,
            chain=file.head,
        )

    def sync(self) -> tuple[Segment, ...]:
        """Makes everything appended lasting and gives the states to commit with the rows."""
        self._check_ready()
        try:
            for file in self._touched.values():
                self._write(file)
                if file.synced_size != file.size:
                    self._files.fdatasync(file.handle)
                    file.synced_size = file.size
            if any(file.committed is None for file in self._touched.values()):
                self._files.fsync_directory(self._directory)
        except OSError as error:
            # After a failed sync the kernel may have dropped the pages: what is on the disk is unknown.  On a full
            # disk that is what was appended since the last one, which is cut and written again.
            undone = self._undone(error)
            if not isinstance(undone, StoreWaitError):
                self._broken = str(undone)
            raise undone from error
        states = (*self._set_aside, *(file.state() for file in self._touched.values()))
        self._awaits_commit = bool(states)
        return states

    def committed(self, now: datetime, sealed: Segment | None = None) -> None:
        """The database has what `sync` gave.  Writes HEADS where a segment closed or an anchor is due.

        `sealed` is how far the chain of sealed rows has come; HEADS remembers that too.
        """
        self._sealed = sealed or self._sealed
        if self._touched and not self._awaits_commit:
            raise RuntimeError("committed() without sync(): the records are not lasting yet")
        events: list[tuple[HeadEvent, Segment]] = []
        for file in self._touched.values():
            file.committed = file.state()
            if file.opened is not None:
                events.append((HeadEvent.OPENED, file.opened))
                file.opened = None
            if file.is_closed:
                self._files.close(file.handle)
                events.append((HeadEvent.CLOSED, file.committed))
        self._touched.clear()
        self._set_aside.clear()
        self._awaits_commit = False
        self._newest_committed = dict(self._newest)
        self._note(events, now, self._settings.anchor_every)

    def rollback(self) -> None:
        """Back to the last committed state: what was appended since is cut, new files are gone."""
        touched, self._touched = self._touched, {}
        self._awaits_commit = False
        self._newest = dict(self._newest_committed)
        try:
            for file in touched.values():
                self._undo(file)
        except OSError as error:
            self._broken = f"cannot undo what was not committed: {error}; check the disk and start again"
            raise StoreError(self._broken) from error

    def abandon(self) -> None:
        """The commit failed.  A database may find it whole all the same when it comes back, and only then is it
        known what to cut: everything stays as it is until the next `recover`."""
        self._touched.clear()
        self._awaits_commit = False
        self._broken = "a commit failed; start again, and what it left is sorted out"

    def roll(self, now: datetime) -> None:
        """Closes the segments of days that are over, also of classes that fell silent; `sync` says so."""
        self._check_ready()
        self._close_before(now.astimezone(UTC).date())

    def close(self, now: datetime) -> None:
        """Drops what was not committed, writes the last anchors, lets go of the files."""
        try:
            self.rollback()
            self._note([], now, timedelta(0))
        finally:
            for file in self._current.values():
                self._files.close(file.handle)
            self._current.clear()
            self._broken = "the archive is closed"

    @property
    def heads(self) -> Heads:
        """For `expire`, in the thread that owns the archive."""
        if self._heads is None:
            raise RuntimeError("recover() comes first")
        return self._heads

    def _take_up(
        self, known: dict[str, Segment], heads: Heads, blocking: list[Damage], now: datetime
    ) -> Recovery:
        if heads.is_new:
            heads.begin(now)
        heads.repair()
        self._heads = heads
        orphans = recovery.set_orphans_aside(heads, {*known, *heads.latest})
        damaged = {one.segment for one in blocking}
        cut = []
        for segment in sorted(known.values(), key=order):
            if segment.name in damaged and segment.state == "open":
                self._set_aside.append(replace(segment, state="closed"))
            elif segment.state == "open" and (removed := self._resume(segment)):
                cut.append((segment.name, removed))
        states = [line.segment for line in heads.latest.values()] + list(known.values())
        for segment in sorted(states, key=order):
            if (name := SegmentName.parse(segment.name)) is not None:
                self._newest[name.retention] = (name, segment.head)
        self._newest_committed = dict(self._newest)
        self.heads.note(recovery.late_notes(self._directory, known, heads, damaged), now)
        disk = recovery.files_on_disk(self._directory, self._files, heads.worker)
        lasting = recovery.lasting_damage(known, heads, disk)
        return Recovery(tuple(cut), orphans, (*blocking, *lasting))

    def _resume(self, segment: Segment) -> int:
        """Opens a segment to write on; cuts what was never committed and says how much that was."""
        name = segment_name(segment.name)
        path = segment_path(self._directory, segment.name)
        removed = (self._files.size(path) or 0) - segment.size
        handle = self._files.open(path)
        if removed:
            self._files.truncate(handle, segment.size)
            self._files.fdatasync(handle)
        if (older := self._current.get(name.retention)) is not None:
            self._close_segment(older)
        self._current[name.retention] = _File(
            name=name,
            text=segment.name,
            handle=handle,
            size=segment.size,
            count=segment.count,
            head=segment.head,
            synced_size=segment.size,
            committed=segment,
        )
        return removed

    def _file_for(self, entry: ArchiveEntry) -> _File:
        day = entry.facts.at.astimezone(UTC).date()
        if self._settings.worker:
            self._close_before(day)
        file = self._current.get(entry.retention)
        if file is not None:
            if not is_full(file.name, file.size, day=day, limit=self._settings.segment_limit):
                return file
            self._close_segment(file)
        return self._open_segment(entry, day)

    def _close_before(self, day: date) -> None:
        """Of all classes.  A worker does it with every look: its store is never without one, so `gc` cannot."""
        for file in [file for file in self._current.values() if file.name.day < day]:
            self._close_segment(file)

    def _open_segment(self, entry: ArchiveEntry, day: date) -> _File:
        previous, previous_head = self._newest.get(entry.retention, (None, chain.GENESIS))
        name = next_name(entry.retention, day, previous, self._settings.worker)
        text = str(name)
        about = {
            "software": self._settings.software,
            "vedette-segment": text,
            "vedette-previous": str(previous or ""),
            "vedette-previous-head": previous_head.hex(),
        }
        member = warcinfo_record(text, about, entry.facts.at)
        head = chain.opening(previous_head, text, sha256(member).digest())
        handle = self._files.create(segment_path(self._directory, text))
        file = _File(name, text, handle, size=len(member), count=0, head=head, synced_size=0)
        file.opened = file.state()
        self._current[entry.retention] = self._touched[text] = file  # first: a failed write is undone
        write_all(self._files, handle, member, 0)
        return file

    def _write(self, file: _File) -> None:
        """What waits, in one piece: a call per record would let go of the interpreter as often."""
        if file.waiting:
            write_all(self._files, file.handle, b"".join(file.waiting), file.size - file.waiting_size)
            file.forget()

    def _close_segment(self, file: _File) -> None:
        """Never opened again, but by the rollback of the group that closed it."""
        file.is_closed = True
        del self._current[file.name.retention]
        self._newest[file.name.retention] = (file.name, file.head)
        self._touched[file.text] = file

    def _undo(self, file: _File) -> None:
        retention = file.name.retention
        file.forget()
        if file.committed is None:
            if self._current.get(retention) is file:
                del self._current[retention]
            self._files.discard(file.handle, segment_path(self._directory, file.text))
            return
        self._files.truncate(file.handle, file.committed.size)
        file.size = file.synced_size = file.committed.size
        file.count, file.head, file.is_closed = file.committed.count, file.committed.head, False
        self._current[retention] = file

    def _undone(self, error: OSError) -> StoreError:
        self.rollback()
        where = f"cannot write the archive in {self._directory}: {error}; nothing of this group was kept"
        if isinstance(error, StorageAway):
            return StoreWaitError(f"{where}; nothing acknowledged is lost, the run goes on when it is back")
        if error.errno in FULL:
            return StoreWaitError(f"{where}; the disk is full: free space there and go on")
        if error.errno in NO_FILES:
            return StoreWaitError(f"{where}; {NO_MORE_FILES}")
        return StoreError(f"{where}; check the disk, then start again")

    def _note(self, events: list[tuple[HeadEvent, Segment]], now: datetime, every: timedelta) -> None:
        """Into HEADS, which may come later: what a full disk does not take is written with the next.

        A stop before that leaves it to the next start, which finds it in the database.
        """
        self._unnoted += events
        with suppress(StoreWaitError):
            self.heads.note(self._unnoted + self._due_anchors(now, every), now)
            self._unnoted = []

    def _due_anchors(self, now: datetime, every: timedelta) -> list[tuple[HeadEvent, Segment]]:
        """Committed states that HEADS does not have yet, once it is time again."""
        states = [*(file.committed for file in self._current.values()), self._sealed]
        due = []
        for state in (one for one in states if one is not None):
            line = self.heads.latest.get(state.name)
            if line is not None and line.segment.count == state.count:
                continue
            if line is None or not timedelta(0) <= now - line.at < every:
                due.append((HeadEvent.ANCHOR, state))
        return due

    def _check_ready(self) -> None:
        if self._broken:
            raise StoreError(self._broken)
        if self._heads is None or self._awaits_commit:
            raise RuntimeError("recover() comes first, and after sync() comes committed() or rollback()")
