"""Noise made of whole blocks: banners of any size, optional blocks, shuffled siblings.

A gap is what stands between two stable neighbours, however much that is on a day; a container whose
whole content is noise is a gap without neighbours.  Shuffled siblings lose nothing: they are sorted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from vedette.contracts.changing import Block, MaskRegion
from vedette.core.change.align import Run, runs
from vedette.core.change.holes import learn_holes, token
from vedette.core.change.kinds import ANY, ATOMS, ORDER, WORDS, accepts, kind_of
from vedette.core.change.places import Below, common_container, is_below, parent, shape
from vedette.core.change.row import ANCHOR, MAX_ANCHORS, Place, Row

Blocks = Sequence[Block]
EVERYTHING = "/*"
GAP = "gap*"  # the path of a token that stands for whole blocks: under no container, so it shifts nothing
MAX_REGIONS = 300  # of a mask; whoever has more of it is not a page with noise but noise
_ALL_WORDS = (MaskRegion("", kind=WORDS),)


def is_gap(region: MaskRegion) -> bool:
    return region.path.endswith(EVERYTHING) and region.kind != ORDER


def is_order(region: MaskRegion) -> bool:
    return region.kind == ORDER


def learn_orders(first: Blocks, second: Blocks) -> tuple[MaskRegion, ...]:
    """Containers that hold the same texts in another order."""
    found: dict[str, MaskRegion] = {}
    siblings = _Siblings(first, second)
    for run in runs(siblings.first, siblings.second):
        touched = [path for path, _ in (*first[run[0] : run[1]], *second[run[2] : run[3]])]
        container = common_container(touched)
        while container and not siblings.are_shuffled(container):
            container = parent(container)
        if siblings.are_shuffled(container):
            found.setdefault(container, MaskRegion(container + EVERYTHING, kind=ORDER))
        if len(found) == MAX_REGIONS:
            break
    return tuple(found.values())


def learn_gaps(first: Blocks, second: Blocks) -> tuple[MaskRegion, ...]:
    """Places where the number or nature of the blocks differs, and containers that are noise throughout."""
    found: dict[MaskRegion, None] = {}
    looks = _Looks(first, second)
    for run in runs(_keys(first), _keys(second)):
        one, other = first[run[0] : run[1]], second[run[2] : run[3]]
        if [shape(path) for path, _ in one] != [shape(path) for path, _ in other]:
            found[looks.gap(run)] = None
        else:
            found.update(dict.fromkeys(looks.prose_containers(run)))
        if len(found) >= MAX_REGIONS:
            break
    return tuple(found)


def collapse(blocks: Blocks, regions: Sequence[MaskRegion]) -> tuple[Block, ...]:
    """The blocks with every gap replaced by one token, unless it shows something of another kind.

    Places are looked for in rounds: the neighbour of a gap may be the token of another.
    """
    kept, waiting = tuple(blocks), list(regions)
    by_neighbours = True
    while waiting:
        row = Row(kept)
        taken, left = _placed(row, waiting, by_neighbours=by_neighbours)
        kept = _replaced(kept, taken)
        if not by_neighbours:
            break
        by_neighbours = len(left) < len(waiting)
        waiting = left
    return kept


def put_in_order(blocks: Blocks, regions: Sequence[MaskRegion]) -> tuple[Block, ...]:
    """The children of shuffled containers, sorted by what they say."""
    kept = list(blocks)
    below, done = Below(kept), list[str]()
    for region in regions:
        container = region.path.removesuffix(EVERYTHING)
        if any(is_below(container, above) for above in done):
            below, done = Below(kept), []  # what is inside went elsewhere
        inside = below.of(container)
        if inside and len(inside) == inside[-1] - inside[0] + 1:
            start, end = inside[0], inside[-1] + 1
            kept[start:end] = _sorted_children(kept[start:end], container)
            done.append(container)
    return tuple(kept)


class _Siblings:
    """Do two looks hold the same texts below a container, in another order?  Asked once of each."""

    def __init__(self, first: Blocks, second: Blocks) -> None:
        self.first, self.second = _keys(first), _keys(second)
        self._below = Below(first), Below(second)
        self._known: dict[str, bool] = {}

    def are_shuffled(self, container: str) -> bool:
        if container not in self._known:
            one = [self.first[at] for at in self._below[0].of(container)]
            other = [self.second[at] for at in self._below[1].of(container)]
            self._known[container] = len(one) > 1 and one != other and Counter(one) == Counter(other)
        return self._known[container]


def _placed(
    row: Row, regions: Sequence[MaskRegion], *, by_neighbours: bool
) -> tuple[list[tuple[Place, str]], list[MaskRegion]]:
    """Tokens for the gaps that are found now, in order; and the regions that are not, or lie over one that is."""
    taken: list[tuple[Place, str]] = []
    left: list[MaskRegion] = []
    for region in regions:
        container = region.path.removesuffix(EVERYTHING)
        place = row.between(region.before, region.after) if by_neighbours else row.below(container)
        at = bisect_left(taken, (place, "")) if place is not None else 0
        if place is None or _overlaps(taken[max(0, at - 1) : at + 1], place):
            left.append(region)
        elif all(accepts(region.kind, text) for _, text in row.blocks[place[0] : place[1]]):
            taken.insert(at, (place, token(region.kind)))
    return taken, left


def _overlaps(taken: list[tuple[Place, str]], place: Place) -> bool:
    return any((place[0] < end and start < place[1]) or place == (start, end) for (start, end), _ in taken)


def _replaced(blocks: tuple[Block, ...], taken: list[tuple[Place, str]]) -> tuple[Block, ...]:
    out: list[Block] = []
    at = 0
    for (start, end), words in taken:
        out += blocks[at:start]
        out.append((GAP, words))
        at = end
    return (*out, *blocks[at:])


def _keys(blocks: Blocks) -> list[tuple[str, str]]:
    return [(shape(path), text) for path, text in blocks]


def _sorted_children(blocks: list[Block], container: str) -> list[Block]:
    depth = len(container) + 1 if container else 0
    if container == "" and blocks and blocks[0][0].startswith("/"):
        depth = 1
    groups = [list(group) for _, group in groupby(blocks, lambda block: block[0][depth:].partition("/")[0])]
    groups.sort(key=lambda group: [(shape(path), text) for path, text in group])
    return [block for group in groups for block in group]


class _Looks:
    """Two looks seconds apart, and what of them is a gap."""

    def __init__(self, first: Blocks, second: Blocks) -> None:
        self.first, self.second = Row(first), Row(second)

    def gap(self, run: Run) -> MaskRegion:
        i1, i2, j1, j2 = run
        inside = (*self.first.blocks[i1:i2], *self.second.blocks[j1:j2])
        touched = [path for path, _ in inside]
        container = common_container(touched)
        container = parent(container) if len({*touched}) == 1 else container
        return MaskRegion(
            container + EVERYTHING,
            before=self._anchor_before(i1, j1),
            after=self._anchor_after(i2, j2),
            kind=_kind_of_all(inside),
        )

    def prose_containers(self, run: Run) -> list[MaskRegion]:
        """Containers that show nothing but changing prose: how much of it is chance, so any amount is noise."""
        found = []
        i1, i2, j1, _ = run
        one, other = self.first.blocks, self.second.blocks
        for _, group in groupby(range(i1, i2), lambda at: parent(one[at][0])):
            at = list(group)
            part = (at[0], at[-1] + 1, j1 + at[0] - i1, j1 + at[-1] + 1 - i1)
            if self._is_all_noise(part) and _is_prose(one[part[0] : part[1]], other[part[2] : part[3]]):
                found.append(self.gap(part))
        return found

    def _is_all_noise(self, run: Run) -> bool:
        """Does the container hold nothing but the run, in both looks?"""
        for row, start, end in ((self.first, run[0], run[1]), (self.second, run[2], run[3])):
            place = row.below(parent(row.blocks[start][0]))
            if place is None or place[0] < start or place[1] > end:
                return False
        return True

    def _anchor_before(self, i: int, j: int) -> str:
        """The end of the text before the gap, as many neighbours as make it unique."""
        for count in range(1, MAX_ANCHORS + 1):
            taken = [text[-ANCHOR:] for _, text in self.first.blocks[max(0, i - count) : i]]
            anchor = "".join(text + "\n" for text in taken)
            if not anchor or (self.first.ends(anchor) == [i] and self.second.ends(anchor) == [j]):
                return anchor
        return anchor

    def _anchor_after(self, i: int, j: int) -> str:
        for count in range(1, MAX_ANCHORS + 1):
            taken = [text[:ANCHOR] for _, text in self.first.blocks[i : i + count]]
            anchor = "".join("\n" + text for text in taken)
            if not anchor or (self.first.begins(anchor) == [i] and self.second.begins(anchor) == [j]):
                return anchor
        return anchor


def _is_prose(one: Blocks, other: Blocks) -> bool:
    """Do all blocks differ from end to end, as words?"""
    return all(learn_holes("", a, b) == _ALL_WORDS for (_, a), (_, b) in zip(one, other, strict=True))


def _kind_of_all(blocks: Blocks) -> str:
    """One kind for whole blocks: what they share, or words; numbers among words do not make them numbers."""
    kinds = {kind_of(text) for _, text in blocks}
    return kinds.pop() if len(kinds) == 1 else ANY if kinds & ATOMS else WORDS
