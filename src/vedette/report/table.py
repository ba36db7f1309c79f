"""Rows under heads for a screen: no word is cut, and what can be copied stays in one piece.

Where there is no room for all columns, empty ones go, then those that matter least.  Where that is not enough the last
column, which is the longest as a rule, goes under its row; and on a very narrow screen each row becomes a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vedette.report.fold import fold, wide
from vedette.report.lines import Line, Span, line

GAP = 2  # between two columns
LONG = 30  # characters of a cell that says what it is without a head
UNDER = "    "
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
    indent = _taken(sizes, choice[:-1])
    for row in (_head_row(heads), *rows):
        whole = line(*_padded(row, choice[:-1], sizes), row[choice[-1]])
        yield from fold(whole, width, indent=indent)


def _under(
    heads: Sequence[str], rows: Sequence[Row], choice: list[int], sizes: Sequence[int], width: int
) -> Iterator[Line]:
    yield line(*_padded(_head_row(heads), choice[:-1], sizes))
    for row in rows:
        yield line(*_padded(row, choice[:-1], sizes))
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


def _padded(row: Row, choice: Sequence[int], sizes: Sequence[int]) -> Iterator[Span]:
    for n in choice:
        style, text = row[n]
        yield style, text + " " * (sizes[n] - wide((row[n],)) + GAP)


def _head_row(heads: Sequence[str]) -> Row:
    return [("head", head) for head in heads]


def _taken(sizes: Sequence[int], choice: Sequence[int]) -> int:
    return sum(sizes[n] + GAP for n in choice)


def _longest_word(rows: Sequence[Row], column: int) -> int:
    words = (word for text in _texts(rows, column) for word in text.split())
    return max(map(len, words), default=0)


def _texts(rows: Sequence[Row], column: int) -> Iterator[str]:
    return (row[column][1] for row in rows)
