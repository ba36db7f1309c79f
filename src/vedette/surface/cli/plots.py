"""The truth of a living web as `simulate` takes it, and plots.  matplotlib is an extra (`vedette[plot]`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.text.nearest import unknown
from vedette.core.urls.classify import Classification
from vedette.core.whatif.history import Targets, Truth, sorted_truth
from vedette.core.whatif.play import Bounds, PlayedTruth
from vedette.livingweb import World, croatia_world, demo_world, grid_world

WORLDS = ("croatia", "demo", "grid")
_MONDAY = 4 * 86_400.0  # the schedule layer counts from Monday 1970-01-05
_HOUR = 3600.0


def world_of(name: str, seed: int) -> World:
    """A ready world by its name."""
    if name not in WORLDS:
        raise InputError(unknown("living web", name, WORLDS))
    if name == "croatia":
        return croatia_world(seed=seed)
    return demo_world(seed=seed) if name == "demo" else grid_world(40, 50, seed)


def truth_of(world: World, days: float, classify: Callable[[str], Classification]) -> Truth:
    """Every page that exists within these days, with all its changes."""
    start, end = world.epoch, world.epoch + days * 86_400.0
    targets: list[tuple[int, int, float]] = []
    row: list[int] = []
    at: list[float] = []
    for host in world.hosts:
        for page in host.pages:
            if page.forbidden or page.born_at >= end:
                continue
            times = page.history.between(max(start, page.born_at), end)
            row += [len(targets)] * len(times)
            at += times
            risk = classify(world.url(host.index, page.index, 80)).risk
            targets.append((int(risk), host.index, max(start, page.born_at)))
    table = np.array(targets, np.float64).reshape(-1, 3)
    whom = Targets(
        risk=table[:, 0].astype(np.int64), host=table[:, 1].astype(np.int64), since=_hours(table[:, 2])
    )
    return sorted_truth(whom, np.array(row, np.int64), _hours(np.array(at)), (_hour(start), _hour(end)))


def _hours(seconds: np.ndarray) -> np.ndarray:
    return (seconds - _MONDAY) / _HOUR


def _hour(seconds: float) -> float:
    return (seconds - _MONDAY) / _HOUR


PANELS = (  # figure, title, label of the axis, its scale
    ("requests", "Requests", "requests per day", "linear"),
    ("delay", "Detection delay", "hours, mean", "log"),
    ("within", "Seen within the objective", "share of changes", "linear"),
    ("missed", "Missed changes", "states never seen", "symlog"),
)
_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
)  # Okabe and Ito: safe for all eyes
_WIDTH = 0.8  # of the place of one risk class


def draw_what_if(path: Path, results: Sequence[PlayedTruth], title: str) -> None:
    """Four panels, a group of bars per risk class, bounds as bands around their middle."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an extra that may not be installed
    from matplotlib.figure import Figure

    names = [r.name for r in reversed(Risk) if any(one.table[r.name]["requests"].high > 0 for one in results)]
    figure: Any = Figure(figsize=(10.5, 7.4), dpi=130, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2)
    for axis, (name, head, unit, scale) in zip(axes.flat, PANELS, strict=True):
        for n, one in enumerate(results):
            _bands(
                axis, n, len(results), [one.table[risk][name] for risk in names], f"{one.policy}, {one.limit}"
            )
        _scaled(axis, scale, is_share=name == "within")
        axis.set_title(head, loc="left", fontsize=11, fontweight="bold")
        axis.set_ylabel(unit)
        axis.set_xticks(range(len(names)), names)
        axis.grid(axis="y", color="#dddddd", linewidth=0.7)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"What if: {title}", x=0.01, ha="left", fontsize=12)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(3, len(results)), frameon=False, fontsize=9,
        title="band: bounds, line: the middle draw" if has_bounds(results) else None,
    )  # fmt: skip
    figure.savefig(path)


def has_bounds(results: Sequence[PlayedTruth]) -> bool:
    """False of a world whose truth is known: there the line is all there is."""
    every = (one for scene in results for row in scene.table.values() for one in row.values())
    return any(one.is_known and one.low != one.high for one in every)


def _scaled(axis: Any, scale: str, *, is_share: bool) -> None:
    """Plain numbers on every scale, zero where it can be, and room above the highest."""
    from matplotlib.ticker import FuncFormatter, LogFormatter

    axis.use_sticky_edges = False  # a band without height would lie on the frame
    if scale != "linear":
        axis.set_yscale(scale)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axis.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))  # 6, not 6 × 10^0
        axis.margins(y=0.08)
        if scale == "symlog":
            axis.set_ylim(bottom=0)
        return
    axis.margins(y=0.08)
    axis.set_ylim(bottom=0, top=1.03 if is_share else None)


def _bands(axis: Any, n: int, of: int, bounds: Sequence[Bounds], label: str) -> None:
    width = _WIDTH / of
    colour = _COLOURS[n % len(_COLOURS)]
    places = [k - _WIDTH / 2 + (n + 0.5) * width for k in range(len(bounds))]
    known = [(place, one) for place, one in zip(places, bounds, strict=True) if one.is_known]
    low = [one.low for _, one in known]
    high = [one.high for _, one in known]
    at = [place for place, _ in known]
    axis.bar(
        at, [b - a for a, b in zip(low, high, strict=True)], bottom=low, width=width * 0.86, color=colour,
        alpha=0.35, edgecolor=colour, linewidth=1.0, label=label,
    )  # fmt: skip
    half = width * 0.43
    axis.hlines(
        [one.middle for _, one in known],
        [place - half for place in at],
        [place + half for place in at],
        color=colour,
        linewidth=2.2,
    )
