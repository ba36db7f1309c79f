"""Where words go: results to stdout, everything else to stderr, JSON when a program asks."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from vedette.report.folding import folded
from vedette.report.lines import STYLES, Line, as_rich, as_text, quoted
from vedette.report.plain import dump, plain

if TYPE_CHECKING:
    from rich.console import Console

_moving: list[Console] = []  # of the terminal, while a line of it moves
GAP = 3  # between two columns
ENOUGH = 30  # characters of the last column, which is folded
Cell = str | tuple[str, str]  # text of anyone; or style and text


class Output:
    """One per call of the program.  Results are given once, as text or as JSON."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def document(self, value: object) -> None:
        """The result as one JSON document."""
        print_line(dump(value, indent=2))

    def stream(self, value: object) -> None:
        """One line of a stream of JSON, out at once."""
        print_line(dump(value))

    def lines(self, lines: Iterable[Line]) -> None:
        """The result for people."""
        if is_terminal():
            console = self.console()
            console.print(as_rich(folded(lines, console.width)), soft_wrap=True)
        else:
            print_line(as_text(lines))

    def text(self, text: str) -> None:
        """Text for a pipe or a file: as it is."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def say(self, text: str) -> None:
        """The result in one sentence."""
        if not self.as_json:
            print_line(self._sentence(text, sys.stdout))

    def done(self, text: str) -> None:
        """That what was asked for is done: who asks for quiet knows it by the exit code."""
        if not self.quiet:
            self.say(text)

    def note(self, text: str) -> None:
        """What the user should also know; never part of the result."""
        if not self.quiet and not self.as_json:
            print_line(self._sentence(text, sys.stderr), to_stderr=True)

    def note_lines(self, lines: Iterable[Line], *, folds: bool = True) -> None:
        """Several lines of the same, folded where a person reads them; not where they are to be copied."""
        if self.quiet or self.as_json:
            return
        if folds and sys.stderr.isatty():
            lines = folded(lines, self.console().width)
        print_line(as_text(lines), to_stderr=True)

    def table(
        self, heads: Sequence[str], rows: Iterable[Sequence[Cell]], *, empty: str, least: Sequence[str] = ()
    ) -> None:
        """Rows under heads; on a pipe every cell is printed whole, separated by two spaces or more.

        `least`: columns that a narrow terminal is spared, the first of them first.
        """
        ready = [[_span(cell) for cell in row] for row in rows]
        if not ready:
            self.note(empty)
            return
        if not is_terminal():
            self._columns(heads, [[text for _, text in row] for row in ready])
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        kept = _fitting(heads, ready, least, self.console().width) if least else list(range(len(heads)))
        for column in kept:
            is_short = bool(least) and column != kept[-1]
            # a cut word, outcome or URL is of no use to anyone
            table.add_column(heads[column], overflow="fold", no_wrap=is_short)
        for row in ([whole[column] for column in kept] for whole in ready):
            table.add_row(*(Text(text, style=STYLES.get(style, "")) for style, text in row))
        self.console().print(table)

    @contextmanager
    def progress(self, words: str) -> Iterator[Callable[[int, int], None]]:
        """How far long work has come, on the terminal of whoever waits for it.  Called with done and all."""
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield lambda done, whole: None
            return
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        with Progress(console=console, transient=True) as bar, _above(console):
            task = bar.add_task(words, total=None)
            yield lambda done, whole: bar.update(task, completed=done, total=whole)

    def console(self) -> Console:
        """Colour and width as the terminal has them; NO_COLOR and pipes are honoured by rich."""
        from rich.console import Console

        if _moving and sys.stdout.isatty():
            return _moving[-1]
        return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)

    def _sentence(self, text: str, stream: TextIO) -> str:
        """Folded between words for a person; an address or a path stays whole, so that it can be copied."""
        one = plain(text)
        if not stream.isatty():
            return one
        width = self.console().width
        return textwrap.fill(
            one, width, break_long_words=False, break_on_hyphens=False, subsequent_indent="  "
        )

    def _columns(self, heads: Sequence[str], rows: list[list[str]]) -> None:
        wide = [max(len(row[n]) for row in [list(heads), *rows]) for n in range(len(heads))]
        for row in [list(heads), *rows]:
            print_line("  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip())


@contextmanager
def _above(console: Console) -> Iterator[None]:
    """What is printed meanwhile comes above the line that moves; another console would write into it."""
    _moving.append(console)
    try:
        yield
    finally:
        _moving.pop()


def is_terminal() -> bool:
    """Does a person see stdout as it comes?  Rich is asked only where a variable that it honours is set."""
    if sys.stdout.isatty():
        return True
    from vedette.config import forces_terminal

    return forces_terminal() and Output().console().is_terminal


def _fitting(
    heads: Sequence[str], rows: list[list[tuple[str, str]]], least: Sequence[str], width: int
) -> list[int]:
    """The columns for which there is room: empty ones go, then those of `least`, until the last has enough to fold."""
    wide = [max(len(text) for text in (head, *(row[n][1] for row in rows))) for n, head in enumerate(heads)]
    kept = [n for n in range(len(heads)) if any(row[n][1] not in ("", "-") for row in rows)] or [0]
    for head in (None, *least):
        kept = [n for n in kept if heads[n] != head]
        if sum(wide[n] + GAP for n in kept[:-1]) + min(wide[kept[-1]], ENOUGH) <= width:
            break
    return kept


def print_line(text: str, *, to_stderr: bool = False) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    stream.write(text + "\n")
    stream.flush()


def _span(cell: Cell) -> tuple[str, str]:
    return quoted(cell) if isinstance(cell, str) else quoted(cell[1], cell[0])
