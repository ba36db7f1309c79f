"""Workers of the role `panel` share a batch: every cell is answered once, whatever happens to them."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path

import pytest
from machine import patient
from panel_town import THREE, town
from panel_workers_kit import PROMPTS, PanelTeam, drill
from redis_kit import own_redis

from vedette.contracts.sql_connection import PostgresAddress


@pytest.mark.slow
def test_three_workers_answer_every_cell_once_though_they_are_killed_and_stopped(
    tmp_path: Path, postgres_store: PostgresAddress
):
    with town(tmp_path, latency=0.1, per_minute=1100) as place, PanelTeam(place, postgres_store) as team:
        place.configure(per_minute=1000, prompts=PROMPTS)
        for model in THREE:
            place.price(model, 1.0, 1.0)
        told = drill(team, random.Random(7), domains=120, kills=2, budget=1.0)
    cells = 120 * len(THREE)
    assert (told["cells"], told["distinct"], told["settled"]) == (cells, cells, cells)
    assert told["status"] == "complete"
    assert told["ends"] == 1, "ended once"
    assert told["calls"] == told["ok"] == cells, "every call with a row, and none twice"
    assert told["requests"] - cells == told["twice"] <= 16 * len(THREE) * (told["killed"] + 1)
    assert told["throttled"] == 0, "no key saw more than its limit, by the provider's own count"
    assert told["spent"] == pytest.approx(told["cost"]) == pytest.approx(told["metered"])


@pytest.mark.slow
def test_the_ceiling_holds_over_all_workers_and_with_it_the_batch_ends(
    tmp_path: Path, postgres_store: PostgresAddress
):
    with town(tmp_path, latency=0.02) as place, PanelTeam(place, postgres_store) as team:
        place.configure(per_minute=3000, prompts=PROMPTS)
        for model in THREE:
            place.price(model, 10.0, 10.0)
        place.domains(200)
        code, _, err = team.verb("run", "--domains", "domains.txt", "--detach", "--budget", "0.05")
        assert code == 0, err
        assert "no worker has the role `panel`" in err
        for _ in range(2):
            team.start()
        team.until(team.is_ended)
        spent, status, cells = team.rows("SELECT spent_usd, status, settled FROM crawl_batches")[0]
        cost = team.rows("SELECT SUM(cost_usd) FROM panel_answers")[0][0]
    assert status == "budget_spent"
    assert 0 < cells < 600
    assert spent == pytest.approx(cost)
    assert 0.8 * 0.05 < spent <= 0.05


@pytest.mark.slow
def test_workers_obey_the_kill_switch_drain_at_a_word_and_say_what_they_do(
    tmp_path: Path, postgres_store: PostgresAddress
):
    with (
        own_redis() as redis,
        town(tmp_path, latency=0.1) as place,
        PanelTeam(place, postgres_store, redis.url) as team,
    ):
        place.configure(per_minute=600, prompts=PROMPTS)
        place.domains(4000)  # more than can be asked while workers come and go
        code, _, err = team.verb("run", "--domains", "domains.txt", "--detach")
        assert code == 0, err
        first, second = team.start(), team.start()
        team.until(lambda: team.settled() > 30)
        visitors = "SELECT DISTINCT worker FROM panel_visits WHERE worker <> ''"
        team.until(lambda: len(team.rows(visitors)) == 2)  # each has its part once both are there
        assert redis.words("cb:*"), "what providers do is told under the keys of 003"
        first.send_signal(signal.SIGTERM)
        assert first.wait(patient(30)) == 0
        team.alive.remove(first)
        assert team.rows("SELECT COUNT(*) FROM panel_visits WHERE worker <> ''")[0][0] <= 3
        team.until(lambda: team.rows(visitors) != [])
        assert team.verb("kill")[0] == 0
        team.until(team.is_ended, 20)
        seen = sum(one["requests"] for one in team.stats().values())
        status, settled = team.rows("SELECT status, settled FROM crawl_batches")[0]
        assert status == "killed"
        assert settled == team.settled() == seen, "what was under way has its row"
        second.send_signal(signal.SIGTERM)
        assert second.wait(patient(30)) == 0
        roles = team.rows("SELECT roles, state, figures FROM workers")
    assert [row[:2] for row in roles] == [("panel", "ended")] * 2
    assert sum(json.loads(row[2])["calls"] for row in roles) == seen


@pytest.mark.slow
def test_a_batch_that_workers_ask_is_not_taken_from_them_unless_it_is_said(
    tmp_path: Path, postgres_store: PostgresAddress
):
    with town(tmp_path, latency=0.1) as place, PanelTeam(place, postgres_store) as team:
        place.configure(per_minute=90, prompts=PROMPTS)
        place.domains(60)
        assert team.verb("run", "--domains", "domains.txt", "--detach")[0] == 0
        team.start()
        team.until(lambda: team.settled() > 10)
        code, _, err = team.verb("resume")
        assert code != 0
        assert "running elsewhere" in err
        team.until(team.is_ended)
        seen = sum(one["requests"] for one in team.stats().values())
        assert team.settled() == seen == 60 * len(THREE)


@pytest.mark.slow
def test_a_batch_is_left_to_workers_in_a_database_that_has_no_tables_yet(
    tmp_path: Path, empty_database: PostgresAddress
):
    with town(tmp_path) as place, PanelTeam(place, empty_database) as team:
        place.configure(prompts=PROMPTS)
        place.domains(2)
        code, _, err = team.verb("run", "--domains", "domains.txt", "--detach")
    assert code == 0, err
    assert "no worker has the role `panel`" in err


def test_a_batch_is_left_to_workers_only_in_a_store_that_workers_share(tmp_path: Path):
    with town(tmp_path) as place:
        place.configure(prompts=PROMPTS)
        place.domains(2)
        code, _, err = place.call("run", "--domains", "domains.txt", "--detach")
        assert code != 0
        assert "set DATABASE_URL" in err
        (tmp_path / "data").mkdir(exist_ok=True)
        (
            tmp_path / "data" / "vedette.db"
        ).touch()  # the folder has a store: DATABASE_URL names another database
        env = {"DATABASE_URL": "postgresql://127.0.0.1:9/x", "VEDETTE_DATA": f"{tmp_path / 'data'}"}
        code, _, err = place.call("run", "--domains", "domains.txt", "--detach", **env)
    assert code != 0
    assert "this one is the file" in err
