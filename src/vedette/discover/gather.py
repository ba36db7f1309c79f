"""A listing as a lister takes it, and its links as sightings: resolved, canonical, filtered, each target once."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from selectolax.lexbor import LexborHTMLParser

from vedette.contracts.source import Follow, ListerOptions, Listing, Sighting
from vedette.contracts.words import Reason, WatchId
from vedette.core.text.charset import as_utf8
from vedette.core.urls.admission import LISTED_MAX_URLS
from vedette.core.urls.canonical import MAX_URL, TOO_LONG, canonical, watch_id
from vedette.core.urls.url_shape import PART_NOTE, filters_of, is_document, is_part

MAX_REFUSED = 1000  # kept per listing; the rest is counted in a note
MAX_TITLE = 300
DOCUMENT_TYPES = ("application/pdf", "application/msword", "application/vnd.", "application/rtf", "text/rtf")
_TAG = re.compile(r"<[^<>]{0,500}>")
_CODE = re.compile(r"<(script|style)\b[^<>]{0,500}>.*?(?:</\1\b[^<>]{0,50}>|\Z)", re.IGNORECASE | re.DOTALL)
_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")


class ParsedPage(Protocol):
    """A body that was decoded, and a page that was parsed, for whoever looked at it first."""

    @property
    def problem(self) -> str: ...
    @property
    def utf8(self) -> bytes: ...
    def tree(self) -> LexborHTMLParser: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingDocument:
    """A listing's body.  `depth`: how many listings lie between it and the source; 0 is the source itself."""

    url: str  # that answered, canonical
    body: bytes
    now: datetime
    content_type: str = ""
    options: ListerOptions = field(default_factory=ListerOptions)
    depth: int = 0
    sitemaps: tuple[str, ...] = ()  # of the host's robots.txt; `auto` looks at them
    page: ParsedPage | None = None  # the same body, where it was read before

    @property
    def utf8(self) -> bytes:
        """The body in UTF-8, by the reader of letters that pages have too.  What cannot be decoded is U+FFFD."""
        return as_utf8(self.body, self.content_type)[0] if self.page is None else self.page.utf8


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One entry of a listing, before it is resolved."""

    href: str
    title: str = ""
    published_at: datetime | None = None
    modified_at: datetime | None = None
    is_document: bool = False
    base: str | None = None  # what href resolves against; None: the document


class Gathering:
    """Collects the sightings of one document.  Raises ConfigError where an option cannot be used."""

    def __init__(self, document: ListingDocument, *, limit: int = LISTED_MAX_URLS) -> None:
        self._base = document.url
        self._filters = filters_of(document.options)
        wanted = document.options.max_urls
        self._limit = limit if wanted is None else min(limit, wanted)
        self._seen: set[WatchId] = set()
        self._sightings: list[Sighting] = []
        self._refused: list[tuple[str, Reason]] = []
        self._notes: list[Reason] = []
        self._refused_count = 0
        self._too_long = 0

    @property
    def is_full(self) -> bool:
        return len(self._sightings) >= self._limit

    @property
    def count(self) -> int:
        return len(self._sightings)

    @property
    def has_refused(self) -> bool:
        return self._refused_count > 0

    def add(self, found: Found) -> bool:
        """True where it is a sighting, now or before."""
        url = canonical(found.href.strip(), found.base or self._base)
        if url is None:
            self.leave_out(found.href)
            return False
        return self.add_url(url, found)

    def add_url(self, url: str, found: Found) -> bool:
        """The same for an address that is canonical already."""
        if is_part(url):
            self.refuse(url, Reason("page_part", note=PART_NOTE))
            return False
        identity = watch_id(url)
        if identity in self._seen:
            return True
        reason = self._filters.refuse(url, found.published_at)
        if reason is None and self.is_full:
            reason = Reason("max_urls", note=f"the listing names more than {self._limit} addresses")
        if reason is not None:
            self.refuse(url, reason)
            return False
        self._seen.add(identity)
        self._sightings.append(
            Sighting(
                url=url,
                id=identity,
                title=found.title,
                published_at=found.published_at,
                modified_at=found.modified_at,
                is_document=found.is_document or is_document(url),
            )
        )
        return True

    def leave_out(self, href: str) -> None:
        """It cannot be asked for; where that is for its length, the reading says so."""
        self._too_long += len(href) > MAX_URL

    def ignore(self, url: str) -> None:
        """It is no sighting (a link to the next page): nothing more is said of it."""
        self._seen.add(watch_id(url))

    def refuse(self, url: str, reason: Reason) -> None:
        self._refused_count += 1
        if len(self._refused) < MAX_REFUSED:
            self._refused.append((url, reason))

    def note(self, code: str, text: str, points: float = 0.0) -> None:
        self._notes.append(Reason(code, points, text))

    def listing(self, *, problem: str = "", follow: tuple[Follow, ...] = ()) -> Listing:
        """A problem does not take back what was read before it."""
        if self._refused_count > MAX_REFUSED:
            self.note("refused", f"{self._refused_count} entries refused, the first {MAX_REFUSED} are listed")
        if self._too_long:
            self.note(TOO_LONG, f"{self._too_long} addresses over {MAX_URL} characters", self._too_long)
        return Listing(
            sightings=tuple(self._sightings),
            follow=follow,
            refused=tuple(self._refused),
            problem=problem,
            notes=tuple(self._notes),
        )


def no_address(entries: int) -> str:
    """The problem of a listing whose entries lead nowhere."""
    return (
        "its only entry has no address" if entries == 1 else f"none of the {entries} entries has an address"
    )


def clean_title(text: str) -> str:
    """One line of plain text, whatever markup and white space the listing put into it."""
    text = text[: MAX_TITLE * 8]
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub(" ", _CODE.sub(" ", text))
    return _SPACE.sub(" ", text).strip()[:MAX_TITLE]
