"""False reports and edits found on pages of which much varies by itself, made up from seeds.

python bench/restless.py --seeds 20 --pages 30
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "core"))

from change_lives import Life
from restless_pages import RestlessPage, edit_steady, end_unit, make_page

from vedette.contracts.change import Comparison

VISITS = 30
PATIENCE = 20  # looks in which what was restless and is not any more has to be told


@dataclass
class Result:
    looks: int = 0
    false: int = 0
    edits: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: Result) -> Result:
        self.looks += other.looks
        self.false += other.false
        self.edits += other.edits
        self.ends += other.ends
        return self


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seeds", type=int, default=20)
    given.add_argument("--first", type=int, default=1)
    given.add_argument("--pages", type=int, default=30, help="of each seed")
    options = given.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    total = Result()
    with ProcessPoolExecutor(2) as pool:
        for seed, result in zip(seeds, pool.map(measured, seeds, [options.pages] * len(seeds)), strict=True):
            print(f"seed {seed}: {told(result)}", flush=True)
            total += result
    print(f"all: {told(total)}")
    return 0


def told(result: Result) -> str:
    found, ends = result.edits, result.ends
    return (
        f"{result.false} false reports in {result.looks} looks ({1000 * result.false / result.looks:.2f} per 1,000); "
        f"edits of steady lines told by the second look {found['second']} of {found.total()}, "
        f"later in the same visit {found['visit']}, later {found['later']}, missed {found['missed']}; "
        f"ends of what varied told within {PATIENCE} looks {ends['told']} of {ends.total()}"
    )


def measured(seed: int, pages: int) -> Result:
    result = Result()
    for page in range(pages):
        name = seed * 10_000 + page
        _quiet(name, result)
        _edited(name, result)
        _ended(name, result)
    return result


def _life(name: int) -> tuple[RestlessPage, Life, random.Random]:
    page = make_page(name)
    return page, Life(page.look, random.Random(f"chance {name}")), random.Random(f"edit {name}")


def _quiet(name: int, result: Result) -> None:
    _, life, _ = _life(name)
    for _ in range(VISITS):
        life.visit()
    result.looks += life.looks
    result.false += len(life.reports)


def _edited(name: int, result: Result) -> None:
    page, life, r = _life(name)
    for _ in range(r.randint(5, VISITS)):
        life.visit()
    edited, looks = edit_steady(page, r), life.looks
    for visit in range(6):
        if any(edited in _shown(one) for one in life.visit()):
            by = "second" if life.looks - looks <= 2 else "visit" if visit == 0 else "later"
            result.edits[by] += 1
            return
    result.edits["missed"] += 1


def _ended(name: int, result: Result) -> None:
    page, life, r = _life(name)
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
