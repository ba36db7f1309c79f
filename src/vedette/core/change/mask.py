"""What is noise on this target?  Learned from two looks seconds apart, never from a list of patterns.

Everything that differs between such looks is noise: spans inside a block (holes), whole blocks
(gaps), the order of siblings.  `apply` puts tokens in their place, in this order: gaps, then holes by
path, then order.  Paths are counted without what gaps took out, so a banner that comes and goes does
not shift the rest.  A place whose kind changes, or whose surroundings changed, is left visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import xxhash

from vedette.contracts.changing import Block, Mask, MaskRegion
from vedette.contracts.words import Reason
from vedette.core.change.align import runs
from vedette.core.change.gaps import (
    MAX_REGIONS,
    collapse,
    is_gap,
    is_order,
    learn_gaps,
    learn_orders,
    put_in_order,
)
from vedette.core.change.holes import fill, hides, learn_holes, values
from vedette.core.change.kinds import ANY, NUMBER, OPTIONAL, QUIET, TOKEN, WORDS, accepts, kind_of
from vedette.core.change.normalise import normalised
from vedette.core.change.places import containers, lines, renumbered, shape

Blocks = Sequence[Block]
MAX_SHARE = 0.6  # of the text that whole-block masks may cover
REDRAWN = 0.3  # a block that keeps fewer of its words was not edited
MAX_TRIES = 20_000  # texts in which carried holes are looked for


@dataclass(frozen=True, slots=True)
class Learned:
    """A mask, how much of the page it covers, and what the learner had to leave out."""

    mask: Mask
    share: float = 0.0
    reasons: tuple[Reason, ...] = ()


def learn(first: Blocks, second: Blocks, mask: Mask = ()) -> Learned:
    """The mask under which two looks seconds apart say the same."""
    reasons: list[Reason] = []
    orders = _new(mask, learn_orders(_masked(first, mask), _masked(second, mask)))
    known = (*mask, *orders)
    gaps = _new(mask, learn_gaps(_sorted(first, known), _sorted(second, known)))
    share = _covered(first, second, (*mask, *gaps))
    if gaps and share > MAX_SHARE:
        reasons.append(Reason("mask_narrowed", share, "whole containers would cover too much of the page"))
        gaps = ()
    known = (*known, *gaps)
    known = _with_holes(first, second, known)
    if len(known) > MAX_REGIONS:
        reasons.append(Reason("mask_full", len(known), f"kept the first {MAX_REGIONS} regions"))
        known = known[:MAX_REGIONS]
    return Learned(_counted(known, mask), _covered(first, second, known), tuple(reasons))


def apply(blocks: Blocks, mask: Mask) -> tuple[Block, ...]:
    """The blocks as they are compared: normalised, noise replaced by tokens, shuffled siblings sorted."""
    return _sorted(blocks, mask)


def masked_key(blocks: Blocks, mask: Mask) -> int:
    """One number for what the target says once its noise is taken out."""
    return xxhash.xxh3_64_intdigest("\n".join(lines(apply(blocks, mask))).encode("utf-8", "replace")) >> 1


def carry(mask: Mask, before: Blocks, after: Blocks) -> Mask:
    """The mask moved along with the blocks it belongs to, when real content came or went around them.

    A place that could be in more than one block now is dropped, and with it the word that the noise of this
    target is known: better a second look than a mask on the wrong paragraph.
    """
    holes = _holes(mask)
    if not holes:
        return mask
    moved = _moves(_gapless(before, mask), _gapless(after, mask), holes)
    kept = [
        replace(r, path=moved[r.path]) if is_hole(r) else r for r in mask if not is_hole(r) or r.path in moved
    ]
    is_sure = len(kept) == len(mask)
    return tuple(r for r in kept if is_sure or r.kind != QUIET)


def widen(mask: Mask, blocks: Blocks) -> Mask:
    """The mask with kinds that also take what an earlier state showed: a token may be all digits for a while.

    Only among numbers, tokens and single words of about one length; a word that became a counter is news.
    """
    texts = dict(_gapless(blocks, mask))
    wider: dict[MaskRegion, MaskRegion] = {}
    for path, regions in _holes(mask).items():
        shown = values(texts[path], regions) if path in texts else [None] * len(regions)
        wider.update(zip(regions, map(_widened, regions, shown), strict=True))
    return tuple(wider.get(region, region) for region in mask)


def relaxed(mask: Mask) -> Mask:
    """The blocks that are known to hold noise, as a whole and whatever they show."""
    gaps = [replace(r, kind=ANY) if is_gap(r) else r for r in mask if not is_hole(r)]
    return (*gaps, *(MaskRegion(path, kind=ANY) for path in _holes(mask)))


def redrawn(mask: Mask, before: Blocks, after: Blocks) -> Mask:
    """The mask with whole blocks where prose is noise and the block before had hardly a word of the one after.

    Such a block is drawn anew on every look, from texts of which two may share their form.  A sentence that holds
    noise and was edited keeps most of its words, and still shows.
    """
    old, new = dict(before), dict(after)
    prose = {r.path for r in mask if is_hole(r) and r.kind.startswith(WORDS)}
    wide = [path for path in sorted(prose) if _shared_words(old.get(path, ""), new.get(path, "")) < REDRAWN]
    if not wide:
        return mask
    return (*(r for r in mask if r.path not in wide), *(MaskRegion(path, kind=ANY) for path in wide))


def _shared_words(one: str, other: str) -> float:
    mine, theirs = set(one.lower().split()), set(other.lower().split())
    return len(mine & theirs) / max(1, min(len(mine), len(theirs)))


def is_hole(region: MaskRegion) -> bool:
    return not is_gap(region) and not is_order(region) and region.kind != QUIET


def _widened(region: MaskRegion, shown: str | None) -> MaskRegion:
    if not shown or accepts(region.kind, shown):
        return region
    kinds = {region.kind.rstrip(OPTIONAL), kind_of(shown)}
    is_alike = " " not in shown.strip() and kinds <= {NUMBER, TOKEN, WORDS}
    return replace(region, kind=TOKEN) if is_alike else region


def _masked(blocks: Blocks, mask: Mask) -> tuple[Block, ...]:
    """Gaps collapsed, holes filled."""
    holes = _holes(mask)
    return tuple(
        (path, fill(text, holes[path]) if path in holes else text) for path, text in _gapless(blocks, mask)
    )


def _sorted(blocks: Blocks, mask: Mask) -> tuple[Block, ...]:
    return put_in_order(_masked(blocks, mask), [region for region in mask if is_order(region)])


def _gapless(blocks: Blocks, mask: Mask) -> tuple[Block, ...]:
    whole = renumbered(normalised(blocks))
    gaps = [region for region in mask if is_gap(region)]
    return renumbered(collapse(whole, gaps)) if gaps else whole


def _holes(mask: Mask) -> dict[str, list[MaskRegion]]:
    holes: dict[str, list[MaskRegion]] = {}
    for region in mask:
        if is_hole(region):
            holes.setdefault(region.path, []).append(region)
    return holes


def _new(mask: Mask, found: tuple[MaskRegion, ...]) -> tuple[MaskRegion, ...]:
    known = {(region.path, region.before, region.after, region.kind) for region in mask}
    return tuple(r for r in found if (r.path, r.before, r.after, r.kind) not in known)


def _with_holes(first: Blocks, second: Blocks, mask: Mask) -> Mask:
    """Adds the spans by which blocks of one path still differ; a path is learned anew as a whole."""
    one, other = dict(_masked(first, mask)), dict(_masked(second, mask))
    shuffled = {region.path.removesuffix("/*") for region in mask if is_order(region)}
    found: dict[str, tuple[MaskRegion, ...]] = {}
    for path, text in one.items():
        differs = path in other and other[path] != text
        if differs and shuffled.isdisjoint(containers(path)):
            found[path] = learn_holes(path, text, other[path])
        if len(found) > MAX_REGIONS:
            break
    kept = tuple(region for region in mask if region.path not in found)
    return kept + tuple(region for regions in found.values() for region in regions)


def _counted(mask: Mask, earlier: Mask) -> Mask:
    """How many looks have shown each region."""
    seen = {(region.path, region.kind): region.seen for region in earlier}
    return tuple(replace(r, seen=seen.get((r.path, r.kind), r.seen - 1) + 1) for r in mask)


def _covered(first: Blocks, second: Blocks, mask: Mask) -> float:
    """The share of the text that the mask hides, in the look where it hides more."""
    shares = []
    for blocks in (first, second):
        total = sum(len(text) for _, text in normalised(blocks))
        left = sum(len(text) for _, text in _masked(blocks, mask))
        shares.append(max(0.0, 1.0 - left / total) if total else 0.0)
    return max(shares)


def _moves(old: Blocks, new: Blocks, holes: dict[str, list[MaskRegion]]) -> dict[str, str]:
    """Where the block of every hole is now; without those that cannot be told."""
    moved: dict[str, str] = {}
    keys = [[(shape(path), text) for path, text in blocks] for blocks in (old, new)]
    at = offset = 0
    for i1, i2, j1, j2 in (*runs(*keys), (len(old), len(old), len(new), len(new))):
        moved.update({old[at + k][0]: new[offset + k][0] for k in range(i1 - at)})
        moved.update(_found_again(old[i1:i2], new[j1:j2], holes))
        at, offset = i2, j2
    shown = {path for path, _ in old}
    gone = {path for path in holes if path not in shown}  # nothing there now: keep it for its return
    return {path: moved.get(path, path) for path in holes if path in moved or path in gone}


def _found_again(old: Blocks, new: Blocks, holes: dict[str, list[MaskRegion]]) -> dict[str, str]:
    if [shape(path) for path, _ in old] == [shape(path) for path, _ in new]:
        return {path: there for (path, _), (there, _) in zip(old, new, strict=True) if path in holes}
    alike: dict[str, list[Block]] = {}
    for block in new:
        alike.setdefault(shape(block[0]), []).append(block)
    found: dict[str, str] = {}
    tries = MAX_TRIES
    for path in [path for path, _ in old if path in holes]:
        texts = alike.get(shape(path), [])
        tries -= len(texts)
        there = [p for p, text in texts if hides(text, holes[path])] if tries >= 0 else []
        if len(there) == 1:
            found[path] = there[0]
    return found
