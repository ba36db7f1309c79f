"""PDF, page by page: text where a page has it, the page number where only OCR can tell."""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.extract.documents.marks import Blocks, clean, property_date
from vedette.extract.fields import Unreadable

SCAN_CHARS = 100  # a page with fewer may be a scan (001 A.2, page by page: DESIGN section 3)
MAX_PAGES = 5000
MAX_OBJECTS = 5000  # of a page, looked at to tell what is drawn on it
COVERED = 0.1  # a smaller share of the page is a logo or a seal
OUTLINED = 50  # so many drawn paths without text may be letters
ILLEGIBLE = 0.3  # share of characters that no font table names
FULL = 0.85  # a line that reaches this far right goes on in the next one
LINE_GAP = 1.6  # in heights of a line: further apart is another paragraph
ENCRYPTED = "encrypted: a password is asked for"
DPI = 300
MAX_PIXELS = 50_000_000  # THREATS: image and OCR bombs
_STARTS = re.compile(r"(?:[-–—•*▪]|\(?\d{1,3}[.)]|\(?[a-zčćžšđ]\)|[IVX]{1,5}\.|(?:Članak|Clanak|Article)\s\d)(?:\s|$)")
_PDFIUM_IMAGE, _PDFIUM_PATH = 3, 2


class Line(NamedTuple):
    text: str
    left: float
    right: float
    bottom: float
    top: float


def read_pdf(body: bytes, kind: ContentClass) -> Document:
    """PDF_SCANNED when most pages need OCR; `scans` names them all."""
    pdf = _opened(body)
    try:
        count = len(pdf)
        if count > MAX_PAGES:
            raise Unreadable(f"{count} pages are more than we read")
        blocks, scans = Blocks(), []
        for number in range(count):
            if _read_page(pdf, number, blocks):
                scans.append(number)
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


def render_page(body: bytes, number: int, dpi: int = DPI) -> bytes:
    """A page as a grey image (PGM), set upright when it was scanned at a slant."""
    pdf = _opened(body)
    try:
        page = pdf[number]
        size = max(page.get_width() * page.get_height(), 1.0) / 72**2
        dpi = int(min(dpi, (MAX_PIXELS / size) ** 0.5))
        slant = slant_of(_pixels(page, min(dpi, 100), 0.0))
        pixels = _pixels(page, dpi, slant)
    finally:
        pdf.close()
    height, width = pixels.shape
    return b"P5\n%d %d\n255\n" % (width, height) + pixels.tobytes()


def slant_of(pixels: np.ndarray, most: float = 5.0) -> float:
    """Degrees by which lines of text rise to the right; 0 when they are level or nothing can be told.

    The right angle makes the sharpest profile: dark pixels fall into few rows.
    """
    dark = pixels < (int(pixels.min()) + int(np.median(pixels))) // 2
    rows, columns = np.nonzero(dark)
    if not 500 <= len(rows) <= pixels.size // 3:
        return 0.0
    best = _sharpest(rows, columns, np.arange(-most, most + 0.01, 0.5))
    best = _sharpest(rows, columns, best + np.arange(-0.4, 0.41, 0.1))
    return round(float(best), 2) if abs(best) > 0.15 else 0.0


def _sharpest(rows: np.ndarray, columns: np.ndarray, angles: np.ndarray) -> float:
    def sharpness(angle: float) -> float:
        level = np.rint(rows + columns * np.tan(np.radians(angle))).astype(np.int64)
        profile = np.bincount(level - level.min()).astype(np.float64)
        return float(np.square(np.diff(profile)).sum())

    return float(max(angles, key=sharpness))


def _opened(body: bytes) -> Any:
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
        return False  # a page that cannot be loaded cannot be rendered either
    text = words.get_text_range()
    is_scan = (len(text.strip()) < SCAN_CHARS or not _is_legible(text)) and _is_drawn(page)
    if not is_scan or _is_legible(text):
        for paragraph in _paragraphs(_lines(words, text)):
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
    objects = page.get_objects(filter=[_PDFIUM_IMAGE, _PDFIUM_PATH], max_depth=4)
    for one in itertools.islice(objects, MAX_OBJECTS):
        if one.type == _PDFIUM_PATH:
            paths += 1
        elif one.level:
            covered += area  # placed by a form whose scale is not known here
        else:
            left, bottom, right, top = one.get_bounds()
            covered += abs((right - left) * (top - bottom))
        if covered >= COVERED * area or paths >= OUTLINED:
            return True
    return False


def _lines(words: Any, text: str) -> Iterator[Line]:
    """Lines of the page with their place; without a place when pdfium counts characters in another way."""
    has_places = words.count_chars() == len(text)
    start = 0
    for raw in text.split("\n"):
        line = raw.rstrip("\r ")
        if line.strip():
            first = start + len(line) - len(line.lstrip())
            box = _box(words, first, start + len(line) - 1) if has_places else (0.0, 0.0, 0.0, 0.0)
            yield Line(line, *box)
        start += len(raw) + 1


def _box(words: Any, first: int, last: int) -> tuple[float, float, float, float]:
    left, bottom, _, top = words.get_charbox(first, loose=True)
    _, low, right, high = words.get_charbox(last, loose=True)
    return left, right, min(bottom, low), max(top, high)


def _paragraphs(lines: Iterator[Line]) -> Iterator[str]:
    """Lines that go on in the next one, joined: a word more in a paragraph must not change all lines after it."""
    found = list(lines)
    edge = max((line.right for line in found), default=0.0)
    gathered = ""
    for number, line in enumerate(found):
        gathered = _joined(gathered, line.text)
        if number + 1 == len(found) or not _goes_on(line, found[number + 1], edge):
            yield gathered
            gathered = ""


def _joined(text: str, line: str) -> str:
    """pdfium marks a hyphen at the end of a line with U+0002 or U+FFFE."""
    if text.endswith(("\x02", "\ufffe", "\u00ad")):
        return text[:-1] + line
    return f"{text} {line}" if text else line


def _goes_on(line: Line, after: Line, edge: float) -> bool:
    height = line.top - line.bottom
    if height <= 0 or _STARTS.match(after.text):
        return False
    drop = line.bottom - after.bottom
    is_near = 0 < drop <= LINE_GAP * height
    is_alike = abs((after.top - after.bottom) - height) <= 0.25 * height
    return is_near and is_alike and line.right >= FULL * edge


def _pixels(page: Any, dpi: int, slant: float) -> np.ndarray:
    """The page in grey, turned by its slant around its middle.  pdfium resamples while it draws."""
    import pypdfium2
    import pypdfium2.raw as raw

    scale = dpi / 72
    width, height = max(1, round(page.get_width() * scale)), max(1, round(page.get_height() * scale))
    bitmap = pypdfium2.PdfBitmap.new_native(width, height, raw.FPDFBitmap_Gray)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
    cos, sin = float(np.cos(np.radians(slant))), float(np.sin(np.radians(slant)))
    middle_x, middle_y = width / 2, height / 2
    matrix = raw.FS_MATRIX(
        scale * cos,
        scale * sin,
        -scale * sin,
        scale * cos,
        middle_x - middle_x * cos + middle_y * sin,
        middle_y - middle_x * sin - middle_y * cos,
    )
    clip = raw.FS_RECTF(0.0, 0.0, float(width), float(height))
    flags = raw.FPDF_ANNOT | raw.FPDF_GRAYSCALE
    raw.FPDF_RenderPageBitmapWithMatrix(bitmap, page, ctypes.byref(matrix), ctypes.byref(clip), flags)
    whole = np.frombuffer(bitmap.buffer, np.uint8).reshape(height, bitmap.stride)[:, :width]
    return np.ascontiguousarray(whole)
