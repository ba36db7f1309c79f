"""XML from strangers: no entities, no network, no huge trees; broken markup is repaired before we give up."""

from __future__ import annotations

import html.entities
import re
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from lxml import etree

from vedette.discover.gather import ListingDocument

_NAME = re.compile(rb"<([A-Za-z_][\w.:-]{0,100})")
_BARE = re.compile(rb"&(?!#\d{1,7};|#[xX][0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")
_NAMED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d+|#[xX][0-9a-fA-F]+);)([A-Za-z][A-Za-z0-9]{1,31};)")
_CONTROLS = bytes(code for code in range(32) if code not in (9, 10, 13))
_SPACE = re.compile(rb"[ \t\r\n]*")
_BLANK = re.compile(rb"(?:[ \t\r\n\x00]|\xef\xbb\xbf)+")
_START = re.compile(rb"<(?:\?xml|rss|feed|urlset|sitemapindex|rdf:RDF)")
_PROLOG = ((b"<?", b"?>"), (b"<!--", b"-->"), (b"<!", b">"))
_MAX_PROLOG = 50  # steps; nobody needs ten
_MAX_JUNK = 4096  # warnings that a server printed before the document
_SAFE: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"


@dataclass(frozen=True, slots=True)
class Markup:
    """A document ready to be parsed.  `root` is the local name of its first element, lower case."""

    data: bytes  # UTF-8, starts at the first "<"
    root: str
    problem: str = ""


def open_markup(document: ListingDocument) -> Markup:
    """Decodes, finds the root element, refuses documents that declare entities."""
    data = _in_utf8(document)
    if not data:
        return Markup(b"", "", "the document is empty")
    if not data.startswith(b"<"):
        start = _START.search(data[:_MAX_JUNK])
        data = data[start.start() :] if start else data
    root_at = _root_at(data)
    # The parser does not resolve entities either; a listing that brings its own is not read at all.
    has_subset = b"[" in data[:root_at].partition(b"<!DOCTYPE")[2]
    if has_subset and b"<!ENTITY" in data:
        return Markup(b"", "", "refused: the document declares entities of its own, nothing of it was read")
    name = _NAME.match(data, root_at)
    root = name.group(1).decode("utf-8", "replace").rpartition(":")[2].lower() if name else ""
    return Markup(data, root)


def _in_utf8(document: ListingDocument) -> bytes:
    """What is in UTF-8 already is not copied: a sitemap may have 50 MB."""
    data = document.utf8
    start = _BLANK.match(data)
    return data[start.end() :] if start else data


def parse(data: bytes, *, recover: bool = False) -> etree._Element | None:
    """The root element, or None where the document is not well-formed."""
    try:
        root = etree.fromstring(data, _parser(recover))
    except (etree.XMLSyntaxError, ValueError):
        return None
    return root if isinstance(root, etree._Element) else None


def stream(data: bytes, tags: tuple[str, ...], *, recover: bool = False) -> etree.iterparse:
    """Elements of these names as they end; the caller clears them."""
    return etree.iterparse(
        BytesIO(data),
        events=("end",),
        tag=tags,
        encoding="utf-8",
        recover=recover,
        **_SAFE,
    )


def repaired(data: bytes) -> bytes:
    """The usual faults mended: bare ampersands, HTML's entity names, control characters.  CDATA stays."""
    data = data.translate(None, _CONTROLS)
    parts: list[bytes] = []
    at = 0
    while True:
        start = data.find(_CDATA, at)
        part = _BARE.sub(b"&amp;", data[at : start if start >= 0 else len(data)])
        parts.append(_NAMED.sub(_mend, part))
        if start < 0:
            break
        end = data.find(_CDATA_END, start)
        at = end + len(_CDATA_END) if end >= 0 else len(data)
        parts.append(data[start:at] + (b"" if end >= 0 else _CDATA_END))
    return b"".join(parts)


def local_name(element: etree._Element) -> str:
    """The name without its namespace, bound or not."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2] if isinstance(tag, str) else ""


def is_html(markup: Markup) -> bool:
    return markup.root in ("html", "head", "body") or b"<!doctype html" in markup.data[:200].lower()


def _parser(recover: bool) -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8",
        recover=recover,
        **_SAFE,
    )


def _root_at(data: bytes) -> int:
    """Where the root element starts; declarations, comments and a document type may stand before it."""
    at = 0
    for _ in range(_MAX_PROLOG):
        at = _SPACE.match(data, at).end()  # type: ignore[union-attr]  # matches the empty string too
        end_mark = next((end for start, end in _PROLOG if data.startswith(start, at)), None)
        if end_mark is None:
            return at
        end = data.find(end_mark, at)
        if end < 0:
            break
        at = end + len(end_mark)
    return len(data)


def _mend(match: re.Match[bytes]) -> bytes:
    name = match.group(1)
    char = html.entities.html5.get(name.decode("ascii"))
    return char.encode() if char else b"&amp;" + name
