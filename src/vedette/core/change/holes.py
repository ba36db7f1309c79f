"""Noise inside one block: learned from two texts of it, found again in a third.

A hole is the place between two stable pieces of text.  The pieces are kept as context, so that the
hole is found wherever its surroundings are; when they changed, nothing is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vedette.contracts.changing import MaskRegion
from vedette.core.change.align import runs
from vedette.core.change.kinds import ATOMS, OPTIONAL, TOKEN, WORDS, accepts, joined, kind_of, units

OPEN, CLOSE = "⟨", "⟩"
CONTEXT = 24  # characters of context at least, where there are as many
NEAR = 10  # characters that still tell the place
MANY_UNITS = 4000  # beyond this a block is compared as prefix, middle and suffix only
MANY_WORDS = 100  # units of prose that stay prose, whatever more is found to belong to them
FEW_WORDS = 4  # fewer than these stable words between two holes of prose that are there by accident
EDGES = frozenset(":=()[]{}\"'„“”#/?&,;|<>\n\t ")  # a token ends here
_TOKEN = re.compile(f"{OPEN}[a-z]+[?]?{CLOSE}")
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class _Hole:
    a1: int  # units of the first text
    a2: int
    b1: int  # units of the second
    b2: int
    kind: str


def token(kind: str) -> str:
    """What stands in the place of noise."""
    return f"{OPEN}{kind.rstrip(OPTIONAL)}{CLOSE}"


def learn_holes(path: str, first: str, second: str) -> tuple[MaskRegion, ...]:
    """The places where two texts of one block differ.  Tokens of an earlier mask stay holes."""
    a, b = _units(first), _units(second)
    found = _differing(a, b)
    if not found:
        return ()
    found = _merged(_grown(found, a, b), a, b)
    found = _merged(_absorbed(found, a, b), a, b)
    return tuple(_regions(path, found, a))


def fill(text: str, regions: Sequence[MaskRegion]) -> str:
    """The text with its noise replaced by tokens.  What is not found, or has another kind, stays visible."""
    out, cursor = [], 0
    for region in regions:
        place = _find(text, region, cursor)
        if place is None:
            continue
        start, end = place
        is_noise = accepts(region.kind, text[start:end])
        out += [text[cursor:start], token(region.kind) if is_noise else text[start:end]]
        cursor = end
    return "".join(out) + text[cursor:]


def values(text: str, regions: Sequence[MaskRegion]) -> list[str | None]:
    """What stands in each hole now; None where its surroundings are not found."""
    found: list[str | None] = []
    cursor = 0
    for region in regions:
        place = _find(text, region, cursor)
        found.append(text[place[0] : place[1]] if place is not None else None)
        cursor = place[1] if place is not None else cursor
    return found


def hides(text: str, regions: Sequence[MaskRegion]) -> bool:
    """Is every one of the regions found in this text?"""
    return fill(text, regions).count(OPEN) >= len(regions)


def _units(text: str) -> list[str]:
    """Units, with tokens of an earlier mask kept whole."""
    if OPEN not in text:
        return units(text)
    out: list[str] = []
    at = 0
    for match in _TOKEN.finditer(text):
        out += [*units(text[at : match.start()]), match.group(0)]
        at = match.end()
    return out + units(text[at:])


def _differing(a: list[str], b: list[str]) -> list[_Hole]:
    differing = _hull(runs(a, b)) if len(a) + len(b) > MANY_UNITS else runs(a, b)
    found = [_rekind(_Hole(a1, a2, b1, b2, ""), a, b) for a1, a2, b1, b2 in differing]
    kept = [at for at, unit in enumerate(a) if _TOKEN.fullmatch(unit) and not _covers(found, at)]
    moved = {at: _shift(found, at) for at in kept}
    found += [_Hole(at, at + 1, at + moved[at], at + 1 + moved[at], a[at][1:-1]) for at in kept]
    return sorted(found, key=lambda hole: (hole.a1, hole.b1))


def _covers(found: list[_Hole], at: int) -> bool:
    return any(hole.a1 <= at < hole.a2 for hole in found)


def _shift(found: list[_Hole], at: int) -> int:
    """How far the second text is ahead of the first at a unit that both have."""
    passed = [hole for hole in found if hole.a2 <= at]
    return passed[-1].b2 - passed[-1].a2 if passed else 0


def _hull(differing: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    if not differing:
        return []
    first, last = differing[0], differing[-1]
    return [(first[0], last[1], first[2], last[3])]


def _rekind(hole: _Hole, a: list[str], b: list[str]) -> _Hole:
    hole.kind = joined(_shown("".join(a[hole.a1 : hole.a2])), _shown("".join(b[hole.b1 : hole.b2])))
    return hole


def _shown(text: str) -> str:
    """The kind of a text, or the kind that a token of an earlier mask stands for."""
    if _TOKEN.fullmatch(text):
        return text[1:-1]
    return WORDS if OPEN in text else kind_of(text)


def _grown(found: list[_Hole], a: list[str], b: list[str]) -> list[_Hole]:
    """A token or word grows to the ends of its run of characters: what is equal inside it is chance."""
    for hole in found:
        if hole.kind.rstrip(OPTIONAL) not in (TOKEN, WORDS) or _TOKEN.fullmatch(
            "".join(a[hole.a1 : hole.a2])
        ):
            continue
        while hole.a1 and hole.b1 and _is_inner(a[hole.a1 - 1]) and a[hole.a1 - 1] == b[hole.b1 - 1]:
            hole.a1 -= 1
            hole.b1 -= 1
        while hole.a2 < len(a) and hole.b2 < len(b) and _is_inner(a[hole.a2]) and a[hole.a2] == b[hole.b2]:
            hole.a2 += 1
            hole.b2 += 1
    return found


def _is_inner(unit: str) -> bool:
    return not any(char in EDGES for char in unit) and OPEN not in unit and unit not in (".", "!", "…")


def _merged(found: list[_Hole], a: list[str], b: list[str]) -> list[_Hole]:
    merged: list[_Hole] = []
    for hole in found:
        if merged and _is_accident(merged[-1], hole, a):
            last = merged[-1]
            last.a2, last.b2 = max(last.a2, hole.a2), max(last.b2, hole.b2)
            if last.kind != WORDS or min(last.a2 - last.a1, last.b2 - last.b1) < MANY_WORDS:
                _rekind(last, a, b)
        else:
            merged.append(hole)
    return merged


def _is_accident(left: _Hole, right: _Hole, a: list[str]) -> bool:
    """Is the stable text between two holes there by chance?"""
    between = "".join(a[left.a2 : right.a1])
    if left.a2 >= right.a1:
        return True
    kinds = {hole.kind.rstrip(OPTIONAL) for hole in (left, right)}
    if kinds <= ATOMS:
        return kinds == {TOKEN} and " " not in between
    return len(_WORD.findall(between)) < FEW_WORDS and ":" not in between


def _absorbed(found: list[_Hole], a: list[str], b: list[str]) -> list[_Hole]:
    """A few words at the edge of noisy prose are equal by chance, unless punctuation sets them apart."""
    first, last = found[0], found[-1]
    if _is_prose(first, a, b):
        lead = "".join(a[: first.a1]).strip()
        if len(_WORD.findall(lead)) < FEW_WORDS and not lead.endswith((":", "-", "–", "|", "»", ">")):
            first.a1 = first.b1 = 0
    if _is_prose(last, a, b):
        tail = "".join(a[last.a2 :]).strip()
        if len(_WORD.findall(tail)) < FEW_WORDS and not tail.startswith((":", "-", "–", "|", "«", "<", "(")):
            last.a2, last.b2 = len(a), len(b)
    return [_rekind(hole, a, b) if hole in (first, last) and _is_plain(hole, a) else hole for hole in found]


def _is_plain(hole: _Hole, a: list[str]) -> bool:
    return not _TOKEN.fullmatch("".join(a[hole.a1 : hole.a2]))


def _is_prose(hole: _Hole, a: list[str], b: list[str]) -> bool:
    if hole.kind.rstrip(OPTIONAL) != WORDS:
        return False
    longest = max("".join(a[hole.a1 : hole.a2]), "".join(b[hole.b1 : hole.b2]), key=len)
    return len(_WORD.findall(longest)) >= FEW_WORDS


def _regions(path: str, found: list[_Hole], a: list[str]) -> list[MaskRegion]:
    regions: list[MaskRegion] = []
    text = "".join(a)
    starts = [0]
    for unit in a:
        starts.append(starts[-1] + len(unit))
    floor = 0
    for at, hole in enumerate(found):
        ceiling = starts[found[at + 1].a1] if at + 1 < len(found) else len(text)
        before = _lead(text, floor, starts[hole.a1])
        after = _tail(text, starts[hole.a2], ceiling)
        regions.append(MaskRegion(path, before, after, hole.kind))
        floor = starts[hole.a2]
    return regions


def _lead(text: str, floor: int, end: int) -> str:
    """The shortest context left of a hole that is found at the right place first; whole pieces count."""
    start = max(floor, end - CONTEXT)
    while start > floor and text.find(text[start:end], floor) != start:
        start = max(floor, start - CONTEXT)
    return text[start:end]


def _tail(text: str, start: int, ceiling: int) -> str:
    return text[start : min(ceiling, start + CONTEXT)]


def _find(text: str, region: MaskRegion, cursor: int) -> tuple[int, int] | None:
    """Where the hole is.  Context that changed at its far end is tried again nearer to the hole."""
    start, end = cursor, len(text)
    if region.before:
        spots = ((text.find(region.before[-size:], cursor), size) for size in _sizes(region.before))
        found = next(((at, size) for at, size in spots if at >= 0), None)
        if found is None:
            return None
        start = found[0] + found[1]
    if region.after:
        ends = (text.find(region.after[:size], start) for size in _sizes(region.after))
        end = next((at for at in ends if at >= 0), -1)
    return (start, end) if end >= 0 else None


def _sizes(context: str) -> list[int]:
    return [size for size in (len(context), NEAR, 4) if size <= len(context)] or [len(context)]
