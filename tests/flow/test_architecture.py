"""docs/architecture.md against the program: looks and cells are traced, and go by the files that the page names."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

import vedette
from vedette.app.panel import Panel, PanelRequest
from vedette.app.run import run_async
from vedette.config.model import Loaded, parse
from vedette.contracts.events import Event
from vedette.engine.crawl.loop import Mode
from vedette.engine.crawl.run import RunRequest
from vedette.livingweb.providers import TWELVE, LivingProviders
from vedette.providers.provider_table import PROVIDERS
from vedette.store.operator import operating

HOME = Path(vedette.__file__).parent
PAGE = (HOME.parents[1] / "docs/architecture.md").read_text("utf-8")
STEP = re.compile(r"^\d+\. ((?:.|\n(?! *\d+\. |\n))*)", re.MULTILINE)
DUE = "engine/settle/scheduler.py"  # is asked for the group with the look
NAMED = re.compile(r"`([a-z_/]+\.py)`")


def steps(heading: str) -> list[list[str]]:
    """The files that each step under this heading names; steps that name none are left out."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    named = [NAMED.findall(step) for step in STEP.findall(part)]
    assert len(named) >= 5
    return [files for files in named if files]


class Trace:
    """Files of ours in the order in which a function of each was first called."""

    def __init__(self, named: list[list[str]]) -> None:
        """On a slow machine the rules of robots.txt are written before the look: what writes is heard after DUE."""
        leads = [files[0] for files in named]
        self._late = frozenset(leads[leads.index(DUE) + 1 :] if DUE in leads else ())
        self.files: dict[str, int] = {}
        self.is_on = False
        self._home = f"{HOME}/"

    def hear(self, frame: object, event: str, arg: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if not self.is_on or event != "call" or not code.co_filename.startswith(self._home):
            return
        name = code.co_filename[len(self._home) :]
        if name not in self._late or DUE in self.files:
            self.files.setdefault(name, len(self.files))

    def start(self) -> None:
        """In the thread that calls it, and in those that were begun since the trace was made."""
        self.is_on = True
        sys.setprofile(self.hear)


@contextmanager
def traced(named: list[list[str]]) -> Iterator[Trace]:
    before = sys.getprofile()
    trace = Trace(named)
    threading.setprofile(trace.hear)
    try:
        yield trace
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
        sys.setprofile(before)


def assert_as_the_page_says(named: list[list[str]], trace: Trace) -> None:
    assert {name for files in named for name in files} - trace.files.keys() == set()
    leads = [files[0] for files in named]
    assert sorted(leads, key=trace.files.__getitem__) == leads


class Site:
    """A list, a page that changes, one that fails; what is asked for packed comes packed."""

    def __init__(self) -> None:
        self.looks = 0

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(text="User-agent: *\nDisallow: /private\n")
        if request.path == "/broken":
            return web.Response(status=500)
        if request.path == "/list":
            entries = "".join(
                f'<article><a href="/entry/{n}">Entry number {n}</a></article>' for n in range(4)
            )
            return web.Response(text=f"<html><body>{entries}</body></html>", content_type="text/html")
        self.looks += request.path == "/page"
        rate = 24 if self.looks == 1 else 25
        text = f"<main><h1>Rates</h1><p>The rate is {rate} per cent for everyone from today on.</p></main>"
        answer = web.Response(text=f"<html><body>{text}</body></html>", content_type="text/html")
        answer.enable_compression()
        return answer


async def test_looks_go_by_the_files_of_the_page_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    app = web.Application()
    app.router.add_get("/{rest:.*}", Site().answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    at = f"http://127.0.0.1:{port}"
    config = {
        "sources": [
            {"url": f"{at}/page", "lister": "page"},
            {"url": f"{at}/list", "lister": "html_list", "id": "list"},
            {"url": f"{at}/broken", "lister": "page"},
        ],
        "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]},
        "lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}},
        "run": {"confirm_after": "1s"},
        "notify": {"channels": {"out": {"kind": "stdout"}}, "rules": [{"channel": "out"}]},
    }
    loaded = Loaded(config=parse(config), path=None, data=tmp_path, digest="x")
    told: list[str] = []

    def hear(event: Event) -> None:
        told.append(event.name)
        if event.name == "run_started":
            trace.start()

    named = steps("One page through the stream")
    with traced(named) as trace:
        await run_async(
            loaded, RunRequest(mode=Mode.ONCE, source="list"), on_event=hear
        )  # one look, step by step
        await run_async(loaded, RunRequest(mode=Mode.ONCE), on_event=hear)
        with operating(tmp_path / "vedette.db") as db:
            db.execute("UPDATE watches SET due_at = 0 WHERE url LIKE '%/page'")
        await run_async(loaded, RunRequest(mode=Mode.UNTIL_IDLE), on_event=hear)
    await runner.cleanup()
    assert "changed" in told
    assert "The rate is" in capsys.readouterr().out
    assert_as_the_page_says(named, trace)


def test_a_cell_goes_by_the_files_of_the_page_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PANEL_TEST_KEY", "sk-planted-A1b2C3d4E5f6G7h8")
    town = LivingProviders([spec for spec in TWELVE if spec.name == "cohere"], latency=0.0)
    with _serving(town):
        row = next(row for row in PROVIDERS if row.name == "cohere")
        config = {
            "providers": {
                "cohere": {
                    "base_url": town.origin("cohere") + urlsplit(row.base_url).path,
                    "keys": ["env:PANEL_TEST_KEY"],
                    "per_minute": 6000,
                }
            },
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [town.port]},
            "panel": {"models": ["cohere"]},
        }
        loaded = Loaded(config=parse(config), path=None, data=tmp_path, digest="x")
        with traced(steps("The panel")) as trace:
            asked = PanelRequest(domains=[("1", "example.org")])
            end = Panel(loaded).run(asked, lambda progress: trace.start())
    assert end.by == "complete"
    assert_as_the_page_says(steps("The panel"), trace)


@contextmanager
def _serving(town: LivingProviders) -> Iterator[None]:
    """In a loop of its own thread: the panel has the main one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(town.__aenter__(), loop).result(20)
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(town.__aexit__(None, None, None), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
