"""Lists of sources in the forms in which people have them.  Pure: text in, entries and problems out."""

from __future__ import annotations

from collections.abc import Callable

from vedette.contracts.errors import InputError
from vedette.contracts.source import Source
from vedette.core.nearest import unknown
from vedette.surface.cli.formats import feeds, jobs, own, tables
from vedette.surface.cli.formats.entry import Parsed

READERS: dict[str, Callable[[bytes], Parsed]] = {
    "urls": tables.read_urls,
    "csv": tables.read_csv,
    "opml": feeds.read_opml,
    "urlwatch": jobs.read_jobs,
    "webchanges": jobs.read_jobs,
    "jsonl": own.read_jsonl,
    "yaml": own.read_yaml,
}
WRITERS: dict[str, Callable[[list[Source]], str]] = {
    "csv": tables.write_csv,
    "jsonl": own.write_jsonl,
    "opml": feeds.write_opml,
    "yaml": own.write_yaml,
    "urls": tables.write_urls,
}
_ENDINGS = {".csv": "csv", ".tsv": "csv", ".opml": "opml", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def read(data: bytes, form: str, name: str) -> tuple[str, Parsed]:
    """Entries and problems of a file.  `auto` goes by the name's ending, then by what is in it."""
    chosen = guess(data, name) if form == "auto" else form
    if chosen not in READERS:
        raise InputError(f"--format: {unknown('format', form, ('auto', *READERS))}")
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
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"<"):
        return "opml"
    if head.startswith(b"{"):
        return "jsonl"
    if lowered.endswith((".yaml", ".yml")) or jobs.looks_like(data):
        return "yaml" if own.looks_like(data) else "urlwatch"
    return "csv" if tables.looks_like_csv(data) else "urls"
