"""A text as a vector: hashed words and stems.  Texts that share wording are near; nothing is learned.

Needs no model and no download.  Near means alike in wording, not in meaning: it groups variants and translations of
templates, and is no search by meaning.  On the path of every new page, so it costs tens of microseconds.
"""

from __future__ import annotations

import math

import numpy as np

DIMENSIONS = 256
SIMILAR = 0.9  # 001 section 9.2
VERSION = "hashed-words-1"  # vectors of different versions cannot be compared
MOST = 20_000  # characters; a longer text is known by its beginning
_WINDOW = 8  # bytes from the start of each word: the word and a little of the next
_STEM = np.uint64(0xFFFFFFFF)  # its first four bytes: what stays of a word when its ending changes
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))  # splitmix64
_SHIFT = np.uint64(31)
_BUCKET = np.uint64(DIMENSIONS - 1)
_SIGN = np.uint64(63)
_PACKED = np.dtype("<f2")  # half precision, little-endian: 512 bytes


def embed(text: str) -> np.ndarray:
    """A vector of length 1, or of zeros for a text without words."""
    said = text[:MOST].lower().strip()
    if not said:
        return np.zeros(DIMENSIONS, np.float32)
    data = b" " + said.encode("utf-8", "replace") + b" " * _WINDOW
    starts = np.flatnonzero(np.frombuffer(data, np.uint8)[:-_WINDOW] <= ord(" ")) + 1
    windows: np.ndarray = np.ndarray((len(data) - _WINDOW + 1,), np.uint64, data, 0, (1,))  # one per byte
    words = windows[starts]
    summed = _summed(np.concatenate((words, words & _STEM)))
    length = math.sqrt(np.abs(summed).sum())  # of the dampened vector: the squares of its roots
    if not length:
        return _lonely(words)
    dampened: np.ndarray = np.copysign(np.sqrt(np.abs(summed)), summed) / length
    return dampened.astype(np.float32)


def pack_vector(vector: np.ndarray) -> bytes:
    return vector.astype(_PACKED).tobytes()


def unpack_vector(packed: bytes) -> np.ndarray:
    return np.frombuffer(packed, _PACKED).astype(np.float32)


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """The cosine of two vectors, -1 to 1."""
    return float(np.dot(one.astype(np.float64), other.astype(np.float64)))


def most_alike(one: np.ndarray, others: np.ndarray, counts: np.ndarray) -> tuple[int, float] | None:
    """The nearest of the rows that count, and its cosine.  None: none counts."""
    if not counts.any():
        return None
    # Not `@`: its library takes every core for this, and a third of the time of one is enough.
    cosines: np.ndarray = np.einsum("ij,j->i", others, one)
    cosines[~counts] = -2.0
    row = int(cosines.argmax())
    return row, float(cosines[row])


def _summed(words: np.ndarray) -> np.ndarray:
    """How often each bucket is hit; a sign per word makes collisions cancel (feature hashing)."""
    mixed = words * _MIX[0]  # wraps around, as it should
    mixed ^= mixed >> _SHIFT
    mixed *= _MIX[1]
    signs = np.where(mixed >> _SIGN, 1.0, -1.0)
    found: np.ndarray = np.bincount(((mixed >> _SHIFT) & _BUCKET).astype(np.int64), signs, DIMENSIONS)
    return found


def _lonely(words: np.ndarray) -> np.ndarray:
    """A few words that cancelled each other out: they are one bucket."""
    vector = np.zeros(DIMENSIONS, np.float32)
    vector[int(words[0] & _BUCKET)] = 1.0
    return vector
