"""Is the schema of a store the declared one?  What is missing is added; what cannot be added is named.

Declared is what the revisions make of an empty database.  A store whose revisions were other ones when it was made
is mended by that: tables, columns, indexes and views that are not there.  Nothing is ever dropped but views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

_OBJECTS = (
    "SELECT name, sql FROM sqlite_master WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
)
_COLUMNS = 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)'


# Required columns that follow from others, for stores of before they were there.
FILLS = {
    "evidence.stored_by": (
        "UPDATE evidence SET stored_by = COALESCE((SELECT v.id FROM visits v WHERE v.segment = evidence.segment "
        'AND v."offset" = evidence."offset"), id)'
    ),
}


@dataclass(frozen=True, slots=True)
class ColumnShape:
    name: str
    type: str
    is_required: bool
    default: str | None
    key: int  # its place in the primary key, 0: none

    @property
    def can_be_added(self) -> bool:
        """A required column without a default fits no row that is there, and a key is more than a column."""
        return not self.key and (not self.is_required or self.default is not None)

    @property
    def words(self) -> str:
        default = "" if self.default is None else f" DEFAULT {self.default}"
        return f'"{self.name}" {self.type}{" NOT NULL" if self.is_required else ""}{default}'


def add_missing(db: sqlite3.Connection, declared: sqlite3.Connection) -> list[str]:
    """Adds what the declared schema has and the store has not.  Gives what it added."""
    added: list[str] = []
    have = _objects(db, "table")
    for table, sql in _objects(declared, "table").items():
        if table not in have:
            db.execute(sql)
            added.append(f"table {table}")
            continue
        known = {column.name for column in _columns(db, table)}
        for column in (one for one in _columns(declared, table) if one.name not in known):
            fill = FILLS.get(f"{table}.{column.name}")
            if column.can_be_added or fill is not None:
                words = column.words if column.can_be_added else f"{column.words} DEFAULT 0"
                db.execute(f'ALTER TABLE "{table}" ADD COLUMN {words}')
                db.execute(fill or "SELECT 1")
                added.append(f"column {table}.{column.name}")
    return added + _add_indexes(db, declared) + _renew_views(db, declared)


def differences(db: sqlite3.Connection, declared: sqlite3.Connection) -> list[str]:
    """What still differs so that this version could not work with it."""
    found: list[str] = []
    have = _objects(db, "table")
    for table in _objects(declared, "table"):
        if table not in have:
            found.append(f"there is no table {table}")
        else:
            found += _table_differences(_columns(db, table), _columns(declared, table), table)
            found += [
                f"table {table} does not keep {', '.join(names)} unique"
                for names in sorted(_unique(declared, table) - _unique(db, table))
            ]
    for view, sql in _objects(declared, "view").items():
        if _objects(db, "view").get(view) != sql:
            found.append(f"view {view} is another one")
    return found


def _table_differences(have: list[ColumnShape], declared: list[ColumnShape], table: str) -> Iterator[str]:
    mine, theirs = ({column.name: column for column in one} for one in (have, declared))
    for name, column in theirs.items():
        if name not in mine:
            yield f"table {table} has no column {name}"
        elif mine[name].key != column.key:
            yield f"table {table} has another primary key"
    for name, column in mine.items():
        if name not in theirs and column.is_required and column.default is None:
            yield f"table {table} has a column {name} that this version does not fill"


def _add_indexes(db: sqlite3.Connection, declared: sqlite3.Connection) -> list[str]:
    have, added = _objects(db, "index"), []
    for name, sql in _objects(declared, "index").items():
        if name not in have:
            db.execute(sql)
            added.append(f"index {name}")
    return added


def _renew_views(db: sqlite3.Connection, declared: sqlite3.Connection) -> list[str]:
    have, added = _objects(db, "view"), []
    for name, sql in _objects(declared, "view").items():
        if have.get(name) != sql:
            db.execute(f'DROP VIEW IF EXISTS "{name}"')
            db.execute(sql)
            added.append(f"view {name}")
    return added


def _objects(db: sqlite3.Connection, kind: str) -> dict[str, str]:
    return dict(db.execute(_OBJECTS, (kind,)).fetchall())


def _columns(db: sqlite3.Connection, table: str) -> list[ColumnShape]:
    return [
        ColumnShape(name, kind, bool(required), default, key)
        for name, kind, required, default, key in db.execute(_COLUMNS, (table,)).fetchall()
    ]


def _unique(db: sqlite3.Connection, table: str) -> set[tuple[str, ...]]:
    names = [
        name
        for name, unique in db.execute('SELECT name, "unique" FROM pragma_index_list(?)', (table,))
        if unique
    ]
    query = "SELECT name FROM pragma_index_info(?) ORDER BY seqno"
    return {tuple(column or "" for (column,) in db.execute(query, (name,)).fetchall()) for name in names}
