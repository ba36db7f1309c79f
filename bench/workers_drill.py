"""The drill of several workers: kill -9 at random, a worker that is stopped and continued, servers that are restarted.

    turn .venv/bin/python bench/workers_drill.py --workers 4 --hosts 120 --seconds 90

Checks at the end: no acknowledged look is lost, no evidence is doubled, the archive verifies whole, lanes of killed
workers were visited again within 60 s, and no host was over its limit by its own count.  A worker that starts
needs some seconds of a core: where the machine is so busy that most are killed before their first look, nobody is there
to take lanes over, and the figure says nothing of leases.  --kill-every makes room.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / part) for part in ("stages", "flow", "")]

from workers_trial import DrillPlan, run_drill  # noqa: E402  in tests/flow


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--workers", type=int, default=4)
    asked.add_argument("--hosts", type=int, default=120)
    asked.add_argument("--seconds", type=float, default=90)
    asked.add_argument("--stopped", type=float, default=50, help="seconds of SIGSTOP")
    asked.add_argument("--every", default="2s", help="between two looks at a page; with 2s work never ends")
    asked.add_argument("--kill-every", type=float, default=2.0, help="seconds between two kills")
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    plan = DrillPlan(
        workers=given.workers,
        hosts=given.hosts,
        seconds=given.seconds,
        stopped_s=given.stopped,
        every=given.every,
        kill_every_s=given.kill_every,
    )
    with tempfile.TemporaryDirectory(prefix="vedette-drill-") as folder:
        summary = run_drill(
            Path(folder), plan, random.Random(given.seed), tell=lambda words: print(words, flush=True)
        )
    print(json.dumps(summary, indent=1))
    return 1 if summary["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
