"""Sitemaps: urlset and sitemapindex as XML, gzip of it, plain text, and (as the protocol allows) a feed.

`lastmod` becomes `modified_at`, a signal that the schedule learns how far to trust.  `priority`, `changefreq`
are ignored: nobody keeps them true.  Children of an index are listings of their own, read in their own time.
"""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from lxml import etree
from publicsuffixlist import PublicSuffixList

from vedette.contracts.fetch import MIB
from vedette.contracts.source import Follow, ListerKind, ListerOptions, Listing
from vedette.contracts.words import Reason
from vedette.core.text.dates import read_date
from vedette.core.urls.canonical import canonical, host_of, watch_id
from vedette.discover.feed import is_feed, read_feed
from vedette.discover.gather import Found, Gathering, ListingDocument, clean_title, no_address
from vedette.discover.markup import Markup, is_html, local_name, open_markup, repaired, stream

MAX_DECODED = 50 * MIB  # the protocol's limit of one file
MAX_RATIO = 200  # decoded / wire, once over 1 MiB (docs/politeness.md)
MAX_MEMBERS = 100
MAX_ENTRIES = 50_000  # the protocol's limit of one file
# Narodne novine name the child sitemaps sitemap_<type>_<year>_<issue>.xml; types are 1 official,
# 2 international, 3 announcements (spec 001/3.4).  A name of another form has no type and passes.
_TYPED = re.compile(r"sitemap[_-](\d{1,3})(?:[_-]\d{1,6})+\.xml(?:\.gz)?$")
_GZIP = b"\x1f\x8b"


def read_sitemap(document: ListingDocument) -> Listing:
    """The pages it names, and the sitemaps it refers to."""
    body, problem = _unpacked(document.body)
    if not body:
        return Listing(problem=problem or "the sitemap is empty")
    unpacked = document if body is document.body else replace(document, body=body, page=None)
    markup = open_markup(unpacked)
    if markup.problem:
        return Listing(problem=markup.problem)
    if is_feed(markup):
        return read_feed(unpacked)
    gathering = Gathering(document, limit=MAX_ENTRIES)
    if markup.root in ("urlset", "sitemapindex"):
        listing = _read_xml(document, markup, gathering)
    elif markup.data.startswith(b"<"):
        kind = "an HTML page" if is_html(markup) else f"root element is <{markup.root}>"
        listing = Listing(problem=f"not a sitemap: {kind}")
    else:
        listing = _read_text(document, markup.data, gathering)
    return replace(listing, problem=problem or listing.problem)


def is_sitemap(markup: Markup) -> bool:
    return markup.root in ("urlset", "sitemapindex")


class _Entry:
    """One <url> or <sitemap>."""

    __slots__ = ("is_index", "modified", "published", "title", "url")

    def __init__(self, is_index: bool) -> None:
        self.is_index = is_index
        self.url = self.modified = self.published = self.title = ""


def _read_xml(document: ListingDocument, markup: Markup, gathering: Gathering) -> Listing:
    entries, problem = _entries(markup.data)
    follow: dict[int, Follow] = {}
    site = site_of(host_of(document.url))
    own = watch_id(document.url)
    sites: dict[str, bool] = {}
    unreadable = 0
    for entry in entries:
        url = canonical(entry.url, document.url)
        if url is None:
            unreadable += 1
            gathering.leave_out(entry.url)
            continue
        host = host_of(url)
        if host not in sites:
            sites[host] = site_of(host) == site
        if not sites[host]:
            gathering.refuse(url, Reason("other_site", note=f"{host} is not part of {site}"))
        elif not entry.is_index:
            _add(gathering, url, entry)
        elif watch_id(url) != own and _is_wanted(document, url, gathering):
            child = Follow(
                url=url,
                lister=ListerKind.SITEMAP,
                depth=document.depth + 1,
                modified_at=read_lastmod(entry.modified),
            )
            follow.setdefault(watch_id(url), child)
    if len(entries) > MAX_ENTRIES:
        gathering.note("sitemap_limit", f"only the first {MAX_ENTRIES} entries of the file are read")
    if entries and unreadable == len(entries):
        problem = problem or no_address(unreadable)
    return gathering.listing(problem=problem, follow=tuple(follow.values()))


def _add(gathering: Gathering, url: str, entry: _Entry) -> None:
    gathering.add_url(
        url,
        Found(
            href=url,
            title=clean_title(entry.title) if entry.title else "",
            published_at=read_lastmod(entry.published),
            modified_at=read_lastmod(entry.modified),
        ),
    )


def _is_wanted(document: ListingDocument, url: str, gathering: Gathering) -> bool:
    """True where this child may be followed; else `refused` says why not."""
    options = document.options
    if document.depth >= options.max_sitemap_depth:
        gathering.refuse(
            url, Reason("sitemap_depth", note=f"deeper than {options.max_sitemap_depth} sitemaps")
        )
        return False
    if not _is_wanted_type(url, options):
        gathering.refuse(url, Reason("sitemap_type", note=f"sitemap_types is {list(options.sitemap_types)}"))
        return False
    return True


def _is_wanted_type(url: str, options: ListerOptions) -> bool:
    typed = _TYPED.search(url.partition("?")[0].lower()) if options.sitemap_types else None
    return typed is None or int(typed.group(1)) in options.sitemap_types


class _Reading:
    """The entries of one file, and how many elements of it named no address."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self.without = 0

    def read(self, data: bytes, *, recover: bool) -> None:
        """Streams, and forgets each element once it is read: memory does not grow with the file."""
        for _, element in stream(data, ("{*}url", "{*}sitemap"), recover=recover):
            parent = element.getparent()
            if parent is not None and local_name(parent) == "loc":
                continue  # `<loc><url>..</url></loc>`: the text of the outer one
            found = _read_entries(element)
            self.entries += found
            self.without += not found
            element.clear(keep_tail=False)
            if parent is not None and local_name(parent) not in ("url", "sitemap"):
                del parent[
                    0 : parent.index(element)
                ]  # of one that was never closed the parent is still to be read
            if len(self.entries) > MAX_ENTRIES:
                return


def _entries(data: bytes) -> tuple[list[_Entry], str]:
    """Strict first.  A document that breaks off or has bare ampersands is read as far as it goes."""
    reading = _Reading()
    try:
        reading.read(data, recover=False)
    except etree.XMLSyntaxError as error:
        first_problem = str(error).partition(" (")[0]
    else:
        return reading.entries, _nothing_named(reading)
    mended = repaired(data)
    try:
        reading = _Reading()
        reading.read(mended, recover=False)
    except etree.XMLSyntaxError:
        reading = _Reading()
        with suppress(etree.XMLSyntaxError):  # what was read before it stays
            reading.read(mended, recover=True)
        read = f"the sitemap is broken ({first_problem}); {len(reading.entries)} entries could be read"
        return reading.entries, read
    return reading.entries, _nothing_named(reading)


def _nothing_named(reading: _Reading) -> str:
    """A sitemap may be empty; one whose entries have no address is broken."""
    return no_address(reading.without) if reading.without and not reading.entries else ""


def _read_entries(element: etree._Element) -> list[_Entry]:
    """One entry per address.  A date belongs to the address before it, or to the next when there is none."""
    is_index = local_name(element) == "sitemap"
    found: list[_Entry] = []
    ahead = _Entry(is_index)  # what stands before the first address
    for child in element:
        name = local_name(child)
        if name == "loc":
            found += _named("".join(map(str, child.itertext())), ahead)
            ahead = _Entry(is_index) if found else ahead
            continue
        entry = found[-1] if found else ahead
        if name == "lastmod":
            entry = ahead if entry.modified else entry
            entry.modified = (child.text or "").strip()[:64]
        elif name == "news":
            _read_news(child, entry)
    inside = (element.text or "").strip()
    return found or (_named(inside, ahead) if inside.startswith(("http://", "https://")) else [])


def _named(text: str, entry: _Entry) -> list[_Entry]:
    entry.url = text.strip()
    return [entry] if entry.url else []


def _read_news(news: etree._Element, entry: _Entry) -> None:
    """Google News sitemaps carry the date and the title of an article."""
    for child in news:
        name = local_name(child)
        if name == "publication_date":
            entry.published = (child.text or "").strip()[:64]
        elif name == "title":
            entry.title = (child.text or "")[:1000]


def _read_text(document: ListingDocument, data: bytes, gathering: Gathering) -> Listing:
    """One address per line."""
    site = site_of(host_of(document.url))
    for line in data.decode("utf-8", "replace").splitlines():
        href = line.strip()
        if not href.startswith(("http://", "https://")):
            continue
        url = canonical(href)
        if url is None:
            continue
        if site_of(host_of(url)) != site:
            gathering.refuse(url, Reason("other_site", note=f"not part of {site}"))
        elif gathering.count < MAX_ENTRIES:
            gathering.add_url(url, Found(href=url))
    has_read = gathering.count or gathering.has_refused
    return gathering.listing(problem="" if has_read else "not a sitemap: no XML, and no line is an address")


@lru_cache(maxsize=4096)
def read_lastmod(text: str) -> datetime | None:
    """W3C date and time (year, month, day, minutes, seconds, fractions), and whatever else people write."""
    if not text:
        return None
    if len(text) == 4 and text.isdigit():
        text += "-01-01"
    elif len(text) == 7 and text[4] == "-":
        text += "-01"
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:  # the first day of year 1, east of Greenwich
        return None
    except ValueError:
        return read_date(text)


@lru_cache(maxsize=4096)
def site_of(host: str) -> str:
    """The registrable domain, or the host itself where it has none (an address, an unknown name)."""
    if ":" in host or host.replace(".", "").isdigit():
        return host
    return _suffixes().privatesuffix(host) or host


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _unpacked(body: bytes) -> tuple[bytes, str]:
    """Gzip by its magic, whatever the name says.  Returns what could be read, and what is wrong with it."""
    if not body.startswith(_GZIP):
        return body, "" if len(body) <= MAX_DECODED else f"larger than {MAX_DECODED // MIB} MiB"
    parts: list[bytes] = []
    size, rest = 0, body
    for _ in range(MAX_MEMBERS):
        stream_of = zlib.decompressobj(wbits=31)
        try:
            part = stream_of.decompress(rest, MAX_DECODED - size + 1)
        except zlib.error:
            return b"".join(parts), "the gzip data is damaged"
        parts.append(part)
        size += len(part)
        if size > MAX_DECODED or (size > MIB and size > MAX_RATIO * len(body)):
            return (
                b"",
                f"refused: the gzip data unpacks to more than {size // MIB} MiB out of {len(body)} bytes",
            )
        if not stream_of.eof:
            return b"".join(parts), "the gzip data ends early"
        rest = stream_of.unused_data
        if not rest.startswith(_GZIP):
            return b"".join(parts), ""
    return b"".join(parts), f"more than {MAX_MEMBERS} gzip members"
