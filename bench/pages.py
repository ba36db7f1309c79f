"""Every page and list call of the dashboard on a large store: time and size of each answer, and the server's memory.

`python bench/large_store.py FOLDER`, then `python bench/pages.py FOLDER [--rounds 40] [--requests 10000]`

The server runs in a process of its own, without an engine, on the real clock; the first request comes when it has
done what it does after a start.  Two times of each answer: the CPU that
the server spent on it, and how long a client on loopback waited, which is more where others use the machine.  Goals,
held against the CPU: 150 ms median, 400 ms p95, 300 ms for a search; the overview has at most 200 KB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp

from vedette.app.service import ServiceState
from vedette.config.model import Loaded, parse
from vedette.operations.installation import Installation
from vedette.store.migrate import DATABASE
from vedette.surface.http.service_pages import opened
from vedette.telemetry.wall_clock import SystemClock

MEDIAN_MS, P95_MS, SEARCH_MS, OVERVIEW_BYTES = 150, 400, 300, 200_000
GROWTH = 1.05  # of the memory after the first fifth of the requests
Address = Callable[[], str]


@dataclass(frozen=True)
class Sample:
    """What addresses are made of."""

    urls: list[str]
    pieces: list[int]
    sources: list[str]
    hosts: list[str]
    changes: int
    chance: random.Random


def addresses(one: Sample) -> dict[str, Address]:
    """By the name of what is asked."""
    pick = one.chance.choice

    def url(path: str) -> Address:
        return lambda: f"{path}?url={quote(pick(one.urls), safe='')}"

    def fixed(path: str) -> Address:
        return lambda: path

    def some(path: str, **given: Any) -> Address:
        return lambda: (
            f"{path}?"
            + urlencode({key: value() if callable(value) else value for key, value in given.items()})
        )

    def change() -> str:
        return str(pick(range(1, one.changes + 1)))

    lists: dict[str, Address] = {}
    for api, name in (("", "page"), ("/api/v1", "api")):
        lists |= {
            f"{name} changes": fixed(f"{api}/changes"),
            f"{name} changes, text": some(f"{api}/changes", text="stopa pdv"),
            f"{name} changes, rare text": some(f"{api}/changes", text="nothing says this"),
            f"{name} changes, source": some(f"{api}/changes", source=lambda: pick(one.sources)),
            f"{name} changes, critical": some(f"{api}/changes", risk="CRITICAL"),
            f"{name} changes, all states": some(f"{api}/changes", state="all"),
            f"{name} changes, a week ago": some(f"{api}/changes", until="7d"),
            f"{name} change": lambda api=api: f"{api}/changes/{change()}",
            f"{name} watches": fixed(f"{api}/watches"),
            f"{name} watches, text": some(f"{api}/watches", text="zakon"),
            f"{name} watches, rare text": some(f"{api}/watches", text="nothing is called so"),
            f"{name} watches, host": some(f"{api}/watches", host=lambda: pick(one.hosts)),
            f"{name} watches, source": some(f"{api}/watches", source=lambda: pick(one.sources)),
            f"{name} watches, risk": some(f"{api}/watches", risk="LOW"),
            f"{name} watches, outcome": some(f"{api}/watches", outcome="timeout"),
            f"{name} watches, unseen": some(f"{api}/watches", unseen="true"),
            f"{name} watches, tag": some(f"{api}/watches", tag="tag3"),
            f"{name} watch": url(f"{api}/watch"),
            f"{name} due": fixed(f"{api}/due"),
            f"{name} sources": fixed(f"{api}/sources"),
            f"{name} lanes": fixed(f"{api}/lanes"),
            f"{name} freshness": fixed(f"{api}/freshness"),
            f"{name} alerts": some(f"{api}/alerts", every="true"),
            f"{name} parked": fixed(f"{api}/parked"),
            f"{name} settings": fixed(f"{api}/settings"),
            f"{name} search, common": some(f"{api}/search", text="zakon"),
            f"{name} search, two words": some(f"{api}/search", text="zakon pdvom"),
            f"{name} search, phrase": some(f"{api}/search", text='"Objava 77"'),
            f"{name} piece": lambda api=api: f"{api}/evidence/{pick(one.pieces)}",
            f"{name} raw": lambda api=api: f"{api}/evidence/{pick(one.pieces)}/raw",
            f"{name} hunt": fixed(f"{api}/hunt" if not api else f"{api}/hunt/findings"),
        }
    return lists | {
        "page overview": fixed("/"),
        "api overview": fixed("/api/v1/overview"),
        "page evidence": fixed("/evidence"),
        "api history": url("/api/v1/watch/history"),
        "api why-not": url("/api/v1/watch/why-not"),
        "api evidence of a watch": url("/api/v1/watch/evidence"),
        "api text": lambda: f"/api/v1/evidence/{pick(one.pieces)}/text",
        "api health": fixed("/api/v1/health"),
        "api due within a day": some("/api/v1/due", within="1d"),
        "api audit": fixed("/api/v1/audit"),
        "api tokens": fixed("/api/v1/tokens"),
    }


def sample(folder: Path, seed: int) -> Sample:
    chance = random.Random(seed)
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        urls = [row[0] for row in db.execute("SELECT url FROM watches")]
        pieces = [row[0] for row in db.execute("SELECT id FROM evidence ORDER BY id DESC LIMIT 5000")]
        sources = [row[0] for row in db.execute("SELECT id FROM sources")]
        hosts = [row[0][5:] for row in db.execute("SELECT key FROM lanes WHERE key LIKE 'host:%'")]
        changes = db.execute("SELECT COUNT(*) FROM changes").fetchone()[0]
    return Sample(chance.sample(urls, min(2000, len(urls))), pieces, sources, hosts, changes, chance)


def serve(folder: Path, line: Any) -> None:
    """The server alone; says where it listens, and ends with its parent."""

    async def run() -> None:
        installation = Installation(
            Loaded(config=parse({}), path=None, data=folder, digest="x"), SystemClock()
        )

        async def metrics() -> str:
            return ""

        door = opened("127.0.0.1:0", None, None, (), installation)
        async with door(ServiceState(metrics, lambda: True)) as address:
            line.send(address)
            await asyncio.get_running_loop().run_in_executor(None, line.recv)

    asyncio.run(run())


def resident(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def spent(pid: int) -> float:
    """Milliseconds of CPU, of all its threads that are alive."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in tasks) / 1e6


def rested(pid: int, quiet: float = 1.5, most: float = 180.0) -> float:
    """Waits until the server and its children have done what they do after a start; gives how long that took."""
    begun, since = time.monotonic(), time.monotonic()
    before = spent(pid)
    while time.monotonic() - begun < most and time.monotonic() - since < quiet:
        time.sleep(0.1)
        now = spent(pid)
        children = [
            one for task in Path(f"/proc/{pid}/task").glob("*/children") for one in task.read_text().split()
        ]
        if now - before > 5 or children:
            before, since = now, time.monotonic()
    return time.monotonic() - begun


async def measure(
    address: str, lists: dict[str, Address], rounds: int, chance: random.Random, pid: int
) -> dict[str, Any]:
    times: dict[str, list[float]] = {name: [] for name in lists}
    waited: dict[str, list[float]] = {name: [] for name in lists}
    sizes: dict[str, int] = {}
    refused: dict[str, int] = {}
    async with aiohttp.ClientSession(address) as session:
        for _ in range(rounds):
            for name in chance.sample(list(lists), len(lists)):
                begun, before = time.perf_counter(), spent(pid)
                async with session.get(lists[name](), allow_redirects=False) as answer:
                    body = await answer.read()
                waited[name].append((time.perf_counter() - begun) * 1000)
                times[name].append(spent(pid) - before)
                sizes[name] = max(sizes.get(name, 0), len(body))
                if answer.status >= 400:
                    refused[name] = answer.status
    return {
        name: {
            "median": round(statistics.median(taken), 1),
            "p95": _p95(taken),
            "first": round(taken[0], 1),
            "waited": round(statistics.median(waited[name]), 1),
            "waited_p95": _p95(waited[name]),
            "bytes": sizes[name],
            **({"status": refused[name]} if name in refused else {}),
        }
        for name, taken in times.items()
    }


def _p95(taken: list[float]) -> float:
    return round(sorted(taken)[int(len(taken) * 0.95)] if len(taken) > 1 else taken[0], 1)


async def grown(address: str, lists: dict[str, Address], requests: int, pid: int) -> list[int]:
    """Memory of the server, ten times on the way."""
    found, names = [], list(lists)
    async with aiohttp.ClientSession(address) as session:
        for n in range(requests):
            async with session.get(lists[names[n % len(names)]](), allow_redirects=False) as answer:
                await answer.read()
            if (n + 1) % max(1, requests // 10) == 0:
                found.append(resident(pid))
    return found


def late(found: dict[str, Any]) -> list[str]:
    said = []
    for name, one in sorted(found.items(), key=lambda each: -each[1]["median"]):
        most = SEARCH_MS if "search" in name else MEDIAN_MS
        if one["median"] > most or one["p95"] > P95_MS or one.get("status"):
            said.append(f"{name}: {one}")
    if found["page overview"]["bytes"] > OVERVIEW_BYTES:
        said.append(f"page overview: {found['page overview']['bytes']} bytes")
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--only", default="", help="Names that contain this.")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=serve, args=(given.folder, there))
    child.start()
    address, kit = here.recv(), sample(given.folder, given.seed)
    print(f"at rest {rested(child.pid or 0):.1f} s after it listened")
    lists = {name: made for name, made in addresses(kit).items() if given.only in name}
    try:
        found = asyncio.run(measure(address, lists, given.rounds, kit.chance, child.pid or 0))
        print(f"{'ms':32} {'median':>9} {'p95':>9} {'first':>9} {'waited':>9} {'p95':>9} {'bytes':>10}")
        for name, one in sorted(found.items(), key=lambda each: -each[1]["median"]):
            figures = " ".join(
                f"{one[key]:9.1f}" for key in ("median", "p95", "first", "waited", "waited_p95")
            )
            print(f"{name:32} {figures} {one['bytes']:10,}", one.get("status", ""))
        problems = late(found) if not given.only else []
        if given.requests:
            memory = asyncio.run(grown(address, lists, given.requests, child.pid or 0))
            print(json.dumps({"memory_mb": [round(size / 1e6, 1) for size in memory]}))
            if memory[-1] > GROWTH * memory[1]:
                problems.append(f"memory grew: {memory}")
    finally:
        here.send("end")
        child.join(10)
        child.terminate()
    print("\n".join(["late or refused:", *problems] if problems else ["all within the goals"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
