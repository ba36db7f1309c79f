"""The chamber of trades (HOK): a Drupal site, whose lists say the lasting address of each entry in the markup.

A teaser is `<article about="/obavijesti/naslov">`; the links inside it may be `/node/123` or carry a campaign.
What `about` says is the address.  Lists without it are read as any paginated list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from selectolax.lexbor import LexborNode

from vedette.contracts.source import ListerKind, Listing, ListSelectors
from vedette.core.text.dates import read_date
from vedette.core.urls.canonical import canonical, host_of
from vedette.discover.gather import Found, Gathering, ListingDocument, clean_title
from vedette.discover.pagination import read_pagination
from vedette.discover.tree import MAX_NODES, LinkPage, attribute, is_navigation

SELECTORS = ListSelectors(
    item=".views-row, article.node--view-mode-teaser",
    link="a",
    title="h2, h3, .node__title, .field--name-title",
    date="time, .field--name-field-datum, .date",
)


def read_hok(document: ListingDocument) -> Listing:
    """Entries by their lasting address, files, and the pages of the list that follow."""
    options = document.options
    wanted = replace(options, selectors=options.selectors or SELECTORS)
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
