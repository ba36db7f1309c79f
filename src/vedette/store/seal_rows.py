"""Writes the seals of covered rows, in the transaction that wrote the rows.

Rows are read back before they are sealed: what counts is what the database has, whichever statement put it there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import SEALS, Segment
from vedette.core.evidence import seals
from vedette.core.evidence.seals import BEGUN, BY_TABLE, COVERED, GONE, UPGRADED, WRITTEN, Covered, Entry
from vedette.store.connection import IN_AT_ONCE, Order, at_once, in_parts, marks

PER_LINK = 20_000  # entries; of a store that is upgraded there may be millions
LAST_SEAL = "SELECT number, chain FROM seals ORDER BY number DESC LIMIT 1"
_APPEND = "INSERT INTO seals (number, kind, entries, chain) VALUES (?, ?, ?, ?)"
Touched = Mapping[str, Collection[Any]]  # by table: the keys of rows that were written, changed or dropped


def seal(db: SqlConnection, touched: Touched) -> Segment | None:
    """Seals these rows as they are now.  Gives how far the chain of seals has come; None: nothing was covered."""
    entries: list[Entry] = []
    for table, keys in touched.items():
        if keys:
            entries += _entries(db, BY_TABLE[table], keys)
    return _append(db, WRITTEN, entries) if entries else None


def write_sealed(
    db: SqlConnection, rows: Iterable[Order], touched: Touched, last: Sequence[Any]
) -> Segment | None:
    """Writes these rows, seals those that they touch, and commits, in two trips to a server.

    `last`: the answer to LAST_SEAL in the same transaction.  The transaction is open when something is raised.
    """
    writes, seals_of = list(rows), GroupSeals(touched)
    row, reached = seals_of.link(last, at_once(db, [*writes, *seals_of.questions])[len(writes) :])
    at_once(db, [*row, ("COMMIT", ())])
    return reached


class GroupSeals:
    """The seals of rows that are written in a few trips: what must be read back, and the link that follows from it."""

    def __init__(self, touched: Touched) -> None:
        wanted = [(BY_TABLE[table], list(dict.fromkeys(keys))) for table, keys in touched.items() if keys]
        self._parts = [
            (covered, keys[start : start + IN_AT_ONCE])
            for covered, keys in wanted
            for start in range(0, len(keys), IN_AT_ONCE)
        ]

    @property
    def questions(self) -> list[Order]:
        """Asked after the rows were written."""
        return [(_rows_of(covered).format(marks=marks(keys)), tuple(keys)) for covered, keys in self._parts]

    def link(self, last: Sequence[Any], answered: Sequence[Any]) -> tuple[list[Order], Segment | None]:
        """What is to be written, and how far the chain has come with it.  `last`: the answer to LAST_SEAL."""
        entries = [
            entry
            for (covered, keys), found in zip(self._parts, answered, strict=True)
            for entry in _sealed(covered, keys, found)
        ]
        if not entries:
            return [], None
        row, reached = _link(last[0] if last else (0, seals.START), WRITTEN, entries)
        return [(_APPEND, [row])], reached


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
    return db.execute(LAST_SEAL).fetchone() is not None


def last_seal(db: SqlConnection) -> Segment | None:
    """How far the chain of seals has come."""
    row = db.execute(LAST_SEAL).fetchone()
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
    return _sealed(covered, wanted, in_parts(db, _rows_of(covered), wanted))


def _rows_of(covered: Covered) -> str:
    return f'SELECT {columns_of(covered)} FROM "{covered.table}" WHERE "{covered.columns[0]}" IN ({{marks}})'


def _sealed(covered: Covered, keys: Iterable[Any], found: Iterable[Any]) -> Iterator[Entry]:
    tag, table, key_of = covered.tag, covered.table, seals.key_of
    rows = {row[0]: row for row in found}
    for key in keys:
        row = rows.get(key)
        yield tag, key_of(key), GONE if row is None else seals.row_seal(table, row)


def _append(db: SqlConnection, kind: str, entries: Iterable[Entry]) -> Segment:
    row, reached = _link(db.execute(LAST_SEAL).fetchone() or (0, seals.START), kind, entries)
    db.execute(_APPEND, row)
    return reached


def _link(last: Any, kind: str, entries: Iterable[Entry]) -> tuple[tuple[Any, ...], Segment]:
    """The next row of the chain, and how far the chain has come with it."""
    number, before = last
    packed = seals.pack(entries)
    head = seals.link(before, number + 1, kind, packed)
    return (number + 1, kind, packed, head), _reached(number + 1, head)


def _reached(number: int, head: bytes) -> Segment:
    return Segment(name=SEALS, retention="", day="", size=0, count=number, head=head)
