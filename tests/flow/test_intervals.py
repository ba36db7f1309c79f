"""An interval that was asked for is obeyed over a day, and what is stronger is named."""

from __future__ import annotations

import io
import json
from contextlib import closing, redirect_stderr, redirect_stdout
from itertools import pairwise

import pytest
from scripted import Life, life, page

from vedette.store.schedule_rows import ScheduleReader
from vedette.store.sqlite import connect
from vedette.surface.cli import main

DAY = 86400.0
SITE = "https://one.example"
POLICIES = ("learned", "seed-ewma", "fixed", "per-risk")


def told(watched: Life, *words: str) -> tuple[int, str]:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = main([*words, "--data", str(watched.data)], clock=watched.clock)
    return code, out.getvalue()


def calm(url: str, hours: float) -> tuple[int, str]:
    return (200, page("Stopa je 25 %.", title=url[-3:]))


def slow_host(url: str, hours: float) -> tuple[int, str]:
    if url.endswith("/robots.txt"):
        return (200, "User-agent: *\nCrawl-delay: 900\n")
    return calm(url, hours)


@pytest.mark.parametrize("policy", POLICIES)
async def test_every_ten_minutes_is_144_looks_a_day_under_every_policy(tmp_path, policy):
    watched = life(
        tmp_path, calm, {"url": f"{SITE}/p1", "lister": "page", "every": "10m"},
        {"url": "https://two.example/p2", "lister": "page"}, schedule={"policy": policy},
    )  # fmt: skip
    await watched.run(seconds=DAY)
    looks = watched.fetcher.looks(f"{SITE}/p1")
    assert 140 <= len(looks) <= 152  # an audit comes sooner now and then
    assert sum(0.16 < b - a < 0.18 for a, b in pairwise(looks)) > 130
    assert len(watched.fetcher.looks("https://two.example/p2")) < 13
    code, said = told(watched, "replay", "--json")
    assert (code, json.loads(said)["differences"]) == (0, [])


@pytest.mark.parametrize("policy", ["learned", "fixed"])
async def test_a_crawl_delay_is_stronger_than_the_interval_and_is_told(tmp_path, policy):
    source = {"url": f"{SITE}/p1", "lister": "page", "every": "10m"}
    watched = life(tmp_path, slow_host, source, schedule={"policy": policy})
    await watched.run(seconds=DAY)
    looks = watched.fetcher.looks(f"{SITE}/p1")
    assert 93 <= len(looks) <= 96
    assert min(b - a for a, b in pairwise(looks)) >= 0.25 - 1e-6
    words = "asked every 10 min; robots.txt Crawl-delay 900 s is stronger: every 15 min"
    assert words in told(watched, "explain", f"{SITE}/p1")[1]
    assert words in told(watched, "why-not", f"{SITE}/p1")[1]
    assert words in told(watched, "add", f"{SITE}/p1", "--every", "10m")[1]
    _, said = told(watched, "explain", f"{SITE}/p1", "--json")
    asked = json.loads(said)["asked"]
    assert (asked["every"], asked["stronger"]["code"], asked["stronger"]["interval"]) == (
        600.0, "crawl_delay", 900.0,
    )  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
async def test_the_frequency_of_a_page_is_a_ceiling_as_it_is_of_a_listing(tmp_path, policy):
    """38 of the 71 rows of the Croatian registry are pages that set it."""
    source = {"url": f"{SITE}/p1", "lister": "page", "scrape_frequency": "2h", "risk": "LOW"}
    watched = life(tmp_path, calm, source, schedule={"policy": policy, "audit_share": 0})
    await watched.run(seconds=10 * DAY)
    looks = watched.fetcher.looks(f"{SITE}/p1")
    assert max(b - a for a, b in pairwise(looks)) <= 2 + 0.01
    assert len(looks) >= 118
    assert told(watched, "replay")[0] == 0


async def test_a_price_that_moves_does_not_move_what_was_asked_for(tmp_path):
    """At a new price the scheduler plans watches anew.  Nobody asks it about those with an interval of their own."""
    asked = [
        {"url": f"{SITE}/p1", "lister": "page", "every": "5h"},
        {"url": f"{SITE}/p2", "lister": "page", "scrape_frequency": "DAILY"},
    ]
    free = [{"url": f"https://two.example/p{n}", "lister": "page"} for n in range(3, 6)]
    watched = life(tmp_path, calm, *asked, *free, schedule={"audit_share": 0})
    await watched.run(seconds=DAY)
    with closing(connect(watched.data / "vedette.db", read_only=True)) as db:
        leaves = ScheduleReader(db).planned(-(2**63), 100, now=watched.clock.now())
    assert {leaf.lane for leaf in leaves} == {"host:two.example"}
    assert len(leaves) == 3


async def test_an_interval_that_is_set_later_holds_from_the_last_look_on(tmp_path):
    plain = {"url": f"{SITE}/p1", "lister": "page"}
    watched = life(tmp_path, calm, plain, schedule={"policy": "fixed", "interval": "7d"})
    await watched.run(seconds=3600)
    assert len(watched.fetcher.looks(f"{SITE}/p1")) == 1
    again = life(
        tmp_path, calm, plain | {"every": "30m"}, schedule={"policy": "fixed", "interval": "7d"}
    )  # fmt: skip
    again.clock.advance(watched.clock.now() - again.clock.now())
    await again.run(seconds=3600)
    assert 2 <= len(again.fetcher.looks(f"{SITE}/p1")) <= 3


async def test_a_page_whose_host_fails_is_tried_at_its_interval_as_far_as_the_lane_allows(tmp_path):
    def failing(url: str, hours: float) -> tuple[int, str]:
        return (503, "") if 2 < hours < 4 else calm(url, hours)

    watched = life(tmp_path, failing, {"url": f"{SITE}/p1", "lister": "page", "every": "10m"}, schedule={})
    await watched.run(seconds=8 * 3600)
    back = next(at for at in watched.fetcher.looks(f"{SITE}/p1") if at >= 4)
    assert back < 5.5  # the breaker closes the lane for an hour, then for two
    assert len([at for at in watched.fetcher.looks(f"{SITE}/p1") if at > 5.5]) >= 13
