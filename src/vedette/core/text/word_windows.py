"""The words of a text as numbers: the first eight bytes of each, in lower case.  Fingerprints are made of them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

WINDOW = 8  # bytes from the start of each word: the word and a little of the next
REMEMBERED = 20_000  # characters; what is kept of a longer text would be too much
_SPACE = ord(" ")


class WordWindows(NamedTuple):
    """Not to be changed: others ask for the same text."""

    words: np.ndarray  # uint64
    is_plain: bool  # nothing but spaces stands between the words


def word_windows(text: str) -> WordWindows:
    """Words begin behind a space.  Fingerprints of a page are asked for in a row, so the last text is remembered."""
    return _remembered(text) if len(text) <= REMEMBERED else _windows(text)


def _windows(text: str) -> WordWindows:
    data = b" " + text.lower().encode("utf-8", "replace") + b" " * WINDOW
    letters = np.frombuffer(data, np.uint8)[:-WINDOW]
    starts = (letters == _SPACE).nonzero()[0] + 1
    every: np.ndarray = np.ndarray((len(data) - WINDOW + 1,), np.uint64, data, 0, (1,))  # one per byte
    return WordWindows(every[starts], bool(letters.min() >= _SPACE))


_remembered = lru_cache(maxsize=1)(_windows)
