"""From bytes to what they say: on the loop when that is quick, else in a worker; in the browser when only it can."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from vedette.contracts.fetch import Extraction
from vedette.contracts.watch import Seen
from vedette.contracts.words import DOCUMENTS, ContentClass, Outcome, Reason
from vedette.core.text.parse_cost import is_irregular
from vedette.core.text.shell import LITTLE, is_shell
from vedette.engine.crawl.compare_states import Comparer
from vedette.engine.crawl.document_reader import TOO_MUCH, DocumentReader, extraction_of
from vedette.engine.crawl.look import Looker
from vedette.engine.crawl.look_record import LookRecord
from vedette.engine.crawl.past_states import Snapshot
from vedette.engine.workers.pool import Workers
from vedette.extract import content_class, extract, extract_in_worker


@dataclass(slots=True, kw_only=True)
class ContentReader:
    looker: Looker
    workers: Workers
    documents: DocumentReader
    scope: str = "main"
    worker_above: int = 256 * 1024
    renders_shells: bool = False

    async def read(self, record: LookRecord) -> Extraction:
        """What the answer says.  Never raises for what is in it."""
        fetched, scope = record.fetched, self.scope
        if content_class(fetched.body, url=fetched.url, content_type=fetched.content_type) in DOCUMENTS:
            record.document = await self.documents.read((fetched.body, fetched.content_type, fetched.url))
            return extraction_of(record.document, fetched.url)
        if not self.is_slow(fetched.body, None):
            return extract(fetched.body, url=fetched.url, content_type=fetched.content_type, scope=scope)
        there = ([fetched.body], fetched.url, fetched.content_type, scope)
        done = await self.workers.run(extract_in_worker, *there, size=len(fetched.body))
        return done or Extraction(content_class=ContentClass.OTHER, problem=TOO_MUCH)

    async def shows(self, record: LookRecord, extraction: Extraction) -> bool:
        """Takes a page that only scripts fill as the browser shows it.

        False: it is no such page, or there is no browser and it is taken as it came.  But a page that was seen whole
        before must not seem to have lost its text.
        """
        if not self.renders_shells or not is_shell(extraction, record.fetched.body):
            return False
        shown, seen = await self.looker.render(record.fetched, record.watch.source), record.watch.seen
        reason = Reason("empty_shell", note=shown.detail or "next to no text, and scripts that make the page")
        if shown.outcome is Outcome.NO_BROWSER and (seen is None or seen.text_chars < LITTLE):
            record.decide("render", (reason,), output="as it came")
            return False
        record.decide("render", (reason,), output=shown.outcome.value)
        record.shown(shown)
        return True

    def is_slow(self, body: bytes, seen: Seen | None) -> bool:
        """Would it hold up the loop, by what came or by what it is compared with?"""
        most = self.worker_above
        is_large = len(body) > most or (seen is not None and seen.text_chars > most)
        return is_large or is_irregular(body)

    async def recalls(self, packed: Comparer, record: LookRecord) -> bool:
        """Earlier states of a document are compared by their text: is it at hand?"""
        seen = record.watch.seen
        is_document = record.document is not None or (seen is not None and seen.content_class in DOCUMENTS)
        if not is_document or not isinstance(packed.memory, Snapshot):
            return True
        bodies = await asyncio.to_thread(list, packed.memory.bodies())
        return await self.documents.recall(bodies)
