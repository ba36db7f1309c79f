"""The lister that fits a URL: looks at the fetched document once and weighs what it finds.

Every row of `SIGNS` that applies speaks for one lister; the row with most points wins and is the reason.
Where the document itself is the better listing, it is read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from vedette.contracts.source import ListerKind, Listing
from vedette.contracts.words import Reason
from vedette.core.urls.canonical import canonical, host_of
from vedette.discover.crawl import LinkReader
from vedette.discover.data import is_json_feed
from vedette.discover.feed import is_feed
from vedette.discover.gather import ListingDocument
from vedette.discover.html_list import find_items, has_pager
from vedette.discover.markup import Markup, is_html, open_markup
from vedette.discover.sitemap import is_sitemap, site_of
from vedette.discover.tree import LinkPage, attribute, is_navigation

Lister = Callable[[ListingDocument], Listing]
FEED_TYPES = (
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/feed+json",
)
MANY_LINKS = 15
LIST_LIKE = 5
FEW_DOCUMENTS = 2
MUCH_TEXT = 600  # characters; less is a portal's front door
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedPage:
    """What one look at the document found."""

    is_front: bool = False  # the site's first page
    is_feed: bool = False
    is_sitemap: bool = False
    is_page: bool = False  # HTML
    sitemap: str = ""  # robots.txt names it
    feed: str = ""  # the page names it
    is_own_feed: bool = False  # of this section, not of the whole site
    items: int = 0
    documents: int = 0  # files to download that the content links to
    has_pager: bool = False
    links: int = 0
    text_chars: int = 0

    @property
    def has_many_links(self) -> bool:
        return self.links >= MANY_LINKS

    @property
    def lists_documents(self) -> bool:
        """Links to files, and little beside them: a price list or a page of forms, however short."""
        return self.documents >= FEW_DOCUMENTS and self.text_chars < MUCH_TEXT // 2 + 120 * self.documents

    @property
    def is_list(self) -> bool:
        return self.items >= LIST_LIKE and self.text_chars < 200 * self.items


@dataclass(frozen=True, slots=True)
class ListerSign:
    """One row: when it applies, which lister it speaks for, how strongly, and in what words."""

    points: int
    lister: ListerKind
    applies: Callable[[ProbedPage], bool]
    words: str


SIGNS: tuple[ListerSign, ...] = (
    ListerSign(100, ListerKind.FEED, lambda look: look.is_feed, "the document is a feed"),
    ListerSign(100, ListerKind.SITEMAP, lambda look: look.is_sitemap, "the document is a sitemap"),
    ListerSign(90, ListerKind.PAGE, lambda look: not look.is_page, "the document is not a web page"),
    ListerSign(80, ListerKind.SITEMAP, lambda look: look.is_front and look.sitemap != "", "robots.txt has sitemap"),
    ListerSign(75, ListerKind.PAGINATION, lambda look: look.has_pager and look.items > 1, "a list of many pages"),
    ListerSign(70, ListerKind.FEED, lambda look: look.is_own_feed, "the page names a feed of its own section"),
    ListerSign(65, ListerKind.FEED, lambda look: look.is_front and bool(look.feed), "the site names a feed"),
    ListerSign(60, ListerKind.CRAWL, lambda look: look.is_front and look.has_many_links, "a front page of links"),
    ListerSign(55, ListerKind.HTML_LIST, lambda look: look.is_list, "the page is a list"),
    ListerSign(50, ListerKind.HTML_LIST, lambda look: look.lists_documents, "the page links to documents"),
    ListerSign(40, ListerKind.PAGE, lambda look: look.text_chars >= MUCH_TEXT, "the page is mostly text"),
    ListerSign(30, ListerKind.CRAWL, lambda look: look.has_many_links, "many links and little text"),
    ListerSign(10, ListerKind.PAGE, lambda look: True, "nothing on the page lists other pages"),
)  # fmt: skip


def make_auto(listers: Mapping[ListerKind, Lister]) -> Lister:
    """The `auto` lister over the others."""

    def read_auto(document: ListingDocument) -> Listing:
        look = look_at(document)
        signs = judge(look)
        best = signs[0]
        url = {ListerKind.FEED: look.feed, ListerKind.SITEMAP: look.sitemap}.get(best.lister, "")
        is_here = look.is_feed or look.is_sitemap or not url
        listing = listers[best.lister](document) if is_here else Listing()
        notes = tuple(Reason(f"auto_{sign.lister}", sign.points, sign.words) for sign in signs)
        return replace(
            listing,
            became=best.lister,
            became_url=None if is_here else url,
            notes=notes + listing.notes,
        )

    return read_auto


def judge(look: ProbedPage) -> list[ListerSign]:
    """The signs that apply, best first."""
    return sorted((sign for sign in SIGNS if sign.applies(look)), key=lambda sign: -sign.points)


def look_at(document: ListingDocument) -> ProbedPage:
    """Everything the signs ask, read once."""
    is_front = canonical("/", document.url) == document.url.partition("?")[0] and "?" not in document.url
    if document.body.startswith(_GZIP):
        return ProbedPage(is_front=is_front, is_sitemap=".xml" in document.url or "sitemap" in document.url)
    if is_json_feed(document):
        return ProbedPage(is_front=is_front, is_feed=True)
    markup = open_markup(document)
    if is_feed(markup) or is_sitemap(markup):
        return ProbedPage(is_front=is_front, is_feed=is_feed(markup), is_sitemap=is_sitemap(markup))
    if not _is_page(document, markup):
        return ProbedPage(is_front=is_front)
    return _look_at_page(document, LinkPage(document), is_front=is_front)


def _look_at_page(document: ListingDocument, page: LinkPage, *, is_front: bool) -> ProbedPage:
    items, guess = find_items(document, page)
    feeds = list(_feeds(page))
    section = document.url.partition("?")[0].rstrip("/") + "/"
    own = next((feed for feed in feeds if feed.startswith(section)), "")
    hrefs = [href for _, href in page.links()]
    return ProbedPage(
        is_front=is_front,
        is_page=True,
        sitemap=_sitemap(document),
        feed=own or next(iter(feeds), ""),
        is_own_feed=bool(own) and not is_front,
        items=0 if guess else len({item.href for item in items}),
        has_pager=has_pager(document, page),
        documents=len({href for node, href in page.document_links() if not is_navigation(node)}),
        links=len(LinkReader(document.url).links(document.url, page.base, hrefs)),
        text_chars=page.text_chars(),
    )


def _is_page(document: ListingDocument, markup: Markup) -> bool:
    return "html" in document.content_type.lower() or is_html(markup)


def _feeds(page: LinkPage) -> Iterator[str]:
    """Feeds the page names, without those of comments."""
    for node in page.tree.css('link[rel~="alternate"][href]'):
        url = canonical(attribute(node, "href"), page.base)
        about = (attribute(node, "title") + " " + (url or "")).lower()
        if (
            url
            and attribute(node, "type").lower().startswith(FEED_TYPES)
            and not ("comment" in about or "komentar" in about)
        ):
            yield url


def _sitemap(document: ListingDocument) -> str:
    """The first sitemap of robots.txt that belongs to this site."""
    site = site_of(host_of(document.url))
    urls = (canonical(text, document.url) for text in document.sitemaps)
    return next((url for url in urls if url and site_of(host_of(url)) == site), "")
