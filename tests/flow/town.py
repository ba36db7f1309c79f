"""The living web of the kill drill, as a process of its own: whoever is killed beside it, it goes on counting."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

from vedette.livingweb import LivingWeb, World
from vedette.livingweb.presets import GridMix, grid_world
from vedette.livingweb.process import DAY, ChangeMix
from vedette.livingweb.world import FaultRule, HostSpec, Limits, WorldClock, real_time

GAP_S, SLACK_S = 0.2, 0.05
SPACED = ("spaced-a.example", "spaced-b.example")  # their servers count the gap
THROTTLED, FAILING, RESETTING = "throttled.example", "failing.example", "resetting.example"
CLOSED = (THROTTLED, FAILING, RESETTING)  # after a word of theirs they must be left alone for an hour


def drill_world(hosts: int = 20, pages: int = 30, *, seed: int = 7, epoch: float) -> World:
    """Every lister, changing and noisy pages, two hosts that count gaps, three that want to be left alone."""
    mix = GridMix(changes=ChangeMix(median_days=2.0, never=0.2), noisy=5, latency=0.003)
    specs = [host.spec for host in grid_world(hosts, pages, seed, mix=mix).hosts]
    polite = Limits(min_gap=GAP_S, at_once=1, slack=SLACK_S)
    specs += [
        HostSpec(name=SPACED[0], listing="sitemap", pages=4, limits=polite, latency=0.02),
        HostSpec(name=SPACED[1], listing="html_list", pages=4, limits=polite, latency=0.02),
        HostSpec(name=THROTTLED, pages=pages, faults=(FaultRule("throttled", amount=3600),)),
        HostSpec(name=FAILING, pages=pages, faults=(FaultRule("server_error"),)),
        HostSpec(name=RESETTING, pages=pages, faults=(FaultRule("reset"),)),
    ]
    return World(specs, seed=seed, epoch=epoch)


class Town:
    """The process, asked over its own pipes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        ready = self._answer()
        self.port: int = ready["port"]
        self.sources: list[dict[str, Any]] = ready["sources"]
        self.addresses: dict[str, str] = ready["addresses"]

    def __enter__(self) -> Town:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # ends it
        self._process.wait(30)

    def stats(self) -> dict[str, Any]:
        """What the server saw so far; `asked_at` are the times of the requests to the hosts of CLOSED."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._answer()

    def config(self) -> dict[str, Any]:
        """Watches all of this web by address, as fast as it bears, so that work never ends."""
        gap = f"{int(GAP_S * 1000)}ms"
        quick = {"gap_min": "0ms", "gap_max": "20ms", "per_minute": 0, "at_once": 1, "closed_for": "1h"}
        spaced = {f"host:{self.addresses[name]}": {"gap_min": gap, "gap_max": gap} for name in SPACED}
        return {
            "sources": [
                {key: value for key, value in source.items() if key != "options"}
                | source["options"]
                | {"hunt": source["lister"] == "crawl"}
                for source in self.sources
            ],
            "lanes": {"default": quick, **spaced},
            "schedule": {"policy": "fixed", "interval": "1s"},
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [self.port]},
            "extract": {"worker_above": "8k"},  # so that some pages are with a worker when the kill comes
            "evidence": {"segment_limit": "256k"},  # so that segments are closed and opened under way
        }

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


async def _serve() -> None:
    """One line of JSON when ready, one more for every line that comes in, until nobody asks any more."""
    world = drill_world(epoch=real_time() - 60 * DAY)
    clock = WorldClock(real_time() - 30 * DAY, speed=3600.0)  # an hour a second
    world.prepare(clock())
    async with LivingWeb(world, now=clock, pace=real_time) as web:
        addresses = {host.name: host.address for host in world.hosts}
        _say({"port": web.port, "sources": web.sources(by="address"), "addresses": addresses})
        questions = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(questions), sys.stdin
        )
        while await questions.readline():
            asked_at: dict[str, list[float]] = {name: [] for name in CLOSED}
            for seen in web.journal.requests:
                if seen.host in asked_at:
                    asked_at[seen.host].append(seen.at)
            _say(web.stats() | {"asked_at": asked_at})


def _say(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve())
