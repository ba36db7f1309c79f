"""`kill -9` at random moments, 200 times by default.  `python bench/kill_drill.py --kills 200`

Ends with 0 when nothing that was acknowledged was lost, doubled, unreadable or stuck, and no limit was broken.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "flow"), str(TESTS / "stages")]

from killing import drill  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the data folder for a closer look")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="vedette-kill-"))
    try:
        with drill(folder, seed=options.seed) as one:
            summary = one.run(options.kills, tell=lambda words: print(words, file=sys.stderr, flush=True))
    finally:
        if options.keep:
            print(folder, file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for name, value in summary.rows():
        print(f"{name:<40}{value}")
    for name, found in summary.problems.by_name.items():
        for words in found[:10]:
            print(f"{name}: {words}")
    return 1 if summary.problems or summary.violations or summary.share_working < 0.75 else 0


if __name__ == "__main__":
    sys.exit(main())
