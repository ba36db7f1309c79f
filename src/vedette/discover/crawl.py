"""The links of a page, for a site that has no listing.

Breadth first: a page at depth d gives pages at depth d + 1; a page at `max_depth` gives only the documents it
links to.  Every sighting that is no document is itself read as a crawl listing, one deeper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from vedette.contracts.source import ANYWHERE, ListerOptions, Listing, Sighting
from vedette.contracts.words import Reason, WatchId
from vedette.core.urls.admission import is_marked, robots_words
from vedette.core.urls.canonical import (
    MAX_URL,
    PLAIN_PATH,
    canonical,
    host_of,
    origin_of,
    plain_path,
    watch_id,
)
from vedette.core.urls.url_shape import filters_of, is_document, is_part
from vedette.discover.gather import ListingDocument
from vedette.discover.tree import LinkPage, attribute

Link = tuple[WatchId, str]
Memo = dict[str, Link | None]
MEMO = 16_384  # raw addresses remembered per source: about 6 MB when full
MOST_PARTS = 1000  # told of one page
MOST_META = 500  # elements of a head that are read
_UNKNOWN: Link = (WatchId(-1), "")
_WHOLE = ("http://", "https://")  # these mean the same on every page
_NOT_PAGES = ("#", "javascript:", "mailto:", "tel:", "data:")


class _PageLinks:
    """Where the links of one page lead from, and what is known of them: by path, by whole address, by folder."""

    __slots__ = ("base", "folder", "here", "origin", "rooted", "whole")

    def __init__(self, base: str, memo: Callable[[str], Memo]) -> None:
        self.base = base
        self.origin = origin_of(base)
        folder = base.partition("?")[0].rpartition("/")[0]
        self.folder = f"{folder if len(folder) > len(self.origin) else self.origin}/"
        self.rooted, self.whole, self.here = memo(self.origin), memo(""), memo(self.folder)


class LinkReader:
    """Raw addresses to targets of one source, fast: most links of a page stand on every page of the site.

    In scope are the source's host, with and without www, and `follow_hosts`; "*" among them is every host.  Keeps a
    bounded memo.
    """

    def __init__(self, source_url: str, follow_hosts: Sequence[str] = (), *, memo: int = MEMO) -> None:
        self._hosts = frozenset(_bare(host.lower()) for host in (host_of(source_url), *follow_hosts))
        self._is_everywhere = ANYWHERE in self._hosts
        self._limit = memo
        self._memos: dict[str, Memo] = {}  # by place: an origin, a folder of it, or anywhere
        self._size = 0
        self._parts: dict[WatchId, str] = {}
        self.too_long = 0  # addresses that nobody asks for because of their length

    def parts(self) -> list[Link]:
        """Images and other parts of pages that links led to since this was asked last."""
        found, self._parts = list(self._parts.items()), {}
        return found

    def links(self, page_url: str, base: str, hrefs: Iterable[str]) -> list[Link]:
        """Targets in scope, canonical, in order, each once.  Styles, scripts, images are no targets."""
        base = base or page_url
        if self._size >= self._limit:
            self._memos, self._size = {}, 0
        page = _PageLinks(base, self._memo)
        rooted, whole, here = page.rooted.get, page.whole.get, page.here.get
        found: dict[WatchId, Link] = {}
        for href in hrefs:
            link = rooted(href, _UNKNOWN)  # most links of a page; how one is written tells which memo has it
            if link is _UNKNOWN and (link := whole(href, _UNKNOWN)) is _UNKNOWN:
                link = here(href, _UNKNOWN)
            if link is _UNKNOWN:
                link = self._other(href, page)
            if link is not None:
                found[link[0]] = link
        return list(found.values())

    def _other(self, href: str, page: _PageLinks) -> Link | None:
        """A link that was not met in this spelling."""
        cut = href.find("#")
        if cut > 0 and href[cut - 1] > " ":  # whichever part is meant, it is the same address
            href = href[:cut]
        memo = page.rooted if href[:1] == "/" else page.whole if href.startswith(_WHOLE) else page.here
        link = memo.get(href, _UNKNOWN)
        if link is _UNKNOWN:
            link = self._resolve(href, page)
            self._remember(href, link, memo)
        return link

    def _memo(self, place: str) -> Memo:
        memo = self._memos.get(place)
        if memo is None:
            memo = self._memos[place] = {}
            self._size += 1
        return memo

    def _remember(self, href: str, link: Link | None, memo: Memo) -> None:
        if self._size >= self._limit or len(href) > MAX_URL:
            return
        if href.strip()[:1] in ("", "?", "#"):  # these mean something else on every page
            return
        memo[href] = link
        self._size += 1

    def _resolve(self, href: str, page: _PageLinks) -> Link | None:
        if href.startswith(_NOT_PAGES):
            return None
        url = self._plain(href, page) or canonical(href, page.base)
        if url is None or not self._is_ours(url):
            self.too_long += len(href) > MAX_URL
            return None
        if is_part(url):
            if len(self._parts) < MOST_PARTS:
                self._parts[watch_id(url)] = url
            return None
        return watch_id(url), url

    def _plain(self, href: str, page: _PageLinks) -> str | None:
        """What needs no parser: a plain path, from the root, the folder of the page or an origin that was met."""
        if href[:1] == "/":
            return plain_path(href, page.origin)
        if not href.startswith(_WHOLE):
            return plain_path(f"/{href}", page.folder[:-1])
        start = href.find("/", 8)  # past https://
        is_met = start > 0 and href[:start] in self._memos
        return href if is_met and len(href) <= MAX_URL and PLAIN_PATH.fullmatch(href, start) else None

    def _is_ours(self, url: str) -> bool:
        return self._is_everywhere or _bare(host_of(url)) in self._hosts


def read_crawl(document: ListingDocument) -> Listing:
    """The links of one page.  Where it is extracted anyway, `LinkReader` and `sight` do the same for less."""
    page = LinkPage(document)
    options = document.options
    if options.honour_nofollow and _says_nofollow(page):
        return Listing(notes=(Reason("nofollow", note="the page asks not to follow its links"),))
    hrefs = (
        href
        for node, href in page.links()
        if not (options.honour_nofollow and is_marked(attribute(node, "rel")))
    )
    reader = LinkReader(document.url, options.follow_hosts)
    listing = sight(reader.links(document.url, page.base, hrefs), options, document.depth)
    return replace(listing, problem=page.problem)


def sight(links: Iterable[Link], options: ListerOptions, depth: int) -> Listing:
    """Sightings of links that a page at this depth has.  At `max_depth` only documents."""
    filters = filters_of(options)
    is_last = depth >= options.max_depth
    sightings: list[Sighting] = []
    refused: list[tuple[str, Reason]] = []
    for i, url in links:
        is_file = is_document(url)
        if is_last and not is_file:
            continue
        reason = filters.refuse(url)
        if reason is None:
            sightings.append(Sighting(url=url, id=i, is_document=is_file))
        else:
            refused.append((url, reason))
    return Listing(sightings=tuple(sightings), refused=tuple(refused))


def _says_nofollow(page: LinkPage) -> bool:
    said: dict[str, str] = {}
    for node in page.tree.css("meta[name][content]")[:MOST_META]:
        said.setdefault(attribute(node, "name").strip().lower(), attribute(node, "content"))
    return robots_words(said)[1]


def _bare(host: str) -> str:
    return host.removeprefix("www.")


# Watch this URL itself: nothing to list.


def read_page(document: ListingDocument) -> Listing:
    """The page is its own target."""
    return Listing()
