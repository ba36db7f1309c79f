"""One look at a target as lines that are known by what they say, wherever they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import xxhash

from vedette.contracts.change import Block
from vedette.core.change.kinds import WORDS, kind_of, units
from vedette.core.change.normalise import normalise

MAX_WORDS = 400  # of a line, when its likeness to another is measured


class State:
    """The lines of one look.  A line that stands there twice has two keys."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.texts = lines(blocks)

    @cached_property
    def keys(self) -> tuple[int, ...]:
        """A key per line, of the text without what every answer makes anew."""
        counted: Counter[str] = Counter()
        keys = []
        for text in normalise("\n".join([text.replace("\n", " ") for text in self.texts])).split("\n"):
            counted[text] += 1
            again = counted[text]
            keys.append(key_of(text if again == 1 else f"{text}\0{again}"))
        return tuple(keys) if self.texts else ()

    @cached_property
    def index(self) -> dict[int, int]:
        return {key: at for at, key in enumerate(self.keys)}

    def text(self, key: int) -> str:
        return self.texts[self.index[key]]

    def place(self, key: int) -> str:
        """Where the line stands, without positions: "main/ul/li"."""
        return shape(self.blocks[self.index[key]][0])


def key_of(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace")) >> 1


@dataclass(frozen=True, slots=True)
class Words:
    """What two versions of a line have in common: words, and less so values."""

    steady: frozenset[str]
    values: frozenset[str]


def words(text: str) -> Words:
    found = [unit for unit in units(text[: MAX_WORDS * 8]) if unit[0].isalnum()][:MAX_WORDS]
    steady = frozenset(unit for unit in found if unit[0].isalpha() and kind_of(unit) == WORDS)
    return Words(steady, frozenset(found) - steady)


def likeness(one: Words, other: Words) -> float:
    """The share of common words, or of words and values together, whichever is more."""
    whole = _share(one.steady | one.values, other.steady | other.values)
    return max(0.9 * _share(one.steady, other.steady) + 0.1 * whole, whole)


def form_of(text: str) -> int:
    """The key of a line without its values, so that the next drawing of it is known; 0 when no two words are left."""
    steady = [unit for unit in units(text[: MAX_WORDS * 8]) if unit[0].isalpha() and kind_of(unit) == WORDS]
    return key_of(" ".join(steady)) if len(steady) >= 2 else 0


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one), len(other), 1)


# Structural paths of blocks: their shape, and what they stand in.

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


def is_below(path: str, container: str) -> bool:
    return not container or path == container or path.startswith(container + "/")
