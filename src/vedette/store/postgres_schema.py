"""The store's tables, indexes and views in a PostgreSQL database.

A new store is made at once of the declared tables and stamped with the newest revision, as `newest.sql` does for
SQLite; later revisions of the same history run on both.  The views of spec 001 are those of `newest.sql`, with the few
words that PostgreSQL spells in another way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from alembic.util import CommandError
from sqlalchemy import Connection, Index, MetaData, String, Text, create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateTable

from vedette.contracts.errors import StoreError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.store.panel.panel_schema import metadata
from vedette.store.postgres import (
    OWN_TABLES,
    WRITERS_LOCK,
    PostgresConnection,
    PostgresFault,
    open_session,
    refused,
    says_works_with,
)
from vedette.store.seal_rows import seal_store

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
_ORDERED = ("ix_watches_queue", "ix_watches_second_looks")  # read in order, ties by id as SQLite has it
_FUNCTIONS = (
    "CREATE OR REPLACE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT strpos($1, $2)'",
    "CREATE OR REPLACE FUNCTION hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE AS "
    "'SELECT upper(encode($1, ''hex''))'",
    "CREATE OR REPLACE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN RAISE EXCEPTION ''cannot modify % because it is a view'', TG_TABLE_NAME; END'",
)
_OPTIONS = "CAST(s.options AS jsonb)"
_METADATA = {
    "urlPattern": "url_pattern",
    "startDate": "start_date",
    "endDate": "end_date",
    "types": "sitemap_types",
    "maxDepth": "max_depth",
    "maxUrls": "max_urls",
    "includePatterns": "include",
    "excludePatterns": "exclude",
}
_METADATA_OBJECT = (
    "NULLIF(CAST(JSONB_STRIP_NULLS(JSONB_BUILD_OBJECT("
    + ", ".join(f"'{name}', {_OPTIONS} -> '{key}'" for name, key in _METADATA.items())
    + f", 'requiresHeadless', CASE WHEN {_OPTIONS} ->> 'requires_headless' = 'true' THEN TRUE END)) AS TEXT), "
    "'{}') AS \"metadata\""
)
# What SQLite's views say, and what PostgreSQL's say instead; in this order.
_SPELLINGS = (
    (r"NULLIF\(JSON_PATCH\(.*?'\{\}'\) AS \"metadata\"", _METADATA_OBJECT),
    (r"JSON_EXTRACT\(s\.options, '\$\.every'\)", f"CAST({_OPTIONS} ->> 'every' AS DOUBLE PRECISION)"),
    (
        r"JSON_EXTRACT\(s\.options, '\$\.registered\.hierarchy'\)",
        f"CAST({_OPTIONS} #>> '{{registered,hierarchy}}' AS INTEGER)",
    ),
    (r"JSON_EXTRACT\(s\.options, '\$\.registered\.domains'\)", f"({_OPTIONS} #>> '{{registered,domains}}')"),
    (r"JSON_EXTRACT\(s\.options, '\$\.(\w+)'\)", rf"({_OPTIONS} ->> '\1')"),
    (r"\be\.offset\b", 'e."offset"'),
    (r"NULL AS \"rawContent\"", 'CAST(NULL AS TEXT) AS "rawContent"'),
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The revision of a store, and the oldest one whose programs work with it."""

    head: str
    works_with: str


def make_store(address: PostgresAddress, stamp: Stamp, newest: list[str]) -> None:
    """A new store of this revision; `newest`: the statements of SQLite's, of which the views are taken.

    One transaction: all of it, or nothing.  Tables of spec 003 that are there already stay as they are.
    """
    db = PostgresConnection(address)
    try:
        db.execute("BEGIN IMMEDIATE")
        if db.execute(OWN_TABLES).fetchone() != (0, 0):
            return  # another process was quicker
        there = {name for (name,) in db.execute(_TABLES)}
        views = pg_views(newest)
        for statement in (*_declared(there), *_FUNCTIONS, *views, *map(_guard, views)):
            db.execute(statement)
        db.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)")
        db.execute("INSERT INTO alembic_version (version_num) VALUES (?)", (stamp.head,))
        db.execute(says_works_with(stamp.works_with))
        seal_store(db)
        db.execute("COMMIT")
    except PostgresFault as error:
        raise refused(address, error) from None
    finally:
        db.close()


def upgrade_store(
    address: PostgresAddress, run_revisions: Callable[[Connection], None], works_with: str, *, beside: bool
) -> None:
    """The revisions that are missing, in one transaction; of several programs that start at once one does it.

    `beside`: programs of before may go on meanwhile.  Otherwise there must be none.
    """
    if beside:
        return _upgrade(address, run_revisions, works_with)
    with closing(PostgresConnection(address)) as alone:
        alone.take_engine_lock()
        return _upgrade(address, run_revisions, works_with)


def _upgrade(address: PostgresAddress, run_revisions: Callable[[Connection], None], works_with: str) -> None:

    def session() -> Any:
        db = open_session(address)
        db.autocommit = False
        return db

    engine = create_engine("postgresql+psycopg://", creator=session, poolclass=NullPool)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"SELECT {WRITERS_LOCK}")  # nobody writes meanwhile
            run_revisions(connection)
            connection.exec_driver_sql(says_works_with(works_with))
    except CommandError as error:
        raise StoreError(
            f"{address} was made by another version of vedette: {error}; use that version or a newer one"
        ) from None
    except DBAPIError as error:
        raise StoreError(
            f"cannot bring {address} to this version: {error.orig}; nothing was changed"
        ) from None


def pg_views(statements: list[str]) -> list[str]:
    """The views among these statements of `newest.sql`, as PostgreSQL takes them."""
    return [_spelled(one) for one in statements if one.startswith("CREATE VIEW")]


def _guard(view: str) -> str:
    """PostgreSQL would write through a simple view."""
    name = view.split('"')[1]
    return (
        f'CREATE TRIGGER refuse_write INSTEAD OF INSERT OR UPDATE OR DELETE ON "{name}" '
        "FOR EACH ROW EXECUTE FUNCTION refuse_write()"
    )


def _spelled(view: str) -> str:
    for form, words in _SPELLINGS:
        view = re.sub(form, lambda found, words=words: found.expand(words), view, flags=re.DOTALL)  # type: ignore[misc]
    return view


def _declared(there: set[str]) -> list[str]:
    made = [one for one in in_byte_order(metadata).sorted_tables if one.name not in there]
    words: list[Any] = [CreateTable(one) for one in made]
    words += [
        CreateIndex(index) for one in made for index in sorted(one.indexes, key=lambda two: str(two.name))
    ]
    return [str(one.compile(dialect=postgresql.dialect())) for one in words]  # type: ignore[no-untyped-call]


def in_byte_order(metadata: MetaData) -> MetaData:
    """The same tables; texts are ordered and compared byte by byte, as in SQLite and whatever the database's locale."""

    copied = MetaData(naming_convention=metadata.naming_convention)
    for table in metadata.sorted_tables:
        made = table.to_metadata(copied)
        for column in made.columns:
            if isinstance(column.type, String):
                column.type = Text(collation="C")
        for index in [one for one in made.indexes if one.name in _ORDERED]:
            made.indexes.discard(index)
            where = None if index.name == _ORDERED[0] else made.c.pending_change.is_not(None)
            Index(index.name, *index.columns, made.c.id, postgresql_where=where)
    return copied
