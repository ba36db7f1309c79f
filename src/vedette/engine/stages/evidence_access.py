"""Evidence laid open for stage jobs: rows of the store, bodies of the archive, texts of the cache, the same readers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vedette.contracts.documents import Artifact
from vedette.contracts.verdict import EvidenceFacts, Likeness
from vedette.contracts.words import DOCUMENTS, ContentClass, EvidenceId, WatchId
from vedette.core.judging.embedding import (
    DIMENSIONS,
    SIMILAR,
    embed,
    most_alike,
    pack_vector,
    signs_of,
    unpack_vector,
)
from vedette.core.text.parse_cost import is_irregular
from vedette.engine.crawl.content_reader import TOO_MUCH, Body, DocumentReader
from vedette.engine.workers.pool import Workers
from vedette.evidence.text_cache import TextCache
from vedette.extract import extract

UNREADABLE = "its payload cannot be read from the archive; `vedette evidence verify` says why"
NO_TEXT = "there is no text to make a vector of"
MOST = 20_000  # vectors in memory
AGAIN = 256  # searches after which we look what other workers made
Vectors = Callable[[int, int], list[tuple[int, int, str, bytes]]]  # after, most: newest first


class Neighbours:
    """Evidence of other targets that says nearly the same: the second step of spec 001/9.2, over vectors.

    Read from the store when first needed; then only what is new.  Enrichment: what is alike is named, and both are
    kept.  Only the newest vectors are held against, 20 MB of them; a search costs about 0.2 ms.
    """

    def __init__(self, vectors: Vectors, *, least: float = SIMILAR, most: int = MOST) -> None:
        self._vectors = vectors
        self._least = least
        self._rows = np.zeros((most, DIMENSIONS), np.float32)
        self._signs = signs_of(self._rows)
        self._ids = np.zeros((most, 2), np.int64)  # evidence, watch
        self._families = np.zeros(most, np.int8)
        self._place: dict[int, int] = {}  # of an evidence
        self._count = 0  # ever put; the oldest goes when all places are taken
        self._after = 0  # the newest evidence that we know of
        self._searches = 0

    def alike(self, facts: EvidenceFacts, packed: bytes) -> Likeness | None:
        """The nearest of another target and the same content type, where it is near enough."""
        self._searches += 1
        vector = _unpacked(packed)
        if vector is None:
            return None
        family = _family(facts.content_class.value)
        count = min(self._count, len(self._rows))
        counts = (self._families[:count] == family) & (self._ids[:count, 1] != facts.watch)
        found = most_alike(vector, self._rows[:count], self._signs[:count], counts)
        other = None if found is None else EvidenceId(int(self._ids[found[0], 0]))
        self._put(facts.evidence, facts.watch, family, vector)
        if found is None or other is None or found[1] < self._least:
            return None
        return Likeness(evidence=facts.evidence, other=other, share=min(1.0, found[1]))

    @property
    def is_behind(self) -> bool:
        return self._searches % AGAIN == 0

    def catch_up(self) -> None:
        """What other workers made since, and at first what was there before us; oldest first, so that it goes first."""
        for evidence, watch, content_class, packed in reversed(self._vectors(self._after, len(self._rows))):
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
        self._signs[place] = signs_of(vector)
        self._after = max(self._after, evidence)


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


@dataclass(slots=True, kw_only=True)
class EvidenceAccess:
    """Implements `judge.Bench`."""

    body: Callable[[EvidenceId], Body | None]
    text_cache: TextCache
    documents: DocumentReader
    workers: Workers
    neighbours: Neighbours
    scope: str = "main"
    worker_above: int = 256 * 1024
    redacts: Callable[[WatchId], bool] = lambda watch: False

    async def read(self, facts: EvidenceFacts) -> Artifact | str:
        body = await asyncio.to_thread(self.body, facts.evidence)
        if body is None:
            return UNREADABLE
        documents = self.documents.redacting() if self.redacts(facts.watch) else self.documents
        document = await documents.read(body)
        kept = await documents.keep(facts.digest, document)
        return kept or document.missing or document.problem or NO_TEXT

    async def alike(self, facts: EvidenceFacts, vector: bytes) -> Likeness | None:
        if self.neighbours.is_behind:
            await asyncio.to_thread(self.neighbours.catch_up)
        return self.neighbours.alike(facts, vector)

    async def vector(self, facts: EvidenceFacts) -> bytes | str:
        redacts = self.redacts(facts.watch)
        if facts.content_class in DOCUMENTS:
            texts = self.text_cache.redacted() if redacts else self.text_cache
            document = await asyncio.to_thread(texts.get, facts.digest)
            text = "" if document is None else " ".join(words for _, words in document.blocks)
            return await asyncio.to_thread(_packed, text) if text else NO_TEXT
        body = await asyncio.to_thread(self.body, facts.evidence)
        if body is None:
            return UNREADABLE
        is_slow = len(body[0]) > self.worker_above or is_irregular(body[0])
        if not is_slow:
            return await asyncio.to_thread(_vector_of, body, self.scope, redacts)
        return await self.workers.run(_vector_of, body, self.scope, redacts) or TOO_MUCH


def _vector_of(body: Body, scope: str, redacts: bool) -> bytes | str:
    data, content_type, url = body
    text = extract(data, url=url, content_type=content_type, scope=scope, redacts=redacts).text
    return _packed(text) if text else NO_TEXT


def _packed(text: str) -> bytes:
    return pack_vector(embed(text))
