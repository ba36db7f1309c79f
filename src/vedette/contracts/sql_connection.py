"""Where a store is, and what is asked of a connection to it.  One set of statements for two databases: ADR-0059."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database of a PostgreSQL server.  Its words never show the password."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        """What can hold no password: the name of the role, and what stands behind the last @ and before the options."""
        who, at, where = self.url.partition("://")[2].partition("?")[0].rpartition("@")
        return f"postgresql://{who.partition(':')[0]}{at}{where}"


class SqlCursor(Protocol):
    """The answer to a statement.  No rows: `fetchone` gives None."""

    @property
    def rowcount(self) -> int: ...

    @property
    def description(self) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class SqlConnection(Protocol):
    """What we use of a connection as the module `sqlite3` has it; `store/postgres.py` gives the same.

    Marks are `?` or `:name`; transactions begin and end by statements of ours; faults are those of `sqlite3`.
    """

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, statement: str, values: Any = (), /) -> SqlCursor: ...
    def executemany(self, statement: str, rows: Iterable[Any], /) -> SqlCursor: ...
    def close(self) -> None: ...
