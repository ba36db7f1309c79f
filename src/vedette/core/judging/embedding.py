"""A text as a vector: hashed words and stems.  Texts that share wording are near; nothing is learned.

Needs no model and no download.  Near means alike in wording, not in meaning: it groups variants and translations of
templates, and is no search by meaning.  On the path of every new page, so it costs tens of microseconds.
"""

from __future__ import annotations

import math

import numpy as np

from vedette.core.text.word_windows import parted_words

DIMENSIONS = 256
SIMILAR = 0.9  # spec 001/9.2
APART = 96  # signs; texts that have nothing to do with each other differ in half of the 256
CANDIDATES = 64  # with the fewest signs apart, before cosines are taken
VERSION = "hashed-words-1"  # vectors of different versions cannot be compared
MOST = 20_000  # characters; a longer text is known by its beginning
_STEM = np.uint64(0xFFFFFFFF)  # its first four bytes: what stays of a word when its ending changes
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))  # splitmix64
_SHIFT = np.uint64(31)
_BUCKET = np.uint64(DIMENSIONS - 1)
_SIGN = np.uint64(63)
_PACKED = np.dtype("<f2")  # half precision, little-endian: 512 bytes


def embed(text: str) -> np.ndarray:
    """A vector of length 1, or of zeros for a text without words."""
    words = parted_words(text, MOST)
    if not len(words):
        return np.zeros(DIMENSIONS, np.float32)
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


def signs_of(vectors: np.ndarray) -> np.ndarray:
    """The signs of each vector as four integers: near vectors differ in few of these 256 bits."""
    bits: np.ndarray = np.packbits(vectors > 0, axis=-1).view(np.uint64)
    return bits


def most_alike(
    one: np.ndarray, others: np.ndarray, signs: np.ndarray, counts: np.ndarray
) -> tuple[int, float] | None:
    """The nearest of the rows that count, and its cosine.  None: none is near.

    Signs say who may be near, at a tenth of what the cosines of all would cost.
    """
    differ = np.bitwise_count(signs ^ signs_of(one))
    apart = differ[:, 0].astype(np.uint16) + differ[:, 1] + differ[:, 2] + differ[:, 3]
    rows = np.flatnonzero((apart < APART) & counts)
    if len(rows) > CANDIDATES:
        rows = rows[np.argpartition(apart[rows], CANDIDATES)[:CANDIDATES]]
    if not len(rows):
        return None
    cosines: np.ndarray = np.einsum("ij,j->i", others[rows], one.astype(np.float32))
    best = int(cosines.argmax())
    return int(rows[best]), float(cosines[best])


def _summed(words: np.ndarray) -> np.ndarray:
    """How often each bucket is hit; a sign per word makes collisions cancel (feature hashing)."""
    mixed = words * _MIX[0]  # wraps around, as it should
    mixed ^= mixed >> _SHIFT
    mixed *= _MIX[1]
    signs = (mixed >> _SIGN).view(np.int64)
    mixed >>= _SHIFT
    mixed &= _BUCKET
    places = mixed.view(np.int64) + signs * DIMENSIONS
    hits = np.bincount(places, minlength=2 * DIMENSIONS)
    found: np.ndarray = (hits[DIMENSIONS:] - hits[:DIMENSIONS]).astype(np.float64)
    return found


def _lonely(words: np.ndarray) -> np.ndarray:
    """A few words that cancelled each other out: they are one bucket."""
    vector = np.zeros(DIMENSIONS, np.float32)
    vector[int(words[0] & _BUCKET)] = 1.0
    return vector
