"""Chance that anyone can recompute: a number depends on its keys and its place in the row, no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

_T = TypeVar("_T")
_MASK = (1 << 64) - 1
_DIGITS = "0123456789abcdef"


class Chance:
    """A row of numbers named by its keys.  Equal keys give equal rows in every process, on every machine."""

    __slots__ = ("_state",)

    def __init__(self, *keys: object) -> None:
        name = "\x1f".join(map(str, keys)).encode()
        self._state = int.from_bytes(blake2b(name, digest_size=8).digest(), "little")

    def branch(self, *numbers: int) -> Chance:
        """A row of its own for these numbers, without hashing a name."""
        other = Chance.__new__(Chance)
        other._state = self._state
        for number in numbers:
            other._state = other.bits() ^ (number * 0xD1342543DE82EF95 & _MASK)
        return other

    def bits(self) -> int:
        """The next 64 bits (splitmix64: Steele, Lea, Flood 2014)."""
        self._state = z = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def unit(self) -> float:
        """In [0, 1)."""
        return (self.bits() >> 11) * 2.0**-53

    def below(self, limit: int) -> int:
        return self.bits() % limit

    def between(self, low: int, high: int) -> int:
        """Both ends included."""
        return low + self.bits() % (high - low + 1)

    def pick(self, choices: Sequence[_T]) -> _T:
        return choices[self.bits() % len(choices)]

    def happens(self, share: float) -> bool:
        return self.unit() < share

    def exponential(self, mean: float) -> float:
        return -math.log(1.0 - self.unit()) * mean

    def normal(self) -> float:
        radius = math.sqrt(-2.0 * math.log(1.0 - self.unit()))
        return radius * math.cos(2.0 * math.pi * self.unit())

    def shuffled(self, values: Sequence[_T]) -> list[_T]:
        row = list(values)
        for last in range(len(row) - 1, 0, -1):
            other = self.bits() % (last + 1)
            row[last], row[other] = row[other], row[last]
        return row

    def text(self, length: int, alphabet: str = _DIGITS) -> str:
        return "".join(alphabet[self.bits() % len(alphabet)] for _ in range(length))
