"""A run as it goes: event lines for a program, a status line and every reported change for people.

Events arrive on the engine's writing thread, after their commit.
"""

from __future__ import annotations

import errno
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from rich.console import Console, RenderableType
from rich.live import Live

from vedette.contracts.errors import StoreError
from vedette.contracts.events import (
    BreakerOpened,
    Changed,
    ClockHealed,
    ClockSet,
    Event,
    LookParked,
    MadePrivate,
    PagesFound,
    Paused,
    ProblemTold,
    Resumed,
    Visited,
)
from vedette.contracts.source import SELECTOR_UNMATCHED
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import SEEN
from vedette.core.urls.canonical import host_of, shown
from vedette.report.changes import brief, change_lines
from vedette.report.looks import FailureLines
from vedette.report.plain import Line, about, as_rich, count, line, quoted, safe_json, span
from vedette.report.table import folded
from vedette.store.queries import Queries
from vedette.store.views import WatchFilter
from vedette.surface.cli.output import print_line
from vedette.surface.cli.session import Session

OnEvent = Callable[[Event], None]
RATE_OVER = timedelta(seconds=10)
COUNT_EVERY = timedelta(seconds=1)  # how often the due watches are counted, where that is cheap
COUNT_SHARE = 50  # counting takes at most one part in so many of the time
PIPE_WIDTH = 100  # columns where stdout is no terminal

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def watching(session: Session, *, is_demo: bool = False) -> Iterator[OnEvent]:
    """What to hand to the engine; the screen is restored at the end, however it ends."""
    if session.given.as_json:
        reader = _Reader(lambda event: print_line(safe_json(event.line())))
        yield reader.hear
        reader.check()
        return
    show = Show(session, is_demo=is_demo)
    reader = _Reader(show.hear)
    if session.given.quiet or not sys.stdout.isatty():
        yield reader.hear
    else:
        with show.live():
            yield reader.hear
    reader.check()
    show.end()


@dataclass(slots=True)
class Counts:
    """What a run has done so far.  Rates are by the machine's own time, whatever time the run lives in."""

    elapsed: Callable[[], timedelta]
    visits: int = 0
    changes: int = 0
    found: int = 0
    errors: int = 0
    hosts: set[str] = field(default_factory=set)
    recent: deque[timedelta] = field(default_factory=lambda: deque(maxlen=20_000))

    def add(self, event: Event) -> None:
        match event:
            case Visited():
                self.visits += 1
                self.hosts.add(host_of(event.url))
                self.recent.append(self.elapsed())
                self.errors += event.outcome not in SEEN
            case Changed():
                self.changes += 1
            case PagesFound():
                self.found += event.count

    def rate(self) -> float:
        """Looks per second, over the last moments."""
        now = self.elapsed()
        while self.recent and self.recent[0] < now - RATE_OVER:
            self.recent.popleft()
        over = min(RATE_OVER, max(now, timedelta(seconds=1)))
        return len(self.recent) / over.total_seconds()

    def words(self, *, due: str = "", width: int = 0, lead: str = "") -> str:
        """How it goes, in one line; where the screen is narrow what matters least is left out."""
        parts = [
            (0, lead),
            (0, count(self.visits, "look")),
            (0, count(self.changes, "change")),
            (6, f"{self.found} found"),
            (5, count(len(self.hosts), "host")),
            (4, due),
            (3, count(self.errors, "error")),
            (2, f"{self.rate():.1f} looks/s"),
            (1, span(self.elapsed())),
        ]
        while True:
            said = ", ".join(words for _, words in parts if words)
            least = max(parts)[0]
            if not width or len(said) <= width or not least:
                return said if not width else said[:width]
            parts = [part for part in parts if part[0] != least]


class Show:
    """For people: every reported change in a few lines, and how the run goes."""

    def __init__(self, session: Session, *, is_demo: bool = False) -> None:
        self._session = session
        self._out = session.out
        self._is_demo = is_demo
        self._console: Console | None = None
        self._counts = Counts(session.clock.stopwatch())
        self._due = _DueCount(session, self._counts.elapsed)
        self._diffs = _Diffs(session)
        self._failures = FailureLines()

    def hear(self, event: Event) -> None:
        self._counts.add(event)
        lines = self._lines(event)
        if not lines:
            return
        if self._console is not None:
            self._console.print(as_rich(folded(lines, self._console.width)), soft_wrap=True)
        else:
            self._out.lines(lines)

    @contextmanager
    def live(self) -> Iterator[None]:
        """A status line that moves while changes scroll by above it."""
        console = self._out.console()
        self._console = console
        try:
            with Live(get_renderable=self._status, console=console, refresh_per_second=4, transient=True):
                yield
        finally:
            self._console = None

    def end(self) -> None:
        self._due.close()
        self._diffs.close()
        if not self._is_demo:  # which sums up by itself
            self._out.note(self._counts.words())

    def _status(self) -> RenderableType:
        now = self._session.now()
        width = self._console.width - 1 if self._console is not None else 0
        lead = f"{now:%a %H:%M} there" if self._is_demo else ""
        words = self._counts.words(due=self._due.words(now), width=width, lead=lead)
        return as_rich([line(("dim", words))])

    def _lines(self, event: Event) -> list[Line]:
        match event:
            case Changed():
                return self._diffs.lines(event, self._width())
            case Visited(outcome=Outcome.OK) if event.detail.startswith(SELECTOR_UNMATCHED):
                return [
                    line(
                        ("warn", "warning"),
                        "  ",
                        quoted(shown(event.url)),
                        "  ",
                        quoted(event.detail, limit=300),
                    )
                ]
            case Visited():
                return self._failures.lines(event.url, event.outcome, event.detail)
        words = "" if self._out.quiet else _words(event)
        return [line(("warn", event.name.replace("_", " ")), "  ", quoted(words, limit=300))] if words else []

    def _width(self) -> int:
        """Lines of a change in brief; 0: it is shown in full."""
        if self._console is not None:
            return self._console.width
        return PIPE_WIDTH if self._is_demo else 0


def _words(event: Event) -> str:
    """What else people hear of while it runs."""
    match event:
        case BreakerOpened(lane=lane, reasons=reasons):
            return f"{lane} is left alone, {'; '.join(reason.note for reason in reasons)}"
        case LookParked(url=url, outcome=outcome, attempts=attempts):
            return f"{url}  {outcome.value} after {count(attempts, 'attempt')}"
        case ProblemTold(what=what):
            return what
    return _words_of_surroundings(event)


def _words_of_surroundings(event: Event) -> str:
    """Disk, lock, clock and rights: a run that stands still or mends something says so."""
    match event:
        case Paused(what=what):
            return f"{what}; no look starts until it is over"
        case Resumed(seconds=seconds):
            return f"the store takes looks again, after {span(timedelta(seconds=seconds))}"
        case ClockSet(seconds=by):
            direction = "ahead" if by > timedelta(0) else "back"
            return f"the clock was set {direction} by {span(abs(by))}; what waits, waits as long as before"
        case ClockHealed(watches=watches, lanes=lanes, others=others):
            parts = count(watches, "watch", "watches"), count(lanes, "lane"), count(others, "other row")
            return f"the clock stood ahead: times of {parts[0]}, {parts[1]} and {parts[2]} are mended"
        case MadePrivate(count=opened):
            return f"{count(opened, 'file or folder', 'files and folders')} stood open to others; now yours alone"
    return ""


class _Store:
    """The store of the run, read beside it.  One connection for one thread, opened when there is a store."""

    def __init__(self, session: Session) -> None:
        self._installation = session.installation
        self._queries: Queries | None = None

    def queries(self) -> Queries | None:
        if self._queries is None and self._installation.has_store:
            self._queries = Queries(self._installation.loaded.store)
        return self._queries

    def close(self) -> None:
        if self._queries is not None:
            self._queries.close()


class _Diffs(_Store):
    """The stored diff of a change that was just committed."""

    def lines(self, event: Changed, width: int) -> list[Line]:
        """In full, or in three lines of a screen of this width."""
        queries = self.queries()
        view = None if queries is None else queries.change(event.change)
        if view is not None and width:
            return brief(view.change, url=view.url, risk=view.risk, width=width)
        if view is not None:
            return change_lines(view.change, url=view.url, risk=view.risk)
        return [line(quoted("  ".join((event.risk.name, event.kind, event.url, event.summary))))]


class _DueCount(_Store):
    """How much is due, or when the next look is: asked now and then, as it costs a walk over an index."""

    def __init__(self, session: Session, elapsed: Callable[[], timedelta]) -> None:
        super().__init__(session)
        self._elapsed = elapsed
        self._next = timedelta(0)
        self._count: int | None = None
        self._due_at: datetime | None = None  # of the next look, where nothing is due

    def words(self, now: datetime) -> str:
        began = self._elapsed()
        if began >= self._next:
            with suppress(StoreError):  # it is still being made; the run itself says what is wrong with it
                self._read(now)
            done = self._elapsed()
            self._next = done + max(COUNT_EVERY, (done - began) * COUNT_SHARE)
        if self._count == 0 and self._due_at is not None and self._due_at > now:
            return f"next look {about(self._due_at, now)}"
        return "" if self._count is None else f"{self._count} due"

    def _read(self, now: datetime) -> None:
        queries = self.queries()
        if queries is None:
            return
        self._count = queries.count_watches(WatchFilter(due_before=now))
        by_due = WatchFilter(by_due=True, only_scheduled=True)
        first = None if self._count else next(iter(queries.watches(by_due, most=1)), None)
        self._due_at = None if first is None else first.due_at


class _Reader:
    """Whoever reads stdout.  When nobody does any more the run is asked to end, as by Ctrl-C; the engine's thread must
    not break."""

    def __init__(self, tell: OnEvent) -> None:
        self._tell = tell
        self._is_gone = False

    def hear(self, event: Event) -> None:
        if self._is_gone:
            return
        try:
            self._tell(event)
        except (BrokenPipeError, SystemExit):  # rich says the second where it meets the first
            self._is_gone = True
            signal.raise_signal(signal.SIGINT)
        except OSError as error:
            if error.errno not in FULL:  # a full disk under the output is no reason to stop watching
                raise

    def check(self) -> None:
        """After the run: a reader that went away ends the program quietly."""
        if self._is_gone:
            raise BrokenPipeError
