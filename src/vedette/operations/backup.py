"""A whole copy of a store, taken while an engine may be writing to it, and the way back.

The order makes it one: HEADS first, then one moment of the database, then of each archive file as many bytes as that
moment had committed.  HEADS is written after the database and the files before it, so what the copy of the database
covers is in the copied files, and no copied head is newer than it.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from vedette.app.process import locked
from vedette.contracts.errors import RESTORE, InputError, RefusedError, StoreError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.evidence.files import FULL, ArchivePlace, files_of
from vedette.evidence.heads import head_files
from vedette.evidence.read_records import segment_path
from vedette.evidence.text_cache import FOLDER
from vedette.evidence.time_stamps import STAMPS
from vedette.evidence.verify import Claims, Report, verify
from vedette.operations.installation import Installation
from vedette.store.claims import claims_of
from vedette.store.compliance import COMPLIANCE
from vedette.store.connection import connect, damage_of
from vedette.store.migrate import ARCHIVE, DATABASE, HEAD, version

MANIFEST = "BACKUP.json"
CONFIG = "vedette.yaml"
Progress = Callable[[int, int], None]
_PAGES = 4096  # of the database in one step
_CHUNK = 2**20
INDEX = ("search", "search-wal", "search-shm")  # made again from what is restored
_OURS = (DATABASE, *(f"{DATABASE}-{part}" for part in ("wal", "shm", *INDEX)), ARCHIVE, FOLDER, COMPLIANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """What a backup holds."""

    path: str
    made_at: str
    version: str  # revision of the database
    visits: int
    segments: int
    size: int  # bytes of the database and the archive
    problems: int = 0  # that `evidence verify` finds in it


def back_up(installation: Installation, target: Path, *, progress: Progress) -> Backup:
    """Makes `target`, a new folder, a whole copy of the store; verified.  Works while an engine runs."""
    loaded, source = installation.loaded, installation.store()
    if isinstance(source, PostgresAddress):
        raise RefusedError(
            f"the store is in {source}: back it up with pg_dump, and {loaded.data} with it, while no engine runs; "
            "or `vedette db copy` it into a folder and back that up"
        )
    _check_new(target)
    with _fresh_folder(target.parent, f".{target.name}-") as part:
        (part / ARCHIVE).mkdir(mode=0o700)
        _copy_heads(loaded.archive, part / ARCHIVE)
        _copy_database(source, part / DATABASE, progress)
        _copy_segments(loaded.archive, part)
        _copy_texts(loaded.data / FOLDER, part / FOLDER)
        if (loaded.data / COMPLIANCE).exists():
            _copy_database(loaded.data / COMPLIANCE, part / COMPLIANCE, lambda done, whole: None)
        if loaded.path is not None:
            _copy(loaded.path, part / CONFIG)
        made = _examined(part, made_at=installation.now().isoformat(), path=str(target), progress=progress)
        _write(part / MANIFEST, json.dumps(asdict(made), indent=2).encode())
        _make_lasting(part)
        part.rename(target)
    _sync_folder(target.parent)
    return made


def restore(installation: Installation, backup: Path, *, replace: bool, progress: Progress) -> Backup:
    """Makes the store what the backup holds.  What was there is moved aside, and only with `--replace`."""
    before, data = _read_manifest(backup), installation.loaded.data
    if not isinstance(installation.loaded.archive, Path):
        raise RefusedError(
            f"the archive is in {installation.loaded.archive}, and a backup has files: restore it with a configuration "
            "without evidence.storage, into a folder named by --data"
        )
    if before.version > HEAD:
        raise StoreError(
            f"{backup} was made by a newer version of vedette ({before.version}, this has {HEAD})"
        )
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    old = [name for name in _OURS if (data / name).exists() and not _is_empty(data / name)]
    if old and not replace:
        raise RefusedError(
            f"{data} holds a store ({', '.join(old)}); `vedette restore {backup} --replace` moves it aside first, "
            "or name another folder with --data"
        )
    with locked(data, doing=", restoring"), _fresh_folder(data, ".restore-") as part:
        _copy_all(backup, part)
        found = _examined(part, made_at=before.made_at, path=str(data), progress=progress)
        if found.visits != before.visits:
            raise StoreError(f"{backup} has {found.visits} looks, its manifest says {before.visits}")
        _make_lasting(part)
        _swap(data, part, old, data / f"before-restore-{installation.now():%Y%m%dT%H%M%S}")
    return found


def _check_new(target: Path) -> None:
    if target.exists() and not (target.is_dir() and _is_empty(target)):
        raise InputError(f"{target} is there already; a backup is a folder of its own: name a new one")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target}: {error.strerror}") from None


@contextmanager
def _fresh_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A private folder; removed again when the work in it fails, which becomes an error in words."""
    try:
        part = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError as error:
        raise StoreError(f"cannot write to {parent}: {error.strerror}") from None
    try:
        yield part
    except OSError as error:
        what = "the disk is full" if error.errno in FULL else error.strerror
        raise StoreError(f"cannot write to {parent}: {what}; nothing was changed") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy_heads(source: ArchivePlace, target: Path) -> None:
    """Whole lines; the last one may be under way.  Time stamps first: the lines that they are of come after."""
    stamped = [STAMPS] if files_of(source).size(source / STAMPS) is not None else []
    for name in (*stamped, *head_files(source).values()):
        with files_of(source).reader(source / name) as file:
            data = file.read()
        _write(target / name, data[: data.rfind(b"\n") + 1])


def _copy_database(source: Path, target: Path, progress: Progress) -> None:
    """One moment of it, however long the copying takes and whatever is committed meanwhile."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(connect(source, read_only=True)) as db, closing(sqlite3.connect(target)) as copy:
        try:
            db.execute("BEGIN")
            db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()  # from here on it is this moment
            db.backup(copy, pages=_PAGES, progress=lambda _, left, whole: progress(whole - left, whole))
            copy.execute(
                "PRAGMA journal_mode = DELETE"
            )  # one file; a log is made again when it is opened to write
            copy.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            raise StoreError(f"cannot copy {source}: {error}; {RESTORE}") from None


def _copy_segments(source: ArchivePlace, part: Path) -> None:
    """Of each file what the copied database covers; what was appended since is of a later moment."""
    with closing(connect(part / DATABASE, read_only=True)) as db:
        rows = db.execute("SELECT name, size FROM segments WHERE state <> 'expired'").fetchall()
    for name, size in rows:
        path = segment_path(source, name)
        with (
            suppress(FileNotFoundError),
            files_of(source).reader(path) as file,
        ):  # `verify` finds what is missing
            _copy_bytes(file, segment_path(part / ARCHIVE, name), size)


def _copy_texts(source: Path, target: Path) -> None:
    """Text that was made of documents.  What goes meanwhile can be made again."""
    for path in sorted(source.glob("??/*.zst")):
        place = target / path.parent.name / path.name
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            _copy(path, place)


def _copy_all(backup: Path, part: Path) -> None:
    (part / ARCHIVE).mkdir(mode=0o700)
    _copy(backup / DATABASE, part / DATABASE)
    if (backup / COMPLIANCE).exists():
        _copy(backup / COMPLIANCE, part / COMPLIANCE)
    for path in sorted((backup / ARCHIVE).iterdir()):
        _copy(path, part / ARCHIVE / path.name)
    _copy_texts(backup / FOLDER, part / FOLDER)


def _copy(source: Path, target: Path, size: int | None = None) -> None:
    """So many bytes of it, private."""
    with source.open("rb") as file:
        _copy_bytes(file, target, source.stat().st_size if size is None else size)


def _copy_bytes(file: BinaryIO, target: Path, left: int) -> None:
    handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "wb") as copy:
        while left > 0 and (data := file.read(min(left, _CHUNK))):
            copy.write(data)
            left -= len(data)


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(data)


def _examined(part: Path, *, made_at: str, path: str, progress: Progress) -> Backup:
    """Reads everything that was copied again."""
    found = damage_of(part / DATABASE)
    if found:
        raise StoreError(f"the copied database is damaged: {found}; nothing was changed")
    report = _verified(part, progress)
    with closing(connect(part / DATABASE, read_only=True)) as db:
        (visits,) = db.execute("SELECT COUNT(*) FROM visits").fetchone()
        (segments,) = db.execute("SELECT COUNT(*) FROM segments WHERE state <> 'expired'").fetchone()
    files = [part / DATABASE, *(part / ARCHIVE).iterdir()]
    return Backup(
        path=path,
        made_at=made_at,
        version=version(part / DATABASE) or "",
        visits=visits,
        segments=segments,
        size=sum(file.stat().st_size for file in files),
        problems=len(report.problems),
    )


def _verified(part: Path, progress: Progress) -> Report:
    with claims_of(part / DATABASE) as store:

        def read_claims() -> Claims:
            store.hold()
            return Claims(store.segments(), store.rows, store.blobs, store)

        return verify(part / ARCHIVE, read_claims, progress=progress)


def _read_manifest(backup: Path) -> Backup:
    try:
        return Backup(**json.loads((backup / MANIFEST).read_bytes()))
    except (OSError, ValueError, TypeError):
        raise InputError(
            f"{backup} is no backup, or not a whole one: it has no readable {MANIFEST}; `vedette backup` makes one"
        ) from None


def _swap(data: Path, part: Path, old: list[str], aside: Path) -> None:
    """The database goes first and comes last: stopped in between, there is no store, and nothing is lost."""
    if old:
        aside.mkdir(mode=0o700)
        for name in old:
            (data / name).rename(aside / name)
    for name in reversed(_OURS):
        if (data / name).is_dir():
            shutil.rmtree(data / name)  # empty, or it were aside
        if (part / name).exists():
            (part / name).rename(data / name)
    _sync_folder(data)


def _make_lasting(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        else:
            _sync_folder(path)
    _sync_folder(folder)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_empty(path: Path) -> bool:
    return path.is_dir() and next(path.iterdir(), None) is None
