"""Documents made at test time, whole and broken.  DOCX by python-docx; the rest by writers that share no code with
our readers."""

from __future__ import annotations

import io
import random
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import docx
import matplotlib
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from vedette.config.model import is_ci
from vedette.extract.ocr import REMEDY
from vedette.livingweb.documents import MAKERS, make_pdf, make_ppt, make_pptx, make_xlsx
from vedette.livingweb.office import make_doc, make_ods, make_odt, make_rtf, make_xls

# In CI it is there or the tests fail; elsewhere they are named as not run (tests/conftest.py).
needs_tesseract = pytest.mark.skipif(
    shutil.which("tesseract") is None and not is_ci(), reason=f"NOT RUN, tesseract is missing: {REMEDY}"
)
URL = "http://uprava.example/dokumenti/pravilnik"
TITLE = "Pravilnik o čuđenju šume"
LINES = (
    "Na temelju članka 89. Ustava donosim odluku o proglašenju Zakona o porezu na dohodak.",
    "Porezni obveznik dužan je podnijeti prijavu do 15. siječnja 2026., uz predujam od 24,5 % osnovice.",
    "Šumarski savjetnik Đuro Žgela iz Čakovca pregledao je četrdeset i pet općina te utvrdio nedostatke.",
    "Iznimno, fizička osoba koja obavlja djelatnost iznajmljivanja ima pravo na umanjenje obveze.",
    "Žalba se podnosi u roku od petnaest dana nadležnom upravnom tijelu, neposredno ili poštom.",
    "Ova odluka stupa na snagu osmoga dana od dana objave u Narodnim novinama.",
)
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"


def word_file(*, edit: Callable[[docx.document.Document], None] | None = None) -> bytes:
    """A heading, paragraphs, a table and properties, as Word would keep them."""
    made = docx.Document()
    made.core_properties.title, made.core_properties.author = TITLE, "Ana Čović"
    made.core_properties.created = datetime(2026, 1, 12, 9, 30)
    made.add_heading(TITLE, level=1)
    for line in LINES[:2]:
        made.add_paragraph(line)
    table = made.add_table(rows=0, cols=2)
    for row in (("Obveza", "Iznos"), ("Pristojba", "1.250,00 €")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    made.add_paragraph(LINES[2])
    if edit is not None:
        edit(made)
    return saved(made)


def saved(made: docx.document.Document) -> bytes:
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def scanned(
    dpi: int, *, seed: int = 1, font: str = "DejaVuSerif.ttf", skew: float = 1.5, noise: float = 18.0
) -> bytes:
    """A page of Croatian text as a scanner gives it: at a slant, blurred, noisy, with specks, as JPEG in a PDF."""
    width, height = int(8.27 * dpi), int(11.69 * dpi)
    letters = ImageFont.truetype(str(FONTS / font), int(11 * dpi / 72))
    page = Image.new("L", (width, height), 250)
    pen, y = ImageDraw.Draw(page), int(0.9 * dpi)
    for row in _wrapped(letters, width - int(1.8 * dpi)):
        pen.text((int(0.9 * dpi), y), row, font=letters, fill=25)
        y += int(11 * dpi / 72 * 1.45)
    page = page.rotate(skew, resample=Image.Resampling.BICUBIC, fillcolor=250)
    page = page.filter(ImageFilter.GaussianBlur(0.7 * dpi / 150))
    chance = np.random.default_rng(seed)
    ink = np.asarray(page).astype(np.float64) + chance.normal(0, noise, (height, width))
    specks = chance.random((height, width))
    ink[specks < 0.002], ink[specks > 0.998] = 0, 255
    out = io.BytesIO()
    Image.fromarray(np.clip(ink, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=75)
    return image_pdf([(out.getvalue(), width, height, dpi)])


def image_pdf(images: list[tuple[bytes, int, int, int]], *, text: str = "") -> bytes:
    """JPEG pages; with `text`, one page of text before them."""
    pages: list[tuple[bytes, bytes, bytes]] = []
    for data, width, height, dpi in images:
        wide, high = width * 72 / dpi, height * 72 / dpi
        picture = (
            b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 "
            b"/Filter /DCTDecode /Length %d >>\nstream\n%b\nendstream" % (width, height, len(data), data)
        )
        box = b"/MediaBox [0 0 %f %f] /Resources << /XObject << /I %%d 0 R >> >>" % (wide, high)
        pages.append((box, b"q %f 0 0 %f 0 0 cm /I Do Q" % (wide, high), picture))
    if text:
        font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
        box = b"/MediaBox [0 0 595 842] /Resources << /Font << /F %d 0 R >> >>"
        rows = b"".join(b"(%b) Tj T*\n" % row.encode("cp1252") for row in text.split("\n"))
        pages.insert(0, (box, b"BT /F 11 Tf 50 780 Td 14 TL\n" + rows + b"ET", font))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for box, drawn, more in pages:
        first = len(objects) + 1
        kids.append(b"%d 0 R" % first)
        objects += [
            b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R %b >>" % (first + 1, box % (first + 2)),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn),
            more,
        ]
    objects[1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b" ".join(kids), len(kids))
    return pdf_of(objects)


def jpeg_of(pdf: bytes) -> tuple[bytes, int, int, int]:
    """The picture of a page of `scanned(150)`, for `image_pdf`."""
    start = pdf.index(b"\xff\xd8\xff")
    return pdf[start : pdf.index(b"\nendstream", start)], int(8.27 * 150), int(11.69 * 150), 150


def pdf_of(objects: list[bytes], trailer: bytes = b"") -> bytes:
    out, offsets = b"%PDF-1.6\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return (
        out
        + b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, table)
        + b"trailer\n<< /Size %d /Root 1 0 R %b >>\nstartxref\n%d\n%%%%EOF\n"
        % (len(objects) + 1, trailer, len(out))
    )


def _wrapped(font: ImageFont.FreeTypeFont, width: int) -> Iterator[str]:
    for line in LINES:
        row = ""
        for word in line.split():
            longer = f"{row} {word}".strip()
            if row and font.getlength(longer) > width:
                yield row
                longer = word
            row = longer
        yield row
        yield ""


WHOLE: dict[str, Callable[[], bytes]] = {
    "pdf": lambda: make_pdf(TITLE, LINES),
    "docx": word_file,
    "xlsx": lambda: make_xlsx(TITLE, LINES),
    "odt": lambda: make_odt(TITLE, LINES),
    "rtf": lambda: make_rtf(TITLE, LINES),
    "doc": lambda: make_doc(TITLE, LINES),
    "xls": lambda: make_xls(TITLE, LINES),
    "ods": lambda: make_ods(TITLE, LINES),
    "ppt": lambda: make_ppt(TITLE, LINES),
    "pptx": lambda: make_pptx(TITLE, LINES),
}
TYPES = {kind: maker.content_type for kind, maker in MAKERS.items()}


def truncated(body: bytes, chance: random.Random) -> bytes:
    return body[: chance.randrange(1, len(body))]


def flipped(body: bytes, chance: random.Random) -> bytes:
    hurt = bytearray(body)
    for _ in range(chance.randrange(1, 40)):
        hurt[chance.randrange(len(hurt))] ^= 1 << chance.randrange(8)
    return bytes(hurt)


def shuffled(body: bytes, chance: random.Random) -> bytes:
    """A stretch of it copied somewhere else."""
    size = chance.randrange(1, max(2, len(body) // 3))
    start, to = chance.randrange(len(body) - size + 1), chance.randrange(len(body))
    return body[:to] + body[start : start + size] + body[to:]


DAMAGES = (truncated, flipped, shuffled)


def package(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return out.getvalue()


def free_sheet() -> bytes:
    """ODS, as LibreOffice spells it."""
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    cell = '<table:table-cell office:value-type="{kind}" {value}><text:p>{text}</text:p></table:table-cell>'
    rows = (
        cell.format(kind="string", value="", text="EUR")
        + cell.format(kind="float", value='office:value="7.5345"', text="7,5345")
        + cell.format(kind="date", value='office:date-value="2026-01-12"', text="12.01.2026."),
        cell.format(kind="string", value="", text="Šuma")
        + cell.format(kind="float", value='office:value="3"', text="3"),
    )
    lines = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = (
        f"<office:document-content {names}><office:body><office:spreadsheet>"
        f'<table:table table:name="Tečajna lista">{lines}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, text in (("mimetype", kind), ("content.xml", content), ("META-INF/manifest.xml", manifest)):
            made.writestr(name, text)
    return out.getvalue()


def _sheet(cells: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(make_xlsx(TITLE, LINES))) as good:
        parts = {name: good.read(name) for name in good.namelist()}
    parts["xl/worksheets/sheet1.xml"] = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        + cells
        + b"</sheetData></worksheet>"
    )
    return package(parts)


_W = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'


def _page(more: bytes, content: bytes) -> list[bytes]:
    return [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R %b >>" % more,
        content,
    ]


def _stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), more, data)


BOMBS: dict[str, Callable[[], bytes]] = {  # built to take time or memory, or to lead a parser in a circle
    "zip bomb.docx": lambda: package({"word/document.xml": _W + bytes(300_000_000)}),
    "many files.docx": lambda: package({f"word/document{n}.xml": b"" for n in range(25_000)}),
    "deep tables.docx": lambda: package(
        {"word/document.xml": _W + b"<w:tbl><w:tr><w:tc>" * 20_000 + b"<w:p/>"}
    ),
    "entities.docx": lambda: package(
        {
            "word/document.xml": b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(b'<!ENTITY a%d "%b">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12))
            + b"]>"
            + _W
            + b"<w:p><w:r><w:t>&a11;</w:t></w:r></w:p></w:body></w:document>"
        }
    ),
    "far cell.xlsx": lambda: _sheet(
        b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    ),
    "sheet bomb.xlsx": lambda: _sheet(b'<row><c t="inlineStr"><is><t>x</t></is></c></row>' * 3_000_000),
    "repeated rows.ods": lambda: package(
        {
            "mimetype": b"application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": b"<manifest/>",
            "content.xml": b'<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
            b'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
            b'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
            b'<table:table table:name="a"><table:table-row table:number-rows-repeated="1048576">'
            b'<table:table-cell table:number-columns-repeated="16384" office:value-type="string"><text:p>x</text:p>'
            b"</table:table-cell></table:table-row></table:table></office:spreadsheet></office:body>"
            b"</office:document-content>",
        }
    ),
    "encrypted.pdf": lambda: pdf_of(
        _page(b"", _stream(b"BT ET")),
        b"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <%b> /U <%b> >> /ID [<00> <00>]"
        % (b"41" * 32, b"42" * 32),
    ),
    "a billion pages.pdf": lambda: pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>",
            *_page(b"", _stream(b"BT ET"))[2:],
        ]
    ),
    "pages in a circle.pdf": lambda: pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 /Parent 2 0 R >>",
        ]
    ),
    "no font.pdf": lambda: pdf_of(
        _page(b"/Resources << /Font << /F1 9 0 R >> >>", _stream(b"BT /F1 12 Tf 50 700 Td (tekst) Tj ET"))
    ),
    "inflate bomb.pdf": lambda: pdf_of(
        _page(
            b"",
            _stream(
                zlib.compress(zlib.compress(bytes(1 << 30), 9), 9), b"/Filter [/FlateDecode /FlateDecode]"
            ),
        )
    ),
    "huge page.pdf": lambda: pdf_of(
        [
            *_page(b"", _stream(b"q 1 0 0 1 0 0 cm /I Do Q"))[:2],
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900000 900000] /Contents 4 0 R "
            b"/Resources << /XObject << /I 5 0 R >> >> >>",
            _stream(b"q 900000 0 0 900000 0 0 cm /I Do Q"),
            _stream(
                zlib.compress(bytes(1_000_000)),
                b"/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceGray "
                b"/BitsPerComponent 8 /Filter /FlateDecode",
            ),
        ]
    ),
    "form in itself.pdf": lambda: pdf_of(
        [
            *_page(b"/Resources << /XObject << /X 5 0 R >> >>", _stream(b"/X Do")),
            _stream(
                b"/X Do /X Do",
                b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>",
            ),
        ]
    ),
    "nested arrays.pdf": lambda: pdf_of([*_page(b"/A " + b"[" * 500_000, _stream(b"BT ET"))]),
    "many words.pdf": lambda: pdf_of(
        _page(
            b"/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>",
            _stream(
                zlib.compress(b"BT /F 9 Tf 50 700 Td " + b"(a b c d e f g) Tj " * 2_000_000 + b"ET"),
                b"/Filter /FlateDecode",
            ),
        )
    ),
    "braces.rtf": lambda: b"{\\rtf1 " + b"{" * 1_000_000,
    "wild pieces.doc": lambda: make_doc(TITLE, LINES).replace(
        struct.pack("<HIH", 0, 0x600, 0), struct.pack("<HIH", 0, 0x7FFFFFF0, 0)
    ),
}
