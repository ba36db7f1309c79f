"""One hunt of the foreign world, without a server, and what breadth-first would have found with as many looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from foreign_world import ForeignWorld
from scripted import Life, life

from vedette.config.model import Loaded
from vedette.contracts.oddness import OddFinding
from vedette.operations.hunt import findings
from vedette.operations.installation import Installation

QUICK = {
    "lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}},
    "schedule": {"policy": "fixed", "interval": "60d"},
    "run": {"max_sightings": 1_000_000},
}


@dataclass(frozen=True)
class ForeignHunt:
    """A world, and what came of a hunt in it."""

    world: ForeignWorld
    watched: Life
    looked: list[str]
    findings: list[OddFinding]  # the oddest first

    @property
    def seen(self) -> int:
        return len(self.world.odd & set(self.looked))

    def precision(self, most: int) -> float:
        """Of the first findings, or of all where there are fewer."""
        first = self.findings[:most]
        return sum(one.url in self.world.odd for one in first) / max(1, len(first))


async def hunt_in(world: ForeignWorld, data: Path, looks: int) -> ForeignHunt:
    def answer(url: str, hours: float) -> tuple[int, str]:
        if url in world.at:
            return 200, world.html(url)
        return (200, "") if url.endswith("/robots.txt") else (404, "")

    sources: list[Mapping[str, object]] = [
        {
            "id": f"seed{n}", "url": url, "lister": "crawl", "follow_hosts": ["*"], "hunt": True, "risk": "LOW",
            "max_urls": 200_000, "max_depth": 60,
        }
        for n, url in enumerate(world.seeds)
    ]  # fmt: skip
    watched = life(data, answer, *map(dict, sources), **QUICK)
    ended = await watched.run(max_visits=looks, seconds=30 * 86_400.0)
    assert ended.error is None, ended.error
    installation = Installation(
        loaded=Loaded(config=watched.config, path=None, data=data, digest="flow"), clock=watched.clock
    )
    asked = (url for _, url in watched.fetcher.asked if not url.endswith("/robots.txt"))
    ranked = sorted(findings(installation), key=lambda one: (-one.score, one.url))
    return ForeignHunt(world, watched, list(dict.fromkeys(asked)), ranked)


def breadth_first(world: ForeignWorld, looks: int) -> int:
    """Odd pages that it sees."""
    known, waiting, at = set(world.seeds), list(world.seeds), 0
    while at < min(looks, len(waiting)):
        found = [link for link in dict.fromkeys(world.links(waiting[at])) if link not in known]
        known.update(found)
        waiting += found
        at += 1
    return len(world.odd & set(waiting[:looks]))
