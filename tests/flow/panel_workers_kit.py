"""Workers of the role `panel` as processes, with a lease that a test can wait for."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import patient
from panel_town import HOME, KEY, THREE, Town

from vedette.contracts.sql_connection import PostgresAddress
from vedette.store.connection import connect

LEASE_S = 2.5
PROCESS = Path(__file__).with_name("panel_worker_process.py")
PROMPTS = [{"type": "brand", "text": "What is {domain} known for?", "most_tokens": 100}]


@dataclass
class PanelTeam:
    """Panel workers of one store, and the played providers that they ask."""

    place: Town
    server: PostgresAddress
    redis: str = ""
    alive: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> PanelTeam:
        return self

    def __exit__(self, *error: object) -> None:
        for one in self.alive:
            one.send_signal(signal.SIGCONT)
            one.kill()
            one.wait()

    @property
    def env(self) -> dict[str, str]:
        env = {"DATABASE_URL": self.server.url, "VEDETTE_DATA": f"{self.place.folder / 'data'}"}
        return env | ({"REDIS_URL": self.redis} if self.redis else {})

    def start(self, roles: str = "panel") -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": HOME, "PANEL_TEST_KEY": KEY, **self.env}
        words = [sys.executable, f"{PROCESS}", "vedette.yaml", f"{LEASE_S}", roles]
        with (self.place.folder / "workers.log").open("ab") as log:
            made = subprocess.Popen(words, cwd=self.place.folder, env=env, stdout=log, stderr=log)
        self.alive.append(made)
        return made

    def kill(self, one: subprocess.Popen[bytes]) -> None:
        one.kill()
        one.wait()
        self.alive.remove(one)

    def verb(self, *words: str) -> tuple[int, str, str]:
        return self.place.call(*words, **self.env)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(connect(self.server, read_only=True)) as db:
            return db.execute(statement).fetchall()

    def until(self, what: Callable[[], object], within: float = 60.0) -> None:
        end = time.monotonic() + patient(within)
        while not what():
            told = (self.place.folder / "workers.log").read_text()[-3000:]
            assert all(one.poll() is None for one in self.alive), told
            assert time.monotonic() < end, told + f"{self.rows('SELECT * FROM crawl_batches')}"
            time.sleep(0.1)

    def settled(self) -> int:
        return int(self.rows("SELECT COUNT(*) FROM panel_answers")[0][0])

    def is_ended(self) -> bool:
        return not self.rows("SELECT 1 FROM crawl_batches WHERE status = 'running'")

    def stats(self) -> dict[str, Any]:
        return {name: self.place.act("stats")["providers"][name] for name in THREE}


def drill(
    team: PanelTeam, chance: random.Random, *, domains: int, kills: int, budget: float
) -> dict[str, Any]:
    """Three workers, some killed, one stopped for longer than its lease and continued."""
    team.place.domains(domains)
    code, _, err = team.verb("run", "--domains", "domains.txt", "--detach", "--budget", f"{budget}")
    assert code == 0, err
    for _ in range(3):
        team.start()
    team.until(lambda: team.settled() > 30)
    stopped = chance.choice(team.alive)
    stopped.send_signal(signal.SIGSTOP)
    killed = 0
    began = time.monotonic()
    while not team.is_ended() and time.monotonic() - began < patient(90):
        time.sleep(chance.uniform(0.8, 2.0))
        if time.monotonic() - began > 2 * LEASE_S:
            stopped.send_signal(signal.SIGCONT)
        running = [one for one in team.alive if one is not stopped]
        if killed < kills and running and not team.is_ended():
            team.kill(chance.choice(running))
            team.start()
            killed += 1
    stopped.send_signal(signal.SIGCONT)
    team.until(team.is_ended)
    stats = team.stats()
    cells, distinct, cost = team.rows(
        "SELECT COUNT(*), COUNT(DISTINCT cell), SUM(cost_usd) FROM panel_answers"
    )[0]
    calls, ok, metered = team.rows("SELECT SUM(calls), SUM(ok), SUM(cost_usd) FROM provider_metrics")[0]
    status, settled, spent = team.rows("SELECT status, settled, spent_usd FROM crawl_batches")[0]
    lost = team.rows("SELECT SUM(lost_usd) FROM panel_shares")[0][0]
    return {
        "killed": killed,
        "requests": sum(one["requests"] for one in stats.values()),
        "throttled": sum(one["violations"] for one in stats.values()),
        "twice": sum(one["asked_twice"] for one in stats.values()),
        "cells": cells,
        "distinct": distinct,
        "calls": int(calls),
        "ok": int(ok),
        "settled": settled,
        "status": status,
        "spent": spent,
        "cost": cost,
        "metered": metered,
        "lost": lost,
        "ends": len(team.rows("SELECT id FROM runs WHERE policy = 'panel'")),
        "seconds": round(time.monotonic() - began, 1),
    }
