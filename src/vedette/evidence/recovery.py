"""What a start finds on the disk, against what the database committed.

A tail that was never committed is normal after a crash and is cut.  Anything that a crash of ours cannot
explain is damage: it is named, and nothing is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from vedette.contracts.errors import StoreError
from vedette.contracts.watch import SEALS, Segment
from vedette.core.evidence import chain
from vedette.core.evidence.segments import worker_of
from vedette.evidence.files import ArchivePlace, Files
from vedette.evidence.heads import HeadEvent, Heads
from vedette.evidence.read_records import UnreadableRecord, read_start, segment_path

SUFFIX = ".warc.gz"


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not as it was committed."""

    segment: str
    words: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a start did and found."""

    cut: tuple[tuple[str, int], ...] = ()  # segment, bytes that were never committed
    orphans: tuple[str, ...] = ()  # files that were never committed, renamed to *.orphan
    damage: tuple[Damage, ...] = ()  # went on without these


def refuse(damage: Iterable[Damage], directory: ArchivePlace) -> None:
    """Raises when there is damage: what it is, and the two ways on."""
    words = [f"{one.segment}: {one.words}" for one in damage]
    if words:
        raise StoreError(
            f"the archive in {directory} is not as it was committed; nothing was changed. "
            + "; ".join(words)
            + ". Restore the archive and the database from one backup (`vedette restore BACKUP --replace`), or go on "
            "without them: "
            "`vedette evidence set-aside` closes them as they are, and `verify` goes on naming them"
        )


def blocking_damage(known: Mapping[str, Segment], heads: Heads, disk: Mapping[str, int]) -> list[Damage]:
    """What makes it unsafe to write on: the segments to be continued, and a database older than HEADS."""
    found = _short((segment for segment in known.values() if segment.state == "open"), disk)
    if heads.is_new and known:
        found.append(Damage(heads.name, "is missing or empty, yet the database knows segments"))
    for name, line in heads.latest.items():
        if line.event is HeadEvent.DAMAGED or name in ("-", SEALS):
            continue
        row = known.get(name)
        if row is None:
            found.append(Damage(name, "HEADS has it, the database does not"))
        elif row.count < line.segment.count:
            words = f"HEADS has {line.segment.count} visits, the database only {row.count}"
            found.append(Damage(name, f"{words}: the database is older than the archive"))
        elif row.count == line.segment.count and row.head != line.segment.head:
            found.append(Damage(name, "HEADS and the database have different heads"))
    return found


def not_yet_set_aside(
    found: Iterable[Damage], known: Mapping[str, Segment], heads: Heads, besides: Iterable[Damage]
) -> list[Damage]:
    """Damage of segments that HEADS does not call damaged yet; each segment once."""
    named = {one.segment for one in besides}
    new = []
    for one in found:
        line, row = heads.latest.get(one.segment), known.get(one.segment)
        is_aside = (
            line is not None and line.event is HeadEvent.DAMAGED and row is not None and row.state != "open"
        )
        if one.segment not in named and not is_aside:
            named.add(one.segment)
            new.append(one)
    return new


def lasting_damage(known: Mapping[str, Segment], heads: Heads, disk: Mapping[str, int]) -> list[Damage]:
    """Closed segments that are not whole.  No reason not to start: nothing is written there again."""
    gone = {
        name for name, line in heads.latest.items() if line.event in (HeadEvent.EXPIRED, HeadEvent.DAMAGED)
    }
    return _short((one for one in known.values() if one.state == "closed" and one.name not in gone), disk)


def files_on_disk(directory: ArchivePlace, files: Files, worker: str) -> dict[str, int]:
    """Every file that carries a name of this worker's series, with its size."""
    found = sorted(
        (n.removesuffix(SUFFIX), size) for n, size in files.sizes(directory).items() if n.endswith(SUFFIX)
    )
    return {name: size for name, size in found if worker_of(name) == worker}


def set_orphans_aside(heads: Heads, known: Collection[str]) -> tuple[str, ...]:
    """Renames files that were never committed.  Nothing is deleted: that is for people to do."""
    orphans, directory, files = [], heads.directory, heads.files
    for name in files_on_disk(directory, files, heads.worker):
        if name not in known:
            path = segment_path(directory, name)
            target = _free_name(path, files)
            files.rename(path, target)
            orphans.append(target.name)
    if orphans:
        files.fsync_directory(directory)
    return tuple(orphans)


def late_notes(
    directory: ArchivePlace, known: Mapping[str, Segment], heads: Heads, damaged: Collection[str]
) -> list[tuple[HeadEvent, Segment]]:
    """What HEADS must still say: states committed just before a stop, and what we go on without."""
    notes = []
    for segment in known.values():
        line = heads.latest.get(segment.name)
        if segment.name in damaged:
            notes.append((HeadEvent.DAMAGED, segment))
            continue
        if line is None and (opened := _opened(directory, segment)) is not None:
            notes.append((HeadEvent.OPENED, opened))
        if segment.state != "expired" and (line is None or line.segment.count < segment.count):
            notes.append((HeadEvent.RECOVERED, segment))
    lost = (name for name in damaged if name not in known and name in heads.latest)
    return notes + [(HeadEvent.DAMAGED, heads.latest[name].segment) for name in lost]


def _opened(directory: ArchivePlace, segment: Segment) -> Segment | None:
    """The segment as it was before its first visit; None when its file cannot say."""
    try:
        start = read_start(directory, segment.name)
    except (UnreadableRecord, FileNotFoundError):
        return None
    return replace(segment, count=0, size=start.length, head=start.head)


def _free_name(path: ArchivePlace, files: Files) -> ArchivePlace:
    number = 0
    while files.size(target := path.with_name(f"{path.name}.orphan{number or ''}")) is not None:
        number += 1
    return target


def _short(segments: Iterable[Segment], disk: Mapping[str, int]) -> list[Damage]:
    found = []
    for segment in segments:
        size = disk.get(segment.name)
        if size is None:
            found.append(Damage(segment.name, "the file is missing"))
        elif size < segment.size:
            words = f"the file has {size} bytes, {segment.size} were committed"
            found.append(Damage(segment.name, words))
    return found


# Retention drops whole files and leaves a tombstone, so that `verify` says expired and not missing.
#
# Which segments are over is decided in `core.segments.expired`.


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stays of a dropped file: the state to commit, and the facts that HEADS chains."""

    segment: Segment  # state "expired"; size, count and head as they were
    at: datetime
    facts: bytes


def expire(
    segment: Segment, *, heads: Heads, now: datetime, commit: Callable[[Segment], None] = lambda state: None
) -> Tombstone:
    """Drops the file of a closed segment.  Done twice, it does no harm.

    First the tombstone, lasting, so that the gap explains itself; then `commit` of the state, so that nothing refers
    to the file any more; then the file.
    """
    if segment.state == "open":
        raise ValueError(f"{segment.name} is still written to; only a closed segment expires")
    line = heads.latest.get(segment.name)
    if line is None or line.event is not HeadEvent.EXPIRED:
        heads.note([(HeadEvent.EXPIRED, segment)], now)
    else:
        now = line.at
    state = replace(segment, state="expired")
    commit(state)
    path = segment_path(heads.directory, segment.name)
    try:
        if heads.files.size(path) is not None:
            heads.files.unlink(path)
            heads.files.fsync_directory(heads.directory)
    except OSError as error:
        raise StoreError(f"cannot delete {path}: {error}; check the disk and run gc again") from error
    return Tombstone(state, now, chain.tombstone(segment, now))
