"""The full-text index of all evidence: a file of its own beside the store, which can be made again at any time.

It is no part of the store: nothing in it is sealed, a backup leaves it out, and looks do not wait for it (ADR-0058).
A piece is known by its id and its digest, so that an index of another store is never taken for this one's.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vedette.contracts.errors import StoreError
from vedette.core.text.snippets import Term
from vedette.store.connection import BUSY_MS, all_or_nothing, in_parts, make_file, unusable

FILE = "vedette.db-search"  # of the names that `mend` knows as ours
VERSION = 1
MOST_CHARS = 200_000  # of one piece
_TABLES = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(title, body, content='', "
    'tokenize="unicode61 remove_diacritics 2")',
    "CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, digest BLOB NOT NULL, packed BLOB NOT NULL)",
)
# Content: each state once, and no error pages.
_KNOWN = "SELECT 1 FROM texts t WHERE t.id = e.id AND t.digest = e.digest"
_MISSING = f"FROM store.evidence e WHERE e.standing = 'content' AND NOT EXISTS ({_KNOWN})"
_GONE = (
    "SELECT t.id, t.packed FROM texts t LEFT JOIN store.evidence e ON e.id = t.id AND e.digest = t.digest "
    "AND e.standing = 'content' WHERE e.id IS NULL LIMIT ?"
)
_DROP = "INSERT INTO words (words, rowid, title, body) VALUES ('delete', ?, ?, ?)"
_ADD = "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)"


@dataclass(frozen=True, slots=True)
class IndexedText:
    """What is looked through of one piece of evidence."""

    id: int
    digest: bytes
    title: str
    text: str


class TextIndex:
    """Close it, or use it in a `closing`."""

    def __init__(self, data: Path, database: Path) -> None:
        self._path = data / FILE
        try:
            make_file(self._path)
            self._db = sqlite3.connect(
                f"file:{quote(str(self._path))}?mode=rw",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            self._begin(database)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self._path} cannot be used: {error}; delete it, and it is made again"
            ) from None

    def _begin(self, database: Path) -> None:
        for pragma in (f"busy_timeout = {BUSY_MS}", "journal_mode = WAL", "synchronous = NORMAL"):
            self._db.execute(f"PRAGMA {pragma}")
        if self._db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            with all_or_nothing(self._db):
                for statement in _TABLES:
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {VERSION}")
        self._db.execute("ATTACH DATABASE ? AS store", (f"file:{quote(str(database))}?mode=ro",))

    def close(self) -> None:
        self._db.close()

    def missing(self, most: int) -> list[int]:
        """Pieces of evidence that are not in it, newest first."""
        return [row[0] for row in self._rows(f"SELECT e.id {_MISSING} ORDER BY e.id DESC LIMIT ?", most)]

    def count_missing(self) -> int:
        return int(self._rows(f"SELECT COUNT(*) {_MISSING}")[0][0])

    def add(self, pieces: Iterable[IndexedText]) -> int:
        rows = [(one.id, one.digest, one.title[:500], one.text[:MOST_CHARS]) for one in pieces]
        with self._writing():
            known = list(
                in_parts(self._db, "SELECT id, packed FROM texts WHERE id IN ({marks})", [r[0] for r in rows])
            )
            self._drop(known)
            self._db.executemany(_ADD, [(number, title, text) for number, _, title, text in rows])
            self._db.executemany(
                "INSERT INTO texts (id, digest, packed) VALUES (?, ?, ?)",
                [(number, digest, packed(title, text)) for number, digest, title, text in rows],
            )
        return len(rows)

    def drop_gone(self, most: int = 500) -> int:
        """Text of evidence that retention took.  Gives how many pieces it were."""
        gone = self._rows(_GONE, most)
        if gone:
            with self._writing():
                self._drop(gone)
        return len(gone)

    def find(self, terms: Sequence[Term], *, before: int | None, most: int) -> list[int]:
        """Ids of pieces that say all of it, newest first, older than `before`."""
        bound = "" if before is None else " AND rowid < ?"
        values = () if before is None else (before,)
        query = f"SELECT rowid FROM words WHERE words MATCH ?{bound} ORDER BY rowid DESC LIMIT ?"
        return [row[0] for row in self._rows(query, _match(terms), *values, most)]

    def texts(self, ids: Sequence[int]) -> dict[int, tuple[str, str]]:
        """By id: title and text."""
        rows = in_parts(self._db, "SELECT id, packed FROM texts WHERE id IN ({marks})", ids)
        return {number: unpacked(packed) for number, packed in rows}

    def _drop(self, known: Sequence[tuple[int, bytes]]) -> None:
        self._db.executemany(_DROP, [(number, *unpacked(packed)) for number, packed in known])
        self._db.executemany("DELETE FROM texts WHERE id = ?", [(number,) for number, _ in known])

    def _writing(self) -> Any:
        return all_or_nothing(self._db)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(unusable(self._path, error)) from None


def opened(data: Path, database: Path) -> closing[TextIndex]:
    return closing(TextIndex(data, database))


def _match(terms: Sequence[Term]) -> str:
    """In the language of FTS5.  Words have letters and digits alone, so nothing in them is a sign of it."""
    wanted = [_quoted(term) for term in terms if not term.is_unwanted]
    unwanted = [_quoted(term) for term in terms if term.is_unwanted]
    return " NOT ".join([" AND ".join(wanted), *unwanted])


def _quoted(term: Term) -> str:
    return f'"{" ".join(term.words)}"{"*" if term.is_prefix else ""}'


def packed(title: str, text: str) -> bytes:
    return zlib.compress(f"{title}\0{text}".encode("utf-8", "surrogatepass"), 1)


def unpacked(packed: bytes) -> tuple[str, str]:
    title, _, text = zlib.decompress(packed).decode("utf-8", "surrogatepass").partition("\0")
    return title, text
