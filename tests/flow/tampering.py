"""Edits, deletes and inserts in every column of every covered table of a store, one at a time.

Each is done within a transaction that is undone afterwards, so thousands fit on one store.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vedette.core.evidence.seals import COVERED
from vedette.evidence.verify import Claims, Report, verify
from vedette.store.claims import StoreClaims
from vedette.store.row_columns import SEAL_COLUMNS

TABLES: dict[str, tuple[str, ...]] = {one.table: one.columns for one in COVERED} | {
    "seals": tuple(SEAL_COLUMNS)
}


@dataclass(frozen=True)
class Tampering:
    """One thing that somebody does to the database behind our back."""

    words: str
    statement: str
    values: tuple[Any, ...] = ()


def tamperings(db: sqlite3.Connection, chance: random.Random, rows: int = 3) -> Iterator[Tampering]:
    """Some rows of each table: the first, the last and others by chance; every column of each in several ways."""
    for table, columns in TABLES.items():
        keys = [key for (key,) in db.execute(f'SELECT rowid FROM "{table}" ORDER BY rowid')]
        chosen = {*keys[:1], *keys[-1:], *chance.sample(keys, min(rows, len(keys)))}
        for key in sorted(chosen):
            names = ", ".join(f'"{name}"' for name in columns)
            row = db.execute(f'SELECT {names} FROM "{table}" WHERE rowid = ?', (key,)).fetchone()
            for name, value in zip(columns, row, strict=True):
                for other in _others(value, chance):
                    words = f"{table}.{name} of row {key}: {value!r:.60} -> {other!r:.60}"
                    yield Tampering(words, f'UPDATE "{table}" SET "{name}" = ? WHERE rowid = ?', (other, key))
            yield Tampering(f"{table}: row {key} deleted", f'DELETE FROM "{table}" WHERE rowid = ?', (key,))
        yield from _insertions(db, table, chance)


def _insertions(db: sqlite3.Connection, table: str, chance: random.Random) -> Iterator[Tampering]:
    """A copy of a row under another key, with everything that must be unique made so."""
    names = [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    quoted = ", ".join(f'"{name}"' for name in names)
    row = list(db.execute(f'SELECT {quoted} FROM "{table}" ORDER BY rowid DESC LIMIT 1').fetchone())
    fresh = {name: _fresh(value, chance) for name, value in zip(names, row, strict=True)}
    unique = {"id", "name", "number", "seq", "at", "digest"} & set(names)
    values = tuple(fresh[name] if name in unique else value for name, value in zip(names, row, strict=True))
    marks = ", ".join("?" * len(names))
    yield Tampering(f"{table}: a row was added", f'INSERT INTO "{table}" ({quoted}) VALUES ({marks})', values)


def _fresh(value: Any, chance: random.Random) -> Any:
    if isinstance(value, int):
        return value + chance.randrange(1, 1000)
    return chance.randbytes(32) if isinstance(value, bytes) else f"{value}-2"


def _others(value: Any, chance: random.Random) -> list[Any]:
    """Near misses of the same kind, nothing, and kinds that we never write there."""
    if isinstance(value, int):
        near: list[Any] = [value + 1, -value - 1]
    elif isinstance(value, float):
        near = [value + 0.001]
    elif isinstance(value, bytes):
        place = chance.randrange(len(value)) if value else 0
        near = [
            value[:place] + bytes([(value[place] + 1) % 256]) + value[place + 1 :] if value else b"x",
            value[:-1],
        ]
    elif isinstance(value, str):
        near = [value + " ", value[:-1] or "x", value.swapcase()]
    else:
        near = [0, ""]
    return [other for other in (*near, None, "\u0161", b"\xff\x00", 7, 1e300) if other != value]


class Tamperer:
    """Does one thing, verifies, undoes it."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.db = sqlite3.connect(data / "vedette.db", isolation_level=None)
        self.db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")

    def __enter__(self) -> Tamperer:
        return self

    def __exit__(self, *error: object) -> None:
        self.db.close()

    def report(self) -> Report:
        claims = StoreClaims(self.db)

        def read() -> Claims:
            return Claims(claims.segments(), claims.rows, claims.blobs, claims)

        return verify(self._data / "archive", read, full=False)

    def is_found(self, tampering: Tampering) -> bool | None:
        """None: SQLite does not even take it."""
        self.db.execute("BEGIN")
        try:
            done = self.db.execute(tampering.statement, tampering.values).rowcount
            return None if not done else not self.report().is_whole
        except sqlite3.IntegrityError:
            return None
        finally:
            self.db.execute("ROLLBACK")


def unseen(data: Path, *, seed: int, rows: int = 3) -> tuple[int, list[str]]:
    """How many tamperings there were, and those that `verify` did not find."""
    chance = random.Random(seed)
    with Tamperer(data) as one, closing(sqlite3.connect(data / "vedette.db")) as plan:
        plan.text_factory = one.db.text_factory
        results = [(t.words, one.is_found(t)) for t in tamperings(plan, chance, rows)]
    done = [(words, found) for words, found in results if found is not None]
    return len(done), [words for words, found in done if not found]
