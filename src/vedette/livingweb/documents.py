"""Files that are no HTML: PDF, DOCX, XLSX, JSON and XML, written byte by byte so that they are always the same.

The older and the free formats are in `office`, presentations in `slides`, scanned pages in `scanning`; all of
them in `makers`.
"""

from __future__ import annotations

import io
import json
import zipfile
from html import escape

Lines = tuple[str, ...]
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
