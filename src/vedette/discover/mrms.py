"""Pages of the government's publishing system, which the ministry of labour (MRMS) and most ministries use.

An article stands below a section and ends in its number: `/vijesti/povecava-se-minimalna-placa/13579`.  The same
article stands under several sections; the number is its identity, so it is sighted once, by the first address on the
page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vedette.contracts.source import ListerKind, Listing, ListSelectors, Sighting
from vedette.contracts.words import Reason
from vedette.discover.gather import ListingDocument
from vedette.discover.pagination import read_pagination

SELECTORS = ListSelectors(
    item=".news_item, .news-item, .article_item, ul.news > li, ul.vijesti > li, .lista > li",
    link="a",
    title="h2, h3, .title, .naslov",
    date=".date, .datum, time",
)
_DIGITS = 9  # of a number; longer ones are none


def read_mrms(document: ListingDocument) -> Listing:
    """Articles once each, files, and the pages of the list that follow."""
    options = document.options
    wanted = replace(options, selectors=options.selectors or SELECTORS)
    listing = read_pagination(replace(document, options=wanted))
    refused = tuple((s.url, _NO_ARTICLE) for s in listing.sightings if not _is_wanted(s))
    return replace(
        listing,
        sightings=tuple(_once(listing.sightings)),
        refused=listing.refused + refused,
        follow=tuple(replace(page, lister=ListerKind.MRMS) for page in listing.follow),
    )


def article_number(url: str) -> str | None:
    """The number that an article's address ends in: /section/name/number."""
    path = url.partition("//")[2].partition("?")[0].partition("#")[0].rstrip("/")
    steps = path.split("/")[1:]  # the first is the host
    if len(steps) < 3 or steps[-2].isdigit():
        return None
    number = steps[-1]
    return number if number.isascii() and number.isdigit() and len(number) <= _DIGITS else None


_NO_ARTICLE = Reason("no_article", note="neither an article of this system (…/name/number) nor a file")


def _is_wanted(sighting: Sighting) -> bool:
    return sighting.is_document or article_number(sighting.url) is not None


def _once(listed: tuple[Sighting, ...]) -> Iterator[Sighting]:
    seen: set[str] = set()
    for sighting in listed:
        number = article_number(sighting.url)
        if sighting.is_document:
            yield sighting
        elif number is not None and number not in seen:
            seen.add(number)
            yield sighting
