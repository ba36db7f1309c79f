"""Near-duplicates: a 64-bit fingerprint that moves little when a text changes little."""

from __future__ import annotations

import numpy as np

BITS = 64
_WINDOW = 8  # bytes from the start of each word: the word and a little of the next
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))  # splitmix64
_EIGHT = np.arange(8, dtype=np.uint64)
_LOW = np.uint64(0x0101010101010101)  # the lowest bit of every byte
_SHIFT = (np.uint64(29), np.uint64(32))
_COUNTED = 255  # words whose bits are counted side by side in the bytes of one integer,
_AT_ONCE = 64 * _COUNTED  # and how many are spread out at once: eight integers for each


def simhash(text: str) -> int:
    """Signed, as stores keep it.  0 for a text without words."""
    data = b" " + text.lower().encode("utf-8", "replace") + b" " * _WINDOW
    starts = np.flatnonzero(np.frombuffer(data, np.uint8)[:-_WINDOW] == ord(" ")) + 1
    if not text:
        return 0
    windows: np.ndarray = np.ndarray((len(data) - _WINDOW + 1,), np.uint64, data, 0, (1,))  # one per byte
    words = windows[starts]
    words *= _MIX[0]
    words ^= words >> _SHIFT[0]
    words *= _MIX[1]
    words ^= words >> _SHIFT[1]
    votes = sum(_votes(words[at : at + _AT_ONCE]) for at in range(0, len(words), _AT_ONCE))
    bits: bytes = np.packbits(votes * 2 > len(words), bitorder="little").tobytes()
    return int.from_bytes(bits, "little", signed=True)


def _votes(words: np.ndarray) -> np.ndarray:
    """How many words have each bit."""
    lanes = (words[None, :] >> _EIGHT[:, None]) & _LOW
    sums = np.add.reduceat(lanes, np.arange(0, len(words), _COUNTED), axis=1)
    votes: np.ndarray = sums.view(np.uint8).reshape(8, -1, 8).sum(1, dtype=np.int32).T.ravel()
    return votes


def distance(one: int, other: int) -> int:
    """Bits that differ, 0 to 64."""
    return int((one ^ other) & (2**BITS - 1)).bit_count()


def similarity(one: int, other: int) -> float:
    """1.0 for equal fingerprints, about 0.5 for unrelated texts."""
    return 1.0 - distance(one, other) / BITS
