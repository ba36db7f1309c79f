"""A list that goes on over several pages.

Pages are numbered from 0, the source itself, and `depth` is that number.  Only later pages are followed, and
only below `max_pages`; where a pager names page 9 of 9, the pages in between are filled in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from vedette.contracts.source import Follow, ListerKind, Listing
from vedette.core.urls.canonical import canonical, fold, host_of, watch_id
from vedette.core.urls.filters import UrlPattern, compile_pattern
from vedette.discover.gather import Gathering, ListingDocument
from vedette.discover.html_list import gather_list
from vedette.discover.tree import LinkPage, attribute

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
