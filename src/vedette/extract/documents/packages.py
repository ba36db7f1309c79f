"""DOCX, ODT and PPTX: zip packages of XML, read part by part with the one safe XML parser.

All text in document order, wherever it stands: content controls, text boxes and notes too; deleted text is left out.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.extract.documents.legacy import is_locked_package
from vedette.extract.documents.marks import ENCRYPTED, Blocks, cells, clean, property_date
from vedette.extract.fields import Unreadable, safe_xml_parser

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
