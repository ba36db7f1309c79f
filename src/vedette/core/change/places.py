"""Structural paths of blocks: their shape, their parents, and numbering that noise cannot shift."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

from vedette.contracts.changing import Block

_INDEX = re.compile(r"\[\d+\]|(?<=/)\d+(?=/|$)")


def shape(path: str) -> str:
    """The path without positions."""
    return _INDEX.sub("", path)


def line(block: Block) -> str:
    """What a block says.  A field ("/rates/0/value") says its name too; a paragraph does not say its path."""
    path, text = block
    return f"{shape(path)}: {text}" if path.startswith("/") else text


def lines(blocks: Iterable[Block]) -> tuple[str, ...]:
    return tuple(map(line, blocks))


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def containers(path: str) -> list[str]:
    """The path itself and all that it stands in, up to the page as a whole."""
    steps = path.split("/")
    return ["/".join(steps[:count]) for count in range(len(steps), -1, -1)]


def is_below(path: str, container: str) -> bool:
    return not container or path == container or path.startswith(container + "/")


class Below:
    """Which blocks stand below a container, without looking at the others."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._size = len(blocks)
        self._sorted = sorted([(path + "/", at) for at, (path, _) in enumerate(blocks)])
        self._edges: dict[str, tuple[int, int] | None] = {}

    def of(self, container: str) -> list[int]:
        """Their positions, in order."""
        if not container:
            return list(range(self._size))
        start = bisect_left(self._sorted, (container + "/", -1))
        end = bisect_left(self._sorted, (container + "0", -1))  # "0" follows "/"
        return sorted([at for _, at in self._sorted[start:end]])

    def edges(self, container: str) -> tuple[int, int] | None:
        """The first and the last of them.  Remembered: whole pages ask for one container."""
        if container not in self._edges:
            inside = self.of(container)
            self._edges[container] = (inside[0], inside[-1]) if inside else None
        return self._edges[container]


def common_container(paths: Sequence[str]) -> str:
    """The deepest path that is an ancestor of them all (of one alone: itself)."""
    first, last = min(paths), max(paths)
    if first == last:
        return first
    steps = []
    for one, other in zip(first.split("/"), last.split("/"), strict=False):
        if one != other:
            break
        steps.append(one)
    return "/".join(steps)


def renumbered(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Positions counted over the blocks that are there, without holes.

    Empty elements, and blocks that a mask took out, then leave no trace in the paths of the others.
    """
    known: dict[str, str] = {"": ""}
    counted: Counter[tuple[str, str]] = Counter()
    return tuple((_numbered(path, known, counted), text) for path, text in blocks)


def _numbered(path: str, known: dict[str, str], counted: Counter[tuple[str, str]]) -> str:
    if path in known:
        return known[path]
    missing: list[str] = []
    at = path
    while at not in known:
        missing.append(at)
        at = parent(at)
    for prefix in reversed(missing):
        above = known[parent(prefix)]
        step = prefix.rpartition("/")[2]
        known[prefix] = (
            f"{above}/{_step(step, above, counted)}"
            if above or prefix.startswith("/")
            else _step(step, above, counted)
        )
    return known[path]


def _step(step: str, above: str, counted: Counter[tuple[str, str]]) -> str:
    if step.isdigit():
        counted[above, "#"] += 1
        return str(counted[above, "#"] - 1)
    name = step.partition("[")[0]
    counted[above, name] += 1
    return name if counted[above, name] == 1 else f"{name}[{counted[above, name]}]"
