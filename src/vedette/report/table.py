"""Tables and folded lines for a screen: no word is cut, and what can be copied stays in one piece.

Where there is no room for all columns, empty ones go, then those that matter least.  Where that is not enough the last
column, which is the longest as a rule, goes under its row; and on a very narrow screen each row becomes a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from vedette.report.plain import Line, Span, line

GAP = 2  # between two columns
LONG = 30  # characters of a cell that says what it is without a head
UNDER = "    "
_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?( ?%)?")
Row = Sequence[Span]


def table_lines(
    heads: Sequence[str], rows: Sequence[Row], width: int, *, least: Sequence[str] = ()
) -> list[Line]:
    """`least`: columns that a narrow screen is spared, the first of them first."""
    sizes = [max(map(len, (head, *(_texts(rows, n))))) for n, head in enumerate(heads)]
    for choice in _choices(heads, rows, least):
        room = width - _taken(sizes, choice[:-1])
        is_foldable = room >= max(_longest_word(rows, choice[-1]), width // 2)
        if room >= sizes[choice[-1]] or is_foldable:
            return list(_beside(heads, rows, choice, sizes, width))
    for choice in _choices(heads, rows, least):
        is_long = sizes[choice[-1]] >= LONG
        if is_long and len(choice) > 1 and _taken(sizes, choice[:-1]) - GAP <= width:
            return list(_under(heads, rows, choice, sizes, width))
    return list(_sentences(heads, rows, width))


def _choices(heads: Sequence[str], rows: Sequence[Row], least: Sequence[str]) -> Iterator[list[int]]:
    """Which columns, from all that say something to the fewest."""
    kept = [n for n in range(len(heads)) if any(text not in ("", "-") for text in _texts(rows, n))] or [0]
    yield kept
    for head in least:
        kept = [n for n in kept if heads[n] != head] or kept
        yield kept


def _beside(
    heads: Sequence[str], rows: Sequence[Row], choice: list[int], sizes: Sequence[int], width: int
) -> Iterator[Line]:
    indent, right = _taken(sizes, choice[:-1]), _numbers(rows, choice)
    for row in (_head_row(heads), *rows):
        whole = line(*_padded(row, choice[:-1], sizes, right), row[choice[-1]])
        yield from fold(whole, width, indent=indent)


def _under(
    heads: Sequence[str], rows: Sequence[Row], choice: list[int], sizes: Sequence[int], width: int
) -> Iterator[Line]:
    right = _numbers(rows, choice)
    yield line(*_padded(_head_row(heads), choice[:-1], sizes, right))
    for row in rows:
        yield line(*_padded(row, choice[:-1], sizes, right))
        if row[choice[-1]][1] not in ("", "-"):
            yield from fold(line(UNDER, row[choice[-1]]), width, indent=len(UNDER))


def _sentences(heads: Sequence[str], rows: Sequence[Row], width: int) -> Iterator[Line]:
    """The first cell, and under it the others with their heads."""
    for row in rows:
        yield from fold((row[0],), width)
        told = [n for n in range(1, len(heads)) if row[n][1] not in ("", "-")]
        spans: list[str | Span] = [UNDER]
        for n in told:
            style, text = row[n]
            spans += [f"{heads[n].lower()} ", (style, text + ("," if n != told[-1] else "")), " "]
        if told:
            yield from fold(line(*spans), width, indent=len(UNDER))


def _padded(row: Row, choice: Sequence[int], sizes: Sequence[int], right: frozenset[int]) -> Iterator[Span]:
    for n in choice:
        style, text = row[n]
        blanks = " " * (sizes[n] - wide((row[n],)))
        yield style, (blanks + text if n in right else text + blanks) + " " * GAP


def _numbers(rows: Sequence[Row], choice: Sequence[int]) -> frozenset[int]:
    """The columns that hold numbers: they are read from the right."""
    return frozenset(n for n in choice if are_numbers(_texts(rows, n)))


def are_numbers(texts: Iterable[str]) -> bool:
    """True where there is a number and nothing else; `-` stands for none."""
    told = [text for text in texts if text not in ("", "-")]
    return bool(told) and all(map(_NUMBER.fullmatch, told))


def _head_row(heads: Sequence[str]) -> Row:
    return [("head", head) for head in heads]


def _taken(sizes: Sequence[int], choice: Sequence[int]) -> int:
    return sum(sizes[n] + GAP for n in choice)


def _longest_word(rows: Sequence[Row], column: int) -> int:
    words = (word for text in _texts(rows, column) for word in text.split())
    return max(map(len, words), default=0)


def _texts(rows: Sequence[Row], column: int) -> Iterator[str]:
    return (row[column][1] for row in rows)


# Lines that fit a screen: folded between words, with a hanging indent; a word goes over the edge only alone.

LEAST = 20  # columns; on a narrower screen nothing is read anyway
MORE = "…"
_JOINTS = re.compile(r"(?<=[/?&=\-_.])")  # where a long address is folded
# A number keeps its unit, and a count of what is left its words.
_WORDS = re.compile(r"\s+|\(?\d+(?:\.\d+)? (?:(?:d|h|min|s|ms)\b|%)\S*|\(and \d+ more\)|\S+")
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
