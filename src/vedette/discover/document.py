"""One fetched listing, as a lister takes it: bytes, where they came from, and what the user asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from vedette.contracts.source import ListerOptions
from vedette.core.text.charset import decode


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


def text_of(body: bytes, content_type: str) -> str:
    """The body as text, by the decoder that pages have too.  Never fails; what cannot be decoded is U+FFFD."""
    return decode(body, content_type)[0]
