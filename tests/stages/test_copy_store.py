"""A store is moved to a server and back: every row, proven; stopped anywhere, it goes on; there is one store."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from stocked import NOW, RULES, FixedClock, Stock, stocked

from vedette.config.model import Loaded, parse
from vedette.contracts.errors import InputError, RefusedError, StoreError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.operations.copy_store import ASIDE, StoreCopy, copy_store
from vedette.operations.installation import Installation
from vedette.store.connection import StorePlace, connect
from vedette.store.migrate import COPYING, HEAD, version_of
from vedette.store.operator import operating, order
from vedette.store.table_copy import copy_rows, copy_tables, proof_of
from vedette.store.views import ChangeFilter


class Stopped(BaseException):
    """The process was killed here."""


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    made = stocked(tmp_path / "data")
    made.execute("INSERT INTO verdicts (evidence_id, vector, score) VALUES (9, ?, 0.1)", b"\x00\xff'\\")
    made.execute("INSERT INTO domains (domain, active, added_by) VALUES ('a.hr', 1, 'list')")
    made.execute("INSERT INTO alarms VALUES ('host:a', 1, NULL, 5, 0, NULL, NULL)")
    made.execute("INSERT INTO yields VALUES ('č/%?:x', 3, 0.30000000000000004, 0)")
    with operating(made.path) as db:
        for number in range(5):
            order(db, "due", f"host:{number}", now=NOW)
        db.execute("DELETE FROM orders WHERE id > 3")
    return made


def installed(data: Path, server: PostgresAddress | None = None) -> Installation:
    return Installation(
        Loaded(config=parse({}), path=None, data=data, digest="", server=server), FixedClock()
    )


def copied(installation: Installation, to: str, *, keep: bool = False) -> StoreCopy:
    return copy_store(installation, to, keep=keep, progress=lambda done, whole: None)


def held(place: StorePlace) -> list[object]:
    db = connect(place, read_only=True)
    try:
        return [proof_of(db, table) for table in copy_tables()]
    finally:
        db.close()


def test_there_and_back_every_table_holds_the_same_rows(
    tmp_path: Path, stock: Stock, empty_database: PostgresAddress
):
    before = held(stock.path)
    done = copied(installed(stock.data), empty_database.url)
    assert done.rows > 20
    assert {proof.table for proof in done.proofs} >= {"visits", "evidence", "seals", "domain_responses"}
    assert held(empty_database) == before == list(done.proofs)
    assert not stock.path.exists()
    assert (stock.data / ASIDE).exists()
    there = installed(stock.data, empty_database)
    with there.queries() as queries:
        assert [change.url for change in queries.changes(ChangeFilter())] == [RULES]
    copied(there, f"sqlite:///{tmp_path}/back/vedette.db")
    assert held(tmp_path / "back" / "vedette.db") == before
    assert version_of(tmp_path / "back" / "vedette.db") == HEAD
    assert not list((tmp_path / "back").glob("*copying"))


def test_the_next_number_is_one_that_nobody_had(stock: Stock, empty_database: PostgresAddress):
    copied(installed(stock.data), empty_database.url)
    with operating(empty_database) as db:
        last = db.execute("SELECT MAX(id) FROM orders").fetchone()[0]
        order(db, "due", "host:new", now=NOW)
        assert db.execute("SELECT MAX(id) FROM orders").fetchone()[0] > last + 2


@pytest.mark.parametrize("after", [1, 4, 8])
def test_a_copy_that_was_stopped_is_opened_by_nobody_and_goes_on(
    stock: Stock, empty_database: PostgresAddress, after: int
):
    left = [after]

    def stop(done: int, whole: int) -> None:
        left[0] -= 1
        if not left[0]:
            raise Stopped

    before = held(stock.path)
    with pytest.raises(Stopped):
        copy_store(installed(stock.data), empty_database.url, keep=False, progress=stop)
    assert version_of(empty_database) == COPYING
    with pytest.raises(StoreError, match="half a copy"):
        installed(stock.data.parent / "other", empty_database).store()
    assert held(stock.path) == before
    stock.visit(RULES, body="PDV 23")  # the store went on meanwhile
    wanted = held(stock.path)
    copied(installed(stock.data), empty_database.url)
    assert held(empty_database) == wanted != before


def test_a_table_goes_on_behind_the_last_key_that_is_there(stock: Stock, postgres_store: PostgresAddress):
    old, new = connect(stock.path), connect(postgres_store)
    for table in (
        replace(one, at_once=1) for one in copy_tables() if one.name in ("visits", "yields", "alarms")
    ):
        with pytest.raises(Stopped):
            copy_rows(old, new, table, stop_at_once)
        assert proof_of(new, table).rows == 1
        copy_rows(old, new, table, lambda rows: None)
        assert proof_of(new, table) == proof_of(old, table)
    old.close()
    new.close()


def stop_at_once(rows: int) -> None:
    raise Stopped


def test_a_store_with_rows_is_never_written_over(stock: Stock, postgres_store: PostgresAddress):
    Stock(stock.data.parent / "theirs", server=postgres_store).source(RULES)
    before = held(postgres_store)
    with pytest.raises(RefusedError, match=r"rows in .* already"):
        copied(installed(stock.data), postgres_store.url)
    assert held(postgres_store) == before
    assert stock.path.exists()


def test_a_copy_that_is_kept_beside_leaves_the_store_in_use(stock: Stock, postgres_store: PostgresAddress):
    done = copied(installed(stock.data), postgres_store.url, keep=True)
    assert (done.set_aside, stock.path.exists()) == ("", True)


def test_what_cannot_be_held_is_named_and_the_store_stays(stock: Stock, empty_database: PostgresAddress):
    stock.execute("UPDATE watches SET title = 'a' || char(0) || 'b' WHERE url = ?", RULES)
    with pytest.raises(StoreError, match=r"row \d+ of watches holds the character U\+0000"):
        copied(installed(stock.data), empty_database.url)
    assert stock.path.exists()


@pytest.mark.parametrize("to", ["mysql://x/y", "sqlite:///other.db", "vedette.db", "postgresql:/x"])
def test_a_target_that_is_no_store_is_told(stock: Stock, to: str):
    with pytest.raises(InputError, match="--to"):
        copied(installed(stock.data), to)


def test_a_file_that_is_there_is_not_written_over(stock: Stock, tmp_path: Path):
    other = stocked(tmp_path / "other")
    with pytest.raises(RefusedError, match="exists"):
        copied(installed(stock.data), f"sqlite:///{other.path}")
    with sqlite3.connect(other.path) as db:
        assert db.execute("SELECT COUNT(*) FROM visits").fetchone() == (4,)
