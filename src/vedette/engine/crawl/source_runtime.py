"""What is known of each source while the engine runs: settings, admission rules, trap budgets, how it fares."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.fetch import FetchSettings
from vedette.contracts.schedule import Asked
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import SourceState, Watch
from vedette.contracts.words import Outcome, SourceId, WatchId
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.limits.clock_limits import moved
from vedette.core.schedule.asked import asked_of
from vedette.core.urls.admission import AdmissionRules, rules_of
from vedette.core.urls.canonical import watch_id
from vedette.core.urls.trap_counters import SourceTally

TRIPS_AFTER = 5  # spec 001/6.1
CLOSED_FOR = timedelta(hours=1)  # spec 001/8.4
SAVE_EVERY = timedelta(seconds=5)


@dataclass(slots=True, eq=False)
class SourceRuntime:
    """One source at work."""

    source: Source
    settings: FetchSettings
    rules: AdmissionRules
    crawl_rules: AdmissionRules  # where `auto` became a crawl
    tally: SourceTally
    own: WatchId | None = None  # where its own address is looked at
    failures: int = 0
    last_error: str = ""
    closed_until: datetime | None = None
    last_success_at: datetime | None = None
    is_dirty: bool = False
    saved_at: datetime | None = None

    def heard(self, outcome: Outcome, detail: str, *, now: datetime) -> None:
        """How a look at the source's listing ended.  What failed on the way is the lane's affair."""
        meaning = MEANING[outcome]
        self.is_dirty = True
        if outcome in SEEN:
            self.failures, self.last_error, self.closed_until = 0, "", None
            self.last_success_at = now
            return
        self.last_error = f"{outcome.value}: {detail}" if detail else outcome.value
        self.failures += meaning.counts_against_source
        if meaning.counts_against_source and self.failures >= TRIPS_AFTER:
            self.closed_until = now + CLOSED_FOR

    def asked(self, watch: Watch, outcome: Outcome) -> Asked:
        """How often the operator asked for this watch, after a look that ended so."""
        is_own, is_listing = watch.id == self.own, watch.lister is not None
        return asked_of(self.source, is_own=is_own, is_listing=is_listing, outcome=outcome)

    def merged(self, watch: WatchId, into: WatchId) -> None:
        """What was asked of its own address holds for the one that is looked at instead."""
        self.own = into if watch == self.own else self.own

    def clock_set(self, by: timedelta, now: datetime) -> None:
        """The clock was set forward or back: what is left of a rest is left."""
        self.closed_until = moved(self.closed_until, by, now, CLOSED_FOR)
        self.saved_at = None

    def state(self) -> SourceState:
        return SourceState(
            source=self.source.id,
            failures=self.failures,
            last_error=self.last_error,
            last_success_at=self.last_success_at,
            closed_until=self.closed_until,
            tally=json.dumps(self.tally.to_json(), separators=(",", ":")),
        )


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
            own=self.own(known) if known.url else None,
            failures=state.failures,
            last_error=state.last_error,
            closed_until=state.closed_until,
            last_success_at=state.last_success_at,
        )
