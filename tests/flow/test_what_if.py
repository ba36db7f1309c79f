"""A real run on the jumping clock: its record gives bounds, and the living web's truth lies within them."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from watching import clock_of, living, living_web

from vedette.core.freshness.measured import measure
from vedette.core.schedule import make_policy
from vedette.core.schedule.protocol import to_hours
from vedette.core.whatif.history import History, Targets, Truth, imputer, sorted_truth
from vedette.core.whatif.play import PlayTerms, bounds, figures, play
from vedette.livingweb import World, grid_world
from vedette.store.queries import Queries
from vedette.store.recorded_looks import recorded
from vedette.store.views import WatchFilter
from vedette.surface.cli import main

DAY = 86400.0
FIGURES = ("requests", "delay", "within", "missed")
WITHIN = {"CRITICAL": 4.0, "HIGH": 4.0, "MEDIUM": 4.0, "LOW": 4.0}


async def lived(tmp_path, seed: int, days: float):
    world = grid_world(6, 8, seed=seed)
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        watched = living(world, web, tmp_path, clock=clock, config={"schedule": {"audit_share": 0.2}})
        ended = await watched.run(seconds=days * DAY)
    assert ended.error is None
    return watched


def on_record(watched) -> tuple[History, Truth]:
    """What was seen of the pages, and what the world knows of them."""
    with Queries(watched.data / "vedette.db") as queries:
        history = recorded(queries, now=watched.clock.now()).history
        urls = {watch.id: watch.url for watch in queries.watches(WatchFilter())}
        places = [watched.world.locate(urls[number]) for number, *_ in queries.targets()]
    is_page = np.array([place is not None for place in places])
    number = np.cumsum(is_page) - 1
    seen, whom = is_page[history.row], history.targets
    targets = Targets(risk=whom.risk[is_page], host=whom.host[is_page], since=whom.since[is_page])
    history = replace(
        history, targets=targets, row=number[history.row][seen], at=history.at[seen],
        changed=history.changed[seen], audit=history.audit[seen],
    )  # fmt: skip
    return history, _truth(watched.world, [place for place in places if place is not None], history)


def _truth(world: World, places: list[tuple[int, int]], history: History) -> Truth:
    times = [world.changes(host, page, world.epoch, world.epoch + 30 * DAY) for host, page in places]
    row = np.repeat(np.arange(len(places)), [len(each) for each in times])
    at = np.array([to_hours(datetime.fromtimestamp(t, UTC)) for each in times for t in each])
    return sorted_truth(history.targets, row, at, (history.start, history.end))


def told(watched, *words: str) -> tuple[int, str]:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = main([*words, "--data", str(watched.data)], clock=watched.clock)
    return code, out.getvalue()


async def test_a_record_says_when_it_changed_and_bounds_what_would_have_been(tmp_path):
    watched = await lived(tmp_path, seed=5, days=4)
    history, truth = on_record(watched)
    _agrees_with_the_truth(history, truth)
    made, terms = imputer(history), PlayTerms(budget=history.requests / history.days / 2, step=0.5)
    for name in ("seed-ewma", "per-risk"):
        real = figures(play(make_policy(name, seed=3), truth, terms))
        table = bounds(lambda name=name: make_policy(name, seed=3), made, terms)
        out = [
            (name, risk, key, real[risk][key], table[risk][key])
            for risk in table
            for key in FIGURES
            if not np.isnan(real[risk][key]) and not table[risk][key].contains(real[risk][key])
        ]
        assert out == []
    _audits_are_marked(watched, history)
    _the_verbs_speak(watched)


def _agrees_with_the_truth(history: History, truth: Truth) -> None:
    """Every change on record lies between looks between which the truth has one."""
    shown = np.flatnonzero(history.changed)
    assert len(shown) > 10
    for n in shown:
        row, begin, end = history.row[n], history.at[n - 1], history.at[n]
        assert ((truth.row == row) & (truth.at > begin - 0.01) & (truth.at <= end + 0.01)).any()


def _audits_are_marked(watched, history: History) -> None:
    audits = (~np.isnan(history.audit)).sum()
    assert 0.1 < audits / len(history.at) < 0.3
    with sqlite3.connect(watched.data / "vedette.db") as db:
        told_why = db.execute("""SELECT COUNT(*) FROM ledger WHERE payload LIKE '%["audit"%'""").fetchone()[0]
    assert told_why >= audits
    found = measure(history, WITHIN)
    assert sum(one.audits for one in found.values()) == audits
    assert told(watched, "replay", "--json")[0] == 0


def _the_verbs_speak(watched) -> None:
    code, words = told(watched, "freshness", "--json", "--budget", "0.5x")
    said = json.loads(words)
    assert code == 0
    assert said["expected"]["shortfall_per_day"] >= 0
    assert 0 < said["measured"]["classes"]["CRITICAL"]["stale"]["high"] <= 1
    assert told(watched, "freshness", "--check", "--objective", "CRITICAL=1m:1.0")[0] == 6
    code, words = told(
        watched, "simulate", "--draws", "2", "--policy", "fixed", "--policy", "per-risk", "--json"
    )
    said = json.loads(words)
    assert code == 0
    assert [one["policy"] for one in said["scenes"]] == ["fixed", "per-risk"]
    delay = said["scenes"][0]["classes"]["ALL"]["delay"]
    assert 0 < delay["low"] <= delay["middle"] <= delay["high"]


async def test_a_plot_of_the_record(tmp_path):
    watched = await lived(tmp_path, seed=5, days=0.5)
    for suffix in ("png", "svg"):
        path = tmp_path / f"what-if.{suffix}"
        code, words = told(watched, "simulate", "--draws", "2", "--plot", str(path))
        assert code == 0
        assert "CRITICAL" in words
        assert path.stat().st_size > 10_000
