"""Has the target changed?  Cheapest question first; the layer that decided is recorded.

bytes -> text -> normalised -> learned noise -> near / structure / content.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xxhash

from vedette.contracts.change import Block, Comparison, DiffOp, Layer
from vedette.contracts.fetch import Extraction, TextKeys
from vedette.contracts.words import Reason
from vedette.core.change.diff import diff_lines, summary
from vedette.core.change.fields import field_summary
from vedette.core.change.noise import is_in_any_order
from vedette.core.change.state import State, parent
from vedette.core.change.weigh import Weighed
from vedette.core.text.word_windows import word_windows

NEAR = 0.9  # spec 001: 90 % similar is a near-duplicate


def text_key(extraction: Extraction) -> int:
    """The key of what is compared: the text, and the documents it links to."""
    whole = extraction.text
    if extraction.targets:
        whole += "\n" + "\n".join(extraction.targets)
    return xxhash.xxh3_64_intdigest(whole.encode("utf-8", "replace")) >> 1


def text_keys(extraction: Extraction) -> TextKeys:
    return extraction.keys or TextKeys(text_key(extraction), simhash(extraction.text))


def compare(before: State, after: State, weighed: Weighed | None = None) -> Comparison:
    """Two states of one target, and what was edited.  Without `weighed` whatever differs counts."""
    if before.texts == after.texts:
        return _equal(Layer.TEXT)
    if before.keys == after.keys:
        return _equal(Layer.NORMAL)
    one, other = _told(before, after, weighed)
    if one == other:
        return _equal(Layer.MASK)
    if _squeezed(one) == _squeezed(other) and not _has_fields(after.blocks):
        return Comparison(has_changed=False, layer=Layer.TEXT, reasons=(Reason("equal_but_for_markup"),))
    ops, reasons = diff_lines(one, other)
    if weighed is not None and not weighed.is_moved:
        ops = tuple(op for op in ops if op.op != "move")
    if all(op.op == "equal" for op in ops):
        return _equal(Layer.MASK)
    return _differing(one, other, ops, reasons, has_fields=_has_fields(after.blocks))


def _differing(
    one: Sequence[str],
    other: Sequence[str],
    ops: tuple[DiffOp, ...],
    reasons: tuple[Reason, ...],
    *,
    has_fields: bool,
) -> Comparison:
    likeness = similarity(simhash(" ".join(one)), simhash(" ".join(other)))
    layer = Layer.STRUCTURE if has_fields else Layer.NEAR if likeness >= NEAR else Layer.CONTENT
    return Comparison(
        has_changed=True,
        layer=layer,
        similarity=round(likeness, 4),
        summary=field_summary(ops) if has_fields else summary(ops),
        diff=ops,
        reasons=(Reason(f"differs_{layer}", round(likeness, 4)), *reasons),
    )


def _told(before: State, after: State, weighed: Weighed | None) -> tuple[list[str], list[str]]:
    """The lines of both states without what is noise; what both have is told as the later one says it."""
    if weighed is None:
        return _own(before, after), list(after.texts)
    old = [
        key for key in before.keys if key in weighed.gone or (key in after.index and key not in weighed.new)
    ]
    new = [key for key in after.keys if key in before.index or key in weighed.new]
    texts = [
        after.text(key) if key in after.index else before.text(key) for key in _reordered(old, after, weighed)
    ]
    for line in weighed.lost:
        texts.insert(_end_of(line.place, old, before), line.text)
    return texts, [after.text(key) for key in new]


def _own(before: State, after: State) -> list[str]:
    return [
        after.text(key) if key in after.index else text
        for key, text in zip(before.keys, before.texts, strict=True)
    ]


def _reordered(old: Sequence[int], after: State, weighed: Weighed) -> list[int]:
    """Lines whose order says nothing, in the order of the later state."""
    if not weighed.noise.orders:
        return list(old)
    free = [
        at
        for at, key in enumerate(old)
        if key in after.index and is_in_any_order(weighed.noise, parent(after.place(key)))
    ]
    placed = list(old)
    for at, key in zip(free, sorted((old[at] for at in free), key=after.index.__getitem__), strict=True):
        placed[at] = key
    return placed


def _end_of(place: str, keys: Sequence[int], state: State) -> int:
    """Behind the last line of that place."""
    return max((at + 1 for at, key in enumerate(keys) if state.place(key) == place), default=len(keys))


def _equal(layer: Layer) -> Comparison:
    return Comparison(has_changed=False, layer=layer, reasons=(Reason(f"equal_{layer}"),))


def _squeezed(texts: Sequence[str]) -> str:
    """The letters alone: a paragraph split in two, or a space around a tag, is not a change."""
    return "".join(texts).replace(" ", "")


def _has_fields(blocks: Sequence[Block]) -> bool:
    return bool(blocks) and blocks[0][0].startswith("/")


# Near-duplicates: a 64-bit fingerprint that moves little when a text changes little.

BITS = 64
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))  # splitmix64
_EIGHT = np.arange(8, dtype=np.uint64)[:, None]
_LOW = np.uint64(0x0101010101010101)  # the lowest bit of every byte
_SHIFT = (np.uint64(29), np.uint64(32))
_COUNTED = 255  # words whose bits are counted side by side in the bytes of one integer,
_AT_ONCE = 64 * _COUNTED  # and how many are spread out at once: eight integers for each


def simhash(text: str) -> int:
    """Signed, as stores keep it.  0 for a text without words."""
    if not text:
        return 0
    words = word_windows(text).words * _MIX[0]
    words ^= words >> _SHIFT[0]
    words *= _MIX[1]
    words ^= words >> _SHIFT[1]
    votes = _votes(words[:_AT_ONCE])
    for at in range(_AT_ONCE, len(words), _AT_ONCE):
        votes += _votes(words[at : at + _AT_ONCE])
    bits: bytes = np.packbits(votes * 2 > len(words), bitorder="little").tobytes()
    return int.from_bytes(bits, "little", signed=True)


def _votes(words: np.ndarray) -> np.ndarray:
    """How many words have each bit."""
    lanes = words >> _EIGHT
    lanes &= _LOW
    sums = np.add.reduceat(lanes, range(0, len(words), _COUNTED), axis=1)
    votes: np.ndarray = sums.view(np.uint8).reshape(8, -1, 8).sum(1, dtype=np.int32).T.ravel()
    return votes


def distance(one: int, other: int) -> int:
    """Bits that differ, 0 to 64."""
    return int((one ^ other) & (2**BITS - 1)).bit_count()


def similarity(one: int, other: int) -> float:
    """1.0 for equal fingerprints, about 0.5 for unrelated texts."""
    return 1.0 - distance(one, other) / BITS
