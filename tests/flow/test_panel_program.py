"""`vedette panel` as a user runs it, against providers over HTTP: rows, resume after kill -9, kill switch, secrets."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import replace

import pytest
from machine import patient
from panel_town import KEY, THREE, town
from postgres_kit import postgresql_server

from vedette.store.dialect import open_sql
from vedette.store.panel.store_thread import asked_cells


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with town(tmp_path_factory.mktemp("panel")) as made:
        yield made


def test_a_batch_is_planned_run_and_told(place):
    place.configure(prompts=[{"type": "brand", "text": "What is {domain} known for?"}])
    place.domains(25)
    code, plan = place.json("plan", "--domains", "domains.txt")
    assert (code, plan["cells"], plan["within_hard"]) == (0, 75, True)
    code, out, err = place.call("run", "--domains", "domains.txt", "--json")
    assert code == 0, err
    end = json.loads(out.splitlines()[-1])
    assert (end["event"], end["by"], end["progress"]["answered"]) == ("panel_ended", "complete", 75)
    _, told = place.json("status")
    assert (told["status"], told["settled"], told["leased"]) == ("complete", 75, 0)
    assert {row["model"] for row in told["providers"]} == set(THREE)
    kept = place.rows("SELECT COUNT(*), COUNT(DISTINCT domain_id), MIN(mentions) FROM domain_responses")
    assert kept[0][:2] == (75, 25)
    assert kept[0][2] >= 1
    assert place.rows("SELECT DISTINCT domain FROM panel_domains ORDER BY n LIMIT 1") == [("d0.example",)]
    assert place.rows("SELECT ended_by, policy FROM runs") == [("complete", "panel")]
    assert place.rows("SELECT COUNT(*) FROM lanes WHERE key LIKE 'provider:%'") == [(3,)]
    code, _, err = place.call("resume")
    assert (code, "nothing to resume" in err) == (3, True)


def test_no_key_is_in_anything_that_was_written_or_said(place):
    place.configure()
    place.domains(5)
    code, out, err = place.call("run", "--domains", "domains.txt")
    assert code in (0, 6)
    assert KEY not in out + err
    assert KEY.encode() not in place.written()


def test_what_cannot_be_used_is_said_before_anything_is_asked(place):
    place.configure(budget_usd=1.0, models=["you/search"])
    place.domains(2)
    code, _, err = place.call("run", "--domains", "domains.txt")
    assert (code, "price of you/search is not known" in err) == (3, True)
    code, _, err = place.call("run", "--domains", "domains.txt", GLOBAL_CONCURRENCY="many")
    assert (code, "GLOBAL_CONCURRENCY" in err) == (4, True)
    code, _, err = place.call("run", "--domains", "domains.txt", "--model", "nobody")
    assert (code, "nobody" in err) == (4, True)
    (place.folder / "bad.txt").write_text("ok.example\nnot a domain\nhttp://OK.example/\n")
    code, _, err = place.call("plan", "--domains", "bad.txt")
    assert "row 2" in err
    assert "the same domain as row 1" in err


def test_the_kill_switch_of_another_process_stops_a_run(place):
    place.configure(per_minute=120)
    place.domains(400)
    running = place.start("run", "--domains", "domains.txt", "--json")
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line).get("settled", 0) > 3:
            break
    code, said = place.json("kill")
    assert (code, said["stopped"]) == (0, 1)
    out, err = running.communicate(timeout=patient(60))
    end = json.loads(out.splitlines()[-1])
    assert (running.returncode, end["by"]) == (6, "killed"), err
    assert {one["reason"] for one in end["dropped"]} == {"killed"}
    assert place.rows("SELECT COUNT(*) FROM panel_leases") == [(0,)]


def test_parked_cells_are_asked_again_on_the_operators_word_and_reliability_moves(tmp_path):
    with town(tmp_path, latency=0.01) as place:
        place.configure(models=["openai/gpt-4o-mini", "cohere"])
        place.domains(10)
        place.act("fault", provider="openai/gpt-4o-mini", kind="refused")
        code, out, err = place.call("run", "--domains", "domains.txt", "--json")
        assert code == 6, err
        _, told = place.json("status")
        assert (told["settled"], told["answered"]) == (20, 10)
        assert [(one["outcome"], one["cells"]) for one in told["parked"]] == [("refused_content", 10)]
        code, _, err = place.call("resume")
        assert (code, "--parked asks again" in err) == (3, True)
        _, before = place.json("models")
        place.act("heal", provider="openai/gpt-4o-mini")
        code, out, err = place.call("resume", "--parked", "--json")
        assert code == 0, err
        assert json.loads(out.splitlines()[-1])["progress"]["answered"] == 10
        _, told = place.json("status")
        assert (told["status"], told["settled"], told["answered"], told["parked"]) == ("complete", 20, 20, [])
        seen = place.act("stats")["providers"]
        assert seen["cohere"]["requests"] == 10, "what was answered is not asked again"
        notes = place.rows("SELECT COUNT(*) FROM ledger WHERE payload LIKE '%asked_again%refused_content%'")
        assert notes == [(1,)], "what the rows that went said is in the ledger"
        _, after = place.json("models")
        weight = {row["name"]: (row["answered"], row["reliability"]) for row in after["models"]}
        was = {row["name"]: (row["answered"], row["reliability"]) for row in before["models"]}
        assert was["openai/gpt-4o-mini"][0] == 0
        assert weight["openai/gpt-4o-mini"][0] == 10
        assert weight["openai/gpt-4o-mini"][1] > was["openai/gpt-4o-mini"][1]


def test_decisions_of_a_run_are_logged_where_rust_log_asks_for_it(tmp_path):
    with town(tmp_path, latency=0.01) as place:
        place.configure(models=["cohere"])
        place.domains(3)
        place.act("fault", provider="cohere", kind="auth")
        words = ("run", "--domains", "domains.txt", "--json")
        code, _, err = place.call(*words, RUST_LOG="info")
        assert (code, "key_refused provider:cohere/k1: auth_error" in err) == (6, True), err
        code, out, err = place.call(*words)
        assert (code, err) == (6, "")
        dropped = json.loads(out.splitlines()[-1])["dropped"]
        assert [(one["cells"], one["reason"]) for one in dropped] == [(3, "no_key")]
        assert "breaker blocked" in dropped[0]["note"]


def test_a_provider_that_fails_loses_reliability(tmp_path):
    with town(tmp_path, latency=0.01) as place:
        place.configure(models=["cohere"], hard="4s", target="3s")
        place.domains(3)
        place.act("fault", provider="cohere", kind="server_error")
        code, _, err = place.call("run", "--domains", "domains.txt", "--json")
        assert code in (0, 6), err
        _, told = place.json("models", "cohere")
        assert told["models"][0]["failed"] >= 3
        assert told["models"][0]["reliability"] < 0.9


@pytest.fixture(params=("sqlite", "postgresql"))
def database(request, tmp_path):
    """Where the batch is kept: what a kill leaves behind is another matter on a server."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/panel.db"
        return
    with postgresql_server() as (uri, _):
        yield uri


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ten_times_kill_9_loses_no_cell_and_asks_twice_only_what_was_under_way(tmp_path, database):
    chance = random.Random(5)
    with town(tmp_path, latency=0.05) as place, closing(open_sql(database)) as db:
        prompts = [{"type": "brand", "text": "What is {domain} known for?"}]
        place.configure(per_minute=2400, prompts=prompts, database=database)
        place.domains(600)
        words = ("run", "--domains", "domains.txt", "--json")
        leased = kills = again = 0
        for _ in range(10):
            running = place.start(*words)
            assert running.stdout is not None
            running.stdout.readline()  # it is running
            time.sleep(chance.uniform(0.3, 1.5))
            running.send_signal(signal.SIGKILL)
            running.communicate()
            kills += running.returncode == -signal.SIGKILL
            leased += db.rows("SELECT COUNT(*) FROM panel_leases")[0][0]
            again += under_way(place.folder, db)
            words = ("resume", "--fresh-deadline", "--take-over", "--json")
        last = under_way(place.folder, db)
        code, out, err = place.call(*words)
        seen = place.act("stats")["providers"]
        assert code == 0, err
        assert kills == 10
        assert db.rows("SELECT COUNT(*), COUNT(DISTINCT cell) FROM panel_answers") == [(1800, 1800)]
        assert db.rows("SELECT COUNT(*) FROM domain_responses WHERE response IS NOT NULL") == [(1800,)]
        asked = sum(seen[name]["requests"] for name in THREE)
        assert asked - 1800 <= again <= leased
        assert sum(seen[name]["asked_twice"] for name in THREE) <= again
        assert json.loads(out.splitlines()[-1])["asked_again"] == last
        counted = db.rows("SELECT SUM(calls), SUM(ok) FROM provider_metrics")[0]
        assert counted == (1800, 1800), "every call with a row, and none twice"
        assert abs(asked - 1800 - again) <= 10, (
            "what the journals say was under way is what the far ends saw twice"
        )
        told = db.rows("SELECT status, settled, answered FROM crawl_batches")
        assert told == [("complete", 1800, 1800)]
        cost = db.rows("SELECT SUM(cost_usd) FROM provider_metrics")[0][0]
        assert db.rows("SELECT spent_usd FROM crawl_batches")[0][0] == pytest.approx(cost)
        assert db.rows("SELECT COUNT(*) FROM panel_leases") == [(0,)]


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_run_that_was_taken_over_while_it_was_paused_asks_and_writes_nothing_more(tmp_path, database):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    with town(here, latency=0.2) as first, closing(open_sql(database)) as db:
        prompts = [{"type": "brand", "text": "What is {domain} known for?"}]
        first.configure(per_minute=1200, prompts=prompts, database=database)
        first.domains(150)
        shutil.copy(here / "vedette.yaml", there)
        running = first.start("run", "--domains", "domains.txt", "--json")
        assert running.stdout is not None
        for _ in range(3):
            running.stdout.readline()  # it is running
        pause_between_transactions(running, db, database)
        code, _, err = replace(first, folder=there).call("resume", "--take-over", "--json")
        assert code == 0, err
        before = asked_of(first)
        told = db.rows("SELECT status, settled, answered, spent_usd, ended_at FROM crawl_batches")
        running.send_signal(signal.SIGCONT)
        _, err = running.communicate(timeout=patient(60))
        assert running.returncode not in (0, 1)
        assert "took the batch" in err
        assert asked_of(first) - before <= 3 * 40, "what it had begun, and what it began before its next word"
        assert db.rows("SELECT status, settled, answered, spent_usd, ended_at FROM crawl_batches") == told
        assert told[0][:3] == ("complete", 450, 450)
        assert db.rows("SELECT SUM(calls), SUM(ok) FROM provider_metrics") == [(450, 450)]


def pause_between_transactions(running, db, database: str) -> None:
    """A process that is stopped inside a transaction keeps its locks: nobody could take over before it is ended."""
    for _ in range(50):
        running.send_signal(signal.SIGSTOP)
        time.sleep(0.2)  # what it had sent is on its way to the server
        if not holds_a_lock(db, database):
            return
        running.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    raise AssertionError("the run was inside a transaction at 50 of 50 pauses")


def holds_a_lock(db, database: str) -> bool:
    if not database.startswith("sqlite"):
        return bool(
            db.rows(
                "SELECT 1 FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()"
            )
        )
    with closing(
        sqlite3.connect(database.removeprefix("sqlite:///"), timeout=0.2, isolation_level=None)
    ) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        other.execute("ROLLBACK")
        return False


def asked_of(place) -> int:
    seen = place.act("stats")["providers"]
    return sum(seen[name]["requests"] for name in THREE)


def under_way(folder, db) -> int:
    """Cells that the journal of a killed run says were asked, and that have no row."""
    [path] = (folder / "vedette-data").glob("panel-asked-*")
    settled = {cell for (cell,) in db.rows("SELECT cell FROM panel_answers")}
    return len((asked_cells(path) or frozenset()) - settled)
