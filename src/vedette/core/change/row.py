"""Blocks in a row, found by their neighbours.  Every question costs the same however long the row is.

A page with a thousand gaps asks a thousand times; looking through all blocks each time took minutes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from vedette.contracts.changing import Block
from vedette.core.change.places import Below

ANCHOR = 80  # characters of a neighbour that are kept
MAX_ANCHORS = 4  # neighbours taken until the place is unique
Place = tuple[int, int]  # start and end of some blocks of the row
_Index = dict[tuple[str, ...], list[int]]


class Row:
    """An anchor is the last characters of the blocks before a place, or the first of those behind it."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self._below = Below(blocks)
        self._tails: dict[int, _Index] = {}
        self._heads: dict[int, _Index] = {}

    def ends(self, anchor: str) -> list[int]:
        """The positions right behind blocks that end with the anchor."""
        texts = tuple(anchor.split("\n")[:-1])
        size = len(texts)
        if size not in self._tails:
            self._tails[size] = _index([text[-ANCHOR:] for _, text in self.blocks], size)
        return [at + size for at in self._tails[size].get(texts, ())]

    def begins(self, anchor: str) -> list[int]:
        """The positions of blocks that begin with the anchor."""
        texts = tuple(anchor.split("\n")[1:])
        size = len(texts)
        if size not in self._heads:
            self._heads[size] = _index([text[:ANCHOR] for _, text in self.blocks], size)
        return self._heads[size].get(texts, [])

    def between(self, before: str, after: str) -> Place | None:
        """The blocks behind the first anchor and before the second; without an anchor, from the start or to the end."""
        starts = self.ends(before)[:1] if before else [0]
        if not starts:
            return None
        if not after:
            return starts[0], len(self.blocks)
        ends = self.begins(after)
        at = bisect_left(ends, starts[0])
        return (starts[0], ends[at]) if at < len(ends) else None

    def below(self, container: str) -> Place | None:
        """From the first to the last block of the container; None for the page as a whole."""
        edges = self._below.edges(container) if container else None
        return None if edges is None else (edges[0], edges[1] + 1)


def _index(texts: list[str], size: int) -> _Index:
    found: _Index = {}
    for at in range(len(texts) - size + 1):
        found.setdefault(tuple(texts[at : at + size]), []).append(at)
    return found
