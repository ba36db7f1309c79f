"""The drill of several workers: kills, a stop and a continuation, restarts of PostgreSQL and Redis, a wiped Redis."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
from machine import patient
from postgres_kit import new_database, restart, restartable_server
from redis_kit import OwnRedis, own_redis
from workers_kit import BACK_S, CountingTown, Process, Team, someone, wait_for

_HELD = "SELECT key, token FROM lane_visits WHERE worker = ?"
_TOKENS = "SELECT key, token, worker FROM lane_visits"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class DrillPlan:
    workers: int = 4
    hosts: int = 120
    pages: int = 8
    seconds: float = 90.0
    every: str = "2s"  # between two looks at a page: with 2 s work never ends
    kill_every_s: float = 2.0
    stopped_s: float = 50.0  # 0: nobody is stopped
    restarts: int = 1  # of PostgreSQL, as after a crash
    redis_goes: bool = True  # it is wiped, later it is gone


def run_drill(folder: Path, plan: DrillPlan, chance: random.Random, tell: Tell) -> dict[str, Any]:
    with restartable_server() as server, own_redis() as cache, CountingTown(plan.hosts, plan.pages) as town:
        team = Team(folder, new_database(server.uri, "drill"), town, redis=cache.url)
        team.settings["schedule"]["interval"] = plan.every
        trial = _Trial(team, plan, chance, tell)
        try:
            trial.begin()
            trial.go_on(lambda: restart(server), cache)
            return trial.end()
        finally:
            for one in [*team.alive]:
                one.send(signal.SIGCONT)
                team.kill(one)


class _Trial:
    def __init__(self, team: Team, plan: DrillPlan, chance: random.Random, tell: Tell) -> None:
        self.team = team
        self.plan = plan
        self.chance = chance
        self.tell = tell
        self.kills = 0
        self.idle = 0  # killed before their first look
        self.lost: dict[tuple[str, int], float] = {}  # lanes of killed workers, by token: since when
        self.back: list[float] = []  # after how many seconds each was somebody's again
        self.stopped: Process | None = None
        self.begun = 0.0

    def begin(self) -> None:
        for _ in range(self.plan.workers):
            self.team.start()
        wait_for(lambda: all(one.visits for one in self.team.alive), patient(120))
        self.begun = time.monotonic()

    def go_on(self, restart_server: Callable[[], None], cache: OwnRedis) -> None:
        """Everything that goes wrong, at its time."""
        length = self.plan.seconds
        events: list[tuple[float, str, Callable[[], object]]] = []
        for number in range(self.plan.restarts):
            at = (0.45 + 0.5 * number / self.plan.restarts) * length
            events.append((at, "PostgreSQL restarted", restart_server))
        if self.plan.redis_goes:
            events.append((0.25 * length, "Redis wiped", cache.client.flushall))
            events.append((0.6 * length, "Redis gone", cache.kill))
            events.append((0.75 * length, "and back, empty", cache.start))
        if self.plan.stopped_s:
            events.append((0.05 * length, "a worker stopped", self._stop_one))
            events.append((0.05 * length + self.plan.stopped_s, "and continued", self._continue))
        events.sort(key=lambda one: one[0])
        kill_at = self.plan.kill_every_s
        while self._since() < length or events:
            if events and self._since() >= events[0][0]:
                _, words, do = events.pop(0)
                self.tell(f"{self._since():.0f} s: {words}")
                _quietly(do)
            if self._since() >= kill_at and self._since() < length:
                kill_at += self.plan.kill_every_s
                self._kill()
            self._note_back()
            time.sleep(0.2)

    def end(self) -> dict[str, Any]:
        wait_for(lambda: self._note_back() or not self.lost, BACK_S, 0.5)
        looks = len(self.team.acknowledged())
        seconds = self._since()
        begun = time.monotonic()
        codes = self.team.stop()
        drained = time.monotonic() - begun
        stats = self.team.town.stats()
        problems = self.team.problems()
        if any(
            code not in (0, -signal.SIGTERM) for code in codes
        ):  # one that was starting had no handler yet
            problems["not ended well"] = [f"{codes}", self.team.errors.read_text()[-2000:]]
        return {
            "workers": self.plan.workers,
            "hosts": self.plan.hosts,
            "seconds": round(seconds, 1),
            "kills": self.kills,
            "of these before their first look": self.idle,
            "looks acknowledged": looks,
            "requests by the hosts": stats["requests"],
            "over a limit by the hosts": stats["violations"],
            "lanes of the dead": len(self.back),
            "back after at most": round(max(self.back, default=0.0), 1),
            "looks refused at the fence": _refused(self.team),
            "drained in": round(drained, 1),
            "problems": problems,
        }

    def _kill(self) -> None:
        one = someone(self.team, self.chance, but=self.stopped)
        self.team.kill(one)
        held = self._rows(_HELD, self._name(one))  # only now: it took lanes until it was dead
        self.kills += 1
        self.idle += not one.visits
        self.lost.update((lane, time.monotonic()) for lane in held)
        self.team.start()

    def _stop_one(self) -> None:
        self.stopped = someone(self.team, self.chance)
        self.stopped.send(signal.SIGSTOP)
        held = self._rows(_HELD, self._name(self.stopped))
        self.lost.update((lane, time.monotonic()) for lane in held)

    def _continue(self) -> None:
        assert self.stopped is not None
        self.stopped.send(signal.SIGCONT)

    def _note_back(self) -> None:
        """A lane is back when somebody has taken it, or has given it back, since."""
        if not self.lost:
            return
        now = {key: (token, worker) for key, token, worker in self._rows(_TOKENS)}
        for (key, token), since in list(self.lost.items()):
            found = now.get(key)
            if found is not None and (found[0] > token or not found[1]):
                del self.lost[key, token]
                self.back.append(time.monotonic() - since)

    def _name(self, one: Process) -> str:
        """Of the worker, from the segments that it writes to, or as it said itself; empty: it did nothing yet."""
        written = (line["segment"].rpartition("-")[2] for line in reversed(one.visits))
        said = self._rows("SELECT id FROM workers WHERE place LIKE ?", f"pid {one.process.pid} on %")
        return next(written, said[0][0] if said else "")

    def _rows(self, query: str, *values: object) -> list[Any]:
        """None while the server is restarted."""
        try:
            return self.team.rows(query, *values)
        except Exception:  # noqa: BLE001  the server is away, which is the drill
            return []

    def _since(self) -> float:
        return time.monotonic() - self.begun


def _refused(team: Team) -> int:
    told = [line for one in team.gone for line in one.others if line["event"] == "problem"]
    return sum(
        int(line["what"].rpartition(": ")[2].split()[0])
        for line in told
        if "were not written" in line["what"]
    )


def _quietly(do: Callable[[], object]) -> None:
    with suppress(redis.RedisError, OSError):
        do()
