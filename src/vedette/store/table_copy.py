"""Copies every row of a store into another database, and proves by counts and digests that none is missing.

Rows go in the order of their keys, in groups; each group is one transaction.  Stopped anywhere, the next call goes on
behind the last key that is there.  A table whose digest differs at the end is copied once more from its beginning.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import DateTime

from vedette.contracts.errors import StoreError
from vedette.contracts.sql_connection import SqlConnection
from vedette.store.connection import all_or_nothing
from vedette.store.panel.panel_schema import metadata

if TYPE_CHECKING:
    from vedette.store.postgres import PostgresConnection

AT_ONCE = 10_000  # rows of one transaction
Copied = Callable[[int], None]  # so many rows more are there


@dataclass(frozen=True, slots=True)
class CopyTable:
    """A table as it is copied: its columns, the key first in order, and the one that the database numbers."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    times: tuple[int, ...] = ()  # places of columns that hold a moment
    numbered: str = ""  # by the database; empty: by us
    at_once: int = AT_ONCE

    @property
    def names(self) -> str:
        return _names(self.columns)

    def select(self, *, is_first: bool) -> str:
        marks = ", ".join("?" * len(self.key))
        after = "" if is_first else f"WHERE ({_names(self.key)}) > ({marks}) "
        return (
            f'SELECT {self.names} FROM "{self.name}" {after}ORDER BY {_names(self.key)} LIMIT {self.at_once}'
        )


@dataclass(frozen=True, slots=True)
class TableProof:
    """What one table holds: how many rows, and the sha256 of all of them in the order of their keys."""

    table: str
    rows: int
    digest: str


def copy_tables() -> list[CopyTable]:
    """Every table of the declared schema."""
    made = []
    for table in metadata.sorted_tables:
        columns = list(table.columns)
        numbered = table.autoincrement_column
        made.append(
            CopyTable(
                table.name,
                tuple(column.name for column in columns),
                tuple(column.name for column in table.primary_key.columns),
                tuple(n for n, column in enumerate(columns) if isinstance(column.type, DateTime)),
                numbered.name if numbered is not None and numbered.autoincrement is True else "",
            )
        )
    return made


def copy_rows(source: SqlConnection, target: SqlConnection, table: CopyTable, copied: Copied) -> None:
    """What the target has not; it has rows up to some key."""
    last = target.execute(_last(table)).fetchone()
    for rows in _groups(source, table, last):
        with all_or_nothing(target):
            _insert(target, table, rows)
        copied(len(rows))


def proof_of(db: SqlConnection, table: CopyTable) -> TableProof:
    count, digest = 0, hashlib.sha256()
    for rows in _groups(db, table, None):
        count += len(rows)
        for row in rows:
            digest.update(repr(row).encode("utf-8", "surrogateescape"))
    return TableProof(table.name, count, digest.hexdigest())


def empty(db: SqlConnection, table: CopyTable) -> None:
    db.execute(f'DELETE FROM "{table.name}"')


def follow_numbers(source: SqlConnection, target: SqlConnection, table: CopyTable) -> None:
    """The next number is one that nobody had, also where the newest rows are gone."""
    last = _last_number(source, table)
    if not last:
        return
    if isinstance(target, sqlite3.Connection):
        target.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
        target.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table.name, last))
    else:
        sequence = "pg_get_serial_sequence(?, ?)"
        target.execute(f"SELECT setval({sequence}, ?)", (f'"{table.name}"', table.numbered, last))


def _last_number(db: SqlConnection, table: CopyTable) -> int:
    highest = db.execute(f'SELECT COALESCE(MAX("{table.numbered}"), 0) FROM "{table.name}"').fetchone()[0]
    if isinstance(db, sqlite3.Connection):
        row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,)).fetchone()
    else:
        (name,) = db.execute(
            "SELECT pg_get_serial_sequence(?, ?)", (f'"{table.name}"', table.numbered)
        ).fetchone()
        row = db.execute(f"SELECT last_value FROM {name} WHERE is_called").fetchone()
    return max(int(highest), int(row[0]) if row else 0)


def _groups(
    db: SqlConnection, table: CopyTable, last: Sequence[Any] | None
) -> Iterator[list[tuple[Any, ...]]]:
    places = [table.columns.index(name) for name in table.key]
    while True:
        query = table.select(is_first=last is None)
        found = db.execute(query, tuple(last or ())).fetchall()
        if found:
            yield [_alike(row, table) for row in found]
        if len(found) < table.at_once:
            return
        last = [found[-1][place] for place in places]


def _alike(row: tuple[Any, ...], table: CopyTable) -> tuple[Any, ...]:
    """Of both databases the same values: a moment is a text in SQLite."""
    if not table.times:
        return tuple(row)
    return tuple(_moment(value) if n in table.times else value for n, value in enumerate(row))


def _moment(value: Any) -> str | None:
    if value is None:
        return None
    at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).isoformat(sep=" ")


def _insert(db: SqlConnection, table: CopyTable, rows: list[tuple[Any, ...]]) -> None:
    if isinstance(db, sqlite3.Connection):
        marks = ", ".join("?" * len(table.columns))
        db.executemany(f'INSERT INTO "{table.name}" ({table.names}) VALUES ({marks})', rows)
        return
    _refuse_nul(table, rows)
    server: PostgresConnection = db  # type: ignore[assignment]
    server.copy_in(f'COPY "{table.name}" ({table.names}) FROM STDIN', rows)


def _refuse_nul(table: CopyTable, rows: list[tuple[Any, ...]]) -> None:
    for row in rows:
        if any(isinstance(value, str) and "\x00" in value for value in row):
            key = ", ".join(str(row[table.columns.index(name)]) for name in table.key)
            raise StoreError(
                f"row {key} of {table.name} holds the character U+0000, which no text of PostgreSQL can; "
                "the store stays where it is"
            )


def _last(table: CopyTable) -> str:
    down = ", ".join(f'"{name}" DESC' for name in table.key)
    return f'SELECT {_names(table.key)} FROM "{table.name}" ORDER BY {down} LIMIT 1'


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)
