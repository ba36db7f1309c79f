"""A text as a vector: hashed n-grams of its letters.  Texts that share wording are near; nothing is learned.

Needs no model and no download.  Near means alike in wording, not in meaning: it groups variants and translations of
templates, and is no search by meaning.
"""

from __future__ import annotations

import numpy as np

DIMENSIONS = 256
VERSION = "hashed-ngrams-1"  # vectors of different versions cannot be compared
MOST = 100_000  # characters; a longer text is known by its beginning
SIZES = (3, 4, 5)  # bytes of UTF-8 per n-gram
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))  # splitmix64
_SHIFT = np.uint64(31)
_BUCKET = np.uint64(DIMENSIONS - 1)
_SIGN = np.uint64(63)


def embed(text: str) -> np.ndarray:
    """A vector of length 1, or of zeros for a text without words."""
    data = np.frombuffer(_plain(text), np.uint8).astype(np.uint64)
    counts = np.zeros(DIMENSIONS)
    for size in SIZES:
        if len(data) >= size:
            counts += _counted(data, size)
    length = float(np.linalg.norm(counts))
    return (counts / length if length else counts).astype(np.float32)


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """The cosine of two vectors, -1 to 1."""
    return float(np.dot(one.astype(np.float64), other.astype(np.float64)))


def _plain(text: str) -> bytes:
    words = " ".join(text[:MOST].lower().split())
    return f" {words} ".encode("utf-8", "replace") if words else b""


def _counted(data: np.ndarray, size: int) -> np.ndarray:
    """How often each bucket is hit, dampened; a sign per n-gram makes collisions cancel (feature hashing)."""
    grams = np.zeros(len(data) - size + 1, np.uint64)
    for place in range(size):
        grams = (grams << np.uint64(8)) | data[place : place + len(grams)]
    grams = (grams + np.uint64(size)) * _MIX[0]
    grams ^= grams >> _SHIFT
    grams *= _MIX[1]
    signs = np.where(grams >> _SIGN, 1.0, -1.0)
    buckets = ((grams >> _SHIFT) & _BUCKET).astype(np.int64)
    summed = np.bincount(buckets, signs, DIMENSIONS)
    dampened: np.ndarray = np.sign(summed) * np.sqrt(np.abs(summed))
    return dampened
