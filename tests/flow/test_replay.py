"""Every recorded decision comes out the same when it is made again, and a rule that was bent does not hide."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import timedelta

import pytest
from scripted import life, page

from vedette.core.evidence import ledger
from vedette.core.schedule import ewma
from vedette.surface.cli import main

URL = "https://one.example/zakon"
DAYS = 86400.0


def replayed(watched, *words: str) -> tuple[int, dict]:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = main(["replay", *words, "--json", "--data", str(watched.data)])
    return code, json.loads(out.getvalue())


@pytest.fixture
async def lived(tmp_path):
    """Ten days of a page that changes, fails now and then, and is watched by two policies in turn."""

    def moody(url, hours):
        if url.endswith("/robots.txt"):
            return (404, "")
        if 30 < hours < 60:
            return (503, "")
        return (200, page(f"Stopa je {20 + int(hours) // 24} %."))

    watched = life(
        tmp_path,
        moody,
        {"url": URL, "lister": "crawl"},
        retry={"attempts": 2},
        schedule={"policy": "seed-ewma"},
    )
    await watched.run(seconds=5 * DAYS)
    watched.config = watched.config.model_copy(
        update={
            "schedule": watched.config.schedule.model_copy(
                update={"policy": "fixed", "interval": timedelta(hours=7)}
            ),
            "retry": watched.config.retry.model_copy(update={"attempts": 4}),
        }
    )
    await watched.run(seconds=5 * DAYS)
    return watched


async def test_every_decision_comes_out_as_recorded_under_the_rules_of_its_run(lived):
    code, said = replayed(lived)
    assert (code, said["differences"]) == (0, [])
    assert said["agreed"]["schedule"] > 10
    assert said["agreed"]["retry"] > 1
    assert replayed(lived, URL)[1]["agreed"]["schedule"] == said["agreed"]["schedule"]
    assert replayed(lived, "--since", "1h")[1]["agreed"] == {}


def _steeper(interval):
    return lambda velocity, risk, params: interval(
        velocity, risk, replace(params, base_hours=params.base_hours * 1.01)
    )


async def test_a_bent_rule_is_caught(lived, monkeypatch):
    monkeypatch.setattr(ewma, "interval", _steeper(ewma.interval))
    code, said = replayed(lived)
    assert code == 6
    assert said["differing"]["schedule"] > 3
    assert "recorded" in said["differences"][0]["difference"]


async def test_an_edited_ledger_row_is_caught(lived):
    with sqlite3.connect(lived.data / "vedette.db") as db:
        row, text = db.execute(
            "SELECT id, payload FROM ledger WHERE payload LIKE '%schedule%' ORDER BY id DESC LIMIT 1"
        ).fetchone()
        parts = json.loads(text)
        next(part for part in parts if part["action"] == "schedule")["inputs"]["velocity"] = 0.123
        db.execute("UPDATE ledger SET payload = ? WHERE id = ?", (json.dumps(parts), row))
    assert replayed(lived)[0] == 6


def test_every_recomputable_action_has_a_rule():
    assert set(ledger.RULES) == {"schedule", "replan", "retry", "admit", "verdict", "hunt", "oddness"}
