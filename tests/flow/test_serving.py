"""The long-running process, whole: a real site, the sentinel queue, cron, health, metrics, a log without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from stocked import blank

from vedette.app.run import RunRequest, run_with
from vedette.app.service import Service
from vedette.config.model import Loaded, parse
from vedette.contracts.events import Event
from vedette.contracts.jobs import SENTINEL, NewJob
from vedette.engine.crawl.loop import Ended
from vedette.engine.crawl.run import CrawlRun
from vedette.store.job_bus import SqliteJobBus
from vedette.store.operator import operating
from vedette.surface.http.service_pages import opened
from vedette.telemetry.clock import SystemClock

FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>
<item><title>Prvi</title><link>http://127.0.0.1:{port}/prvi</link></item>
<item><title>Drugi</title><link>http://127.0.0.1:{port}/drugi</link></item></channel></rss>"""


@dataclass
class Site:
    port: int = 0
    is_down: bool = False
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.path == "/robots.txt":
            return web.Response(status=404)
        if self.is_down:
            return web.Response(status=500)
        if request.path == "/feed.xml":
            return web.Response(text=FEED.format(port=self.port), content_type="application/rss+xml")
        return web.Response(
            text=f"<html><body><p>Stranica {request.path}</p></body></html>", content_type="text/html"
        )


@dataclass
class Running:
    """A service on a store, and what it says."""

    service: Service
    path: Path
    site: Site
    events: list[Event]
    said: io.StringIO
    address: str = ""

    def of(self, name: str) -> list[dict[str, object]]:
        return [event.fields for event in self.events if event.name == name]

    async def until(self, is_so: Callable[[], object], what: str) -> None:
        for _ in range(1000):
            if is_so():
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"never: {what}; {[event.name for event in self.events]}")

    def queue(self, **data: object) -> None:
        bus = SqliteJobBus(self.path)
        bus.add([NewJob(queue=SENTINEL, name="sentinel-manual", data=data)], now=datetime.now(UTC))
        bus.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with operating(self.path) as db:
            return db.execute(query).fetchall()

    async def scrape(self) -> str:
        async with aiohttp.ClientSession() as session, session.get(self.address + "/metrics") as answer:
            return await answer.text()


@asynccontextmanager
async def a_site() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_get("/{rest:.*}", site.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


@asynccontextmanager
async def serving(folder: Path, **sections: Any) -> AsyncIterator[Running]:
    async with a_site() as site:
        raw = {
            "sources": [
                {
                    "url": f"http://127.0.0.1:{site.port}/feed.xml",
                    "id": "vijesti",
                    "lister": "feed",
                    "tier": "CRITICAL",
                }
            ],
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [site.port]},
            "lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}},
            "retry": {"shortest": "10ms", "longest": "10ms"},
            "health": {"every": "1s"},
            "cron": {"runs": "", "health": ""},
        }
        loaded = Loaded(config=parse(raw | sections), path=None, data=folder, digest="x")
        path = blank(folder)
        events: list[Event] = []
        said, clock = io.StringIO(), SystemClock()
        service = Service(loaded, clock, events.append, door=opened("127.0.0.1:0", None), stdout=said)
        running = Running(service, path, site, events, said)
        runs: list[CrawlRun] = []

        @asynccontextmanager
        async def beside(run: CrawlRun) -> AsyncIterator[None]:
            runs.append(run)
            async with service.beside(run):
                yield

        hooks = replace(service.hooks(), beside=beside)
        task = asyncio.create_task(run_with(loaded, RunRequest(), hooks))
        try:
            await running.until(lambda: service.is_ready or task.done(), "ready")
            running.address = str(running.of("serving")[0]["listen"])
            yield running
        finally:
            if not task.done():
                runs[0].engine.stop()
            ended: Ended = await task
            assert ended.error is None, ended.error


async def test_a_job_of_the_queue_looks_at_its_sources_and_gives_the_result_of_the_document(tmp_path: Path):
    async with serving(tmp_path) as running:
        await running.until(lambda: len(running.of("visited")) >= 3, "the feed and its two pages")
        before = len(running.site.asked)
        running.queue(runId="manual-1", priority="CRITICAL")
        await running.until(lambda: running.of("job_ended"), "the job ended")
        assert "/feed.xml" in running.site.asked[before:]
        text = await running.scrape()
    assert 'worker_jobs_processed_total{worker="sentinel",status="completed",queue="sentinel"} 1' in text
    assert 'worker_queue_depth{queue="sentinel"} 0' in text
    result = json.loads(running.rows("SELECT result FROM jobs WHERE queue = 'sentinel'")[0][0])
    assert list(result) == [
        "success",
        "endpointsChecked",
        "newItemsDiscovered",
        "errors",
        "health",
        "durationMs",
        "retriesTotal",
    ]
    assert (result["success"], result["endpointsChecked"], result["errors"]) == (True, 1, [])
    assert result["health"]["overallHealthy"] is True
    assert set(result["health"]["domains"]["127.0.0.1"]) == {
        "isHealthy",
        "successRate",
        "consecutiveErrors",
        "isCircuitBroken",
        "lastSuccessAt",
    }


@pytest.mark.parametrize(
    ("data", "state", "words"),
    [
        ({"runId": "m", "sourceId": "nobody"}, "done", "there is no active source 'nobody'"),
        ({"priority": "CRITICAL"}, "waiting", "a sentinel job needs a runId"),
    ],
)
async def test_a_job_that_makes_no_sense_harms_nobody(
    tmp_path: Path, data: dict[str, str], state: str, words: str
):
    async with serving(tmp_path) as running:
        running.queue(**data)
        await running.until(lambda: running.of("job_ended"), "the job ended")
    found = running.rows("SELECT state, COALESCE(result, '') || error FROM jobs WHERE queue = 'sentinel'")[0]
    assert found[0] == state
    assert words in found[1]


async def test_a_host_that_goes_down_is_told_of_and_its_job_does_not_wait_for_it(tmp_path: Path):
    async with serving(tmp_path) as running:
        await running.until(lambda: len(running.of("visited")) >= 3, "all is seen")
        running.site.is_down = True
        running.queue(runId="manual-1", sourceId="vijesti")
        await running.until(lambda: running.of("alerted"), "an alert")
        await running.until(lambda: running.of("told"), "it is told")
        assert "ENDPOINT_CONSECUTIVE_ERRORS" in running.said.getvalue()
        await running.until(lambda: running.of("job_ended"), "the job ended")
        text = await running.scrape()
    assert 'vedette_alerts_open{type="ENDPOINT_CONSECUTIVE_ERRORS"} 1' in text
    assert 'vedette_notifications_total{channel="stdout",outcome="ok"} 1' in text
    result = json.loads(running.rows("SELECT result FROM jobs WHERE queue = 'sentinel'")[0][0])
    assert result["errors"][0].startswith("127.0.0.1")
    assert "server_error" in result["errors"][0]


async def test_cron_queues_the_four_tiers_once_though_it_fires_twice(tmp_path: Path):
    async with serving(tmp_path, cron={"runs": "0 6 * * *", "health": "30 6 * * *"}) as running:
        await running.until(lambda: running.rows("SELECT * FROM cron_marks"), "cron has begun")
        assert running.rows("SELECT COUNT(*) FROM jobs WHERE queue = 'sentinel'") == [
            (0,)
        ]  # a first start has missed nothing
        bus = SqliteJobBus(running.path)
        from vedette.config.alert_policies import cron_entries

        runs, health, models = cron_entries(running.service.loaded.config)
        at = runs.after(datetime.now(UTC))  # not a moment that cron, beside us, would see as missed
        for _ in range(2):
            await running.service.fire(runs, at, bus)
        await running.service.fire(health, at, bus)
        await running.service.fire(models, at, bus)
        bus.close()
    names = [
        name for (name,) in running.rows("SELECT name FROM jobs WHERE queue = 'sentinel' ORDER BY due_at")
    ]
    assert names == ["sentinel-critical", "sentinel-high", "sentinel-normal", "sentinel-low"]
    assert running.of("checked") == [{"unhealthy": 0, "sources": 1}]
    assert running.of("models_refreshed") == [{"asked": 0, "listed": 0}], "nobody is asked without a key"


async def test_the_probes_answer_and_a_scrape_has_the_five_metrics(tmp_path: Path):
    async with serving(tmp_path) as running:
        await running.until(lambda: len(running.of("visited")) >= 3, "all is seen")
        text = await running.scrape()
        async with aiohttp.ClientSession() as session:
            for path in ("/healthz", "/readyz"):
                async with session.get(running.address + path) as answer:
                    assert answer.status == 200
    for name in (
        "jobs_processed_total",
        "job_duration_seconds",
        "queue_depth",
        "active_jobs",
        "rate_limit_hits_total",
    ):
        assert f"# TYPE worker_{name} " in text
    assert 'vedette_fetch_total{lane_kind="host",outcome="ok"} 3' in text


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_the_verb_serves_logs_json_in_production_and_starts_again_after_any_end(
    tmp_path: Path, number: int
):
    config = tmp_path / "vedette.yaml"
    config.write_text("serve: {listen: '127.0.0.1:0', token: 'env:TOKEN'}\n")
    words = (
        sys.executable,
        "-m",
        "vedette",
        "serve",
        "--config",
        str(config),
        "--data",
        str(tmp_path / "data"),
    )
    env = {**os.environ, "NODE_ENV": "production", "TOKEN": "never-to-be-seen"}
    for ends_by in (number, signal.SIGTERM):
        child = await asyncio.create_subprocess_exec(*words, env=env, stderr=asyncio.subprocess.PIPE)
        assert child.stderr is not None
        listen = json.loads(await child.stderr.readline())["metadata"]["listen"]
        async with aiohttp.ClientSession() as session:
            async with session.get(listen + "/healthz") as answer:
                assert answer.status == 200
            async with session.get(listen + "/metrics") as answer:
                assert answer.status == 401
            headers = {"Authorization": "Bearer never-to-be-seen"}
            async with session.get(listen + "/metrics", headers=headers) as answer:
                assert "vedette_build_info" in await answer.text()
        child.send_signal(ends_by)
        rest = (await child.stderr.read()).decode()
        assert await child.wait() == (0 if ends_by == signal.SIGTERM else -ends_by)
        assert all(json.loads(line)["level"] in ("info", "warn") for line in rest.splitlines())
        assert "never-to-be-seen" not in rest


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--no-serve",)])
async def test_the_demonstration_names_its_dashboard_first_and_shows_it_while_it_runs(
    tmp_path: Path, more: tuple[str, ...]
):
    words = (
        sys.executable,
        "-m",
        "vedette",
        "demo",
        "--seconds",
        "15",
        "--data",
        str(tmp_path / "kept"),
        *more,
    )
    child = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, cwd=tmp_path
    )
    assert child.stderr is not None
    first = (await child.stderr.readline()).decode()
    if more:
        assert "Dashboard" not in first
    else:
        assert first.startswith("Dashboard: http://127.0.0.1:")
        async with aiohttp.ClientSession() as session, session.get(first.split()[1]) as answer:
            assert answer.status == 200
            assert "What changed last" in await answer.text()
    rest = (await child.stderr.read()).decode()
    assert await child.wait() == 0
    assert "records verified" in rest
    assert "Traceback" not in rest
