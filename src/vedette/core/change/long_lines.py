"""Long lines of a diff: the part around what differs, since the rest says the same twice."""

from __future__ import annotations

from bisect import bisect_right

MAX_LINE = 2000  # characters of a line that a diff keeps
MARGIN = 200  # characters kept on each side of what differs
_MORE = "…"


def narrowed(before: str, after: str) -> tuple[str, str]:
    """Two long lines without most of what is the same at both ends; short ones as they are."""
    if max(len(before), len(after)) <= MAX_LINE:
        return before, after
    start = _word_start(before, _same_start(before, after) - MARGIN)
    end = min(_same_end(before[start:], after[start:]) - MARGIN, len(before) - start, len(after) - start)
    end = max(0, end)
    return before[start : len(before) - end], after[start : len(after) - end]


def shown(line: str, start: int = 0) -> str:
    """As much of the line as a diff keeps, from a place in it."""
    head = _MORE if start > 0 else ""
    return head + (line[start:] if len(line) - start <= MAX_LINE else line[start : start + MAX_LINE] + _MORE)


def shown_pair(before: str, after: str) -> tuple[str, str]:
    """Both as a diff keeps them, with what differs first in sight."""
    start = 0
    if max(len(before), len(after)) > MAX_LINE:
        same = _same_start(before, after)
        start = 0 if same < MAX_LINE - MARGIN else _word_start(before, same - MARGIN)
    return shown(before, start), shown(after, start)


def _same_start(a: str, b: str) -> int:
    """How many characters are the same from the start."""
    return bisect_right(range(1, min(len(a), len(b)) + 1), False, key=lambda n: a[:n] != b[:n])


def _same_end(a: str, b: str) -> int:
    return bisect_right(range(1, min(len(a), len(b)) + 1), False, key=lambda n: a[-n:] != b[-n:])


def _word_start(line: str, at: int) -> int:
    """The start of the word in which this place lies, where it is near."""
    if at <= 0:
        return 0
    return line.rfind(" ", max(0, at - MARGIN), at) + 1 or at
