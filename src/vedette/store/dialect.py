"""One SQL for SQLite and PostgreSQL: marks are `?`, upserts are `ON CONFLICT`.  What differs is in here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vedette.contracts.errors import ConfigError, StoreError

if TYPE_CHECKING:
    import psycopg

BUSY_MS = 15_000
CONNECT_S = 10
Values = Sequence[Any]


class Sql(Protocol):
    """A connection of one thread."""

    name: str

    def rows(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]: ...

    def run(self, statement: str, values: Values = ()) -> int:
        """How many rows it touched."""
        ...

    def many(self, statement: str, values: Sequence[Values]) -> None: ...

    def transaction(self) -> Any:
        """A context: all of it, or nothing of it.  Raises StoreError."""
        ...

    def close(self) -> None: ...


def open_sql(url: str) -> Sql:
    """`sqlite:///path`, `postgresql://...` or `postgres://...`."""
    kind, mark, rest = url.partition("://")
    if mark and kind == "sqlite":
        return SqliteSql(Path(rest.removeprefix("/")))
    if mark and kind in ("postgresql", "postgres"):
        return PostgresSql(url)
    raise ConfigError("DATABASE_URL: write sqlite:///path or postgresql://user@host/name")


class SqliteSql:
    name = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self.db = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            for pragma in (f"busy_timeout = {BUSY_MS}", "journal_mode = WAL", "synchronous = FULL"):
                self.db.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            raise StoreError(f"cannot use {path}: {error}") from None

    def rows(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        return self.db.execute(statement, values).fetchall()

    def run(self, statement: str, values: Values = ()) -> int:
        return self.db.execute(statement, values).rowcount

    def many(self, statement: str, values: Sequence[Values]) -> None:
        self.db.executemany(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield
            self.db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"cannot write to {self._path}: {error}; nothing was changed") from error
        finally:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")

    def close(self) -> None:
        self.db.close()


class PostgresSql:
    """psycopg 3; `executemany` is pipelined, so a group is one round trip."""

    name = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise ConfigError("DATABASE_URL names PostgreSQL; install the extra `pg` (psycopg)") from None
        self._errors = psycopg.Error
        try:
            self.db: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(
                url, autocommit=True, connect_timeout=CONNECT_S
            )
        except psycopg.Error as error:
            raise StoreError(f"cannot connect to PostgreSQL: {_first_line(error)}") from None

    def rows(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.db.execute(_marks(statement), values).fetchall()
        return found

    def run(self, statement: str, values: Values = ()) -> int:
        touched: int = self.db.execute(_marks(statement), values).rowcount
        return touched

    def many(self, statement: str, values: Sequence[Values]) -> None:
        with self.db.cursor() as cursor:
            cursor.executemany(_marks(statement), values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            with self.db.transaction():
                yield
        except self._errors as error:
            raise StoreError(f"PostgreSQL: {_first_line(error)}; nothing was changed") from error

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


def _first_line(error: Exception) -> str:
    """Without what the server quotes of the rows."""
    return (str(error).strip().splitlines() or ["no words"])[0]
