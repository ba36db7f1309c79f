"""`import vedette`: the operations of the command line for Python programs, in a store of their own or of a service.

    watcher = vedette.open_store("vedette-data")
    watcher.add("https://example.org/rules", risk="HIGH")
    for event in watcher.events():
        if isinstance(event, vedette.Changed):
            print(event.summary)

Nothing stays open between calls: a connection is made for each.  `AsyncWatcher` has the same calls for a program that
has an event loop.  Wrong input raises `VedetteError` with words for people.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from vedette.app.background_run import BackgroundRun
from vedette.config.model import load
from vedette.config.policies import check_config
from vedette.contracts.errors import InputError
from vedette.contracts.events import Event
from vedette.contracts.source import Source
from vedette.core.urls.canonical import watch_id
from vedette.engine.crawl.loop import Mode
from vedette.engine.crawl.run import RunRequest
from vedette.evidence.verify import Report
from vedette.operations import probe
from vedette.operations.arguments import TOLD, a_moment, a_risk, a_url
from vedette.operations.changes import NumberedChange, StoredDiff, list_changes, stored_diff
from vedette.operations.explain import explain
from vedette.operations.installation import Installation
from vedette.operations.look_now import order_looks_now
from vedette.operations.maintenance import verify_evidence
from vedette.operations.run import background_run, check_ended
from vedette.operations.sources import add_source
from vedette.operations.watches import WatchList, list_watches
from vedette.report.explanation import WatchExplanation
from vedette.report.looks import Looked
from vedette.store.views import ChangeFilter, WatchFilter
from vedette.telemetry.wall_clock import SystemClock

OPTIONS = (
    "name",
    "lister",
    "risk",
    "tier",
    "every",
    "tags",
    "note",
    "requires_headless",
    "screenshot",
    "selectors",
    "retention",
)


def open_store(data: str | Path | None = None, config: str | Path | None = None) -> Watcher:
    """The store in this folder, made where there is none; the defaults are those of the command line."""
    loaded = load(None if config is None else Path(config), None if data is None else Path(data))
    if loaded.path is not None:
        check_config(loaded.config)
    installation = Installation(loaded, SystemClock())
    installation.new_store()
    return Watcher(installation)


async def open_store_async(data: str | Path | None = None, config: str | Path | None = None) -> AsyncWatcher:
    """The same for a program that has an event loop."""
    return AsyncWatcher(await asyncio.to_thread(open_store, data, config))


@dataclass(frozen=True, slots=True)
class Watcher:
    """One store.  Every call may be made from any thread that has no running event loop."""

    installation: Installation

    def add(self, url: str, **options: Any) -> Source:
        """Watch what is at this address; it is due at once.  `options`: keys of a source, as in vedette.yaml."""
        unknown = [name for name in options if name not in OPTIONS]
        if unknown:
            raise InputError(f"add: there is no option {unknown[0]!r}; there are {', '.join(OPTIONS)}")
        keys = {name: _written(value) for name, value in options.items()}
        return add_source(self.installation, url, keys, {}).source

    def look(self, *urls: str, patience: timedelta | None = None) -> list[Looked]:
        """Look now at these watches, or at all; an engine that runs on this store makes the looks."""
        ordered = order_looks_now(self.installation, urls, None, lambda: probe, lambda *told: None)
        ordered.wait(ordered.forecast(patience).until)
        return ordered.finish()

    def changes(
        self,
        *,
        since: str | None = None,
        risk: str | None = None,
        source: str | None = None,
        url: str | None = None,
        limit: int = 50,
    ) -> list[NumberedChange]:
        """What people are told of, newest first.  `since`: "24h", "7d", or a date; `limit` 0: all."""
        self.installation.check_source(source)
        which = ChangeFilter(
            since=a_moment(since, "since", self.installation.now()),
            risk=a_risk(risk, "risk"),
            states=TOLD,
            source=source,
            watch=None if url is None else watch_id(a_url(url)),
        )
        return list_changes(self.installation, which, limit)

    def watches(self, *, text: str | None = None, source: str | None = None, limit: int = 100) -> WatchList:
        """What is watched, in the order of addresses."""
        which = WatchFilter(text=text, source=source, only_kept=True)
        return list_watches(self.installation, which, limit)

    def diff(self, what: int | str) -> StoredDiff:
        """Of a change by its number, or of the last change of a URL."""
        return stored_diff(self.installation, str(what))

    def explain(self, url: str, *, visits: int = 10) -> WatchExplanation:
        """What is known of a page, and the recorded reasons for its next look."""
        return explain(self.installation, url, visits=visits)

    def verify(self, *, quick: bool = False) -> Report:
        """Read all evidence again: finds any altered byte."""
        return verify_evidence(self.installation, quick=quick)

    def events(self, *, seconds: float | None = None, for_ever: bool = False) -> Generator[Event]:
        """Look at what is due, and give every event as it happens; ends when nothing is left to do.

        `for_ever`: goes on until the loop is left.  Leaving it early ends the run.
        """
        told: queue.Queue[Event | None] = queue.Queue()
        run = self.begin(told.put, seconds=seconds, for_ever=for_ever)
        try:
            while (one := told.get()) is not None:
                yield one
            check_ended(run.result(), "run")
        finally:
            run.stop()

    def begin(
        self, hear: Callable[[Event | None], None], *, seconds: float | None = None, for_ever: bool = False
    ) -> BackgroundRun:
        """A run whose events are handed to `hear`, in its threads; None is the last one.  `stop` ends it."""
        request = RunRequest(mode=Mode.FOREVER if for_ever else Mode.UNTIL_IDLE, seconds=seconds)
        return background_run(self.installation, request, hear, lambda: hear(None))


@dataclass(frozen=True, slots=True)
class AsyncWatcher:
    """The same calls; each is made in a thread of its own."""

    watcher: Watcher

    async def add(self, url: str, **options: Any) -> Source:
        return await asyncio.to_thread(self.watcher.add, url, **options)

    async def look(self, *urls: str, patience: timedelta | None = None) -> list[Looked]:
        return await asyncio.to_thread(self.watcher.look, *urls, patience=patience)

    async def changes(self, **asked: Any) -> list[NumberedChange]:
        """As `Watcher.changes`."""
        return await asyncio.to_thread(self.watcher.changes, **asked)

    async def watches(self, **asked: Any) -> WatchList:
        """As `Watcher.watches`."""
        return await asyncio.to_thread(self.watcher.watches, **asked)

    async def diff(self, what: int | str) -> StoredDiff:
        return await asyncio.to_thread(self.watcher.diff, what)

    async def explain(self, url: str, *, visits: int = 10) -> WatchExplanation:
        return await asyncio.to_thread(self.watcher.explain, url, visits=visits)

    async def verify(self, *, quick: bool = False) -> Report:
        return await asyncio.to_thread(self.watcher.verify, quick=quick)

    async def events(self, *, seconds: float | None = None, for_ever: bool = False) -> AsyncIterator[Event]:
        """As `Watcher.events`.  A loop that is left early ends the run when the generator is closed."""
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Event | None] = asyncio.Queue()

        def hear(one: Event | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(told.put_nowait, one)

        run = self.watcher.begin(hear, seconds=seconds, for_ever=for_ever)
        try:
            while (one := await told.get()) is not None:
                yield one
            check_ended(run.result(), "run")
        finally:
            await asyncio.to_thread(run.stop)


def _written(value: Any) -> Any:
    """As a configuration file writes it."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
