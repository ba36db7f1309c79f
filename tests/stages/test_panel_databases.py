"""100 domains x 3 providers on real PostgreSQL and a real Redis, both started here (003, definition of done)."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from redis_kit import own_redis

from vedette.app.panel import Panel, PanelRequest
from vedette.config.model import Loaded, parse
from vedette.livingweb.providers import TWELVE, LivingProviders
from vedette.providers.provider_table import BY_NAME
from vedette.store.dialect import SqliteSql, open_sql
from vedette.telemetry.clock import SystemClock

THREE = ("openai/gpt-4o-mini", "anthropic/claude-3-haiku", "cohere")


@contextmanager
def played():
    """Three providers in a thread of their own."""
    ready: list[LivingProviders] = []
    is_up, stop = threading.Event(), threading.Event()

    async def serve():
        async with LivingProviders([spec for spec in TWELVE if spec.name in THREE], latency=0.01) as town:
            ready.append(town)
            is_up.set()
            while not stop.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert is_up.wait(10)
    try:
        yield ready[0]
    finally:
        stop.set()
        thread.join()


@pytest.fixture(scope="module")
def redis():
    with own_redis() as made:
        yield made


def panel_at(town, tmp_path, monkeypatch, rate=30_000, **panel):
    monkeypatch.setenv("PANEL_TEST_KEY", "sk-test")
    rows = {
        name: {
            "base_url": town.origin(name) + urlsplit(BY_NAME[name].base_url).path,
            "keys": ["env:PANEL_TEST_KEY"],
            "per_minute": rate,
        }
        for name in THREE
    }
    fetch = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [town.port]}
    config = parse({"providers": rows, "fetch": fetch, "panel": {"models": list(THREE), **panel}})
    return Panel(Loaded(config=config, path=None, data=tmp_path, digest="x"), clock=SystemClock())


def test_a_hundred_domains_of_three_providers_are_rows_in_the_database(place, redis, tmp_path, monkeypatch):
    """003, definition of done: PostgreSQL and Redis, persisted rows, within the time that the limits allow."""
    redis.client.flushall()
    seen: set[str] = set()
    for n in range(101):
        redis.client.set(f"cache:consensus:d{n}.example", "old")

    def look(progress):
        seen.update(key.decode() for key in redis.client.scan_iter("*", count=1000))

    with played() as town:
        for host in town.hosts.values():
            host.set_limit(0)
        panel = panel_at(town, tmp_path, monkeypatch, database=place, redis=redis.url)
        with panel.store() as store:
            ids = store.ids_of([f"d{n}.example" for n in range(100)])
        end = panel.run(PanelRequest(domains=[(key, name) for name, key in ids.items()]), look)
        assert (end.by, end.progress.answered, end.dropped, end.warnings) == ("complete", 300, (), ())
        assert town.stats()["answers"] == 300
    db = open_sql(place)
    assert db.rows("SELECT COUNT(*), COUNT(DISTINCT model) FROM domain_responses") == [(300, 3)]
    assert db.rows("SELECT status, settled, answered FROM crawl_batches") == [("complete", 300, 300)]
    assert db.rows("SELECT SUM(ok) FROM provider_metrics")[0][0] == 300
    assert db.rows("SELECT ended_at <= target_at FROM crawl_batches")[0][0] in (1, True)
    db.close()
    assert redis.words("cache:*") == {"cache:consensus:d100.example": "old"}, "it was not asked about"
    assert redis.words("cb:*") == {"cb:anthropic": "closed", "cb:cohere": "closed", "cb:openai": "closed"}
    taken = {
        key: int(redis.client.hget(key, "taken"))
        for key in ("rl:openai:k1", "rl:anthropic:k1", "rl:cohere:k1")
    }
    assert all(count >= 100 for count in taken.values()), taken
    assert redis.words("lock:*") == {}, "nothing stays locked"
    places = {key.split(":", 3)[3] for key in seen if key.startswith(f"lock:crawl:{end.batch}:")}
    assert places <= {f"d{n}.example:{model}" for n in range(100) for model in THREE}


def test_a_redis_that_hangs_in_mid_run_stops_nothing_and_is_told_once(redis, tmp_path, monkeypatch):
    redis.client.flushall()
    hung = []

    def hang(progress):
        if progress.answered and not hung:
            hung.append(progress.answered)
            redis.hang()

    try:
        with played() as town:
            panel = panel_at(town, tmp_path, monkeypatch, rate=600, redis=redis.url)
            domains = [(str(n), f"d{n}.example") for n in range(40)]
            end = panel.run(PanelRequest(domains=domains), hang)
    finally:
        redis.wake()
    assert hung[0] < 120, "it did hang before the end"
    assert (end.by, end.progress.answered) == ("complete", 120)
    assert len(end.warnings) == 1
    assert "Redis did not answer" in end.warnings[0]
    db = SqliteSql(tmp_path / "vedette.db")
    assert db.rows("SELECT COUNT(*) FROM ledger WHERE payload LIKE '%redis_away%'") == [(1,)]
    db.close()


def test_redis_that_was_never_there_costs_no_answer(tmp_path, monkeypatch):
    with played() as town:
        panel = panel_at(town, tmp_path, monkeypatch, redis="redis://127.0.0.1:1/0")
        end = panel.run(PanelRequest(domains=[("1", "d0.example")]), lambda progress: None)
    assert end.progress.answered == 3
    assert "the consensus of 1 answered domains is still cached" in end.warnings[0]
