"""A page that lists others: by the selectors of its site, or by its largest group of links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from selectolax.lexbor import LexborNode

from vedette.contracts.source import SELECTOR_UNMATCHED, Listing, ListSelectors
from vedette.core.text.dates import read_date
from vedette.core.urls.canonical import host_of
from vedette.discover.gather import Found, Gathering, ListingDocument, clean_title
from vedette.discover.tree import LinkPage, attribute, is_navigation, nearest

# spec 001/B.3.  A site's row serves its subdomains too.
SITES: Mapping[str, ListSelectors] = {
    "hzzo.hr": ListSelectors(
        item="article, .news-item, .vijest", link="a", title="h2, h3, .title", date=".date, time"
    ),
    "porezna-uprava.gov.hr": ListSelectors(
        item=".views-row, article",
        link="a",
        title="h2, h3, .views-field-title, .title",
        date=".date, time, .datum",
    ),
}
# For every other site, tried in order; the first that finds two targets is taken.
GENERIC = (
    ListSelectors(item="article, .news-item, .vijest, .views-row, .post, .card"),
    ListSelectors(item="main li, #content li, .content li, main tr, #content tr, .content tr"),
    ListSelectors(item="li, tr, dt"),
)
_MIN_LIST = 2
_MIN_GROUP = 3
_LEVELS = 3  # ancestors that make a group of links


def read_html_list(document: ListingDocument) -> Listing:
    """The entries of the list, then the documents linked anywhere on the page."""
    page = LinkPage(document)
    gathering = Gathering(document)
    return gathering.listing(problem=gather_list(document, page, gathering))


def gather_list(document: ListingDocument, page: LinkPage, gathering: Gathering) -> str:
    """Adds what the page lists; returns the problem when it lists nothing."""
    found, note = find_items(document, page)
    if note:
        gathering.note(SELECTOR_UNMATCHED if document.options.selectors else "list_guessed", note)
    for item in found:
        gathering.add(item)
    for node, href in page.document_links():
        gathering.add(Found(href=href, title=_text(node), base=page.base))
    if found or gathering.count or gathering.has_refused:
        return ""
    if page.problem:
        return page.problem
    if page.tree.css_first("script") and page.text_chars() < 200:
        return "no list found: the page is made by scripts and takes a browser (requires_headless)"
    return "no list found: no selector matches and there is no group of links; set selectors for this site"


def find_items(document: ListingDocument, page: LinkPage) -> tuple[list[Found], str]:
    """The entries, and a note when they had to be guessed."""
    wanted = document.options.selectors or site_selectors(host_of(document.url))
    if wanted is not None:
        found = _by_selectors(page, wanted, is_generic=False)
        if found:
            return found, ""
    else:
        for selectors in GENERIC:
            found = _by_selectors(page, selectors, is_generic=True)
            if len({item.href for item in found}) >= _MIN_LIST:
                return found, ""
    found = _largest_group(page)
    if not found:
        return [], ""
    cause = f"the selector {wanted.item!r} matched nothing" if wanted else "no known list on the page"
    return found, f"{cause}; the largest group of links was read ({len(found)})"


def site_selectors(host: str) -> ListSelectors | None:
    """The row of this host or of a domain above it."""
    labels = host.split(".")
    names = (".".join(labels[at:]) for at in range(len(labels)))
    return next((SITES[name] for name in names if name in SITES), None)


@dataclass(slots=True)
class _Item:
    """One entry and what stands in it.  Of nested entries the innermost has it."""

    node: LexborNode
    links: list[LexborNode] = field(default_factory=list)
    headings: list[LexborNode] = field(default_factory=list)
    dates: list[LexborNode] = field(default_factory=list)


def _by_selectors(page: LinkPage, selectors: ListSelectors, *, is_generic: bool) -> list[Found]:
    """Each selector runs once over the page, not once per entry: a page of nested entries stays cheap."""
    nodes = page.select(selectors.item, "selectors.item")
    items = {node.mem_id: _Item(node) for node in nodes if not (is_generic and is_navigation(node))}
    for node in page.select(selectors.link, "selectors.link"):
        if _leads_somewhere(node) and (item := _item_of(node, items)):
            item.links.append(node)
    for node in page.select(selectors.title, "selectors.title"):
        if item := _item_of(node, items):
            item.headings.append(node)
    for node in page.select(selectors.date, "selectors.date"):
        if item := _item_of(node, items):
            item.dates.append(node)
    return [_found(page, item) for item in items.values() if item.links]


def _item_of(node: LexborNode, items: dict[int, _Item]) -> _Item | None:
    around = nearest(node, items)
    return items[around.mem_id] if around is not None else None


def _found(page: LinkPage, item: _Item) -> Found:
    heading = item.headings[0] if item.headings else None
    link = _main_link(item.links, heading)
    title = _text(heading) if heading is not None else ""
    return Found(
        href=attribute(link, "href").strip(),
        title=title or _text(link) or clean_title(attribute(link, "title")),
        published_at=_date(item.dates),
        base=page.base,
    )


def _main_link(links: list[LexborNode], heading: LexborNode | None) -> LexborNode:
    """The link in the heading, the link around it, or the first one (a card also links tags and authors)."""
    if heading is None:
        return links[0]
    inside = next((link for link in links if nearest(link, (heading.mem_id,))), None)
    around = nearest(heading, {link.mem_id for link in links})
    return inside or around or links[0]


def _leads_somewhere(link: LexborNode) -> bool:
    href = attribute(link, "href").strip()
    return bool(href) and not href.startswith(("#", "javascript:", "mailto:", "tel:"))


def _date(nodes: list[LexborNode]) -> datetime | None:
    for node in nodes[:3]:
        at = read_date((attribute(node, "datetime") or node.text(separator=" ", strip=True))[:100])
        if at is not None:
            return at
    return None


def _text(node: LexborNode) -> str:
    return clean_title(node.text(separator=" ", strip=True))


def _largest_group(page: LinkPage) -> list[Found]:
    """Links that stand in the same place of the template; the group with most words in it is the list."""
    groups: dict[str, dict[str, Found]] = {}
    for node, href in page.links():
        if _leads_somewhere(node) and not is_navigation(node):
            group = groups.setdefault(_place(node), {})
            group.setdefault(href, Found(href=href, title=_text(node), base=page.base))
    best = max(groups.values(), key=_words, default={})
    return list(best.values()) if len(best) >= _MIN_GROUP else []


def _words(group: dict[str, Found]) -> int:
    return sum(min(len(found.title), 80) for found in group.values()) if len(group) >= _MIN_GROUP else 0


def _place(node: LexborNode) -> str:
    place = []
    above = node.parent
    for _ in range(_LEVELS):
        if above is None:
            break
        place.append(f"{above.tag}.{attribute(above, 'class')}")
        above = above.parent
    return " ".join(place)
