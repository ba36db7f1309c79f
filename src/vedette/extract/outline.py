"""A page as (structural path, text) per block: the view that diffs and noise masks work on.

Paths hold tags and sibling positions, never ids or classes (sites generate those): "main/div[2]/p[3]".
The first of its kind has no number, so that a second one does not rename it.  Inline tags belong to
their block; `<br>` starts the next run of the same block.  A row of a table is one block, "label | cell | cell", so
that a diff says of what a value changed; a row that holds more than values is read cell by cell, each its own block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from vedette.contracts.changing import Block
from vedette.core.weight import too_heavy
from vedette.extract.head import read_head
from vedette.extract.page import document_target
from vedette.extract.scope import ALL, LARGE_PAGE, MAIN, article_of, fold, narrowed, tree_of, visible

MAX_LEVELS = 64  # of a path; what is deeper shares the path of its ancestor
MAX_BLOCKS = 300_000
STRICT = "strict"  # the main content whatever the gate says
ARTICLE = "article"  # the article of it, because the other states are articles too
BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup legend li main menu nav ol "
    "optgroup option p pre search section select summary table tbody td textarea tfoot th thead tr ul".split()
)
BREAKS = frozenset(("br", "hr"))
MAX_CELLS = 60  # of a row that is read as one line,
MAX_CELL = 200  # and characters of each: more is a layout, or prose in a table
_NOT_VALUES = (
    "table, ul, ol, dl, h1, h2, h3, h4, h5, h6, form, pre, blockquote, select, textarea, article, section"
)


def page_blocks(
    body: bytes, *, url: str, content_type: str, scope: str, is_older: bool = False
) -> tuple[Block, ...]:
    """The blocks of the compared part, in document order; none for markup that must not be parsed.

    `is_older`: as it was before articles were cut down and rows of tables were lines.
    """
    if too_heavy(body):
        return ()
    tree, _ = tree_of([body], content_type)
    base = read_head(tree, url).base
    in_pieces = len(body) > LARGE_PAGE
    text = visible(tree, in_pieces=in_pieces)
    root = tree.body
    if scope != ALL:
        root, _ = narrowed(tree, text, is_gated=scope == MAIN, in_pieces=in_pieces)
        if root is not None and scope != STRICT and not is_older:
            root = article_of(root, len(body), is_sure=scope == ARTICLE) or root
        if root is None:  # the gate refused, after the tree was cut
            del tree
            tree, _ = tree_of([body], content_type)
            visible(tree, in_pieces=in_pieces)
            root = tree.body
    del text
    return tuple(_Outline(base, is_older).read(root)) if root is not None else ()


def common_scope(bodies: Iterable[tuple[bytes, str]], *, is_older: bool = False) -> str:
    """How states of one page, each with its content type, are cut alike.

    A page near a gate may pass it in one state only; compared as they are, its whole navigation would seem to come and
    go.  When one state passes the gate of scope "main", all are narrowed; cut down to the article when all have one.
    """
    found = [_cut_of(body, content_type) for body, content_type in bodies]
    if found and all(one == ARTICLE for one in found) and not is_older:
        return ARTICLE
    return STRICT if any(found) else MAIN


def _cut_of(body: bytes, content_type: str) -> str:
    if too_heavy(body):
        return ""
    tree, _ = tree_of([body], content_type)
    in_pieces = len(body) > LARGE_PAGE
    root, _ = narrowed(tree, visible(tree, in_pieces=in_pieces), in_pieces=in_pieces)
    if root is None:
        return ""
    return STRICT if article_of(root, len(body)) is None else ARTICLE


Frame = tuple[Iterator[LexborNode], str, Counter[str], bool]  # children, path, siblings so far, is a block


@dataclass(slots=True)
class _Outline:
    base: str
    is_older: bool = False
    blocks: list[Block] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)

    def read(self, root: LexborNode) -> list[Block]:
        """Depth first with a stack of our own: hostile depth must not end in a RecursionError."""
        start = _path_to(root)
        stack: list[Frame] = [(_children(root), start, Counter(), True)]
        while stack and len(self.blocks) < MAX_BLOCKS:
            children, path, siblings, is_block = stack[-1]
            node = next(children, None)
            if node is None:
                if is_block:
                    self._flush(path)
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
        elif tag in BLOCKS:
            self._flush(path)
            siblings[tag] += 1
            deeper = _step(path, tag, siblings[tag]) if len(stack) < MAX_LEVELS else path
            if tag == "tr" and not self.is_older and self._row(node, deeper):
                return
            stack.append((_children(node), deeper, Counter(), True))
        else:
            if tag == "a":
                self._note_target(node)
            stack.append((_children(node), path, siblings, False))

    def _row(self, row: LexborNode, path: str) -> bool:
        """Reads a row of values as one line; False when it is something else and nothing was read."""
        cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
        if not 2 <= len(cells) <= MAX_CELLS or row.css_first(_NOT_VALUES) is not None:
            return False
        texts = [_cell_text(cell) for cell in cells]
        if sum(map(bool, texts)) < 2 or max(map(len, texts)) > MAX_CELL:
            return False
        while not texts[-1]:
            texts.pop()
        self.words.append(" | ".join(texts))
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


def _cell_text(cell: LexborNode) -> str:
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


def _path_to(root: LexborNode) -> str:
    """The path of the narrowed root from the body, so that both scopes name a block alike."""
    steps: list[str] = []
    node: LexborNode | None = root
    while node is not None and node.tag not in ("body", "html") and len(steps) < MAX_LEVELS:
        tag, number = node.tag or "", 1
        before = node.prev
        while before is not None:
            number += before.tag == tag
            before = before.prev
        if tag in BLOCKS:
            steps.append(_step("", tag, number))
        node = node.parent
    return "/".join(reversed(steps))
