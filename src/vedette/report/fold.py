"""Lines that fit a screen: folded between words, with a hanging indent; a word goes over the edge only alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vedette.report.lines import Line, Span

LEAST = 20  # columns; on a narrower screen nothing is read anyway
MORE = "…"
_JOINTS = re.compile(r"(?<=[/?&=\-_.])")  # where a long address is folded
_WORDS = re.compile(r"\s+|\S+")
Piece = tuple[str, str]  # style, a word or the blanks between two


def folded(lines: Iterable[Line], width: int, *, indent: int | None = None) -> list[Line]:
    """Every line in lines of at most so many columns."""
    return [part for one in lines for part in fold(one, width, indent=indent)]


def fold(one: Line, width: int, *, indent: int | None = None) -> list[Line]:
    """One line in as many as it needs.  What continues is indented by two more than the line, or by `indent`."""
    width = max(width, LEAST)
    if wide(one) <= width:
        return [one]
    own = _indent(one) if indent is None else indent
    own = min(own, width // 2)
    rows: list[list[Piece]] = [[]]
    room = width
    for style, text in _pieces(one, width - own):
        length = wide(((style, text),))
        if length > room:
            while rows[-1] and rows[-1][-1][1].isspace():
                rows[-1].pop()
            if text.isspace():
                continue
            start = [("", " " * own)]
            rows = [*rows, start] if rows[-1] else [*rows[:-1], start]
            room = width - own
        rows[-1].append((style, text))
        room -= length
    return [_joined(row) for row in rows]


def cut(one: Line, width: int, most: int, *, tail: Line = ()) -> list[Line]:
    """At most so many lines; where there is more the last one ends with `…`, after a whole word, and with `tail`."""
    rows = fold((*one, *tail), width)
    if len(rows) <= most:
        return rows
    rows = fold(one, width)[:most]
    end = (("dim", f" {MORE}"), *tail)
    pieces = list(_pieces(rows[-1], width))
    while pieces and (wide(pieces) > width - wide(end) or pieces[-1][1].isspace()):
        pieces.pop()
    return [*rows[:-1], _joined([*pieces, *end])]


def joints(address: str) -> list[str]:
    """The parts between which a long address is folded."""
    return [part for part in _JOINTS.split(address) if part]


def wide(spans: Sequence[Span]) -> int:
    """Columns on a screen."""
    text = "".join(text for _, text in spans)
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _indent(one: Line) -> int:
    text = "".join(text for _, text in one)
    blanks = len(text) - len(text.lstrip(" "))
    return blanks + 2  # under the text of a diff, not under its mark


def _pieces(one: Sequence[Span], room: int) -> list[Piece]:
    """Words and blanks; what is longer than a line is taken apart at its joints, and then anywhere."""
    pieces: list[Piece] = []
    for style, text in one:
        for word in _WORDS.findall(text):
            pieces += [(style, part) for part in _parts(word, room)]
    return pieces


def _parts(word: str, room: int) -> list[str]:
    if word.isspace() or wide((("", word),)) <= room:
        return [word]
    parts = [""]
    for joint in joints(word):
        for piece in (joint,) if wide((("", joint),)) <= room else joint:
            if wide((("", parts[-1] + piece),)) <= room:
                parts[-1] += piece
            else:
                parts.append(piece)
    return [part for part in parts if part]


def _joined(row: list[Piece]) -> Line:
    """Neighbours of one style become one span."""
    spans: list[Span] = []
    for style, text in row:
        if spans and spans[-1][0] == style:
            spans[-1] = (style, spans[-1][1] + text)
        else:
            spans.append((style, text))
    return tuple(spans)
