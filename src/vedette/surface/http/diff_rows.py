"""A stored diff as rows of a page: side by side, unified, or by word.  Every part is text that the template escapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vedette.contracts.change import DiffOp
from vedette.report.diffs import by_words, in_sight, unified
from vedette.report.plain import Line, plain

CONTEXT = 3  # equal lines around a difference
VIEWS = ("side", "unified", "words")
Part = tuple[str, str]  # style, text


@dataclass(frozen=True, slots=True)
class DiffRow:
    """`kind`: equal, replace, delete, insert, move, gap."""

    kind: str
    left: tuple[Part, ...] = ()
    right: tuple[Part, ...] = ()


def side_by_side(ops: Sequence[DiffOp]) -> list[DiffRow]:
    return [row for place, op in enumerate(ops) for row in _rows(op, place == 0, place == len(ops) - 1)]


def lines_of(ops: Sequence[DiffOp], view: str) -> list[Line]:
    """For the views in one column."""
    return by_words(ops) if view == "words" else unified(ops, before="before", after="after")[2:]


def _rows(op: DiffOp, is_first: bool, is_last: bool) -> Iterator[DiffRow]:
    if op.op == "equal":
        yield from _context(op.before or op.after, is_first, is_last)
    elif op.op == "replace":
        _, _, words, beyond = in_sight(op)
        gone, new = [pair[0] for pair in words], [pair[1] for pair in words]
        for place in range(max(len(op.before), len(op.after))):
            yield DiffRow(
                "replace",
                (
                    *_marked(op.before[place : place + 1], gone, "gone"),
                    *_beyond((one for one, _ in beyond), "gone"),
                ),
                (
                    *_marked(op.after[place : place + 1], new, "new"),
                    *_beyond((one for _, one in beyond), "new"),
                ),
            )
    else:
        left = op.before if op.op in ("delete", "move") else ()
        right = op.after if op.op in ("insert", "move") else ()
        for place in range(max(len(left), len(right))):
            yield DiffRow(op.op, _plain(left[place : place + 1]), _plain(right[place : place + 1]))


def _context(texts: Sequence[str], is_first: bool, is_last: bool) -> Iterator[DiffRow]:
    head = () if is_first else texts[:CONTEXT]
    tail = () if is_last else texts[-CONTEXT:]
    if len(texts) <= len(head) + len(tail):
        head, tail = texts, ()
    for text in head:
        yield DiffRow("equal", _plain((text,)), _plain((text,)))
    left = len(texts) - len(head) - len(tail)
    if left > 0:
        yield DiffRow("gap", (("", f"{left} equal lines"),))
    for text in tail:
        yield DiffRow("equal", _plain((text,)), _plain((text,)))


def _plain(texts: Sequence[str]) -> tuple[Part, ...]:
    return tuple(("", plain(text)) for text in texts)


def _marked(texts: Sequence[str], words: Sequence[str], style: str) -> tuple[Part, ...]:
    """The words that differ, where they stand in order."""
    if not texts:
        return ()
    rest, parts = texts[0], []
    for word in filter(None, words):
        before, found, behind = rest.partition(word)
        if not found:
            continue
        parts += [("", _spaced(before)), (style, _spaced(word))]
        rest = behind
    return tuple(part for part in [*parts, ("", _spaced(rest))] if part[1])


def _beyond(words: Iterable[str], style: str) -> Iterator[Part]:
    """What differs in the part of a long line that is not kept."""
    for word in filter(None, words):
        yield from (("", " … "), (style, plain(word)))


def _spaced(text: str) -> str:
    """With a blank at its ends where it has one: the words beside it must not touch it."""
    bare = plain(text).strip()
    if not bare:
        return " " if text else ""
    return " " * text[:1].isspace() + bare + " " * text[-1:].isspace()
