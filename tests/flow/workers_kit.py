"""Several real workers on one PostgreSQL store and one living web that counts for itself who comes when."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from vedette.contracts.sql_connection import PostgresAddress
from vedette.core.lanes.visit import LEASE
from vedette.livingweb import LivingWeb, World
from vedette.livingweb.presets import GridMix, grid_world
from vedette.livingweb.process import DAY, ChangeMix
from vedette.livingweb.world import Limits, WorldClock, real_time
from vedette.store.connection import connect
from vedette.store.lane_visits import SERVER_MS

GAP_S, SLACK_S = 0.25, 0.03
LEASE_MS = int(LEASE.total_seconds() * 1000)
BACK_S = 60.0  # a lane of a worker that is gone is visited again within this


class CountingTown:
    """A living web in a process of its own: every host counts requests at once and the gap between them."""

    def __init__(self, hosts: int, pages: int, *, speed: int = 3600) -> None:
        """`speed`: how fast the time of the pages passes."""
        words = [sys.executable, __file__, f"{hosts}", f"{pages}", f"{speed}"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = self._answer()
        self.port: int = ready["port"]
        self.sources: list[dict[str, Any]] = ready["sources"]

    def __enter__(self) -> CountingTown:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def stats(self) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._answer()

    def config(self) -> dict[str, Any]:
        """Watches all of it by address, as often as the lanes allow: work never ends."""
        gap = f"{int(GAP_S * 1000)}ms"
        return {
            "sources": [
                {key: value for key, value in source.items() if key != "options"} | source["options"]
                for source in self.sources
            ],
            "lanes": {"default": {"gap_min": gap, "gap_max": gap, "per_minute": 0, "at_once": 1}},
            "schedule": {"policy": "fixed", "interval": "2s"},
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [self.port]},
            "evidence": {"segment_limit": "1m"},
        }

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


class Process:
    """One `vedette worker --roles ... --json`, and everything it has acknowledged."""

    def __init__(self, command: list[str], env: dict[str, str], errors: Path) -> None:
        self.visits: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        with errors.open("ab") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=env)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, within: float = 60.0) -> int:
        code = self.process.wait(within)
        self._reader.join(10.0)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            if not raw.endswith(b"\n"):
                break  # cut by the kill: nobody was told
            line = json.loads(raw)
            (self.visits if line["event"] == "visited" else self.others).append(line)


@dataclass
class Team:
    """Workers of one store."""

    folder: Path
    server: PostgresAddress
    town: CountingTown
    redis: str | None = None
    roles: str = "crawl,stages,scheduler"
    alive: list[Process] = field(default_factory=list)
    gone: list[Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settings = self.town.config()
        self.base = [sys.executable, "-m", "vedette", "--config", f"{self.folder / 'vedette.yaml'}"]
        self.base += ["--data", f"{self.folder / 'data'}"]
        self.env = {**os.environ, "DATABASE_URL": self.server.url}
        if self.redis is not None:
            self.env["REDIS_URL"] = self.redis
        self.errors = self.folder / "stderr.txt"

    def start(self, roles: str | None = None, *, code: Path | None = None, **env: str) -> Process:
        """With the settings as they are.  `code`: another version of the program."""
        (self.folder / "vedette.yaml").write_text(yaml.safe_dump(self.settings))
        command = [*self.base, "worker", "--roles", roles or self.roles, "--json"]
        if code is not None:
            env["PYTHONPATH"] = f"{code}"
        made = Process(command, self.env | env, self.errors)
        self.alive.append(made)
        return made

    def kill(self, one: Process) -> None:
        one.send(signal.SIGKILL)
        one.end()
        self.alive.remove(one)
        self.gone.append(one)

    def stop(self) -> list[int]:
        """SIGTERM to all; their exit codes."""
        for one in self.alive:
            one.send(signal.SIGTERM)
        codes = [one.end() for one in self.alive]
        self.gone += self.alive
        self.alive = []
        return codes

    def acknowledged(self) -> list[dict[str, Any]]:
        return [line for one in (*self.gone, *self.alive) for line in one.visits]

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(connect(self.server, read_only=True)) as db:
            return db.execute(query, values).fetchall()

    def verb(self, *words: str) -> dict[str, Any]:
        done = subprocess.run([*self.base, *words, "--json"], env=self.env, capture_output=True, check=False)
        assert done.stdout, done.stderr.decode()
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def problems(self) -> dict[str, list[str]]:
        """What of the promises was broken, by the store, the archive and the hosts' own counts.  After the end."""
        found: dict[str, list[str]] = {}
        known = {row[0]: row[1:] for row in self.rows('SELECT id, segment, "offset" FROM visits')}
        for line in self.acknowledged():
            if known.get(line["visit"]) != (line["segment"], line["offset"]):
                found.setdefault("lost", []).append(f"{line['visit']} of {line['url']}")
        twice = [one for one, n in Counter(line["visit"] for line in self.acknowledged()).items() if n > 1]
        found["acknowledged twice"] = [f"{one}" for one in twice]
        double = "SELECT watch_id, digest, COUNT(*) FROM evidence GROUP BY 1, 2 HAVING COUNT(*) > 1"
        found["duplicate evidence"] = [f"{row}" for row in self.rows(double)]
        verified = self.verb("evidence", "verify")
        found["not whole"] = [] if verified["whole"] else [json.dumps(verified)[:500]]
        found["impolite"] = [f"{one}" for one in self.town.stats()["violation_details"][:20]]
        # One that was killed gives nothing back: its leases end by themselves, or when another has its name.
        held = (
            "SELECT v.key, v.worker FROM lane_visits v JOIN workers w ON w.id = v.worker "
            f"WHERE w.state = 'ended' AND v.due_at > {SERVER_MS}"
        )
        found["still held"] = [f"{row}" for row in self.rows(held)]
        late = self.rows(
            f"SELECT key, worker FROM lane_visits WHERE worker <> '' AND due_at > {SERVER_MS} + ?", LEASE_MS
        )
        found["held for longer than a lease"] = [f"{row}" for row in late]
        return {name: words for name, words in found.items() if words}


def wait_for(what: Any, within: float, every: float = 0.1) -> float:
    """Seconds until it was so."""
    begun = time.monotonic()
    while not what():
        assert time.monotonic() - begun < within, "it did not come to that in time"
        time.sleep(every)
    return time.monotonic() - begun


def town_world(hosts: int, pages: int) -> World:
    epoch = real_time() - 60 * DAY
    mix = GridMix(changes=ChangeMix(median_days=2.0, never=0.2), latency=0.003, crawl_delay=0.0)
    limits = Limits(min_gap=GAP_S, at_once=1, slack=SLACK_S)
    specs = [replace(host.spec, limits=limits) for host in grid_world(hosts, pages, 7, mix=mix).hosts]
    return World(specs, seed=7, epoch=epoch)


async def _serve(hosts: int, pages: int, speed: int) -> None:
    world = town_world(hosts, pages)
    clock = WorldClock(real_time() - 30 * DAY, speed=float(speed))
    world.prepare(clock())
    async with LivingWeb(world, now=clock, pace=real_time) as web:
        print(json.dumps({"port": web.port, "sources": web.sources(by="address")}), flush=True)
        questions = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(questions), sys.stdin
        )
        while await questions.readline():
            print(json.dumps(web.stats()), flush=True)


def someone(team: Team, chance: random.Random, but: Process | None = None) -> Process:
    return chance.choice([one for one in team.alive if one is not but])


if __name__ == "__main__":
    asyncio.run(_serve(*map(int, sys.argv[1:])))
