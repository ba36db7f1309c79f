"""The plots of docs/scheduling.md, from what the freshness judge printed.

python judge.py --budgets b,b/4,b/16 --seed 3 > costs-3.txt        # and seeds 4, 5, 6
python judge.py --slo --seed 3 > promises-3.txt
python bench/plot_judge.py --reference reference.json costs-*.txt promises-*.txt
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
from collections import defaultdict
from statistics import geometric_mean
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs/img"
CELL = re.compile(r"([A-D]) (b\S*) +J (\S+) +xRef (\S+) .*CRITICAL<=4h (\S+) +cold start (\S+)")
PROMISE = re.compile(r" +forecast (\S+), measured (\S+);")
BUDGETS = ("b", "b/4", "b/16")
COLOURS = {"A": "#4269d0", "B": "#efb118", "C": "#ff725c", "D": "#6cc5b0"}
Costs = dict[tuple[str, str], list[float]]
Promises = dict[tuple[str, str], list[tuple[float, float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", type=pathlib.Path, required=True, help="reference.json of the judge")
    parser.add_argument("printed", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    costs, promises = read(options.printed)
    _tell(costs, promises)
    IMAGES.mkdir(exist_ok=True)
    _save(plot_costs(costs, json.loads(options.reference.read_text())), "policies-by-world.svg")
    _save(plot_promises(promises), "forecast.svg")


def read(files: list[pathlib.Path]) -> tuple[Costs, Promises]:
    """Cost against the oracle, and forecast and measured, by world and budget; seeds in the order of the files."""
    costs: Costs = defaultdict(list)
    promises: Promises = defaultdict(list)
    for file in files:
        lines = file.read_text().splitlines()
        for line, after in zip(lines, [*lines[1:], ""], strict=True):
            cell, told = CELL.match(line), PROMISE.match(after)
            if cell and told:
                promises[cell[1], cell[2]].append((float(told[1]), float(told[2])))
            elif cell:
                costs[cell[1], cell[2]].append(float(cell[4]))
    return costs, promises


def plot_costs(costs: Costs, reference: dict[str, Any]) -> Figure:
    """Bars by world and budget: learned, the documents' EWMA, per-risk polling; 1 is the oracle."""
    figure = Figure(figsize=(9, 3.2))
    axes = figure.subplots(1, len(BUDGETS), sharey=True)
    for axis, budget in zip(axes, BUDGETS, strict=True):
        series = {
            "learned": [geometric_mean(costs[world, budget]) for world in COLOURS],
            "seed-ewma": [_against(reference, world, budget, "seed_ewma") for world in COLOURS],
            "per-risk": [_against(reference, world, budget, "per_risk") for world in COLOURS],
        }
        for n, (name, heights) in enumerate(series.items()):
            places = [at + (n - 1) * 0.27 for at in range(len(COLOURS))]
            bars = axis.bar(places, heights, 0.25, label=name, color=("#4269d0", "#efb118", "#bbbbbb")[n])
            if name == "learned":
                axis.bar_label(bars, fmt="%.2f", fontsize=7)
        axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
        axis.set_xticks(range(len(COLOURS)), list(COLOURS))
        axis.set_title({"b": "budget b"}.get(budget, budget), fontsize=10)
        axis.set_ylim(0, 3.4)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("cost J against the oracle's")
    axes[-1].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def plot_promises(promises: Promises) -> Figure:
    """What was told on day 14 against what was then seen; the band is 3 points wide to each side."""
    figure = Figure(figsize=(4.6, 4.4))
    axis = figure.subplots()
    ends = [0.65, 1.0]
    axis.plot(ends, ends, color="black", linewidth=0.8, linestyle=":")
    axis.fill_between(ends, [x - 0.03 for x in ends], [x + 0.03 for x in ends], color="#dddddd", linewidth=0)
    for world, colour in COLOURS.items():
        for budget, mark in (("b", "o"), ("b/4", "s")):
            pairs = promises[world, budget]
            told, seen = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            axis.scatter(told, seen, s=26, marker=mark, color=colour, label=f"{world}, {budget}", zorder=3)
    axis.set(xlabel="expected on day 14", ylabel="seen within 4 h, days 15 to 90", xlim=ends, ylim=ends)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8, ncols=2)
    return figure


def _against(reference: dict[str, Any], world: str, budget: str, policy: str) -> float:
    cells = [cell[budget] for key, cell in reference.items() if key.startswith(f"{world}/1500/")]
    return geometric_mean(cell[policy]["J"] / cell["reference"]["J"] for cell in cells)


def _tell(costs: Costs, promises: Promises) -> None:
    for (world, budget), found in costs.items():
        print(world, f"{budget:5}", " ".join(f"{one:.3f}" for one in found), f"  {geometric_mean(found):.3f}")
    for (world, budget), pairs in promises.items():
        points = " ".join(f"{100 * (told - seen):+.1f}" for told, seen in pairs)
        print(
            world,
            f"{budget:5}",
            "seen",
            " ".join(f"{100 * seen:.1f}" for _, seen in pairs),
            "  points",
            points,
        )


def _save(figure: Figure, name: str) -> None:
    mpl.rcParams["svg.hashsalt"] = "vedette"  # the same figures make the same file
    figure.savefig(IMAGES / name, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
