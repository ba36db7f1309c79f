"""The admin of the panel over HTTP: what it tells, and to whom."""

from __future__ import annotations

import asyncio
import re
from contextlib import nullcontext
from datetime import timedelta
from itertools import product
from pathlib import Path

import aiohttp
import pytest
from stocked import FixedClock
from test_store_panel import NOW, batch_of, filled, row_of

from vedette.contracts.errors import ConfigError
from vedette.contracts.panel_run import PanelGroup, Progress, ProviderTally
from vedette.surface.http.panel_admin import PanelAdmin, Writes, opened, routes

TOKEN = "let-me-in"
WITH = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def store(tmp_path):
    made, batch = filled(f"sqlite:///{tmp_path}/panel.db", batch_of(5))
    tally = ProviderTally(
        model="b/c",
        calls=10,
        ok=7,
        throttled=2,
        errors=1,
        p50_ms=500,
        p95_ms=900,
        breaker="open",
        tokens_in=30,
    )
    told = Progress(
        at=NOW, settled=1, answered=1, waiting=9, eta=NOW + timedelta(minutes=50), providers=(tally,)
    )
    made.write(PanelGroup(batch=batch.id, rows=(row_of(batch),), progress=told))
    yield made
    made.close()


@pytest.fixture
async def ask(store):
    admin = PanelAdmin(
        lambda writes: nullcontext(store), FixedClock(NOW), lambda: Writes(groups=2, rows=3, seconds=0.5)
    )
    async with opened(admin, "127.0.0.1:0", TOKEN) as address, aiohttp.ClientSession(address) as session:

        async def asked(path, *, headers=WITH, method="GET"):
            async with session.request(method, path, headers=headers) as answer:
                return answer.status, await answer.text(), answer.headers

        yield asked


async def test_the_probes_answer_without_a_token(ask):
    assert (await ask("/healthz", headers={}))[:2] == (200, "ok\n")
    assert (await ask("/readyz", headers={}))[:2] == (200, "ready\n")


async def test_everything_else_is_refused_without_the_token(ask, store):
    paths = {
        route.path.replace("{id}", "b1").replace("{name:path}", "b/c")
        for route in routes(PanelAdmin(lambda writes: nullcontext(store), FixedClock()))
    }
    asked = [*product(
        (paths | {"/nothing", "/batch/../metrics"}) - {"/healthz", "/readyz"},
        ("GET", "POST"),
        ({}, {"Authorization": "Bearer wrong"}, {"X-Forwarded-For": "127.0.0.1"}),
    )]  # fmt: skip
    answers = await asyncio.gather(
        *(ask(path, method=method, headers=headers) for path, method, headers in asked)
    )
    assert [what for what, (status, *_) in zip(asked, answers, strict=True) if status != 401] == []


async def test_a_batch_and_a_provider_are_told(ask):
    status, text, headers = await ask("/batch/b1")
    assert status == 200
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert '"settled":1' in text.replace(" ", "")
    status, text, _ = await ask("/provider/b/c/state")
    assert status == 200
    assert '"breaker":"open"' in text.replace(" ", "")
    assert (await ask("/batch/nope"))[0] == 404
    assert (await ask("/provider/nobody/state"))[0] == 404


async def test_the_kill_switch_stops_what_runs_and_nothing_else(ask, store):
    assert (await ask("/kill-switch"))[0] == 405
    assert (await ask("/kill-switch?batch=nope", method="POST"))[0] == 404
    assert not store.is_stopped("b1")
    status, text, _ = await ask("/kill-switch?batch=b1", method="POST")
    assert (status, text.strip()) == (200, '{"stopped": 1}')
    assert store.is_stopped("b1")


async def test_without_a_token_the_kill_switch_is_shut(store):
    admin = PanelAdmin(lambda writes: nullcontext(store), FixedClock(NOW))
    async with opened(admin, "127.0.0.1:0", None) as address, aiohttp.ClientSession(address) as session:
        async with session.post("/kill-switch") as answer:
            assert answer.status == 403
        async with session.get("/batch/b1") as answer:
            assert answer.status == 200
    assert not store.is_stopped("b1")


def test_beyond_loopback_a_token_is_needed(store):
    with pytest.raises(ConfigError, match=r"panel\.token"):
        opened(PanelAdmin(lambda writes: nullcontext(store), FixedClock(NOW)), "0.0.0.0:0", None)


MUST_HAVE = {  # 003, observability
    "success_rate": 'vedette_provider_success_ratio{provider="b/c"} 0.7',
    "p95 latency": 'vedette_provider_latency_seconds{provider="b/c",quantile="0.95"} 0.9',
    "throttle_rate": 'vedette_provider_throttle_ratio{provider="b/c"} 0.2',
    "error_rate": 'vedette_provider_error_ratio{provider="b/c"} 0.1',
    "active_concurrency": 'vedette_provider_active_calls{provider="b/c"} 0',
    "breaker_state": 'vedette_provider_breaker_state{provider="b/c"} 2',
    "queue depth": "vedette_panel_queue_depth 9",
    "eta to target": 'vedette_panel_eta_seconds{deadline="target"} 600',
    "eta to hard": 'vedette_panel_eta_seconds{deadline="hard"} 4200',
    "write latency": "vedette_panel_db_write_seconds_sum 0.5",
    "rows": "vedette_panel_rows_total 3",
    "redis": "vedette_panel_redis_ops_total 0",
    "cost": 'vedette_provider_cost_usd_total{provider="b/c"} 0',
}


async def test_the_metrics_that_003_must_have_are_there(ask):
    _, text, headers = await ask("/metrics")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert {name for name, line in MUST_HAVE.items() if line not in text.splitlines()} == set()


async def test_the_metrics_are_text_that_prometheus_takes(ask):
    _, text, _ = await ask("/metrics")
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    for line in text.splitlines():
        if not line.startswith("#"):
            assert re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+', line), line
            assert line.partition("{")[0].partition(" ")[0] in kinds


async def test_every_metric_of_the_panel_is_in_the_runbook_or_the_reference(ask):
    _, text, _ = await ask("/metrics")
    page = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text("utf-8")
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        assert f"| `{name}` | {kind} |" in page


async def test_dropped_cells_are_counted_by_tier_and_reason(ask, store):
    cut = Progress(at=NOW, dropped_from=2)
    store.write(PanelGroup(batch=batch_of(5).id, progress=cut))
    _, text, _ = await ask("/metrics")
    assert 'vedette_panel_dropped_total{tier="2",reason="soft_cut"} 10' in text, "while the batch still runs"
    store.end(batch_of(5), by="hard_stop", now=NOW)
    _, text, _ = await ask("/metrics")
    assert 'vedette_panel_dropped_total{tier="1",reason="hard_stop"} 9' in text
