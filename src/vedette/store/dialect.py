"""One SQL for SQLite and PostgreSQL: marks are `?`, upserts are `ON CONFLICT`.  What differs is in here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vedette.contracts.errors import ConfigError, StoreError
from vedette.contracts.sql_connection import SqlConnection
from vedette.store.connection import all_or_nothing, postgres_driver

if TYPE_CHECKING:
    import psycopg

BUSY_MS = 15_000
CONNECT_S = 10
COPY_FROM = 50  # rows; below that the stage costs more than it saves
Values = Sequence[Any]


class RowRefused(StoreError):
    """The database takes a row as it is for no price: its width, its type, a rule of the table."""


@dataclass(frozen=True, slots=True)
class Insert:
    """Rows for one table.  With an upsert no two of the rows may have the same key."""

    table: str
    columns: tuple[str, ...]
    conflict: str = ""  # ON CONFLICT ...

    @property
    def names(self) -> str:
        return ", ".join(f'"{name}"' for name in self.columns)

    @property
    def statement(self) -> str:
        marks = ", ".join("?" * len(self.columns))
        return f'INSERT INTO "{self.table}" ({self.names}) VALUES ({marks}) {self.conflict}'.rstrip()


class Sql(Protocol):
    """A connection of one thread."""

    name: str

    @property
    def connection(self) -> SqlConnection:
        """The same session, as the store takes it."""
        ...

    def rows(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]: ...

    def run(self, statement: str, values: Values = ()) -> int:
        """How many rows it touched."""
        ...

    def many(self, statement: str, values: Sequence[Values]) -> None: ...

    def insert(self, what: Insert, rows: Sequence[Values]) -> int:
        """All of these rows, the way that is cheapest for so many.  Gives how many it wrote."""
        ...

    def transaction(self) -> Any:
        """A context: all of it, or nothing of it.  Raises StoreError."""
        ...

    def savepoint(self) -> Any:
        """A context within a transaction: what fails in it is undone alone.  Raises RowRefused for a fault of a row."""
        ...

    def columns(self, table: str) -> list[str]:
        """Of the table; none: there is no such table."""
        ...

    def close(self) -> None: ...


def open_sql(url: str, *, read_only: bool = False) -> Sql:
    """`sqlite:///path`, `postgresql://...` or `postgres://...`.  `read_only`: nothing can be written through it."""
    kind, mark, rest = url.partition("://")
    if mark and kind == "sqlite":
        return SqliteSql(Path(rest.removeprefix("/")), read_only=read_only)
    if mark and kind in ("postgresql", "postgres"):
        return PostgresSql(url, read_only=read_only)
    raise bad_url()


def bad_url() -> ConfigError:
    """The address itself is not shown: it may hold a password."""
    return ConfigError("DATABASE_URL: write sqlite:///path or postgresql://user@host:5432/name")


class SqliteSql:
    name = "sqlite"

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        address = f"{path.resolve().as_uri()}?mode=ro" if read_only else str(path)
        pragmas = ("query_only = 1",) if read_only else ("journal_mode = WAL", "synchronous = FULL")
        try:
            self.db = sqlite3.connect(
                address, isolation_level=None, check_same_thread=False, cached_statements=256, uri=read_only
            )
            for pragma in (f"busy_timeout = {BUSY_MS}", *pragmas):
                self.db.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            raise StoreError(f"cannot use {path}: {error}") from None

    @property
    def connection(self) -> SqlConnection:
        return self.db

    def rows(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        return self.db.execute(statement, values).fetchall()

    def run(self, statement: str, values: Values = ()) -> int:
        return self.db.execute(statement, values).rowcount

    def many(self, statement: str, values: Sequence[Values]) -> None:
        self.db.executemany(statement, values)

    def insert(self, what: Insert, rows: Sequence[Values]) -> int:
        return self.db.executemany(what.statement, rows).rowcount if rows else 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            with all_or_nothing(self.db):
                yield
        except (sqlite3.Error, OverflowError) as error:
            kind = RowRefused if isinstance(error, _OF_A_ROW) else StoreError
            raise kind(f"cannot write to {self._path}: {error}; nothing was changed") from error

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.db.execute("SAVEPOINT one")
        try:
            yield
        except _OF_A_ROW as error:
            self.db.execute("ROLLBACK TO one")
            raise RowRefused(str(error)) from error
        finally:
            if self.db.in_transaction:
                self.db.execute("RELEASE one")

    def columns(self, table: str) -> list[str]:
        return [name for (name,) in self.rows("SELECT name FROM pragma_table_info(?)", (table,))]

    def close(self) -> None:
        self.db.close()


_OF_A_ROW = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, OverflowError)


class PostgresSql:
    """psycopg 3; `executemany` is pipelined, so a group is one round trip.  Many rows go by COPY."""

    name = "postgresql"

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        driver = postgres_driver().psycopg
        self._errors = driver.Error
        self._of_a_row = (driver.DataError, driver.IntegrityError)
        try:
            self.db: psycopg.Connection[tuple[Any, ...]] = driver.connect(
                url, autocommit=True, connect_timeout=CONNECT_S
            )
        except driver.Error as error:
            raise StoreError(f"cannot connect to PostgreSQL: {_first_line(error)}") from None
        self.db.read_only = read_only or None
        self._stages: set[Insert] = set()  # whose stage this session has

    @property
    def connection(self) -> SqlConnection:
        made: SqlConnection = postgres_driver().PostgresConnection.of(self.db)
        return made

    def rows(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.db.execute(_marks(statement), values).fetchall()
        return found

    def run(self, statement: str, values: Values = ()) -> int:
        touched: int = self.db.execute(_marks(statement), values).rowcount
        return touched

    def many(self, statement: str, values: Sequence[Values]) -> None:
        with self.db.cursor() as cursor:
            cursor.executemany(_marks(statement), values)

    def insert(self, what: Insert, rows: Sequence[Values]) -> int:
        """COPY knows no ON CONFLICT, so it fills a table of this session, and one statement moves the rows on."""
        if not rows:
            return 0
        if len(rows) < COPY_FROM:
            with self.db.cursor() as cursor:
                cursor.executemany(_marks(what.statement), rows)
                return cursor.rowcount
        stage = f'pg_temp."stage_{what.table}"'
        with self.db.cursor() as cursor:
            if what not in self._stages:  # types of the real table: what it takes, the stage takes
                shape = f'SELECT {what.names} FROM "{what.table}" WITH NO DATA'
                cursor.execute(_plain(f"DROP TABLE IF EXISTS {stage}"))
                cursor.execute(_plain(f"CREATE TEMP TABLE {stage.partition('.')[2]} AS {shape}"))
                self._stages = {one for one in self._stages if one.table != what.table} | {what}
            cursor.execute(_plain(f"TRUNCATE {stage}"))
            with cursor.copy(_plain(f"COPY {stage} ({what.names}) FROM STDIN")) as copy:
                for row in rows:
                    copy.write_row(row)
            moved = (
                f'INSERT INTO "{what.table}" ({what.names}) SELECT {what.names} FROM {stage} {what.conflict}'
            )
            cursor.execute(_plain(moved))
            return cursor.rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            with self.db.transaction():
                yield
        except self._errors as error:
            self._stages.clear()  # one that was made in here is gone again
            kind = RowRefused if isinstance(error, self._of_a_row) else StoreError
            raise kind(f"PostgreSQL: {_first_line(error)}; nothing was changed") from error

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        try:
            with self.db.transaction():
                yield
        except self._of_a_row as error:
            raise RowRefused(_first_line(error)) from error

    def columns(self, table: str) -> list[str]:
        statement = (
            "SELECT column_name FROM information_schema.columns WHERE table_name = ? "
            "AND table_schema = ANY (current_schemas(false)) ORDER BY ordinal_position"
        )
        return [name for (name,) in self.rows(statement, (table,))]

    def close(self) -> None:
        self.db.close()


def in_groups(values: Iterable[Values], size: int = 1000) -> Iterator[list[Values]]:
    group: list[Values] = []
    for value in values:
        group.append(value)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _marks(statement: str) -> Any:
    return statement.replace("%", "%%").replace("?", "%s")


def _plain(statement: str) -> Any:
    """psycopg wants to see a literal; names in here are ours, or were found in the database."""
    return statement


def _first_line(error: Exception) -> str:
    """Without what the server quotes of the rows."""
    return (str(error).strip().splitlines() or ["no words"])[0]
