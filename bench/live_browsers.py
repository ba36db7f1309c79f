"""What ten browsers that watch live cost an engine at full speed: looks per second of CPU, with and without them.

`python bench/live_browsers.py [--browsers 10] [--rounds 4] [--seconds 20] [--hosts 40] [--pages 60] [--seed 7]`

One `vedette serve` on a living web whose pages change all the time; every page is due again a second after its look, so
the engine never rests.  Phases without and with browsers take turns in the same process, so both see the same store.
The browsers are pages of a real Chromium: half stay on the overview, half on the list of changes, and both do what
their scripts do.  Counted is the CPU of the server with its children; that of Chromium and of the web is their own.
Goal: at most 10 % fewer looks per second of CPU.

What browsers ask for comes by the clock, so on a machine that others use, where the engine has a part of a core, their
share is larger than beside an engine at full speed.  `--store FOLDER` (of bench/large_store.py) measures them alone:
the same pages on a server without an engine that emits `--looks` and `--changes` events a second.  An engine that has
one core for itself loses that share of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml
from playwright.async_api import Browser, async_playwright

from vedette.app.service import ServiceState
from vedette.config.model import Loaded, parse
from vedette.contracts.events import Changed, Visited
from vedette.contracts.words import ChangeId, Outcome, Risk
from vedette.operations.installation import Installation
from vedette.surface.http.service_pages import opened
from vedette.telemetry.wall_clock import SystemClock

GOAL = 0.9
QUICK = {"gap_min": "0s", "gap_max": "0s", "per_minute": 0, "at_once": 4}
PATHS = ("/", "/changes")
SETTLE_S = 8  # after the pages are open: what they show is worked out behind the answers
TURNS = 10  # in a second, of events
PATIENCE_MS = 180_000  # on a busy machine
TICKS = os.sysconf("SC_CLK_TCK")


def cpu(pid: int) -> float:
    """Seconds, with those of children that ended."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, parts[11:15])) / TICKS


def looks(address: str) -> int:
    """Of the server's own count."""
    with urlopen(f"{address}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith("vedette_fetch_total{")))


async def phase(pid: int, address: str, seconds: float) -> dict[str, float]:
    before = cpu(pid), await asyncio.to_thread(looks, address)
    await asyncio.sleep(seconds)
    spent, seen = cpu(pid) - before[0], await asyncio.to_thread(looks, address) - before[1]
    return {"looks": seen, "cpu": round(spent, 2), "per_cpu_second": round(seen / spent, 1)}


async def measure(given: argparse.Namespace, pid: int, address: str) -> dict[str, Any]:
    found: dict[str, list[dict[str, float]]] = {"alone": [], "watched": []}
    counted = {"requests": 0, "streams": 0}
    async with async_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        await asyncio.sleep(given.warm)
        for _ in range(given.rounds):
            found["alone"].append(await phase(pid, address, given.seconds))
            pages = await _open(browser, address, given.browsers, counted)
            await asyncio.sleep(SETTLE_S)
            found["watched"].append(await phase(pid, address, given.seconds))
            for page in pages:
                await page.context.close()
        await browser.close()
    rates = {name: [one["per_cpu_second"] for one in all_] for name, all_ in found.items()}
    share = statistics.median(rates["watched"]) / statistics.median(rates["alone"])
    return {"phases": found, "asked": counted, "share": round(share, 3), "goal": GOAL}


async def _open(browser: Browser, address: str, number: int, counted: dict[str, int]) -> list[Any]:
    def note(request: Any) -> None:
        counted["streams" if "/events" in request.url else "requests"] += 1

    async def one(place: int) -> Any:
        page = await (await browser.new_context()).new_page()
        page.on("request", note)
        page.set_default_timeout(PATIENCE_MS)
        await page.goto(address + PATHS[place % len(PATHS)])
        await page.wait_for_selector("[data-live]:not([hidden])")
        return page

    return list(await asyncio.gather(*map(one, range(number))))


def told(line: Any, given: argparse.Namespace) -> None:
    """A server without an engine, and events as an engine tells them; ends with its parent."""

    async def run() -> None:
        config = Loaded(config=parse({}), path=None, data=given.store, digest="x")

        async def metrics() -> str:
            return ""

        state = ServiceState(metrics, lambda: True)
        door = opened("127.0.0.1:0", None, None, (), Installation(config, SystemClock()))
        async with door(state) as address:
            line.send(address)
            ended = asyncio.get_running_loop().run_in_executor(None, line.recv)
            while not ended.done():
                _emit(state, given)
                await asyncio.sleep(1 / TURNS)

    asyncio.run(run())


def _emit(state: ServiceState, given: argparse.Namespace) -> None:
    now, url = datetime.now(UTC), "https://example.org/rules"
    for _ in range(given.looks // TURNS):
        state.events.emit(Visited(at=now, url=url, outcome=Outcome.OK))
    for _ in range(given.changes // TURNS):
        state.events.emit(Changed(at=now, url=url, change=ChangeId(1), risk=Risk.HIGH, summary="x" * 80))


async def browsers_alone(given: argparse.Namespace) -> dict[str, Any]:
    """Seconds of CPU that the server spends in a second, with and without them."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=told, args=(there, given))
    child.start()
    address, pid = await asyncio.to_thread(here.recv), child.pid or 0
    found: dict[str, list[float]] = {"alone": [], "watched": []}
    counted = {"requests": 0, "streams": 0}
    async with async_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(given.rounds):
            await asyncio.sleep(SETTLE_S)
            found["alone"].append(await _spent(pid, given.seconds))
            pages = await _open(browser, address, given.browsers, counted)
            await asyncio.sleep(SETTLE_S)
            found["watched"].append(await _spent(pid, given.seconds))
            for page in pages:
                await page.context.close()
        await browser.close()
    here.send("end")
    child.join(10)
    child.terminate()
    cost = statistics.median(found["watched"]) - statistics.median(found["alone"])
    return {"cpu_per_second": found, "asked": counted, "share": round(1 - cost, 3), "goal": GOAL}


async def _spent(pid: int, seconds: float) -> float:
    begun, before = time.perf_counter(), cpu(pid)
    await asyncio.sleep(seconds)
    return round((cpu(pid) - before) / (time.perf_counter() - begun), 4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browsers", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warm", type=float, default=15, help="Seconds before the first phase.")
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--store", type=Path, help="No engine: the browsers alone, on this store.")
    parser.add_argument("--looks", type=int, default=500, help="Events a second, with --store.")
    parser.add_argument("--changes", type=int, default=20, help="Of these as many changes.")
    given = parser.parse_args()
    if given.store is not None:
        found = asyncio.run(browsers_alone(given))
        print(json.dumps(found, indent=1))
        return 0 if found["share"] >= GOAL else 1
    with ExitStack() as stack:
        ready = _web(given, stack)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vedette-live-")))
        server, address = _server(ready, folder, stack)
        found = asyncio.run(measure(given, server.pid, address))
    print(json.dumps(found, indent=1))
    return 0 if found["share"] >= GOAL else 1


def _web(given: argparse.Namespace, stack: ExitStack) -> dict[str, Any]:
    command = [sys.executable, "-m", "vedette.livingweb", "--hosts", str(given.hosts)]
    command += ["--pages", str(given.pages), "--seed", str(given.seed), "--speed", "3600"]
    web = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    stack.callback(web.terminate)
    assert web.stdout is not None
    ready: dict[str, Any] = json.loads(web.stdout.readline())
    with urlopen(f"http://127.0.0.1:{ready['control_port']}/_/sources") as answer:
        ready["sources"] = json.load(answer)
    return ready


def _server(ready: dict[str, Any], folder: Path, stack: ExitStack) -> tuple[subprocess.Popen[str], str]:
    sources = [
        {key: value for key, value in one.items() if key != "options"} | one["options"]
        for one in ready["sources"]
    ]
    config = {
        "data": str(folder / "data"),
        "sources": sources,
        "lanes": {"default": QUICK},
        "schedule": {"policy": "fixed", "interval": "1s"},
        "run": {"confirm_after": "0s"},
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [ready["port"]],
            "nameservers": [f"127.0.0.1:{ready['dns_port']}"],
        },
        "serve": {"listen": "127.0.0.1:0"},
        "log": {"format": "json", "level": "info"},
    }
    path = folder / "vedette.yaml"
    path.write_text(yaml.safe_dump(config))
    log = stack.enter_context((folder / "log").open("w+"))
    command = [sys.executable, "-m", "vedette", "--config", str(path), "serve"]
    server = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, text=True))
    stack.callback(lambda: server.send_signal(signal.SIGTERM))
    return server, _address(server, folder / "log")


def _address(server: subprocess.Popen[str], log: Path) -> str:
    for _ in range(300):
        for line in log.read_text().splitlines():
            if "listen" in (told := json.loads(line) if line.startswith("{") else {}).get("metadata", {}):
                return str(told["metadata"]["listen"])
        if server.poll() is not None:
            break
        time.sleep(0.2)
    raise SystemExit(log.read_text()[-3000:])


if __name__ == "__main__":
    sys.exit(main())
