"""Where hosts stand on a map of a hunt, and which names can be written there without covering anything.

Forces on arrays: links pull, everything else pushes, members of a cluster are drawn to its middle.  It begins from a
spiral in the order of the hosts and nothing is random, so the same hosts and links give the same map.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

WIDTH, HEIGHT, MARGIN = 1440.0, 900.0, 46.0
ROUNDS, APART_ROUNDS = 320, 400
GAP = 3.0  # pixels between any two nodes
_TURN = math.pi * (3.0 - math.sqrt(5.0))  # the golden angle: a spiral without rows
_GRAVITY, _CLUSTER, _LINK, _STRANGE = 0.05, 0.6, 0.9, 2.2


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def hits(self, other: Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class LabelWish(NamedTuple):
    """A name to be written beside a point, or over it."""

    node: int  # what it belongs to; a cluster has a number below 0
    x: float
    y: float
    radius: float
    width: float
    height: float


class Label(NamedTuple):
    node: int
    x: float  # its left edge
    y: float  # its middle


class _Held(NamedTuple):
    groups: np.ndarray  # the cluster of each node; 0: none
    apart: np.ndarray  # how strongly each pair is pushed apart: members of different clusters more


@dataclass(frozen=True, slots=True, eq=False)
class MapLinks:
    """Links by position, one way each, and how many nodes there are."""

    ones: np.ndarray
    others: np.ndarray
    many: int


def layout(links: MapLinks, clusters: Sequence[int], radii: np.ndarray) -> np.ndarray:
    """Middle points in pixels, rounded to a tenth.  `clusters`: of each node; 0: none.  No two nodes overlap."""
    if not links.many:
        return np.zeros((0, 2))
    groups = np.array(clusters, np.int64)
    strange = (groups[:, None] != groups[None, :]) & (groups[:, None] * groups[None, :] > 0)
    held = _Held(groups, np.where(strange, _STRANGE, 1.0))
    places, weights = _spiral(groups), _weights(links, groups)
    for turn in range(ROUNDS):
        places += _step(places, links, weights, held) * (1.0 - turn / ROUNDS) ** 1.3
    return np.round(_apart(_fitted(places, radii), radii), 1)


def labels_for(wishes: Sequence[LabelWish], nodes: Sequence[Box]) -> list[Label]:
    """Those that find room, in the order of their importance; the others are left out."""
    taken = _Grid()
    for box in nodes:
        taken.add(box)
    found: list[Label] = []
    for wish in wishes:
        for box in _around(wish):
            if box.left < 4 or box.right > WIDTH - 4 or box.top < 4 or box.bottom > HEIGHT - 4:
                continue
            if not taken.hits(box):
                taken.add(box)
                found.append(Label(wish.node, round(box.left + 2, 1), round((box.top + box.bottom) / 2, 1)))
                break
    return found


def node_box(x: float, y: float, radius: float) -> Box:
    return Box(x - radius, y - radius, x + radius, y + radius)


class _Grid:
    """Boxes by the cells that they touch."""

    SIZE = 48.0

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[Box]] = {}

    def add(self, box: Box) -> None:
        for cell in self._touched(box):
            self._cells.setdefault(cell, []).append(box)

    def hits(self, box: Box) -> bool:
        return any(box.hits(other) for cell in self._touched(box) for other in self._cells.get(cell, ()))

    def _touched(self, box: Box) -> Iterator[tuple[int, int]]:
        for x in range(int(box.left // self.SIZE), int(box.right // self.SIZE) + 1):
            for y in range(int(box.top // self.SIZE), int(box.bottom // self.SIZE) + 1):
                yield x, y


def _around(wish: LabelWish) -> Iterator[Box]:
    """Right, left, below, above, and the corners; then the same a little further out."""
    width, height = wish.width + 4, wish.height
    for further in (2, 9, 18, 30) if wish.node >= 0 else (0, 6, 12, 20, 30, 44, 60):
        out = wish.radius + further
        low = out * 0.7 + height / 2
        for dx, dy in (
            (out, 0.0), (-out - width, 0.0), (-width / 2, out + height / 2), (-width / 2, -out - height / 2),
            (out * 0.7, -low), (out * 0.7, low), (-out * 0.7 - width, -low), (-out * 0.7 - width, low),
        ):  # fmt: skip
            middle = wish.y + dy
            yield Box(wish.x + dx, middle - height / 2, wish.x + dx + width, middle + height / 2)


def _spiral(groups: np.ndarray) -> np.ndarray:
    """Clusters first and each in one stretch, so that it begins in one place; what is in none goes outside."""
    order = np.lexsort((np.arange(len(groups)), np.where(groups > 0, groups, 1 << 30)))
    turns = np.empty(len(groups))
    turns[order] = np.arange(len(groups))
    radius, angle = np.sqrt(turns + 0.5), turns * _TURN
    return np.stack((radius * np.cos(angle) * 1.3, radius * np.sin(angle)), axis=1)


def _weights(links: MapLinks, groups: np.ndarray) -> np.ndarray:
    """A link of a host with many says little; one inside a cluster says much."""
    degree = np.bincount(links.ones, minlength=links.many) + np.bincount(links.others, minlength=links.many)
    shared = (groups[links.ones] == groups[links.others]) & (groups[links.ones] > 0)
    lonely = 1.0 / np.sqrt(np.maximum(1, degree[links.ones]) * np.maximum(1, degree[links.others]))
    return np.asarray(lonely * np.where(shared, 4.0, 1.0))


def _step(places: np.ndarray, links: MapLinks, weights: np.ndarray, held: _Held) -> np.ndarray:
    """One move of all nodes, at most one unit far."""
    along, down = (places[:, axis, None] - places[None, :, axis] for axis in (0, 1))
    push = held.apart / (along * along + down * down + 0.05)
    move = np.stack(((along * push).sum(axis=1), (down * push).sum(axis=1)), axis=1)
    pull = (places[links.others] - places[links.ones]) * (_LINK * weights)[:, None]
    for axis in (0, 1):
        move[:, axis] += np.bincount(links.ones, pull[:, axis], links.many)
        move[:, axis] -= np.bincount(links.others, pull[:, axis], links.many)
    move -= places * _GRAVITY
    move += _to_middles(places, held.groups)
    length = np.sqrt((move**2).sum(axis=1)) + 1e-9
    return np.asarray(move * (np.minimum(length, 1.0) / length)[:, None])


def _to_middles(places: np.ndarray, groups: np.ndarray) -> np.ndarray:
    counts = np.maximum(1, np.bincount(groups))
    middles = np.stack([np.bincount(groups, places[:, axis]) / counts for axis in (0, 1)], axis=1)
    drawn = (middles[groups] - places) * _CLUSTER * (1.0 + np.sqrt(counts[groups]))[:, None]
    return np.asarray(np.where((groups > 0)[:, None], drawn, 0.0))


def _fitted(places: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Into the sheet; both directions by themselves, so that it is filled.  Far ones come nearer."""
    middle = np.median(places, axis=0)
    away = places - middle
    reach = np.maximum(np.quantile(np.abs(away), 0.97, axis=0), 1e-6)
    bent = np.tanh(away / reach * 0.9) / math.tanh(1.25)
    room = np.array([WIDTH / 2 - MARGIN, HEIGHT / 2 - MARGIN]) - radii.max(initial=0.0)
    return np.asarray(np.array([WIDTH / 2, HEIGHT / 2]) + np.clip(bent, -1.0, 1.0) * room)


def _apart(places: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Pushes nodes off each other until none overlaps, as long as there is room."""
    found = places.copy()
    least = math.sqrt(2.0) * (radii[:, None] + radii[None, :]) + GAP  # not even the squares around them touch
    np.fill_diagonal(least, 0.0)
    low = radii + MARGIN / 2
    high = np.array([WIDTH, HEIGHT]) - low[:, None]
    angle = np.arange(len(found)) * _TURN  # two that stand on one point part, each along a way of its own
    for _ in range(APART_ROUNDS):
        along, down = (found[:, axis, None] - found[None, :, axis] for axis in (0, 1))
        far = np.sqrt(along * along + down * down)
        short = np.maximum(least - far, 0.0)
        if not short.any():
            break
        by = short * 0.55 / np.maximum(far, 1e-6)
        found[:, 0] += np.where(far > 1e-6, along * by, np.cos(angle)[:, None] * short).sum(axis=1)
        found[:, 1] += np.where(far > 1e-6, down * by, np.sin(angle)[:, None] * short).sum(axis=1)
        found = np.minimum(np.maximum(found, low[:, None]), high)
    return found
