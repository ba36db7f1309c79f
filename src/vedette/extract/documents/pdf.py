"""PDF, page by page: text where a page has it, the page number where only OCR can tell."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.extract.documents.packages import ENCRYPTED, Blocks, clean, property_date
from vedette.extract.fields import Unreadable

SCAN_CHARS = 100  # a page with fewer may be a scan (spec 001/A.2, page by page: docs/adr/README.md)
MAX_PAGES = 5000
MAX_OBJECTS = 5000  # of a page, looked at to tell what is drawn on it
COVERED = 0.1  # a smaller share of the page is a logo or a seal
OUTLINED = 50  # so many drawn paths without text may be letters
ILLEGIBLE = 0.3  # share of characters that no font table names
IMAGE, PATH = 3, 2  # FPDF_PAGEOBJ_*


def read_pdf(body: bytes, kind: ContentClass) -> Document:
    """PDF_SCANNED when most pages need OCR; `scans` names them all."""
    pdf = opened(body)
    try:
        count = len(pdf)
        if not 0 < count <= MAX_PAGES:
            raise Unreadable(f"{count} pages are more than we read" if count else "a PDF without pages")
        blocks = Blocks()
        scans = [number for number in range(count) if _read_page(pdf, number, blocks)]
        said = pdf.get_metadata_dict()
    finally:
        pdf.close()
    return Document(
        content_class=ContentClass.PDF_SCANNED if 2 * len(scans) > count else ContentClass.PDF_TEXT,
        blocks=tuple(blocks.found),
        pages=count,
        scans=tuple(scans),
        title=clean(said.get("Title") or "")[:500],
        author=clean(said.get("Author") or "")[:500],
        created_at=property_date(said.get("CreationDate") or ""),
        modified_at=property_date(said.get("ModDate") or ""),
    )


def opened(body: bytes) -> Any:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        is_locked = "password" in str(error).lower()
        raise Unreadable(ENCRYPTED if is_locked else f"not a readable PDF: {error}"[:200]) from None


def _read_page(pdf: Any, number: int, blocks: Blocks) -> bool:
    """Adds what the page says.  True: it is a scan, or says too little to be sure that it is not."""
    import pypdfium2

    place = f"page[{number + 1}]"
    try:
        page = pdf[number]
        words = page.get_textpage()
    except pypdfium2.PdfiumError:
        raise Unreadable(f"page {number + 1} cannot be loaded") from None  # less text is not fewer words
    text = words.get_text_range()
    is_scan = (len(text.strip()) < SCAN_CHARS or not _is_legible(text)) and _is_drawn(page)
    if not is_scan or _is_legible(text):
        for paragraph in paragraphs(_lines(words, text)):
            blocks.add(place, "p", paragraph)
    words.close()
    page.close()
    return is_scan


def _is_legible(text: str) -> bool:
    """Letters without a Unicode name come out as private, replaced or control characters."""
    odd = sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" or (c < " " and c not in "\r\n\t\x02") for c in text)
    return odd <= ILLEGIBLE * max(len(text), 1)


def _is_drawn(page: Any) -> bool:
    """Is there something on the page that may be writing?  An empty page is not a scan."""
    area = max(page.get_width() * page.get_height(), 1.0)
    covered, paths = 0.0, 0
    objects = page.get_objects(filter=[IMAGE, PATH], max_depth=4)
    for one in itertools.islice(objects, MAX_OBJECTS):
        if one.type == PATH:
            paths += 1
        elif one.level:
            covered += area  # placed by a form whose scale is not known here
        else:
            left, bottom, right, top = one.get_bounds()
            covered += abs((right - left) * (top - bottom))
        if covered >= COVERED * area or paths >= OUTLINED:
            return True
    return False


def _lines(words: Any, text: str) -> Iterator[TextLine]:
    """Lines of the page with their place; without a place when pdfium counts characters in another way."""
    has_places = words.count_chars() == len(text)
    start = 0
    for raw in text.split("\n"):
        line = raw.rstrip("\r ")
        if line.strip():
            first = start + len(line) - len(line.lstrip())
            box = _box(words, first, start + len(line) - 1) if has_places else (0.0, 0.0, 0.0, 0.0)
            yield TextLine(line, *box)
        start += len(raw) + 1


def _box(words: Any, first: int, last: int) -> tuple[float, float, float, float]:
    left, bottom, _, top = words.get_charbox(first, loose=True)
    _, low, right, high = words.get_charbox(last, loose=True)
    return left, right, min(bottom, low), max(top, high)


# Lines of a page joined to paragraphs: a word more in a paragraph must not change all the lines after it.

FULL = 0.85  # a line that reaches this far right goes on in the next one
LINE_GAP = 1.8  # in heights of a line: further apart is another paragraph
ALIKE = 0.35  # of the height; a larger difference is a heading
_STARTS = re.compile(
    r"(?:[-–—•*▪]|\(?\d{1,3}[.)]|\(?[a-zčćžšđ]\)|[IVX]{1,5}\.|(?:Članak|Clanak|Article)\s\d)(?:\s|$)"
)
_STOPS = (".", "!", "?", ":", ";")
_HYPHENS = ("\x02", "\ufffe", "\u00ad")  # how pdfium marks a hyphen at the end of a line


class TextLine(NamedTuple):
    """A line with its place; y grows upwards.  Without a height its place is not known."""

    text: str
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    top: float = 0.0


def paragraphs(lines: Iterable[TextLine]) -> Iterator[str]:
    found = list(lines)
    edge = max((line.right for line in found), default=0.0)
    gathered = ""
    for number, line in enumerate(found):
        gathered = _joined(gathered, line.text)
        if number + 1 == len(found) or not _goes_on(line, found[number + 1], edge):
            yield gathered
            gathered = ""


def _joined(text: str, line: str) -> str:
    if text.endswith(_HYPHENS):
        return text[:-1] + line
    return f"{text} {line}" if text else line


def _goes_on(line: TextLine, after: TextLine, edge: float) -> bool:
    height = line.top - line.bottom
    is_over = line.text.endswith(_STOPS) and after.text[:1].isupper()
    if height <= 0 or is_over or _STARTS.match(after.text):
        return False
    is_near = 0 < line.bottom - after.bottom <= LINE_GAP * height
    is_alike = abs((after.top - after.bottom) - height) <= ALIKE * height
    return is_near and is_alike and line.right >= FULL * edge
