"""Brings the panel's tables into a database that may already have some of them, with rows.  Only ever adds.

A table that is missing is created, a column that is missing is added, an index that is missing is made; nothing is
changed or dropped.  What cannot be used as it is (a column that must be filled and that we do not know) is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Engine, Index, Inspector, MetaData, Table, create_engine, inspect, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.schema import CreateIndex
from sqlalchemy.types import BigInteger, Boolean, DateTime, Float, Integer, Numeric, String

from vedette.contracts.errors import ConfigError, StoreError
from vedette.store.dialect import bad_url
from vedette.store.panel import panel_schema as schema
from vedette.store.panel.panel_rows import KEY, RESPONSES, TEXT_NAMES, Projection

OWN = (
    "crawl_batches",
    "provider_metrics",
    "panel_answers",
    "panel_domains",
    "panel_leases",
    "panel_visits",
    "panel_shares",
    "domains",
)
FILLED = frozenset(column.name for column in schema.domain_responses.columns) - {"id"}


def prepare_panel(url: str, table: str = RESPONSES, widths: Mapping[str, int] | None = None) -> Projection:
    """Everything that the panel writes to is there after this.  Said twice it changes nothing.

    `widths`: the longest value of a column of answers that is known before the first call.  A table that is there with
    types or widths that cannot take our rows is told before anything is altered.
    """
    engine = _engine(url)
    try:
        with engine.begin() as connection:
            found = inspect(connection)
            names = set(found.get_table_names())
            if connection.dialect.name != "sqlite":  # which takes any value in any column
                _check_types(found, names & {*OWN} - {"domains"})
                _check_widths(found, table, names, widths or {})
            for name in OWN:
                _complete(connection, found, names, schema.metadata.tables[name])
            made = _projection(connection, names, table)
            return replace(made, owns_domains=_owns_domains(connection))
    except SQLAlchemyError as error:
        raise StoreError(f"cannot prepare the tables of the panel: {_said(error)}") from None
    finally:
        engine.dispose()


def choose_key(uniques: Iterable[Sequence[str]], *, may_add: bool) -> tuple[tuple[str, ...], bool]:
    """The columns an upsert goes by, and whether their index has to be made.

    By preference `(domain_id, model, prompt_type)`; where the table has another uniqueness, that one is kept, because
    a second one could never let two prompts of one model stand side by side.
    """
    known = [tuple(columns) for columns in uniques]
    if any(set(columns) == set(KEY) for columns in known):
        return KEY, False
    usable = [columns for columns in known if set(columns) <= FILLED and "domain_id" in columns]
    if usable:
        return min(usable, key=len), False
    return (KEY, True) if may_add else ((), False)


def _projection(connection: Connection, names: set[str], table: str) -> Projection:
    wanted = schema.domain_responses
    if table != RESPONSES:
        wanted = _shadow(table)
    if table not in names:
        wanted.create(connection)
        return Projection(table=table, text_column="response", key=KEY, times="datetime")
    found = inspect(connection)
    columns = {column["name"]: column for column in found.get_columns(table)}
    missing = [name for name in KEY[:2] if name not in columns]
    if missing:
        raise StoreError(f"{table} has no column {' and no '.join(missing)}: not a table of provider answers")
    text_column = next((name for name in TEXT_NAMES if name in columns), "response")
    skip = {"id"} | ({"response"} if text_column != "response" else set())
    _add_columns(connection, wanted, columns, skip)
    _refuse_unknown(table, columns, {*FILLED, text_column})
    _add_indexes(connection, found, wanted)
    key, is_new = choose_key(_uniques(found, table), may_add=not _has_doubles(connection, table))
    if is_new:
        made = Table(table, MetaData(), autoload_with=connection)
        connection.execute(CreateIndex(Index(f"uq_{table}_panel", *(made.c[n] for n in KEY), unique=True)))
    kind = columns["created_at"]["type"] if "created_at" in columns else DateTime()
    if not isinstance(kind, Integer | DateTime):
        raise StoreError(f"{table}.created_at is {kind}; a date and time, or an integer, can be written")
    times = "ms" if isinstance(kind, Integer) else "datetime"
    return Projection(table=table, text_column=text_column, key=key, times=times)


def _check_types(found: Inspector, names: Iterable[str]) -> None:
    """Tables of our own names that someone else made, in other types."""
    for name in sorted(names):
        ours = schema.metadata.tables[name].columns
        for column in found.get_columns(name):
            kind, theirs = (ours[column["name"]].type if column["name"] in ours else None), column["type"]
            if kind is not None and not _takes(theirs, kind):
                raise StoreError(
                    f"the table {name} is there already, and {name}.{column['name']} is {theirs}, not {kind}; nothing "
                    f"was altered.  Rename that table, or give the panel a database of its own (DATABASE_URL) and its "
                    f"domains with --domains"
                )


def _takes(theirs: Any, ours: Any) -> bool:
    """True where a column of their type can hold what we write."""
    if isinstance(ours, BigInteger):
        return isinstance(theirs, BigInteger | Numeric)
    for kind in (Boolean, DateTime, Integer, Float, String):
        if isinstance(ours, kind):
            return isinstance(theirs, Numeric | Float if kind is Float else kind)
    return True


def _check_widths(found: Inspector, table: str, names: set[str], widths: Mapping[str, int]) -> None:
    """Of the table of answers: a model name that does not fit would fail at every row, after it was paid for."""
    if table not in names:
        return
    columns = {column["name"]: column["type"] for column in found.get_columns(table)}
    text = next((name for name in TEXT_NAMES if name in columns), "")
    wanted = {**widths, text: widths.get("response", 0)}
    for name, width in wanted.items():
        most = getattr(columns.get(name), "length", None)
        if name in columns and most is not None and most < width:
            raise StoreError(
                f"{table}.{name} takes {most} characters, and {width} are needed; nothing was altered.  Widen it, "
                f"or name another table in SHADOW_TABLE"
            )


def _complete(connection: Connection, found: Inspector, names: set[str], table: Table) -> None:
    if table.name not in names:
        table.create(connection)
        return
    columns = {column["name"]: column for column in found.get_columns(table.name)}
    if table.name == "domains":  # theirs: read, never added to
        _need(table.name, columns, ("id", "domain", "active"))
        return
    _add_columns(connection, table, columns, set())
    _refuse_unknown(table.name, columns, {column.name for column in table.columns})


def _owns_domains(connection: Connection) -> bool:
    return "added_by" in {column["name"] for column in inspect(connection).get_columns("domains")}


def _need(table: str, columns: Mapping[str, Any], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in columns]
    if missing:
        raise StoreError(f"the table {table} has no column {', '.join(missing)}")


def _add_columns(connection: Connection, wanted: Table, columns: Mapping[str, Any], skip: set[str]) -> None:
    """As nullable: rows that are there already have nothing to say."""
    quote = connection.dialect.identifier_preparer.quote
    for column in wanted.columns:
        if column.name not in columns and column.name not in skip and not column.primary_key:
            kind = column.type.compile(dialect=connection.dialect)
            connection.execute(
                text(f"ALTER TABLE {quote(wanted.name)} ADD COLUMN {quote(column.name)} {kind}")
            )


def _refuse_unknown(table: str, columns: Mapping[str, Any], filled: set[str]) -> None:
    """A column that must be filled and that we know nothing of would fail at the first row."""
    bad = [
        name
        for name, column in columns.items()
        if not column["nullable"]
        and column.get("default") is None
        and name not in filled
        and column.get("autoincrement") is not True
        and not (name == "id" and column.get("primary_key"))
        and column.get("identity") is None
    ]
    if bad:
        words = "give them a default, or name another table in SHADOW_TABLE"
        raise StoreError(f"{table} wants values for {', '.join(bad)}, which the panel does not have; {words}")


def _add_indexes(connection: Connection, found: Inspector, wanted: Table) -> None:
    """Spec 003: (model), (created_at), (batch_id).  One that begins with the column serves as well."""
    led = {index["column_names"][0] for index in found.get_indexes(wanted.name) if index["column_names"]}
    made = Table(wanted.name, MetaData(), autoload_with=connection)
    for name in ("model", "created_at", "batch_id"):
        if name not in led:
            connection.execute(CreateIndex(Index(f"ix_{wanted.name}_{name}", made.c[name])))


def _uniques(found: Inspector, table: str) -> list[Sequence[str]]:
    uniques: list[Sequence[str]] = [one["column_names"] for one in found.get_unique_constraints(table)]
    uniques += [
        [name for name in index["column_names"] if name]
        for index in found.get_indexes(table)
        if index["unique"] and not (index.get("dialect_options") or {}).get("postgresql_where")
    ]
    key = found.get_pk_constraint(table)["constrained_columns"]
    return [one for one in (*uniques, key) if one]


def _has_doubles(connection: Connection, table: str) -> bool:
    """Rows that the preferred key would refuse; those without a prompt type do not count."""
    if any(name not in {c["name"] for c in inspect(connection).get_columns(table)} for name in KEY):
        return False
    quote = connection.dialect.identifier_preparer.quote
    statement = (
        f"SELECT 1 FROM {quote(table)} WHERE prompt_type IS NOT NULL "
        "GROUP BY domain_id, model, prompt_type HAVING COUNT(*) > 1 LIMIT 1"
    )
    return connection.execute(text(statement)).first() is not None


def _shadow(table: str) -> Table:
    """The same columns and rules under another name."""
    if not table.replace("_", "").isalnum() or not table.isascii() or table in schema.metadata.tables:
        raise StoreError(f"SHADOW_TABLE: {table!r} cannot be the name of a shadow table")
    return schema.responses_table(table, MetaData(naming_convention=schema.metadata.naming_convention))


def _engine(url: str) -> Engine:
    kind, mark, rest = url.partition("://")
    if not mark or kind not in ("sqlite", "postgresql", "postgres"):
        raise bad_url()
    try:
        return create_engine(url if kind == "sqlite" else f"postgresql+psycopg://{rest}")
    except (ArgumentError, ValueError):
        raise bad_url() from None
    except ImportError:
        raise ConfigError("DATABASE_URL names PostgreSQL; install the extra `pg` (psycopg)") from None


def _said(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
