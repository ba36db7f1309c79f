"""The screen: content that must not be kept is refused between extract and the disk.

The table ships empty.  What a row refuses leaves a breadcrumb without text, URL or host name: a category, the
name of the row and hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import re2

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason

_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenRow:
    """One thing that is never kept: a pattern in the text or URL, or the sha256 of a body."""

    name: str
    category: str
    pattern: str = ""  # RE2
    digest: str = ""  # sha256 of the decoded body, hex


@dataclass(frozen=True, slots=True)
class ScreenTable:
    """Rows, compiled.  Build it with `screen_table`."""

    patterns: tuple[ScreenRow, ...] = ()
    digests: dict[bytes, ScreenRow] = field(default_factory=dict)
    matches: re2.Set | None = None

    @property
    def is_empty(self) -> bool:
        return not self.patterns and not self.digests


EMPTY_TABLE = ScreenTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """The redacted breadcrumb: all that remains of a refused page."""

    category: str
    row: str
    host_hash: str
    url_hash: str
    reason: Reason


def screen(
    text: str, url: str, host: str, table: ScreenTable = EMPTY_TABLE, *, digest: bytes = b""
) -> Screened | None:
    """A breadcrumb when the content must not be kept, else None.  `digest` is the sha256 of the body."""
    row = table.digests.get(digest) if table.digests else None
    if row is None and table.matches is not None:
        hits = (table.matches.Match(_carried(url)) or []) + (table.matches.Match(_carried(text)) or [])
        row = table.patterns[min(hits)] if hits else None
    if row is None:
        return None
    return Screened(
        category=row.category,
        row=row.name,
        host_hash=_hash(host),
        url_hash=_hash(url),
        reason=Reason("screened", note=f"{row.category}: {row.name}"),
    )


def screen_table(rows: Iterable[ScreenRow]) -> ScreenTable:
    """Compile rows; a row that cannot be used is an InputError that names it."""
    patterns: list[ScreenRow] = []
    digests: dict[bytes, ScreenRow] = {}
    options = re2.Options()
    options.log_errors = False
    matches = re2.Set.SearchSet(options)
    for row in rows:
        if bool(row.pattern) == bool(row.digest):
            raise InputError(f"screen row {row.name!r} needs a pattern or a digest, and not both")
        if row.digest:
            digests[_digest_of(row)] = row
            continue
        try:
            matches.Add(row.pattern)
        except (re2.error, UnicodeError) as problem:
            raise InputError(f"screen row {row.name!r} is not a valid RE2 expression: {problem}") from None
        patterns.append(row)
    if patterns:
        matches.Compile()
    return ScreenTable(tuple(patterns), digests, matches if patterns else None)


def _digest_of(row: ScreenRow) -> bytes:
    try:
        digest = bytes.fromhex(row.digest)
    except ValueError:
        digest = b""
    if len(digest) != _DIGEST_BYTES:
        raise InputError(f"screen row {row.name!r}: digest is not a sha256 of 64 hex digits")
    return digest


def _carried(text: str) -> str:
    """Text that UTF-8 can carry; lone surrogates would raise in RE2."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
