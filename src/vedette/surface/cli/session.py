"""One call of the program: what was given, and what it needs, opened when first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vedette.contracts.errors import ConfigError, InputError, StoreError
from vedette.contracts.words import Reason, Risk
from vedette.report.plain import show_times_in
from vedette.surface.cli.load_guard import collect_as_usual, loading
from vedette.surface.cli.output import Output

if TYPE_CHECKING:
    import sqlite3

    from vedette.app.run import RunRequest
    from vedette.config.model import Loaded
    from vedette.contracts.fetch import Extraction, Fetched, RobotsRules
    from vedette.contracts.lane import LaneState
    from vedette.contracts.ports import Clock
    from vedette.contracts.source import Source
    from vedette.contracts.words import LaneKey
    from vedette.core.health.source_check import Checked
    from vedette.core.urls.classify import Classification
    from vedette.engine.crawl.loop import Ended
    from vedette.operations.check_sources import Lanes
    from vedette.store.queries import Queries
    from vedette.telemetry.events import Event

    Look = tuple[Fetched, Extraction, tuple[Reason, ...]]


class App(Protocol):
    """What the command line needs of `vedette.operations.engine`."""

    def run_engine(
        self, loaded: Loaded, request: RunRequest, *, on_event: Callable[[Event], None]
    ) -> Ended: ...

    def look_once(self, loaded: Loaded, url: str) -> Look: ...

    def fetch_robots(self, loaded: Loaded, url: str) -> tuple[RobotsRules, Reason | None]: ...

    def check_sources(
        self,
        loaded: Loaded,
        sources: Sequence[Source],
        *,
        load_lane: Callable[[LaneKey], LaneState | None] = ...,
        progress: Callable[[int, int], None] = ...,
    ) -> tuple[list[Checked], Lanes]: ...


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
    app: Any = None  # App; None: vedette.operations.engine, imported when a verb needs it
    given: CommonOptions = field(default_factory=CommonOptions)
    begun: Callable[[], timedelta] = timedelta  # the time since the program was called
    used: list[Path] = field(default_factory=list)  # databases, for whoever has to say what went wrong
    _loaded: Loaded | None = None

    def with_options(self, given: CommonOptions) -> Session:
        return replace(self, given=self.given.also(given), _loaded=None)

    @property
    def out(self) -> Output:
        return Output(as_json=self.given.as_json, quiet=self.given.quiet)

    @property
    def loaded(self) -> Loaded:
        if self._loaded is None:
            from vedette.config import model as config

            self._loaded = config.load(self.given.config, self.given.data)
            show_times_in(None if self.given.local_time else config.zone_of(self._loaded.config))
        return self._loaded

    def now(self) -> datetime:
        return self.clock.now()

    def note_databases(self) -> None:
        """Says what the database variables of the environment are used for, where that is not what they look like."""
        from vedette.config.model import database_notices

        for notice in database_notices():
            self.out.note(notice)

    def engine(self) -> App:
        """What runs; costs an import of everything that fetches."""
        if self.app is not None:
            handed: App = self.app
            return handed
        with loading():
            from vedette.operations import engine as app
        collect_as_usual()
        return app

    def store(self) -> Path:
        """The database, checked to be of this version."""
        from vedette.store.migrate import DATABASE, HEAD, version

        path = self.loaded.data / DATABASE
        if not path.exists() and self.loaded.config.sources:
            raise StoreError(
                f"no store in {path.parent} yet; `vedette run` makes it and looks at the sources of vedette.yaml"
            )
        self.used.append(path)
        if not path.exists():
            raise StoreError(
                f"no store in {path.parent}; run `vedette init`, or name another folder with --data"
            )
        self._make_private(path.parent)
        found = version(path)
        if found != HEAD:
            raise StoreError(f"{path} is at version {found or 'none'}, not {HEAD}; run `vedette db upgrade`")
        return path

    def _make_private(self, data: Path) -> None:
        """A store of before may be readable by everyone on the machine."""
        from vedette.store.private import mend

        mended = mend(data)
        if mended:
            self.out.note(
                f"{data}: {mended} of its files and folders could be read by others; now they are yours alone"
            )

    def new_store(self) -> Path:
        """The database, made where there is none."""
        from vedette.store.migrate import DATABASE, prepare

        is_new = not (self.loaded.data / DATABASE).exists()
        path = prepare(self.loaded.data)
        if is_new:
            self.out.note(f"made a new store in {self.loaded.data}")
        return path

    @contextmanager
    def queries(self) -> Iterator[Queries]:
        from vedette.store.queries import Queries

        with Queries(self.store()) as queries:
            yield queries

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that changes nothing."""
        from contextlib import closing

        from vedette.store.connection import connect

        with closing(connect(self.store(), read_only=True)) as db:
            yield db

    @contextmanager
    def operating(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction of the operator."""
        from vedette.store.operator import operating

        with operating(self.new_store() if create else self.store()) as db:
            yield db

    def classify(self, url: str, content_type: str | None = None) -> Classification:
        """By the configured packs and patterns."""
        from vedette.core.urls.classify import classify_url
        from vedette.core.urls.word_packs import RolePattern

        section = self.loaded.config.classify
        try:
            rows = tuple(RolePattern(p.pattern, p.role, p.risk, p.is_hub) for p in section.patterns)
            return classify_url(url, content_type, packs=section.packs, rows=rows)
        except InputError as error:
            raise ConfigError(f"`classify`: {error}") from None


def a_risk(word: str | None, option: str) -> Risk | None:
    """A risk as the user wrote it."""
    if word is None:
        return None
    try:
        return Risk.parse(word)
    except ValueError:
        from vedette.core.text.nearest import unknown

        raise InputError(f"{option}: {unknown(option.strip('-'), word.upper(), Risk.__members__)}") from None


def check_source(session: Session, source: str | None, option: str = "--source: ") -> None:
    """InputError that names the nearest, when there is no such source in the store and in the configuration."""
    if source is None:
        return
    from vedette.config.policies import sources_of
    from vedette.core.text.nearest import unknown
    from vedette.store.migrate import DATABASE

    known = {str(one.id) for one in sources_of(session.loaded.config)}
    if source not in known and (session.loaded.data / DATABASE).exists():
        with session.queries() as queries:
            known |= set(queries.source_ids())
    if source not in known:
        raise InputError(f"{option}{unknown('source', source, known)}; `vedette sources` lists them")


def tagged(session: Session, tag: str | None) -> tuple[str, ...] | None:
    """The sources with this tag; None: none was asked for.  An unknown tag is an error that names the nearest."""
    if tag is None:
        return None
    from vedette.core.text.nearest import unknown

    with session.queries() as queries:
        by_source = {str(view.source.id): view.source.registered.tags for view in queries.sources()}
    found = tuple(source for source, tags in by_source.items() if tag in tags)
    if not found:
        raise InputError(
            f"--tag: {unknown('tag', tag, {one for tags in by_source.values() for one in tags})}"
        )
    return found


def a_url(text: str) -> str:
    """The canonical URL of what the user typed, or InputError that says how to write it."""
    from vedette.core.urls.canonical import canonical, too_long

    url = canonical(text)
    if url is not None:
        return url
    word = text.strip()
    if not word:
        raise InputError("the URL is empty")
    if words := too_long(word):
        raise InputError(f"the URL is too long: {words}")
    if "://" not in word and (near := canonical(f"https://{word}")) is not None:
        raise InputError(f"{word!r} has no scheme; did you mean {near} ?")
    scheme, mark, _ = word.partition(":")
    if mark and scheme.isalnum() and scheme.lower() not in ("http", "https"):
        raise InputError(f"{word!r}: only http and https are watched, not {scheme!r}")
    raise InputError(f"{word!r} is not a URL; write for example https://example.org/page")


def a_moment(text: str | None, option: str, now: datetime) -> datetime | None:
    """`24h` is that long ago; otherwise a date or a time in ISO form."""
    if text is None:
        return None
    from vedette.config.model import parse_day, parse_duration

    try:
        return now - parse_duration(text)
    except (ValueError, OverflowError):
        pass
    try:
        return parse_day(text)
    except ValueError:
        raise InputError(
            f"{option}: {text!r} is neither a duration (24h, 7d) nor a date (2026-11-15)"
        ) from None
