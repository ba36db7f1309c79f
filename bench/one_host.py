"""One host with 20 CRITICAL pages that change at random: is the promise kept from the first hour, and told as it was?

    python bench/one_host.py --days 14 60 --seed 3

An unfriendly world.  Pages change at any hour of the week, on average every 3 or every 10 days; four of them come into
being while it is watched; the listing has no dates, the answers no validators: nothing helps but looking.  One line of
JSON after each number of days, the same in every run of a seed, however busy the machine is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from twin import DAY, PORT, Place, against, freshness_of, legs, told
from vedette.config.model import Loaded, parse
from vedette.livingweb import LivingWeb, Ports, World
from vedette.livingweb.process import Every, Poisson
from vedette.livingweb.world import HostSpec
from vedette.telemetry.clock import JumpingClock

PAGES = 20
MEAN_DAYS = (3.0, 10.0)  # between two changes of a page


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--days", type=float, nargs="+", default=[14.0])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_run(options, Path(folder)))
    return 0


async def _run(options: argparse.Namespace, data: Path) -> None:
    async for days, found in watched(one_host_world(options.seed), options.days, data):
        print(json.dumps({"seed": options.seed, "days": days, **found}), flush=True)


def one_host_world(seed: int, pages: int = PAGES) -> World:
    chance = Random(seed)
    rates = tuple((page, Poisson(1.0 / chance.choice(MEAN_DAYS))) for page in range(pages))
    spec = HostSpec(
        name="one.example", layout="tables", listing="html_list", pages=pages, fixed_changes=rates,
        dates="none", born_later=min(4, pages), births=Every(2 * DAY),
    )  # fmt: skip
    return World([spec], seed=seed)


async def watched(world: World, days: list[float], data: Path) -> AsyncIterator[tuple[float, dict[str, Any]]]:
    """What the server knows after each number of days, and what `vedette freshness` says of them."""
    clock = JumpingClock(datetime.fromtimestamp(world.epoch, UTC))
    async with LivingWeb(
        world, ports=Ports(web=PORT, moves=True), now=lambda: clock.now().timestamp()
    ) as web:
        (source,) = web.sources()
        raw = {
            "sources": [
                {"name": "one", "url": source["url"], "lister": source["lister"], "risk": "CRITICAL"}
                | source["options"]
            ],
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [PORT], "nameservers": [web.nameserver]},
        }  # fmt: skip
        loaded = Loaded(config=parse(raw), path=None, data=data, digest="one host")
        async for at in legs(loaded, clock, days):
            end = world.epoch + at * DAY
            places: list[Place] = [(0, page.index) for page in world.hosts[0].pages if page.born_at < end]
            found = freshness_of(world, web, places, end)
            said = against(told(data, clock), found["seen_within_4h"])
            yield at, {"requests": web.stats()["requests"], **found, "told": said}


if __name__ == "__main__":
    sys.exit(main())
