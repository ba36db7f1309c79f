"""Structural paths of blocks: their shape, and what they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vedette.contracts.change import Block

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
