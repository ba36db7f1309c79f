"""Lists of sources in the forms in which people have them.  Pure: text in, entries and problems out."""

from __future__ import annotations

from collections.abc import Callable

from vedette.contracts.errors import InputError
from vedette.contracts.source import Source
from vedette.core.text.nearest import unknown
from vedette.operations.formats import changedetection, other_tools, own, tables
from vedette.operations.formats.list_entry import Parsed

READERS: dict[str, Callable[[bytes], Parsed]] = {
    "urls": tables.read_urls,
    "csv": tables.read_csv,
    "opml": tables.read_opml,
    "urlwatch": other_tools.read_jobs,
    "webchanges": other_tools.read_jobs,
    "jsonl": own.read_jsonl,
    "yaml": own.read_yaml,
    "xlsx": tables.read_sheet,
    "changedetection": changedetection.read_changedetection,
    "distill": other_tools.read_distill,
    "bookmarks": other_tools.read_bookmarks,
}
WRITERS: dict[str, Callable[[list[Source]], str]] = {
    "csv": tables.write_csv,
    "jsonl": own.write_jsonl,
    "opml": tables.write_opml,
    "yaml": own.write_yaml,
    "urls": tables.write_urls,
}
_ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".opml": "opml", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".xlsx": "xlsx", ".xls": "xlsx", ".ods": "xlsx",
}  # fmt: skip
_BYTES = ("xlsx", "changedetection")  # formats that are not text
_DOCUMENTS = (b"%PDF", b"\x89PNG", b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_CONTROL = frozenset(range(32)) - set(b"\t\r\n\f")
_PACKED = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # a spreadsheet of today, and of 1997


def read(data: bytes, form: str, name: str) -> tuple[str, Parsed]:
    """Entries and problems of a file.  `auto` goes by the name's ending, then by what is in it."""
    chosen = guess(data, name) if form == "auto" else form
    if chosen not in READERS:
        raise InputError(f"--format: {unknown('format', form, ('auto', *READERS))}")
    if chosen not in _BYTES and _is_binary(data):
        parsed = Parsed()
        parsed.bad(
            1, "", f"the file is not a list of sources: it is not text (known formats: {', '.join(READERS)})"
        )
        return chosen, parsed
    return chosen, READERS[chosen](data)


def write(sources: list[Source], form: str) -> str:
    if form not in WRITERS:
        raise InputError(f"--format: {unknown('format', form, WRITERS)}")
    return WRITERS[form](sources)


def guess(data: bytes, name: str) -> str:
    """Which format this most likely is: the first sign that applies, after the ending of its name."""
    lowered = name.lower()
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    by_name = next((form for end, form in _ENDINGS.items() if lowered.endswith(end)), "")
    is_yaml = lowered.endswith((".yaml", ".yml")) or other_tools.are_jobs(data)
    signs = (
        (by_name, bool(by_name)),
        ("changedetection", changedetection.is_changedetection(data)),
        ("distill", other_tools.is_distill(data)),
        ("xlsx", data.startswith(_PACKED)),
        ("bookmarks", other_tools.are_bookmarks(data) or lowered.endswith((".html", ".htm"))),
        ("opml", head.startswith(b"<")),
        ("jsonl", head.startswith(b"{")),
        ("yaml", is_yaml and own.looks_like(data)),
        ("urlwatch", is_yaml),
        ("csv", tables.looks_like_csv(data)),
    )
    return next((form for form, is_so in signs if is_so), "urls")


def _is_binary(data: bytes) -> bool:
    """A picture, a document, a program: more control characters than any text has."""
    head = data[:4096]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return head.startswith(_DOCUMENTS) or sum(byte in _CONTROL for byte in head) > len(head) // 20
