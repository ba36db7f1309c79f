"""What is printed: lines of styled spans.  One structure, shown with colour or without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vedette.report.plain import plain

if TYPE_CHECKING:
    from rich.text import Text

Span = tuple[str, str]  # style, text that is already plain
Line = tuple[Span, ...]

# Style words of ours -> rich.  Colour never carries meaning alone: the words and marks are there without it.
STYLES = {
    "": "",
    "head": "bold",
    "dim": "dim",
    "gone": "red",
    "new": "green",
    "moved": "cyan",
    "mark": "magenta",
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
    "CRITICAL": "bold red",
    "HIGH": "yellow",
    "MEDIUM": "",
    "LOW": "dim",
}


def line(*spans: str | Span) -> Line:
    """A line of our own words; a bare string has no style."""
    return tuple(("", part) if isinstance(part, str) else part for part in spans)


def quoted(text: str, style: str = "", limit: int = 0) -> Span:
    """Text of others as a span."""
    return style, plain(text, limit)


def as_text(lines: Iterable[Line]) -> str:
    return "\n".join("".join(text for _, text in spans).rstrip() for spans in lines)


def as_rich(lines: Iterable[Line]) -> Text:
    from rich.text import Text

    whole = Text()
    for number, spans in enumerate(lines):
        if number:
            whole.append("\n")
        for style, text in spans:
            whole.append(text, style=STYLES.get(style, ""))
    return whole
