"""Lists of sources in the forms in which people have them.  Pure: text in, entries and problems out."""

from __future__ import annotations

from collections.abc import Callable

from vedette.contracts.errors import InputError
from vedette.contracts.source import Source
from vedette.core.text.nearest import unknown
from vedette.operations.formats import changedetection, distill, jobs, own, tables
from vedette.operations.formats.entry import Parsed

READERS: dict[str, Callable[[bytes], Parsed]] = {
    "urls": tables.read_urls,
    "csv": tables.read_csv,
    "opml": tables.read_opml,
    "urlwatch": jobs.read_jobs,
    "webchanges": jobs.read_jobs,
    "jsonl": own.read_jsonl,
    "yaml": own.read_yaml,
    "xlsx": tables.read_sheet,
    "changedetection": changedetection.read_watches,
    "distill": distill.read_watches,
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
    """Which format this most likely is."""
    lowered = name.lower()
    ending = next((form for end, form in _ENDINGS.items() if lowered.endswith(end)), None)
    if ending:
        return ending
    if changedetection.looks_like(data):
        return "changedetection"
    if distill.looks_like(data):
        return "distill"
    if data.startswith(_PACKED):
        return "xlsx"
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"<"):
        return "opml"
    if head.startswith(b"{"):
        return "jsonl"
    if lowered.endswith((".yaml", ".yml")) or jobs.looks_like(data):
        return "yaml" if own.looks_like(data) else "urlwatch"
    return "csv" if tables.looks_like_csv(data) else "urls"


def _is_binary(data: bytes) -> bool:
    """A picture, a document, a program: more control characters than any text has."""
    head = data[:4096]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return head.startswith(_DOCUMENTS) or sum(byte in _CONTROL for byte in head) > len(head) // 20
