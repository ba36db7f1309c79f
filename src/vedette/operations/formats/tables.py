"""Lists of URLs, CSV, spreadsheets and OPML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from lxml import etree
from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from vedette.config.model import SourceConfig
from vedette.config.values import Section
from vedette.contracts.errors import InputError
from vedette.contracts.source import ListerKind, Source
from vedette.operations.formats.list_entry import Entry, Parsed, looks_like_url
from vedette.operations.source_keys import keys_of


def _has_keys(kind: Any) -> bool:
    """True of a section, also of one that may be left out."""
    return any(isinstance(one, type) and issubclass(one, Section) for one in (kind, *get_args(kind)))


ORDER = ("url", "name", "risk", "tier", "lister")  # columns of a file without a header
_FIELDS = SourceConfig.model_fields
COLUMNS = ("url", "id", *(name for name in _FIELDS if name not in ("url", "id")))
# Several values in a cell, separated by |.
LISTS = frozenset(
    name for name, one in _FIELDS.items() if get_origin(one.annotation) is tuple and name != "filters"
)  # steps of filters hold | themselves: each is a line of its cell
OBJECTS = frozenset(name for name, one in _FIELDS.items() if _has_keys(one.annotation))  # JSON in a cell
# What other tools call our columns.
SYNONYMS = {
    "link": "url", "address": "url", "uri": "url", "title": "name", "label": "name", "priority": "risk",
    "type": "lister", "frequency": "scrape_frequency", "interval": "every", "is_active": "active",
}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins so
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_DELIMITERS = ",;\t"


def read_urls(data: bytes) -> Parsed:
    """One URL in a line; blank lines and lines from `#` on are skipped."""
    parsed = Parsed()
    for number, raw in enumerate(decoded(data).splitlines(), 1):
        text = raw.strip()
        if not text or text.startswith("#"):
            continue
        parsed.entries.append(Entry.of_page(number, {"url": text.partition(" #")[0].strip()}))
    return parsed


def write_urls(sources: list[Source]) -> str:
    return "".join(f"{source.url}\n" for source in sources)


def read_csv(data: bytes) -> Parsed:
    """With a header (in any order, other tools' words too) or without one (url, name, risk, tier, lister)."""
    parsed = Parsed()
    text = decoded(data).replace("\0", "�")
    return read_rows(_rows(text, parsed), parsed)


def read_rows(rows: Iterator[tuple[int, list[str]]], parsed: Parsed) -> Parsed:
    """Of CSV or a spreadsheet: cells with the number of their row."""
    first = next(rows, None)
    if first is None:
        return parsed
    number, cells = first
    names = [SYNONYMS.get(name, name) for name in (cell.strip().lower() for cell in cells)]
    if "url" in names:
        unknown = tuple(name for name in names if name and name not in COLUMNS)
    else:
        names, unknown = list(ORDER), ()
        _take(parsed, number, dict(zip(ORDER, cells, strict=False)), ())
    for number, cells in rows:
        _take(parsed, number, dict(zip(names, cells, strict=False)), unknown)
    return parsed


def write_csv(sources: list[Source]) -> str:
    """All columns that any of them uses; cells that a spreadsheet would run are neutralised."""
    rows = [keys_of(source) for source in sources]
    used = [name for name in COLUMNS if any(name in row for row in rows)] or ["url"]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(used)
    writer.writerows([neutral(_cell(name, row.get(name))) for name in used] for row in rows)
    return file.getvalue()


def neutral(cell: str) -> str:
    """Nothing that a spreadsheet runs, nothing that a terminal obeys.

    The writer puts no quotes around a lone carriage return, at which a spreadsheet begins a new row.
    """
    cell = _CONTROL.sub("\ufffd", cell).replace("\r\n", "\n").replace("\r", "\n")
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def looks_like_csv(data: bytes) -> bool:
    """A header with `url`, or a first line whose first cell is a URL and which has more cells."""
    lines = (line for line in decoded(data[:65536]).splitlines() if line.strip())
    first = next(lines, "")
    if first.lstrip().startswith("#"):
        return False
    cells = next(csv.reader([first.replace("\0", "")], delimiter=_delimiter(first)), [])
    names = [cell.strip().lower() for cell in cells]
    if any(SYNONYMS.get(name, name) == "url" for name in names):
        return True
    return len(cells) > 1 and looks_like_url(cells[0].strip())


def decoded(data: bytes) -> str:
    """UTF-8 with or without BOM, UTF-16 with BOM, else Windows-1250 as spreadsheets here write it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1250", "replace")


def _rows(text: str, parsed: Parsed) -> Iterator[tuple[int, list[str]]]:
    """Records with the line they begin in.  A record that cannot be read is a problem, not the end."""
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(first))
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            parsed.bad(number, "", f"not a CSV record: {error}")
            continue
        if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
            yield number, cells


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _take(parsed: Parsed, number: int, row: dict[str, str], unknown: tuple[str, ...]) -> None:
    keys: dict[str, Any] = {}
    for name, cell in row.items():
        text = _unneutral(cell).strip()
        if name not in COLUMNS or not text:
            continue
        try:
            keys[name] = _value(name, text)
        except ValueError as error:
            parsed.bad(number, cell, f"{name}: {error}")
            return
    if "url" not in keys:
        parsed.bad(number, ",".join(row.values()), "there is no URL in this line")
        return
    if "lister" in keys:
        keys["lister"] = str(keys["lister"]).lower()
    left_out = tuple(name for name in unknown if row.get(name, "").strip())
    parsed.entries.append(Entry.of_page(number, keys, left_out))


def _value(name: str, text: str) -> Any:
    if name in LISTS:
        return [part for part in text.split("|") if part]
    if name in OBJECTS:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("expected JSON") from None
    return text


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in OBJECTS:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return ("\n" if name == "filters" else "|").join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unneutral(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and cell[1:2] in _FORMULA and len(cell) > 1 else cell


# Spreadsheets (.xlsx, .xls, .ods): the first sheet, read as CSV is.


def read_sheet(data: bytes) -> Parsed:
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except PasswordError:
        raise InputError("the spreadsheet is locked with a password") from None
    except (CalamineError, IndexError) as error:
        raise InputError(f"the spreadsheet cannot be read: {error}") from None
    worded = ((number, [_text(cell) for cell in row]) for number, row in enumerate(rows, 1))
    return read_rows(((number, cells) for number, cells in worded if any(cells)), Parsed())


def _text(cell: object) -> str:
    """A number that is whole has no point."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


# OPML: lists of feeds, as feed readers export them.


def read_opml(data: bytes) -> Parsed:
    """Outlines with `xmlUrl` are feeds, those with `url` pages; folders are walked through."""
    parsed = Parsed()
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    try:
        top = etree.fromstring(data.strip(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        parsed.bad(1, "", f"not XML: {error}")
        return parsed
    for fault in list(parser.error_log)[:1]:
        parsed.bad(fault.line, "", f"broken XML, read as far as it goes: {fault.message}")
    if top is None or etree.QName(top).localname.lower() not in ("opml", "outline"):
        parsed.bad(1, "", "this XML is not OPML")
        return parsed
    for outline in top.iter("{*}outline"):
        entry = _entry(outline)
        if entry is not None:
            parsed.entries.append(entry)
    return parsed


def write_opml(sources: list[Source]) -> str:
    """Feeds as `rss` outlines, everything else as `link`."""
    top = etree.Element("opml", version="2.0")
    head = etree.SubElement(top, "head")
    etree.SubElement(head, "title").text = "vedette"
    body = etree.SubElement(top, "body")
    for source in sources:
        is_feed = source.lister is ListerKind.FEED
        outline = etree.SubElement(body, "outline", text=_xml(source.name), type="rss" if is_feed else "link")
        outline.set("xmlUrl" if is_feed else "url", _xml(source.url))
    return etree.tostring(top, pretty_print=True, xml_declaration=True, encoding="utf-8").decode()


def _entry(outline: etree._Element) -> Entry | None:
    said = {str(name).lower(): str(value) for name, value in outline.attrib.items()}
    feed = said.get("xmlurl", "").strip()
    page = said.get("url", "").strip() or (said.get("htmlurl", "").strip() if not len(outline) else "")
    if not feed and not page:
        return None
    keys = {"url": feed, "lister": ListerKind.FEED.value} if feed else {"url": page}
    name = (said.get("title") or said.get("text") or "").strip()
    if name:
        keys["name"] = name
    line: Any = outline.sourceline  # the stubs know no number
    return Entry.of_page(int(line or 0), keys)


def _xml(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(char for char in text if char >= " " or char in "\t\n")
