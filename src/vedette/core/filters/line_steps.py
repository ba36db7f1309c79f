"""What the text steps of a source leave of the lines of a page, and whether they leave anything.

Lines are blocks: where a text stands, and what it says.  Steps see a field of a document with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import xxhash

from vedette.contracts.change import Block
from vedette.contracts.fetch import TextKeys
from vedette.contracts.filters import NUMBERS, FilterKind, FilterStep, PageFilters
from vedette.core.change.layers import simhash
from vedette.core.change.state import line, lines
from vedette.core.filters.filter_steps import ORDERS, parts_of_replacement, pattern_of
from vedette.core.filters.local_numbers import find_number
from vedette.core.urls.url_shape import compile_pattern

K = FilterKind
MOST_LINES = 300_000
Blocks = tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class FilteredLines:
    """What is compared.  `unmatched`: why nothing is."""

    blocks: Blocks = ()
    unmatched: str = ""


def filter_lines(blocks: Blocks, filters: PageFilters) -> FilteredLines:
    """What the text steps leave, one after another.  A step that leaves nothing says so."""
    for step in filters.texts:
        left = _STEPS[step.kind](blocks, step.value)
        if not left:
            return FilteredLines(unmatched=_nothing_left(step, blocks))
        blocks = left
    lacking = _lacks_number(blocks, filters)
    return FilteredLines(unmatched=lacking) if lacking else FilteredLines(blocks)


def number_of(blocks: Iterable[Block], filters: PageFilters) -> float | None:
    """The first number of what is compared; of a field its value, not its name."""
    decimal = filters.value(K.DECIMAL)
    found = (find_number(text, decimal=decimal) for _, text in blocks)
    return next((number for number in found if number is not None), None)


def filtered_keys(blocks: Blocks, filters: PageFilters) -> TextKeys:
    """Of what is compared.  Other filters give other keys, so that no state of before them is taken for equal."""
    text = "\n".join(lines(blocks))
    how = "\n".join(str(step) for step in filters.steps)
    key = xxhash.xxh3_64_intdigest(f"{how}\0{text}".encode("utf-8", "replace")) >> 1
    return TextKeys(key, simhash(text))


def matcher(value: str) -> Callable[[str], bool]:
    """Says whether a text holds this one.  Plain words in any case; between slashes RE2."""
    pattern = pattern_of(value)
    if pattern is not None:
        search = compile_pattern("filters", pattern).search
        return lambda text: search(text) is not None
    wanted = value.casefold()
    return lambda text: wanted in text.casefold()


def _nothing_left(step: FilterStep, before: Sequence[Block]) -> str:
    if not before:
        return "there is no text in it"
    return f"`{step}` leaves none of {len(before)} lines" if len(before) > 1 else f"`{step}` leaves no line"


def _lacks_number(blocks: Blocks, filters: PageFilters) -> str:
    step = next((step for step in filters.rules if step.kind in NUMBERS), None)
    if step is None or number_of(blocks, filters) is not None:
        return ""
    return f"`{step}`: there is no number in what the filters leave"


def _kept(blocks: Blocks, value: str) -> Blocks:
    holds = matcher(value)
    return tuple(block for block in blocks if holds(line(block)))


def _without(blocks: Blocks, value: str) -> Blocks:
    holds = matcher(value)
    return tuple(block for block in blocks if not holds(line(block)))


def _matching(blocks: Blocks, value: str) -> Blocks:
    """Every match is a line; of a pattern with groups, its groups."""
    pattern: Any = compile_pattern("filters", value)
    found: list[Block] = []
    for path, text in blocks:
        for number, match in enumerate(pattern.finditer(text), 1):
            parts = [part for part in match.groups() if part] if match.groups() else [match.group(0)]
            words = " ".join(parts).strip()
            if words:
                found.append((path if number == 1 else f"{path}/text[{number}]", words))
            if len(found) >= MOST_LINES:
                return tuple(found)
    return tuple(found)


def _replaced(blocks: Blocks, value: str) -> Blocks:
    what, put = parts_of_replacement(value)
    pattern: Any = compile_pattern("filters", what)
    texts = ((path, pattern.sub(lambda match: put, text).strip()) for path, text in blocks)
    return tuple((path, text) for path, text in texts if text)


def _sorted(blocks: Blocks, value: str) -> Blocks:
    return tuple(sorted(blocks, key=line, reverse=ORDERS[value.lower()]))


def _unique(blocks: Blocks, value: str) -> Blocks:
    return tuple({line(block): block for block in reversed(blocks)}.values())[::-1]


def _lowered(blocks: Blocks, value: str) -> Blocks:
    return tuple((path, text.lower()) for path, text in blocks)


_STEPS: dict[FilterKind, Callable[[Blocks, str], Blocks]] = {
    K.KEEP: _kept,
    K.IGNORE: _without,
    K.REGEX: _matching,
    K.REPLACE: _replaced,
    K.SORT: _sorted,
    K.UNIQUE: _unique,
    K.LOWER: _lowered,
}
