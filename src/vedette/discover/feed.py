"""RSS 2.0 (and 0.9x), RSS 1.0 and Atom; JSON Feed is read next door.

A well-formed feed is read as XML.  A broken one is cut at its entries and each is read by itself, so that one
bad entry does not cost the others.  (feedparser takes 0.3 ms per entry and 0.7 s for 64 KB of "<a><a>...".)
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice, pairwise

from lxml import etree

from vedette.contracts.source import Listing
from vedette.core.text.charset import decode
from vedette.core.text.dates import read_date
from vedette.core.urls.admission import LISTED_MAX_URLS
from vedette.core.urls.canonical import canonical
from vedette.core.urls.url_shape import is_document
from vedette.discover.data import is_json, read_json_feed
from vedette.discover.gather import DOCUMENT_TYPES, Found, Gathering, ListingDocument, clean_title, no_address
from vedette.discover.markup import Markup, is_html, local_name, open_markup, parse, repaired, stream

ROOTS = frozenset(("rss", "rdf", "feed"))
PUBLISHED = frozenset(("pubDate", "published", "issued", "created", "date"))  # date: Dublin Core
MODIFIED = frozenset(("updated", "modified"))
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_TITLE_SPACES = frozenset(
    ("", "http://purl.org/dc/elements/1.1/", "http://purl.org/rss/1.0/", "http://www.w3.org/2005/Atom")
)
_BINARY_TYPES = frozenset(("application/octet-stream",))  # RFC 4287 section 4.1.3.3: not text, so base64
_ENTRY = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:item|entry)[\s>]")
_ENTRY_END = re.compile(rb"</(?:[\w.-]{1,40}:)?(?:item|entry)\s{0,9}>")
_MAX_TEXT = 4096  # of one field; a longer address or date is none


def read_feed(document: ListingDocument) -> Listing:
    """Every entry's page, and the documents it encloses."""
    if is_json(document):
        return read_json_feed(document)
    markup = open_markup(document)
    problem = markup.problem or _not_a_feed(markup)
    if problem:
        return Listing(problem=problem)
    try:
        gathering, count = _gathered(document, _entries(markup.data, document.url))
    except etree.XMLSyntaxError:
        gathering, count = _gathered(document, _broken_entries(markup, document.url))
        gathering.note("broken_feed", "the feed is not well-formed; its entries were read one by one")
    return gathering.listing(problem=_nothing_read(markup, count, gathering))


def _gathered(document: ListingDocument, entries: Iterator[_Entry]) -> tuple[Gathering, int]:
    gathering, count = Gathering(document), 0
    for entry in entries:  # to the end: a feed that breaks off is told from one that is long
        count += 1
        if count <= LISTED_MAX_URLS + 1:
            _gather(entry, gathering)
    return gathering, min(count, LISTED_MAX_URLS + 1)


def is_feed(markup: Markup) -> bool:
    """True where it calls itself one.  Atom's root is a common word, so it has to have a name space or entries."""
    if markup.root == "feed":
        return b"Atom" in markup.data[:2000] or b"atom" in markup.data[:2000] or b"<entry" in markup.data
    return markup.root == "rss" or (markup.root == "rdf" and b"rss" in markup.data[:4000])


class _Entry:
    """One entry while its children are read."""

    __slots__ = ("alternates", "base", "enclosures", "guid", "link", "modified", "published", "title")

    def __init__(self, base: str) -> None:
        self.base = base
        self.title = self.link = self.guid = self.published = self.modified = ""
        self.alternates: list[tuple[bool, int, str]] = []  # HTML sorts first, then in order
        self.enclosures: list[str] = []

    @property
    def page(self) -> str:
        return self.link or (min(self.alternates)[2] if self.alternates else self.guid)


def _not_a_feed(markup: Markup) -> str:
    if is_html(markup):
        return "not a feed: the document is an HTML page; name the feed itself, or use the lister 'auto'"
    if markup.root in ("urlset", "sitemapindex"):
        return f"not a feed: root element is <{markup.root}>; use the lister 'sitemap'"
    if not markup.root:
        return "not a feed: the document is not XML"
    return "" if markup.root in ROOTS else f"not a feed: root element is <{markup.root}>"


def _nothing_read(markup: Markup, entries: int, gathering: Gathering) -> str:
    """A feed may be empty; one that ends before it began, or has entries without addresses, is broken."""
    if not entries:
        is_whole = markup.data.rstrip().endswith(b">") and b"</" in markup.data[-200:]
        return "" if is_whole or b"/>" in markup.data[-3:] else "the feed ends early: no entry could be read"
    if gathering.count or gathering.has_refused:
        return ""
    return no_address(entries)


def _gather(entry: _Entry, gathering: Gathering) -> None:
    title = clean_title(entry.title)
    published_at = read_date(entry.published) if entry.published else None
    modified_at = read_date(entry.modified) if entry.modified else None
    for href in (entry.page, *entry.enclosures):
        if href:
            gathering.add(
                Found(
                    href=href,
                    title=title,
                    published_at=published_at or modified_at,
                    modified_at=modified_at,
                    is_document=href in entry.enclosures,
                    base=entry.base,
                )
            )


def _entries(data: bytes, url: str) -> Iterator[_Entry]:
    """Streams, and forgets each entry once it is read: memory does not grow with the feed."""
    bases: dict[etree._Element | None, str] = {None: url}
    for _, item in stream(data, ("{*}item", "{*}entry")):
        parent = item.getparent()
        outer = _outer_base(parent, bases)
        yield _read(item, item, _joined(item.get(_BASE), outer))
        item.clear(keep_tail=False)
        if parent is not None:
            del parent[0 : parent.index(item)]


def _broken_entries(markup: Markup, url: str) -> Iterator[_Entry]:
    """Each from its start tag to its end tag or to the next one's start."""
    data = repaired(markup.data)
    if parse(data) is not None:
        yield from _entries(data, url)
        return
    starts = [match.start() for match in _ENTRY.finditer(data)]
    for start, limit in pairwise((*starts, len(data))):
        end = _ENTRY_END.search(data, start, limit)
        item = parse(data[start : end.start() if end else limit], recover=True)
        if item is not None:
            yield _read(item, item.iterdescendants(), url)


def _read(item: etree._Element, children: Iterable[etree._Element], base: str) -> _Entry:
    """First come, first taken: what a later child repeats is ignored."""
    entry = _Entry(base)
    own = _space(item)
    for child in children:
        name = local_name(child)
        if name == "title":
            if not entry.title and _space(child) in {own, *_TITLE_SPACES}:
                entry.title = _title(child)
        elif name == "link":
            _read_link(child, entry)
        elif name in PUBLISHED:
            entry.published = entry.published or _text(child)[:100]
        elif name in MODIFIED:
            entry.modified = entry.modified or _text(child)[:100]
        elif name in ("guid", "id"):
            _read_guid(child, entry)
        elif name == "enclosure":
            _read_enclosure(child.get("url") or child.get("href") or "", child.get("type") or "", entry)
    return entry


def _read_link(child: etree._Element, entry: _Entry) -> None:
    href = child.get("href")
    if href is None:
        entry.link = entry.link or _address(child)
        return
    rel, kind = child.get("rel") or "alternate", child.get("type") or ""
    base = child.get(_BASE)
    if base is not None:
        href = canonical(href, _joined(base, entry.base)) or href
    if rel == "enclosure":
        _read_enclosure(href, kind, entry)
    elif rel.rpartition("/")[2] == "alternate":
        entry.alternates.append(("html" not in kind, len(entry.alternates), href))


def _read_guid(child: etree._Element, entry: _Entry) -> None:
    text = _address(child)
    is_permanent = (child.get("isPermaLink") or "true").lower() != "false"
    if is_permanent and text.startswith(("http://", "https://")):
        entry.guid = entry.guid or text


def _read_enclosure(href: str, kind: str, entry: _Entry) -> None:
    absolute = canonical(href, entry.base) if href else None
    if absolute and (kind.lower().startswith(DOCUMENT_TYPES) or is_document(absolute)):
        entry.enclosures.append(absolute)


def _text(element: etree._Element) -> str:
    if len(element) == 0:
        return (element.text or "")[:_MAX_TEXT].strip()
    return "".join(map(str, islice(element.itertext(), 100)))[:_MAX_TEXT].strip()


def _title(element: etree._Element) -> str:
    """Its text; the code of scripts is not, and Atom 0.3 may write it in base64."""
    for code in list(element.iter("{*}script", "{*}style")):
        code.text = None
        del code[:]
    text = _text(element)
    if (element.get("mode") or "").lower() == "base64" or (
        element.get("type") or ""
    ).lower() in _BINARY_TYPES:
        with suppress(ValueError):
            return decode(b64decode("".join(text.split()), validate=True), "")[0]
    return text


def _address(element: etree._Element) -> str:
    return (element.text or "").strip()  # whole: one that is too long is left out, and told


def _space(element: etree._Element) -> str:
    tag = element.tag
    return tag[1:].partition("}")[0] if isinstance(tag, str) and tag.startswith("{") else ""


def _outer_base(element: etree._Element | None, known: dict[etree._Element | None, str]) -> str:
    """xml:base of everything around; entries share their parent, so it is worked out once."""
    if element in known:
        return known[element]
    assert element is not None  # noqa: S101 - None is known
    base = _joined(element.get(_BASE), _outer_base(element.getparent(), known))
    known[element] = base
    return base


def _joined(attribute: str | None, outer: str) -> str:
    return outer if attribute is None else canonical(attribute, outer) or outer
