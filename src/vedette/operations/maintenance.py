"""Archive, text cache and ledger kept in order by hand: all is verified, what has had its time goes, what is damaged
is set aside.

The last two need the store for themselves: HEADS has one writer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from vedette.app.head_stamps import stamp_now
from vedette.app.open_store import alone, archive_of
from vedette.config.model import Loaded
from vedette.contracts.errors import InputError, StoreWaitError
from vedette.contracts.watch import Segment
from vedette.core.evidence.segments import day_is_over, expired, worker_of
from vedette.evidence.files import StorageAway, files_of
from vedette.evidence.heads import head_files
from vedette.evidence.read_records import segment_path
from vedette.evidence.recovery import Damage, expire
from vedette.evidence.text_cache import TextCache
from vedette.evidence.verify import Claims, EvidenceProblem, ProblemKind, Report, verify
from vedette.operations.installation import Installation
from vedette.store import row_retention as retention
from vedette.store.claims import claims_of
from vedette.store.connection import StorePlace
from vedette.store.operator import operating
from vedette.store.sqlite import connect
from vedette.store.text_index import FILE, opened
from vedette.store.text_index_postgres import PostgresTextIndex

Progress = Callable[[int, int], None]
_IN_FILES = (
    ProblemKind.ALTERED,
    ProblemKind.UNREADABLE,
    ProblemKind.MISSING,
    ProblemKind.STRANGE,
    ProblemKind.BLOB,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What expired: archive files with all their visits, text made of them, and decisions of the ledger."""

    segments: tuple[Segment, ...]
    ledger: int
    texts: int  # documents whose text is no longer wanted
    versions: int = 0  # of what the scheduler published, that no decision on record names

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)


def collect(installation: Installation, *, is_trial: bool = False) -> Collected:
    """Drops what retention says is over.  A trial only says what would go.

    For each file: the tombstone, then one transaction that forgets its payloads, then the file; last the text that
    was made of what is gone.  Stopped anywhere, nothing is named that is not there, and the next call goes on.
    """
    loaded, now, path = installation.loaded, installation.now(), installation.store()
    before = _before(loaded.config.evidence.ledger, now)
    if is_trial:
        return _trial(loaded, path, now)
    text_cache = TextCache(loaded.data)
    with alone(loaded, path), _reached(loaded):
        over = _drop_segments(loaded, path, now)
        _gather(loaded, path)
        with closing(connect(path, read_only=True)) as db:
            texts = retention.not_kept(db, text_cache.digests())
        text_cache.drop(texts)
        dropped = 0
        while before is not None:
            with operating(path) as db:
                count = retention.drop_ledger(db, before)
            dropped += count
            if not count:
                break
        with operating(path) as db:
            versions = retention.drop_versions(db)
        _forget_words(loaded, path)
    return Collected(segments=tuple(over), ledger=dropped, texts=len(texts), versions=versions)


def _forget_words(loaded: Loaded, path: StorePlace) -> None:
    """What is gone is found no more."""
    if isinstance(path, Path) and not (loaded.data / FILE).exists():
        return
    with opened(loaded.data, path) if isinstance(path, Path) else closing(PostgresTextIndex(path)) as index:
        while index.drop_gone():
            pass


def collected_json(done: Collected) -> dict[str, object]:
    segments = [
        {"segment": s.name, "retention": s.retention, "day": s.day, "visits": s.count, "bytes": s.size}
        for s in done.segments
    ]
    counts = {"bytes": done.size, "ledger": done.ledger, "texts": done.texts, "versions": done.versions}
    return {**counts, "segments": segments}


def _trial(loaded: Loaded, path: StorePlace, now: datetime) -> Collected:
    before = _before(loaded.config.evidence.ledger, now)
    with closing(connect(path, read_only=True)) as db:
        over = _over(loaded, day_is_over(retention.segments(db), now), now)
        names = frozenset(segment.name for segment in over)
        texts = len(retention.not_kept(db, TextCache(loaded.data).digests(), without=names))
        ledger = retention.old_ledger(db, before) if before else 0
        versions = sum(map(len, retention.unnamed_versions(db)))
    return Collected(segments=tuple(over), ledger=ledger, texts=texts, versions=versions)


def verify_evidence(
    installation: Installation,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    ca: Path | None = None,
) -> Report:
    """Reads all evidence again; `quick`: rows, sizes and heads, not the records.  `ca`: whose time stamps count."""
    named = installation.loaded.config.evidence.time_stamps_ca
    roots = _roots(ca if ca is not None or named is None else Path(named))
    return _verified(installation.loaded, installation.store(), progress, is_quick=quick, roots=roots)


def _roots(path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def stamp_evidence(installation: Installation) -> int:
    """Has HEADS stamped now.  How many files of heads have a new time stamp."""
    return asyncio.run(stamp_now(installation.loaded, installation.clock))


def report_json(report: Report) -> dict[str, object]:
    return {
        "whole": report.is_whole,
        "segments": report.segments,
        "expired": report.expired,
        "visits": report.visits,
        "records": report.records,
        "bytes_read": report.bytes_read,
        "sealed_late": report.sealed_late,
        "stamps": report.stamps,
        "stamped_until": report.stamped_until,
        "problems_found": sum(report.found.values()),
        "problems": [_problem_json(problem) for problem in report.problems],
    }


def _problem_json(problem: EvidenceProblem) -> dict[str, object]:
    table, _, key = problem.row.partition(" ")
    if table == "changes":
        return {"kind": "change", "change": int(key), "problem": problem.words}
    body: dict[str, object] = {"kind": problem.kind.value, "segment": problem.segment, "seq": problem.seq}
    return body | ({"row": problem.row} if problem.row else {}) | {"problem": problem.words}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """What we go on without, and what setting aside cannot help."""

    damage: tuple[Damage, ...]  # set aside now
    payloads: int  # pages among them that are kept anew at their next look
    before: tuple[str, ...]  # files that were set aside earlier and are still damaged
    others: int  # problems of rows, seals and HEADS: no file of the archive


def set_aside_damaged(installation: Installation, *, progress: Progress | None = None) -> SetAside:
    """Goes on without what is not as it was committed: files that a start refuses, and records that were altered.

    Such files are closed as they are, and `verify` goes on naming them.  A page whose record cannot be read any more is
    asked without condition at its next look, so it is kept anew.
    """
    loaded, now, path = installation.loaded, installation.now(), installation.store()
    damage: list[Damage] = []
    payloads = 0
    with alone(loaded, path), _reached(loaded):
        report = _verified(loaded, path, progress)
        broken = _broken_records(report)
        for worker in _workers(loaded, path):
            found, lost = _set_aside_of(worker, loaded, path, broken, now)
            damage += found
            payloads += lost
    damaged = {one.segment for one in damage}
    return SetAside(
        damage=tuple(damage),
        payloads=payloads,
        before=tuple(
            sorted({one.segment for one in report.problems if one.kind in _IN_FILES} - damaged - {""})
        ),
        others=sum(count for kind, count in report.found.items() if kind not in _IN_FILES),
    )


def _set_aside_of(
    worker: str, loaded: Loaded, path: StorePlace, broken: dict[str, list[int]], now: datetime
) -> tuple[tuple[Damage, ...], int]:
    """One series of files: what is damaged, and how many payloads were lost with it."""
    archive = archive_of(loaded, worker)
    also = [Damage(name, _count(numbers)) for name, numbers in broken.items() if worker_of(name) == worker]
    with operating(path) as db:
        found = archive.recover(retention.segments(db), now=now, set_aside_damaged=True, also=also)
    payloads = 0
    with operating(path) as db:
        retention.save_segments(db, archive.sync())
        for name in {one.segment for one in found.damage}:
            payloads += retention.forget_payloads(db, name, beyond=_size(loaded, name))
            payloads += retention.forget_records(db, name, broken.get(name, ()))
    archive.committed(now)
    archive.close(now)
    return found.damage, payloads


def _workers(loaded: Loaded, path: StorePlace) -> list[str]:
    """All that ever wrote archive files here; the one engine of an embedded store has no name."""
    with closing(connect(path, read_only=True)) as db:
        named = (worker_of(segment.name) for segment in retention.segments(db))
        return sorted({"", *head_files(loaded.archive), *(one for one in named if one)})


def _verified(
    loaded: Loaded,
    path: StorePlace,
    progress: Progress | None,
    *,
    is_quick: bool = False,
    roots: bytes | None = None,
) -> Report:
    with claims_of(path) as store, _reached(loaded):

        def read() -> Claims:
            store.hold()
            return Claims(store.segments(), store.rows, store.blobs, store)

        return verify(loaded.archive, read, full=not is_quick, progress=progress, roots=roots)


def _broken_records(report: Report) -> dict[str, list[int]]:
    """By file, the numbers of the records that are not what was written."""
    broken: dict[str, list[int]] = {}
    for problem in report.problems:
        if problem.kind in (ProblemKind.ALTERED, ProblemKind.UNREADABLE) and problem.segment:
            numbers = broken.setdefault(problem.segment, [])
            numbers += [] if problem.seq is None else [problem.seq]
    return broken


def _count(numbers: list[int]) -> str:
    return f"{len(numbers) or 'the first'} of its records {'is' if len(numbers) < 2 else 'are'} not what was written"


def _drop_segments(loaded: Loaded, path: StorePlace, now: datetime) -> list[Segment]:
    return [one for worker in _workers(loaded, path) for one in _drop_series(worker, loaded, path, now)]


def _drop_series(worker: str, loaded: Loaded, path: StorePlace, now: datetime) -> list[Segment]:
    archive = archive_of(loaded, worker)
    with operating(path) as db:
        archive.recover(retention.segments(db), now=now)
    archive.roll(now)
    with operating(path) as db:
        retention.save_segments(db, archive.sync())
    archive.committed(now)
    with operating(path) as db:
        known = [one for one in retention.segments(db) if (worker_of(one.name) or "") == worker]

    def commit(state: Segment) -> None:
        with operating(path) as db:
            retention.save_segments(db, [state])
            retention.forget_payloads(db, state.name, beyond=0)

    over = _over(loaded, known, now)
    for segment in over:
        expire(segment, heads=archive.heads, now=now, commit=commit)
    archive.close(now)
    return over


def _gather(loaded: Loaded, path: StorePlace) -> None:
    """Files of a bucket that nobody appends to any more become one object each; so do heads, which nobody has open."""
    place, files = loaded.archive, files_of(loaded.archive)
    with closing(connect(path, read_only=True)) as db:
        open_ones = {segment.name for segment in retention.segments(db) if segment.state == "open"}
    for name in files.in_pieces(place):
        if name.removesuffix(".warc.gz") not in open_ones:
            files.gather(place / name)


@contextmanager
def _reached(loaded: Loaded) -> Iterator[None]:
    """A bucket that is away, in words."""
    try:
        yield
    except StorageAway as error:
        raise StoreWaitError(f"{loaded.archive}: {error}") from None


def _over(loaded: Loaded, segments: Iterable[Segment], now: datetime) -> list[Segment]:
    """What expired, and what an earlier call did not finish."""
    known = list(segments)
    policy = {name: keep for name, keep in loaded.config.evidence.retention.items() if keep is not None}
    left_over = [one for one in known if one.state == "expired" and _size(loaded, one.name)]
    return left_over + expired(known, policy, now)


def _before(keep: timedelta | None, now: datetime) -> datetime | None:
    try:
        return None if keep is None else now - keep
    except OverflowError:  # a retention that never ends, written as a very long time
        return None


def _size(loaded: Loaded, name: str) -> int:
    if worker_of(name) is None:  # HEADS
        return 0
    return files_of(loaded.archive).size(segment_path(loaded.archive, name)) or 0
