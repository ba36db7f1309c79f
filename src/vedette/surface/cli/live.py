"""A run as it goes: event lines for a program, a status line and every reported change for people.

Events arrive on the engine's writing thread, after their commit.
"""

from __future__ import annotations

import errno
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from vedette.contracts.errors import StoreError
from vedette.contracts.words import ChangeId, Outcome
from vedette.report.lines import Line, as_rich, line, quoted
from vedette.report.misses import FailureLines
from vedette.report.plain import count, safe_json, span
from vedette.store.migrate import DATABASE
from vedette.surface.cli.output import print_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from vedette.store.queries import Queries
    from vedette.surface.cli.session import Session
    from vedette.telemetry.events import Event

OnEvent = Callable[["Event"], None]
Fields = Mapping[str, object]
RATE_OVER = timedelta(seconds=10)
COUNT_EVERY = timedelta(seconds=5)  # how often the due watches are counted

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def watching(session: Session) -> Iterator[OnEvent]:
    """What to hand to the engine; the screen is restored at the end, however it ends."""
    if session.given.as_json:
        yield _unless_broken(lambda event: print_line(safe_json(event.line())))
        return
    show = Show(session)
    if session.given.quiet or not sys.stdout.isatty():
        yield _unless_broken(show.hear)
        show.end()
        return
    with show.live():
        yield _unless_broken(show.hear)
    show.end()


@dataclass(slots=True)
class Counts:
    """What a run has done so far."""

    started_at: datetime
    visits: int = 0
    changes: int = 0
    found: int = 0
    errors: int = 0
    hosts: set[str] = field(default_factory=set)
    recent: deque[datetime] = field(default_factory=lambda: deque(maxlen=20_000))

    def add(self, event: Event) -> None:
        from vedette.core.outcomes import SEEN
        from vedette.core.urls import host_of

        if event.name == "visited":
            self.visits += 1
            self.hosts.add(host_of(str(event.fields["url"])))
            self.recent.append(event.at)
            self.errors += Outcome(str(event.fields["outcome"])) not in SEEN
        elif event.name == "changed":
            self.changes += 1
        elif event.name == "found":
            self.found += int(str(event.fields.get("count", 0)))

    def rate(self, now: datetime) -> float:
        """Looks per second, over the last moments."""
        while self.recent and self.recent[0] < now - RATE_OVER:
            self.recent.popleft()
        over = min(RATE_OVER, max(now - self.started_at, timedelta(seconds=1)))
        return len(self.recent) / over.total_seconds()

    def words(self, now: datetime, due: int | None = None) -> str:
        parts = [
            count(self.visits, "look"),
            count(self.changes, "change"),
            f"{self.found} found",
            count(len(self.hosts), "host"),
            *([] if due is None else [f"{due} due"]),
            count(self.errors, "error"),
            f"{self.rate(now):.1f}/s",
            span(now - self.started_at),
        ]
        return ", ".join(parts)


class Show:
    """For people: every reported change with an excerpt of its diff, and how the run goes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._out = session.out
        self._console: Console | None = None
        self._counts = Counts(session.now())
        self._due = _DueCount(session)
        self._diffs = _Diffs(session)
        self._failures = FailureLines()

    def hear(self, event: Event) -> None:
        self._counts.add(event)
        lines = self._lines(event)
        if not lines:
            return
        if self._console is not None:
            self._console.print(as_rich(lines), soft_wrap=True)
        else:
            self._out.lines(lines)

    @contextmanager
    def live(self) -> Iterator[None]:
        """A status line that moves while changes scroll by above it."""
        from rich.live import Live

        console = self._out.console()
        with Live(get_renderable=self._status, console=console, refresh_per_second=4, transient=True) as live:
            self._console = live.console
            yield
        self._console = None

    def end(self) -> None:
        self._due.close()
        self._diffs.close()
        self._out.note(self._counts.words(self._session.now()))

    def _status(self) -> RenderableType:
        now = self._session.now()
        return as_rich([line(("dim", self._counts.words(now, self._due.count(now))))])

    def _lines(self, event: Event) -> list[Line]:
        if event.name == "changed":
            return self._diffs.lines(event)
        if event.name == "visited":
            said = event.fields
            outcome = Outcome(str(said["outcome"]))
            return self._failures.lines(str(said["url"]), outcome, str(said.get("detail") or ""))
        if event.name in WORDS and not self._out.quiet:
            return [line(("warn", event.name), "  ", quoted(WORDS[event.name](event.fields), limit=300))]
        return []


def _breaker(said: Fields) -> str:
    """Its reasons are pairs of code and note."""
    reasons = said.get("reasons")
    notes = [str(pair[-1]) for pair in reasons if pair] if isinstance(reasons, list) else []
    return f"{said.get('lane', '')} is left alone, {'; '.join(notes)}"


def _parked(said: Fields) -> str:
    tries = said.get("attempts")
    attempts = f" after {count(tries, 'attempt')}" if isinstance(tries, int) else ""
    return f"{said.get('url', '')}  {said.get('outcome', '')}{attempts}"


# What else people hear of while it runs, in words.
WORDS: Mapping[str, Callable[[Fields], str]] = {
    "breaker": _breaker,
    "parked": _parked,
    "problem": lambda said: str(said.get("what", "")),
}


class _Store:
    """The store of the run, read beside it.  One connection for one thread, opened when there is a store."""

    def __init__(self, session: Session) -> None:
        from vedette.store import queries  # here, not on the engine's thread: it takes a while

        self._open = queries.Queries
        self._path = session.loaded.data / DATABASE
        self._queries: Queries | None = None

    def queries(self) -> Queries | None:
        if self._queries is None and self._path.exists():
            self._queries = self._open(self._path)
        return self._queries

    def close(self) -> None:
        if self._queries is not None:
            self._queries.close()


class _Diffs(_Store):
    """The stored diff of a change that was just committed."""

    def lines(self, event: Event) -> list[Line]:
        from vedette.report.changes import change_lines

        queries = self.queries()
        view = None if queries is None else queries.change(ChangeId(int(str(event.fields["change"]))))
        if view is not None:
            return change_lines(view.change, url=view.url, risk=view.risk)
        words = "  ".join(str(event.fields.get(name, "")) for name in ("risk", "kind", "url", "summary"))
        return [line(quoted(words))]


class _DueCount(_Store):
    """How much is due: counted now and then, as it costs a walk over an index."""

    _next: datetime | None = None
    _count: int | None = None

    def count(self, now: datetime) -> int | None:
        if self._next is not None and now < self._next:
            return self._count
        from vedette.store.views import WatchFilter

        self._next = now + COUNT_EVERY
        with suppress(StoreError):  # it is still being made; the run itself says what is wrong with it
            queries = self.queries()
            self._count = None if queries is None else queries.count_watches(WatchFilter(due_before=now))
        return self._count


def _unless_broken(tell: OnEvent) -> OnEvent:
    """When nobody reads any more the run is asked to end, as by Ctrl-C; the engine's thread must not break."""
    is_broken = False

    def hear(event: Event) -> None:
        nonlocal is_broken
        if is_broken:
            return
        try:
            tell(event)
        except BrokenPipeError:
            is_broken = True
            signal.raise_signal(signal.SIGINT)
        except OSError as error:
            if error.errno not in FULL:  # a full disk under the output is no reason to stop watching
                raise

    return hear
