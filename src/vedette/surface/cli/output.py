"""Where words go: results to stdout, everything else to stderr, JSON when a program asks."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TextIO

from vedette.report.plain import Line, as_rich, as_text, document, dump, plain, quoted, shown_page
from vedette.report.table import are_numbers, folded, table_lines, wide

if TYPE_CHECKING:
    from rich.console import Console

_moving: list[Console] = []  # of the terminal, while a line of it moves
Cell = str | tuple[str, str]  # text, or style and text


class Output:
    """One per call of the program.  Results are given once, as text or as JSON."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def document(self, value: object) -> None:
        """The result as one JSON document."""
        _print_bytes(document(value))

    def stream(self, value: object) -> None:
        """One line of a stream of JSON, out at once."""
        print_line(dump(value))

    def lines(self, lines: Iterable[Line], *, indent: int | None = None) -> None:
        """The result for people.  `indent`: of what continues a line that is folded."""
        if is_terminal():
            console = self.console()
            console.print(as_rich(folded(lines, console.width, indent=indent)), soft_wrap=True)
        else:
            print_line(as_text(lines))

    def in_parts(self, one: Line, *, indent: int) -> list[Line]:
        """A line as it is where there is room; on a narrow screen its address and what follows it stand under it."""
        if not is_terminal() or wide(one) <= self.console().width:
            return [one]
        cuts = [n for n, (style, _) in enumerate(one) if style == "mark"]
        starts = [0, *cuts, *(n + 2 for n in cuts[-1:])]
        parts = [one[start:end] for start, end in zip(starts, [*starts[1:], len(one)], strict=True)]
        blank = ("", " " * indent)
        return [parts[0], *((blank, *part) for part in parts[1:] if part)]

    def text(self, text: str) -> None:
        """Text of others: as it is into a pipe or a file; a terminal is not to obey it."""
        sys.stdout.write(shown_page(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()

    def say(self, text: str) -> None:
        """The result in one sentence."""
        if not self.as_json:
            print_line(sentence(text, sys.stdout))

    def done(self, text: str) -> None:
        """That what was asked for is done: who asks for quiet knows it by the exit code."""
        if not self.quiet:
            self.say(text)

    def answer(self, text: str, body: Mapping[str, object]) -> None:
        """What was done: a sentence for a person, the body for a program."""
        self.done(text)
        if self.as_json:
            self.document(body)

    def note(self, text: str) -> None:
        """What the user should also know; never part of the result."""
        if not self.quiet and not self.as_json:
            print_line(sentence(text, sys.stderr), to_stderr=True)

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
        self.lines(table_lines(heads, ready, self.console().width, least=least))

    @contextmanager
    def progress(self, words: str) -> Iterator[Callable[[int, int], None]]:
        """Shows on a terminal how far long work has come.  Called with done and all.

        The bar comes with the first call: what refuses before it has begun draws none.
        """
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield lambda done, whole: None
            return
        from rich.progress import Progress

        console = _console(sys.stderr)
        bar = Progress(console=console, transient=True)
        task = bar.add_task(words, total=None)
        with ExitStack() as shown:

            def tell(done: int, whole: int) -> None:
                bar.update(task, completed=done, total=whole or None)
                if not bar.live.is_started:
                    shown.enter_context(bar)
                    shown.enter_context(_above(console))

            yield tell

    def console(self) -> Console:
        """Colour and width as the terminal has them; NO_COLOR and pipes are honoured by rich."""
        return _moving[-1] if _moving and sys.stdout.isatty() else _console(sys.stdout)

    def _columns(self, heads: Sequence[str], rows: list[list[str]]) -> None:
        columns = [[head, *cells] for head, *cells in zip(heads, *rows, strict=True)]
        for row in zip(*map(_aligned, columns), strict=True):
            print_line("  ".join(row).rstrip())


def sentence(text: str, stream: TextIO) -> str:
    """Folded between words for a person; an address or a path stays whole, so that it can be copied."""
    one = plain(text)
    if not stream.isatty():
        return one
    width = Output().console().width
    return textwrap.fill(one, width, break_long_words=False, break_on_hyphens=False, subsequent_indent="  ")


def _aligned(column: list[str]) -> list[str]:
    """Cells of one width under their head; numbers are read from the right."""
    width = max(map(len, column))
    right = are_numbers(column[1:])
    return [text.rjust(width) if right else text.ljust(width) for text in column]


@contextmanager
def _above(console: Console) -> Iterator[None]:
    """What is printed meanwhile comes above the line that moves; another console would write into it."""
    _moving.append(console)
    try:
        yield
    finally:
        _moving.pop()


def _console(stream: TextIO) -> Console:
    from rich.console import Console  # 0.1 s, which a pipe does without

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def is_terminal() -> bool:
    """True where stdout is a terminal.  Rich is asked only where a variable that it honours is set."""
    if sys.stdout.isatty():
        return True
    from vedette.config.model import forces_terminal

    return forces_terminal() and Output().console().is_terminal


def print_line(text: str, *, to_stderr: bool = False) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    stream.write(text + "\n")
    stream.flush()


def _print_bytes(utf8: bytes) -> None:
    """A line of UTF-8.  A stream that wants other letters gets text."""
    stream = sys.stdout
    raw = getattr(stream, "buffer", None)
    if raw is None or not _is_utf8(stream):
        print_line(utf8.decode())
        return
    stream.flush()
    raw.write(utf8)
    raw.write(b"\n")
    stream.flush()


def _is_utf8(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def _span(cell: Cell) -> tuple[str, str]:
    return quoted(cell) if isinstance(cell, str) else quoted(cell[1], cell[0])
