"""False reports and edits found on pages of which much varies by itself, made up from seeds.

python bench/restless.py --seeds 20 --pages 30
python bench/restless.py --seeds 4 --kept 10      # the same pages behind a cache of ten minutes
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "core"))

from change_lives import Life
from restless_pages import RestlessPage, edit_steady, end_unit, kept, make_page

from vedette.contracts.change import Comparison

VISITS, EARLY = 30, 10
Lived = tuple[RestlessPage, Life, random.Random]
PATIENCE = 20  # looks in which what was restless and is not any more has to be told


@dataclass
class Result:
    looks: int = 0
    false: int = 0
    late: int = 0  # of these, after a tenth visit
    edits: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: Result) -> Result:
        self.looks += other.looks
        self.false += other.false
        self.late += other.late
        self.edits += other.edits
        self.ends += other.ends
        return self


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seeds", type=int, default=20)
    given.add_argument("--first", type=int, default=1)
    given.add_argument("--pages", type=int, default=30, help="of each seed")
    given.add_argument("--kept", type=float, default=0.0, help="minutes for which a cache keeps the page")
    options = given.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    total, run = Result(), partial(measured, pages=options.pages, minutes=options.kept)
    with ProcessPoolExecutor(2) as pool:
        for seed, result in zip(seeds, pool.map(run, seeds), strict=True):
            print(f"seed {seed}: {told(result)}", flush=True)
            total += result
    print(f"all: {told(total)}")
    return 0


def told(result: Result) -> str:
    found, ends = result.edits, result.ends
    return (
        f"{result.false} false reports in {result.looks} looks ({1000 * result.false / result.looks:.2f} per 1,000), "
        f"{result.late} after the first {EARLY} visits; "
        f"edits of steady lines told by the second look {found['second']} of {found.total()}, "
        f"later in the same visit {found['visit']}, later {found['later']}, missed {found['missed']}; "
        f"ends of what varied told within {PATIENCE} looks {ends['told']} of {ends.total()}"
    )


def measured(seed: int, pages: int, minutes: float) -> Result:
    result = Result()
    for page in range(pages):
        for measure in (_quiet, _edited, _ended):
            measure(_life(seed * 10_000 + page, minutes), result)
    return result


def _life(name: int, minutes: float) -> Lived:
    page = make_page(name)
    look = kept(page, minutes) if minutes else page.look
    return page, Life(look, random.Random(f"chance {name}")), random.Random(f"edit {name}")


def _quiet(lived: Lived, result: Result) -> None:
    _, life, _ = lived
    for visit in range(VISITS):
        told = len(life.visit())
        result.false += told
        result.late += told if visit >= EARLY else 0
    result.looks += life.looks


def _edited(lived: Lived, result: Result) -> None:
    page, life, r = lived
    for _ in range(r.randint(5, VISITS)):
        life.visit()
    edited, looks = edit_steady(page, r), life.looks
    for visit in range(6):
        if any(edited in _shown(one) for one in life.visit()):
            by = "second" if life.looks - looks <= 2 else "visit" if visit == 0 else "later"
            result.edits[by] += 1
            return
    result.edits["missed"] += 1


def _ended(lived: Lived, result: Result) -> None:
    page, life, r = lived
    for _ in range(VISITS):
        life.visit()
    text, looks = end_unit(page, r), life.looks
    while life.looks - looks < PATIENCE:
        if any(text in _shown(one) for one in life.visit()):
            result.ends["told"] += 1
            return
    result.ends["late"] += 1


def _shown(comparison: Comparison) -> str:
    return "\n".join(line for op in comparison.diff if op.op != "equal" for line in (*op.before, *op.after))


if __name__ == "__main__":
    raise SystemExit(main())
