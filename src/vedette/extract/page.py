"""One body, read once: its class is decided, its letters are read and its markup is parsed once, whoever asks.

The engine takes text, links and keys from it, the comparison its blocks, a lister its tree.  What is not asked for is
not made.  Hostile input ends as a value with a `problem`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Flag
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from vedette.contracts.change import Block
from vedette.contracts.fetch import Extraction
from vedette.contracts.filters import NO_FILTERS, PageFilters
from vedette.contracts.words import ContentClass
from vedette.core.filters.line_steps import FilteredLines, filter_lines, filtered_keys
from vedette.core.text.charset import as_utf8
from vedette.core.text.parse_cost import ParseCost, lean, too_heavy
from vedette.core.text.redact import redacted_blocks, redacted_extraction, redacted_headings
from vedette.extract.article import Narrowed, narrow_to_article, spared_parts
from vedette.extract.classes import content_class
from vedette.extract.element_filters import chosen_html, chosen_json, chosen_xml, misplaced, takes_long
from vedette.extract.fields import Unreadable, json_fields, text_lines, xml_fields
from vedette.extract.head import base_of, document_targets, link_chars, links_of, read_head
from vedette.extract.outline import Cut, blocks_of, cut_to, headings_of
from vedette.extract.scope import ALL, HUGE_PAGE, LARGE_PAGE, MAIN, fold, narrowed, raw_text, tree_of, visible

JSONS = (ContentClass.JSON, ContentClass.JSON_LD)
READABLE = (*JSONS, ContentClass.XML, ContentClass.TEXT)
AT_ONCE = 1000  # fields
KEPT_TREE = 512 * 1024  # bytes of markup; of a larger page no tree is held beside another
TITLES = ("/title", "/name", "/headline", "/rss/channel/title", "/feed/title")
Blocks = tuple[Block, ...]


class Keeps(Flag):
    """What of a page is asked for after its text was taken."""

    NOTHING = 0
    TREE = 1  # by a lister
    VIEW = 2  # by a comparison


@dataclass(slots=True, eq=False)
class _Trees:
    """What was parsed and is asked for again."""

    parsed: LexborHTMLParser | None = None  # nobody changes it
    view: _View | None = None
    cuts: dict[bool, Cut] = field(default_factory=dict)
    blocks: dict[tuple[str, bool, bool], Blocks] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A tree without what no reader sees.  Who cuts it takes a copy, which costs a fifth of a parse."""

    tree: LexborHTMLParser
    text: str
    base: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Page:
    """A body and what it says.  Deterministic in its bytes, its address and its declared type."""

    body: bytes = field(repr=False)
    url: str
    content_type: str
    content_class: ContentClass
    scope: str = MAIN
    keeps: Keeps = Keeps.NOTHING
    redacts: bool = False  # personal data is taken out of all that is made of it; its bytes stay
    filters: PageFilters = NO_FILTERS  # of its source: what of it is compared
    _trees: _Trees = field(default_factory=_Trees, init=False, repr=False)

    @staticmethod
    def of(
        body: bytes,
        *,
        url: str,
        content_type: str,
        scope: str = MAIN,
        keeps: Keeps = Keeps.NOTHING,
    ) -> Page:
        """The only place where the class of a body that is looked at is decided."""
        kind = content_class(body, url=url, content_type=content_type)
        return Page(
            body=body,
            url=url,
            content_type=content_type,
            content_class=kind,
            scope=scope,
            keeps=keeps,
        )

    def redacting(self, *, redacts: bool = True) -> Page:
        """The same page, read without personal data where that is asked for."""
        return self if redacts is self.redacts else replace(self, redacts=redacts)

    def filtering(self, filters: PageFilters) -> Page:
        """The same page, compared as these filters leave it."""
        return self if filters == self.filters else replace(self, filters=filters)

    def __reduce__(self) -> tuple[object, ...]:
        """To another process goes the body; trees are made anew there."""
        how = (self.scope, self.redacts, self.filters)
        return _again, (self.body, self.url, self.content_type, self.content_class, how)

    @property
    def takes_long(self) -> bool:
        """True where reading it may take any time, so that a worker has to."""
        return self.cost.is_irregular or takes_long(self.filters)

    @property
    def is_page(self) -> bool:
        return self.content_class is ContentClass.HTML

    @cached_property
    def cost(self) -> ParseCost:
        return ParseCost(self.body)

    @property
    def problem(self) -> str:
        """Why its markup must not be parsed; empty when it may be."""
        return self.cost.problem

    @cached_property
    def letters(self) -> tuple[bytes, str]:
        """The body in UTF-8, and the charset it came in."""
        return as_utf8(self.body, self.content_type)

    @property
    def utf8(self) -> bytes:
        return self.letters[0]

    @cached_property
    def extraction(self) -> Extraction:
        """The compared text, links and metadata.  Of a PDF or office file only the class: a worker reads it."""
        if self.is_page:
            return redacted_extraction(self._read_page()) if self.redacts else self._read_page()
        if self.content_class not in READABLE:
            return Extraction(content_class=self.content_class, base=self.url)
        found = _extraction_of(self.content_class, self.fields, self.url)
        return redacted_extraction(found) if self.redacts else found

    @cached_property
    def fields(self) -> Blocks | Unreadable:
        """JSON, XML and plain text as fields."""
        try:
            found = _fields(self.content_class, [self.utf8]) if self.utf8.strip() else ()
        except Unreadable as problem:
            return problem
        return redacted_blocks(found) if self.redacts else found

    def tree(self) -> LexborHTMLParser:
        """As it was parsed, for whoever only reads it."""
        if self._trees.parsed is None:
            self._trees.parsed = tree_of(self.utf8)
        return self._trees.parsed

    def cut(self, *, is_older: bool = False) -> Cut:
        """What of this state would be compared, were it alone."""
        made = self._trees.cuts
        if is_older not in made:
            made[is_older] = Cut() if self.problem else self._cut(is_older)
        return made[is_older]

    @cached_property
    def compared(self) -> Extraction:
        """What it says, told apart by what its filters leave; the whole text and the links are as they are."""
        found = self.extraction
        if not self.filters.steps or found.problem or found.missing:
            return found
        left = self.filtered(self.scope)
        if left.unmatched:
            return replace(found, unmatched=left.unmatched)
        return replace(found, keys=filtered_keys(left.blocks, self.filters))

    def filtered(self, scope: str, *, is_older: bool = False, is_glued: bool = False) -> FilteredLines:
        """The lines that its filters leave; why, when that is none.  Not of a PDF or office file."""
        wrong = misplaced(self.filters, self.content_class)
        if wrong:
            return FilteredLines(unmatched=wrong)
        if not self.filters.elements:
            return filter_lines(self._unfiltered(scope, is_older=is_older, is_glued=is_glued), self.filters)
        try:
            left = self._chosen()
        except Unreadable as problem:
            return FilteredLines(unmatched=str(problem))
        return replace(left, blocks=redacted_blocks(left.blocks)) if self.redacts else left

    def _chosen(self) -> FilteredLines:
        if self.problem and self.is_page:
            return FilteredLines(unmatched=self.problem)
        if self.is_page:
            tree = self.tree().clone()
            return chosen_html(tree, base_of(tree, self.url), self.filters)
        reads = chosen_xml if self.content_class is ContentClass.XML else chosen_json
        return reads(self.utf8, self.filters)

    def blocks(self, scope: str, *, is_older: bool = False, is_glued: bool = False) -> Blocks:
        """What is compared, as (structural path, text).  The slow view: asked for only when cheaper layers differ.

        `is_older`, `is_glued`: in a form that texts had before, see `blocks_of`.
        """
        if self.filters.reads:
            return self.filtered(scope, is_older=is_older, is_glued=is_glued).blocks
        return self._unfiltered(scope, is_older=is_older, is_glued=is_glued)

    def _unfiltered(self, scope: str, *, is_older: bool, is_glued: bool) -> Blocks:
        if not self.is_page:
            return () if isinstance(self.fields, Unreadable) else self.fields
        made, how = self._trees.blocks, (scope, is_older, is_glued)
        if how not in made:
            found = () if self.problem else self._blocks(scope, is_older, is_glued)
            made[how] = redacted_blocks(found) if self.redacts else found
        return made[how]

    @cached_property
    def headings(self) -> dict[str, tuple[str, ...]]:
        """Rows of its tables, as the lines that they are compared as, and the heading of each of their cells."""
        if self.problem or not self.is_page:
            return {}
        found = headings_of(self._view().tree)
        return redacted_headings(found) if self.redacts else found

    def forget_trees(self) -> None:
        """What was made of them stays; what is asked for later is parsed again."""
        self._trees.parsed = self._trees.view = None

    def forget_fields(self) -> None:
        """Whoever took them has them."""
        self.__dict__.pop("fields", None)

    def _own_tree(self) -> LexborHTMLParser:
        """To be cut: a copy where somebody else reads it too."""
        if Keeps.TREE in self.keeps and len(self.body) <= KEPT_TREE:
            return self.tree().clone()
        kept, self._trees.parsed = self._trees.parsed, None
        if kept is not None:
            return kept
        return tree_of(lean(self.utf8) if len(self.utf8) > HUGE_PAGE else self.utf8)

    def _view(self) -> _View:
        """Kept as long as a second tree beside it is not too much."""
        if self._trees.view is not None:
            return self._trees.view
        tree = self._own_tree()
        base = base_of(tree, self.url)
        text = visible(tree, in_pieces=len(self.body) > LARGE_PAGE, for_lines=True)
        view = _View(tree, text, base)
        if len(self.body) <= KEPT_TREE:
            self._trees.view = view
        return view

    def _copy(self) -> _View:
        view = self._view()
        return _View(view.tree.clone(), view.text, view.base) if view is self._trees.view else view

    def _read_page(self) -> Extraction:
        if self.problem:
            return Extraction(content_class=self.content_class, base=self.url, problem=self.problem)
        tree = self._own_tree()
        keeps_view = Keeps.VIEW in self.keeps and len(self.body) <= KEPT_TREE
        reading = _Reading(tree, self.url, len(self.body), for_lines=keeps_view)
        if keeps_view:
            self._trees.view = _View(tree, reading.text, reading.facts.base)
            reading.tree = tree.clone()
        found, cut = reading.extraction(self.scope, self.letters[1])
        if self.scope == MAIN:
            self._trees.cuts[False] = cut
        return found

    def _cut(self, is_older: bool) -> Cut:
        view = self._copy()
        root, _ = narrowed(view.tree, view.text, is_older=is_older)
        is_whole = root is None or is_older or len(self.body) > HUGE_PAGE
        return Cut.made(root, None if is_whole or root is None else spared_parts(root))

    def _blocks(self, scope: str, is_older: bool, is_glued: bool) -> Blocks:
        view = self._copy()
        root = view.tree.body
        if scope != ALL:
            is_huge = len(self.body) > HUGE_PAGE
            root = cut_to(scope, view.tree, view.text, is_older=is_older, is_huge=is_huge)
            if root is None:  # the gate refused, after the tree was cut
                del view
                view = self._copy()
                root = view.tree.body
        return blocks_of(root, view.base, is_older=is_older, is_glued=is_glued)


class _Reading:
    """The text of one page, taken from a tree that is cut on the way."""

    def __init__(self, tree: LexborHTMLParser, url: str, size: int, *, for_lines: bool = False) -> None:
        self.tree = tree
        self.size = size
        self.facts = read_head(tree, url)
        self.asks_password = bool(tree.tags("input")) and tree.css_matches("input[type=password]")
        self.hrefs, self.nofollow = links_of(tree)
        self.text = visible(tree, in_pieces=size > LARGE_PAGE, for_lines=for_lines)

    def extraction(self, scope: str, charset: str) -> tuple[Extraction, Cut]:
        facts, text = self.facts, self.text
        root: LexborNode | None = None
        article: Narrowed | None = None
        if scope == MAIN:
            root, text = narrowed(self.tree, text)
            if root is not None and self.size <= HUGE_PAGE:
                article = narrow_to_article(root)
                text = raw_text(root) if article is not None and article.is_cut else text
        found = Extraction(
            content_class=ContentClass.HTML,
            text=fold(text),
            title=facts.title,
            hrefs=self.hrefs,
            nofollow=self.nofollow,
            base=facts.base,
            canonical=facts.canonical,
            published_at=facts.published_at,
            modified_at=facts.modified_at,
            language=facts.language,
            charset=charset,
            metadata=facts.metadata or None,
            is_noindex=facts.is_noindex,
            is_nofollow=facts.is_nofollow,
            feeds=facts.feeds,
            targets=document_targets(self.hrefs, root or self.tree.body, facts.base),
            asks_password=self.asks_password,
            visible_chars=len(self.text),
            link_chars=link_chars(root or self.tree.body, len(text)),
        )
        return found, Cut.made(root, None if article is None else article.spared)


def extract(
    body: bytes, *, url: str, content_type: str, scope: str = MAIN, redacts: bool = False
) -> Extraction:
    """What a body says.  Never raises; deterministic in its arguments."""
    return (
        Page.of(body, url=url, content_type=content_type, scope=scope).redacting(redacts=redacts).extraction
    )


def extract_in_worker(
    taken: list[bytes], url: str, content_type: str, scope: str, kind: ContentClass | None = None
) -> Extraction:
    """The same for a large body, which is taken out of the list: who holds it nowhere else has room for its tree."""
    kind = kind or content_class(taken[0], url=url, content_type=content_type)
    if kind in READABLE:
        try:
            taken.append(as_utf8(taken.pop(), content_type)[0])
            found = _fields(kind, taken) if taken[0].strip() else ()
        except Unreadable as error:
            return _extraction_of(kind, error, url)
        return _extraction_of(kind, found, url)
    problem = too_heavy(taken[0]) if kind is ContentClass.HTML else ""
    if problem or kind is not ContentClass.HTML:
        return Extraction(content_class=kind, base=url, problem=problem)
    size = len(taken[0])
    markup, charset = as_utf8(taken.pop(), content_type)
    if len(markup) > HUGE_PAGE:
        markup = lean(markup)
    tree = tree_of(markup)
    del markup
    return _Reading(tree, url, size).extraction(scope, charset)[0]


def extract_redacted(
    taken: list[bytes], url: str, content_type: str, scope: str, kind: ContentClass | None = None
) -> Extraction:
    """The same without personal data."""
    return redacted_extraction(extract_in_worker(taken, url, content_type, scope, kind))


def extract_compared(page: Page) -> Extraction:
    """What a page says and what its filters leave of it, for a worker."""
    return page.compared


def blocks(
    body: bytes, *, url: str, content_type: str, scope: str = MAIN, redacts: bool = False
) -> tuple[Block, ...]:
    """A body as (structural path, text), for whoever asks for nothing else."""
    return Page.of(body, url=url, content_type=content_type).redacting(redacts=redacts).blocks(scope)


def row_headings(body: bytes, *, content_type: str, redacts: bool = False) -> dict[str, tuple[str, ...]]:
    """The headings of a page, for whoever asks for nothing else."""
    kind = ContentClass.HTML
    page = Page(body=body, url="", content_type=content_type, content_class=kind, redacts=redacts)
    return page.headings


How = tuple[str, bool, PageFilters]


def _again(body: bytes, url: str, content_type: str, kind: ContentClass, how: How) -> Page:
    scope, redacts, filters = how
    page = Page(body=body, url=url, content_type=content_type, content_class=kind, scope=scope)
    return page.redacting(redacts=redacts).filtering(filters)


def _extraction_of(kind: ContentClass, found: Blocks | Unreadable, url: str) -> Extraction:
    if isinstance(found, Unreadable):
        return Extraction(content_class=kind, base=url, problem=str(found))
    values = dict(found[:1000])
    if kind is ContentClass.JSON and "/@context" in values:
        kind = ContentClass.JSON_LD
    return Extraction(
        content_class=kind,
        text=_told(found),
        title=next((values[path][:500] for path in TITLES if path in values), ""),
        base=url,
    )


def _told(found: Blocks) -> str:
    """All fields as one text.  In pieces: so many fields as words beside the fields would take as much again."""
    pieces = (found[at : at + AT_ONCE] for at in range(0, len(found), AT_ONCE))
    return " ".join(
        [
            " ".join([value if path.startswith("line") else f"{path} {value}" for path, value in piece])
            for piece in pieces
        ]
    )


def _fields(kind: ContentClass, taken: list[bytes]) -> Blocks:
    if kind in JSONS:
        return json_fields(taken)
    if kind is ContentClass.XML:
        return xml_fields(taken)
    return text_lines(taken) if kind is ContentClass.TEXT else ()
