"""The living web at size: is every page found, every lasting state reported, noise silent, every limit kept?

`python bench/living.py --hosts 200 --pages 100 --days 1` runs the whole stream on a jumping clock and holds it
against the truth of the living web.  Limits are counted by the server.  One line of JSON, the same in every run of a
seed, however busy the machine is; what it cost goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "flow"))

from watching import clock_of, judge, living, living_web

from vedette.livingweb import grid_world
from vedette.livingweb.presets import GridMix
from vedette.livingweb.world import Limits


async def main() -> int:
    options = _options()
    limits = Limits(min_gap=2.0, at_once=1, per_minute=40)
    world = grid_world(options.hosts, options.pages, seed=options.seed, mix=GridMix(limits=limits))
    clock = clock_of(world)
    began = time.process_time()
    with tempfile.TemporaryDirectory(prefix="vedette-living-") as folder:
        async with living_web(world, clock) as web:
            watched = living(world, web, Path(folder), clock=clock)
            ended = await watched.run(seconds=options.days * 86400)
            found = judge(watched)
            stats = web.stats()
            visits = sum(watched.outcomes().values())
            result = {
                "ended": ended.by,
                "error": str(ended.error or ""),
                "pages": found.pages,
                "never_visited": len(found.never_visited),
                "visits": visits,
                "outcomes": dict(sorted(watched.outcomes().items())),
                "changes_true": found.true,
                "changes_missed": len(found.missed),
                "changes_false": len(found.false),
                "waiting_for_second_look": found.pending,
                "limit_violations": stats["violations"],
                "forbidden_fetches": stats["forbidden"],
                "life": watched.life(),
            }
            examples = {
                "missed": found.missed[:5],
                "false": found.false[:5],
                "never": found.never_visited[:5],
            }
    cost = (time.process_time() - began) / max(1, visits) * 1e3
    print(f"CPU with the server: {cost:.2f} ms a visit", file=sys.stderr)
    print(json.dumps(result | {"examples": examples}, ensure_ascii=False))
    bad = ("never_visited", "changes_missed", "changes_false", "limit_violations", "forbidden_fetches")
    return 1 if any(result[name] for name in bad) or ended.error else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--days", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
