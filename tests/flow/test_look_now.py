"""`vedette look`: its turn in the lane, what it saw, and who makes the look."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli, Told
from scripted import START, Life, life, page

from vedette.app.run import RunRequest, run_async
from vedette.core.limits.budget import Tally
from vedette.core.urls.canonical import watch_id
from vedette.engine.crawl.loop import Ended, Mode
from vedette.store.operator import operating, order_looks
from vedette.store.sqlite import StoreLock
from vedette.telemetry.clock import JumpingClock, SystemClock

SITE = "https://one.example"
PAGE, OTHER = f"{SITE}/p1", "https://two.example/p2"


class ScriptedApp:
    """The real engine on a jumping clock, against a script."""

    def __init__(self, watched: Life) -> None:
        self._watched = watched
        self.requests: list[RunRequest] = []

    def run_engine(self, loaded: Any, request: RunRequest, *, on_event: Callable[..., None]) -> Ended:
        self.requests.append(request)
        watched = self._watched
        return asyncio.run(
            run_async(loaded, request, on_event=on_event, clock=watched.clock, fetcher=watched.fetcher)
        )


class Site:
    """Two pages that a test edits."""

    def __init__(self, folder: Path, **config: Any) -> None:
        self.says: dict[str, tuple[int, str] | tuple[int, str, dict[str, str]]] = {
            url: (200, page(f"Stopa je 25 % ({url[-2:]}).")) for url in (PAGE, OTHER)
        }
        self.robots = ""
        self.asked: list[str] = []
        self.at_request: dict[int, Callable[[], None]] = {}  # what happens at a request, by its number
        self.path = folder / "vedette.yaml"
        self._folder, self._config = folder, config
        self._sources: list[dict[str, Any]] = []
        for url in (PAGE, OTHER):
            self.watch(url, id=url[-2:])

    def watch(self, url: str, **more: Any) -> None:
        """Before anything is looked at."""
        self.says.setdefault(url, (200, page(f"Stopa je 25 % ({url[-2:]}).")))
        self._sources.append({"url": url, "lister": "page", **more})
        self.life = life(self._folder / "data", self._answer, *self._sources, **self._config)
        self.app = ScriptedApp(self.life)
        self.path.write_text(json.dumps({"sources": self._sources, **self._config}))

    def _answer(self, url: str, hours: float) -> Any:
        self.asked.append(url)
        self.at_request.pop(len(self.asked), lambda: None)()
        if url.endswith("/robots.txt"):
            return (200, self.robots) if self.robots else (404, "")
        return self.says.get(url, (404, "x"))

    def cli(self, *words: str) -> Told:
        """A moment after what was before."""
        self.life.clock.advance(timedelta(seconds=1))
        return Cli(self.life.data, self.app, self.life.clock)(*words, "--config", str(self.path))

    def looks(self, url: str = PAGE) -> list[float]:
        return self.life.fetcher.looks(url)

    def run(self, **fields: Any) -> Ended:
        return asyncio.run(self.life.run(RunRequest(**fields)))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_look_now_tells_what_it_saw_and_looks_at_nothing_else(site: Site):
    first = site.cli("look", PAGE)
    assert (first.code, len(site.looks()), len(site.looks(OTHER))) == (0, 1, 0)
    assert f"first look  {PAGE}" in first.out
    assert "1 page to look at, now" in first.err
    again = site.cli("look", PAGE)
    assert (again.code, len(site.looks())) == (0, 2)
    assert f"unchanged   {PAGE}" in again.out


def test_a_change_is_confirmed_by_its_second_look_and_told_with_its_diff(site: Site):
    site.cli("look", "--all")
    site.says[PAGE] = (200, page("Stopa je 24 % (p1)."))
    told = site.cli("look", PAGE)
    assert told.code == 0
    assert "changed" in told.out
    assert "24" in told.out
    assert len(site.looks()) == 3
    assert site.cli("look", PAGE).out.startswith("unchanged")


def test_several_pages_a_source_and_all_of_them(site: Site):
    assert site.cli("look", PAGE, OTHER, PAGE + "#part").code == 0
    assert (len(site.looks()), len(site.looks(OTHER))) == (1, 1)
    assert site.cli("look", "--source", "p2").code == 0
    assert (len(site.looks()), len(site.looks(OTHER))) == (1, 2)
    told = site.cli("look", "--all", "--json")
    assert (told.code, told.json["seen"], told.json["not_seen"]) == (0, 2, 0)
    assert {look["url"]: look["saw"] for look in told.json["looks"]} == {
        PAGE: "unchanged",
        OTHER: "unchanged",
    }


def test_what_could_not_be_seen_is_named_with_its_reason_and_in_the_exit_code(site: Site):
    site.says[PAGE] = (500, "")
    told = site.cli("look", "--all", "--json")
    assert (told.code, told.json["not_seen"]) == (1, 1)
    failed = next(look for look in told.json["looks"] if look["url"] == PAGE)
    assert (failed["saw"], failed["outcome"], failed["status"]) == ("failed", "server_error", 500)
    assert len(site.looks()) == 3  # its attempts are waited for
    assert "failed      https://one.example/p1  server_error: the server failed" in site.cli("look", PAGE).out


def test_a_removal_is_waited_for_and_told(site: Site):
    site.cli("look", PAGE)
    site.says[PAGE] = (404, "")
    told = site.cli("look", PAGE, "--json")
    (look,) = told.json["looks"]
    assert (told.code, look["saw"], look["changes"][0]["kind"]) == (0, "changed", "removed")


def test_until_idle_also_waits_for_the_second_look_of_a_removed_page(site: Site):
    site.run(mode=Mode.UNTIL_IDLE)
    site.says[PAGE] = (404, "")
    site.cli("add", PAGE)
    ended = site.run(mode=Mode.UNTIL_IDLE)
    assert (ended.by, ended.tally.visits) == ("idle", 2)
    assert [kind for *_, kind in site.life.reported()] == ["removed"]


def test_a_look_waits_its_turn_and_says_for_how_long(site: Site):
    site.robots = "User-agent: *\nCrawl-delay: 900\n"
    assert site.cli("look", PAGE).code == 0  # robots.txt itself costs a turn
    site.life.clock.advance(timedelta(minutes=1))
    told = site.cli("look", PAGE)
    assert told.code == 0
    assert "host:one.example: its turn comes" in told.err
    assert "Crawl-delay 900 s" in told.err
    assert "1 page to look at, within about 13 min 5" in told.err
    assert all(b - a >= 0.25 - 1e-6 for a, b in pairwise(site.looks()))


def test_a_wait_that_is_longer_than_the_patience_ends_at_once_and_the_order_stands(site: Site):
    site.says[PAGE] = (429, "", {"retry-after": "7200"})
    site.cli("look", PAGE, "--patience", "1m")
    at, count = site.life.clock.now(), len(site.looks())
    told = site.cli("look", PAGE, "--patience", "5m")
    assert told.code == 1
    assert "not seen" in told.out
    assert "Retry-After" in told.out + told.err
    assert site.life.clock.now() - at < timedelta(minutes=5)
    assert len(site.looks()) == count
    assert PAGE in {watch["url"] for watch in site.cli("due", "--json").json["watches"]}


def test_add_says_that_its_lane_is_held(site: Site):
    site.says[PAGE] = (429, "", {"retry-after": "7200"})
    site.cli("look", PAGE, "--patience", "1m")
    assert (
        "its lane host:one.example is held until 2026-01-05 10:00:0"
        in site.cli("add", PAGE, "--every", "10m").err
    )


def test_a_budget_that_is_spent_is_named(tmp_path: Path):
    site = Site(tmp_path, schedule={"policy": "fixed", "budget_per_day": 24})
    while site.cli("look", PAGE, "--patience", "30s").code == 0:
        pass
    told = site.cli("look", PAGE, "--patience", "30s")
    assert (told.code, "the budget of looks is spent" in told.out) == (1, True)


def test_a_blocked_lane_and_a_paused_source_are_named(site: Site):
    site.cli("look", "--all")
    site.cli("lanes", "block", "one.example")
    told = site.cli("look", PAGE, "--patience", "1m")
    assert (told.code, len(site.looks())) == (1, 1)
    assert "blocked" in told.out
    site.cli("sources", "pause", "p2")
    told = site.cli("look", OTHER)
    assert (told.code, len(site.looks(OTHER))) == (1, 1)
    assert "paused" in told.out
    assert "vedette sources resume p2" in told.out


def test_a_url_that_is_not_watched_is_answered_with_the_nearest_and_with_add(site: Site):
    site.cli("look", "--all")
    told = site.cli("look", f"{SITE}/p11")
    assert told.code == 1
    assert f"the nearest that is watched is {PAGE}" in told.err
    assert f"vedette add {SITE}/p11" in told.err
    assert "unknown source 'p3'; did you mean 'p" in site.cli("look", "--source", "p3").err
    for words in ([], [PAGE, "--all"], ["--all", "--source", "p1"]):
        assert site.cli("look", *words).code == 2


def test_a_run_with_nothing_to_do_and_an_add_of_what_is_known_point_to_it(site: Site):
    site.cli("look", "--all")
    idle = site.cli("run", "--once")
    assert "nothing was due; the next look is" in idle.err
    assert "at once: vedette look URL" in idle.err
    assert f"vedette look {PAGE}" in site.cli("add", PAGE).err
    site.cli("look", PAGE)
    assert f"vedette look {PAGE}" in site.cli("why-not", PAGE).out


def test_an_interval_and_a_look_now_do_not_chase_each_other(tmp_path: Path):
    """A page that is due again before the wait is over does not keep the look from ending."""
    site = Site(tmp_path, schedule={"policy": "fixed", "interval": "1m"})
    site.robots = "User-agent: *\nCrawl-delay: 120\n"
    told = site.cli("look", "--all")
    assert (told.code, len(site.looks())) == (0, 1)


def test_a_page_that_is_always_due_keeps_no_look_now_from_its_turn(tmp_path: Path):
    """An interval that its lane cannot keep: by its value that page came first for ever."""
    site = Site(tmp_path, lanes={"default": {"gap_min": "3s", "gap_max": "4s"}})
    pages = {"often": {"every": "1s", "risk": "CRITICAL"}, "seldom": {"every": "30d", "risk": "LOW"}}
    for name, more in pages.items():
        site.watch(f"{SITE}/{name}", id=name, **more)
    told = site.cli("look", "--all", "--json")
    assert (told.code, told.json["seen"]) == (0, 4)
    assert len(site.looks(f"{SITE}/often")) == 1
    site.says[f"{SITE}/seldom"] = (404, "")  # its long interval is days
    told = site.cli("look", "--all", "--json")
    assert (told.code, told.json["seen"]) == (0, 4)
    assert len(site.looks(f"{SITE}/often")) == 2


@pytest.mark.parametrize("is_heard", [True, False], ids=["by a running engine", "before it starts"])
def test_a_look_now_comes_before_all_that_is_due_in_its_lane(tmp_path: Path, is_heard: bool):
    site = Site(tmp_path, lanes={"default": {"gap_min": "3s", "gap_max": "4s"}})
    for number in range(30):
        site.watch(f"{SITE}/due/{number}", id=f"d{number}", risk="CRITICAL", every="5m")
    site.watch(f"{SITE}/mine", id="mine", risk="LOW", every="30d")
    site.run(mode=Mode.UNTIL_IDLE)
    site.life.clock.advance(timedelta(hours=12))

    def order() -> None:
        with operating(site.life.data / "vedette.db") as db:
            order_looks(db, [watch_id(f"{SITE}/mine")], now=site.life.clock.now())

    site.at_request = {len(site.asked) + 4: order} if is_heard else {}
    if not is_heard:
        order()
    before = len(site.asked)
    site.run(seconds=40)
    then = site.asked[before:]
    assert f"{SITE}/mine" in then[: 7 if is_heard else 2], then


@pytest.fixture
def served() -> Iterator[tuple[str, list[str]]]:
    """A real page on loopback: its address, and the text that it has."""
    text = ["Stopa je 25 %."]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path == "/p"
            body = page(text[0]).encode() if is_page else b""
            self.send_response(200 if is_page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/p", text
    server.shutdown()
    server.server_close()


def test_a_running_engine_gets_the_order_and_the_look_is_told_here(tmp_path: Path, served):
    url, text = served
    path = tmp_path / "vedette.yaml"
    path.write_text(
        json.dumps(
            {
                "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [int(url.split(":")[2][:-2])]},
                "lanes": {"default": {"gap_min": "100ms", "gap_max": "200ms", "per_minute": 0}},
                "run": {"confirm_after": "200ms"},
                "sources": [{"url": url, "lister": "page", "id": "p"}],
            }
        )
    )
    data = tmp_path / "data"
    command = [sys.executable, "-m", "vedette", "run", "--json", "--config", str(path), "--data", str(data)]
    engine = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ, text=True)
    try:
        assert engine.stdout is not None
        while json.loads(engine.stdout.readline())["event"] != "visited":
            pass
        cli = Cli(data, None, SystemClock())
        told = cli("look", url, "--config", str(path), "--json")
        assert (told.code, told.json["looks"][0]["saw"]) == (0, "unchanged")
        text[0] = "Stopa je 24 %."
        told = cli("look", url, "--config", str(path))
        assert told.code == 0
        assert "changed" in told.out
        assert "24" in told.out
        assert engine.poll() is None
    finally:
        engine.terminate()
        engine.wait()


class SteppedClock(JumpingClock):
    """Something happens while somebody waits."""

    def __init__(self) -> None:
        super().__init__(START)
        self.steps: list[Callable[[], None]] = []

    async def pause(self, wake: Any, until: Any, *, is_busy: bool) -> None:
        if self.steps:
            self.steps.pop(0)()
        await super().pause(wake, until, is_busy=is_busy)


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[tuple[Site, SteppedClock, StoreLock]]:
    """A store that an engine of somebody else holds."""
    site = Site(tmp_path)
    site.cli("look", "--all")
    clock = SteppedClock()
    clock.advance(site.life.clock.now() - START)
    site.life.clock = site.life.fetcher._clock = clock
    lock = StoreLock(site.life.data / "lock")
    lock.take("another")
    yield site, clock, lock
    lock.release()


def test_an_engine_that_ends_while_we_wait_is_replaced(beside):
    site, clock, lock = beside
    clock.steps = [lambda: None, lock.release]
    told = site.cli("look", PAGE)
    assert (told.code, len(site.looks())) == (0, 2)
    assert "unchanged" in told.out


def test_a_wait_for_an_engine_that_does_not_look_has_a_bound(beside):
    site, clock, _ = beside
    at = clock.now()
    told = site.cli("look", PAGE, "--patience", "20s")
    assert (told.code, len(site.looks())) == (1, 1)
    assert clock.now() - at < timedelta(seconds=25)
    assert "waits for its turn" in told.out or "Its turn" in told.out


def test_an_order_that_a_look_under_way_wrote_over_is_given_again(beside):
    site, clock, _ = beside

    def settle() -> None:
        """As a look that began before the order does."""
        with operating(site.life.data / "vedette.db") as db:
            db.execute("UPDATE watches SET due_at = due_at + 86400000 WHERE url = ?", (PAGE,))

    clock.steps = [settle]
    site.cli("look", PAGE, "--patience", "5s")
    assert PAGE in {watch["url"] for watch in site.cli("due", "--json").json["watches"]}


def test_an_interrupted_wait_says_what_was_not_seen_and_the_order_stands(beside):
    site, clock, _ = beside

    def interrupt() -> None:
        raise KeyboardInterrupt

    clock.steps = [interrupt]
    told = site.cli("look", PAGE)
    assert told.code == 130
    assert "not seen" in told.out
    assert PAGE in {watch["url"] for watch in site.cli("due", "--json").json["watches"]}


def test_a_look_of_our_own_that_is_interrupted_says_what_was_not_seen(site: Site):
    class StoppedApp:
        def run_engine(self, loaded: Any, request: RunRequest, *, on_event: Callable[..., None]) -> Ended:
            return Ended(by="stopped", tally=Tally())

    site.cli("look", "--all")
    site.app = StoppedApp()
    told = site.cli("look", PAGE)
    assert told.code == 130
    assert "not seen" in told.out
    assert PAGE in {watch["url"] for watch in site.cli("due", "--json").json["watches"]}
