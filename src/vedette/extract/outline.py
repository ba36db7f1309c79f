"""A page as (structural path, text) per block: the view that diffs and noise masks work on.

Paths hold tags and sibling positions, never ids or classes (sites generate those): "main/div[2]/p[3]".
The first of its kind has no number, so that a second one does not rename it.  Inline tags belong to
their block, their words together or apart as a browser shows them; `<br>` starts the next run of the same block.  A row
of a table is one block, "label | cell | cell", so that a diff says of what a value changed; a row that holds more than
values is read cell by cell, each its own block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from vedette.contracts.change import Block
from vedette.extract.article import NONE, narrow_to_article
from vedette.extract.head import document_target
from vedette.extract.scope import MAIN, fold, narrowed
from vedette.extract.word_breaks import BREAK, HIDDEN, NO_EDGES, SPACE, TABLES, Styled, edges_of, styled_edges

MAX_LEVELS = 64  # of a path; what is deeper shares the path of its ancestor
MAX_BLOCKS = 300_000
STRICT = "strict"  # the main content whatever the gate says
ARTICLE = "article"  # the article of it, because all states are articles
BODY = (
    "body"  # beside one of them: not from the part that the page names, because not all states name the same
)
BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup legend li main menu nav ol "
    "optgroup option p pre search section select summary table tbody td textarea tfoot th thead tr ul".split()
)
BREAKS = frozenset(("br", "hr"))
CELLS = " | "  # between the cells of a row
MAX_CELLS = 60  # of a row that is read as one line,
MAX_CELL = 200  # and characters of each: more is a layout, or prose in a table
MAX_ROWS = 20_000  # whose headings are looked for
_PARTS = ("thead", "tbody", "tfoot")
_NOT_VALUES = (
    "table, ul, ol, dl, h1, h2, h3, h4, h5, h6, form, pre, blockquote, select, textarea, article, section"
)


@dataclass(frozen=True, slots=True)
class Cut:
    """How a state is cut: what of it, from the body or from the part that it names, and what stays."""

    kind: str = ""  # STRICT, ARTICLE; empty when the gate refused
    root: str = ""
    spared: frozenset[str] = NONE

    def __str__(self) -> str:
        return "\n".join([f"{self.kind} {self.root}".rstrip(), *sorted(self.spared)])

    @staticmethod
    def read(scope: str) -> Cut:
        first, *spared = scope.split("\n")
        kind, _, root = first.partition(" ")
        return Cut(kind, root, frozenset(spared))

    @staticmethod
    def made(root: LexborNode | None, spared: frozenset[str] | None) -> Cut:
        """Of a state that was narrowed to this part; None: the gate refused.  `spared` is None without an article."""
        if root is None:
            return Cut()
        return Cut(STRICT, root.tag or "") if spared is None else Cut(ARTICLE, root.tag or "", spared)


def common_scope(cuts: Iterable[Cut], *, is_older: bool = False) -> str:
    """How states of one page are cut alike.

    A page near a gate may pass it in one state only; compared as they are, its whole navigation would seem to come and
    go.  When one state passes the gate of scope "main", all are narrowed; cut down to the article when all have one.
    All are cut from the body when they do not name the same part as their main one (a second `<article>` comes).  A
    part that is too much of the prose to go in one state (comments that grow) stays in all.
    """
    found = list(cuts)
    if not any(one.kind for one in found):
        return MAIN
    kind = ARTICLE if all(one.kind == ARTICLE for one in found) else STRICT
    root = "" if is_older or len({one.root for one in found}) == 1 else BODY
    return str(Cut(kind, root, NONE.union(*[one.spared for one in found])))


def cut_to(
    scope: str, tree: LexborHTMLParser, text: str, *, is_older: bool, is_huge: bool
) -> LexborNode | None:
    """The part of a tree with this text that is compared in this scope; None when the gate refused.  Cuts the tree."""
    cut = Cut.read(scope)
    is_gated, is_body = scope == MAIN, cut.root == BODY
    root, _ = narrowed(tree, text, is_gated=is_gated, is_older=is_older, is_body=is_body)
    if root is not None and cut.kind != STRICT and not is_older and not is_huge:
        narrow_to_article(root, is_sure=cut.kind == ARTICLE, spared=cut.spared)
    return root


def blocks_of(
    root: LexborNode | None, base: str, *, is_older: bool = False, is_glued: bool = False
) -> tuple[Block, ...]:
    """The blocks of a part, in document order.

    `is_older`: as it was before articles were cut down and rows of tables were lines.
    `is_glued`: as it was before words of neighbouring elements were told apart.
    """
    if root is None:
        return ()
    return tuple(_Outline(base, is_older, is_older or is_glued).read(root, _path_to(root, {})))


def blocks_of_parts(parts: Iterable[LexborNode], base: str) -> tuple[Block, ...]:
    """The blocks of parts of one tree, of which none stands in another."""
    numbers: dict[int, dict[int, int]] = {}
    found = (block for part in parts for block in _Outline(base).read(part, _path_to(part, numbers)))
    return tuple(islice(found, MAX_BLOCKS))


# Children, path, siblings so far, what follows behind them.
Frame = tuple[Iterator[LexborNode], str, Counter[str], int]


@dataclass(slots=True)
class _Outline:
    base: str
    is_older: bool = False
    is_glued: bool = False
    styled: Styled | None = None  # not looked for yet
    blocks: list[Block] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)

    def read(self, root: LexborNode, start: str) -> list[Block]:
        """Depth first with a stack of our own: hostile depth must not end in a RecursionError."""
        if self.styled is None:
            self.styled = {} if self.is_glued else styled_edges(root)
        stack: list[Frame] = [(_children(root), start, Counter(), BREAK)]
        while stack and len(self.blocks) < MAX_BLOCKS:
            children, path, siblings, behind = stack[-1]
            node = next(children, None)
            if node is None:
                self._part(behind, path)
                stack.pop()
            elif node.is_text_node:
                self.words.append(node.text_content or "")
            else:
                self._enter(node, path, siblings, stack)
        return self.blocks

    def _enter(self, node: LexborNode, path: str, siblings: Counter[str], stack: list[Frame]) -> None:
        tag = node.tag or ""
        if tag in BREAKS:
            self._flush(path)
        elif tag in BLOCKS and not self._is_in_line(node, tag):
            self._flush(path)
            siblings[tag] += 1
            deeper = _step(path, tag, siblings[tag]) if len(stack) < MAX_LEVELS else path
            if tag == "tr" and not self.is_older and self._row(node, deeper):
                return
            stack.append((_children(node), deeper, Counter(), BREAK))
        else:
            if tag == "a":
                self._note_target(node)
            edges = NO_EDGES if self.is_glued else edges_of(node, tag, self.styled)
            if edges is not HIDDEN:
                self._part(edges.before, path)
                stack.append((_children(node), path, siblings, edges.behind))

    def _is_in_line(self, node: LexborNode, tag: str) -> bool:
        """A block by its tag that its own style puts into the line."""
        if not self.styled or tag in TABLES:
            return False
        return self.styled.get(node.mem_id, NO_EDGES).is_in_line

    def _part(self, edge: int, path: str) -> None:
        if edge == BREAK:
            self._flush(path)
        elif edge == SPACE:
            self.words.append(" ")

    def _row(self, row: LexborNode, path: str) -> bool:
        """Reads a row of values as one line; False when it is something else and nothing was read."""
        texts = _values(row, _cells(row), None if self.is_glued else self.styled)
        if texts is None:
            return False
        self.words.append(_row_line(texts))
        for link in row.css("a[href]"):
            self._note_target(link)
        self._flush(path)
        return True

    def _note_target(self, node: LexborNode) -> None:
        href = node.attributes.get("href")
        target = document_target(href, self.base) if href else None
        if target:
            self.targets.append(target)

    def _flush(self, path: str) -> None:
        """Closes the run of text gathered so far."""
        text = fold("".join(self.words))
        self.words.clear()
        if not text and not self.targets:
            return
        self.runs[path] += 1
        place = path if self.runs[path] == 1 else _step(path, "text", self.runs[path])
        if text:
            self.blocks.append((place, text))
        for number, target in enumerate(self.targets, 1):
            self.blocks.append((_step(place, "@href", number), target))
        self.targets.clear()


def headings_of(tree: LexborHTMLParser) -> dict[str, tuple[str, ...]]:
    """Rows of tables with headings, as the lines that they are compared as, and the heading of each of their cells.

    A row that does not fit its headings (cells that span rows) has none, nor has a line that stands in two tables.
    """
    headings: dict[int, list[str]] = {}  # of a table, one per column
    found: dict[str, tuple[str, ...]] = {}
    styled = styled_edges(tree.body) if tree.body is not None else {}
    for row in tree.css("tr")[:MAX_ROWS]:
        part = row.parent
        table = part.parent if part is not None and part.tag in _PARTS else part
        cells = _cells(row)
        texts = _values(row, cells, styled) if table is not None else None
        if table is None or texts is None:
            continue
        is_first = table.mem_id not in headings
        if part is not None and (part.tag == "thead" or (is_first and _names_columns(cells, texts))):
            headings[table.mem_id] = [
                text for cell, text in zip(cells, texts, strict=True) for _ in range(_width(cell))
            ]
            continue
        columns = headings.setdefault(table.mem_id, [])
        starts = [sum(map(_width, cells[:at])) for at in range(len(cells) + 1)]
        named = tuple(columns[at] for at in starts[:-1]) if columns and starts[-1] == len(columns) else ()
        text = _row_line(texts)
        found[text] = named if found.get(text, named) == named else ()
    return {text: named for text, named in found.items() if any(named)}


def _names_columns(cells: list[LexborNode], texts: list[str]) -> bool:
    """A first row of headings; only the corner above the labels may be an empty cell."""
    return all(cell.tag == "th" or (at == 0 and not texts[at]) for at, cell in enumerate(cells))


def _width(cell: LexborNode) -> int:
    spans = cell.attributes.get("colspan") or ""
    return min(int(spans), MAX_CELLS) if spans.isascii() and spans.isdigit() and int(spans) else 1


def _cells(row: LexborNode) -> list[LexborNode]:
    return [cell for cell in row.iter() if cell.tag in ("td", "th")]


def _values(row: LexborNode, cells: list[LexborNode], styled: Styled | None) -> list[str] | None:
    """The texts of a row of values; None when it is a layout, or prose in a table.

    `styled` is None: as it was before words of neighbouring elements were told apart.
    """
    if not 2 <= len(cells) <= MAX_CELLS or row.css_first(_NOT_VALUES) is not None:
        return None
    texts = [_glued_text(cell) if styled is None else _cell_text(cell, styled) for cell in cells]
    return None if sum(map(bool, texts)) < 2 or max(map(len, texts)) > MAX_CELL else texts


def _row_line(texts: list[str]) -> str:
    last = max(at for at, text in enumerate(texts) if text)
    return fold(CELLS.join(texts[: last + 1]))


def _cell_text(cell: LexborNode, styled: Styled) -> str:
    first = cell.first_child
    if first is None:
        return ""
    if first.is_text_node and first.next is None:
        return fold(first.text_content or "")
    return " ".join(
        [text for path, text in _Outline("", styled=styled).read(cell, "") if "@href" not in path]
    )


def _glued_text(cell: LexborNode) -> str:
    parts: list[str] = []
    for node in cell.traverse(include_text=True):
        if node.is_text_node:
            parts.append(node.text_content or "")
        elif node.tag in BLOCKS or node.tag in BREAKS:
            parts.append(" ")
    return fold("".join(parts))


def _children(node: LexborNode) -> Iterator[LexborNode]:
    return node.iter(include_text=True)


def _step(path: str, name: str, number: int) -> str:
    step = name if number == 1 else f"{name}[{number}]"
    return f"{path}/{step}" if path else step


def _path_to(root: LexborNode, numbers: dict[int, dict[int, int]]) -> str:
    """The path of the narrowed root from the body, so that both scopes name a block alike.

    `numbers`: of the children of each parent so far; counted once, or many parts of one list would take long.
    """
    steps: list[str] = []
    node: LexborNode | None = root
    while node is not None and node.tag not in ("body", "html") and len(steps) < MAX_LEVELS:
        tag, parent = node.tag or "", node.parent
        if tag in BLOCKS:
            if parent is not None and parent.mem_id not in numbers:
                numbers[parent.mem_id] = _numbered(parent)
            number = 1 if parent is None else numbers[parent.mem_id].get(node.mem_id, 1)
            steps.append(_step("", tag, number))
        node = parent
    return "/".join(reversed(steps))


def _numbered(parent: LexborNode) -> dict[int, int]:
    """Which of its kind each child is."""
    found: dict[int, int] = {}
    so_far: Counter[str] = Counter()
    for child in parent.iter():
        tag = child.tag or ""
        so_far[tag] += 1
        found[child.mem_id] = so_far[tag]
    return found
