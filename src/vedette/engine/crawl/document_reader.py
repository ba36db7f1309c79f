"""The text of a document: parsed in a limited worker, scanned pages read by OCR, known text taken from the cache.

Nothing reaches the disk before the caller says so (`keep`): the screen comes first.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from vedette.contracts.change import Block
from vedette.contracts.documents import Artifact, Document
from vedette.contracts.fetch import Extraction
from vedette.contracts.words import DOCUMENTS, ContentClass, Reason
from vedette.core.limits.memory_budget import SCAN, parse_limit
from vedette.engine.workers.pool import LARGE, Workers
from vedette.engine.workers.turns import Rank
from vedette.evidence.text_cache import TextCache
from vedette.extract import content_class
from vedette.extract.documents import described, read_document
from vedette.extract.documents.images import render_image
from vedette.extract.documents.marks import Blocks
from vedette.extract.documents.scans import render_page
from vedette.extract.fields import Unreadable
from vedette.extract.ocr import LANGUAGES, OcrText, Tesseract, find_tesseract

MAX_SCANS = 200  # THREATS: rasterise at most 200 pages
OCR_S = 900.0  # for one document
UNSURE = 10  # pages whose confidence the ledger names
TOO_MUCH = "reading it takes too much time or memory"
Body = tuple[bytes, str, str]  # bytes, content type, url


@dataclass(slots=True, kw_only=True)
class DocumentReader:
    workers: Workers
    text_cache: TextCache | None = None  # None: nothing is kept (`vedette test`)
    languages: str = LANGUAGES
    ocr_s: float = OCR_S
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))  # one OCR at a time
    _tool: Tesseract | str | None = None

    async def read(self, body: Body) -> Document:
        """What the document says.  Never raises for what is in it."""
        data, content_type, url = body
        if self.text_cache is not None:
            kept = await asyncio.to_thread(_kept, self.text_cache, data)
            if kept is not None:
                return kept
        there, kind = (data, url, content_type), content_class(data, url=url, content_type=content_type)
        document = await self.workers.run(_read_there, *there, size=len(data), memory=parse_limit(kind))
        if document is None:
            return Document(content_class=kind, problem=TOO_MUCH)
        return await self._recognised(data, document) if document.scans else document

    async def keep(self, digest: bytes, document: Document) -> Artifact | None:
        """Puts the text beside its evidence; None when there is nothing worth keeping."""
        if self.text_cache is None or not document.is_whole:
            return None
        return await asyncio.to_thread(self.text_cache.put, digest, document)

    async def keep_again(self, digest: bytes, body: Body) -> Artifact | None:
        """The text of a state that came again, where retention has dropped it; None: it is there, or cannot be made."""
        if self.text_cache is None or await asyncio.to_thread(self.text_cache.has, digest):
            return None
        return await self.keep(digest, await self.read(body))

    async def recall(self, bodies: Iterable[Body]) -> bool:
        """Is the text of all these earlier states at hand?  What is not in the cache is read again."""
        for body in bodies:
            data, content_type, url = body
            if content_class(data, url=url, content_type=content_type) not in DOCUMENTS:
                continue
            document = await self.read(body)
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


def _read_there(data: bytes, url: str, content_type: str) -> Document:
    with _quietly():
        return read_document(data, url=url, content_type=content_type)


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
