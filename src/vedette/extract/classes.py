"""What kind of content is this?  By its bytes first, then by the header, then by the URL (spec 001/A).

A PDF under `text/html` is a PDF, an error page under `application/pdf` is a page: bytes do not lie.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from vedette.contracts.words import ContentClass
from vedette.core.text.charset import decode

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
    head = body[:LOOK].removeprefix(b"\xef\xbb\xbf")
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


# What a container holds, by its own directory: zip packages and OLE compound files.
#
# Office files hold other office files whole, so a name found anywhere in the bytes says nothing.  All reading is
# bounded: a directory that leads nowhere, or round in circles, ends as fewer names.

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAX_NAMES = 20_000  # of a zip; a document has a few hundred
MAX_ENTRIES = 4096  # of an OLE directory
MAX_SECTORS = 100_000  # followed in one chain
_END_OF_ZIP = b"PK\x05\x06"
_ZIP_TAIL = 22 + 65_535  # the end record and the longest comment
_NONE = 0xFFFF_FFFA  # sector numbers from here on are marks
_STORAGE_OR_ROOT, _STREAM = (1, 5), 2
_HEADER_TABLES = 109  # sectors of the allocation table that the header names itself


def zip_names(body: bytes) -> list[bytes] | None:
    """The names of the members, by the central directory; None when that is lost."""
    end = body.rfind(_END_OF_ZIP, max(0, len(body) - _ZIP_TAIL))
    if end < 0 or end + 22 > len(body):
        return None
    count, size, offset = struct.unpack_from("<HII", body, end + 10)
    at = end - size if end - size >= 0 else offset  # bytes before the archive move the offset, not the size
    names: list[bytes] = []
    while len(names) < min(count, MAX_NAMES) and body.startswith(b"PK\x01\x02", at) and at + 46 <= len(body):
        name, extra, comment = struct.unpack_from("<HHH", body, at + 28)
        names.append(body[at + 46 : at + 46 + name])
        at += 46 + name + extra + comment
    return names or None


def first_name(body: bytes) -> bytes:
    """The name of the first member, as far as it is there."""
    if not body.startswith(b"PK\x03\x04") or len(body) <= 30:
        return b""
    (length,) = struct.unpack_from("<H", body, 26)
    return body[30 : 30 + length]


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of the top storage: where it begins and how long it is."""

    first: int
    size: int


@dataclass(frozen=True, slots=True)
class Compound:
    """An OLE compound file (MS-CFB), as far as its directory tells."""

    body: bytes
    sector: int  # bytes
    table: tuple[int, ...]  # sector after sector
    small_below: int  # streams shorter than this share sectors of the root
    root: Stream
    streams: dict[str, Stream] = field(default_factory=dict)  # of the top storage alone

    def head(self, name: str) -> bytes:
        """The beginning of a stream, a small sector at least; empty when there is none."""
        stream = self.streams.get(name)
        if stream is None:
            return b""
        if stream.size >= self.small_below:
            return self._sector(stream.first)[: stream.size]
        sectors = list(_chain(self.table, self.root.first))
        place, within = divmod(stream.first * 64, self.sector)
        if place >= len(sectors):
            return b""
        return self._sector(sectors[place])[within : within + min(stream.size, 64)]

    def _sector(self, number: int) -> bytes:
        return _sector(self.body, self.sector, number)


def read_compound(body: bytes) -> Compound | None:
    """None when it is no compound file, or its directory cannot be read."""
    if not body.startswith(OLE) or len(body) < 512:
        return None
    (shift,) = struct.unpack_from("<H", body, 30)
    if shift not in (9, 12):
        return None
    first_directory, small_below = struct.unpack_from("<I4xI", body, 48)
    table = _allocation(body, 1 << shift)
    directory: list[bytes] = []
    for number in _chain(table, first_directory):
        if len(directory) * (1 << shift) >= MAX_ENTRIES * 128:
            break
        directory.append(_sector(body, 1 << shift, number))
    entries = [_Entry.read(raw) for raw in _pieces(b"".join(directory), 128)]
    if not entries or entries[0].kind not in _STORAGE_OR_ROOT:
        return None
    root = entries[0]
    streams = {
        entry.name: Stream(entry.first, entry.size)
        for entry in _siblings(entries, root.child)
        if entry.kind == _STREAM
    }
    return Compound(body, 1 << shift, table, small_below, Stream(root.first, root.size), streams)


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    kind: int
    left: int
    right: int
    child: int
    first: int
    size: int

    @staticmethod
    def read(raw: bytes) -> _Entry:
        length, kind, left, right, child = struct.unpack_from("<HBxIII", raw, 64)
        first, size = struct.unpack_from("<II", raw, 116)
        name = raw[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        return _Entry(name, kind, left, right, child, first, size)


def _siblings(entries: list[_Entry], first: int) -> Iterator[_Entry]:
    """All entries of one storage: they form a tree, and no entry is walked twice."""
    ahead, seen = [first], set[int]()
    while ahead:
        number = ahead.pop()
        if number < len(entries) and number not in seen:
            seen.add(number)
            yield entries[number]
            ahead += [entries[number].left, entries[number].right]


def _allocation(body: bytes, sector: int) -> tuple[int, ...]:
    """Which sector follows which.  Tables beyond those of the header are in a chain of their own."""
    places = [place for place in struct.unpack_from(f"<{_HEADER_TABLES}I", body, 76) if place < _NONE]
    (more,) = struct.unpack_from("<I", body, 68)
    seen: set[int] = set()
    while more < _NONE and more not in seen and len(places) * sector < len(body):
        seen.add(more)
        *named, more = _numbers(_sector(body, sector, more)) or (_NONE,)
        places += [place for place in named if place < _NONE]
    table: list[int] = []
    for place in places[: len(body) // sector + 1]:
        table += _numbers(_sector(body, sector, place))
    return tuple(table)


def _chain(table: tuple[int, ...], first: int) -> Iterator[int]:
    number = first
    for _ in range(min(MAX_SECTORS, len(table) + 1)):
        if number >= _NONE:
            return
        yield number
        if number >= len(table):
            return
        number = table[number]


def _sector(body: bytes, sector: int, number: int) -> bytes:
    return body[(number + 1) * sector : (number + 2) * sector]


def _numbers(raw: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(raw) // 4}I", raw[: len(raw) // 4 * 4])


def _pieces(raw: bytes, size: int) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw) - size + 1, size)]
