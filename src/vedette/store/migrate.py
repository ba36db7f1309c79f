"""Brings a store to this version's schema.  Costs nothing when it is there already."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vedette.contracts.errors import StoreError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.store.connection import (
    BEGIN,
    BUSY_MS,
    StorePlace,
    all_or_nothing,
    connect_to_read,
    make_file,
    make_folder,
    postgres_driver,
    unusable,
    use_wal,
)
from vedette.store.seal_rows import seal_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


from collections.abc import Iterator
from dataclasses import dataclass

# Is the schema of a store the declared one?  What is missing is added; what cannot be added is named.
#
# Declared is what the revisions make of an empty database.  A store whose revisions were other ones when it was made
# is mended by that: tables, columns, indexes and views that are not there.  Nothing is ever dropped but views.

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


HEAD = "0027"  # newest revision under migrations/versions
# Programs of this revision and newer work with the schema of HEAD: what came since only adds to it (a test sees to it).
WORKS_WITH = "0023"
COPYING = (
    "copying"  # instead of a revision: rows are being copied into the store, and not all of them are there
)
DATABASE = "vedette.db"
ARCHIVE = "archive"
NEWEST = Path(__file__).parent / "migrations" / "newest.sql"  # made by tools/reference.py
_NEXT = "\n;;\n"
_WAY_ON = "nothing was changed; use the version that made it, or a backup: `vedette restore BACKUP --replace`"
# Of evidence that an earlier version kept: whose it was, and what was an error and no content.
_SOURCES = (
    "UPDATE evidence SET source_id = (SELECT source_id FROM watches w WHERE w.id = evidence.watch_id) "
    "WHERE source_id IS NULL"
)
_NO_CONTENT = (
    "UPDATE evidence SET standing = 'no_content' WHERE id IN "
    "(SELECT id FROM visits WHERE outcome NOT IN ('ok', 'parse_failed', 'tool_missing'))"
)

# Changes of before their numbers were kept have those of the order in which they were seen.
_NUMBERS = "INSERT OR IGNORE INTO change_numbers (change_id) SELECT id FROM changes ORDER BY id"


def prepare_place(data: Path, place: StorePlace, *, create: bool = True) -> StorePlace:
    """The store of this data folder, wherever it is, migrated.  The archive is in the folder in any case."""
    if not isinstance(place, PostgresAddress):
        return prepare(data, create=create)
    _make_folders(data)
    found = version_of(place)
    if found == HEAD or newer_store(place, found):
        return place
    if found == COPYING:
        raise StoreError(f"{place} holds half a copy; say `vedette db copy` again, it goes on where it was")
    if found is None and not create:
        raise StoreError(f"no store in {place}; run `vedette init`, or `vedette db copy --to` with its URL")
    from vedette.store import postgres_schema  # with SQLAlchemy and Alembic

    if found is None:
        postgres_schema.make_store(place, postgres_schema.Stamp(HEAD, WORKS_WITH), newest())
    else:
        # Who works with the schema of before goes on beside it, where it is only added to.
        beside = found >= WORKS_WITH
        postgres_schema.upgrade_store(place, run_revisions, WORKS_WITH, beside=beside)
    return place


def newer_store(place: StorePlace, found: str | None = None) -> str:
    """What to say of a store of a newer version that this one can work with; empty: it is none.

    A newer version writes into the store how old a program may be.
    """
    if not isinstance(place, PostgresAddress):
        return ""
    found = found or version_of(place)
    if found is None or found == COPYING or found <= HEAD:
        return ""
    works_with = postgres_driver().works_with(place)
    if works_with is None or works_with > HEAD:
        return ""
    return (
        f"{place} was brought to revision {found} by a newer version of vedette, and this one is of {HEAD}: it goes on "
        "with what it knows; upgrade it too"
    )


def version_of(place: StorePlace) -> str | None:
    """The revision of a store, None for one that is not there yet."""
    if not isinstance(place, PostgresAddress):
        return version(place)
    found: str | None = postgres_driver().postgres_version(place)
    return found


def prepare(data: Path, *, create: bool = True) -> Path:
    """The database of this data folder, migrated.  Makes the folder when `create` says so."""
    path = data / DATABASE
    if not path.exists() and not create:
        raise StoreError(f"no store in {data}; run `vedette init`, or name another folder with --data")
    _make_folders(data, path)
    found = version(path)
    if found is None and _begin(path):
        return path
    if found != HEAD:
        _upgrade(path)
    return path


def _make_folders(data: Path, *files: Path) -> None:
    try:
        make_folder(data)
        make_folder(data / ARCHIVE)
        for path in files:
            make_file(path)
    except OSError as error:
        raise StoreError(
            f"cannot use {data} for data: {error.strerror}; name another folder with --data"
        ) from None


def version(path: Path) -> str | None:
    """The revision of a store, None for a new one."""
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return None
    try:
        db = connect_to_read(path)
        try:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and "alembic_version" not in tables:
                raise StoreError(f"{path} is not a store of vedette; name another folder with --data")
            row = db.execute("SELECT version_num FROM alembic_version").fetchone() if tables else None
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        raise StoreError(unusable(path, error)) from None
    return row[0] if row else None


def _begin(path: Path) -> bool:
    """A new store in one step, from what the revisions come to: loading and running them takes a second of CPU.

    False: there is something already, or the script is of another revision; the revisions see to it.
    """
    statements = newest()
    if not statements:
        return False
    try:
        use_wal(path)
        db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_MS / 1000)
        try:
            with all_or_nothing(db):
                if db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
                    return False
                for statement in statements:
                    db.execute(statement)
                seal_store(db)
        finally:
            db.close()
    except sqlite3.Error as error:
        raise StoreError(unusable(path, error)) from None
    return True


def newest() -> list[str]:
    """The statements of `migrations/newest.sql`; none where it is not of this revision."""
    text = NEWEST.read_text(encoding="utf-8") if NEWEST.exists() else ""
    first, _, rest = text.partition("\n")
    return rest.split(_NEXT) if first == f"-- revision {HEAD}" else []


def newest_text() -> str:
    """What `migrations/newest.sql` should be: every object that the revisions make, and the rows they write."""
    from sqlalchemy import create_engine

    engine = create_engine("sqlite://", connect_args={"isolation_level": None})
    with engine.begin() as connection:
        run_revisions(connection)
        db = _driver(connection)
        order = "CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END, name"
        made = db.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' "
            f"ORDER BY {order}"
        ).fetchall()
        rows = [
            one for one in db.iterdump() if one.startswith("INSERT INTO") and "sqlite_sequence" not in one
        ]
    engine.dispose()
    return f"-- revision {HEAD}\n" + _NEXT.join([*(sql for (sql,) in made), *rows])


def _upgrade(path: Path) -> None:
    """All revisions, what they left out, and the seals of what was there: in one transaction."""
    from alembic.util import CommandError
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    # Python's driver would commit every CREATE TABLE by itself, and a kill in between would leave half a store.
    engine = create_engine(f"sqlite:///{path}", connect_args={"isolation_level": None})
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(BEGIN))
    try:
        use_wal(path)
        with engine.begin() as connection:
            _bring_up(connection, _driver(connection))
    except CommandError as error:
        raise StoreError(
            f"{path} was made by another version of vedette: {error}; use that version or a newer one"
        ) from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        why = error.orig if isinstance(error, DBAPIError) else error
        raise StoreError(f"cannot bring {path} to this version: {why}; {_WAY_ON}") from None
    finally:
        engine.dispose()


def _bring_up(connection: Connection, db: sqlite3.Connection) -> None:
    is_new = db.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    if is_new:
        run_revisions(connection)
    else:
        _mend(connection, db)
        db.execute(_SOURCES)
        db.execute(_NO_CONTENT)
        db.execute(_NUMBERS)
    seal_store(db)


def _mend(connection: Connection, db: sqlite3.Connection) -> None:
    """Runs the revisions, and adds what the declared schema has and they did not bring.

    A store whose revisions were edited after it was made cannot take all of them; then it is mended by that alone.
    """
    import sqlalchemy

    scratch = sqlalchemy.create_engine("sqlite://", connect_args={"isolation_level": None})
    with scratch.begin() as new:
        run_revisions(new)
        declared = _driver(new)
        db.execute("SAVEPOINT revisions")
        try:
            run_revisions(connection)
        except sqlalchemy.exc.OperationalError:
            db.execute("ROLLBACK TO revisions")
        add_missing(db, declared)
        if found := differences(db, declared):
            raise sqlite3.DatabaseError(f"its schema is not the declared one: {'; '.join(found[:5])}")
        db.execute("DELETE FROM alembic_version")
        db.execute("INSERT INTO alembic_version (version_num) VALUES (?)", (HEAD,))
    scratch.dispose()


def run_revisions(connection: Connection) -> None:
    from alembic import command, config

    settings = config.Config()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    settings.attributes["connection"] = connection
    command.upgrade(settings, "head")


def _driver(connection: Connection) -> sqlite3.Connection:
    found: Any = connection.connection.driver_connection
    db: sqlite3.Connection = found
    return db
