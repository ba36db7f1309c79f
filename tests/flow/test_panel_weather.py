"""Two providers down and one throttling hard, over real HTTP: who is hurt, who is not, and what the report says.

The providers' clock runs ten times as fast as ours: their minute is six seconds.  The same with a real ten minutes is
in `test_panel_run.py`, in virtual time.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from machine import patient
from panel_town import HOME
from redis_kit import own_redis

from vedette.app.panel import Panel, PanelRequest
from vedette.config.model import Loaded, parse
from vedette.engine.panel.provider_lanes import PROVIDER_LANE
from vedette.livingweb.providers import TWELVE, FaultRule, KeyLimit, LivingProviders
from vedette.livingweb.world import real_time
from vedette.providers.provider_table import BY_NAME
from vedette.telemetry.clock import SystemClock

FASTER = 10
LIMIT = 60  # in a minute of theirs
FINE = ("google/gemini-1.5-flash", "deepseek", "you/search")
REFUSING, FAILING, THROTTLING = "mistral", "ai21/jamba", "perplexity/sonar"
EVERYONE = (*FINE, REFUSING, FAILING, THROTTLING)
CELLS = 80
QUICK = replace(PROVIDER_LANE, closed_for=timedelta(seconds=0.5), closed_most=timedelta(seconds=1))


@dataclass
class Fast:
    """Providers in a thread of their own."""

    town: LivingProviders
    loop: asyncio.AbstractEventLoop
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def soon(self, call, *given) -> None:
        self.loop.call_soon_threadsafe(call, *given)


@contextmanager
def fast_town(slack: float = 0.25) -> Iterator[Fast]:
    """`slack`: seconds of ours that a line may jitter."""
    limit = KeyLimit(per_minute=LIMIT, slack=slack * FASTER)
    specs = [
        replace(spec, headers="", retry_after=False, limit=limit) for spec in TWELVE if spec.name in EVERYONE
    ]
    ready: list[Fast] = []
    is_up = threading.Event()

    async def serve() -> None:
        async with LivingProviders(specs, now=lambda: real_time() * FASTER, latency=0.05) as town:
            ready.append(Fast(town, asyncio.get_running_loop()))
            is_up.set()
            await ready[0].stopped.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert is_up.wait(10)
    try:
        yield ready[0]
    finally:
        ready[0].soon(ready[0].stopped.set)
        thread.join()


def config_of(place: Fast, **panel) -> dict[str, object]:
    rows = {
        name: {
            "base_url": place.town.origin(name) + urlsplit(BY_NAME[name].base_url).path,
            "keys": ["env:PANEL_TEST_KEY"],
            "per_minute": LIMIT * FASTER,
        }
        for name in EVERYONE
    }
    fetch = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [place.town.port]}
    return {"providers": rows, "fetch": fetch, "panel": {"models": list(EVERYONE), **panel}}


def panel_at(place: Fast, folder, monkeypatch, **panel) -> Panel:
    monkeypatch.setenv("PANEL_TEST_KEY", "sk-test")
    loaded = Loaded(config=parse(config_of(place, **panel)), path=None, data=folder, digest="x")
    return Panel(loaded, clock=SystemClock(), lane=QUICK)


@pytest.mark.slow
def test_the_broken_recover_by_probes_the_others_do_not_notice_and_the_report_says_why(tmp_path, monkeypatch):
    with fast_town() as place:
        hosts = place.town.hosts
        panel = panel_at(place, tmp_path, monkeypatch, target="19s", hard="20s")
        seen = []

        def weather(progress):
            if not seen:
                place.soon(place.town.refuse, REFUSING, 3.0)
                place.soon(hosts[FAILING].strike, FaultRule(kind="server_error", end=3.0 * FASTER))
                place.soon(hosts[THROTTLING].set_limit, 6)
            seen.append({row.model: row for row in progress.providers})

        end = panel.run(PanelRequest(domains=[(str(n), f"d{n}.example") for n in range(CELLS)]), weather)
        stats = place.town.stats()["providers"]
        with panel.store() as store:
            view = store.view(end.batch)

    done = {row.model: row for row in end.progress.providers}
    for name in FINE:
        assert (done[name].ok, done[name].calls, stats[name]["requests"]) == (CELLS, CELLS, CELLS)
    for name in (*FINE, REFUSING, FAILING):
        assert stats[name]["violations"] == 0, "never over its limit, by its own count"
        assert stats[name]["keys"].popitem()[1]["most_in_a_minute"] <= LIMIT
    assert any(told[REFUSING].breaker == "open" for told in seen)
    assert any(told[FAILING].breaker in ("open", "half-open") for told in seen)
    for name in (REFUSING, FAILING):
        assert (done[name].ok, done[name].breaker) == (CELLS, "closed"), "every cell was asked after all"
        assert 5 <= done[name].errors <= 25, "the calls that tripped it, then probes"
    assert (end.by, len(end.dropped)) == ("hard_stop", 1)
    dropped = end.dropped[0]
    assert (dropped.model, dropped.reason) == (THROTTLING, "hard_stop")
    assert done[THROTTLING].ok == stats[THROTTLING]["answers"]
    assert dropped.cells == CELLS - done[THROTTLING].ok - done[THROTTLING].parked
    assert "calls throttled" in dropped.note
    assert view.dropped == end.dropped
    at_the_old_pace = 20 * LIMIT * FASTER / 60
    assert stats[THROTTLING]["requests"] < at_the_old_pace / 3, "it slowed down at the first words"


@pytest.mark.slow
@pytest.mark.parametrize("has_redis", [True, False], ids=["with Redis", "without"])
def test_two_processes_with_one_key_keep_its_limit_by_redis_and_would_not_without(tmp_path, has_redis):
    """Two data folders, two batches, one key of one provider, which counts."""
    with fast_town(slack=0.5) as place, own_redis() as redis:
        (tmp_path / "vedette.yaml").write_text(json.dumps(config_of(place, models=["deepseek"])))
        (tmp_path / "domains.txt").write_text("".join(f"d{n}.example\n" for n in range(CELLS)))
        env = {**os.environ, "PYTHONPATH": HOME, "PANEL_TEST_KEY": "sk-test"}
        env |= {"REDIS_URL": redis.url} if has_redis else {}
        words = [
            sys.executable,
            "-m",
            "vedette",
            "panel",
            "run",
            "--domains",
            "domains.txt",
            "--json",
            "--data",
        ]
        runs = [
            subprocess.Popen([*words, str(tmp_path / name)], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL)
            for name in ("one", "two")
        ]
        assert [run.wait(timeout=patient(100)) for run in runs] == [0, 0]
        seen = place.town.stats()["providers"]["deepseek"]
        locks = redis.words("lock:*")
    assert seen["answers"] == 2 * CELLS
    assert (seen["violations"] == 0) is has_redis, seen
    assert locks == {}
