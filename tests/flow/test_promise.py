"""The freshness promise on a living web: kept from the first hour on, told as it was, and the same in every run."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scripted import life, page
from watching import Watched, a_busy_machine, clock_of, living, living_web

from vedette.contracts.words import Risk
from vedette.livingweb import LivingWeb, World
from vedette.livingweb.process import Every, Poisson
from vedette.livingweb.world import HostSpec
from vedette.surface.cli import main
from vedette.telemetry.clock import JumpingClock

DAY, HOUR = 86_400.0, 3600.0


def random_world(seed: int, hosts: int = 1, pages: int = 8) -> World:
    """Nothing tells of a change but looking.  Two pages of each host come into being while it is watched."""
    chance = Random(seed)
    specs = [
        HostSpec(
            layout="tables", listing="html_list", dates="none", pages=pages, born_later=2, births=Every(2 * DAY),
            fixed_changes=tuple((n, Poisson(1.0 / chance.choice((1.0, 3.0, 10.0)))) for n in range(pages)),
        )
        for _ in range(hosts)
    ]  # fmt: skip
    return World(specs, seed=seed)


async def watched_for(days: float, world: World, folder: Path, **config: Any) -> tuple[Watched, LivingWeb]:
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        watched = critical(living(world, web, folder, clock=clock, config=config))
        ended = await watched.run(seconds=days * DAY)
        assert ended.error is None
        return watched, web


def critical(watched: Watched) -> Watched:
    sources = tuple(one.model_copy(update={"risk": Risk.CRITICAL}) for one in watched.config.sources)
    watched.config = watched.config.model_copy(update={"sources": sources})
    return watched


def in_time(world: World, web: LivingWeb, days: float) -> list[bool]:
    """Of every true change, by the server's own book: did somebody look within four hours?"""
    host, end = world.hosts[0], world.epoch + days * DAY
    looks: dict[int, list[float]] = {}
    for seen in web.journal.requests:
        found = host.find(seen.target) if seen.status in (200, 304) else None
        if found is not None:
            looks.setdefault(found.index, []).append(seen.at)
    return [
        any(t <= at <= t + 4 * HOUR for at in looks.get(one.index, ()))
        for one in host.pages
        if one.born_at < end
        for t in world.changes(0, one.index, max(world.epoch, one.born_at), end - 4 * HOUR)
    ]


def told(watched: Watched, *words: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        main([*words, "--data", str(watched.data)], clock=watched.clock)
    return out.getvalue()


def freshness(watched: Watched) -> tuple[bool, dict[str, float]]:
    said = json.loads(told(watched, "freshness", "--json"))
    return said["holds"], said["measured"]["classes"]["CRITICAL"]["in_time"]


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_promise_is_kept_from_the_first_hour_over_the_weekend_and_for_new_pages(tmp_path, seed):
    world = random_world(seed)
    watched, web = await watched_for(8.0, world, tmp_path)
    seen = in_time(world, web, 8.0)
    truth = sum(seen) / len(seen)
    assert len(seen) >= 10
    assert truth >= 0.95
    holds, interval = freshness(watched)
    assert holds
    assert interval["low"] <= truth <= interval["high"]


async def test_a_promise_that_the_budget_does_not_carry_is_told_as_broken(tmp_path):
    world = random_world(4)
    watched, web = await watched_for(8.0, world, tmp_path, schedule={"budget_per_day": 20})
    seen = in_time(world, web, 8.0)
    truth = sum(seen) / len(seen)
    assert truth < 0.9
    holds, interval = freshness(watched)
    assert not holds
    assert interval["low"] <= truth <= interval["high"]


async def test_a_store_that_did_not_keep_its_promises_keeps_them_after_the_next_review(tmp_path):
    """What an older version published knows of no promise at every hour; pages wait as it planned them."""
    world = random_world(6)
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        watched = critical(living(world, web, tmp_path, clock=clock))
        await watched.run(seconds=1 * DAY)
        with closing(sqlite3.connect(watched.data / "vedette.db")) as db, db:
            db.execute("UPDATE published SET body = json_remove(body, '$.kept_from')")
            db.execute("UPDATE watches SET due_at = due_at + 20 * 3600000 WHERE id % 2")
        begin = clock.now().timestamp()
        await watched.run(seconds=1 * DAY)
    for one in world.hosts[0].pages:
        looks = [seen.at for seen in web.journal.requests if seen.target == one.path and seen.at > begin]
        assert not one.exists(begin) or looks[0] < begin + 8 * HOUR


async def test_a_world_lives_the_same_life_beside_a_busy_machine(tmp_path):
    async def lived(folder: Path) -> tuple[list[tuple[object, ...]], str]:
        world = random_world(5, hosts=6)
        watched, web = await watched_for(1.0, world, folder)
        asked = [(one.at, one.host, one.target, one.status) for one in web.journal.requests]
        return asked, told(watched, "freshness", "--json") + told(watched, "list", "--json")

    calm = await lived(tmp_path / "calm")
    with a_busy_machine():
        busy = await lived(tmp_path / "busy")
    assert len(calm[0]) > 100
    assert calm == busy


async def test_explain_says_of_a_page_that_was_never_seen_that_it_was_not(tmp_path):
    def down(url: str, hours: float) -> tuple[int, str]:
        return (404, "") if url.endswith("robots.txt") else (500, "")

    watched = life(tmp_path, down, {"url": "https://one.example/a", "lister": "page"}, schedule={})
    await watched.run(seconds=2 * DAY)
    said = told(watched, "explain", "https://one.example/a")
    assert "never seen" in said
    assert "likely since the last look" not in said
    assert "worth it now" not in said
    belief = json.loads(told(watched, "explain", "https://one.example/a", "--json"))["belief"]
    assert belief["p_changed"] is None


async def test_the_numbers_of_an_explanation_agree(tmp_path):
    """Two minutes after a look a change is about as likely as the rate says, and its value is small."""

    def restless(url: str, hours: float) -> tuple[int, str]:
        if url.endswith("robots.txt"):
            return (404, "")
        return (200, page(f"Stanje {int((hours + 3 * int(url[-1])) // 9)}."))

    sources = [{"url": f"https://one.example/{n}", "lister": "page"} for n in range(4)]
    watched = life(tmp_path, restless, *sources, schedule={})
    await watched.run(seconds=2 * DAY)
    last = "SELECT MAX(v.at) FROM visits v JOIN watches w ON w.id = v.watch_id WHERE w.url LIKE ?"
    for n in range(4):
        ((at,),) = watched.rows(last, f"%/{n}")
        watched.clock = JumpingClock(datetime.fromtimestamp(at / 1000 + 120, UTC))
        belief = json.loads(told(watched, "explain", f"https://one.example/{n}", "--json"))["belief"]
        by_rate = belief["rate_per_day"] * 120 / DAY
        assert 0.0 < belief["p_changed"] < 10 * by_rate
        assert belief["value"] < 0.1 < belief["price"]
