"""Has the target changed?  Cheapest question first; the layer that decided is recorded.

bytes -> text -> normalised -> masked -> near / structure / content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import xxhash

from vedette.contracts.changing import Block, Comparison, Layer, Mask
from vedette.contracts.fetching import Extraction
from vedette.contracts.words import Reason
from vedette.core.change.diff import diff_lines, summary
from vedette.core.change.fields import field_summary
from vedette.core.change.mask import apply, carry
from vedette.core.change.normalise import normalised
from vedette.core.change.places import lines
from vedette.core.change.simhash import simhash, similarity

View = tuple[Layer, tuple[str, ...], tuple[str, ...]]
NEAR = 0.9  # 001: 90 % similar is a near-duplicate


def text_key(extraction: Extraction) -> int:
    """The key of what is compared: the text, and the documents it links to."""
    whole = extraction.text
    if extraction.targets:
        whole += "\n" + "\n".join(extraction.targets)
    return xxhash.xxh3_64_intdigest(whole.encode("utf-8", "replace")) >> 1


def compare(
    before: Sequence[Block], after: Sequence[Block], mask: Mask = (), after_mask: Mask | None = None
) -> Comparison:
    """Two states of one target, and what is different once normalised and masked.

    `after_mask`: the mask as it is for the new state, if that is known; else `mask` is carried over.
    """
    for layer, one, other in _views(before, after, mask, after_mask):
        if one == other:
            return Comparison(has_changed=False, layer=layer, reasons=(Reason(f"equal_{layer}"),))
    if _squeezed(one) == _squeezed(other) and not _has_fields(after):
        return Comparison(has_changed=False, layer=Layer.TEXT, reasons=(Reason("equal_but_for_markup"),))
    ops, reasons = diff_lines(one, other)
    likeness = similarity(simhash(" ".join(one)), simhash(" ".join(other)))
    layer = Layer.STRUCTURE if _has_fields(after) else Layer.NEAR if likeness >= NEAR else Layer.CONTENT
    return Comparison(
        has_changed=True,
        layer=layer,
        similarity=round(likeness, 4),
        summary=field_summary(ops) if layer is Layer.STRUCTURE else summary(ops),
        diff=ops,
        reasons=(Reason(f"differs_{layer}", round(likeness, 4)), *reasons),
    )


def _views(
    before: Sequence[Block], after: Sequence[Block], mask: Mask, after_mask: Mask | None
) -> Iterator[View]:
    yield Layer.TEXT, lines(before), lines(after)
    yield Layer.NORMAL, lines(normalised(before)), lines(normalised(after))
    if mask or after_mask:
        masked = lines(apply(before, mask))
        yield Layer.MASK, masked, lines(apply(after, mask))
        yield Layer.MASK, masked, lines(apply(after, after_mask or carry(mask, before, after)))


def _squeezed(texts: Sequence[str]) -> str:
    """The letters alone: a paragraph split in two, or a space around a tag, is not a change."""
    return "".join(texts).replace(" ", "")


def _has_fields(blocks: Sequence[Block]) -> bool:
    return bool(blocks) and blocks[0][0].startswith("/")
