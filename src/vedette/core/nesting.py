"""Does this HTML nest deeper than any page for people?  Asked before it is parsed.

HTML's rules make a parser look through all open elements at many start tags, so time grows with the square of
the depth: lexbor takes 2.6 s for 150 KB of `<div>`, over a minute for 500 KB.  Browsers stop at 512.
"""

from __future__ import annotations

import re

MAX_NESTING = 512
_FEW_TAGS = 3000  # even nested into each other they parse within 0.1 s
_TAG = re.compile(r"<(?:(/?)([a-zA-Z][a-zA-Z0-9]*)|!--)")
_COMMENT_END = re.compile("-->")
_RAW = {
    name: re.compile(f"(?i)</{name}") for name in "script style textarea title xmp iframe noframes".split()
}  # their content is no markup
# Never open for long: without content, or ended by the next of their kind.
_FLAT = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd option optgroup tr td "
    "th thead tbody tfoot caption colgroup".split()
)
_LOOK_BACK = 64  # open elements an end tag may close at once


def is_too_deep(html: str) -> bool:
    """Linear in the text.  A sloppy page, with elements left open inside closed ones, is not deep."""
    if html.count("<") <= _FEW_TAGS:
        return False
    open_names: list[str] = []
    at = 0
    while (tag := _TAG.search(html, at)) is not None:
        at = tag.end()
        name = (tag.group(2) or "").lower()
        if not name:
            at = _after(_COMMENT_END, html, at)
        elif name in _FLAT:
            continue
        elif tag.group(1):
            _close(open_names, name)
        elif name in _RAW:
            at = _after(_RAW[name], html, at)
        else:
            open_names.append(name)
            if len(open_names) > MAX_NESTING:
                return True
    return False


def _close(open_names: list[str], name: str) -> None:
    for back in range(1, min(_LOOK_BACK, len(open_names)) + 1):
        if open_names[-back] == name:
            del open_names[-back:]
            return


def _after(mark: re.Pattern[str], html: str, at: int) -> int:
    """Without an end, the rest of the page belongs to it."""
    end = mark.search(html, at)
    return end.end() if end else len(html)
