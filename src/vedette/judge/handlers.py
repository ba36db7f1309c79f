"""One handler per stage queue.  Each takes an order about a piece of evidence and gives what is to be written.

None reads a text that a look has read already: scout and router decide from figures, ocr and extract link what is
there, and only what is missing is made, by the same reader that looks use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from vedette.contracts.documents import Artifact
from vedette.contracts.jobs import EMBED, EXTRACT, OCR, ROUTER, SCOUT
from vedette.contracts.judging import Exhibit, VerdictWord
from vedette.contracts.ports import Clock
from vedette.contracts.stage_work import Failed, Handled, StageOrder
from vedette.contracts.words import DOCUMENTS, EvidenceId
from vedette.core.ledger import verdict_note
from vedette.core.stage_jobs import route, stage_job
from vedette.core.verdict import judge

GONE = "there is no such evidence, or retention has dropped it"
VECTOR = "vector"
Handle = Callable[[StageOrder], Awaitable[Handled | Failed]]


class Bench(Protocol):
    """Where evidence lies open: what handlers need of store, archive and readers."""

    def exhibit(self, evidence: EvidenceId) -> Exhibit | None: ...

    async def read(self, exhibit: Exhibit) -> Artifact | str:
        """The text of a document, made now and kept; or why it cannot be made."""
        ...

    async def vector(self, exhibit: Exhibit) -> Artifact | str:
        """The vector of its text, made and kept; or why there is none."""
        ...


def handlers(bench: Bench, *, clock: Clock, embeds: bool = True) -> Mapping[str, Handle]:
    """What serves each stage queue."""
    desk = _Desk(bench, clock, embeds)
    return {
        SCOUT: desk.scout,
        ROUTER: desk.route,
        OCR: desk.read,
        EXTRACT: desk.read,
        EMBED: desk.embed,
    }


@dataclass(frozen=True, slots=True)
class _Desk:
    bench: Bench
    clock: Clock
    embeds: bool

    async def scout(self, order: StageOrder) -> Handled | Failed:
        """Judges quality before anything expensive."""
        exhibit = self.bench.exhibit(order.evidence)
        if exhibit is None:
            return _nothing(order)
        verdict = judge(exhibit, now=self.clock.now())
        then = () if verdict.word is VerdictWord.SKIP else (stage_job(ROUTER, order),)
        result = {"evidenceId": str(order.evidence), "verdict": verdict.word.value, "score": verdict.score}
        note = verdict_note(exhibit, verdict)
        return Handled(result=result, then=then, verdict=verdict, note=(order.run, note))

    async def route(self, order: StageOrder) -> Handled | Failed:
        """To ocr or extract by its content class, or nowhere."""
        exhibit = self.bench.exhibit(order.evidence)
        if exhibit is None:
            return _nothing(order)
        queue = route(exhibit.content_class)
        then = () if queue is None else (stage_job(queue, order),)
        return Handled(result={"evidenceId": str(order.evidence), "route": queue or "skip"}, then=then)

    async def read(self, order: StageOrder) -> Handled | Failed:
        """Links the text: of a page it is in the evidence, of a document on the shelf.  What is missing is read now."""
        exhibit = self.bench.exhibit(order.evidence)
        if exhibit is None:
            return _nothing(order)
        result: dict[str, object] = {"evidenceId": str(order.evidence)}
        then = (stage_job(EMBED, order),) if self.embeds else ()
        if exhibit.content_class not in DOCUMENTS:
            chars = exhibit.text_chars or 0
            return Handled(result={**result, "text": "evidence", "chars": chars}, then=then)
        made = next((one for one in exhibit.artifacts if one.kind != VECTOR), None)
        new = None
        if made is None:
            read = await self.bench.read(exhibit)
            if isinstance(read, str):
                return Failed(error=read)
            made, new = read, (order.evidence, read)
        linked = {**result, "text": made.path, "kind": made.kind, "chars": made.chars}
        return Handled(result=linked, then=then, artifact=new)

    async def embed(self, order: StageOrder) -> Handled | Failed:
        """Enrichment: nothing waits for it (001 section 12.7)."""
        exhibit = self.bench.exhibit(order.evidence)
        if exhibit is None:
            return _nothing(order)
        known = next((one for one in exhibit.artifacts if one.kind == VECTOR), None)
        made = known or await self.bench.vector(exhibit)
        if isinstance(made, str):
            return Failed(error=made)
        result = {"evidenceId": str(order.evidence), "vector": made.path, "chars": made.chars}
        return Handled(result=result, artifact=None if known else (order.evidence, made))


def _nothing(order: StageOrder) -> Handled:
    """Evidence goes when its time is over; a job that comes after that has nothing to do, and is no failure."""
    return Handled(result={"evidenceId": str(order.evidence), "route": "skip", "reason": GONE})
