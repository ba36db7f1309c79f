"""What is known of each source while the engine runs: settings, admission rules, trap budgets, how it fares."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from vedette.contracts.fetch import FetchSettings
from vedette.contracts.filters import NO_FILTERS, PageFilters
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import SourceState, Watch
from vedette.contracts.words import Outcome, SourceId, WatchId
from vedette.core.filters.filter_steps import read_filters
from vedette.core.limits.clock_limits import moved
from vedette.core.settled_watch import CLOSED_FOR, LookSource, source_after
from vedette.core.urls.admission import AdmissionRules, rules_of
from vedette.core.urls.canonical import watch_id
from vedette.core.urls.trap_counters import SourceTally

SAVE_EVERY = timedelta(seconds=5)
FILTERED = (None, ListerKind.CRAWL)  # pages; what only lists others is read whole


@dataclass(slots=True, eq=False)
class SourceRuntime:
    """One source at work."""

    source: Source
    settings: FetchSettings
    rules: AdmissionRules
    crawl_rules: AdmissionRules  # where `auto` became a crawl
    tally: SourceTally
    known: SourceState  # how it fares; its tally is counted on above
    own: WatchId | None = None  # where its own address is looked at
    is_dirty: bool = False
    saved_at: datetime | None = None

    def facts(self) -> LookSource:
        """For what is decided about its watches."""
        return LookSource(source=self.source, own=self.own, closed_until=self.known.closed_until)

    def heard(self, outcome: Outcome, detail: str, *, now: datetime) -> None:
        """How a look at the source's listing ended."""
        self.is_dirty = True
        self.known = source_after(self.known, outcome, detail, now=now)

    def merged(self, watch: WatchId, into: WatchId) -> None:
        """What was asked of its own address holds for the one that is looked at instead."""
        self.own = into if watch == self.own else self.own

    def clock_set(self, by: timedelta, now: datetime) -> None:
        """The clock was set forward or back: what is left of a rest is left."""
        closed_until = moved(self.known.closed_until, by, now, CLOSED_FOR)
        self.known = replace(self.known, closed_until=closed_until)
        self.saved_at = None

    def state(self) -> SourceState:
        return replace(self.known, tally=json.dumps(self.tally.to_json(), separators=(",", ":")))


Loaded = tuple[Source, SourceState]


@dataclass(slots=True)
class SourceBook:
    """What is known of each source, read when first needed."""

    load: Callable[[SourceId], Loaded | None]
    settings_of: Callable[[Source], FetchSettings]
    blocked_words: tuple[str, ...] = ()
    own: Callable[[Source], WatchId] = lambda source: watch_id(source.url)  # merges followed
    _runtimes: dict[SourceId, SourceRuntime] = field(default_factory=dict)

    def runtime(self, source: SourceId) -> SourceRuntime:
        runtime = self._runtimes.get(source)
        if runtime is None:
            runtime = self._runtimes[source] = self._open(source)
        return runtime

    def runtimes(self) -> list[SourceRuntime]:
        return list(self._runtimes.values())

    def settings(self, source: SourceId) -> FetchSettings:
        return self.runtime(source).settings

    def needs_browser(self, source: SourceId) -> bool:
        return self.runtime(source).source.options.requires_headless

    def takes_screenshot(self, source: SourceId) -> bool:
        return self.runtime(source).source.options.takes_screenshot

    def redacts(self, source: SourceId) -> bool:
        """True where personal data is taken out of what its looks read."""
        return self.runtime(source).source.options.redacts

    def filters(self, watch: Watch) -> PageFilters:
        """What its source puts between this page and its comparison."""
        texts = self.runtime(watch.source).source.options.filters
        return read_filters(texts) if texts and watch.lister in FILTERED else NO_FILTERS

    def name(self, source: SourceId) -> str:
        """What people call it, where it was at work; else its id."""
        runtime = self._runtimes.get(source)
        return source if runtime is None else runtime.source.name

    def is_muted(self, source: SourceId, at: datetime) -> bool:
        """Are its changes told to nobody at that time?"""
        runtime = self._runtimes.get(source)
        return (
            runtime is not None and runtime.source.muted_until is not None and at < runtime.source.muted_until
        )

    def tags(self, source: SourceId) -> tuple[str, ...]:
        runtime = self._runtimes.get(source)
        return () if runtime is None else runtime.source.registered.tags

    def forget(self, source: SourceId) -> None:
        """The operator changed it: read it anew."""
        self._runtimes.pop(source, None)

    def unsaved(self, now: datetime, *, all_of_them: bool = False) -> list[SourceState]:
        """States that should go along with the next group."""
        states = []
        for runtime in self._runtimes.values():
            is_time = runtime.saved_at is None or now - runtime.saved_at >= SAVE_EVERY
            if runtime.is_dirty and (is_time or all_of_them):
                runtime.is_dirty, runtime.saved_at = False, now
                states.append(runtime.state())
        return states

    def _open(self, source: SourceId) -> SourceRuntime:
        loaded = self.load(source)
        if loaded is None:  # its row was removed while its watches were due
            known, state = Source(id=source, name=source, url=""), SourceState(source=source)
        else:
            known, state = loaded
        return SourceRuntime(
            source=known,
            settings=self.settings_of(known),
            rules=rules_of(known.lister, known.options, blocked_words=self.blocked_words),
            crawl_rules=rules_of(ListerKind.CRAWL, known.options, blocked_words=self.blocked_words),
            tally=SourceTally.from_json(json.loads(state.tally)),
            known=replace(state, source=known.id),
            own=self.own(known) if known.url else None,
        )
