"""The exchange rate list of the national bank (HNB): a JSON array, one object per currency.

The list is itself the target: a rate that moved is a change of this document, field by field.  For the currencies
that `structured.currencies` names, the one-currency document of the API is a sighting too, so that each can have
its own history.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from selectolax.lexbor import LexborNode

from vedette.contracts.source import ListerKind, Listing, ListSelectors, Sighting
from vedette.contracts.words import Reason
from vedette.core.text.dates import read_date
from vedette.core.urls.canonical import canonical, host_of
from vedette.discover.data import is_data, read_data, text_in
from vedette.discover.gather import Found, Gathering, ListingDocument, clean_title
from vedette.discover.html_list import read_pagination
from vedette.discover.tree import MAX_NODES, LinkPage, attribute, is_navigation

MAX_RATES = 1000  # there are about fifteen currencies; a range of days has one list for each
# Their field -> ours.  The words of the API's third edition (euro), then of the first (kuna).
FIELDS = {
    "valuta": "currency",
    "drzava": "country",
    "broj_tecajnice": "number",
    "datum_primjene": "applies_on",
    "kupovni_tecaj": "buying",
    "srednji_tecaj": "middle",
    "prodajni_tecaj": "selling",
    "datum_primjene_tecaja": "applies_on",
    "kupovni_za_devize": "buying",
    "srednji_za_devize": "middle",
    "prodajni_za_devize": "selling",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One currency on one list, as written: the bank's decimal comma stays."""

    currency: str
    country: str = ""
    number: str = ""  # of the list
    applies_on: str = ""
    buying: str = ""
    middle: str = ""
    selling: str = ""

    @property
    def applies_at(self) -> datetime | None:
        return read_date(self.applies_on)


def read_hnb(document: ListingDocument) -> Listing:
    """The documents of the wanted currencies, and a note of what the list says."""
    rates, problem = read_rates(document)
    if problem:
        return Listing(problem=problem)
    gathering = Gathering(document)
    newest = max(rates, key=lambda rate: (rate.applies_on, rate.currency))
    gathering.note("rates", f"list {newest.number} applies on {newest.applies_on}", float(len(rates)))
    known = {rate.currency: rate for rate in rates}
    for currency in document.options.structured.currencies:
        rate = known.get(currency)
        if rate is None:
            gathering.note("currency_missing", f"{currency} is not on the list")
            continue
        url = f"{document.url.partition('?')[0]}?valuta={currency}"
        gathering.add(Found(href=url, title=_title(rate), published_at=rate.applies_at))
    return gathering.listing()


def read_rates(document: ListingDocument) -> tuple[list[Rate], str]:
    """The rates, or why there are none."""
    value, problem = read_data(document) if is_data(document) else (None, "the document is not JSON")
    if problem:
        return [], f"not a list of rates: {problem}"
    rows = value if isinstance(value, list) else []
    rates = list(_rates(rows[:MAX_RATES]))
    return rates, "" if rates else "not a list of rates: no object has `valuta` and a rate"


def _rates(rows: Iterable[Any]) -> Iterable[Rate]:
    known = {field.name for field in fields(Rate)}
    for row in rows:
        if not isinstance(row, dict):
            continue
        said = {FIELDS.get(_plain(name), ""): text_in(row, name) for name in row}
        rate = Rate(**{"currency": ""} | {name: text for name, text in said.items() if name in known})
        if rate.currency and rate.middle:
            yield rate


def _plain(name: str) -> str:
    """`Srednji za devize` and `srednji_tecaj` alike: small letters, no accents, joined by _."""
    letters = unicodedata.normalize("NFKD", name[:60]).encode("ascii", "ignore").decode()
    return "_".join(letters.lower().replace("_", " ").split())


def _title(rate: Rate) -> str:
    where = f" ({rate.country})" if rate.country else ""
    return f"{rate.currency}{where}"


# The chamber of trades (HOK): a Drupal site, whose lists say the lasting address of each entry in the markup.
#
# A teaser is `<article about="/obavijesti/naslov">`; the links inside it may be `/node/123` or carry a campaign.
# What `about` says is the address.  Lists without it are read as any paginated list.

HOK_SELECTORS = ListSelectors(
    item=".views-row, article.node--view-mode-teaser",
    link="a",
    title="h2, h3, .node__title, .field--name-title",
    date="time, .field--name-field-datum, .date",
)


def read_hok(document: ListingDocument) -> Listing:
    """Entries by their lasting address, files, and the pages of the list that follow."""
    options = document.options
    wanted = replace(options, selectors=options.selectors or HOK_SELECTORS)
    pages = read_pagination(replace(document, options=wanted))
    follow = tuple(replace(page, lister=ListerKind.HOK) for page in pages.follow)
    page = LinkPage(document)
    gathering = Gathering(document)
    for found in _teasers(page, document.url):
        gathering.add(found)
    if not gathering.count and not gathering.has_refused:
        return replace(pages, follow=follow)
    for node, href in page.document_links():
        gathering.add(Found(href=href, title=_text(node), base=page.base))
    return gathering.listing(follow=follow)


def _teasers(page: LinkPage, url: str) -> Iterator[Found]:
    for node in page.tree.css("article[about]")[:MAX_NODES]:
        address = canonical(attribute(node, "about"), page.base)
        if address is None or host_of(address) != host_of(url) or is_navigation(node):
            continue
        heading = node.css_first("h2, h3, .node__title")
        date = node.css_first("time, .field--name-field-datum")
        said = (attribute(date, "datetime") or _text(date)) if date is not None else ""
        yield Found(
            href=address,
            title=_text(heading) if heading is not None else "",
            published_at=read_date(said[:100]),
        )


def _text(node: LexborNode) -> str:
    return clean_title(node.text(separator=" ", strip=True))


# Pages of the government's publishing system, which the ministry of labour (MRMS) and most ministries use.
#
# An article stands below a section and ends in its number: `/vijesti/povecava-se-minimalna-placa/13579`.  The same
# article stands under several sections; the number is its identity, so it is sighted once, by the first address on the
# page.

MRMS_SELECTORS = ListSelectors(
    item=".news_item, .news-item, .article_item, ul.news > li, ul.vijesti > li, .lista > li",
    link="a",
    title="h2, h3, .title, .naslov",
    date=".date, .datum, time",
)
_DIGITS = 9  # of a number; longer ones are none


def read_mrms(document: ListingDocument) -> Listing:
    """Articles once each, files, and the pages of the list that follow."""
    options = document.options
    wanted = replace(options, selectors=options.selectors or MRMS_SELECTORS)
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
