"""Small parts that all readers of documents share: blocks in order, dates in properties, limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from vedette.contracts.change import Block
from vedette.core.text.dates import read_date
from vedette.extract.fields import Unreadable
from vedette.extract.scope import fold

MAX_BLOCKS = 300_000
MAX_CHARS = 20_000_000  # of text in all; the longest law has about two million
SHORT_LINE = 80  # "Zagreb, 12. siječnja 2026." stands on a line of its own
ENDS = 15  # lines at the beginning and at the end where a document says when it was made
ENCRYPTED = "encrypted: a password is asked for"
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0x7F, 0xFFFE, 0xFFFF])


class Missing(Exception):
    """A tool that this document needs is not installed.  The message says which and how to get it."""


class Blocks:
    """Blocks as they are read, numbered by where they stand."""

    def __init__(self) -> None:
        self.found: list[Block] = []
        self._numbers: Counter[str] = Counter()
        self._chars = 0

    def add(self, container: str, tag: str, text: str) -> None:
        """One more block below the container; nothing when there is no text."""
        text = clean(text)
        if not text:
            return
        self._chars += len(text)
        if len(self.found) >= MAX_BLOCKS or self._chars > MAX_CHARS:
            raise Unreadable("more text than a document has")
        self.found.append((self.place(container, tag), text))

    def place(self, container: str, tag: str) -> str:
        """The path of the next one of its kind: the first has no number, so a second does not rename it."""
        path = f"{container}/{tag}" if container else tag
        self._numbers[path] += 1
        number = self._numbers[path]
        return path if number == 1 else f"{path}[{number}]"


def clean(text: str) -> str:
    """Folded, without control characters and half surrogates: no store and no diff takes those."""
    text = fold(text.translate(_CONTROLS))
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cells(values: Iterable[str]) -> str:
    """A table row on one line; empty cells at the end are dropped."""
    row = [clean(value) for value in values]
    while row and not row[-1]:
        row.pop()
    return " | ".join(row)


def property_date(text: str) -> datetime | None:
    """A date of document properties: ISO, or `D:20260112093000+01'00'` of PDF."""
    digits = text.removeprefix("D:")
    if digits[:8].isdigit() and len(digits) >= 8:
        clock = digits[8:14] if digits[8:14].isdigit() and len(digits) >= 14 else "000000"
        zone = digits[14:20].replace("'", "") if digits[14:15] in ("+", "-") else ""
        hour, minute, second = clock[:2], clock[2:4], clock[4:6]
        text = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{hour}:{minute}:{second}"
        text += f"{zone[:3]}:{zone[3:5] or '00'}" if len(zone) >= 3 else ""
    return read_date(text)


def document_date(blocks: Sequence[Block]) -> datetime | None:
    """The date that stands at the head or at the foot of a document."""
    edges = (*blocks[:ENDS], *blocks[ENDS:][-ENDS:])
    found = (read_date(text) for _, text in edges if len(text) <= SHORT_LINE)
    return next((date for date in found if date is not None), None)
