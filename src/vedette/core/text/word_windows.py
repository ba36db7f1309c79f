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


def parted_words(text: str, most: int) -> np.ndarray:
    """The words of its first characters, parted by any white space; the text of a page has none but single spaces."""
    if text and len(text) <= most and not (text[0].isspace() or text[-1].isspace()):
        known = word_windows(text)
        if known.is_plain:
            return known.words
    said = text[:most].lower().strip()
    if not said:
        return np.empty(0, np.uint64)
    data = _padded(said)
    return _behind(data, np.frombuffer(data, np.uint8)[:-WINDOW] <= _SPACE)


def _windows(text: str) -> WordWindows:
    data = _padded(text.lower())
    letters = np.frombuffer(data, np.uint8)[:-WINDOW]
    return WordWindows(_behind(data, letters == _SPACE), bool(letters.min() >= _SPACE))


def _padded(text: str) -> bytes:
    return b" " + text.encode("utf-8", "replace") + b" " * WINDOW


def _behind(data: bytes, is_end: np.ndarray) -> np.ndarray:
    """A window behind each of these."""
    every: np.ndarray = np.ndarray((len(data) - WINDOW + 1,), np.uint64, data, 0, (1,))  # one per byte
    found: np.ndarray = every[is_end.nonzero()[0] + 1]
    return found


_remembered = lru_cache(maxsize=1)(_windows)
