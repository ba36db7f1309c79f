"""CSS that names the elements of a page in which given lines stand: for a rule that leaves them out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser, LexborNode

from vedette.extract.scope import INVISIBLE, fold

MOST_STEPS = 4  # up from the line to an element that has a name
MOST_SHARE = 0.5  # of the text of the page: an element with more is the page
MOST_MATCHES = 60
MOST_MARKUP = 2_000_000  # characters: in a larger page no element is looked for
MOST_DEPTH = 100
_NAME = re.compile(r"-?[A-Za-z_][A-Za-z0-9_-]{0,60}")
_DRAWN = re.compile(r"\d{3}|[0-9a-f]{8}")  # a name that is made anew at every build


def selectors_of(markup: str, texts: Sequence[str]) -> tuple[str, ...]:
    """One for each line, each once; empty where one of them stands in no element with a name of its own."""
    if len(markup) > MOST_MARKUP:
        return ()
    tree = LexborHTMLParser(markup)
    tree.strip_tags(INVISIBLE)
    body = tree.body
    if body is None or not texts:
        return ()
    whole = len(fold(body.text(separator=" "))) or 1
    found = [_selector(tree, body, text, whole) for text in texts]
    return tuple(dict.fromkeys(one for one in found if one)) if all(found) else ()


def _selector(tree: LexborHTMLParser, body: LexborNode, text: str, whole: int) -> str:
    node = _innermost(body, fold(text))
    for _ in range(MOST_STEPS):
        if node is None or node.tag in ("body", "html", "main", "article"):
            return ""
        if len(fold(node.text(separator=" "))) > MOST_SHARE * whole:
            return ""
        name = _name(node)
        if name and len(tree.css(name)) <= MOST_MATCHES:
            return name
        node = node.parent
    return ""


def _innermost(node: LexborNode, text: str) -> LexborNode | None:
    """The smallest element that says all of it."""
    wanted = text.replace(" ", "")
    if not wanted or wanted not in _squeezed(node):
        return None
    for _ in range(MOST_DEPTH):
        child = next((one for one in node.iter() if wanted in _squeezed(one)), None)
        if child is None:
            return node
        node = child
    return None


def _squeezed(node: LexborNode) -> str:
    return fold(node.text(separator=" ")).replace(" ", "")


def _name(node: LexborNode) -> str:
    """By its id, else by its classes; names that look drawn are left out."""
    own = node.attributes.get("id") or ""
    if _NAME.fullmatch(own) and not _DRAWN.search(own):
        return f"#{own}"
    classes = [
        one
        for one in (node.attributes.get("class") or "").split()
        if _NAME.fullmatch(one) and not _DRAWN.search(one)
    ]
    return f"{node.tag}.{'.'.join(classes[:2])}" if classes else ""
