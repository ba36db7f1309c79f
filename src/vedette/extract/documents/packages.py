"""DOCX, ODT and PPTX: zip packages of XML, read part by part with the one safe XML parser.

All text in document order, wherever it stands: content controls, text boxes and notes too; deleted text is left out.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lxml import etree

from vedette.contracts.change import Block
from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.core.text.dates import read_date
from vedette.extract.classes import Compound, read_compound
from vedette.extract.fields import Unreadable, safe_xml_parser
from vedette.extract.scope import fold

# Small parts that all readers of documents share: blocks in order, dates in properties, limits.

MAX_BLOCKS = 300_000
MAX_CHARS = 20_000_000  # of text in all; the longest law has about two million
SHORT_LINE = 80  # "Zagreb, 12. siječnja 2026." stands on a line of its own
ENDS = 15  # lines at the beginning and at the end where a document says when it was made
ENCRYPTED = "encrypted: a password is asked for"
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0x7F, 0xFFFE, 0xFFFF])


class Missing(Exception):
    """A tool that this document needs is not installed.  The message says which and how to get it."""


class Blocks:
    """Blocks as they are read, numbered by where they stand."""

    def __init__(self) -> None:
        self.found: list[Block] = []
        self._numbers: Counter[str] = Counter()
        self._chars = 0

    def add(self, container: str, tag: str, text: str) -> None:
        """One more block below the container; nothing when there is no text."""
        text = clean(text)
        if not text:
            return
        self._chars += len(text)
        if len(self.found) >= MAX_BLOCKS or self._chars > MAX_CHARS:
            raise Unreadable("more text than a document has")
        self.found.append((self.place(container, tag), text))

    def place(self, container: str, tag: str) -> str:
        """The path of the next one of its kind: the first has no number, so a second does not rename it."""
        path = f"{container}/{tag}" if container else tag
        self._numbers[path] += 1
        number = self._numbers[path]
        return path if number == 1 else f"{path}[{number}]"


def clean(text: str) -> str:
    """Folded, without control characters and half surrogates: no store and no diff takes those."""
    text = fold(text.translate(_CONTROLS))
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cells(values: Iterable[str]) -> str:
    """A table row on one line; empty cells at the end are dropped."""
    row = [clean(value) for value in values]
    while row and not row[-1]:
        row.pop()
    return " | ".join(row)


def property_date(text: str) -> datetime | None:
    """A date of document properties: ISO, or `D:20260112093000+01'00'` of PDF."""
    digits = text.removeprefix("D:")
    if digits[:8].isdigit() and len(digits) >= 8:
        clock = digits[8:14] if digits[8:14].isdigit() and len(digits) >= 14 else "000000"
        zone = digits[14:20].replace("'", "") if digits[14:15] in ("+", "-") else ""
        hour, minute, second = clock[:2], clock[2:4], clock[4:6]
        text = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{hour}:{minute}:{second}"
        text += f"{zone[:3]}:{zone[3:5] or '00'}" if len(zone) >= 3 else ""
    return read_date(text)


def document_date(blocks: Sequence[Block]) -> datetime | None:
    """The date that stands at the head or at the foot of a document."""
    edges = (*blocks[:ENDS], *blocks[ENDS:][-ENDS:])
    found = (read_date(text) for _, text in edges if len(text) <= SHORT_LINE)
    return next((date for date in found if date is not None), None)


# DOC, PPT and RTF, read by kreuzberg (the extra `docs`).

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


MAX_UNPACKED = 256 * 1024 * 1024
MAX_PART = 64 * 1024 * 1024  # of XML; a part of a real document has a few
MAX_MEMBERS = 20_000
MAX_LEVELS = 200  # of tables in tables, boxes in boxes
_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")


@dataclass(frozen=True, slots=True)
class Tags:
    """What the local names of a format mean."""

    paragraph: frozenset[str]
    heading: frozenset[str]
    row: str
    cell: frozenset[str]
    text: frozenset[str]  # whose text is read; empty: all text of a paragraph is
    space: frozenset[str]
    skipped: frozenset[str]


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


WORD = Tags(
    _names("p"), frozenset(), "tr", _names("tc"), _names("t"), _names("tab br cr"),
    _names("del moveFrom delText instrText Fallback pPr rPr sectPr"),
)  # fmt: skip
DRAWING = Tags(_names("p"), frozenset(), "tr", _names("tc"), _names("t"), _names("tab br"), _names("pPr rPr"))
ODF = Tags(
    _names("p"), _names("h"), "table-row", _names("table-cell covered-table-cell"), frozenset(),
    _names("s tab line-break"), _names("tracked-changes annotation sequence-decls forms"),
)  # fmt: skip


def read_docx(body: bytes, kind: ContentClass) -> Document:
    with zipfile.ZipFile(io.BytesIO(body)) as package:
        weigh(package)
        blocks = Blocks()
        for part in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml"):
            if part in package.namelist() or part == "word/document.xml":
                _read_part(_xml(package, part), WORD, blocks, "" if "document" in part else "note")
        return _made(package, kind, blocks)


def read_odt(body: bytes, kind: ContentClass) -> Document:
    with zipfile.ZipFile(io.BytesIO(body)) as package:
        weigh(package)
        blocks = Blocks()
        root = _xml(package, "content.xml")
        for text in root.iter("{*}text"):
            _read_part(text, ODF, blocks, "")
            break
        return _made(package, kind, blocks)


def read_pptx(body: bytes, kind: ContentClass) -> Document:
    """Slide after slide, each with its notes left out: the audience does not see them."""
    with zipfile.ZipFile(io.BytesIO(body)) as package:
        weigh(package)
        found = (
            (int(match[1]), match[0]) for name in package.namelist() if (match := _SLIDE.fullmatch(name))
        )
        slides = sorted(found)
        blocks = Blocks()
        for _, name in slides:
            _read_part(_xml(package, name), DRAWING, blocks, blocks.place("", "slide"))
        return _made(package, kind, blocks, pages=len(slides))


def weigh(package: zipfile.ZipFile) -> None:
    """Raises Unreadable for a package that would unpack to more than any document has."""
    members = package.infolist()
    if len(members) > MAX_MEMBERS:
        raise Unreadable("a package of too many files")
    if sum(member.file_size for member in members) > MAX_UNPACKED:
        raise Unreadable("a package that unpacks to too much")
    if is_locked_package(package):
        raise Unreadable(ENCRYPTED)


def package_properties(package: zipfile.ZipFile, kind: ContentClass) -> Document:
    """Title, author and dates as the properties say; a package without them, or with broken ones, says nothing."""
    said: dict[str, str] = {}
    for name in ("docProps/core.xml", "meta.xml"):
        if name not in package.namelist():
            continue
        try:
            root = _xml(package, name)
        except Unreadable:
            continue
        for element in root.iter(
            "{*}title", "{*}creator", "{*}created", "{*}modified", "{*}creation-date", "{*}date"
        ):
            said.setdefault(etree.QName(element).localname, clean(element.text or "")[:500])
    return Document(
        content_class=kind,
        title=said.get("title", ""),
        author=said.get("creator", ""),
        created_at=property_date(said.get("created") or said.get("creation-date") or ""),
        modified_at=property_date(said.get("modified") or said.get("date") or ""),
    )


def _made(package: zipfile.ZipFile, kind: ContentClass, blocks: Blocks, pages: int = 0) -> Document:
    about = package_properties(package, kind)
    return Document(
        content_class=kind,
        blocks=tuple(blocks.found),
        pages=pages,
        title=about.title,
        author=about.author,
        created_at=about.created_at,
        modified_at=about.modified_at,
    )


def _xml(package: zipfile.ZipFile, name: str) -> etree._Element:
    """The root of a part.  Read with a cap of its own: the sizes of the directory may lie."""
    try:
        with package.open(name) as part:
            data = part.read(MAX_PART + 1)
    except KeyError:
        raise Unreadable(f"a package without {name}") from None
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile) as error:
        raise Unreadable(f"a broken package: {name}: {error}"[:200]) from None
    if len(data) > MAX_PART:
        raise Unreadable(f"a package whose {name} unpacks to too much")
    try:
        root = etree.fromstring(data, safe_xml_parser())
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"{name} is not well-formed: {str(error)[:100]}") from None
    if root is None:
        raise Unreadable(f"{name} is empty")
    return root


def _read_part(root: etree._Element, tags: Tags, blocks: Blocks, place: str) -> None:
    """Paragraphs and rows in order.  With a stack of our own: hostile depth must not end in a RecursionError."""
    stack = [iter(root)]
    while stack:
        element = next(stack[-1], None)
        if element is None:
            stack.pop()
            continue
        name = _local(element)
        if name in tags.skipped:
            continue
        if name == tags.row:
            found = list(_cells(element, tags))
            if len(found) == 1 and len(stack) < MAX_LEVELS:
                stack.append(iter(found[0]))  # a frame around text, not a row of a table
            else:
                blocks.add(place, "tr", cells("".join(_texts(cell, tags)) for cell in found))
        elif name in tags.paragraph or name in tags.heading:
            blocks.add(place, "h" if name in tags.heading else "p", "".join(_texts(element, tags)))
        elif len(stack) < MAX_LEVELS:
            stack.append(iter(element))


def _cells(row: etree._Element, tags: Tags) -> Iterator[etree._Element]:
    for element in row.iter():
        if _local(element) in tags.cell and _owner(element, tags.row) is row:
            yield element


def _owner(element: etree._Element, row: str) -> etree._Element | None:
    up = element.getparent()
    while up is not None and _local(up) != row:
        up = up.getparent()
    return up


def _texts(root: etree._Element, tags: Tags) -> Iterator[str]:
    """The pieces of text below, in order; a paragraph inside (of a cell, of a box) is apart by a space."""
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        name = _local(element)
        if event == "start":
            if name in tags.skipped:
                walk.skip_subtree()
            elif name in tags.space:
                yield " "
            elif (not tags.text or name in tags.text) and element.text:
                yield element.text
            continue
        if name in tags.paragraph and element is not root:
            yield " "
        if not tags.text and element is not root and element.tail:
            yield element.tail


def _local(element: etree._Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


# XLS, XLSX and ODS: one block per row, sheet after sheet.

MAX_SHEETS = 500


def read_sheets(body: bytes, kind: ContentClass) -> Document:
    from python_calamine import CalamineWorkbook

    about = Document(content_class=kind)
    if kind is not ContentClass.XLS:
        with zipfile.ZipFile(io.BytesIO(body)) as package:
            weigh(package)
            about = package_properties(package, kind)
    book = CalamineWorkbook.from_filelike(io.BytesIO(body))
    blocks = Blocks()
    names = book.sheet_names[:MAX_SHEETS]
    for name in names:
        place = blocks.place("", "sheet")
        blocks.add(place, "h", name)
        for row in book.get_sheet_by_name(name).iter_rows():
            blocks.add(place, "tr", cells(map(_shown, row)))
    return Document(
        content_class=kind,
        blocks=tuple(blocks.found),
        pages=len(names),
        title=about.title,
        author=about.author,
        created_at=about.created_at,
        modified_at=about.modified_at,
    )


def _shown(value: object) -> str:
    """A value as its reader sees it: 25 and not 25.0, a date without a clock that says midnight."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dt.datetime) and value.time() == dt.time(0):
        return value.date().isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)
