"""The engine with the learned policy: restarts, budgets, hosts that fail, listings that tell, decisions made again."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from base64 import b64decode
from bisect import bisect_left
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from scripted import Life, life, page
from watching import clock_of, living, living_web, staleness

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from engine_policies import Terms, Truth, judged, made, means, oracle, seen_cost
from vedette.contracts.words import Reason
from vedette.core.evidence.ledger import adds_up
from vedette.core.schedule.learned import learn, listings, value
from vedette.core.schedule.learned.beliefs import unpack_beliefs
from vedette.core.schedule.protocol import to_hours
from vedette.livingweb import grid_world
from vedette.livingweb.presets import GridMix
from vedette.livingweb.process import ChangeMix
from vedette.surface.cli import main

DAY = 86400.0
SITE = "https://one.example"


def told(watched: Life, *words: str) -> tuple[int, dict]:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = main([*words, "--json", "--data", str(watched.data)], clock=watched.clock)
    return code, json.loads(out.getvalue())


def town(url: str, hours: float) -> tuple[int, str]:
    """A sitemap that dates its pages; page n changes every n + 1 days at noon."""
    if url.endswith("/robots.txt"):
        return (404, "")
    versions = [int((hours + 20) // (24 * (n + 1))) for n in range(5)]
    if url.endswith(".xml"):
        dates = [f"2026-01-{4 + version * (n + 1):02d}" for n, version in enumerate(versions)]
        rows = "".join(
            f"<url><loc>{SITE}/p{n}</loc><lastmod>{date}</lastmod></url>" for n, date in enumerate(dates)
        )
        return (200, f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>')
    return (200, page(f"Stopa je {versions[int(url[-1])]} %."))


def site(folder, **config) -> Life:
    config = {"schedule": {}} | config
    return life(folder, town, {"url": f"{SITE}/sitemap.xml", "lister": "sitemap"}, **config)


LOOKS = (
    "SELECT v.at, w.url, v.outcome, v.changed FROM visits v JOIN watches w ON w.id = v.watch_id ORDER BY v.id"
)
DECISIONS = "SELECT watch_id, payload FROM ledger WHERE kind = 'visit' ORDER BY id"
DUES = "SELECT url, due_at, interval_s, belief FROM watches ORDER BY id"


async def test_a_restart_decides_as_if_there_had_been_none(tmp_path):
    whole, parted = site(tmp_path / "whole"), site(tmp_path / "parted")
    await whole.run(seconds=9 * DAY)
    for days in (2, 0.5, 3, 3.5):
        await parted.run(seconds=days * DAY)
    for query in (LOOKS, DECISIONS, DUES):
        assert whole.rows(query) == parted.rows(query)
    assert len(whole.rows(LOOKS)) > 60
    hosts = "SELECT key, named, missed, invented, ROUND(firsts, 9), ROUND(firsts_due, 9) FROM hosts"
    assert whole.rows(hosts) == parted.rows(hosts)


async def test_pages_of_a_host_where_nothing_changes_are_looked_at_less_and_the_record_says_why(tmp_path):
    """Twelve pages that change every day, twelve that never do; none of them changed before the others did."""

    def two(url: str, hours: float) -> tuple[int, str]:
        day = int(hours // 24) if "busy" in url else 0
        return (200, page(f"Stopa je {day} %.", title=url[-3:]))

    pages = [f"https://{host}.example/p{n}" for host in ("busy", "quiet") for n in range(12)]
    sources = [{"url": url, "lister": "page"} for url in pages]
    watched = life(tmp_path, two, *sources, schedule={})
    await watched.run(seconds=14 * DAY)
    made = [one for _, payload in watched.rows(DECISIONS) for one in json.loads(payload)]
    assert min(one["inputs"].get("lively", 1.0) for one in made) < 0.5
    looks = [len(watched.fetcher.looks(url)) for url in pages]
    assert sum(looks[12:]) < 0.3 * sum(looks[:12])
    _, said = told(watched, "explain", pages[-1])
    assert "times as likely as others to change" in json.dumps(said)
    assert told(watched, "replay")[0] == 0


async def test_a_listing_that_dates_its_pages_brings_their_looks_forward(tmp_path):
    watched = site(tmp_path)
    await watched.run(seconds=12 * DAY)
    signals = [
        decision
        for (text,) in watched.rows("SELECT payload FROM ledger WHERE payload LIKE '%\"signal\"%'")
        for decision in json.loads(text)
        if decision["action"] == "signal"
    ]
    assert sum(decision["output"] for decision in signals) > 5
    ((named, missed),) = watched.rows("SELECT named, missed FROM hosts")
    assert named > missed  # both began at 2: this listing has earned its trust
    ((leaves, pull),) = watched.rows("SELECT leaves, pull FROM hubs")
    assert leaves == 5
    assert pull > 0


async def test_a_look_that_a_listing_brought_forward_says_so_and_is_replayed(tmp_path):
    watched = site(tmp_path)
    await watched.run(seconds=12 * DAY)
    moved = [
        (watch, decision)
        for watch, text in watched.rows("SELECT watch_id, payload FROM ledger WHERE kind = 'signal'")
        for decision in json.loads(text)
    ]
    assert moved
    for _, decision in moved:
        assert decision["action"] == "replan"
        assert decision["inputs"]["by"] == f"{SITE}/sitemap.xml"
        assert decision["output"]["due_at"] < decision["inputs"]["due_at"]
        last = float(unpack_beliefs([b64decode(decision["inputs"]["belief"])]).last[0])
        hours = to_hours(datetime.fromisoformat(decision["output"]["due_at"])) - last
        assert adds_up([Reason(*fields) for fields in decision["reasons"]], hours)
    code, said = told(watched, "replay")
    assert (code, said["differences"]) == (0, [])
    assert said["agreed"]["replan"] == len(moved)


async def test_explain_names_the_listing_that_moved_the_next_look(tmp_path):
    watched = site(tmp_path)
    for _ in range(24 * 12):
        await watched.run(seconds=1800)
        rows = watched.rows(
            "SELECT w.url, l.kind FROM ledger l JOIN watches w ON w.id = l.watch_id "
            "WHERE l.kind <> 'verdict' ORDER BY l.id DESC"
        )
        if rows and rows[0][1] == "signal":
            break
    _, said = told(watched, "explain", rows[0][0])
    assert any(
        words.startswith("due ") and f"{SITE}/sitemap.xml named it" in words
        for words in said["belief"]["signals"]
    )


async def test_what_the_scheduler_cannot_read_is_a_problem_and_every_page_is_looked_at_all_the_same(tmp_path):
    watched = site(tmp_path)
    await watched.run(seconds=3 * DAY)
    with closing(sqlite3.connect(watched.data / "vedette.db", isolation_level=None)) as db:
        db.execute("UPDATE scheduler SET running = '{'")
    looked = len(watched.rows(LOOKS))
    await watched.run(seconds=3 * DAY)
    problems = [event.fields["what"] for event in watched.events if event.name == "problem"]
    assert problems
    assert all("the scheduler failed on https://one.example/" in what for what in problems)
    assert len(watched.rows(LOOKS)) > looked + 5
    assert watched.rows("SELECT COUNT(*) FROM watches WHERE due_at IS NULL") == [(0,)]
    assert told(watched, "replay")[0] == 0


async def test_gc_keeps_the_versions_that_decisions_name_and_no_others(tmp_path):
    watched, keep = site(tmp_path / "data"), tmp_path / "vedette.yaml"
    keep.write_text("evidence: {ledger: 1d}")
    await watched.run(seconds=8 * DAY)
    (before,) = watched.rows("SELECT COUNT(*) FROM published")[0]
    _, would = told(watched, "gc", "--dry-run", "--config", str(keep))
    _, done = told(watched, "gc", "--config", str(keep))
    (after,) = watched.rows("SELECT COUNT(*) FROM published")[0]
    assert after < before
    assert done["versions"] > 0
    assert would["versions"] <= done["versions"]  # the decisions that name some of them were yet to go
    code, said = told(watched, "replay")
    assert (code, said["differences"]) == (0, [])
    assert told(watched, "gc", "--config", str(keep))[1]["versions"] == 0
    await watched.run(seconds=DAY)
    assert told(watched, "replay")[0] == 0


async def test_a_second_look_is_no_lesson_of_its_own(tmp_path):
    watched = site(tmp_path)
    await watched.run(seconds=6 * DAY)
    for watch, looks, seconds in watched.rows(
        "SELECT watch_id, COUNT(*), SUM(INSTR(payload, 'second_look') > 0) FROM ledger WHERE kind = 'visit' GROUP BY 1"
    ):
        ((scans,),) = watched.rows("SELECT scan_count FROM watches WHERE id = ?", watch)
        assert scans == looks - seconds


@pytest.fixture
async def lived(tmp_path):
    watched = site(tmp_path)
    await watched.run(seconds=8 * DAY)
    return watched


async def test_every_learned_decision_comes_out_as_recorded(lived):
    code, said = told(lived, "replay")
    assert (code, said["differences"]) == (0, [])
    assert said["agreed"]["schedule"] > 40


@pytest.mark.parametrize(("module", "name"), [(value, "KAPPA"), (learn, "FALLS_ASLEEP")])
async def test_a_bent_rule_is_caught(lived, monkeypatch, module, name):
    monkeypatch.setattr(module, name, getattr(module, name) * 1.05)
    code, said = told(lived, "replay")
    assert code == 6
    assert said["differing"]["schedule"] > 3


async def test_a_bent_rule_about_listings_is_caught(lived, monkeypatch):
    true = listings.listed_change
    monkeypatch.setattr(listings, "listed_change", lambda *given: tuple(0.9 * one for one in true(*given)))
    code, said = told(lived, "replay")
    assert code == 6
    assert said["differing"] == {"replan": said["differing"]["replan"]}


async def test_explain_says_what_is_believed_and_its_reasons_add_up(lived):
    code, said = told(lived, "explain", f"{SITE}/p0")
    belief = said["belief"]
    assert code == 0
    assert belief["rate_low"] < belief["rate_per_day"] < belief["rate_high"]
    assert 0.3 < belief["rate_per_day"] < 2.0  # it changes once a day
    assert 0.0 <= belief["p_changed"] <= 1.0
    assert belief["price"] == 1.0
    reasons = [Reason(one["code"], one["points"], one["note"]) for one in belief["reasons"]]
    assert adds_up(reasons, belief["hours"])
    assert any("hub" in words for words in belief["signals"])
    out = io.StringIO()
    with redirect_stdout(out):
        main(["explain", f"{SITE}/p0", "--data", str(lived.data)], clock=lived.clock)
    assert "changes a day" in out.getvalue()
    assert "at a price of" in out.getvalue()


async def test_recorded_reasons_add_up_to_the_interval(lived):
    for (text,) in lived.rows("SELECT payload FROM ledger WHERE kind = 'visit'"):
        for decision in json.loads(text):
            if decision["action"] == "schedule":
                assert adds_up(
                    [Reason(*fields) for fields in decision["reasons"]], decision["output"]["hours"]
                )


def most_in_a_day(hours: list[float]) -> int:
    return max(bisect_left(hours, begin + 24.0) - n for n, begin in enumerate(hours))


@pytest.mark.parametrize("policy", ["learned", "fixed"])
async def test_no_24_hours_see_more_looks_than_the_budget(tmp_path, policy):
    def busy(url, hours):
        return (404, "") if url.endswith("robots.txt") else (200, page(f"Stanje {int(hours)} u {url}"))

    sources = [{"url": f"https://{n}.example/p{n}", "lister": "page"} for n in range(12)]
    schedule = {"policy": policy, "interval": "1h", "budget_per_day": 60}
    watched = life(tmp_path, busy, *sources, schedule=schedule)
    for days in (1.2, 0.3, 1.5):
        await watched.run(seconds=days * DAY)
    asked = [hours for hours, url in watched.fetcher.asked if not url.endswith("robots.txt")]
    assert 45 <= most_in_a_day(asked) <= 60


@pytest.mark.parametrize("policy", ["learned", "seed-ewma"])
async def test_under_a_short_budget_a_second_look_comes_within_seconds(tmp_path, policy):
    """Others of its host are due all the time and wait for the budget; one look in two is kept for it."""

    def edited(url, hours):
        return (404, "") if "robots" in url else (200, page(f"Stopa je {int(hours // 30)} % u {url}."))

    sources = [{"url": f"https://{n % 2}.example/zakon/{n}", "lister": "page"} for n in range(10)]
    watched = life(tmp_path, edited, *sources, schedule={"policy": policy, "budget_per_day": 8})
    await watched.run(seconds=8 * DAY)
    looks: dict[str, list[tuple[float, bool]]] = {}
    for url, at, payload in watched.rows(
        "SELECT w.url, v.at, l.payload FROM visits v JOIN watches w ON w.id = v.watch_id "
        "JOIN ledger l ON l.visit_id = v.id WHERE l.kind = 'visit' ORDER BY v.at"
    ):
        looks.setdefault(url, []).append((at / 1000, '"second_look"' in payload))
    waits = [
        after - before for seen in looks.values() for (before, asks), (after, _) in pairwise(seen) if asks
    ]
    assert len(waits) >= 5
    assert max(waits) < 60


@pytest.mark.parametrize("policy", ["learned", "seed-ewma"])
async def test_under_a_short_budget_no_host_is_left_without_its_first_look(tmp_path, policy):
    """A host that was never reached waits no longer than others, and what waits gains in value while it waits."""

    def still(url, hours):
        return (404, "") if "robots" in url else (200, page(f"Stopa je 3 % u {url}."))

    sources = [{"url": f"https://{n % 5}.example/zakon/{n}", "lister": "page"} for n in range(15)]
    watched = life(tmp_path, still, *sources, schedule={"policy": policy, "budget_per_day": 8})
    await watched.run(seconds=5 * DAY)
    asked = [url for _, url in watched.fetcher.asked if "robots" not in url]
    assert len(asked) > 20
    assert len(set(asked[:18])) == 15


async def test_a_host_budget_is_kept_by_each_host(tmp_path):
    def busy(url, hours):
        return (404, "") if url.endswith("robots.txt") else (200, page(f"Stanje {int(hours)} u {url}"))

    sources = [{"url": f"https://{n % 2}.example/zakon/{n}", "lister": "page"} for n in range(40)]
    watched = life(tmp_path, busy, *sources, schedule={"host_budget_per_day": 20})
    await watched.run(seconds=3 * DAY)
    for host in ("0.example", "1.example"):
        asked = [h for h, url in watched.fetcher.asked if host in url and "robots" not in url]
        assert 14 <= most_in_a_day(asked) <= 20
    ((dear,), *_) = watched.rows("SELECT dear FROM hosts")
    assert dear > 1.0


async def test_what_failed_while_its_host_was_down_is_tried_when_it_is_back(tmp_path):
    def down(url, hours):
        if url.endswith("robots.txt"):
            return (404, "")
        return (503, "") if 30 < hours < 50 else (200, page(f"Stanje {int(hours) // 24} u {url}"))

    sources = [{"url": f"https://one.example/p{n}", "lister": "page"} for n in range(6)]
    watched = life(tmp_path, down, *sources, schedule={}, retry={"attempts": 2})
    await watched.run(seconds=4 * DAY)
    asked = [hours for hours, url in watched.fetcher.asked if "robots" not in url]
    during = [hours for hours in asked if 30 < hours < 50]
    assert len(during) >= 6  # five failures close the lane for an hour; then its breaker says how often
    assert all(later - before > 0.99 for before, later in pairwise(during[4:]))
    first_good = min(hours for hours in asked if hours >= 50)
    seen = {url for hours, url in watched.fetcher.asked if first_good <= hours < first_good + 0.5}
    assert first_good < 60
    assert len(seen) == 6


async def test_velocity_is_measured_as_configured_and_replayed_so(tmp_path):
    watched = site(tmp_path, schedule={"velocity": {"warmup": 0, "floor": 0.3, "alpha_stable": 1.0}})
    await watched.run(seconds=4 * DAY)
    assert min(v for (v,) in watched.rows("SELECT velocity FROM watches WHERE scan_count > 1")) == 0.3
    assert told(watched, "replay")[0] == 0


async def test_a_watch_of_another_policy_goes_on_from_its_history(tmp_path):
    watched = site(tmp_path, schedule={"policy": "seed-ewma"})
    await watched.run(seconds=8 * DAY)
    assert watched.rows("SELECT COUNT(*) FROM watches WHERE belief IS NOT NULL") == [(0,)]
    schedule = watched.config.schedule.model_copy(update={"policy": "learned"})
    watched.config = watched.config.model_copy(update={"schedule": schedule})
    await watched.run(seconds=2 * DAY)
    ((fast,),) = watched.rows("SELECT belief FROM watches WHERE url LIKE '%/p0'")
    ((slow,),) = watched.rows("SELECT belief FROM watches WHERE url LIKE '%/p4'")
    b = unpack_beliefs([fast, slow])
    assert b.hours.min() > 20
    assert b.events[0] / b.hours[0] > b.events[1] / b.hours[1]


async def test_a_listing_is_read_at_least_as_often_as_its_scrape_frequency(tmp_path):
    source = {"url": f"{SITE}/sitemap.xml", "lister": "sitemap", "scrape_frequency": "90m"}
    watched = life(tmp_path, town, source, schedule={})
    await watched.run(seconds=1.5 * DAY)
    reads = watched.fetcher.looks(f"{SITE}/sitemap.xml")
    assert max(b - a for a, b in pairwise(reads)) <= 1.6


async def test_an_objective_asks_for_looks_that_the_price_would_not(tmp_path):
    source = {"url": f"{SITE}/p0", "lister": "page", "risk": "CRITICAL"}
    goal = {"CRITICAL": {"within": timedelta(hours=2), "share": 0.95}}
    plain = life(tmp_path / "a", town, source, schedule={"budget_per_day": 20}, objectives={})
    asked = life(tmp_path / "b", town, source, schedule={"budget_per_day": 20}, objectives=goal)
    for watched in (plain, asked):
        await watched.run(seconds=6 * DAY)
    reasons = asked.rows("SELECT COUNT(*) FROM ledger WHERE payload LIKE '%\"objective\"%'")
    assert reasons[0][0] > 5
    assert len(asked.fetcher.asked) > len(plain.fetcher.asked)


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_at_equal_budget_changes_are_seen_sooner_than_with_the_documents_rule(tmp_path):
    found = {}
    for policy in ("learned", "seed-ewma"):
        world = grid_world(6, 12, seed=3, mix=GridMix(changes=ChangeMix(median_days=4.0, never=0.3), noisy=0))
        clock = clock_of(world)
        async with living_web(world, clock) as web:
            schedule = {"policy": policy, "budget_per_day": 150}
            config = {"schedule": schedule, "stages": {"in_process": False}}
            watched = living(world, web, tmp_path / policy, clock=clock, config=config)
            ended = await watched.run(seconds=30 * DAY)
            assert ended.error is None
            asked = sorted(seen.at / 3600 for seen in web.journal.requests if "robots" not in seen.target)
        assert most_in_a_day(asked) <= 150
        found[policy] = staleness(watched, world.epoch + 3 * DAY, world.epoch + 30 * DAY)
    assert found["learned"]["J"] < found["seed-ewma"]["J"]
    assert found["learned"]["weighted_delay_h"] < found["seed-ewma"]["weighted_delay_h"]


# The judge of the engine (bench/engine_policies.py)

SMALL = Terms(days=10.0, settle=3.0, hosts=3, pages=8, budget=24.0)


@pytest.mark.parametrize("kind", ["steady", "office", "bursts", "hubs"])
def test_the_oracle_of_the_engines_judge_gains_by_every_look(kind):
    terms = replace(SMALL, world=kind)
    truth = Truth.of(made(terms), terms)
    costs = [oracle(truth, replace(terms, budget=looks)) for looks in (1.0, 6.0, 24.0, 200.0)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 2 * costs[-1] > 0


def test_a_page_that_nobody_looked_at_is_stale_for_the_judge():
    truth = Truth.of(made(SMALL), SMALL)
    once = {place: [1.0] for place in truth.places}
    costs = [
        seen_cost(truth, looks, SMALL)
        for looks in ({}, once, {place: [*seen, 200.0] for place, seen in once.items()})
    ]
    assert costs == sorted(costs, reverse=True)
    hours, first = SMALL.days * 24, SMALL.settle * 24
    assert costs[0] == pytest.approx(1 + (hours + first) / 2 / 24)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_the_engine_is_judged_against_the_documents_rule_and_an_oracle():
    rows = await judged([replace(SMALL, world=kind) for kind in ("steady", "hubs")])
    assert means(rows)["vs_ewma"] < 1.0
    assert means(rows)["vs_oracle"] > 0.5
    assert all(row["looks"] <= 24 * 11 for row in rows)
