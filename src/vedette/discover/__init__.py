"""Find targets: one lister per kind of listing, each a function of a fetched document."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vedette.contracts.errors import ConfigError
from vedette.contracts.source import ListerKind, Listing, Sighting
from vedette.discover.auto import make_auto
from vedette.discover.crawl import read_crawl, read_page
from vedette.discover.feed import read_feed
from vedette.discover.gather import ListingDocument
from vedette.discover.gazettes import read_eurlex, read_nn
from vedette.discover.html_list import read_html_list, read_pagination
from vedette.discover.site_lists import read_hnb, read_hok, read_mrms
from vedette.discover.sitemap import read_sitemap

__all__ = ["LISTERS", "ListingDocument", "lister_of_found", "read_listing"]

_PLAIN: dict[ListerKind, Callable[[ListingDocument], Listing]] = {
    ListerKind.PAGE: read_page,
    ListerKind.FEED: read_feed,
    ListerKind.SITEMAP: read_sitemap,
    ListerKind.HTML_LIST: read_html_list,
    ListerKind.PAGINATION: read_pagination,
    ListerKind.CRAWL: read_crawl,
    ListerKind.HNB: read_hnb,
    ListerKind.NN: read_nn,
    ListerKind.EURLEX: read_eurlex,
    ListerKind.MRMS: read_mrms,
    ListerKind.HOK: read_hok,
}
LISTERS: Mapping[ListerKind, Callable[[ListingDocument], Listing]] = {
    **_PLAIN,
    ListerKind.AUTO: make_auto(_PLAIN),
}


def read_listing(kind: ListerKind, document: ListingDocument) -> Listing:
    """What the document lists.  Never raises for what it says: `problem` tells the user what is wrong."""
    try:
        return LISTERS[kind](document)
    except ConfigError as error:
        return Listing(problem=str(error))


def lister_of_found(kind: ListerKind, sighting: Sighting) -> ListerKind | None:
    """What a sighting lists itself: pages of a crawl are crawled on, everything else is a leaf."""
    return ListerKind.CRAWL if kind is ListerKind.CRAWL and not sighting.is_document else None
