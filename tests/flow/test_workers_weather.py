"""Workers in bad weather: clocks that differ, a server that is full or lacks a right.  Work waits, nothing is lost."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from glob import glob
from pathlib import Path

import psycopg
import pytest
from machine import patient
from workers_kit import CountingTown, Process, Team, wait_for

from vedette.config.model import is_ci
from vedette.contracts.errors import StoreError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.store.connection import connect
from vedette.store.postgres import OLDEST, too_old

pytestmark = pytest.mark.slow
LIBRARY = next(iter(glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), "")
NO_FAKETIME = "NOT RUN: faketime is missing, so no clock is set; apt-get install faketime"
FULL = (
    "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
    "'could not extend file \"base/1/2\": No space left on device' USING ERRCODE = '53100'; END $$"
)
IS_FULL = "CREATE TRIGGER full_disk BEFORE INSERT ON visits FOR EACH ROW EXECUTE FUNCTION full_disk()"
HAS_ROOM = "DROP TRIGGER full_disk ON visits"


def says(one: Process, words: str) -> bool:
    return any(words in str(line.get("what", "")) for line in list(one.others))


def ask(place: PostgresAddress, *statements: str) -> None:
    with psycopg.connect(place.url, autocommit=True) as db:
        for statement in statements:
            db.execute(statement)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("faketime") is None and not is_ci(), reason=NO_FAKETIME)
def test_workers_whose_clocks_differ_by_ten_minutes_agree(tmp_path: Path, empty_database: PostgresAddress):
    """One is five minutes ahead, the other five behind.  Leases, lanes and due times go by the server's clock."""
    begun = time.time()
    with CountingTown(8, 4) as town:
        team = Team(tmp_path, empty_database, town)
        fake = {"LD_PRELOAD": LIBRARY, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        ahead = team.start(FAKETIME="+5m", **fake)
        behind = team.start(FAKETIME="-5m", **fake)
        wait_for(lambda: len(ahead.visits) > 30 and len(behind.visits) > 30, patient(120))
        held = team.rows("SELECT key, token FROM lane_visits WHERE worker <> ''")
        team.kill(ahead)
        back = wait_for(lambda: _are_back(team, held), patient(60))
        assert back < patient(60)
        assert team.stop() == [0]
        assert team.problems() == {}
    first, last = team.rows("SELECT MIN(at), MAX(at) FROM visits")[0]
    assert begun - 2 < first / 1000 <= last / 1000 < time.time() + 2
    answered = "FROM watches WHERE last_outcome IN ('ok', 'not_modified') AND last_visit_at IS NOT NULL"
    soonest, latest = team.rows(f"SELECT MIN(due_at), MAX(due_at) {answered}")[0]
    assert begun < soonest / 1000 <= latest / 1000 < time.time() + 60, "looked at every two seconds"
    runs = team.rows("SELECT MIN(started_at), MAX(started_at) FROM runs")[0]
    assert begun - 2 < runs[0] / 1000 <= runs[1] / 1000 < time.time() + 2


def _are_back(team: Team, held: list[tuple[str, int]]) -> bool:
    now = {
        key: (token, worker) for key, token, worker in team.rows("SELECT key, token, worker FROM lane_visits")
    }
    return all(now[key][0] > token or not now[key][1] for key, token in held)


def test_a_server_whose_disk_is_full_is_waited_for(tmp_path: Path, empty_database: PostgresAddress):
    with CountingTown(4, 4) as town:
        team = Team(tmp_path, empty_database, town)
        one = team.start()
        wait_for(lambda: len(one.visits) > 10, patient(60))
        ask(empty_database, FULL, IS_FULL)
        wait_for(lambda: says(one, "free room on the server"), patient(60))
        asked = town.stats()["requests"]
        time.sleep(2)
        assert town.stats()["requests"] - asked < 40, "work waits"
        ask(empty_database, HAS_ROOM)
        before = len(one.visits)
        wait_for(lambda: len(one.visits) > before + 10, patient(60))
        assert team.stop() == [0]
        assert team.problems() == {}


def test_a_right_that_is_taken_away_is_named_and_nothing_is_lost(
    tmp_path: Path, empty_database: PostgresAddress
):
    ask(empty_database, "DROP ROLE IF EXISTS clerk", "CREATE ROLE clerk LOGIN")
    ask(empty_database, "GRANT ALL ON SCHEMA public TO clerk", "ALTER SCHEMA public OWNER TO clerk")
    clerk = PostgresAddress(empty_database.url.replace("postgres:@", "clerk@"))
    with CountingTown(4, 4) as town:
        team = Team(tmp_path, clerk, town)
        one = team.start()
        wait_for(lambda: len(one.visits) > 10, patient(60))
        ask(empty_database, "ALTER TABLE visits OWNER TO postgres")
        assert one.end(patient(60)) != 0
        assert "can GRANT the right" in team.errors.read_text()
        ask(empty_database, "ALTER TABLE visits OWNER TO clerk")
        again = team.start()
        wait_for(lambda: len(again.visits) > 10, patient(60))
        team.alive.remove(one)
        team.gone.append(one)
        assert team.stop() == [0]
        assert team.problems() == {}


def test_a_worker_with_a_wrong_address_says_what_to_write(tmp_path: Path, empty_database: PostgresAddress):
    wrong = PostgresAddress(empty_database.url.replace("?host=", "?hosts="))
    with CountingTown(1, 1) as town:
        team = Team(tmp_path, wrong, town)
        assert team.start().end(patient(60)) == 5
        team.alive.clear()
    assert "DATABASE_URL is not an address of PostgreSQL" in team.errors.read_text()
    assert "write postgresql://user:password@host:5432/name" in team.errors.read_text()


@pytest.mark.parametrize(
    ("version", "words"), [(120_015, f"12 is too old, {OLDEST} or newer"), (130_001, "")]
)
def test_a_server_that_is_too_old_is_named_with_what_is_needed(version: int, words: str):
    assert words in too_old(version)
    assert bool(too_old(version)) is bool(words)


def test_a_server_that_is_too_old_is_refused_by_every_connection(
    empty_database: PostgresAddress, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("vedette.store.postgres.OLDEST", 99)
    with pytest.raises(StoreError, match=r"too old, 99 or newer is needed"), closing(connect(empty_database)):
        pass
