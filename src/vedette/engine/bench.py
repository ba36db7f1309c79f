"""Evidence laid open for stage jobs: rows of the store, bodies of the archive, texts of the shelf, the same readers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vedette.contracts.documents import Artifact
from vedette.contracts.judging import Exhibit
from vedette.contracts.words import DOCUMENTS, EvidenceId
from vedette.core.embedding import VERSION, embed
from vedette.core.weight import is_irregular
from vedette.engine.documents import TOO_MUCH, Body, DocumentDesk
from vedette.engine.workers import Workers
from vedette.evidence.shelf import Shelf
from vedette.extract import extract

UNREADABLE = "its payload cannot be read from the archive; `vedette evidence verify` says why"
NO_TEXT = "there is no text to make a vector of"
NOT_KEPT = "the disk did not take the vector"


@dataclass(slots=True, kw_only=True)
class EvidenceBench:
    """Implements `judge.Bench`."""

    exhibit: Callable[[EvidenceId], Exhibit | None]
    body: Callable[[EvidenceId], Body | None]
    shelf: Shelf
    documents: DocumentDesk
    workers: Workers
    scope: str = "main"
    worker_above: int = 256 * 1024

    async def read(self, exhibit: Exhibit) -> Artifact | str:
        body = await asyncio.to_thread(self.body, exhibit.evidence)
        if body is None:
            return UNREADABLE
        document = await self.documents.read(body)
        kept = await self.documents.keep(exhibit.digest, document)
        return kept or document.missing or document.problem or NO_TEXT

    async def vector(self, exhibit: Exhibit) -> Artifact | str:
        made = await self._vector(exhibit)
        if isinstance(made, str):
            return made
        packed, chars = made
        kept = await asyncio.to_thread(
            self.shelf.put_vector, exhibit.digest, packed, reader=VERSION, chars=chars
        )
        return kept or NOT_KEPT

    async def _vector(self, exhibit: Exhibit) -> tuple[bytes, int] | str:
        if exhibit.content_class in DOCUMENTS:
            document = await asyncio.to_thread(self.shelf.get, exhibit.digest)
            text = "" if document is None else " ".join(words for _, words in document.blocks)
            return await asyncio.to_thread(_packed, text) if text else NO_TEXT
        body = await asyncio.to_thread(self.body, exhibit.evidence)
        if body is None:
            return UNREADABLE
        is_slow = len(body[0]) > self.worker_above or is_irregular(body[0])
        if not is_slow:
            return await asyncio.to_thread(_vector_of, body, self.scope)
        return await self.workers.run(_vector_of, body, self.scope) or TOO_MUCH


def _vector_of(body: Body, scope: str) -> tuple[bytes, int] | str:
    data, content_type, url = body
    text = extract(data, url=url, content_type=content_type, scope=scope).text
    return _packed(text) if text else NO_TEXT


def _packed(text: str) -> tuple[bytes, int]:
    """Half precision, little-endian: 512 bytes."""
    return embed(text).astype(np.dtype("<f2")).tobytes(), len(text)
