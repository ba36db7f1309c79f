"""Edits, deletes and inserts in every column of every covered table, one at a time.  `python bench/tamper.py`

On a store that a run against the living web made.  Ends with 0 when `evidence verify` found all of them, and nothing
on the untouched store.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "flow"))

from tampering import TABLES, Tamperer, unseen
from watching import Watched, clock_of, living

from vedette.livingweb import LivingWeb, World, grid_world
from vedette.livingweb.presets import GridMix
from vedette.livingweb.process import ChangeMix
from vedette.livingweb.world import FaultRule, HostSpec


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--hours", type=float, default=12.0, help="of the living web")
    parser.add_argument("--rows", type=int, default=3, help="of each table, beside the first and the last")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vedette-tamper-") as folder:
        watched = asyncio.run(_watched(Path(folder), options.hours, options.seed))
        for table in TABLES:
            print(f"{table:<12}{watched.rows(f'SELECT COUNT(*) FROM {table}')[0][0]:>8} rows")
        with Tamperer(watched.data) as one:
            untouched = one.report().problems
        done, missed = unseen(watched.data, seed=options.seed, rows=options.rows)
    print(f"untouched: {len(untouched)} problems; {done} tamperings, {len(missed)} not found")
    for words in missed:
        print(f"  {words}")
    return 1 if untouched or missed else 0


async def _watched(folder: Path, hours: float, seed: int) -> Watched:
    mix = GridMix(changes=ChangeMix(tempo=20.0), noisy=2)
    specs = [host.spec for host in grid_world(6, 4, seed=seed, mix=mix).hosts]
    specs.append(HostSpec(name="failing.example", pages=2, faults=(FaultRule("server_error"),)))
    world = World(specs, seed=seed)
    clock = clock_of(world)
    async with LivingWeb(world, now=lambda: clock.now().timestamp()) as web:
        watched = living(world, web, folder / "data", clock=clock)
        await watched.run(seconds=hours * 3600)
    return watched


if __name__ == "__main__":
    sys.exit(main())
