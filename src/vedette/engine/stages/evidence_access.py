"""Evidence laid open for stage jobs: rows of the store, bodies of the archive, texts of the cache, the same readers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from vedette.contracts.documents import Artifact
from vedette.contracts.verdict import EvidenceFacts, Likeness
from vedette.contracts.words import DOCUMENTS, EvidenceId
from vedette.core.judging.embedding import embed, pack_vector
from vedette.core.text.parse_cost import is_irregular
from vedette.engine.crawl.content_reader import TOO_MUCH, Body, DocumentReader
from vedette.engine.stages.neighbours import Neighbours
from vedette.engine.workers.pool import Workers
from vedette.evidence.text_cache import TextCache
from vedette.extract import extract

UNREADABLE = "its payload cannot be read from the archive; `vedette evidence verify` says why"
NO_TEXT = "there is no text to make a vector of"


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

    async def read(self, facts: EvidenceFacts) -> Artifact | str:
        body = await asyncio.to_thread(self.body, facts.evidence)
        if body is None:
            return UNREADABLE
        document = await self.documents.read(body)
        kept = await self.documents.keep(facts.digest, document)
        return kept or document.missing or document.problem or NO_TEXT

    async def alike(self, facts: EvidenceFacts, vector: bytes) -> Likeness | None:
        if self.neighbours.is_behind:
            await asyncio.to_thread(self.neighbours.catch_up)
        return self.neighbours.alike(facts, vector)

    async def vector(self, facts: EvidenceFacts) -> bytes | str:
        if facts.content_class in DOCUMENTS:
            document = await asyncio.to_thread(self.text_cache.get, facts.digest)
            text = "" if document is None else " ".join(words for _, words in document.blocks)
            return await asyncio.to_thread(_packed, text) if text else NO_TEXT
        body = await asyncio.to_thread(self.body, facts.evidence)
        if body is None:
            return UNREADABLE
        is_slow = len(body[0]) > self.worker_above or is_irregular(body[0])
        if not is_slow:
            return await asyncio.to_thread(_vector_of, body, self.scope)
        return await self.workers.run(_vector_of, body, self.scope) or TOO_MUCH


def _vector_of(body: Body, scope: str) -> bytes | str:
    data, content_type, url = body
    text = extract(data, url=url, content_type=content_type, scope=scope).text
    return _packed(text) if text else NO_TEXT


def _packed(text: str) -> bytes:
    return pack_vector(embed(text))
