"""The truth of a living web as the what-if takes it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vedette.contracts.errors import InputError
from vedette.core.text.nearest import unknown
from vedette.core.urls.classify import Classification
from vedette.core.whatif.history import Targets, Truth, sorted_truth
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
