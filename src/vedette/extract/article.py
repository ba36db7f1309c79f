"""The article of a page that has one: its prose, without what stands around and between it.

Only a page with several long paragraphs is cut so, and no part of it is chosen: what is known to be no part of an
article is taken out, each part for what it is itself.  So an edit elsewhere does not decide what is compared.  A part
goes by its tag (nav, aside, form), by its name (share, related, comments) or because it is links and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from selectolax.lexbor import LexborNode

LONG = 80  # characters of a paragraph that is prose
ENOUGH, SEVERAL = 400, 2  # characters and paragraphs of prose that make an article
PART = 0.3  # of the prose: what has more of it is no side matter, whatever its name
TOGETHER = 0.6  # of the prose: parts of one name that have it are what the page is about (a forum's comments)
WRAPPER = 0.9  # of the prose: a part with so much of it holds the article, and its name says nothing of others
LISTS = 2.0  # times the prose: a page with more text in links than that is a list
LINKED = 0.5  # share of links in the text of a block that only leads elsewhere
LISTED = 0.3  # and below which a list or table is content
FEW_CHARS = 12
MAX_WORDS = 4  # of an id
_PROSE = "div, td, li, dd, blockquote, pre"  # beside paragraphs
_SIDE_TAGS = "aside, form, footer, button, select"  # nav is gone before
_DOCUMENT = re.compile(r"\.(?:pdf|doc|xls|ppt|odt|ods|rtf|csv|zip)", re.IGNORECASE)
_PARTS = re.compile(r"[_-]+")
_LINE_TAGS = frozenset(("p", "span", "a", "h2", "h3", "h4", "h5", "h6", "small", "time", "figcaption"))
_LINK_TAGS = frozenset(("ul", "ol", "div", "section", "dl", "table", "header", "p"))
_SIDE_NAME = re.compile(
    r"(?:^|[\s_-])(comments?|commentlist|disqus\w*|respond|related\w*|recommend\w*|also-?like|"
    r"more-?(?:stories|news|articles|posts)|share\w*|sharing|social\w*|addthis|follow-?us|newsletter\w*|subscri\w*|"
    r"sign-?up|promo\w*|sponsor\w*|advert\w*|ads?|banner|cookies?|gdpr|consent|popup|modal|overlay|breadcrumbs?|"
    r"pagination|pager|sidebar\w*|rail|trending|popular|most-?read|latest|tags?|tag-?list|author-?(?:bio|box|info)|"
    r"byline|navigation|nav|menu|footer|masthead|toolbar|skip-?link|login|paywall|copyright|outbrain|taboola|carousel|"
    r"sr-only|screen-?reader\w*|visually-?hidden|caption|credit|figcaption|meta|post-?meta|entry-?meta|date|time|"
    r"komentari?|podijeli|povezan\w*|izbornik|podnozje|kolacici)(?:$|[\s_-])",
    re.IGNORECASE,
)


def narrow_to_article(root: LexborNode, *, is_sure: bool = False) -> LexborNode | None:
    """The root, cut down to its article; None when it has none.  Changes the tree only when it finds one.

    `is_sure`: the other state of this page is an article.
    """
    blocks = _long_blocks(root)
    if not is_sure and not _are_enough(blocks):
        return None  # most pages that are no articles end here
    article = _Article(root, blocks)
    if not article.total or not (is_sure or article.is_one()):
        return None
    for node in article.side():
        node.decompose()
    for node in article.leading():
        node.decompose()
    return root


def prose_chars(root: LexborNode) -> int:
    """How much prose is here; 0 when it is not enough for an article."""
    blocks = _long_blocks(root)
    return sum([chars for _, chars in blocks]) if _are_enough(blocks) else 0


Counted = list[tuple[LexborNode, int]]  # nodes with their characters


def _long_blocks(root: LexborNode) -> Counted:
    """Paragraphs, and other blocks with so much text of their own."""
    found = []
    for node in root.css("p"):
        chars = len(node.text_lexbor().strip())
        if chars >= LONG:
            found.append((node, chars))
    for node in root.css(_PROSE):
        chars = len(node.text(False, "", True))
        if chars >= LONG:
            found.append((node, chars))
    return found


def _are_enough(blocks: Counted) -> bool:
    return len(blocks) >= SEVERAL and sum([chars for _, chars in blocks]) >= ENOUGH


class _Article:
    """What goes from a page, by its prose and its links."""

    def __init__(self, root: LexborNode, blocks: Counted) -> None:
        self.root = root
        self.top = root.mem_id
        self.above: dict[int, int] = {}  # what a node stands in, by their ids
        self.links: list[tuple[LexborNode, int, int]] = []  # with what they stand in and their characters
        self.in_links: dict[int, int] = {}  # characters of the links that stand in a node
        for link in root.css("a[href]"):
            up = link.parent
            if up is not None:
                at, chars = up.mem_id, len(link.text(True, "", True))
                self.links.append((link, at, chars))
                self.in_links[at] = self.in_links.get(at, 0) + chars
        said = [(node, chars) for node, chars in blocks if self.in_links.get(node.mem_id, 0) <= 0.4 * chars]
        self.paragraphs = {node.mem_id: chars for node, chars in said}
        self.total = sum(self.paragraphs.values())
        self.prose: dict[int, int] = {}  # characters of it in and below a node
        self._sum_up(said, self.prose, {})

    def is_one(self) -> bool:
        """Is there enough prose, and not more text in links?"""
        if len(self.paragraphs) < SEVERAL or self.total < ENOUGH:
            return False
        return sum(self.in_links.values()) <= LISTS * self.total

    def side(self) -> list[LexborNode]:
        """What tags and names tell to be side matter."""
        found: dict[int, tuple[LexborNode, str]] = {}
        for node in self.root.css("[class], [id]"):
            said = node.attributes
            word = _class_word(said.get("class") or "") or _id_word(said.get("id") or "")
            if word and not self._is_text(node):
                found[node.mem_id] = (node, word)
        for node in self.root.css(_SIDE_TAGS):
            found[node.mem_id] = (node, node.tag or "")
        found.pop(self.top, None)
        prose, most = self.prose, PART * self.total
        spared = self._spared({at: word for at, (_, word) in found.items() if at in prose})
        return [node for at, (node, word) in found.items() if prose.get(at, 0) < most and word not in spared]

    def leading(self) -> list[LexborNode]:
        """Blocks that are links and lead elsewhere, unless they hold documents, lists or tables of content."""
        links: dict[int, int] = {}
        nodes: dict[int, LexborNode] = {}
        outside = [(link, chars) for link, at, chars in self.links if at not in self.prose]
        self._sum_up([(link, chars) for link, chars in outside if link.parent is not None], links, nodes)
        held = self._ways_to_documents([link for link, _ in outside])
        found: list[LexborNode] = []
        gone: set[int] = set()
        for at, node in reversed(nodes.items()):  # the outer ones first
            if self.above.get(at) in gone:
                gone.add(at)
            elif node.tag in _LINK_TAGS and at not in held and _leads_elsewhere(node, links):
                gone.add(at)
                found.append(node)
        return found

    def _ways_to_documents(self, anchors: list[LexborNode]) -> set[int]:
        """Links to documents, and all that they stand in."""
        found: set[int] = set()
        for link in anchors:
            if _DOCUMENT.search(link.attributes["href"] or ""):
                at: int | None = link.mem_id
                while at is not None and at not in found:
                    found.add(at)
                    at = self.above.get(at)
        return found

    def _is_text(self, node: LexborNode) -> bool:
        """Is it a long line, or words within a paragraph?"""
        if node.tag not in _LINE_TAGS:
            return False
        up = node.parent
        return (up is not None and up.mem_id in self.paragraphs) or len(node.text(True, "", True)) >= LONG

    def _spared(self, words: dict[int, str]) -> set[str]:
        """Words whose parts together have most of the prose."""
        together: Counter[str] = Counter()
        inner = {at: word for at, word in words.items() if self.prose[at] < WRAPPER * self.total}
        for at, word in inner.items():
            up = self.above.get(at)
            while up is not None and inner.get(up) != word:
                up = self.above.get(up)
            if up is None:  # not in another part of that name
                together[word] += self.prose[at]
        return {word for word, chars in together.items() if chars >= TOGETHER * self.total}

    def _sum_up(self, found: Counted, sums: dict[int, int], nodes: dict[int, LexborNode]) -> None:
        """Adds the figures to each node and what it stands in, up to what has prose.  Neighbours go up together."""
        above, prose = self.above, {} if sums is self.prose else self.prose
        while found:
            higher: dict[int, int] = {}
            parents: dict[int, LexborNode] = {}
            for node, chars in found:
                at = node.mem_id
                if at in prose:
                    continue
                nodes[at] = node
                sums[at] = sums.get(at, 0) + chars
                up = node.parent
                if up is None or at == self.top:
                    continue
                above[at] = key = up.mem_id
                if key in higher:
                    higher[key] += chars
                else:
                    higher[key] = chars
                    parents[key] = up
            found = [(node, higher[at]) for at, node in parents.items()]


@lru_cache(maxsize=16_384)
def _class_word(classes: str) -> str:
    """The word of its classes that tells side matter.  Sites name the parts of all their pages alike."""
    match = _SIDE_NAME.search(classes[:300])
    return match.group(1).lower() if match else ""


@lru_cache(maxsize=16_384)
def _id_word(name: str) -> str:
    """The same of an id.  One of many words is made of a headline ("sharing-with-a-single-developer")."""
    return _class_word(name) if len(_PARTS.findall(name)) < MAX_WORDS else ""


def _leads_elsewhere(node: LexborNode, links: dict[int, int]) -> bool:
    chars, linked = len(node.text(True, "", True)), links[node.mem_id]
    if linked <= LINKED * chars:
        return False
    return chars - linked <= FEW_CHARS or not any(
        _is_content(one, links) for one in node.css("table, ul, ol, dl")
    )


def _is_content(node: LexborNode, links: dict[int, int]) -> bool:
    """A table or list of at least two rows that says something itself."""
    chars = len(node.text(strip=True))
    if chars <= FEW_CHARS or links.get(node.mem_id, 0) > LISTED * chars:
        return False
    return len(node.css("tr" if node.tag == "table" else "li, dt")) >= 2
