"""Sessions that a server cuts: what may be said again is, and no error of the driver is seen outside of the store."""

from __future__ import annotations

import io
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from machine import patient

from vedette.app.worker import START, Worker
from vedette.config.model import Loaded, parse
from vedette.contracts.errors import StoreError, StoreWaitError, TakenOverError, VedetteError
from vedette.contracts.events import Event
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.workers import Role
from vedette.core.lanes.visit import LEASE
from vedette.store.connection import comes_back
from vedette.store.postgres import STOPPED_MS, PostgresConnection, PostgresFault, refused
from vedette.telemetry.clock import SystemClock

ROW = "INSERT INTO marks VALUES (?, 'odd', 2)"
COUNT = "SELECT COUNT(*) FROM marks"


def cut(address: PostgresAddress) -> None:
    with psycopg.connect(address.url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )


@pytest.fixture
def db(postgres_store: PostgresAddress):
    with closing(PostgresConnection(postgres_store)) as made:
        yield made


def test_what_only_reads_is_asked_again_on_a_new_session(
    db: PostgresConnection, postgres_store: PostgresAddress
):
    cut(postgres_store)
    assert db.execute(COUNT).fetchone() == (0,)
    cut(postgres_store)
    assert db.answers(f"{COUNT} WHERE watch_id = ?", [(1,), (2,)]) == [[(0,)], [(0,)]]


def test_a_transaction_begins_on_a_new_session(db: PostgresConnection, postgres_store: PostgresAddress):
    cut(postgres_store)
    db.execute("BEGIN IMMEDIATE")
    db.execute(ROW, (1,))
    db.execute("COMMIT")
    assert db.execute(COUNT).fetchone() == (1,)


def test_what_was_begun_on_a_session_that_is_gone_does_not_go_on_on_another(
    db: PostgresConnection, postgres_store: PostgresAddress
):
    db.execute("BEGIN IMMEDIATE")
    db.execute(ROW, (1,))
    cut(postgres_store)
    with pytest.raises(PostgresFault):
        db.execute(COUNT)
    assert not db.in_transaction
    assert db.execute(COUNT).fetchone() == (0,)


def test_a_row_whose_insert_nobody_answered_is_not_written_twice(
    db: PostgresConnection, postgres_store: PostgresAddress
):
    cut(postgres_store)
    with pytest.raises(PostgresFault) as told:
        db.execute(ROW, (1,))
    assert told.value.may_wait
    db.executemany(ROW, [(2,), (3,)])
    assert db.execute(COUNT).fetchone() == (2,)


WORDS: dict[str, Callable[[PostgresConnection], object]] = {
    "execute": lambda db: db.execute(ROW, (1,)),
    "many": lambda db: db.executemany(ROW, [(1,)]),
    "copy": lambda db: db.copy_in("COPY marks FROM STDIN", [(1, "odd", 2)]),
    "engine": lambda db: db.take_engine_lock(shared=True),
    "series": lambda db: db.take_series(7),
    "leave": lambda db: db.leave_series(),
}


@pytest.mark.parametrize("word", WORDS)
def test_no_error_of_the_driver_leaves_the_store(
    db: PostgresConnection, postgres_store: PostgresAddress, word: str
):
    db.take_series(3)
    cut(postgres_store)
    with pytest.raises((sqlite3.Error, VedetteError)) as told:
        WORDS[word](db)
    assert comes_back(told.value, postgres_store)


def test_a_session_that_cannot_be_opened_anew_is_waited_for(
    db: PostgresConnection, postgres_store: PostgresAddress
):
    """The server lets nobody in any more."""
    with psycopg.connect(postgres_store.url, autocommit=True) as other:
        name = other.info.dbname
    base = postgres_store.url.replace(f"/{name}", "/template1")
    with psycopg.connect(base, autocommit=True) as other:
        other.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")  # type: ignore[arg-type]
        try:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            with pytest.raises(StoreWaitError, match="cannot connect"):
                db.execute(COUNT)
        finally:
            other.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")  # type: ignore[arg-type]
    assert db.execute(COUNT).fetchone() == (0,)


SAID = [
    (StoreWaitError("later"), True),
    (PostgresFault("the server is gone", may_wait=True), True),
    (ExceptionGroup("two", [StoreWaitError("a"), PostgresFault("b", may_wait=True)]), True),
    (ExceptionGroup("two", [StoreWaitError("a"), ValueError("a bug")]), False),
    (PostgresFault("no such column"), False),
    (StoreError("another version"), False),
    (TakenOverError("another has it"), False),
    (None, False),
]


@pytest.mark.parametrize(("error", "waits"), SAID)
def test_only_a_store_that_is_away_is_waited_for(error: BaseException | None, waits: bool):
    assert comes_back(error, PostgresAddress("postgresql:///x")) is waits


def test_a_server_that_is_cut_while_the_revision_is_read_is_waited_for():
    told = refused(PostgresAddress("postgresql:///x"), PostgresFault("gone", may_wait=True))
    assert isinstance(told, StoreWaitError)


def test_a_worker_that_starts_before_its_server_says_so_and_waits(
    tmp_path: Path, postgres_store: PostgresAddress
):
    base, _, there = postgres_store.url.partition("?host=")
    later, events = tmp_path / "s", list[Event]()
    address = PostgresAddress(f"{base}?host={quote(str(later))}")
    loaded = Loaded(config=parse({}), path=None, data=tmp_path / "data", digest="", server=address)
    timer = threading.Timer(1.5, lambda: later.symlink_to(there))
    timer.start()
    made = Worker(loaded, (Role.STAGES,), SystemClock(), events.append, io.StringIO(), None)
    timer.join(patient(10))
    assert made.path == address
    assert [event.name for event in events] == ["problem"]
    assert "is the server up, and DATABASE_URL right?" in events[0].fields["what"]
    assert f"asked again for {START.seconds} s" in events[0].fields["what"]


def test_who_is_stopped_in_the_middle_of_a_write_holds_others_up_no_longer_than_its_bound(
    db: PostgresConnection, postgres_store: PostgresAddress
):
    """As a process that got SIGSTOP between two statements: it has the lock of all writers, and says nothing."""
    db.execute("BEGIN IMMEDIATE")
    assert db.execute("SHOW idle_in_transaction_session_timeout").fetchone() == (f"{STOPPED_MS // 1000}s",)
    db.execute("SET LOCAL idle_in_transaction_session_timeout = 200")
    db.execute(ROW, (1,))
    with closing(PostgresConnection(postgres_store)) as other:
        other.execute("BEGIN IMMEDIATE")  # waits until the server has ended the first session
        other.execute(ROW, (2,))
        other.execute("COMMIT")
    with pytest.raises(PostgresFault) as told:
        db.execute("COMMIT")
    assert told.value.may_wait  # the group is tried again
    assert db.execute("SELECT watch_id FROM marks").fetchall() == [(2,)]


def test_a_write_of_a_worker_is_bounded_as_its_leases_are(
    db: PostgresConnection, postgres_store: PostgresAddress
):
    """Also where it is stopped while it sends: a lane in such a transaction could be taken over by nobody."""
    db.take_engine_lock(shared=True)
    bound = ("SHOW transaction_timeout", (f"{LEASE.seconds}s",))
    assert db.execute(bound[0]).fetchone() == (
        "0",
    )  # it holds no lanes yet, and may have many sources to write
    db.bind_writes()
    assert db.execute(bound[0]).fetchone() == bound[1]
    cut(postgres_store)
    assert db.execute(COUNT).fetchone() == (0,)
    assert db.execute(bound[0]).fetchone() == bound[1]  # on the session that replaces it
    with closing(PostgresConnection(postgres_store)) as other:
        assert other.execute(bound[0]).fetchone() == ("0",)  # a copy or an import may take long
    db.execute("SET transaction_timeout = 200")
    db.execute("BEGIN IMMEDIATE")
    with pytest.raises(PostgresFault) as told:
        db.execute("SELECT pg_sleep(30)")
    assert told.value.may_wait
