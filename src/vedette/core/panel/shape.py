"""Which cell is which?  A batch is never listed: a cell is a number, and its parts are computed.

The cells of one model are one block; in it the prompts follow each other by tier, then the repeats, then the
domains.  So a lane walks its block from the front, and a tier that is dropped is the tail of every block.
"""

from __future__ import annotations

from typing import NamedTuple

from vedette.contracts.panel_run import BatchShape, CellNumber


class CellPlace(NamedTuple):
    model: int
    prompt: int
    repeat: int
    domain: int


def cells(shape: BatchShape) -> int:
    return len(shape.models) * block_size(shape)


def block_size(shape: BatchShape) -> int:
    """Cells of one model."""
    return len(shape.prompts) * shape.repeats * shape.domains


def number_of(shape: BatchShape, place: CellPlace) -> CellNumber:
    rows = (place.model * len(shape.prompts) + place.prompt) * shape.repeats + place.repeat
    return CellNumber(rows * shape.domains + place.domain)


def place_of(shape: BatchShape, number: int) -> CellPlace:
    rows, domain = divmod(number, shape.domains)
    rest, repeat = divmod(rows, shape.repeats)
    model, prompt = divmod(rest, len(shape.prompts))
    return CellPlace(model, prompt, repeat, domain)


def block(shape: BatchShape, model: int, *, dropped_from: int | None = None) -> range:
    """The cells of one model, without the tiers from `dropped_from` on."""
    kept = sum(1 for prompt in shape.prompts if dropped_from is None or prompt.tier < dropped_from)
    first = model * block_size(shape)
    return range(first, first + kept * shape.repeats * shape.domains)


def tiers(shape: BatchShape) -> tuple[int, ...]:
    """From the first asked to the first dropped."""
    return tuple(sorted({prompt.tier for prompt in shape.prompts}))


def cells_per_tier(shape: BatchShape) -> dict[int, int]:
    """Cells of one model, by tier."""
    per_prompt = shape.repeats * shape.domains
    count = dict.fromkeys(tiers(shape), 0)
    for prompt in shape.prompts:
        count[prompt.tier] += per_prompt
    return count


def rows_between(shape: BatchShape, first: int, last: int) -> list[range]:
    """The same cells, cut where prompt or repeat change: within one piece only the domain differs."""
    pieces, at = [], first
    while at < last:
        end = min(last, (at // shape.domains + 1) * shape.domains)
        pieces.append(range(at, end))
        at = end
    return pieces
