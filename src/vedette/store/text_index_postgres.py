"""The full-text index of all evidence on PostgreSQL: one table beside the store, which can be made again at any time.

It answers as `text_index.py` does.  Words are cut and folded by us, so that both find the same.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from vedette.contracts.errors import StoreError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.core.text.snippets import Term, words_of
from vedette.store.connection import connect, in_parts, what_to_do
from vedette.store.text_index import MOST_CHARS, IndexedText, packed, unpacked

TABLE = "evidence_search"
MOST_WORD = 500  # characters; PostgreSQL takes 2,046 bytes
LAST_PLACE = 16_383  # words behind it are found, but not known to stand side by side
_MAKE = (
    f"CREATE TABLE IF NOT EXISTS {TABLE} "
    "(id BIGINT PRIMARY KEY, digest BYTEA NOT NULL, packed BYTEA NOT NULL, words TSVECTOR NOT NULL)",
    f"CREATE INDEX IF NOT EXISTS ix_{TABLE}_words ON {TABLE} USING GIN (words)",
)
_HAS = f"SELECT to_regclass('{TABLE}') IS NOT NULL"
_MISSING = (
    "FROM evidence e WHERE e.standing = 'content' "
    f"AND NOT EXISTS (SELECT 1 FROM {TABLE} t WHERE t.id = e.id AND t.digest = e.digest)"
)
_GONE = (
    f"DELETE FROM {TABLE} WHERE id IN (SELECT t.id FROM {TABLE} t LEFT JOIN evidence e ON e.id = t.id "
    "AND e.digest = t.digest AND e.standing = 'content' WHERE e.id IS NULL LIMIT ?)"
)
_ADD = (
    f"INSERT INTO {TABLE} (id, digest, packed, words) VALUES (?, ?, ?, CAST(? AS TSVECTOR)) "
    "ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, packed = excluded.packed, words = excluded.words"
)


class PostgresTextIndex:
    """Close it, or use it in a `closing`."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._db = connect(address)
        with self._telling():
            if not self._db.execute(_HAS).fetchone()[0]:
                for statement in _MAKE:
                    self._db.execute(statement)

    def close(self) -> None:
        self._db.close()

    def missing(self, most: int) -> list[int]:
        """Pieces of evidence that are not in it, newest first."""
        return [row[0] for row in self._rows(f"SELECT e.id {_MISSING} ORDER BY e.id DESC LIMIT ?", most)]

    def count_missing(self) -> int:
        return int(self._rows(f"SELECT COUNT(*) {_MISSING}")[0][0])

    def add(self, pieces: Iterable[IndexedText]) -> int:
        rows = [
            (one.id, one.digest, packed(one.title[:500], one.text[:MOST_CHARS]), _vector(one))
            for one in pieces
        ]
        with self._telling():
            self._db.executemany(_ADD, rows)
        return len(rows)

    def drop_gone(self, most: int = 500) -> int:
        """Text of evidence that retention took.  Gives how many pieces it were."""
        with self._telling():
            return self._db.execute(_GONE, (most,)).rowcount

    def find(self, terms: Sequence[Term], *, before: int | None, most: int) -> list[int]:
        """Ids of pieces that say all of it, newest first, older than `before`."""
        bound = "" if before is None else " AND id < ?"
        values = () if before is None else (before,)
        query = f"SELECT id FROM {TABLE} WHERE words @@ CAST(? AS TSQUERY){bound} ORDER BY id DESC LIMIT ?"
        return [row[0] for row in self._rows(query, _query(terms), *values, most)]

    def texts(self, ids: Sequence[int]) -> dict[int, tuple[str, str]]:
        """By id: title and text."""
        with self._telling():
            rows = in_parts(self._db, f"SELECT id, packed FROM {TABLE} WHERE id IN ({{marks}})", ids)
            return {number: unpacked(bytes(data)) for number, data in rows}

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._telling():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, zlib.error) as error:
            words = what_to_do(error, self._address) if isinstance(error, sqlite3.Error) else str(error)
            raise StoreError(f"the index {TABLE} cannot be used: {words}") from None


def _vector(piece: IndexedText) -> str:
    """As PostgreSQL writes a tsvector: each word with the places where it stands."""
    places: dict[str, list[int]] = {}
    for number, word in enumerate(words_of(f"{piece.title[:500]}\n{piece.text[:MOST_CHARS]}"), start=1):
        places.setdefault(word[:MOST_WORD], []).append(min(number, LAST_PLACE))
    return " ".join(f"'{word}':{','.join(map(str, at[:255]))}" for word, at in places.items())


def _query(terms: Sequence[Term]) -> str:
    """Words have letters and digits alone, so nothing in them is a sign of a tsquery."""
    return " & ".join(
        f"!({_side_by_side(term)})" if term.is_unwanted else f"({_side_by_side(term)})" for term in terms
    )


def _side_by_side(term: Term) -> str:
    words = [f"'{word[:MOST_WORD]}'" for word in term.words]
    return " <-> ".join([*words[:-1], f"{words[-1]}{':*' if term.is_prefix else ''}"])
