"""JSON from strangers, for the listers that read data instead of pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from vedette.contracts.source import Listing
from vedette.core.text.dates import read_date
from vedette.core.urls.admission import LISTED_MAX_URLS
from vedette.core.urls.canonical import canonical
from vedette.core.urls.url_shape import is_document
from vedette.discover.gather import DOCUMENT_TYPES, Found, Gathering, ListingDocument, clean_title, no_address

MAX_NODES = 50_000  # objects of one document that are looked at
MAX_TEXT = 4096  # of one field; a longer address, title or date is none


def is_data(document: ListingDocument) -> bool:
    """True of JSON, whatever it calls itself."""
    return document.body[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def read_data(document: ListingDocument) -> tuple[Any, str]:
    """The value, or what is wrong."""
    return read_json(document.utf8.decode())


def read_json(text: str) -> tuple[Any, str]:
    """The same of a text.  Numbers stay as they are written: 1,0790 and 1.0790 are told apart."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str), ""
    except RecursionError:
        return None, "JSON nested too deep"
    except ValueError as error:
        return None, f"broken JSON: {str(error)[:100]}"


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of the value, outer before inner, in order."""
    waiting = [value]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            waiting.extend(reversed(item[:MAX_NODES]))


def text_in(fields: dict[str, Any], name: str) -> str:
    """A field as text on one line; empty where it is none."""
    value = fields.get(name)
    return " ".join(value.split()) if isinstance(value, str) and len(value) <= MAX_TEXT else ""


# JSON Feed 1.0 and 1.1 (jsonfeed.org): the same entries as a feed in XML, in other clothes.

MAX_ATTACHMENTS = 100  # of one entry
_VERSION = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/1(?:\.\d+)?/?")
_MAX_TEXT = 4096  # of one field; a longer address or date is none


def is_json(document: ListingDocument) -> bool:
    """True of a JSON object, whatever it calls itself."""
    return document.body[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def is_json_feed(document: ListingDocument) -> bool:
    return is_json(document) and b"jsonfeed.org" in document.body and isinstance(_items(document), list)


def read_json_feed(document: ListingDocument) -> Listing:
    """Every entry's page, and the documents attached to it.  What is no entry is passed over."""
    items = _items(document)
    if isinstance(items, str):
        return Listing(problem=items)
    gathering = Gathering(document)
    for item in islice(items, LISTED_MAX_URLS + 1):
        if isinstance(item, dict):
            for found in _found(item, document.url):
                gathering.add(found)
    is_lost = bool(items) and not gathering.count and not gathering.has_refused
    return gathering.listing(problem=no_address(len(items)) if is_lost else "")


def _items(document: ListingDocument) -> list[Any] | str:
    """The entries, or why there are none."""
    try:
        feed = json.loads(document.utf8.decode(), parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError:
        return "not a feed: JSON nested too deep"
    except ValueError as error:
        return f"the feed is broken JSON: {str(error)[:100]}"
    if not isinstance(feed, dict) or not _VERSION.fullmatch(_text(feed, "version")):
        return "not a feed: JSON without the `version` of a JSON Feed"
    items = feed.get("items")
    return items if isinstance(items, list) else "the feed has no `items`"


def _found(item: dict[str, Any], base: str) -> Iterator[Found]:
    title = clean_title(_text(item, "title"))
    modified_at = read_date(_text(item, "date_modified")[:100])
    published_at = read_date(_text(item, "date_published")[:100]) or modified_at
    page = _text(item, "url") or _text(item, "external_url") or _address(_text(item, "id"))
    documents = list(_documents(item, base))
    for href in (page, *documents):
        if href:
            yield Found(
                href=href,
                title=title,
                published_at=published_at,
                modified_at=modified_at,
                is_document=href in documents,
            )


def _documents(item: dict[str, Any], base: str) -> Iterator[str]:
    attachments = item.get("attachments")
    for one in attachments[:MAX_ATTACHMENTS] if isinstance(attachments, list) else ():
        if not isinstance(one, dict):
            continue
        url = canonical(_text(one, "url"), base) if one.get("url") else None
        if url and (_text(one, "mime_type").lower().startswith(DOCUMENT_TYPES) or is_document(url)):
            yield url


def _address(text: str) -> str:
    """An id is often the address of the page, and need not be one."""
    return text if text.startswith(("http://", "https://")) else ""


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value.strip() if isinstance(value, str) and len(value) <= _MAX_TEXT else ""
