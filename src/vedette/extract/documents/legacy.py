"""DOC, PPT and RTF, read by kreuzberg (the extra `docs`)."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.extract.classes import Compound, read_compound
from vedette.extract.documents.marks import Blocks, Missing, cells, property_date

MEDIA = {
    ContentClass.DOC: "application/msword",
    ContentClass.PPT: "application/vnd.ms-powerpoint",
    ContentClass.RTF: "application/rtf",
}
MISSING = "kreuzberg, which reads DOC, PPT and RTF, is not installed: pip install 'vedette[docs]'"
_RULER = re.compile(r"^\s*\|?[\s:|-]*---[\s:|-]*\|?\s*$")  # between the head and the body of a Markdown table
_CODES = re.compile(r"\\'([0-9a-fA-F]{2})")
_CODEPAGE = re.compile(rb"\\ansicpg(\d{3,4})")


def read_legacy(body: bytes, kind: ContentClass) -> Document:
    try:
        from kreuzberg import extract_bytes_sync
    except ImportError:
        raise Missing(MISSING) from None

    result = extract_bytes_sync(body, MEDIA[kind])
    said: Mapping[str, object] = dict(result.metadata)
    charset = _charset(body) if kind is ContentClass.RTF else ""
    blocks = Blocks()
    lines = _lines(result.content)
    if kind is ContentClass.DOC:
        lines = (row for _, line in lines for row in _rows(line))
    for tag, line in lines:
        blocks.add("", tag, line)
    return Document(
        content_class=kind,
        blocks=tuple(blocks.found),
        title=_said(said, "title", charset),
        author=_said(said, "created_by", charset) or _said(said, "authors", charset),
        created_at=property_date(_said(said, "created_at")),
        modified_at=property_date(_said(said, "modified_at")),
    )


def _lines(content: str) -> Iterator[tuple[str, str]]:
    """Paragraphs are apart by a blank line; rows of a table stand each on a line of their own."""
    for part in re.split(r"\n\s*\n", content):
        rows = [row for row in part.split("\n") if not _RULER.match(row)]
        if all(row.strip().startswith("|") for row in rows):
            yield from (("tr", row.strip().strip("|")) for row in rows)
        else:
            yield from (("p", row) for row in rows)


def _rows(line: str) -> Iterator[tuple[str, str]]:
    """In DOC a cell ends with a mark and a row with one more; both come out as tabs, the paragraph after them too."""
    *rows, rest = line.split("\t\t")
    yield from (("tr", cells(row.split("\t"))) for row in rows)
    yield "p", rest


def _said(metadata: Mapping[str, object], name: str, charset: str = "") -> str:
    value = metadata.get(name) or ""
    text = ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)
    if charset and "\\'" in text:
        text = _CODES.sub(lambda match: bytes.fromhex(match[1]).decode(charset, "replace"), text)
    return text[:500]


def _charset(body: bytes) -> str:
    found = _CODEPAGE.search(body[:2000])
    return f"cp{int(found[1])}" if found and int(found[1]) in range(1250, 1259) else "cp1250"


# Is a password asked for?  Each office format says it in a place of its own.

_WORD_LOCKED = 0x0100  # fEncrypted of the file information block (MS-DOC 2.5.2)
_FILE_PASS = 0x002F  # the record that asks for the password (MS-XLS 2.4.117)
_SHOW_LOCKED = 0xF3D1C4DF  # headerToken of the current user (MS-PPT 2.3.2)
_MANIFEST = "META-INF/manifest.xml"
_MAX_MANIFEST = 4 * 1024 * 1024


def is_locked(body: bytes, kind: ContentClass) -> bool:
    """Is this OLE file encrypted?  False for whatever else it is."""
    found = read_compound(body)
    if found is None:
        return False
    if "EncryptedPackage" in found.streams:  # Office wraps a package in one to lock it (MS-OFFCRYPTO 2.3.4)
        return True
    if kind is ContentClass.DOC:
        head = found.head("WordDocument")
        return len(head) >= 12 and bool(struct.unpack_from("<H", head, 10)[0] & _WORD_LOCKED)
    if kind is ContentClass.XLS:
        return _asks_for_password(found.head("Workbook") or found.head("Book"))
    return kind is ContentClass.PPT and _is_locked_show(found)


def is_locked_package(package: zipfile.ZipFile) -> bool:
    """By the flag of a member, or (ODF) by the manifest, which keeps the keys."""
    if any(member.flag_bits & 1 for member in package.infolist()):
        return True
    if _MANIFEST not in package.namelist():
        return False
    try:
        with package.open(_MANIFEST) as manifest:
            return b"encryption-data" in manifest.read(_MAX_MANIFEST)
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
        return False


def _asks_for_password(head: bytes) -> bool:
    """The record stands right behind the first one, or behind the mark of a write-protected file."""
    at = 0
    while at + 4 <= len(head):
        kind, size = struct.unpack_from("<HH", head, at)
        if kind == _FILE_PASS:
            return True
        at += 4 + size
    return False


def _is_locked_show(found: Compound) -> bool:
    head = found.head("Current User")
    is_marked = len(head) >= 16 and struct.unpack_from("<I", head, 12)[0] == _SHOW_LOCKED
    return is_marked or "EncryptedSummary" in found.streams
