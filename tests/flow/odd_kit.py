"""A hunted store of a small odd world, made once and copied: pages come from the world itself, without a server."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import comb
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from scripted import Life, life

from vedette.config.model import Loaded
from vedette.livingweb import OddPlan, OddWorld
from vedette.operations.installation import Installation

PORT = 80
QUICK = {
    "lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}},
    "schedule": {"policy": "fixed", "interval": "60d"},
    "run": {"max_sightings": 1_000_000},
    "hunt": {"persist_at": 30, "llm_at": 42},
}


@dataclass
class OddHunt:
    """A store, and the truth about what stands in it."""

    data: Path
    known: dict[str, Any]
    config: Any
    clock: Any

    @property
    def installation(self) -> Installation:
        self.notes: list[str] = []
        loaded = Loaded(config=self.config, path=None, data=self.data, digest="flow")
        return Installation(loaded=loaded, clock=self.clock, note=self.notes.append)


def hunted(folder: Path, *, seed: int = 5, odd: int = 60, looks: int = 600) -> OddHunt:
    """A copy that a test may change."""
    made = _hunted(seed, odd, looks)
    data = folder / "data"
    shutil.copytree(made.data, data)
    return OddHunt(data, made.known, made.config, made.clock)


@cache
def _hunted(seed: int, odd: int, looks: int) -> OddHunt:
    world = OddWorld(OddPlan(hosts=60, pages=1500, odd=odd, decoys=42, seed=seed))
    data = Path(mkdtemp(prefix="vedette-odd-")) / "data"
    watched = watched_world(world, data)
    ended = asyncio.run(watched.run(max_visits=looks, seconds=30 * 86_400.0))
    assert ended.error is None
    known = json.loads(json.dumps(world.known(PORT)))
    return OddHunt(data, known, watched.config, watched.clock)


def watched_world(world: OddWorld, data: Path) -> Life:
    pages = {
        world.url(host.index, page, PORT): (host.index, page)
        for host in world.hosts
        for page in range(host.spec.pages)
    }

    def answer(url: str, hours: float) -> tuple[int, str]:
        found = pages.get(url)
        if found is None:
            return (200, "") if url.endswith("/robots.txt") else (404, "")
        return 200, world.sites[found[0]].html(found[1], PORT)

    sources = [
        {
            "id": f"seed{n}", "url": url, "lister": "crawl", "follow_hosts": ["*"], "hunt": True, "risk": "LOW",
            "max_urls": 200_000, "max_depth": 60,
        }
        for n, url in enumerate(world.seeds(PORT))
    ]  # fmt: skip
    return life(data, answer, *sources, **QUICK)


def adjusted_rand(one: list[object], other: list[object]) -> float:
    """How well two ways of grouping agree: 1 the same, about 0 by chance."""
    both, left, right = Counter(zip(one, other, strict=True)), Counter(one), Counter(other)
    together = sum(comb(n, 2) for n in both.values())
    ones, others = (sum(comb(n, 2) for n in counts.values()) for counts in (left, right))
    chance = ones * others / comb(len(one), 2)
    middle = (ones + others) / 2
    return 1.0 if middle == chance else (together - chance) / (middle - chance)


def labels(groups: list[tuple[int, ...]], many: int) -> list[object]:
    found: list[object] = [f"alone {n}" for n in range(many)]
    for n, group in enumerate(groups):
        for one in group:
            found[one] = n
    return found
