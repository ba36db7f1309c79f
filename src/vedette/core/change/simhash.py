"""Near-duplicates: a 64-bit fingerprint that moves little when a text changes little."""

from __future__ import annotations

import numpy as np

BITS = 64
_WINDOW = 8  # bytes from the start of each word: the word and a little of the next
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))  # splitmix64
_SHIFT = (np.uint64(29), np.uint64(32))


def simhash(text: str) -> int:
    """Signed, as stores keep it.  0 for a text without words."""
    data = np.frombuffer(b" " + text.lower().encode("utf-8", "replace") + b" " * _WINDOW * 2, np.uint8)
    starts = np.flatnonzero(data[: -_WINDOW * 2] == ord(" ")) + 1
    if not text or not len(starts):
        return 0
    words = np.lib.stride_tricks.sliding_window_view(data, _WINDOW)[starts].copy().view(np.uint64).ravel()
    words *= _MIX[0]
    words ^= words >> _SHIFT[0]
    words *= _MIX[1]
    words ^= words >> _SHIFT[1]
    votes = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1).sum(0, dtype=np.int32)
    bits: bytes = np.packbits(votes * 2 > len(words)).tobytes()
    return int.from_bytes(bits, "big", signed=True)


def distance(one: int, other: int) -> int:
    """Bits that differ, 0 to 64."""
    return int((one ^ other) & (2**BITS - 1)).bit_count()


def similarity(one: int, other: int) -> float:
    """1.0 for equal fingerprints, about 0.5 for unrelated texts."""
    return 1.0 - distance(one, other) / BITS
