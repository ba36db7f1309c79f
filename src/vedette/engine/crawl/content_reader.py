"""From bytes to what they say: on the loop when that is quick, else in a worker; in the browser when only it can.

The text of a document is parsed in a limited worker, scanned pages are read by OCR, known text comes from the cache.
Nothing reaches the disk before the caller says so (`keep`): the screen comes first.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from vedette.contracts.change import Block
from vedette.contracts.copies import quick
from vedette.contracts.documents import Artifact, Document
from vedette.contracts.fetch import Extraction, Fetched
from vedette.contracts.filters import PageFilters
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import Seen, Watch
from vedette.contracts.words import DOCUMENTS, ContentClass, Outcome, Reason, SourceId
from vedette.core.change.gate import LITTLE, is_shell
from vedette.core.filters.line_steps import filter_lines, filtered_keys
from vedette.core.limits.memory_budget import SCAN, parse_limit
from vedette.core.text.redact import redacted_document
from vedette.engine.crawl.compare_states import Comparer, Snapshot, WaitingPages, unfiltered
from vedette.engine.crawl.look import Looker
from vedette.engine.workers.pool import LARGE, Rank, Workers
from vedette.evidence.text_cache import TextCache
from vedette.extract import Page, content_class, extract_compared, extract_in_worker, extract_redacted
from vedette.extract.documents import described, read_document
from vedette.extract.documents.images import render_image, render_page
from vedette.extract.documents.packages import Blocks
from vedette.extract.element_filters import misplaced
from vedette.extract.fields import Unreadable
from vedette.extract.ocr import LANGUAGES, OcrText, Tesseract, find_tesseract
from vedette.extract.page import Keeps

MAX_SCANS = 200  # THREATS: rasterise at most 200 pages
OCR_S = 900.0  # for one document
UNSURE = 10  # pages whose confidence the ledger names
TOO_MUCH = "reading it takes too much time or memory"
_TOO_MUCH = Extraction(content_class=ContentClass.OTHER, problem=TOO_MUCH)
Body = tuple[bytes, str, str]  # bytes, content type, url
UNLISTED = (None, ListerKind.CRAWL, ListerKind.PAGE)  # the links that the text came with are enough for these


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBody:
    """A body and what it says."""

    page: Page
    extraction: Extraction
    document: Document | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """What became of a page that only scripts fill.  `fetched` is None where it is taken as it came."""

    fetched: Fetched | None
    reason: Reason

    @property
    def words(self) -> str:
        return "as it came" if self.fetched is None else self.fetched.outcome.value


@dataclass(slots=True, kw_only=True)
class ContentReader:
    looker: Looker
    workers: Workers
    documents: DocumentReader
    scope: str = "main"
    worker_above: int = 256 * 1024
    renders_shells: bool = False
    waiting: WaitingPages | None = None
    redacts: Callable[[SourceId], bool] = lambda source: False
    filters: Callable[[Watch], PageFilters] = unfiltered

    def documents_of(self, watch: Watch) -> DocumentReader:
        """Who reads and keeps the documents of this watch: with personal data, or without."""
        return self.documents.redacting() if self.redacts(watch.source) else self.documents

    async def read(self, fetched: Fetched, watch: Watch, digest: bytes = b"") -> ReadBody:
        """What the answer says.  Never raises for what is in it.  `digest`: of the body, where that is known."""
        page = self._page(fetched, watch, digest)
        if page.content_class in DOCUMENTS:
            body = (fetched.body, fetched.content_type, fetched.url)
            document = await self.documents_of(watch).read(body, page.content_class)
            found = extraction_of(document, fetched.url)
            if page.filters and not (found.problem or found.missing):
                found = await asyncio.to_thread(_compared, found, document, page.filters)
            return ReadBody(page=page, extraction=found, document=document)
        if not self.is_slow(page):
            return ReadBody(page=page, extraction=page.compared)
        if page.filters:
            done = await self.workers.run(extract_compared, page, size=len(page.body))
            return ReadBody(page=page, extraction=done or _TOO_MUCH)
        there = ([page.body], page.url, page.content_type, self.scope, page.content_class)
        reads = extract_redacted if page.redacts else extract_in_worker
        done = await self.workers.run(reads, *there, size=len(page.body))
        return ReadBody(page=page, extraction=done or _TOO_MUCH)

    async def shown(self, fetched: Fetched, watch: Watch, extraction: Extraction) -> Rendered | None:
        """A page that only scripts fill, as the browser shows it; None: it is no such page.

        Without a browser it is taken as it came.  But a page that was seen whole before must not seem to have lost its
        text.
        """
        if not self.renders_shells or not is_shell(extraction, fetched.body):
            return None
        shown, seen = await self.looker.render(fetched, watch.source), watch.seen
        reason = Reason("empty_shell", note=shown.detail or "next to no text, and scripts that make the page")
        is_as_it_came = shown.outcome is Outcome.NO_BROWSER and (seen is None or seen.text_chars < LITTLE)
        return Rendered(None if is_as_it_came else shown, reason)

    def is_slow(self, page: Page, seen: Seen | None = None) -> bool:
        """Would it hold up the loop, by what came or by what it is compared with?"""
        return len(page.body) > self.worker_above or self.is_long(seen) or page.takes_long

    def is_long(self, seen: Seen | None) -> bool:
        return seen is not None and seen.text_chars > self.worker_above

    async def recalls(self, packed: Comparer, watch: Watch, document: Document | None = None) -> bool:
        """Earlier states of a document are compared by their text: is it at hand?"""
        seen = watch.seen
        is_document = document is not None or (seen is not None and seen.content_class in DOCUMENTS)
        if not is_document or not isinstance(packed.memory, Snapshot):
            return True
        bodies = await asyncio.to_thread(list, packed.memory.bodies())
        return await self.documents_of(watch).recall(bodies)

    def _page(self, fetched: Fetched, watch: Watch, digest: bytes) -> Page:
        """One that waits for its second look is not read again when the same bytes come."""
        body, url, content_type = fetched.body, fetched.url, fetched.content_type
        redacts, filters = self.redacts(watch.source), self.filters(watch)
        page = self.waiting.read(body, digest, url, content_type) if self.waiting and watch.pending else None
        if page is not None and (page.redacts, page.filters) != (redacts, filters):
            page = None
        keeps = Keeps.NOTHING if watch.lister in UNLISTED else Keeps.TREE
        if watch.seen is not None:
            keeps |= Keeps.VIEW
        if page is not None:
            return page
        page = Page.of(body, url=url, content_type=content_type, scope=self.scope, keeps=keeps)
        return page.redacting(redacts=redacts).filtering(filters)


@dataclass(slots=True, kw_only=True)
class DocumentReader:
    workers: Workers
    text_cache: TextCache | None = None  # None: nothing is kept (`vedette test`)
    languages: str = LANGUAGES
    ocr_s: float = OCR_S
    redacts: bool = False
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))  # one OCR at a time
    _tool: Tesseract | str | None = None

    def redacting(self) -> DocumentReader:
        """The same, without personal data; what it keeps has names of its own."""
        kept = None if self.text_cache is None else self.text_cache.redacted()
        return replace(self, text_cache=kept, redacts=True)

    async def read(self, body: Body, kind: ContentClass | None = None) -> Document:
        """What the document says.  Never raises for what is in it.  `kind`: its class, where that is decided."""
        data, content_type, url = body
        if self.text_cache is not None:
            kept = await asyncio.to_thread(_kept, self.text_cache, data)
            if kept is not None:
                return kept
        kind = kind or content_class(data, url=url, content_type=content_type)
        document = await self.workers.run(_read_there, data, kind, size=len(data), memory=parse_limit(kind))
        if document is None:
            return Document(content_class=kind, problem=TOO_MUCH)
        document = await self._recognised(data, document) if document.scans else document
        return await asyncio.to_thread(redacted_document, document) if self.redacts else document

    async def keep(self, digest: bytes, document: Document) -> Artifact | None:
        """Puts the text beside its evidence; None when there is nothing worth keeping."""
        if self.text_cache is None or not document.is_whole:
            return None
        return await asyncio.to_thread(self.text_cache.put, digest, document)

    async def keep_again(
        self, digest: bytes, body: Body, kind: ContentClass | None = None
    ) -> Artifact | None:
        """The text of a state that came again, where retention has dropped it; None: it is there, or cannot be made."""
        if self.text_cache is None or await asyncio.to_thread(self.text_cache.has, digest):
            return None
        return await self.keep(digest, await self.read(body, kind))

    async def recall(self, bodies: Iterable[Body]) -> bool:
        """Is the text of all these earlier states at hand?  What is not in the cache is read again."""
        for body in bodies:
            data, content_type, url = body
            kind = content_class(data, url=url, content_type=content_type)
            if kind not in DOCUMENTS:
                continue
            document = await self.read(body, kind)
            if document.scans or document.missing:
                return False
            await self.keep(hashlib.sha256(data).digest(), document)
        return True

    async def _recognised(self, data: bytes, document: Document) -> Document:
        async with self._turn:
            if self._tool is None or isinstance(self._tool, str):  # it may have been installed since
                self._tool = await find_tesseract(self.languages)
            if isinstance(self._tool, str):
                return replace(document, missing=self._tool)
            if len(document.scans) > MAX_SCANS:
                return replace(document, problem=f"{len(document.scans)} scanned pages are more than we read")
            try:
                pages = await asyncio.wait_for(self._pages(self._tool, data, document), self.ocr_s)
            except TimeoutError:
                return replace(document, problem=f"OCR was not done after {self.ocr_s:g} s")
            except Unreadable as problem:
                return replace(document, problem=str(problem))
        return await asyncio.to_thread(_with_pages, document, pages)

    async def _pages(self, tool: Tesseract, data: bytes, document: Document) -> dict[int, OcrText]:
        pages: dict[int, OcrText] = {}
        is_image = document.content_class is ContentClass.IMAGE
        for number in document.scans:
            there = (data, number, is_image)  # its process ends before OCR begins: both need room
            image = await self.workers.run(
                _render_there, *there, size=LARGE + 1, rank=Rank.BEGUN, memory=SCAN
            )
            if not isinstance(image, bytes):
                raise Unreadable(image or f"page {number + 1} cannot be drawn: {TOO_MUCH}")
            page = await tool.read(image, may_be_photo=is_image)
            if page is None:
                raise Unreadable(f"page {number + 1} cannot be read by OCR")
            pages[number] = page
        return pages


def extraction_of(document: Document, url: str) -> Extraction:
    """A document as the stages after this one know it."""
    about = {"author": document.author, "pages": str(document.pages or "")}
    return Extraction(
        content_class=document.content_class,
        text=" ".join(text for _, text in document.blocks),
        title=document.title or _heading(document),
        base=url,
        published_at=document.created_at,
        modified_at=document.modified_at,
        language=document.language,
        metadata={name: value for name, value in about.items() if value} or None,
        problem=document.problem,
        missing=document.missing,
    )


def _compared(found: Extraction, document: Document, filters: PageFilters) -> Extraction:
    """A document as its filters leave it."""
    wrong = misplaced(filters, document.content_class)
    left = filter_lines(document.blocks, filters)
    if wrong or left.unmatched:
        return replace(found, unmatched=wrong or left.unmatched)
    return replace(found, keys=filtered_keys(left.blocks, filters))


def how_read(document: Document) -> tuple[Reason, ...]:
    """How the text came about, for the ledger: nothing of what it says."""
    by_ocr = len(document.confidence)
    found = []
    if document.pages:
        found.append(Reason("pages", note=f"{document.pages}, {by_ocr} of them read by OCR"))
    unsure_first = sorted(document.confidence, key=lambda page: page[1])[:UNSURE]
    found += [Reason("ocr", note=f"page {number + 1}: {sure:g} % sure") for number, sure in unsure_first]
    if document.language:
        found.append(Reason("language", note=document.language))
    return tuple(found)


def _heading(document: Document) -> str:
    """The first line, when it is one: a document without a title in its properties is named by it."""
    first = next((text for _, text in document.blocks), "")
    return first if len(first) <= 200 else ""


def _kept(text_cache: TextCache, data: bytes) -> Document | None:
    return text_cache.get(hashlib.sha256(data).digest())


def _read_there(data: bytes, kind: ContentClass) -> Document:
    with _quietly():
        return read_document(data, kind=kind)


def _render_there(data: bytes, number: int, is_image: bool) -> bytes | str:
    """A page for OCR, or why it cannot be drawn."""
    try:
        with _quietly():
            return render_image(data, number) if is_image else render_page(data, number)
    except Unreadable as problem:
        return f"page {number + 1} cannot be drawn: {problem}"


@contextmanager
def _quietly() -> Iterator[None]:
    """Parsers in other languages print their last words; the operator's terminal is not the place for them."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _with_pages(document: Document, pages: dict[int, OcrText]) -> Document:
    """Page after page; a page keeps the text it has when OCR finds no more."""
    written: dict[str, list[Block]] = {}
    for path, text in document.blocks:
        written.setdefault(path.partition("/")[0], []).append((path, text))
    blocks = Blocks()
    for number in range(document.pages):
        place = f"page[{number + 1}]"
        texts = [text for _, text in written.get(place, ())]
        page = pages.get(number)
        if page is not None and sum(map(len, page.paragraphs)) > sum(map(len, texts)):
            texts = list(page.paragraphs)
        for text in texts:
            blocks.add(place, "p", text)
    confidence = tuple((number, page.confidence) for number, page in pages.items())
    return described(replace(document, blocks=tuple(blocks.found), scans=(), confidence=confidence))
