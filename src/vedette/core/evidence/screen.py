"""The screen: content that must not be kept is refused before anything of it is.

The table ships empty.  It reads an answer as it came, in all the ways in which it can be read (`disguises.py`), and
the text that is made of it.  What a row refuses leaves a breadcrumb without text, URL or host name: a category, the
name of the row and hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import re2

from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.fetch import Fetched
from vedette.contracts.words import Outcome, Reason
from vedette.core.evidence.disguises import Views
from vedette.core.urls.canonical import host_of

_DIGEST_BYTES = 32


UNNAMED = "https://screened.invalid/"  # stands for an address that must not be kept either


class Classifier(Protocol):
    """A judge of texts from another package.  True: the text must not be kept."""

    def __call__(self, text: str, url: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenRow:
    """One thing that is never kept: a pattern, the sha256 of a body or of what is in it, what a classifier says."""

    name: str
    category: str
    pattern: str = ""  # RE2
    digest: str = ""  # sha256 of the decoded body, hex
    classifier: Classifier | None = None


@dataclass(frozen=True, slots=True)
class ScreenTable:
    """Rows, compiled.  Build it with `screen_table`."""

    patterns: tuple[ScreenRow, ...] = ()
    digests: dict[bytes, ScreenRow] = field(default_factory=dict)
    matches: re2.Set | None = None
    classified: tuple[ScreenRow, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.patterns and not self.digests and not self.classified

    def hit(self, text: str) -> ScreenRow | None:
        """The first row whose pattern is in the text."""
        hits = self.matches.Match(_carried(text)) if self.matches is not None and text else None
        return self.patterns[min(hits)] if hits else None


EMPTY_TABLE = ScreenTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """The redacted breadcrumb: all that remains of a refused page."""

    category: str
    row: str
    host_hash: str
    url_hash: str
    reason: Reason
    at: datetime | None = None


def screen_answer(fetched: Fetched, table: ScreenTable) -> ScreenRow | None:
    """The row that an answer as it came must not pass: body, headers, and where it leads."""
    said = "\n".join(f"{name}: {value}" for name, value in fetched.headers)
    texts = (said, fetched.phrase, fetched.redirect_to or "", fetched.detail, fetched.url)
    views = Views(fetched.body, fetched.content_type, *texts)
    row = _screen_views(views, table)
    if row is None and fetched.wire is not fetched.body and fetched.wire:
        row = table.digests.get(hashlib.sha256(fetched.wire).digest()) or table.hit(
            fetched.wire.decode("latin-1")
        )
    return row or classified(table, " ".join(texts), fetched.url)


def screen_url(url: str, table: ScreenTable) -> ScreenRow | None:
    """The row that an address alone must not pass."""
    return None if table.matches is None else _screen_views(Views(b"", "", url), table)


def classified(table: ScreenTable, text: str, url: str) -> ScreenRow | None:
    """What the classifiers say.  One that fails is told without a word of the text: nothing is kept then."""
    for row in table.classified:
        try:
            if row.classifier is not None and row.classifier(text, url):
                return row
        except Exception as error:  # noqa: BLE001  code of others, and its words may quote the page
            raise VedetteError(f"the classifier of screen row {row.name!r}: {type(error).__name__}") from None
    return None


def scrubbed(fetched: Fetched, row: ScreenRow, table: ScreenTable) -> Fetched:
    """An answer of which nothing is left."""
    return Fetched(
        url=UNNAMED if screen_url(fetched.url, table) else fetched.url,
        outcome=Outcome.SCREENED,
        at=fetched.at,
        took=fetched.took,
        sent_after=fetched.sent_after,
        detail=f"{row.category}: {row.name}",
    )


def breadcrumb(row: ScreenRow, url: str, *, host: str = "", at: datetime | None = None) -> Screened:
    """What may be known of it afterwards."""
    return Screened(
        category=row.category,
        row=row.name,
        host_hash=host_hash(host or host_of(url)),
        url_hash=_hash(url),
        reason=Reason("screened", note=f"{row.category}: {row.name}"),
        at=at,
    )


def host_hash(host: str) -> str:
    """By which a blocked host is known."""
    return _hash(host.lower().rstrip("."))


def _screen_views(views: Views, table: ScreenTable) -> ScreenRow | None:
    for view in views:
        if isinstance(view, str):
            row = table.hit(view)
        else:
            row = table.digests.get(hashlib.sha256(view).digest()) if table.digests else None
        if row is not None:
            return row
    return None


def screen(
    text: str, url: str, host: str, table: ScreenTable = EMPTY_TABLE, *, digest: bytes = b""
) -> Screened | None:
    """A breadcrumb when the content must not be kept, else None.  `digest` is the sha256 of the body."""
    row = table.digests.get(digest) if table.digests else None
    row = row or table.hit(url) or table.hit(text) or classified(table, text, url)
    return None if row is None else breadcrumb(row, url, host=host)


def screen_table(rows: Iterable[ScreenRow]) -> ScreenTable:
    """Compile rows; a row that cannot be used is an InputError that names it."""
    patterns: list[ScreenRow] = []
    digests: dict[bytes, ScreenRow] = {}
    judges: list[ScreenRow] = []
    options = re2.Options()
    options.log_errors = False
    matches = re2.Set.SearchSet(options)
    for row in rows:
        if bool(row.pattern) + bool(row.digest) + (row.classifier is not None) != 1:
            raise InputError(
                f"screen row {row.name!r} needs a pattern or a digest or a classifier, and not both"
            )
        if row.classifier is not None:
            judges.append(row)
            continue
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
    return ScreenTable(tuple(patterns), digests, matches if patterns else None, tuple(judges))


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
