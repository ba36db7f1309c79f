"""Where words of neighbouring elements stand apart although no white space is between them.

As a browser shows them: `<b>W</b>ord` is one word, `<button>Yes</button><button>No</button>` are two.  Only what an
element is and its own `style` count; style sheets are not read, so a page has the same lines whatever its design is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

SPACE, BREAK = 1, 2
# Drawn as boxes of their own within a line.
BOXES = frozenset(
    "audio button canvas embed iframe img input marquee meter object progress rt svg video".split()
)
BOXED_OUT = ("svg", "iframe")  # boxes whose content nobody reads: their place stays
PLACE = "canvas"  # which is such a box and says nothing
OLD_BLOCKS = frozenset(("listing", "xmp"))
MOST_STYLES = 20_000  # elements with a style that are looked at
TABLES = frozenset("caption table tbody td tfoot th thead tr".split())  # their lines are rows and cells
_DISPLAY = re.compile(r"(?:^|;)\s*display\s*:\s*([a-z-]+)")
_OUT_OF_LINE = re.compile(
    r"(?:^|;)\s*(?:float\s*:\s*(?:left|right|inline)|position\s*:\s*(?:absolute|fixed))"
)
_ROOM = re.compile(
    r"(?:^|;)\s*(?:margin|padding)(-left|-right|-inline-start|-inline-end|-inline|)\s*:\s*([^;]+)"
)
_LENGTH = re.compile(r"0*\.?0*[1-9]")  # more than nothing
_SIDES = {
    "-left": (1, 0), "-inline-start": (1, 0), "-right": (0, 1), "-inline-end": (0, 1), "-inline": (1, 1),
}  # fmt: skip
_IN_LINE = frozenset(("inline", "inline-block", "contents"))
_SPREADING = ("flex", "grid")  # each child is a box
_BLOCKY = re.compile(r"block|flex|grid|flow-root|list-item|table(?:-.*)?")


class Edges(NamedTuple):
    """What an element puts before and behind its text: nothing, SPACE or BREAK."""

    before: int = 0
    behind: int = 0
    is_in_line: bool = False  # a block that is shown within the line


BOX = Edges(SPACE, SPACE)
BLOCK = Edges(BREAK, BREAK)
IN_LINE = Edges(is_in_line=True)
NO_EDGES = Edges()
HIDDEN = Edges()  # brackets around the reading of a character, for browsers that cannot show it above
Styled = dict[int, Edges]  # by the id of an element


def keep_places(tree: LexborHTMLParser) -> None:
    """Puts an empty box where one stands that is about to be dropped."""
    for tag in BOXED_OUT:
        for node in tree.tags(tag):
            node.replace_with(tree.create_node(PLACE))


def edges_of(node: LexborNode, tag: str, styled: Styled | None) -> Edges:
    """Of an element that is not a block by itself."""
    found = styled.get(node.mem_id, NO_EDGES) if styled else NO_EDGES
    if tag in OLD_BLOCKS:
        return BLOCK
    if tag == "rp":
        return HIDDEN
    if tag not in BOXES or found.before == BREAK:
        return found
    return NO_EDGES if tag == "input" and (node.attributes.get("type") or "").lower() == "hidden" else BOX


def styled_edges(root: LexborNode) -> Styled:
    """By the styles that elements below this one carry themselves."""
    found: Styled = {}
    for node in root.css("[style]")[:MOST_STYLES]:
        style = (node.attributes.get("style") or "").lower()
        display = next(iter(_DISPLAY.findall(style)[-1:]), "")
        edges = NO_EDGES if _is_drop_cap(node, style) else _edges(style, display)
        if edges is not NO_EDGES:
            found[node.mem_id] = edges
        if display.endswith(_SPREADING):
            found |= {child.mem_id: BLOCK for child in node.iter()}
    return found


def _edges(style: str, display: str) -> Edges:
    if _OUT_OF_LINE.search(style) or _BLOCKY.fullmatch(display):
        return BLOCK
    if "margin" in style or "padding" in style:
        sides = [_room(side, value) for side, value in _ROOM.findall(style)]
        before, after = any(one for one, _ in sides), any(one for _, one in sides)
        if before or after:
            return Edges(SPACE * before, SPACE * after, display in _IN_LINE)
    return IN_LINE if display in _IN_LINE else NO_EDGES


def _is_drop_cap(node: LexborNode, style: str) -> bool:
    """A large first letter beside which the rest of its word stands."""
    return "float" in style and len(node.text(strip=True)) == 1


def _room(side: str, value: str) -> tuple[bool, bool]:
    """Whether there is room at the left, and at the right."""
    lengths = [bool(_LENGTH.match(one)) for one in value.split()[:4]]
    if not lengths:
        return False, False
    if side:
        left, right = _SIDES[side]
        return bool(left and lengths[0]), bool(right and lengths[-1])
    right = lengths[min(1, len(lengths) - 1)]
    return (lengths[3] if len(lengths) == 4 else right), right
