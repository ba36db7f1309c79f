"""Which part of a page is compared: its main content, or everything a reader can see.

Scope "main" leaves out what sites repeat on every page (navigation, side columns, page header and
footer), behind a gate: when little would remain, the whole visible text is used.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from itertools import islice

import numpy as np
from selectolax.lexbor import LexborHTMLParser, LexborNode

from vedette.extract.article import prose_chars
from vedette.extract.word_breaks import keep_places

MAIN = "main"
ALL = "all"
MIN_SHARE = 0.4  # of the visible text
MIN_CHARS = 200
FEW_CHARS = 20  # of a part that the page names as its main part: then no prose may stand in what sites repeat
MENU_ENTRY = 25  # characters of a link; a longer one is a title
MAX_SURROUNDINGS = 5000  # menus, footers and links that are looked at
HUGE_PAGE = 4 << 20  # bytes of markup; a larger one is a register, no article, and is read with less memory
LARGE_PAGE = 1 << 20  # the text of a larger one is put together in pieces,
LARGE_TEXT = LARGE_PAGE // 4  # characters; the same for the main part of it,
PARTS = 1000  # of so many parts each,
PART_LEVELS = 3  # which stand so many levels below the root
HIDING = ("display:none", "visibility:hidden")  # inline styles, spaces removed
MAY_HIDE = "[hidden], [style*=none i], [style*=hidden i], dialog, object"
INVISIBLE = ["script", "style", "noscript", "template", "svg", "iframe"]
REPEATED = "nav, aside, header, footer, [role=navigation], [role=banner], [role=contentinfo]"
SURROUNDINGS = f"{REPEATED}, [class*=footer i], [id*=footer i], a[href]"
MAIN_ROLE = "[role=main]"  # whatever its case: 30 times the price
_CONTENT = frozenset(("main", "article"))
# Up to its own end tag; a script that writes one is not read as one.
_NOSCRIPT = re.compile(
    r"<noscript\b[^>]*>(?:<(?!/?(?:noscript|script)\b)|[^<]++)*+</noscript[^>]*>", re.IGNORECASE
)
_SPACES = "\n\t\r\f\v\xa0\u2002\u2003\u2009\u202f\u3000\u2028"
_SHORT = 500  # characters
_NOTHING = "\u200b\u00ad\ufeff\u2060"  # zero width; soft hyphen


def tree_of(markup: bytes) -> LexborHTMLParser:
    """The tree of a page in UTF-8.  A `<noscript>` that its markup never closes must not take the page with it.

    Browsers with scripts read its content as text.  A parser without them lets `<noscript><div></noscript>` go on to
    the end of the page, because the end tag does not match.

    A tree takes twelve times its page, so it holds no copy of it.
    """
    tree = LexborHTMLParser(markup)
    if any(_swallows(node) for node in tree.tags("noscript")):
        mended, count = _NOSCRIPT.subn("", markup.decode())
        tree = LexborHTMLParser(mended) if count else tree
    tree.raw_html = b""
    return tree


def visible(tree: LexborHTMLParser, *, in_pieces: bool = False, for_lines: bool = False) -> str:
    """Drops from the tree what no reader sees; the text that is left, not folded yet.

    `for_lines`: an empty box stays where a picture was, because words at both sides of it are two.
    """
    if for_lines:
        keep_places(tree)
    tree.strip_tags(INVISIBLE)
    root = tree.body
    if root is None:
        return ""
    everything = raw_text(root, in_pieces=in_pieces)
    hidden = [node for node in root.css(MAY_HIDE) if _is_hidden(node)]
    return _without(hidden, root, everything) if hidden else everything


def narrowed(
    tree: LexborHTMLParser,
    everything: str,
    *,
    is_gated: bool = True,
    is_older: bool = False,
    is_body: bool = False,
) -> tuple[LexborNode | None, str]:
    """The main content and its text, or (None, everything) when the gate says that too little is left.

    A part that the page itself calls its main part is believed on a short page too, unless more of it stands outside.
    A part with an article in it passes however long the menus are; `is_older`: as it was before that.
    `is_body`: from the body, whatever the page calls its main part.
    """
    root = _content_root(tree, ()) if is_body else _content_root(tree)
    if root is None:
        return None, everything
    text = raw_text(root, in_pieces=len(everything) > LARGE_TEXT)
    if not is_gated or (len(text) >= MIN_CHARS and len(text) >= MIN_SHARE * len(everything)):
        return root, text
    if (_is_named(root) and _is_most(root, text, tree)) or (not is_older and _has_the_prose(root, tree)):
        return root, text
    return None, everything


def raw_text(node: LexborNode, *, in_pieces: bool = False) -> str:
    """All text below, each part stripped, parts separated by one space.

    In pieces: without a list of all the parts, which takes three times the text.
    """
    if not in_pieces:
        return node.text(separator=" ", strip=True, skip_empty=True)
    parts = _parts(node)
    return " ".join(iter(lambda: " ".join(islice(parts, PARTS)), ""))


def _parts(node: LexborNode) -> Iterator[str]:
    """The texts of what stands some levels below, where there is one."""
    stack = [node.iter(include_text=True)]
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
        elif len(stack) < PART_LEVELS and not child.is_text_node:
            stack.append(child.iter(include_text=True))
        elif text := raw_text(child):
            yield text


def fold(text: str) -> str:
    """One space where there was white space; NFC; nothing that has no width."""
    for space in _SPACES if not text.isascii() else _SPACES[:5]:
        if space in text:
            text = text.replace(space, " ")
    if _has_gaps(text):
        text = " ".join([part for run in text.split("  ") if (part := run.strip(" "))])
    if text.isascii():
        return text
    for nothing in _NOTHING:
        if nothing in text:
            text = text.replace(nothing, "")
    return unicodedata.normalize("NFC", text)


def _has_gaps(text: str) -> bool:
    """True where spaces stand at an end, or several in a row.  A sixth of the price of taking a text apart."""
    if len(text) < _SHORT or text[0] == " " or text[-1] == " ":
        return True
    is_space = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8) == ord(" ")
    return bool(np.count_nonzero(is_space[1:] & is_space[:-1]))


def _swallows(node: LexborNode) -> bool:
    """Does it hold what only a page has?  A notice is short."""
    is_long = len(node.text()) > MIN_CHARS
    return is_long or node.css_first("main, article, h1, h2, footer, nav, script, noscript") is not None


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found"
    if node.tag == "dialog":
        return "open" not in attributes
    if node.tag == "object":  # what it holds is for browsers that cannot show it, unless it was never closed
        return not _swallows(node)
    style = (attributes.get("style") or "").lower().replace(" ", "")
    return any(hiding in style for hiding in HIDING) and node.tag != "body"


def _without(hidden: list[LexborNode], root: LexborNode, everything: str) -> str:
    """Hidden parts go, unless the page is hidden as a whole until its scripts have run."""
    shown = len(everything) - sum(len(raw_text(node)) for node in hidden)
    if shown < MIN_SHARE * len(everything):
        return everything
    for node in hidden:
        node.decompose()
    return raw_text(root)


def _content_root(
    tree: LexborHTMLParser, named: tuple[str, ...] = ("main", "article", MAIN_ROLE)
) -> LexborNode | None:
    """The one main or article, or part in that role; else the body without what sites repeat.  Changes the tree."""
    for tag in named:
        found = tree.css(tag) if tag == MAIN_ROLE else tree.tags(tag)
        if len(found) == 1:
            found[0].strip_tags(["nav"])
            return found[0]
    root = tree.body
    if root is not None:
        for node in root.css(REPEATED):
            if node.tag == "nav" or not _is_inside_content(node):
                node.decompose()
    return root


def _is_named(node: LexborNode) -> bool:
    """The page itself calls it its main part; a role counts like the tag."""
    return node.tag in _CONTENT or (node.attributes.get("role") or "") == "main"


def _is_most(root: LexborNode, text: str, tree: LexborHTMLParser) -> bool:
    """Is little left of the page without this part, menus and footers?  Not asked of a part without words."""
    if not any(map(str.isalnum, text)) or tree.body is None:
        return False
    whole = len(raw_text(tree.body))
    outside, effort = whole - len(text), 4 * whole
    left_out = {root.mem_id}  # what stands in it is not outside
    above = _above(root)
    for node in tree.body.css(SURROUNDINGS)[:MAX_SURROUNDINGS]:
        if outside <= len(text) or effort < 0:
            break
        if node.mem_id not in above and not _stands_in(node, left_out):
            chars = len(raw_text(node))
            effort -= chars
            if _is_surrounding(node, chars, is_long=len(text) >= FEW_CHARS):
                left_out.add(node.mem_id)
                outside -= chars + 1
    return outside <= len(text)


def _is_surrounding(node: LexborNode, chars: int, *, is_long: bool) -> bool:
    """An entry of a menu, a part that sites repeat; beside a main part that is not long, such a part without prose."""
    if node.tag == "a":
        return chars <= MENU_ENTRY
    return (is_long and node.css_matches(REPEATED)) or chars - _menu_chars(node) <= MIN_CHARS


def _menu_chars(node: LexborNode) -> int:
    entries = (len(raw_text(link)) + 1 for link in node.css("a[href]")[:MAX_SURROUNDINGS])
    return sum(chars for chars in entries if chars <= MENU_ENTRY + 1)


def _has_the_prose(root: LexborNode, tree: LexborHTMLParser) -> bool:
    """Is there an article in it, and no more prose outside of it?"""
    mine = prose_chars(root)
    return mine > 0 and tree.body is not None and 2 * mine >= prose_chars(tree.body)


def _is_inside_content(node: LexborNode) -> bool:
    return _stands_in(node, frozenset())


def _above(node: LexborNode) -> set[int]:
    found: set[int] = set()
    up = node.parent
    while up is not None and len(found) < MAX_SURROUNDINGS:
        found.add(up.mem_id)
        up = up.parent
    return found


def _stands_in(node: LexborNode, parts: Container[int]) -> bool:
    """In a main part or an article, or in one of these parts?"""
    up = node.parent
    for _ in range(64):
        if up is None:
            return False
        if up.tag in _CONTENT or up.mem_id in parts:
            return True
        up = up.parent
    return False
