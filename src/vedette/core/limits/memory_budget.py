"""How much may be in memory at once: bodies that come in, are read, and wait to be written, and the worker beside them.

One budget (`run.memory`) over what the program takes anyway.  A part of it is the worker's, which reads one body at a
time within a limit by class.  The rest is for bodies, each with as much again for what is made of it.

Small claims have a share of their own, so that they pass while a large one waits; large ones come in the order in which
they asked, and small ones take nothing beyond their share while a large one waits.  So nobody starves.  A claim that is
larger than the budget gets all of it and goes alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from vedette.contracts.fetch import MIB
from vedette.contracts.words import DOCUMENTS, ContentClass

DEFAULT = 512 * MIB
WORKER = 224 * MIB  # the worker process: its own size, and a scanned page
LEAST_FOR_BODIES = 32 * MIB
SMALL = 2 * MIB  # claims up to this are small
SMALL_SHARE = 8  # one part in so many is for them alone
FREE = 256 * 1024  # of a body: less is not worth counting
MADE_OF_IT = 2  # a body, and the text and links that are made of it
DOCUMENT = 96 * MIB  # what a document may take in the worker, whatever it inflates to
# A page or image that is drawn for OCR; what needs more is refused before, for the library leaves parts white without
# a word.  A grey picture of 36 MiB, the largest that is drawn, takes some 130 MiB; with less than it needs, the library
# draws it coarsely, also without a word, so that one scan would be read in two ways.
SCAN = 144 * MIB
MARKUP = 112 * MIB  # a tree takes twelve times its page (bench/memory.py)


@dataclass(frozen=True, slots=True)
class Use:
    """What is claimed now."""

    total: int
    small: int = 0
    large: int = 0

    @property
    def small_room(self) -> int:
        return self.total // SMALL_SHARE

    @property
    def large_room(self) -> int:
        return self.total - self.small_room


def for_bodies(budget: int) -> int:
    """What of the whole budget is for bodies."""
    return max(LEAST_FOR_BODIES, budget - WORKER)


def bounded(size: int, total: int) -> int:
    """What a claim of this size takes: never more than large claims have together."""
    return min(size, Use(total).large_room)


def fits(size: int, use: Use, *, is_large_waiting: bool) -> bool:
    """True where a claim of this size (already bounded) may start now."""
    if size > SMALL:
        beyond = max(0, use.small - use.small_room)  # small ones that went beyond their share
        return use.large + beyond + size <= use.large_room
    if use.small + size <= use.small_room:
        return True
    return not is_large_waiting and use.small + use.large + size <= use.total


def body_claim(length: int | None, *, wire_limit: int, body_limit: int, is_coded: bool) -> int:
    """For one body: what it says that it has, or the most that it may; decoded beside it where it is coded."""
    wire = wire_limit if length is None else min(length, wire_limit)
    return wire + MADE_OF_IT * body_limit if is_coded else MADE_OF_IT * wire


def parse_limit(kind: ContentClass) -> int:
    """How much the worker may take to read a body of this class.  What needs more is not read, and that is told."""
    return DOCUMENT if kind in DOCUMENTS else MARKUP
