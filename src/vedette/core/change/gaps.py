"""Noise made of whole blocks: banners of any size, optional blocks, shuffled siblings.

A gap is what stands between two stable neighbours, however much that is on a day; a container whose
whole content is noise is a gap without neighbours.  Shuffled siblings lose nothing: they are sorted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from vedette.contracts.changing import Block, MaskRegion
from vedette.core.change.align import Run, runs
from vedette.core.change.holes import learn_holes, token
from vedette.core.change.kinds import ANY, ATOMS, ORDER, WORDS, accepts, kind_of
from vedette.core.change.places import common_container, is_below, parent, shape

Blocks = Sequence[Block]
EVERYTHING = "/*"
GAP = "gap*"  # the path of a token that stands for whole blocks: under no container, so it shifts nothing
ANCHOR = 80  # characters of a neighbour that are kept
MAX_ANCHORS = 4  # neighbours taken until the place is unique
_ALL_WORDS = (MaskRegion("", kind=WORDS),)


def is_gap(region: MaskRegion) -> bool:
    return region.path.endswith(EVERYTHING) and region.kind != ORDER


def is_order(region: MaskRegion) -> bool:
    return region.kind == ORDER


def learn_orders(first: Blocks, second: Blocks) -> tuple[MaskRegion, ...]:
    """Containers that hold the same texts in another order."""
    found: dict[str, MaskRegion] = {}
    for run in runs(_keys(first), _keys(second)):
        touched = [path for path, _ in (*first[run[0] : run[1]], *second[run[2] : run[3]])]
        container = common_container(touched)
        while not _is_shuffled(container, first, second):
            if not container:
                break
            container = parent(container)
        else:
            found.setdefault(container, MaskRegion(container + EVERYTHING, kind=ORDER))
    return tuple(found.values())


def learn_gaps(first: Blocks, second: Blocks) -> tuple[MaskRegion, ...]:
    """Places where the number or nature of the blocks differs, and containers that are noise throughout."""
    found: list[MaskRegion] = []
    for run in runs(_keys(first), _keys(second)):
        one, other = first[run[0] : run[1]], second[run[2] : run[3]]
        if [shape(path) for path, _ in one] != [shape(path) for path, _ in other]:
            found.append(_gap(first, second, run))
        else:
            found += _prose_containers(first, second, run)
    return tuple(dict.fromkeys(found))


def collapse(blocks: Blocks, regions: Sequence[MaskRegion]) -> tuple[Block, ...]:
    """The blocks with every gap replaced by one token, unless it shows something of another kind."""
    kept = tuple(blocks)
    for region in regions:
        place = _place(kept, region)
        if place is not None and all(accepts(region.kind, text) for _, text in kept[place[0] : place[1]]):
            start, end = place
            kept = (*kept[:start], (GAP, token(region.kind)), *kept[end:])
    return kept


def put_in_order(blocks: Blocks, regions: Sequence[MaskRegion]) -> tuple[Block, ...]:
    """The children of shuffled containers, sorted by what they say."""
    kept = list(blocks)
    for region in regions:
        container = region.path.removesuffix(EVERYTHING)
        inside = [at for at, (path, _) in enumerate(kept) if is_below(path, container)]
        if len(inside) != (inside[-1] - inside[0] + 1 if inside else 0):
            continue
        start, end = (inside[0], inside[-1] + 1) if inside else (0, 0)
        kept[start:end] = _sorted_children(kept[start:end], container)
    return tuple(kept)


def _keys(blocks: Blocks) -> list[tuple[str, str]]:
    return [(shape(path), text) for path, text in blocks]


def _is_shuffled(container: str, first: Blocks, second: Blocks) -> bool:
    one = [(shape(path), text) for path, text in first if is_below(path, container)]
    other = [(shape(path), text) for path, text in second if is_below(path, container)]
    return len(one) > 1 and one != other and Counter(one) == Counter(other)


def _sorted_children(blocks: list[Block], container: str) -> list[Block]:
    depth = len(container) + 1 if container else 0
    if container == "" and blocks and blocks[0][0].startswith("/"):
        depth = 1
    groups = [list(group) for _, group in groupby(blocks, lambda block: block[0][depth:].partition("/")[0])]
    groups.sort(key=lambda group: [(shape(path), text) for path, text in group])
    return [block for group in groups for block in group]


def _gap(first: Blocks, second: Blocks, run: Run) -> MaskRegion:
    i1, i2, j1, j2 = run
    inside = (*first[i1:i2], *second[j1:j2])
    touched = [path for path, _ in inside]
    container = common_container(touched)
    container = parent(container) if len({*touched}) == 1 else container
    return MaskRegion(
        container + EVERYTHING,
        before=_anchor_before(first, second, i1, j1),
        after=_anchor_after(first, second, i2, j2),
        kind=_kind_of_all(inside),
    )


def _prose_containers(first: Blocks, second: Blocks, run: Run) -> list[MaskRegion]:
    """Containers that show nothing but changing prose: how much of it is chance, so any amount is noise."""
    found = []
    i1, i2, j1, _ = run
    for _, group in groupby(range(i1, i2), lambda at: parent(first[at][0])):
        at = list(group)
        part = (at[0], at[-1] + 1, j1 + at[0] - i1, j1 + at[-1] + 1 - i1)
        if _is_prose(first[part[0] : part[1]], second[part[2] : part[3]]) and _is_all_noise(
            first, second, part
        ):
            found.append(_gap(first, second, part))
    return found


def _is_prose(one: Blocks, other: Blocks) -> bool:
    """Do all blocks differ from end to end, as words?"""
    return all(learn_holes("", a, b) == _ALL_WORDS for (_, a), (_, b) in zip(one, other, strict=True))


def _kind_of_all(blocks: Blocks) -> str:
    """One kind for whole blocks: what they share, or words; numbers among words do not make them numbers."""
    kinds = {kind_of(text) for _, text in blocks}
    return kinds.pop() if len(kinds) == 1 else ANY if kinds & ATOMS else WORDS


def _is_all_noise(first: Blocks, second: Blocks, run: Run) -> bool:
    """Does the container hold nothing but the run, in both looks?"""
    for blocks, start, end in ((first, run[0], run[1]), (second, run[2], run[3])):
        container = parent(blocks[start][0])
        inside = [at for at, (path, _) in enumerate(blocks) if is_below(path, container)]
        if not container or inside[0] < start or inside[-1] >= end:
            return False
    return True


def _anchor_before(first: Blocks, second: Blocks, i: int, j: int) -> str:
    """The end of the text before the gap, as many neighbours as make it unique."""
    for count in range(1, MAX_ANCHORS + 1):
        taken = [text[-ANCHOR:] for _, text in first[max(0, i - count) : i]]
        anchor = "".join(text + "\n" for text in taken)
        if not anchor or (_ends(first, anchor) == [i] and _ends(second, anchor) == [j]):
            return anchor
    return anchor


def _anchor_after(first: Blocks, second: Blocks, i: int, j: int) -> str:
    for count in range(1, MAX_ANCHORS + 1):
        taken = [text[:ANCHOR] for _, text in first[i : i + count]]
        anchor = "".join("\n" + text for text in taken)
        if not anchor or (_begins(first, anchor, 0) == i and _begins(second, anchor, 0) == j):
            return anchor
    return anchor


def _ends(blocks: Blocks, anchor: str) -> list[int]:
    """The positions right behind blocks that end with the anchor."""
    texts = anchor.split("\n")[:-1]
    size = len(texts)
    return [
        at + size
        for at in range(len(blocks) - size + 1)
        if all(blocks[at + k][1].endswith(texts[k]) for k in range(size))
    ]


def _begins(blocks: Blocks, anchor: str, start: int) -> int | None:
    texts = anchor.split("\n")[1:]
    size = len(texts)
    for at in range(start, len(blocks) - size + 1):
        if all(blocks[at + k][1].startswith(texts[k]) for k in range(size)):
            return at
    return None


def _place(blocks: Blocks, region: MaskRegion) -> tuple[int, int] | None:
    """Which blocks the region covers now: those between its neighbours, else those of its container."""
    starts = _ends(blocks, region.before) if region.before else [0]
    for start in starts[:1]:
        end = _begins(blocks, region.after, start) if region.after else len(blocks)
        if end is not None:
            return start, end
    container = region.path.removesuffix(EVERYTHING)
    inside = [at for at, (path, _) in enumerate(blocks) if container and is_below(path, container)]
    return (inside[0], inside[-1] + 1) if inside else None
