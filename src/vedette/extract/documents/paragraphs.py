"""Lines of a page joined to paragraphs: a word more in a paragraph must not change all the lines after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

FULL = 0.85  # a line that reaches this far right goes on in the next one
LINE_GAP = 1.8  # in heights of a line: further apart is another paragraph
ALIKE = 0.35  # of the height; a larger difference is a heading
_STARTS = re.compile(
    r"(?:[-–—•*▪]|\(?\d{1,3}[.)]|\(?[a-zčćžšđ]\)|[IVX]{1,5}\.|(?:Članak|Clanak|Article)\s\d)(?:\s|$)"
)
_STOPS = (".", "!", "?", ":", ";")
_HYPHENS = ("\x02", "\ufffe", "\u00ad")  # how pdfium marks a hyphen at the end of a line


class TextLine(NamedTuple):
    """A line with its place; y grows upwards.  Without a height its place is not known."""

    text: str
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    top: float = 0.0


def paragraphs(lines: Iterable[TextLine]) -> Iterator[str]:
    found = list(lines)
    edge = max((line.right for line in found), default=0.0)
    gathered = ""
    for number, line in enumerate(found):
        gathered = _joined(gathered, line.text)
        if number + 1 == len(found) or not _goes_on(line, found[number + 1], edge):
            yield gathered
            gathered = ""


def _joined(text: str, line: str) -> str:
    if text.endswith(_HYPHENS):
        return text[:-1] + line
    return f"{text} {line}" if text else line


def _goes_on(line: TextLine, after: TextLine, edge: float) -> bool:
    height = line.top - line.bottom
    is_over = line.text.endswith(_STOPS) and after.text[:1].isupper()
    if height <= 0 or is_over or _STARTS.match(after.text):
        return False
    is_near = 0 < line.bottom - after.bottom <= LINE_GAP * height
    is_alike = abs((after.top - after.bottom) - height) <= ALIKE * height
    return is_near and is_alike and line.right >= FULL * edge
