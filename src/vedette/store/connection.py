"""Opens a store: to write, to read beside a writer, and to read where nothing may be written; for its owner alone.

WAL with synchronous=FULL.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, overload
from urllib.parse import quote

from vedette.contracts.errors import NO_MORE_FILES, RESTORE, ConfigError, StoreError, StoreWaitError
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection

StorePlace: TypeAlias = Path | PostgresAddress  # a file of SQLite, or a database of PostgreSQL
Order: TypeAlias = tuple[str, Any]  # a statement with rows to write, or with values of a question
BEGIN = "BEGIN IMMEDIATE"  # takes the write lock at once: a reader that writes later could only fail
BUSY_MS = 15_000
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
THOROUGH = 512 * 1024 * 1024  # bytes of a database
LEAST_ROOM = 256 * 1024  # bytes; with less a disk counts as full
CACHE_KIB = 4 * 1024  # of each connection; the system keeps the rest (ADR-0084)
IN_AT_ONCE = 500  # keys of one statement
_READING = (f"busy_timeout = {BUSY_MS}", f"cache_size = -{CACHE_KIB}", "schema_version")  # the last one reads
_WRITING = (*_READING, "journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 0")
_NOT_FROM_HERE = ("readonly", "unable to open")  # what SQLite says where it may not write beside the file


@overload
def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection: ...
@overload
def connect(path: StorePlace, *, read_only: bool = False) -> SqlConnection: ...


def connect(path: StorePlace, *, read_only: bool = False) -> SqlConnection:
    """A connection with our pragmas.  Autocommit: transactions are ours to begin and end."""
    if isinstance(path, PostgresAddress):
        server: SqlConnection = postgres_driver().PostgresConnection(path, read_only=read_only)
        return server
    if not path.exists():
        raise StoreError(f"no store at {path}; run `vedette init` in this folder, or name one with --data")
    try:
        return connect_to_read(path) if read_only else _opened(path, "mode=rw", _WRITING)
    except sqlite3.DatabaseError as error:
        if may_wait(error, path):
            raise told(error, path) from None
        raise StoreError(unusable(path, error)) from None


def connect_named(path: StorePlace) -> SqlConnection:
    """To read, with rows that are also read by the names of their columns."""
    if isinstance(path, PostgresAddress):
        server: SqlConnection = postgres_driver().PostgresConnection(path, read_only=True, names=True)
        return server
    db = connect(path, read_only=True)
    db.row_factory = sqlite3.Row
    return db


def postgres_driver() -> Any:
    """The module `store/postgres.py`, with psycopg, which the embedded form does without."""
    try:
        from vedette.store import postgres
    except ImportError:
        raise ConfigError(
            "DATABASE_URL names PostgreSQL, and its driver is not installed: pip install 'vedette[pg]'"
        ) from None
    return postgres


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Reads a store wherever it lies: where nothing may be written, and where a kill left something to take up.

    Tried in turn: as a reader; as a writer that may only read, which can take up a log that a kill left; without the
    log, where there is none to read; a copy with its log in a folder that is ours.
    """
    try:
        return _opened(path, "mode=ro", _READING)
    except sqlite3.OperationalError as error:
        if path.is_dir() or not any(word in str(error) for word in _NOT_FROM_HERE):
            raise
    try:
        return _opened(path, "mode=rw", (*_READING, "query_only = ON"))
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if not log.exists() or log.stat().st_size == 0:
            return _opened(path, "mode=ro&immutable=1", _READING)
        return _copied(path, log)


def unusable(path: StorePlace, error: sqlite3.Error) -> str:
    """What is wrong with a file that should be a store, and what to do."""
    words = str(error)
    if isinstance(path, PostgresAddress):
        return _of_server(path, error)
    if path.is_dir():
        return f"{path} is a folder, not a store; name another folder with --data"
    if "readonly" in words or ("unable to open" in words and path.exists()):
        return (
            f"{path} can only be read here, and this needs to write ({words}); list, show, changes and evidence verify "
            "work as it is; for the rest give write permission to the folder and its files, or copy it elsewhere"
        )
    if code_of(error) == sqlite3.SQLITE_CORRUPT:
        return f"{path} is damaged: {words}; {RESTORE}"
    return f"{path} is not a usable store: {words}; {RESTORE}"


def tables_of(path: StorePlace) -> str:
    """A query for the names of its tables, but for the one of the revisions."""
    if isinstance(path, PostgresAddress):
        own = "schemaname = current_schema()"
        return f"SELECT tablename FROM pg_tables WHERE {own} AND tablename <> 'alembic_version' ORDER BY 1"
    return (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' "
        "AND name <> 'alembic_version' ORDER BY name"
    )


def use_wal(path: Path) -> None:
    """Cannot be said within a transaction."""
    db = sqlite3.connect(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")
    finally:
        db.close()


class _Copied(sqlite3.Connection):
    """A copy that goes when it is closed."""

    folder: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        super().close()
        if self.folder is not None:
            self.folder.cleanup()


def _copied(path: Path, log: Path) -> sqlite3.Connection:
    folder = tempfile.TemporaryDirectory(prefix="vedette-")
    copy = Path(folder.name) / path.name
    shutil.copyfile(path, copy)
    shutil.copyfile(log, copy.with_name(log.name))
    db = _opened(copy, "mode=rw", (*_READING, "query_only = ON"), _Copied)
    if isinstance(db, _Copied):
        db.folder = folder
    return db


def _opened(
    path: Path, how: str, pragmas: Iterable[str], kind: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(str(path))}?{how}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=kind,
    )
    try:
        for pragma in pragmas:
            db.execute(f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


def in_parts(db: SqlConnection, query: str, keys: Sequence[Any], *more: Any) -> Iterator[Any]:
    """The rows of `... IN ({marks})` however many keys there are; `more` are the values after them.

    The last key is named several times, so that a query has few texts: each is parsed once and kept parsed.
    """
    for start in range(0, len(keys), IN_AT_ONCE):
        part = keys[start : start + IN_AT_ONCE]
        spare = min(1 << (len(part) - 1).bit_length(), IN_AT_ONCE) - len(part)
        yield from db.execute(_spelled(query, len(part) + spare), (*part, *[part[-1]] * spare, *more))


@lru_cache(maxsize=1024)
def _spelled(query: str, count: int) -> str:
    return query.format(marks=marks(range(count)))


def answers(db: SqlConnection, query: str, rows: Sequence[Any]) -> Iterable[list[Any]]:
    """What the query gives for each of these rows of values.  A server is asked for all of them at once."""
    if isinstance(db, sqlite3.Connection):
        return (db.execute(query, values).fetchall() for values in rows)
    server: Any = db
    found: list[list[Any]] = server.answers(query, rows)
    return found


def at_once(db: SqlConnection, orders: Sequence[Order]) -> list[list[Any]]:
    """A server is told all of these in one trip.

    Gives what each was answered, nothing where rows were written.
    """
    if not isinstance(db, sqlite3.Connection):
        server: Any = db
        found: list[list[Any]] = server.at_once(orders)
        return found
    told: list[list[Any]] = []
    for statement, values in orders:
        if isinstance(values, list):
            db.executemany(statement, values)
            told.append([])
        else:
            told.append(db.execute(statement, values).fetchall())
    return told


def marks(values: Sequence[Any]) -> str:
    """For one value each."""
    return ",".join("?" * len(values))


@contextmanager
def all_or_nothing(db: SqlConnection) -> Iterator[None]:
    """A transaction that writes: committed at the end, rolled back where anything is raised."""
    try:
        db.execute(BEGIN)
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


@contextmanager
def transaction(db: SqlConnection, path: StorePlace) -> Iterator[SqlConnection]:
    """All of it, or nothing; what SQLite cannot do is raised in our words."""
    try:
        with all_or_nothing(db):
            yield db
    except sqlite3.Error as error:
        if may_wait(error, path) or code_of(error) in DAMAGED:
            raise told(error, path) from error
        raise StoreError(f"cannot write to {path}: {error}; nothing was changed") from error


@contextmanager
def operating(path: StorePlace) -> Iterator[SqlConnection]:
    """One transaction of the operator: all of it, or nothing."""
    db = connect(path)
    try:
        with transaction(db, path):
            yield db
    finally:
        db.close()


def told(error: sqlite3.Error, path: StorePlace) -> StoreError:
    """What a database cannot do, as what we raise."""
    kind = StoreWaitError if may_wait(error, path) else StoreError
    return kind(what_to_do(error, path))


def code_of(error: BaseException) -> int:
    """The primary code of SQLite; 0: none."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def damage_of(path: Path) -> str:
    """What is wrong with the pages of a database; empty: nothing that SQLite can find.

    Small ones are read more thoroughly: every entry of every index is looked up.
    """
    check = "integrity_check" if path.stat().st_size <= THOROUGH else "quick_check"
    try:
        with closing(connect(path, read_only=True)) as db:
            (found,) = db.execute(f"PRAGMA {check}(1)").fetchone()
    except sqlite3.DatabaseError as error:
        found = str(error)
    return "" if found == "ok" else str(found)


def may_wait(error: sqlite3.Error, path: StorePlace) -> bool:
    """Will the same work later, when somebody has freed the disk or let go of the lock?"""
    if isinstance(path, PostgresAddress):
        return bool(getattr(error, "may_wait", False))
    code = code_of(error)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return True
    if code not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return False
    return _is_full(path) or _has_no_files()


def comes_back(error: BaseException | None, path: StorePlace) -> bool:
    """True where it is the store that takes nothing just now, in whichever words it was said."""
    if isinstance(error, BaseExceptionGroup):
        return all(comes_back(one, path) for one in error.exceptions)
    if isinstance(error, sqlite3.Error):
        return may_wait(error, path)
    return isinstance(error, StoreWaitError)


def _is_full(path: Path) -> bool:
    """SQLite calls it an I/O error when the disk has no room for its shared memory."""
    try:
        return shutil.disk_usage(path.parent).free < LEAST_ROOM
    except OSError:
        return False


def _has_no_files() -> bool:
    """SQLite cannot open a file because nobody here can: too many are open."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def what_to_do(error: sqlite3.Error, path: StorePlace) -> str:
    """What a database cannot do while we run, in words that say what to do."""
    words = str(error)
    if isinstance(path, PostgresAddress):
        return _of_server(path, error)
    if _has_no_files():
        return f"cannot use {path}: {NO_MORE_FILES}; nothing acknowledged is lost"
    if "full" in words or (may_wait(error, path) and "locked" not in words):
        return f"the disk under {path} is full; free room and start again, nothing acknowledged is lost"
    if "locked" in words:
        return (
            f"another program holds {path}: it has not let anyone write for {BUSY_MS // 1000} s; "
            "nothing acknowledged is lost; let it end (`fuser` names it)"
        )
    if code_of(error) in DAMAGED:
        return f"{path} is damaged: {words}; `vedette doctor` says more; {RESTORE}"
    return f"cannot use {path}: {words}; nothing acknowledged is lost, start again after mending it"


def _of_server(address: PostgresAddress, error: sqlite3.Error) -> str:
    if getattr(error, "lacks_right", False):
        return f"{address}: {error}; its owner can GRANT the right to the role of DATABASE_URL; nothing was changed"
    if getattr(error, "is_full", False):
        return (
            f"the disk of {address} is full: {error}; free room on the server, or give it a larger disk; nothing "
            "acknowledged is lost, and a run goes on when there is room"
        )
    if may_wait(error, address):
        return f"{address} does not answer: {error}; nothing acknowledged is lost, start again when it does"
    return f"cannot use {address}: {error}; nothing acknowledged is lost"


# A store is for its owner alone: folders 0700, files 0600, whatever the umask was when they were made.

FOLDER, FILE, OTHERS = 0o700, 0o600, 0o077
_OURS = ("vedette.db", "lock", "archive", "artifacts", "before-restore-", ".restore-")


def make_folder(path: Path) -> None:
    """The folder, and those above it that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=FOLDER, exist_ok=True)


def make_file(path: Path) -> None:
    """An empty one, where there is none.

    One that is there is not opened: closing a database's file drops the locks that this process has on it, and another
    process then takes the write-ahead log away.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE))


def mend(data: Path) -> int:
    """Takes every right from others that a store of before gave them; how many files and folders had any.

    Costs a few calls when there is nothing to do.  A folder that holds other things than ours keeps its rights, and
    so does what is not ours to change.
    """
    gates = [path for path in (data, data / "vedette.db", data / "archive") if path.exists()]
    if not any(_is_open(path) for path in gates):
        return 0
    return sum(_close(path) for path in _all(data))


def _all(data: Path) -> Iterator[Path]:
    entries = list(data.iterdir()) if os.access(data, os.R_OK | os.X_OK) else []
    ours = [path for path in entries if path.name.startswith(_OURS)]
    if len(ours) == len(entries):
        yield data
    for path in ours:
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from path.rglob("*")


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False


def _close(path: Path) -> bool:
    if path.is_symlink() or not _is_open(path):
        return False
    try:
        path.chmod(path.stat().st_mode & 0o7777 & ~OTHERS)
    except OSError:  # another's, or on a medium that is only read
        return False
    return True
