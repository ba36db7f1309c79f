"""The article of a page that has one: its prose, without what stands around and between it.

Only a page with several long paragraphs is narrowed so.  What is no prose and still content stays: tables, lists of
words, documents to download, short lines (a deadline, a signature) wherever they stand.  What goes is known by its
name (share, related, comments), by its tag (nav, aside, form) or because it is links and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from selectolax.lexbor import LexborNode

LONG = 80  # characters of a paragraph that is prose
ENOUGH, SEVERAL = 400, 2  # characters and paragraphs of prose that make an article
SHARE = 0.97  # of the prose that the innermost part with the article has
PART = 0.3  # of the prose: what has more of it is no side matter, whatever its name
LINKED = 0.5  # share of links in the text of a block that only leads elsewhere
LISTED = 0.3  # and below which a list or table is content
FEW_CHARS = 12
_PROSE = "p, td, li, dd, blockquote, pre, div"
_BLOCKS = frozenset(
    "div p ul ol dl table section article blockquote main header figure h1 h2 h3 h4 form".split()
)
_SIDE_TAGS = frozenset(("button", "select", "nav", "aside", "footer", "form", "label"))
_LINE_TAGS = frozenset(("p", "span", "a", "h2", "h3", "h4", "h5", "h6", "small", "time", "figcaption"))
_LINK_TAGS = frozenset(("ul", "ol", "div", "section", "dl", "table", "header", "p", "h2", "h3", "h4"))
_SIDE_NAME = re.compile(
    r"(?:^|[\s_-])(?:comments?|commentlist|disqus\w*|respond|related\w*|recommend\w*|also-?like|"
    r"more-?(?:stories|news|articles|posts)|share\w*|sharing|social\w*|addthis|follow-?us|newsletter\w*|subscri\w*|"
    r"sign-?up|promo\w*|sponsor\w*|advert\w*|ads?|banner|cookies?|gdpr|consent|popup|modal|overlay|breadcrumbs?|"
    r"pagination|pager|sidebar\w*|rail|trending|popular|most-?read|latest|tags?|tag-?list|author-?(?:bio|box|info)|"
    r"byline|navigation|nav|menu|footer|masthead|toolbar|skip-?link|login|paywall|copyright|outbrain|taboola|carousel|"
    r"sr-only|screen-?reader\w*|visually-?hidden|caption|credit|figcaption|meta|post-?meta|entry-?meta|date|time|"
    r"komentari?|podijeli|povezan\w*|izbornik|podnozje|kolacici)(?:$|[\s_-])",
    re.IGNORECASE,
)


def narrow_to_article(root: LexborNode, document: str = "", *, is_sure: bool = False) -> LexborNode | None:
    """The part with the article, cut down; None when there is none.  Changes the tree only when it finds one.

    `document`: CSS of links to documents, which stay.  `is_sure`: the other state of this page is an article.
    """
    article = _Article(root, document)
    if not article.total or (not is_sure and (article.total < ENOUGH or article.count < SEVERAL)):
        return None
    article.hold()
    inner = article.innermost()
    article.strip(inner)
    return inner


@dataclass(slots=True)
class _Article:
    root: LexborNode
    document: str
    prose: dict[int, int] = field(default_factory=dict)  # characters of it in and below a node, by its id
    links: dict[int, int] = field(default_factory=dict)  # the same of links
    total: int = 0
    count: int = 0
    holds: dict[int, int] = field(default_factory=dict)  # tables, lists and documents in and below a node
    kept: list[LexborNode] = field(default_factory=list)
    lines: list[LexborNode] = field(default_factory=list)  # too short for prose

    def __post_init__(self) -> None:
        anchors = self.root.css("a[href]")
        self.links = self._summed([(link, len(link.text(strip=True))) for link in anchors])
        found = []
        for node in self.root.css(_PROSE):
            chars = _own_chars(node, self.links)
            if chars >= LONG:
                found.append((node, chars))
            elif chars:
                self.lines.append(node)
        self.prose = self._summed(found)
        self.total = sum(chars for _, chars in found)
        self.count = len(found)

    def hold(self) -> None:
        """Finds tables, lists, documents and short lines that are content."""
        found = [node for node in self.root.css("table, ul, ol, dl") if _is_content(node, self.links)]
        found += self.root.css(self.document) if self.document else []
        lines = {node.mem_id for node in self.lines}
        for node in (*found, *self.lines):
            above = list(self._upwards(node))
            if any(self._is_side(one) for one in above):
                continue
            if node.mem_id in lines and any(self._leads_elsewhere(one) for one in above):
                continue
            self.kept.append(node)
            for one in above:
                self.holds[one.mem_id] = self.holds.get(one.mem_id, 0) + 1

    def innermost(self) -> LexborNode:
        """Where nearly all the prose is, and everything that is held."""
        at = self.root
        while (inner := self._next(at)) is not None:
            at = inner
        return at

    def strip(self, inner: LexborNode) -> None:
        """Takes out what is no part of the article; the outermost first, so nothing is taken out twice."""
        gone: set[int] = set()
        side: list[LexborNode] = []
        for node in inner.css("[class], [id], " + ", ".join(sorted(_SIDE_TAGS | _LINK_TAGS))):
            at = node.mem_id
            if at == inner.mem_id or at in self.holds or (node.tag == "p" and at in self.prose):
                continue
            if not (self._is_side(node) or self._leads_elsewhere(node)):
                continue
            if any(up.mem_id in gone for up in self._upwards(node)):
                continue
            gone.add(node.mem_id)
            side.append(node)
        for node in side:
            node.decompose()

    def _next(self, at: LexborNode) -> LexborNode | None:
        for child in at.iter():
            if child.tag == "p" or self.prose.get(child.mem_id, 0) < SHARE * self.total:
                continue
            return child if self.holds.get(child.mem_id, 0) == len(self.kept) else None
        return None

    def _upwards(self, node: LexborNode) -> Iterator[LexborNode]:
        """The node and what it stands in, up to the root."""
        up: LexborNode | None = node
        while up is not None:
            yield up
            if up.mem_id == self.root.mem_id:
                return
            up = up.parent

    def _is_side(self, node: LexborNode) -> bool:
        if node.mem_id == self.root.mem_id or self.prose.get(node.mem_id, 0) >= PART * self.total:
            return False
        if node.tag in _SIDE_TAGS:
            return True
        said = node.attributes
        name = f"{said.get('class') or ''} {said.get('id') or ''}"
        if len(name) == 1 or not _names_side(name):
            return False
        return node.tag not in _LINE_TAGS or len(node.text(strip=True)) < LONG

    def _leads_elsewhere(self, node: LexborNode) -> bool:
        linked = self.links.get(node.mem_id, 0)
        if not linked or node.tag not in _LINK_TAGS or self.prose.get(node.mem_id):
            return False
        return linked > LINKED * len(node.text(strip=True))

    def _summed(self, found: list[tuple[LexborNode, int]]) -> dict[int, int]:
        """The figures of these nodes, for each of them and all that they stand in.  Neighbours go up together."""
        sums: dict[int, int] = {}
        level = {node.mem_id: (node, chars) for node, chars in found if chars}
        top = self.root.mem_id
        while level:
            above: dict[int, tuple[LexborNode, int]] = {}
            for at, (node, chars) in level.items():
                sums[at] = sums.get(at, 0) + chars
                up = node.parent if at != top else None
                if up is not None:
                    key = up.mem_id
                    above[key] = (up, chars + (above[key][1] if key in above else 0))
            level = above
        return sums


@lru_cache(maxsize=16_384)
def _names_side(name: str) -> bool:
    """Sites give the same names to the parts of all their pages."""
    return _SIDE_NAME.search(name[:300]) is not None


def _own_chars(node: LexborNode, links: dict[int, int]) -> int:
    """Characters of a block that is not made of others and not mostly links; 0 for all else."""
    if node.tag != "p" and _has_blocks(node):  # before its text is asked for: all of the page may be in it
        return 0
    chars = len(node.text(strip=True))
    return chars if links.get(node.mem_id, 0) <= 0.4 * chars else 0


def _has_blocks(node: LexborNode) -> bool:
    return any(child.tag in _BLOCKS for child in node.iter())


def _is_content(node: LexborNode, links: dict[int, int]) -> bool:
    """A table or list of at least two rows that says something itself."""
    chars = len(node.text(strip=True))
    if chars <= FEW_CHARS or links.get(node.mem_id, 0) > LISTED * chars:
        return False
    return len(node.css("tr" if node.tag == "table" else "li, dt")) >= 2
