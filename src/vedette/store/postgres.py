"""A connection to PostgreSQL that takes the statements of the store as the module `sqlite3` takes them.

What differs between the two is here and nowhere else: marks, how a transaction begins, types of values, faults.
Write transactions of one store follow each other, as in SQLite: the chain of seals has one end.
"""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import errors
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.types.string import StrDumperUnknown

from vedette.contracts.errors import RefusedError, StoreError, StoreWaitError, TakenOverError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.core.lanes.visit import LEASE

BUSY_MS = 15_000
ENDING_MS = 1_000  # until a session that was closed is gone
CONNECT_S = 10
STARTING = "the database system is "  # starting up, shutting down, in recovery mode
AGAIN_S, STARTING_TRIES, SERIES_TRIES = 0.2, 150, 25
OLDEST = 13  # major version of the server
# Classes of our advisory locks: a transaction that writes, a whole run, a series of archive files.
WRITERS, ENGINE, SERIES = 0x76656474, 0x76656475, 0x76656476
WRITERS_LOCK = f"pg_advisory_xact_lock({WRITERS}, hashtext(current_schema()))"
# A process that is stopped in the middle of a transaction holds up all that write: the server ends its session.  The
# second bound is that of a worker among several, and is as long as a lease of its lanes; it needs PostgreSQL 17.
STOPPED_MS, LEASE_MS, BOUNDS_WHOLE = 20_000, LEASE // timedelta(milliseconds=1), 170_000
# Transactions as the store begins them.  The lock is what BEGIN IMMEDIATE is in SQLite.
_BEGINS = {
    "BEGIN IMMEDIATE": (
        f"BEGIN; SET LOCAL idle_in_transaction_session_timeout = {STOPPED_MS}; SELECT {WRITERS_LOCK}"
    ),
    "BEGIN": "BEGIN ISOLATION LEVEL REPEATABLE READ",  # one moment for every answer
}
_PLAIN_BEGIN = "START TRANSACTION"
OWN_TABLES = "SELECT to_regclass('alembic_version') IS NOT NULL, to_regclass('watches') IS NOT NULL"
_OWN_SCHEMA = (
    "give vedette a schema of its own: CREATE SCHEMA vedette, and at the end of DATABASE_URL "
    "?options=-csearch_path%3Dvedette"
)
_NUL, _INSTEAD = "\x00", "\ufffd"  # PostgreSQL has no text with a zero in it
_MARK = re.compile(r":([a-z_]+)")
# Which index SQLite takes, or does not (`+column`), is no matter here: PostgreSQL has statistics.
_HINTS = re.compile(r" (?:INDEXED BY \w+|NOT INDEXED)\b|(?<=[ (])\+(?=[a-z_.]+ (?:IN|=)[ (])")
# SQLite takes an empty list.
_OF_NONE = ((re.compile(r"\S+ NOT IN \(\)"), "TRUE"), (re.compile(r"\S+ IN \(\)"), "FALSE"))


_Session: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_T = TypeVar("_T")
Order: TypeAlias = tuple[str, Any]  # a statement with a list of rows, or with the values of a question
_STOPPED = ("25P03", "25P04")  # the server ended our session, because its transaction took too long
_READS = ("SELECT ", "WITH RECURSIVE ")  # no statement of ours that begins so writes


class PostgresFault(sqlite3.OperationalError):
    """The server did not do it.  `may_wait`: later it may."""

    def __init__(
        self, words: str, *, may_wait: bool = False, lacks_right: bool = False, is_full: bool = False
    ) -> None:
        super().__init__(words)
        self.may_wait = may_wait
        self.lacks_right = lacks_right
        self.is_full = is_full  # its disk is


class PostgresRowRefused(sqlite3.IntegrityError):
    """A rule of the table, or a value that its column does not take."""


class NamedRow(tuple[Any, ...]):
    """A row that is also read by the names of its columns."""

    __slots__ = ()
    places: Mapping[str, int] = {}

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self.places[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        return list(self.places)


class PostgresCursor:
    """An answer, whole on our side."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self.rowcount = cursor.rowcount
        self.description = cursor.description
        self._rows = iter(cursor.fetchall() if cursor.description else ())

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)


class PostgresConnection:
    """One session, of one thread.  A session that was cut off is opened anew, outside of a transaction."""

    def __init__(self, address: PostgresAddress, *, read_only: bool = False, names: bool = False) -> None:
        self._address = address
        self._read_only = read_only
        self._names = names
        self._is_engine = False
        self._is_shared = False
        self._is_bound = False  # its writes end with the leases of its lanes
        self._series = 0  # number of the series of archive files that is ours; 0: none
        with _faults():
            self._db = self._opened()

    @classmethod
    def of(cls, db: _Session) -> PostgresConnection:
        """A session that is open already, with our types from here on."""
        made = cls.__new__(cls)
        made._db = with_our_types(db)
        return made

    @property
    def in_transaction(self) -> bool:
        return not self._db.closed and self._db.info.transaction_status != TransactionStatus.IDLE

    def execute(self, statement: str, values: Any = (), /) -> PostgresCursor:
        begins = _BEGINS.get(statement)
        if begins is not None:
            words, given = _plain(begins), None
        else:
            words, given = translated(statement, isinstance(values, dict)), values
        # What only reads, and what begins a transaction, may be said again: the session that heard it first is gone.
        may_repeat = begins is not None or statement.startswith(_READS)
        return self._said(lambda db: PostgresCursor(db.execute(words, given)), may_repeat=may_repeat)

    def executemany(self, statement: str, rows: Iterable[Any], /) -> PostgresCursor:
        def say(db: _Session) -> PostgresCursor:
            with db.cursor() as cursor:
                cursor.executemany(translated(statement, False), rows)
                return PostgresCursor(cursor)

        return self._said(say)

    def answers(self, statement: str, rows: Sequence[Any]) -> list[list[Any]]:
        """All of these are sent before the first is waited for."""

        def say(db: _Session) -> list[list[Any]]:
            with db.cursor() as cursor:
                cursor.executemany(translated(statement, False), rows, returning=True)
                found = [cursor.fetchall()]
                while cursor.nextset():
                    found.append(cursor.fetchall())
                return found

        return self._said(say, may_repeat=statement.startswith(_READS)) if rows else []

    def at_once(self, orders: Sequence[Order]) -> list[list[Any]]:
        """One trip: rows that are written (a list of them), and what each question (values) is answered.

        The first order may begin a transaction.  Nothing after an order that fails is done.
        """

        def say(db: _Session) -> list[list[Any]]:
            with db.pipeline():
                told = [_ordered(db, order) for order in orders]
            return [[] if one is None or not one.description else one.fetchall() for one in told]

        if not orders:
            return []
        begins = orders[0][0] in _BEGINS or orders[0][0] == _PLAIN_BEGIN
        may_repeat = all(one.startswith(_READS) for one, _ in orders[1 if begins else 0 :])
        return self._said(say, may_repeat=may_repeat)

    def copy_in(self, statement: str, rows: Iterable[Any]) -> None:
        """COPY ... FROM STDIN: the quickest way for many rows."""

        def say(db: _Session) -> None:
            with db.cursor() as cursor, cursor.copy(_plain(statement)) as copy:
                for row in rows:
                    copy.write_row(row)

        self._said(say)

    def close(self) -> None:
        self._db.close()

    def _said(self, say: Callable[[_Session], _T], *, may_repeat: bool = False) -> _T:
        """What the server answers; its faults are raised as `sqlite3`'s, whoever of the driver raised them.

        A session that was cut shows it with the next statement.  Outside of a transaction a statement that may be
        repeated is said once more, on a new one.
        """
        with _faults():
            if self._db.closed or self._db.broken:
                self._db = self._opened()
            was_open = self.in_transaction
            try:
                return say(self._db)
            except psycopg.OperationalError:
                if was_open or not may_repeat or not (self._db.closed or self._db.broken):
                    raise
            self._db = self._opened()
            return say(self._db)

    def take_engine_lock(self, *, shared: bool = False) -> None:
        """One engine per store, on whichever machine, or any number of those that share it.

        The lock is of this session, and of one that replaces it.
        """
        with _faults():
            _take_engine_lock(self._db, self._address, shared=shared)
        self._is_engine, self._is_shared = True, shared

    def bind_writes(self) -> None:
        """From here on lanes are held: until then a write of many rows may take its time."""
        self._is_bound = True
        with _faults():
            _bound(self._db)

    def take_series(self, number: int) -> bool:
        """The series of archive files with this number is ours until the session ends; False: it is another's."""
        with _faults():
            is_ours = _take_series(self._db, number)
        self._series = number if is_ours else self._series
        return is_ours

    def leave_series(self) -> None:
        number, self._series = self._series, 0
        if number:
            with _faults():
                self._db.execute(_plain(f"SELECT pg_advisory_unlock({_series_key(number)})"))

    def _opened(self) -> _Session:
        db = open_session(self._address)
        reads = "; SET default_transaction_read_only = on" if self._read_only else ""
        db.execute(_plain(f"SET lock_timeout = {BUSY_MS}{reads}"))
        if self._names:
            db.row_factory = _named
        if self._is_engine:
            _take_engine_lock(db, self._address, shared=self._is_shared)
            if self._is_bound:
                _bound(db)
        if self._series and not _take_series_back(db, self._series):
            db.close()
            raise TakenOverError(
                f"while {self._address} was away, another worker took the archive files w{self._series} over; "
                "nothing acknowledged is lost"
            )
        return db


def open_session(address: PostgresAddress) -> _Session:
    """A session with our types: what it gives is what SQLite gives for the same rows."""
    try:
        db = _connected(address)
    except psycopg.ProgrammingError:
        raise StoreError(f"DATABASE_URL is not an address of PostgreSQL: {_FORM}") from None
    except psycopg.OperationalError as error:
        raise StoreWaitError(
            f"cannot connect to {address}: {first_line(error)}; is the server up, and DATABASE_URL right?  {_FORM}"
        ) from None
    if found := too_old(db.info.server_version):
        db.close()
        raise StoreError(f"{address}: {found}")
    return with_our_types(db)


def _connected(address: PostgresAddress) -> _Session:
    """A server that says that it is just starting is waited for."""
    tries = STARTING_TRIES
    while True:
        try:
            return psycopg.connect(
                address.url, autocommit=True, connect_timeout=CONNECT_S, application_name=_who()
            )
        except psycopg.OperationalError as error:
            if STARTING not in str(error) or not tries:
                raise
        tries -= 1
        time.sleep(AGAIN_S)


def with_our_types(db: _Session) -> _Session:
    db.adapters.register_loader("bool", _NumberOfBool)
    db.adapters.register_loader("numeric", _NumberOfNumeric)
    db.adapters.register_dumper(str, _TextWithoutNul)
    return db


def _take_series_back(db: _Session, number: int) -> bool:
    """A worker that starts tries the number for a moment, finds the lock of its files, and lets it go."""
    for _ in range(SERIES_TRIES):
        if _take_series(db, number):
            return True
        time.sleep(AGAIN_S)
    return False


def _take_engine_lock(db: _Session, address: PostgresAddress, *, shared: bool = False) -> None:
    """A session that has just been closed still has its lock for a moment."""
    how = "pg_advisory_lock_shared" if shared else "pg_advisory_lock"
    try:
        db.execute(_plain(f"SET lock_timeout = {ENDING_MS}"))
        db.execute(_plain(f"SELECT {how}({ENGINE}, hashtext(current_schema()))"))
    except errors.LockNotAvailable:
        db.execute(_plain(f"SET lock_timeout = {BUSY_MS}"))
        holder = db.execute(_plain(_HOLDER)).fetchone()
        raise RefusedError(
            f"the store {address} is in use by {holder[0] if holder else 'another engine'}; stop it first"
        ) from None
    db.execute(_plain(f"SET lock_timeout = {BUSY_MS}"))


def _bound(db: _Session) -> None:
    """Writes of a worker end with its leases: lanes that a stopped one has in its hands could be taken by nobody."""
    if db.info.server_version >= BOUNDS_WHOLE:
        db.execute(_plain(f"SET transaction_timeout = {LEASE_MS}"))


def _take_series(db: _Session, number: int) -> bool:
    row = db.execute(_plain(f"SELECT pg_try_advisory_lock({_series_key(number)})")).fetchone()
    return row is not None and bool(row[0])


def _series_key(number: int) -> str:
    return f"{SERIES}, hashtext(current_schema() || '/{number:d}')"


def _who() -> str:
    return f"vedette pid {os.getpid()} on {socket.gethostname()}"[:63]


_HOLDER = (
    "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' "
    f"AND l.classid = {ENGINE} AND l.granted AND a.datname = current_database()"
)
_FORM = "write postgresql://user:password@host:5432/name"


def postgres_version(address: PostgresAddress) -> str | None:
    """The revision of the store in this database, None: there is none."""
    db = PostgresConnection(address, read_only=True)
    try:
        has_version, has_watches = db.execute(OWN_TABLES).fetchone()
        if has_version != has_watches:
            raise StoreError(f"{address} has tables of another program under our names; {_OWN_SCHEMA}")
        row = db.execute("SELECT version_num FROM alembic_version").fetchone() if has_version else None
    except PostgresFault as error:
        raise refused(address, error) from None
    finally:
        db.close()
    return row[0] if row else None


def works_with(address: PostgresAddress) -> str | None:
    """The oldest revision whose programs work with this store, as the version that brought it up says."""
    db = PostgresConnection(address, read_only=True)
    try:
        row = db.execute("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')").fetchone()
    finally:
        db.close()
    found = _WORKS_WITH.search(row[0] or "") if row else None
    return found[1] if found else None


def says_works_with(revision: str) -> str:
    """The statement that writes it."""
    return f"COMMENT ON TABLE alembic_version IS 'programs of revision {revision} and newer work with this store'"


_WORKS_WITH = re.compile(r"programs of revision (\w+) and newer")


def refused(address: PostgresAddress, error: PostgresFault) -> StoreError:
    """What the server does not do, and what to do about it."""
    if error.may_wait:
        return StoreWaitError(
            f"{address} does not answer: {error}; nothing was changed, start again when it does"
        )
    if error.lacks_right:
        return StoreError(
            f"{address}: {error}; the owner of the database can give the right: GRANT CREATE, USAGE ON SCHEMA public "
            "TO the role, or for a store that is there GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES"
        )
    return StoreError(f"{address}: {error}; nothing was changed")


def too_old(server: int) -> str:
    """What is said of a server of this version number; empty: it is new enough."""
    major = server // 10_000
    return "" if major >= OLDEST else f"PostgreSQL {major} is too old, {OLDEST} or newer is needed"


def fault(error: psycopg.Error) -> sqlite3.Error:
    """What PostgreSQL cannot do, as `sqlite3` would raise it."""
    words = first_line(error)
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
        return PostgresRowRefused(words)
    if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
        return PostgresFault(words, lacks_right=True)
    is_full = isinstance(error, errors.DiskFull)
    may_wait = isinstance(error, psycopg.OperationalError) or error.sqlstate in _STOPPED
    return PostgresFault(words, may_wait=may_wait, is_full=is_full)


def _ordered(db: _Session, order: Order) -> psycopg.Cursor[Any] | None:
    statement, values = order
    if begins := _BEGINS.get(statement):
        for one in begins.split("; "):
            db.execute(_plain(one))
        return None
    if isinstance(values, list):
        with db.cursor() as cursor:
            cursor.executemany(translated(statement, False), values)
        return None
    return db.execute(translated(statement, False), values)


@contextmanager
def _faults() -> Iterator[None]:
    """No error of the driver leaves this module as it is."""
    try:
        yield
    except psycopg.Error as error:
        raise fault(error) from error


def first_line(error: Exception) -> str:
    """Without what the server quotes of the rows."""
    return (str(error).strip().splitlines() or ["no words"])[0]


@lru_cache(maxsize=1024)
def translated(statement: str, has_names: bool) -> Any:
    """The statement with the marks of psycopg."""
    text = _HINTS.sub("", statement).replace("%", "%%")
    for form, words in _OF_NONE:
        text = form.sub(words, text)
    return _MARK.sub(r"%(\1)s", text) if has_names else text.replace("?", "%s")


def _plain(statement: str) -> Any:
    """psycopg wants to see a literal; everything in here is ours."""
    return statement


def _named(cursor: psycopg.Cursor[Any]) -> Any:
    return _row_of(tuple(column.name for column in cursor.description or ()))


@lru_cache(maxsize=256)
def _row_of(columns: tuple[str, ...]) -> type[NamedRow]:
    return type("Row", (NamedRow,), {"__slots__": (), "places": {name: n for n, name in enumerate(columns)}})


class _NumberOfBool(Loader):
    def load(self, data: Any) -> int:
        return 1 if bytes(data) == b"t" else 0


class _NumberOfNumeric(Loader):
    """A sum of whole numbers is numeric in PostgreSQL."""

    def load(self, data: Any) -> int | float:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


class _TextWithoutNul(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace(_NUL, _INSTEAD) if _NUL in obj else obj)
