"""One call of the program: what was given, and what it needs, opened when first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import Reason
from vedette.report.plain import show_times_in
from vedette.surface.cli.load_guard import collect_as_usual, loading
from vedette.surface.cli.output import Output

if TYPE_CHECKING:
    from vedette.app.run import RunRequest
    from vedette.config.model import Loaded
    from vedette.contracts.events import Event
    from vedette.contracts.fetch import Extraction, Fetched, RobotsRules
    from vedette.contracts.filters import StepLeft
    from vedette.contracts.ports import Clock
    from vedette.core.health.source_health import Checked
    from vedette.engine.crawl.loop import Ended
    from vedette.operations.installation import Installation
    from vedette.store.connection import StorePlace
    from vedette.store.queries import Queries

    Look = tuple[Fetched, Extraction, tuple[Reason, ...]]


class App(Protocol):
    """What the command line needs of `vedette.operations.probe`."""

    def run_engine(
        self, loaded: Loaded, request: RunRequest, *, on_event: Callable[[Event], None]
    ) -> Ended: ...

    def look_once(self, loaded: Loaded, url: str) -> Look: ...

    def filter_steps(
        self, loaded: Loaded, fetched: Fetched, texts: tuple[str, ...]
    ) -> tuple[StepLeft, ...]: ...

    def fetch_robots(self, loaded: Loaded, url: str) -> tuple[RobotsRules, Reason | None]: ...

    def check_sources(
        self, installation: Installation, ids: Sequence[str], *, progress: Callable[[int, int], None] = ...
    ) -> list[Checked]: ...


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """The options that every verb takes."""

    config: Path | None = None
    data: Path | None = None
    as_json: bool = False
    quiet: bool = False
    local_time: bool = False

    def also(self, other: CommonOptions) -> CommonOptions:
        """An option after the verb wins over one before it."""
        return CommonOptions(
            config=other.config or self.config,
            data=other.data or self.data,
            as_json=other.as_json or self.as_json,
            quiet=other.quiet or self.quiet,
            local_time=other.local_time or self.local_time,
        )


@dataclass
class Session:
    clock: Clock
    app: Any = None  # App; None: vedette.operations.probe, imported when a verb needs it
    given: CommonOptions = field(default_factory=CommonOptions)
    begun: Callable[[], timedelta] = timedelta  # the time since the program was called
    used: list[Path] = field(default_factory=list)  # databases that were opened, for error messages
    _loaded: Loaded | None = None
    _installation: Installation | None = None

    def with_options(self, given: CommonOptions) -> Session:
        return replace(self, given=self.given.also(given), _loaded=None, _installation=None)

    @property
    def out(self) -> Output:
        return Output(as_json=self.given.as_json, quiet=self.given.quiet)

    @property
    def loaded(self) -> Loaded:
        """The configuration; times are shown in its zone."""
        if self._loaded is None:
            from vedette.config.model import load, zone_of

            loaded = load(self.given.config, self.given.data)
            if loaded.path is not None:
                from vedette.config.policies import check_config  # the store, which light verbs do without

                check_config(loaded.config)  # what `run` refuses, every verb does
            self._loaded = loaded
            show_times_in(None if self.given.local_time else zone_of(self._loaded.config))
        return self._loaded

    @property
    def installation(self) -> Installation:
        """What operations work on."""
        if self._installation is None:
            from vedette.operations.installation import Installation

            self._installation = Installation(self.loaded, self.clock, note=self.out.note, used=self.used)
        return self._installation

    def now(self) -> datetime:
        return self.clock.now()

    def note_databases(self) -> None:
        """Says what the database variables of the environment are used for, where that is not what they look like."""
        from vedette.config.model import database_notices

        for notice in database_notices(self.loaded.data):
            self.out.note(notice)

    def engine(self) -> App:
        """What runs; costs an import of everything that fetches."""
        if self.app is not None:
            handed: App = self.app
            return handed
        with loading():
            from vedette.operations import probe as app
        collect_as_usual()
        return app

    def store(self) -> StorePlace:
        """The database, checked to be of this version."""
        return self.installation.store()

    def new_store(self) -> StorePlace:
        """The database, made where there is none."""
        return self.installation.new_store()

    def queries(self) -> AbstractContextManager[Queries]:
        return self.installation.queries()

    def reading(self) -> AbstractContextManager[SqlConnection]:
        """A connection that changes nothing."""
        return self.installation.reading()

    def operating(self, *, create: bool = False) -> AbstractContextManager[SqlConnection]:
        """One transaction of the operator."""
        return self.installation.operating(create=create)
