"""Which earlier evidence of another target says nearly the same?  The second step of 001 section 9.2, over vectors.

Enrichment: what is alike is named, and both are kept.  Only the newest vectors are held against: a search among all of
them costs about a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vedette.contracts.judging import Exhibit, Likeness
from vedette.contracts.words import ContentClass, EvidenceId
from vedette.core.embedding import DIMENSIONS, SIMILAR, most_alike, unpack_vector

MOST = 8_000  # vectors in memory: 8 MB
LAST = 2**63 - 1  # of all evidence
# After this evidence, up to that one, at most so many: evidence, watch, content class and vector, newest first.
Vectors = Callable[[int, int, int], list[tuple[int, int, str, bytes]]]


class Neighbours:
    """Vectors of evidence, read from the store when first needed; then only what is new."""

    def __init__(self, vectors: Vectors, *, least: float = SIMILAR, most: int = MOST) -> None:
        self._vectors = vectors
        self._least = least
        self._rows = np.zeros((most, DIMENSIONS), np.float32)
        self._ids = np.zeros((most, 2), np.int64)  # evidence, watch
        self._families = np.zeros(most, np.int8)
        self._place: dict[int, int] = {}  # of an evidence
        self._count = 0  # ever put; the oldest goes when all places are taken
        self._newest = 0

    def alike(self, exhibit: Exhibit, packed: bytes | None = None) -> Likeness | None:
        """The nearest of another target and the same content type, where it is near enough.

        `packed`: its own vector, where the store does not have it yet.
        """
        evidence = exhibit.evidence
        self._take(self._vectors(self._newest, LAST, len(self._rows)))
        if packed is not None:
            self._take([(evidence, exhibit.watch, exhibit.content_class.value, packed)])
        elif evidence not in self._place:  # written after what is newer, or too old to be among the newest
            self._take(self._vectors(evidence - 1, evidence, 1))
        place = self._place.get(evidence)
        if place is None:  # a text without words
            return None
        found = most_alike(self._rows[place], self._rows, self._counts(place))
        if found is None or found[1] < self._least:
            return None
        other = EvidenceId(int(self._ids[found[0], 0]))
        return Likeness(evidence=evidence, other=other, share=min(1.0, found[1]))

    def _counts(self, place: int) -> np.ndarray:
        """Earlier evidence of other targets, of the same type.  Places that are not taken yet are of evidence 0."""
        evidence, watch = self._ids[place]
        earlier = (self._ids[:, 0] > 0) & (self._ids[:, 0] < evidence)
        counts: np.ndarray = earlier & (self._ids[:, 1] != watch) & (self._families == self._families[place])
        return counts

    def _take(self, found: list[tuple[int, int, str, bytes]]) -> None:
        """Oldest first, so that it goes first."""
        for evidence, watch, content_class, packed in reversed(found):
            self._newest = max(self._newest, evidence)
            vector = None if evidence in self._place else _unpacked(packed)
            if vector is not None:
                self._put(evidence, watch, _family(content_class), vector)

    def _put(self, evidence: int, watch: int, family: int, vector: np.ndarray) -> None:
        place = self._place.get(evidence)
        if place is None:
            place = self._count % len(self._rows)
            self._place.pop(int(self._ids[place, 0]), None)
            self._place[evidence] = place
            self._count += 1
        self._rows[place], self._ids[place], self._families[place] = vector, (evidence, watch), family


def _unpacked(packed: bytes) -> np.ndarray | None:
    """Of length 1; None: not a vector, or one of a text without words."""
    if len(packed) != 2 * DIMENSIONS:
        return None
    vector = unpack_vector(packed)
    length = float(np.linalg.norm(vector))
    return vector / length if np.isfinite(length) and length > 0 else None


_NUMBER = {kind.value: number for number, kind in enumerate(ContentClass)}
_SCAN, _PDF = _NUMBER[ContentClass.PDF_SCANNED.value], _NUMBER[ContentClass.PDF_TEXT.value]


def _family(content_class: str) -> int:
    """A scan and a text of the same paper are both PDF."""
    number = _NUMBER.get(content_class, -1)
    return _PDF if number == _SCAN else number
