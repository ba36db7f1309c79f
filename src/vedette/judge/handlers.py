"""One handler per stage queue.  Each takes an order about a piece of evidence and gives what is to be written.

None reads a text that a look has read already: scout and router decide from figures, ocr and extract link what is
there, and only what is missing is made, by the same reader that looks use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from vedette.contracts.documents import Artifact
from vedette.contracts.jobs import EMBED, EXTRACT, OCR, ROUTER, SCOUT, Failed, Handled, StageOrder
from vedette.contracts.ports import Clock
from vedette.contracts.verdict import EvidenceFacts, Likeness, VerdictWord
from vedette.contracts.words import DOCUMENTS
from vedette.core.evidence.ledger import verdict_note
from vedette.core.judging.embedding import VERSION
from vedette.core.judging.verdict import judge, route, stage_job

GONE = "there is no such evidence, or retention has dropped it"
Handle = Callable[[StageOrder, EvidenceFacts], Awaitable[Handled | Failed]]


class EvidenceReader(Protocol):
    """Where evidence lies open: what handlers need of archive and readers."""

    async def read(self, facts: EvidenceFacts) -> Artifact | str:
        """The text of a document, made now and kept; or why it cannot be made."""
        ...

    async def vector(self, facts: EvidenceFacts) -> bytes | str:
        """The vector of its text, made now; or why there is none."""
        ...

    async def alike(self, facts: EvidenceFacts, vector: bytes) -> Likeness | None:
        """Evidence of another target that says nearly the same."""
        ...


def handlers(reader: EvidenceReader, *, clock: Clock, embeds: bool = True) -> Mapping[str, Handle]:
    """What serves each stage queue."""
    stage = _StageHandlers(reader, clock, embeds)
    return {
        SCOUT: stage.scout,
        ROUTER: stage.route,
        OCR: stage.read,
        EXTRACT: stage.read,
        EMBED: stage.embed,
    }


@dataclass(frozen=True, slots=True)
class _StageHandlers:
    reader: EvidenceReader
    clock: Clock
    embeds: bool

    async def scout(self, order: StageOrder, facts: EvidenceFacts) -> Handled | Failed:
        """Judges quality before anything expensive."""
        verdict = judge(facts, now=self.clock.now())
        then = () if verdict.word is VerdictWord.SKIP else (stage_job(ROUTER, order),)
        result = {"evidenceId": str(order.evidence), "verdict": verdict.word.value, "score": verdict.score}
        note = verdict_note(facts, verdict)
        return Handled(result=result, then=then, verdict=verdict, note=(order.run, note))

    async def route(self, order: StageOrder, facts: EvidenceFacts) -> Handled | Failed:
        """To ocr or extract by its content class, or nowhere."""
        queue = route(facts.content_class)
        then = () if queue is None else (stage_job(queue, order),)
        return Handled(result={"evidenceId": str(order.evidence), "route": queue or "skip"}, then=then)

    async def read(self, order: StageOrder, facts: EvidenceFacts) -> Handled | Failed:
        """Links the text: of a page it is in the evidence, of a document in the cache.  What is missing is read."""
        result: dict[str, object] = {"evidenceId": str(order.evidence)}
        then = (stage_job(EMBED, order),) if self.embeds else ()
        if facts.content_class not in DOCUMENTS:
            chars = facts.text_chars or 0
            return Handled(result={**result, "text": "evidence", "chars": chars}, then=then)
        made = next(iter(facts.artifacts), None)
        new = None
        if made is None:
            read = await self.reader.read(facts)
            if isinstance(read, str):
                return Failed(error=read)
            made, new = read, (order.evidence, read)
        linked = {**result, "text": made.path, "kind": made.kind, "chars": made.chars}
        return Handled(result=linked, then=then, artifact=new)

    async def embed(self, order: StageOrder, facts: EvidenceFacts) -> Handled | Failed:
        """Enrichment: nothing waits for it (spec 001/12.7).  Most looks have made the vector of what they read."""
        made = facts.vector or await self.reader.vector(facts)
        if isinstance(made, str):
            return Failed(error=made)
        result: dict[str, object] = {"evidenceId": str(order.evidence), "vector": VERSION}
        near = await self.reader.alike(facts, made)
        if near is not None:
            result |= {"similarEvidenceId": str(near.other), "similarity": round(near.share, 4)}
        new = None if facts.vector else (order.evidence, made)
        return Handled(result=result, vector=new, likeness=near)


def nothing(order: StageOrder) -> Handled:
    """Evidence goes when its time is over; a job that comes after that has nothing to do, and is no failure."""
    return Handled(result={"evidenceId": str(order.evidence), "route": "skip", "reason": GONE})
