"""Compares the rows of a table with their last seals (`core/evidence/seals.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from vedette.core.evidence.seals import GONE, Covered, Row, key_of, row_seal

_ENTRY = np.dtype([("tag", "u1"), ("key", ">i8"), ("seal", "V32")])  # as `seals.pack` writes them


def last_seals(links: Iterable[bytes], tag: int) -> Iterator[tuple[int, bytes]]:
    """The last seal of each row of a table, by key.  Of a dropped row: GONE."""
    found = [entries[entries["tag"] == tag] for entries in map(_unpacked, links)]
    every = np.concatenate(found) if found else np.zeros(0, _ENTRY)
    order = np.argsort(every["key"], kind="stable")
    keys = every["key"][order]
    is_last = np.r_[keys[1:] != keys[:-1], True] if len(keys) else np.zeros(0, bool)
    for position in order[is_last]:
        entry = every[position]
        yield int(entry["key"]), entry["seal"].tobytes()


def compare(
    covered: Covered, seals: Iterator[tuple[int, bytes]], rows: Iterable[Row]
) -> Iterator[tuple[Any, str]]:
    """What is wrong with the rows of a table: key and words.  Both sides come in the order of their keys."""
    key, seal = next(seals, (None, GONE))
    for row in rows:
        mine = key_of(row[0])
        while key is not None and key < mine:
            if seal != GONE:
                yield key, "the row was deleted"
            key, seal = next(seals, (None, GONE))
        if key != mine:
            yield row[0], "the row was added by someone else"
            continue
        if seal == GONE:
            yield row[0], "the row was dropped, and added again by someone else"
        elif row_seal(covered.table, row) != seal:
            yield row[0], "the row was changed after it was written"
        key, seal = next(seals, (None, GONE))
    while key is not None:
        if seal != GONE:
            yield key, "the row was deleted"
        key, seal = next(seals, (None, GONE))


def _unpacked(entries: bytes) -> np.ndarray:
    return np.frombuffer(entries, _ENTRY)
