"""Files that are no HTML: PDF, DOCX, XLSX, JSON and XML, written byte by byte so that they are always the same.

Presentations and scanned pages too.  The older and the free formats are in `office.py`; `MAKERS` lists all of them.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vedette.livingweb.office import Lines, compound, make_doc, make_ods, make_odt, make_rtf, make_xls

# Letters that WinAnsi lacks, by glyph name, so that a reader gets the Croatian text back (Adobe Glyph List).
_GLYPHS = {"č": "ccaron", "Č": "Ccaron", "ć": "cacute", "Ć": "Cacute", "đ": "dcroat", "Đ": "Dcroat"}
_FIRST_CODE = 0x80


def make_pdf(title: str, lines: Lines) -> bytes:
    """A one-page PDF 1.4 whose text can be extracted."""
    text = b"BT /F1 10 Tf 40 800 Td 13 TL\n"
    text += b"".join(
        b"(" + _pdf_text(part) + b") Tj T*\n" for line in (title, *lines) for part in _wrapped(line)
    )
    differences = " ".join(f"/{name}" for name in _GLYPHS.values())
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%bET\nendstream" % (len(text) + 2, text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /Type /Encoding "
        b"/BaseEncoding /WinAnsiEncoding /Differences [%d %b] >> >>" % (_FIRST_CODE, differences.encode()),
    )
    return pdf_file(objects)


def make_docx(title: str, lines: Lines) -> bytes:
    rows = "".join(f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in (title, *lines))
    body = f'<w:document xmlns:w="{_WORD}"><w:body>{rows}</w:body></w:document>'
    return package("word/document.xml", body, f"{OFFICE}.wordprocessingml.document.main+xml")


def make_xlsx(title: str, lines: Lines) -> bytes:
    cells = "".join(
        f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{escape(line)}</t></is></c></row>'
        for n, line in enumerate((title, *lines), 1)
    )
    sheet = f'<worksheet xmlns="{_SHEET}"><sheetData>{cells}</sheetData></worksheet>'
    book = (
        f'<workbook xmlns="{_SHEET}" xmlns:r="{LINKS}"><sheets>'
        '<sheet name="List1" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    link = _relations("worksheet", "worksheets/sheet1.xml")
    more = {"xl/worksheets/sheet1.xml": sheet, "xl/_rels/workbook.xml.rels": link}
    return package("xl/workbook.xml", book, f"{OFFICE}.spreadsheetml.sheet.main+xml", more)


def make_xml(title: str, lines: Lines) -> bytes:
    entries = "".join(f'<odredba broj="{n}">{escape(line)}</odredba>' for n, line in enumerate(lines, 1))
    return f"{_XML}<propis><naslov>{escape(title)}</naslov>{entries}</propis>".encode()


def make_json_ld(title: str, lines: Lines) -> bytes:
    said = {"@context": "https://schema.org", "@type": "Legislation", "name": title, "hasPart": list(lines)}
    return json.dumps(said, ensure_ascii=False, indent=1).encode()


def make_json(title: str, lines: Lines) -> bytes:
    entries = [{"no": number, "text": line} for number, line in enumerate(lines, 1)]
    return json.dumps({"title": title, "paragraphs": entries}, ensure_ascii=False, indent=1).encode()


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "application/vnd.openxmlformats-officedocument"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def _pdf_text(line: str) -> bytes:
    codes = {letter: _FIRST_CODE + place for place, letter in enumerate(_GLYPHS)}
    plain = bytearray()
    for letter in line:
        plain += bytes([codes[letter]]) if letter in codes else letter.encode("cp1252", "replace")
    return bytes(plain).replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _wrapped(line: str, width: int = 95) -> list[str]:
    rows, row = [], ""
    for word in line.split():
        if len(row) + len(word) >= width:
            rows.append(row)
            row = ""
        row = f"{row} {word}".strip()
    return [*rows, row]


def pdf_file(objects: tuple[bytes, ...]) -> bytes:
    out, offsets = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + head + table + tail


def _relations(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{LINKS}/{kind}" Target="{target}"/></Relationships>'
    )


def package(main: str, body: str, content_type: str, more: dict[str, str] | None = None) -> bytes:
    sheet_type = f"{OFFICE}.spreadsheetml.worksheet+xml"
    types = (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="{sheet_type}"/>'
        f'<Override PartName="/{main}" ContentType="{content_type}"/></Types>'
    )
    parts = {"[Content_Types].xml": types, "_rels/.rels": _relations("officeDocument", main), main: body}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in (parts | (more or {})).items():
            entry = zipfile.ZipInfo(name, date_time=(2026, 1, 5, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            package.writestr(entry, _XML + text)
    return out.getvalue()


# PPTX and PPT, one slide after another, written byte by byte: MS-PPT over an OLE compound file, and its successor.

_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SHOW = "http://schemas.openxmlformats.org/presentationml/2006/main"
_BOX = 0xF  # version of a record that holds records
_DOCUMENT, _SLIDE_TEXTS, _SLIDE, _TEXT_KIND, _TEXT, _USER = 0x03E8, 0x0FF0, 0x03F3, 0x0F9F, 0x0FA0, 0x0FF6
_BODY_TEXT = 4


def make_pptx(title: str, lines: Lines) -> bytes:
    slides = {f"ppt/slides/slide{n}.xml": _slide(line) for n, line in enumerate((title, *lines), 1)}
    show = f'<p:presentation xmlns:p="{_SHOW}" xmlns:r="{LINKS}"/>'
    return package("ppt/presentation.xml", show, f"{OFFICE}.presentationml.presentation.main+xml", slides)


def make_ppt(title: str, lines: Lines) -> bytes:
    """The texts of all slides as the document record lists them."""
    texts = b"".join(
        _record(_SLIDE, bytes(20))
        + _record(_TEXT_KIND, struct.pack("<I", _BODY_TEXT))
        + _record(_TEXT, line.encode("utf-16-le"))
        for line in (title, *lines)
    )
    document = _record(_DOCUMENT, _record(_SLIDE_TEXTS, texts, version=_BOX), version=_BOX)
    return compound({"PowerPoint Document": document, "Current User": _record(_USER, bytes(24))})


def _slide(line: str) -> str:
    text = f"<p:txBody><a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p></p:txBody>"
    tree = f"<p:cSld><p:spTree><p:sp>{text}</p:sp></p:spTree></p:cSld>"
    return f'<p:sld xmlns:p="{_SHOW}" xmlns:a="{_DRAWING}">{tree}</p:sld>'


def _record(kind: int, data: bytes, *, version: int = 0) -> bytes:
    return struct.pack("<HHI", version, kind, len(data)) + data


# Scanned pages: letters as ink on paper, laid askew on the glass, with the noise of the scanner.  No text inside.

DPI = 200
WIDTH, HEIGHT = 1654, 2339  # A4
MARGIN, LEADING, SPACE = 160, 50, 11
SHEAR = 90  # lines fall by one pixel in so many: 0.6 degrees
PAPER, INK = 245, 225


def make_scan(title: str, lines: Lines) -> bytes:
    """A PDF of one image per page.  The same text always gives the same bytes."""
    rows = [row for line in (title, *lines) for row in (*_wrapped_letters(line), "")]
    fits = (HEIGHT - 2 * MARGIN) // LEADING
    pages = [_page(rows[at : at + fits], at) for at in range(0, len(rows), fits)]
    return _pdf(pages)


def _wrapped_letters(line: str) -> list[str]:
    _, widths, _ = _glyphs()
    rows, row, used = [], "", 0
    for word in line.split():
        size = sum(widths.get(letter, SPACE) for letter in word) + SPACE
        if row and used + size > WIDTH - 2 * MARGIN:
            rows.append(row)
            row, used = "", 0
        row, used = f"{row} {word}".strip(), used + size
    return [*rows, row]


def _page(rows: list[str], seed: int) -> np.ndarray:
    starts, widths, ink = _glyphs()
    page = np.zeros((HEIGHT, WIDTH), np.float32)
    for number, row in enumerate(rows):
        x, y = MARGIN, MARGIN + number * LEADING
        for letter in row:
            width = widths.get(letter, SPACE)
            if letter in starts and x + width < WIDTH:
                glyph = ink[:, starts[letter] : starts[letter] + width]
                page[y : y + len(glyph), x : x + width] = glyph
            x += width
    askew = np.empty_like(page)
    for x in range(0, WIDTH, SHEAR):
        askew[:, x : x + SHEAR] = np.roll(page[:, x : x + SHEAR], x // SHEAR, axis=0)
    noise = np.random.default_rng(seed).normal(0, 6, page.shape)
    return np.clip(PAPER - INK * askew / 15 + noise, 0, 255).astype(np.uint8) & 0xF0


@cache
def _glyphs() -> tuple[dict[str, int], dict[str, int], np.ndarray]:
    """Where each letter starts in the strip of ink, how wide it is, and the strip (tools/glyphs.py)."""
    with np.load(Path(__file__).with_name("glyphs.npz"), allow_pickle=False) as kept:
        letters, sizes, ink = str(kept["letters"]), kept["widths"].astype(int), kept["ink"]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    widths = dict(zip(letters, sizes.tolist(), strict=True))
    return dict(zip(letters, starts.tolist(), strict=True)), widths, ink


def _pdf(pages: list[np.ndarray]) -> bytes:
    wide, high = WIDTH * 72 // DPI, HEIGHT * 72 // DPI
    kids = b" ".join(b"%d 0 R" % (3 + 3 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, len(pages)),
    ]
    for number, page in enumerate(pages):
        first = 3 + 3 * number
        drawn = b"q %d 0 0 %d 0 0 cm /I Do Q" % (wide, high)
        data = zlib.compress(page.tobytes(), 6)
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "
            b"/Resources << /XObject << /I %d 0 R >> >> >>" % (wide, high, first + 1, first + 2),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn),
            b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray "
            b"/BitsPerComponent 8 /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream"
            % (WIDTH, HEIGHT, len(data), data),
        ]
    return pdf_file(tuple(objects))


# Every kind of file that a page may be: what it is served as, how its name ends, and who makes it.


class Maker(NamedTuple):
    content_type: str
    extension: str
    make: Callable[[str, tuple[str, ...]], bytes]


MAKERS = {
    "pdf": Maker("application/pdf", "pdf", make_pdf),
    "scan": Maker("application/pdf", "pdf", make_scan),
    "docx": Maker(f"{OFFICE}.wordprocessingml.document", "docx", make_docx),
    "xlsx": Maker(f"{OFFICE}.spreadsheetml.sheet", "xlsx", make_xlsx),
    "doc": Maker("application/msword", "doc", make_doc),
    "xls": Maker("application/vnd.ms-excel", "xls", make_xls),
    "odt": Maker("application/vnd.oasis.opendocument.text", "odt", make_odt),
    "rtf": Maker("application/rtf", "rtf", make_rtf),
    "ods": Maker("application/vnd.oasis.opendocument.spreadsheet", "ods", make_ods),
    "ppt": Maker("application/vnd.ms-powerpoint", "ppt", make_ppt),
    "pptx": Maker(f"{OFFICE}.presentationml.presentation", "pptx", make_pptx),
    "json": Maker("application/json", "json", make_json),
    "jsonld": Maker("application/ld+json", "jsonld", make_json_ld),
    "xml": Maker("application/xml", "xml", make_xml),
}
