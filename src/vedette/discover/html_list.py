"""A page that lists others: by the selectors of its site, or by its largest group of links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from selectolax.lexbor import LexborNode

from vedette.contracts.source import SELECTOR_UNMATCHED, Follow, ListerKind, Listing, ListSelectors
from vedette.core.text.dates import read_date
from vedette.core.urls.canonical import canonical, fold, host_of, watch_id
from vedette.core.urls.url_shape import UrlPattern, compile_pattern
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


# A list that goes on over several pages.
#
# Pages are numbered from 0, the source itself, and `depth` is that number.  Only later pages are followed, and
# only below `max_pages`; where a pager names page 9 of 9, the pages in between are filled in.

# spec 001/B.4, and what the common systems call theirs.
PAGERS = (
    ".pager a, .pagination a, .pager__items a, .page-numbers, .nav-links a, .paging a, .stranicenje a, "
    'nav[aria-label*="agin"] a, ul[class*="paginat"] a, div[class*="paginat"] a'
)
_IN_QUERY = re.compile(
    r"(?i)[?&](?:page|p|pg|paged|pagina|stranica|str|pageno|pagenum|page_num|currentpage)=(\d{1,6})(?=&|$)"
)
_IN_PATH = re.compile(r"(?i)/(?:page|stranica|str|pagina)[/-](\d{1,6})(?=[/?.]|$)")
_LAST_NUMBER = re.compile(r"(\d{1,6})(?=\D*$)")
_NUMBER = re.compile(r"\d{1,6}")
NEXT_WORDS = frozenset(
    "next|next page|older|older posts|sljedeća|sljedeca|sljedeće|sljedeći|sljedeća stranica|slijedeća|iduća|"
    "iduće|dalje|starije|starije objave|starije vijesti".split("|")
)
_NEXT_SIGNS = frozenset("›»>→")
_NOT_LETTERS = re.compile(r"[^\w ]+")


@dataclass(frozen=True, slots=True)
class NumberPlace:
    """Where an address has the number of its page."""

    before: str
    after: str
    number: int
    listing: str  # what the pages of one listing share: the address without the number and its name


@dataclass(frozen=True, slots=True)
class _Step:
    """One link that may lead to another page of this listing."""

    url: str
    text: str
    is_next: bool
    place: NumberPlace | None


def read_pagination(document: ListingDocument) -> Listing:
    """The entries of this page, and the pages after it.  An empty page is the last one."""
    page = LinkPage(document)
    gathering = Gathering(document)
    steps = list(_steps(document, page))
    for step in steps:
        gathering.ignore(step.url)
    problem = gather_list(document, page, gathering)
    if document.depth > 0 and problem:
        gathering.note("last_page", f"page {document.depth} lists nothing, the walk ends here")
        return gathering.listing()
    return gathering.listing(problem=problem, follow=_follow(document, steps))


def has_pager(document: ListingDocument, page: LinkPage) -> bool:
    return bool(_follow(document, list(_steps(document, page))))


def place_of(url: str, pattern: UrlPattern | None = None) -> NumberPlace | None:
    """The page's number in this address: `?page=N`, `&p=N`, `/page/N`, or the last number in the pattern."""
    if pattern is not None:
        return _place_by_pattern(url, pattern)
    match = _IN_QUERY.search(url) or _IN_PATH.search(url)
    if match is None:
        return None
    rest = url[match.end() :]
    is_first = match.group().startswith("?") and rest.startswith("&")
    listing = fold(url[: match.start()] + ("?" + rest[1:] if is_first else rest))
    return NumberPlace(url[: match.start(1)], rest, int(match.group(1)), listing)


def _place_by_pattern(url: str, pattern: UrlPattern) -> NumberPlace | None:
    match = pattern.search(url)
    numbers = list(_NUMBER.finditer(url, match.start(), match.end())) if match else []
    if not numbers:
        return None
    last = numbers[-1]
    return NumberPlace(url[: last.start()], url[last.end() :], int(last.group()), "")


def _place_by_words(url: str, words: str) -> NumberPlace | None:
    """In a pager a link that reads "3" leads to page 3: the number that its address ends in is the page's."""
    if not (words.isascii() and words.isdigit() and len(words) <= 6):
        return None
    match = _LAST_NUMBER.search(url, url.index("/", url.index("//") + 2))
    return NumberPlace(url[: match.start(1)], url[match.end(1) :], int(match[1]), "") if match else None


def _steps(document: ListingDocument, page: LinkPage) -> Iterator[_Step]:
    text = document.options.pagination_pattern
    pattern = compile_pattern("pagination_pattern", text) if text else None
    own, host = place_of(document.url, pattern), host_of(document.url)
    listing = own.listing if own else fold(document.url)
    in_pager = {node.mem_id for node in page.tree.css(PAGERS)}
    heads = [(node, attribute(node, "href")) for node in page.tree.css('link[rel~="next"]')]
    for node, href in [*heads, *page.links()]:
        url = canonical(href, page.base)
        if url is None or host_of(url) != host:
            continue
        words, is_pager = node.text(strip=True)[:60], node.mem_id in in_pager
        place = place_of(url, pattern) or (_place_by_words(url, words) if is_pager else None)
        is_next = _is_next(node, words, is_pager)
        is_ours = place is not None and (is_pager or pattern is not None or place.listing == listing)
        if is_next or is_ours:
            yield _Step(url, words, is_next, place)


def _is_next(node: LexborNode, words: str, is_in_pager: bool) -> bool:
    if "next" in attribute(node, "rel").lower().split():
        return True
    if not is_in_pager:
        return False
    if words in _NEXT_SIGNS or "next" in attribute(node, "class").lower().split():
        return True
    return _NOT_LETTERS.sub("", words).strip().lower() in NEXT_WORDS


def _follow(document: ListingDocument, steps: list[_Step]) -> tuple[Follow, ...]:
    follow: dict[int, Follow] = {}
    own = watch_id(document.url)
    for url, depth in (*_numbered(document, steps), *_unnumbered(document, steps)):
        identity = watch_id(url)
        if identity != own and depth < document.options.max_pages:
            follow.setdefault(identity, Follow(url=url, lister=ListerKind.PAGINATION, depth=depth))
    return tuple(follow.values())


def _numbered(document: ListingDocument, steps: list[_Step]) -> Iterator[tuple[str, int]]:
    """Later pages by number, gaps filled in.  What comes before this page was read, or is not wanted."""
    places = [step.place for step in steps if step.place is not None]
    if not places:
        return
    (before, after), _ = Counter((place.before, place.after) for place in places).most_common(1)[0]
    same = [step for step in steps if step.place and (step.place.before, step.place.after) == (before, after)]
    linked = {step.place.number: step.url for step in same if step.place}
    current = _own_number(document, same)
    last = min(max(linked), current + document.options.max_pages)
    for number in range(current + 1, last + 1):
        yield linked.get(number) or f"{before}{number}{after}", document.depth + number - current


def _own_number(document: ListingDocument, same: list[_Step]) -> int:
    """Of this page: in its address, or told by a link whose text is a number, or one before the first."""
    first = next(place for step in same if (place := step.place))
    own = re.compile(re.escape(first.before) + r"(\d{1,6})" + re.escape(first.after) + "$").match(
        document.url
    )
    if own:
        return int(own.group(1))
    for step in same:
        if step.place and step.text.isascii() and step.text.isdigit() and len(step.text) <= 6:
            return step.place.number - int(step.text) + 1
    return min(step.place.number for step in same if step.place) - 1


def _unnumbered(document: ListingDocument, steps: list[_Step]) -> Iterator[tuple[str, int]]:
    """A cursor: only the next page is known."""
    for step in steps:
        if step.is_next and step.place is None:
            yield step.url, document.depth + 1
