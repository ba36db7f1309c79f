"""What kind of content is this?  By its bytes first, then by the header, then by the URL (spec 001/A).

A PDF under `text/html` is a PDF, an error page under `application/pdf` is a page: bytes do not lie.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from vedette.contracts.words import ContentClass
from vedette.core.text.charset import decode
from vedette.extract.containers import OLE, first_name, read_compound, zip_names

C = ContentClass
LOOK = 1024  # bytes that decide (WHATWG MIME sniffing reads 1445)

_MAGIC = (
    (b"\x89PNG", C.IMAGE),
    (b"\xff\xd8\xff", C.IMAGE),
    (b"GIF8", C.IMAGE),
    (b"II*\x00", C.IMAGE),
    (b"MM\x00*", C.IMAGE),
    (b"\x1f\x8b", C.OTHER),
    (b"7z\xbc\xaf", C.OTHER),
    (b"Rar!", C.OTHER),
    (b"{\\rtf", C.RTF),
    (b"OggS", C.OTHER),
    (b"ID3", C.OTHER),
    (b"\x7fELF", C.OTHER),
    (b"MZ\x90", C.OTHER),
    (b"wOF", C.OTHER),
)
_ZIP_PARTS = (  # how names of members begin, most telling first
    (b"word/document", C.DOCX),
    (b"xl/workbook", C.XLSX),
    (b"ppt/presentation", C.PPTX),
    (b"word/", C.DOCX),
    (b"xl/", C.XLSX),
    (b"ppt/", C.PPTX),
)
_BITMAP_HEADS = (12, 40, 52, 56, 64, 108, 124)  # lengths of the second header of a BMP
_ODF = b"mimetypeapplication/vnd.oasis.opendocument."  # the first member, stored and not compressed
_ODF_KINDS = ((b"text", C.ODT), (b"spreadsheet", C.ODS))
_OLE_STREAMS = (
    ("WordDocument", C.DOC),
    ("Workbook", C.XLS),
    ("Book", C.XLS),
    ("PowerPoint Document", C.PPT),
)
_LOCKED = "EncryptedPackage"
_HTML_START = re.compile(
    rb"^(?:\s|<!--.{0,512}?-->|<\?xml[^>]{0,256}>)*<(?:!doctype\s+html|html|head|body|title|meta|script|style|iframe|table|font|center|div|p|h1)\b",
    re.IGNORECASE | re.DOTALL,
)
_HEADERS = (
    ("json-ld", re.compile(r"application/ld\+json"), C.JSON_LD),
    ("json", re.compile(r"[/+]json\b"), C.JSON),
    ("html", re.compile(r"text/html|application/xhtml"), C.HTML),
    ("xml", re.compile(r"[/+](?:xml|rss|atom)\b"), C.XML),
    ("text", re.compile(r"text/"), C.TEXT),
)
_EXTENSIONS = {
    "html": C.HTML,
    "htm": C.HTML,
    "php": C.HTML,
    "aspx": C.HTML,
    "json": C.JSON,
    "jsonld": C.JSON_LD,
    "xml": C.XML,
    "rss": C.XML,
    "txt": C.TEXT,
    "csv": C.TEXT,
    "md": C.TEXT,
}
_OLE_KINDS = frozenset({C.DOC, C.XLS, C.PPT})
PACKAGES = frozenset({C.DOCX, C.XLSX, C.PPTX, C.ODT, C.ODS})
_BINARY_KINDS = _OLE_KINDS | PACKAGES | {C.PDF_TEXT}
_CLAIMS = (  # part of the header, extension: believed only of bytes that could be it
    ("pdf", "pdf", C.PDF_TEXT),
    ("wordprocessingml", "docx", C.DOCX),
    ("spreadsheetml", "xlsx", C.XLSX),
    ("presentationml", "pptx", C.PPTX),
    ("opendocument.text", "odt", C.ODT),
    ("opendocument.spreadsheet", "ods", C.ODS),
    ("msword", "doc", C.DOC),
    ("excel", "xls", C.XLS),
    ("powerpoint", "ppt", C.PPT),
    ("ms-word.", "docm", C.DOCX),
    ("ms-excel.", "xlsm", C.XLSX),
    ("ms-excel.", "xlsb", C.XLSX),
    ("ms-powerpoint.", "pptm", C.PPTX),
    ("ms-powerpoint.", "ppsx", C.PPTX),
)
_LINKED = b'"@context"'  # what makes JSON linked data (JSON-LD 1.1 section 3.1)
_CONTROL = bytes(range(9)) + bytes(range(14, 27)) + bytes(range(28, 32))


def content_class(body: bytes, *, url: str, content_type: str) -> ContentClass:
    """The class of a body.  PDFs are PDF_TEXT until their pages have been looked at."""
    head = body[:LOOK]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or 0 in head[:2]:
        head = _spelled(head)
    header = content_type.lower()
    if head[:1] == b"<" and "html" in header and not head.startswith(b"<?xml"):
        return C.HTML
    return _by_magic(body, head, url, header) or _by_looks(body, head, url, header)


def _spelled(head: bytes) -> bytes:
    """UTF-16 and UTF-32 in single bytes, so that one set of marks serves; anything else as it is."""
    text, charset = decode(head[: LOOK // 4 * 4], "")
    return text.encode() if charset.startswith(("utf-16", "utf-32")) and "\ufffd" not in text else head


def _by_magic(body: bytes, head: bytes, url: str, header: str) -> ContentClass | None:
    if b"%PDF-" in head and not _HTML_START.match(head):
        return C.PDF_TEXT
    if head.startswith(b"PK\x03\x04"):
        return _by_members(body, url, header)
    if head.startswith(OLE):
        return _by_streams(body, url, header)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return C.IMAGE if _is_webp_or_bitmap(head) else C.OTHER if head.startswith(b"RIFF") else None


def _is_webp_or_bitmap(head: bytes) -> bool:
    """Their first letters alone say little: RIFF is sound and film too, and a text may begin with BM."""
    if head.startswith(b"RIFF"):
        return head[8:12] == b"WEBP"
    return (
        head[:2] == b"BM"
        and head[6:10] == bytes(4)
        and int.from_bytes(head[14:18], "little") in _BITMAP_HEADS
    )


def _by_members(body: bytes, url: str, header: str) -> ContentClass:
    """By its members; a broken package, whose directory is lost, by what it is said to be, or by its first member."""
    named = body.find(_ODF, 0, 256)
    if named >= 0:
        said = body[named + len(_ODF) : named + len(_ODF) + 16]
        return next((kind for word, kind in _ODF_KINDS if said.startswith(word)), C.OTHER)
    names = zip_names(body)
    if names is None:
        claimed, first = _by_claim(url, header, PACKAGES), first_name(body)
        begun = (
            kind for part, kind in _ZIP_PARTS if first and (first.startswith(part) or part.startswith(first))
        )
        return next(begun, C.OTHER) if claimed is C.OTHER else claimed
    found = next((kind for part, kind in _ZIP_PARTS if any(name.startswith(part) for name in names)), None)
    if found is None and b"content.xml" in names:
        return _by_claim(url, header, PACKAGES)
    return found or C.OTHER


def _by_streams(body: bytes, url: str, header: str) -> ContentClass:
    """By the streams of the top storage: what is embedded lies deeper.  Without a directory, by any name in it."""
    found = read_compound(body)
    if found is None:
        spelled = {name for name, _ in _OLE_STREAMS if name.encode("utf-16-le") in body}
        spelled |= {_LOCKED} if _LOCKED.encode("utf-16-le") in body else set()
    else:
        spelled = set(found.streams)
    if _LOCKED in spelled:  # nothing in it tells which package it is
        kind = _by_claim(url, header, PACKAGES)
        return C.DOCX if kind is C.OTHER else kind
    claimed = _by_claim(url, header, _OLE_KINDS)
    kinds = [kind for name, kind in _OLE_STREAMS if name in spelled]
    return claimed if not kinds or (found is None and claimed in kinds) else kinds[0]


def _by_claim(url: str, header: str, among: frozenset[ContentClass]) -> ContentClass:
    """The header, then the URL: servers name many files by their extension, so one of the two often knows."""
    by_header = (kind for word, _, kind in _CLAIMS if word in header and kind in among)
    extension = _extension(url)
    by_url = (kind for _, ending, kind in _CLAIMS if ending == extension and kind in among)
    return next(by_header, None) or next(by_url, C.OTHER)


def _by_looks(body: bytes, head: bytes, url: str, header: str) -> ContentClass:
    claimed = next((kind for _, pattern, kind in _HEADERS if pattern.search(header)), None)
    if _is_binary(head):
        return _by_claim(url, header, _BINARY_KINDS)
    if _HTML_START.match(head):
        return C.HTML
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"[") and claimed is not C.TEXT and _closes(body, start):
        is_linked = C.JSON_LD in (claimed, _EXTENSIONS.get(_extension(url))) or _LINKED in head
        return C.JSON_LD if is_linked else C.JSON
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml"):
        return C.HTML if b"<html" in head.lower() else C.XML
    return claimed or _EXTENSIONS.get(_extension(url)) or _by_text(body, start, header)


def _by_text(body: bytes, start: bytes, header: str) -> ContentClass:
    if start == b"<":
        return C.HTML if b"</" in body and b"<a" in body.lower() else C.XML
    if header.startswith(("image/", "audio/", "video/", "font/")):
        return C.OTHER
    return C.TEXT


def _closes(body: bytes, start: bytes) -> bool:
    return body.rstrip()[-1:] == (b"}" if start == b"{" else b"]")


def _is_binary(head: bytes) -> bool:
    """More than one byte in ten that no text has.  UTF-16 announces itself."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return len(head) - len(head.translate(None, _CONTROL)) > len(head) // 10


def _extension(url: str) -> str:
    name = unquote(url.partition("?")[0].partition("#")[0]).rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""
