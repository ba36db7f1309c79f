"""The article of a page that has one: its prose, without what stands around and between it.

Only a page with several long paragraphs is cut so, and no part of it is chosen: what is known to be no part of an
article is taken out, each part for what it is itself.  So an edit elsewhere does not decide what is compared.  A part
goes by its tag (nav, aside, form), by its name (share, related, comments) or because it is links and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from selectolax.lexbor import LexborNode

LONG = 80  # characters of a paragraph that is prose
ENOUGH, SEVERAL = 400, 2  # characters and paragraphs of prose that make an article
PART = 0.3  # of the prose: what has more of it is no side matter, whatever its name
TOGETHER = 0.6  # of the prose: parts of one name that have it are what the page is about (a forum's comments)
WRAPPER = (
    0.9  # of the prose: a part with so much of it holds the article, and its name says nothing of others
)
LISTS = 2.0  # times the prose: a page with more text in links than that is a list
LINKED = 0.5  # share of links in the text of a block that only leads elsewhere
LISTED = 0.3  # and below which a list or table is content
FEW_CHARS = 12
MAX_WORDS = 4  # of an id
NONE: frozenset[str] = frozenset()
NOWHERE: Mapping[int, int] = MappingProxyType({})
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
    r"komentari?|podijeli|povezan\w*|izbornik|podnozje|kolacici|"  # hr; then de, fr, es and pt, it
    r"kommentare?|teilen|verwandt\w*|werbung|seitenleiste|meistgelesen\w*|"
    r"commentaires?|partage[rs]?|fil-?d?-?ariane|a-?lire-?aussi|"
    r"comentarios?|compartir|compartilh\w*|partilh\w*|relacionad[oa]s?|"
    r"commenti|condividi\w*|correlat[ie]|"
    r"komentarz\w*|udostepni\w*|powiazan\w*|reklam[aey]|"  # pl, cs, hu, sl and sr
    r"komentare|sdilet|sdileni|souvisejici|hozzaszolas\w*|kommentek|megosztas|kapcsolodo|"
    r"komentarji|podeli|deljenje)(?:$|[\s_-])",
    re.IGNORECASE,
)


class Narrowed(NamedTuple):
    """What became of a part that has an article."""

    spared: frozenset[str]  # names of parts that stayed, because they have too much of the prose
    is_cut: bool  # others went


def narrow_to_article(
    root: LexborNode, *, is_sure: bool = False, spared: frozenset[str] = NONE
) -> Narrowed | None:
    """Cuts it down to its article; None when it has none.

    `is_sure`: other states of this page are articles; `spared`: names of parts that stay in those.
    """
    article = _article_of(root, is_sure=is_sure)
    if article is None:
        return None
    side = article.named_side()
    spared |= article.spared(side)
    gone = [
        node
        for at, (node, name, word) in side.items()
        if at != article.top and name not in spared and word not in spared
    ]
    for node in gone:
        node.decompose()
    leading = article.leading()
    for node in leading:
        node.decompose()
    return Narrowed(spared, bool(gone or leading))


def spared_parts(root: LexborNode) -> frozenset[str] | None:
    """Names of parts that would go, had they less of the prose; None when there is no article."""
    article = _article_of(root)
    return None if article is None else article.spared(article.named_side())


def _article_of(root: LexborNode, *, is_sure: bool = False) -> _Article | None:
    blocks = _long_blocks(root)
    if not is_sure and not _are_enough(blocks):
        return None  # most pages that are no articles end here
    article = _Article(root, blocks)
    return article if article.total and (is_sure or article.is_one()) else None


def prose_chars(root: LexborNode) -> int:
    """How much prose is here; 0 when it is not enough for an article."""
    blocks = _long_blocks(root)
    return sum([chars for _, chars in blocks]) if _are_enough(blocks) else 0


Counted = list[tuple[LexborNode, int]]  # nodes with their characters


def _long_blocks(root: LexborNode) -> Counted:
    """Paragraphs, and other blocks with so much text of their own."""
    paragraphs = [(node, len(node.text_lexbor().strip())) for node in root.css("p")]
    others = [(node, len(node.text(False, "", True))) for node in root.css(_PROSE)]
    return [one for one in paragraphs + others if one[1] >= LONG]


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
        self._said = said

    @cached_property
    def prose(self) -> dict[int, int]:
        """Characters of it in and below a node.  Not asked for where nothing stands around the prose."""
        found: dict[int, int] = {}
        self._sum_up(self._said, found, {}, NOWHERE)
        return found

    def is_one(self) -> bool:
        """Is there enough prose, and not more text in links?"""
        if len(self.paragraphs) < SEVERAL or self.total < ENOUGH:
            return False
        return sum(self.in_links.values()) <= LISTS * self.total

    def named_side(self) -> dict[int, tuple[LexborNode, str, str]]:
        """What its tag or a word of its name tells to be side matter, with name and word."""
        found: dict[int, tuple[LexborNode, str, str]] = {}
        for node in self.root.css(":is([class], [id])"):
            said = node.attributes
            classes, name = said.get("class") or "", said.get("id") or ""
            word = _class_word(classes) or _id_word(name)
            if word and not self._is_text(node):
                found[node.mem_id] = (node, " ".join(f"{classes} {name}".split()), word)
        for node in self.root.css(_SIDE_TAGS):
            tag = node.tag or ""
            found.setdefault(node.mem_id, (node, tag, tag))
        return found

    def spared(self, side: dict[int, tuple[LexborNode, str, str]]) -> frozenset[str]:
        """Names of parts that have much of the prose, and words whose parts have most of it together."""
        if not side:
            return NONE
        prose = self.prose
        weighty = {at: (name, word) for at, (_, name, word) in side.items() if at in prose}
        if not weighty:
            return NONE
        names = {name for at, (name, _) in weighty.items() if prose[at] >= PART * self.total}
        return frozenset(names) | self._together({at: word for at, (_, word) in weighty.items()})

    def leading(self) -> list[LexborNode]:
        """Blocks that are links and lead elsewhere, unless they hold documents, lists or tables of content."""
        links: dict[int, int] = {}
        nodes: dict[int, LexborNode] = {}
        outside = [one for one in self.links if one[1] not in self.paragraphs]
        outside = [one for one in outside if one[1] not in self.prose]
        if not outside:
            return []
        loose = [(link, chars) for link, _, chars in outside if link.parent is not None]
        self._sum_up(loose, links, nodes, self.prose)
        held = self._ways_to_documents([link for link, _, _ in outside])
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

    def _together(self, words: dict[int, str]) -> frozenset[str]:
        together: Counter[str] = Counter()
        inner = {at: word for at, word in words.items() if self.prose[at] < WRAPPER * self.total}
        for at, word in inner.items():
            up = self.above.get(at)
            while up is not None and inner.get(up) != word:
                up = self.above.get(up)
            if up is None:  # not in another part of that name
                together[word] += self.prose[at]
        return frozenset(word for word, chars in together.items() if chars >= TOGETHER * self.total)

    def _sum_up(
        self, found: Counted, sums: dict[int, int], nodes: dict[int, LexborNode], prose: Mapping[int, int]
    ) -> None:
        """Adds the figures to each node and what it stands in, up to what has prose.  Neighbours go up together."""
        above = self.above
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
