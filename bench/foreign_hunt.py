"""The hunt in a second world, which shares nothing with the first (tests/flow/foreign_world.py).

    python bench/foreign_hunt.py --seed 3 --looks 2500
    python bench/foreign_hunt.py --seed 4 --swapped      # ordinary pages at the addresses of the odd ones

Without a server: pages come from the world itself.  Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "flow"))

from foreign_world import ForeignWorld

from foreign_hunt import breadth_first, hunt_in


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--looks", type=int, default=2500)
    parser.add_argument("--swapped", action="store_true")
    options = parser.parse_args()
    world = ForeignWorld(options.seed, is_swapped=options.swapped)
    with tempfile.TemporaryDirectory(prefix="vedette-foreign-") as folder:
        hunt = asyncio.run(hunt_in(world, Path(folder), options.looks))
    truth = [world.truth(one.url) for one in hunt.findings]
    result = {
        "seed": options.seed, "swapped": options.swapped, "looks": len(hunt.looked), "odd": len(world.odd),
        "seen": hunt.seen, "breadth_first_sees": breadth_first(world, options.looks),
        "findings": len(truth), "kept": sum(one.url in world.odd for one in hunt.findings),
        "precision_50": round(hunt.precision(50), 3), "precision_100": round(hunt.precision(100), 3),
        "kinds_50": len({kind for kind, _ in truth[:50] if kind}),
        "decoys_50": Counter(decoy for _, decoy in truth[:50] if decoy),
        "kept_by_kind": Counter(kind for kind, _ in truth if kind and not options.swapped),
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
