"""Pages near to each other by the vectors of their texts: what every index of vectors promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from vedette.contracts.words import WatchId


class Near(NamedTuple):
    """A page, and how near its text is: 1 the same words, 0 nothing in common."""

    watch: WatchId
    likeness: float


class VectorIndex(Protocol):
    """Vectors of one length, each of length 1 and packed (`core/judging/embedding.py`), by watch.

    What was put is there when the index is opened again, if it is kept at all.  An index is no truth: whoever loses
    one fills it again from the store.
    """

    def held(self) -> dict[WatchId, bytes]:
        """All that is in it, bit for bit as it was put."""
        ...

    def put(self, vectors: Mapping[WatchId, bytes]) -> None:
        """A watch that is there gets the new vector."""
        ...

    def drop(self, watches: Iterable[WatchId]) -> None:
        """Those that are not there do not matter."""
        ...

    def nearest(self, vector: bytes, most: int) -> list[Near]:
        """The nearest first; those that are equally near by their numbers."""
        ...

    def close(self) -> None:
        """Whatever is kept is on disk after it."""
        ...
