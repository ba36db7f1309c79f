"""Writes the seals of covered rows, in the transaction that wrote the rows.

Rows are read back before they are sealed: what counts is what the database has, whichever statement put it there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import SEALS, Segment
from vedette.core.evidence import seals
from vedette.core.evidence.seals import BEGUN, BY_TABLE, COVERED, GONE, UPGRADED, WRITTEN, Covered, Entry
from vedette.store.connection import in_parts

PER_LINK = 20_000  # entries; of a store that is upgraded there may be millions
_LAST = "SELECT number, chain FROM seals ORDER BY number DESC LIMIT 1"
_APPEND = "INSERT INTO seals (number, kind, entries, chain) VALUES (?, ?, ?, ?)"
Touched = Mapping[str, Collection[Any]]  # by table: the keys of rows that were written, changed or dropped


def seal(db: SqlConnection, touched: Touched) -> Segment | None:
    """Seals these rows as they are now.  Gives how far the chain of seals has come; None: nothing was covered."""
    entries: list[Entry] = []
    for table, keys in touched.items():
        if keys:
            entries += _entries(db, BY_TABLE[table], keys)
    return _append(db, WRITTEN, entries) if entries else None


def seal_store(db: SqlConnection) -> None:
    """The first link of a store, with the seals of rows that are there already.  Said twice it does nothing."""
    if has_seals(db):
        return
    every = _every(db)
    first = list(_some(every))
    _append(db, UPGRADED if first else BEGUN, first)
    while more := list(_some(every)):
        _append(db, UPGRADED, more)


def has_seals(db: SqlConnection) -> bool:
    return db.execute(_LAST).fetchone() is not None


def last_seal(db: SqlConnection) -> Segment | None:
    """How far the chain of seals has come."""
    row = db.execute(_LAST).fetchone()
    return None if row is None else _reached(*row)


def columns_of(covered: Covered) -> str:
    return ", ".join(f'"{name}"' for name in covered.columns)


def _every(db: SqlConnection) -> Iterator[Entry]:
    for one in COVERED:
        for row in db.execute(f'SELECT {columns_of(one)} FROM "{one.table}"'):
            yield one.tag, seals.key_of(row[0]), seals.row_seal(one.table, row)


def _some(entries: Iterator[Entry]) -> Iterator[Entry]:
    for _, entry in zip(range(PER_LINK), entries, strict=False):
        yield entry


def _entries(db: SqlConnection, covered: Covered, keys: Iterable[Any]) -> Iterator[Entry]:
    wanted = list(dict.fromkeys(keys))
    tag, table, key_of = covered.tag, covered.table, seals.key_of
    query = f'SELECT {columns_of(covered)} FROM "{table}" WHERE "{covered.columns[0]}" IN ({{marks}})'
    rows = {row[0]: row for row in in_parts(db, query, wanted)}
    for key in wanted:
        row = rows.get(key)
        yield tag, key_of(key), GONE if row is None else seals.row_seal(table, row)


def _append(db: SqlConnection, kind: str, entries: Iterable[Entry]) -> Segment:
    number, before = db.execute(_LAST).fetchone() or (0, seals.START)
    packed = seals.pack(entries)
    head = seals.link(before, number + 1, kind, packed)
    db.execute(_APPEND, (number + 1, kind, packed, head))
    return _reached(number + 1, head)


def _reached(number: int, head: bytes) -> Segment:
    return Segment(name=SEALS, retention="", day="", size=0, count=number, head=head)
