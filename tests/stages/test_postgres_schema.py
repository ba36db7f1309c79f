"""A store on a PostgreSQL server has the tables, indexes and views of one in a file; faults are told with a way on."""

from __future__ import annotations

import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, inspect
from sqlalchemy.pool import NullPool
from stocked import blank, stocked

from vedette.contracts.errors import RefusedError, StoreError, StoreWaitError
from vedette.contracts.source import ListerKind, ListerOptions, Registered
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import Outcome
from vedette.store.connection import StorePlace, connect, connect_named
from vedette.store.migrate import HEAD, prepare_place, version_of
from vedette.store.panel.panel_schema import metadata
from vedette.store.postgres import OLDEST, open_session, too_old, translated
from vedette.store.postgres_schema import in_byte_order
from vedette.store.row_retention import unnamed_versions
from vedette.store.sqlite import Writer


def engine_of(address: PostgresAddress) -> Engine:
    return create_engine("postgresql+psycopg://", creator=lambda: open_session(address), poolclass=NullPool)


def test_the_tables_are_the_declared_ones_at_the_newest_revision(postgres_store: PostgresAddress):
    with engine_of(postgres_store).connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, in_byte_order(metadata)) == []
        assert context.get_current_revision() == HEAD
    assert version_of(postgres_store) == HEAD


def test_the_server_has_the_same_tables_columns_keys_and_views_as_a_file(
    tmp_path: Path, postgres_store: PostgresAddress
):
    with (
        create_engine(f"sqlite:///{blank(tmp_path)}").connect() as in_file,
        engine_of(postgres_store).connect() as on_server,
    ):
        assert shape(on_server) == shape(in_file)


def shape(connection: Connection) -> dict[str, Any]:
    """What both databases must have alike, by table; of views their columns."""
    found = inspect(connection)
    tables = {
        name: (
            sorted((column["name"], column["nullable"]) for column in found.get_columns(name)),
            found.get_pk_constraint(name)["constrained_columns"],
            sorted(sorted(one["column_names"]) for one in found.get_unique_constraints(name)),
            sorted(str(one["name"]) for one in found.get_indexes(name) if not one["unique"]),
        )
        for name in found.get_table_names()
        if name != "alembic_version"
    }
    views = {name: [column["name"] for column in found.get_columns(name)] for name in found.get_view_names()}
    return tables | views


def test_the_views_of_spec_001_tell_the_same_and_can_only_be_read(
    tmp_path: Path, postgres_store: PostgresAddress
):
    in_file, on_server = stocked(tmp_path / "file"), stocked(tmp_path / "server", postgres_store)
    for stock in (in_file, on_server):
        options = ListerOptions(
            url_pattern="/x", max_depth=2, include=("a",), requires_headless=True, pagination_pattern="?p={N}"
        )
        kept = Registered(hierarchy=2, domains=("pdv", "rad"))
        stock.source("https://a.example/l", lister=ListerKind.FEED, options=options, registered=kept)
        stock.source("https://b.example/", scrape_frequency=timedelta(hours=84), every=timedelta(minutes=90))
        stock.visit("https://b.example/", outcome=Outcome.TIMEOUT, detail="late")
        stock.execute("INSERT INTO artifacts VALUES (1001, 'text', 'r', 5, 0.5, 'p', 7)")
    for (
        view
    ) in "DiscoveryEndpoint RegulatorySource DiscoveredItem RegulatoryEvidence EvidenceArtifact".split():
        assert view_rows(on_server.path, view) == view_rows(in_file.path, view) != []
        with pytest.raises(StoreError, match="cannot modify"):
            on_server.execute(f'DELETE FROM "{view}"')


def view_rows(place: StorePlace, view: str) -> list[list[tuple[str, Any]]]:
    db = connect_named(place)
    rows = [
        dict(zip(row.keys(), row, strict=True)) for row in db.execute(f'SELECT * FROM "{view}" ORDER BY id')
    ]
    db.close()
    return [[(name, _read(value)) for name, value in row.items()] for row in rows]


def _read(value: Any) -> Any:
    """JSON as what it says: the two write it with other spaces."""
    return json.loads(value) if isinstance(value, str) and value[:1] in "[{" and value else value


def test_texts_are_ordered_byte_by_byte_whatever_the_locale_of_the_database(postgres_store: PostgresAddress):
    db = connect(postgres_store)
    for url in ("b", "A", "a", "č", "Z"):
        db.execute("INSERT INTO refusals VALUES (?, ?, 's', 'r', '', 0, 0, 1)", (hash(url) % 2**40, url))
    assert [url for (url,) in db.execute("SELECT url FROM refusals ORDER BY url")] == [
        "A",
        "Z",
        "a",
        "b",
        "č",
    ]
    db.close()


def test_values_come_back_as_sqlite_gives_them(postgres_store: PostgresAddress):
    db = connect(postgres_store, read_only=True)
    asked = "SELECT 1 = 1, SUM(n), SUM(n) / 4.0, NULL FROM (SELECT CAST(3 AS BIGINT) AS n) AS one"
    assert db.execute(asked).fetchone() == (1, 3, 0.75, None)
    assert db.execute("SELECT ? || :x".replace(":x", "?"), ("50 %", "?")).fetchone() == ("50 %?",)
    assert db.execute("SELECT 1 WHERE 1 IN ()").fetchone() is None
    assert db.execute("SELECT 1 WHERE 1 NOT IN ()").fetchone() == (1,)
    assert db.execute("SELECT :word", {"word": "a\x00b"}).fetchone() == ("a\ufffdb",)
    assert unnamed_versions(db) == ([], [])
    with pytest.raises(sqlite3.OperationalError, match="read-only"):
        db.execute("DELETE FROM watches")
    db.close()


def test_a_store_is_made_once_however_many_begin_at_the_same_time(
    tmp_path: Path, empty_database: PostgresAddress
):
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: prepare_place(tmp_path, empty_database), range(4)))
    assert made == [empty_database] * 4
    db = connect(empty_database, read_only=True)
    assert db.execute("SELECT COUNT(*) FROM seals").fetchone() == (1,)
    db.close()


def test_tables_of_another_program_are_left_alone(tmp_path: Path, empty_database: PostgresAddress):
    run(empty_database, "CREATE TABLE watches (song text)")
    with pytest.raises(StoreError, match=r"another program.*search_path"):
        prepare_place(tmp_path, empty_database)
    own = PostgresAddress(f"{empty_database.url}&options=-csearch_path%3Dvedette")
    run(empty_database, "CREATE SCHEMA vedette")
    prepare_place(tmp_path, own)
    assert version_of(own) == HEAD


def test_a_database_with_tables_of_spec_003_keeps_them_and_gets_ours(
    tmp_path: Path, empty_database: PostgresAddress
):
    run(empty_database, "CREATE TABLE domains (id serial PRIMARY KEY, domain text, owner text)")
    prepare_place(tmp_path, empty_database)
    db = connect(empty_database, read_only=True)
    assert [column[0] for column in db.execute("SELECT * FROM domains").description] == [
        "id",
        "domain",
        "owner",
    ]
    db.close()


def test_a_store_of_a_newer_version_is_refused_and_left_alone(
    tmp_path: Path, postgres_store: PostgresAddress
):
    run(postgres_store, "UPDATE alembic_version SET version_num = '9999'")
    run(
        postgres_store, "COMMENT ON TABLE alembic_version IS NULL"
    )  # it does not say that this version may use it
    with pytest.raises(StoreError, match="another version of vedette"):
        prepare_place(tmp_path, postgres_store)
    assert version_of(postgres_store) == "9999"


def test_a_missing_store_is_named_with_the_way_on(tmp_path: Path, empty_database: PostgresAddress):
    with pytest.raises(StoreError, match="vedette init"):
        prepare_place(tmp_path, empty_database, create=False)
    assert version_of(empty_database) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("/empty", "/nowhere"), "nowhere"),
        (("host=/", "host=/nowhere/"), "is the server up"),
        (("postgresql://postgres:@", "postgresql://nobody:secret@"), "nobody"),
        (("?host=", "?hosts="), "not an address"),
    ],
)
def test_a_wrong_address_is_told_without_its_password(
    empty_database: PostgresAddress, change: tuple[str, str], words: str
):
    with pytest.raises(StoreError, match=words) as told:
        connect(PostgresAddress(empty_database.url.replace(*change)))
    assert "secret" not in str(told.value)
    assert "DATABASE_URL" in str(told.value)


def test_a_role_that_may_not_create_is_told_which_right_it_lacks(
    tmp_path: Path, empty_database: PostgresAddress
):
    run(empty_database, "DROP ROLE IF EXISTS guest")
    run(empty_database, "CREATE ROLE guest LOGIN")
    guest = PostgresAddress(empty_database.url.replace("postgres:@", "guest@"))
    with pytest.raises(StoreError, match=r"permission denied.*GRANT"):
        prepare_place(tmp_path, guest)
    prepare_place(tmp_path, empty_database)
    with pytest.raises(sqlite3.OperationalError, match="permission denied"):
        connect(guest).execute("SELECT * FROM watches")
    run(empty_database, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")  # a role for dashboards
    assert connect(guest, read_only=True).execute('SELECT * FROM "DiscoveredItem"').fetchall() == []


def test_one_engine_per_store_on_whichever_machine(postgres_store: PostgresAddress):
    first, second = (Writer(postgres_store, worker=name) for name in ("one", "two"))
    first.take_lock()
    with pytest.raises(RefusedError, match=f"in use by vedette pid {os.getpid()}"):
        second.take_lock()
    first.close()
    second.take_lock()
    second.close()


def test_a_session_that_the_server_ended_is_opened_anew_and_nothing_is_half_written(
    postgres_store: PostgresAddress,
):
    """Every session of ours is ended, within a transaction and outside of one."""
    writer, reader = Writer(postgres_store, worker="one"), connect(postgres_store, read_only=True)
    writer.take_lock()
    with pytest.raises(StoreWaitError, match="nothing acknowledged is lost"):
        cut_off(writer, postgres_store)
    with writer.transaction() as db:
        db.execute("INSERT INTO marks VALUES (3, 'odd', 2)")
    assert reader.execute("SELECT watch_id FROM marks").fetchall() == [(3,)]
    with pytest.raises(RefusedError):
        Writer(postgres_store, worker="two").take_lock()  # the new session holds it
    writer.close()


def cut_off(writer: Writer, address: PostgresAddress) -> None:
    with writer.transaction() as db:
        db.execute("INSERT INTO marks VALUES (1, 'odd', 2)")
        end_sessions(address)
        db.execute("INSERT INTO marks VALUES (2, 'odd', 2)")


def end_sessions(address: PostgresAddress) -> None:
    run(
        address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )


def test_a_server_that_is_too_old_is_named_with_its_version():
    assert too_old(OLDEST * 10_000) == ""
    assert too_old(180_006) == ""
    assert too_old(90_624).startswith("PostgreSQL 9 is too old")


def run(address: PostgresAddress, statement: str) -> None:
    with psycopg.connect(address.url, autocommit=True) as db:
        db.execute(statement)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statement", "taken"),
    [
        (
            "SELECT id FROM watches INDEXED BY ix_watches_url WHERE url > ?",
            "SELECT id FROM watches WHERE url > %s",
        ),
        ("SELECT id FROM watches NOT INDEXED WHERE a = 1", "SELECT id FROM watches WHERE a = 1"),
        (
            "SELECT 1 WHERE a > 1 AND +state IN (?) ORDER BY b",
            "SELECT 1 WHERE a > 1 AND state IN (%s) ORDER BY b",
        ),
        ("SELECT a + b FROM t WHERE c = a + 1", "SELECT a + b FROM t WHERE c = a + 1"),
    ],
)
def test_what_only_the_planner_of_sqlite_needs_is_left_out(statement: str, taken: str):
    assert translated(statement, False) == taken
