"""An HTML page as the listers see it: its links, what they resolve against, what is navigation."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import fields

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from vedette.contracts.errors import ConfigError
from vedette.contracts.source import ListSelectors
from vedette.core.text.parse_cost import too_heavy
from vedette.core.urls.canonical import canonical
from vedette.core.urls.url_shape import is_document
from vedette.discover.gather import ListingDocument

MAX_NODES = 5000  # a list is never longer; a page made to hurt is
_MAX_ANCESTORS = 40
_NAVIGATION_TAGS = frozenset(("nav", "footer", "aside"))
_NAVIGATION_CLASS = re.compile(
    r"(?i)(?:^|[\s_-])(?:menu|nav|navbar|navigation|breadcrumbs?|pager|pagination|footer|sidebar|social|cookies?|"
    r"izbornik|podnozje)(?:$|[\s_-])"
)


def check_selectors(selectors: ListSelectors) -> None:
    """Raises ConfigError for the first that is not CSS, before any page is asked for."""
    page = LexborHTMLParser("")
    for field in fields(selectors):
        _select(page, getattr(selectors, field.name), f"selectors.{field.name}")


def _select(tree: LexborHTMLParser, selector: str, option: str) -> list[LexborNode]:
    try:
        return tree.css(selector)[:MAX_NODES]
    except (SelectolaxError, ValueError) as error:
        raise ConfigError(f"{option}: {selector!r} is not a CSS selector ({error})") from None


class LinkPage:
    """A parsed page; one that must not be parsed has nothing in it.  `base` is what its links resolve against."""

    def __init__(self, document: ListingDocument) -> None:
        self.url = document.url
        page = document.page
        self.problem = too_heavy(document.body) if page is None else page.problem
        self.tree = LexborHTMLParser("") if self.problem else _tree(document)
        base = self.tree.css_first("base[href]")
        self.base = canonical(attribute(base, "href"), document.url) or document.url if base else document.url

    def select(self, selector: str, option: str) -> list[LexborNode]:
        """At most MAX_NODES nodes.  Raises ConfigError, naming the option, where the selector is not CSS."""
        return _select(self.tree, selector, option)

    def links(self) -> Iterator[tuple[LexborNode, str]]:
        """Every link with an address, in order: the node, and the raw address."""
        for node in self.tree.css("a[href], area[href]")[:MAX_NODES]:
            href = attribute(node, "href").strip()
            if href and not href.startswith("#"):
                yield node, href

    def document_links(self) -> Iterator[tuple[LexborNode, str]]:
        """Links to files that people download, anywhere on the page (spec 001/B.3, 001/B.5)."""
        for node, href in self.links():
            if "." in href and is_document(canonical(href, self.base) or ""):
                yield node, href

    def text_chars(self) -> int:
        body = self.tree.body
        return len(body.text(separator=" ", strip=True)) if body else 0


def _tree(document: ListingDocument) -> LexborHTMLParser:
    return LexborHTMLParser(document.utf8) if document.page is None else document.page.tree()


def attribute(node: LexborNode | None, name: str) -> str:
    return (node.attributes.get(name) or "") if node is not None else ""


def nearest(node: LexborNode, wanted: Container[int]) -> LexborNode | None:
    """The innermost of the wanted nodes that this one is or stands in."""
    above: LexborNode | None = node
    for _ in range(_MAX_ANCESTORS):
        if above is None or above.mem_id in wanted:
            return above
        above = above.parent
    return None


def is_navigation(node: LexborNode) -> bool:
    """True in a menu, a footer or a side bar."""
    above: LexborNode | None = node
    for _ in range(_MAX_ANCESTORS):
        if above is None or above.tag in ("body", "article", "main"):
            return False
        if above.tag in _NAVIGATION_TAGS or (above.tag == "header" and above is not node):
            return True
        if _NAVIGATION_CLASS.search(attribute(above, "class")) or attribute(above, "role") == "navigation":
            return True
        above = above.parent
    return False
