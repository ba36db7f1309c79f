"""One fetched listing, as a lister takes it: bytes, where they came from, and what the user asked for."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from datetime import datetime

from vedette.contracts.source import ListerOptions

FALLBACK = "cp1250"  # undeclared and not UTF-8: what old pages of the region are written in
_DECLARED = 2048  # bytes in which a page must say its charset (HTML: 1024)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark starts with the same bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Python knows codecs that are no charsets (punycode takes quadratic time) and UTF-7, which hides markup.
_CHARSET = re.compile(
    r"(?:utf-?(?:8|16|32)|iso-?8859|latin|windows-|cp\d|us-ascii|ascii|koi8|gb|big5|shift|euc|mac)"
)
_IN_HEADER = re.compile(r"(?i)charset\s*=\s*[\"']?([\w.:-]+)")
_IN_BODY = re.compile(rb"(?i)(?:<\?xml[^>]*?encoding|<meta[^>]{0,200}?charset)\s*=\s*[\"']?([\w.:-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A listing's body.  `depth`: how many listings lie between it and the source; 0 is the source itself."""

    url: str  # that answered, canonical
    body: bytes
    now: datetime
    content_type: str = ""
    options: ListerOptions = field(default_factory=ListerOptions)
    depth: int = 0
    sitemaps: tuple[str, ...] = ()  # of the host's robots.txt; `auto` looks at them


def text_of(body: bytes, content_type: str) -> str:
    """The body as text.  Never fails; what cannot be decoded is U+FFFD.

    A byte order mark wins, then valid UTF-8 (nothing else looks like it by chance), then what is declared.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    if body[:4].count(0) >= 2 and b"<" in body[:4]:
        return body.decode("utf-16-le" if body[1] == 0 else "utf-16-be", "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode(_declared(body, content_type) or FALLBACK, "replace")


def _declared(body: bytes, content_type: str) -> str | None:
    in_header = _IN_HEADER.search(content_type)
    in_body = _IN_BODY.search(body[:_DECLARED])
    names = (in_header.group(1) if in_header else "", in_body.group(1).decode("ascii") if in_body else "")
    return next((name for name in names if name and _is_charset(name)), None)


def _is_charset(name: str) -> bool:
    if not _CHARSET.match(name.lower()):
        return False
    try:
        codecs.lookup(name)
    except LookupError:
        return False
    return True
