"""What an operation works on: a configuration with its store, and the time.  The store is opened when first needed.

Every surface makes one for a call: the command line, the HTTP server, a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection
from vedette.core.text.nearest import unknown
from vedette.operations.classified import blocked_word, classified
from vedette.store.connection import StorePlace, connect, mend, operating
from vedette.store.migrate import COPYING, HEAD, newer_store, prepare_place, version, version_of
from vedette.store.queries import Queries

if TYPE_CHECKING:
    from vedette.config.model import Loaded
    from vedette.contracts.ports import Clock
    from vedette.contracts.source import Source
    from vedette.core.urls.classify import Classification


@dataclass(slots=True)
class Installation:
    """A configuration and its data folder."""

    loaded: Loaded
    clock: Clock
    note: Callable[[str], None] = lambda words: None  # what happened by the way
    used: list[Path] = field(default_factory=list)  # databases that were opened, for error messages
    _is_checked: bool = False  # a server was asked whether it has a store of this version: once is enough

    @property
    def has_store(self) -> bool:
        place = self.loaded.store
        if isinstance(place, PostgresAddress):
            return self._is_checked or version_of(place) is not None
        return place.exists()

    def now(self) -> datetime:
        return self.clock.now()

    def store(self) -> StorePlace:
        """The database, checked to be of this version."""
        path = self.loaded.store
        return self._on_server(path) if isinstance(path, PostgresAddress) else self._in_folder(path)

    def _on_server(self, place: PostgresAddress) -> PostgresAddress:
        if not self._is_checked:
            found = version_of(place)
            if found is None:
                raise StoreError(f"no store in {place} yet; `vedette init` or `vedette run` makes it")
            if found == COPYING:
                raise StoreError(
                    f"{place} holds half a copy; say `vedette db copy` again, it goes on where it was"
                )
            if found != HEAD and not newer_store(place, found):
                raise StoreError(f"{place} is at version {found}, not {HEAD}; run `vedette db upgrade`")
            self._is_checked = True
        return place

    def _in_folder(self, path: Path) -> Path:
        if not path.exists() and self.loaded.config.sources:
            raise StoreError(
                f"no store in {path.parent} yet; `vedette run` makes it and looks at the sources of vedette.yaml"
            )
        if path not in self.used:
            self.used.append(path)
        if not path.exists():
            raise StoreError(
                f"no store in {path.parent}; run `vedette init`, or name another folder with --data"
            )
        mended = mend(path.parent)  # a store of before may be readable by everyone on the machine
        if mended:
            self.note(
                f"{path.parent}: {mended} of its files and folders could be read by others; now they are yours alone"
            )
        found = version(path)
        if found != HEAD:
            raise StoreError(f"{path} is at version {found or 'none'}, not {HEAD}; run `vedette db upgrade`")
        return path

    def new_store(self) -> StorePlace:
        """The database, made where there is none."""
        is_new = not self.has_store
        path = prepare_place(self.loaded.data, self.loaded.store)
        if is_new:
            self.note(f"made a new store in {self.loaded.server or self.loaded.data}")
        return path

    @contextmanager
    def queries(self) -> Iterator[Queries]:
        with Queries(self.store()) as queries:
            yield queries

    @contextmanager
    def reading(self) -> Iterator[SqlConnection]:
        """A connection that changes nothing."""
        with closing(connect(self.store(), read_only=True)) as db:
            yield db

    @contextmanager
    def operating(self, *, create: bool = False) -> Iterator[SqlConnection]:
        """One transaction of the operator."""
        with operating(self.new_store() if create else self.store()) as db:
            yield db

    def classify(self, url: str, content_type: str | None = None) -> Classification:
        """By the configured packs and patterns."""
        return classified(self.loaded.config, url, content_type)

    def blocked_word(self, url: str) -> str | None:
        """The word of `discover.blocked_words` in the host of a URL."""
        return blocked_word(self.loaded.config, url)

    def written_sources(self) -> list[Source]:
        """Those of vedette.yaml."""
        if not self.loaded.config.sources:
            return []
        from vedette.config.policies import sources_of  # screens and guards, which light verbs do without

        return list(sources_of(self.loaded.config))

    def check_source(self, source: str | None, option: str = "--source: ") -> None:
        """InputError that names the nearest, when there is no such source in the store and in the configuration."""
        if source is None:
            return
        known = {str(one.id) for one in self.written_sources()}
        if source not in known and self.has_store:
            with self.queries() as queries:
                known |= set(queries.source_ids())
        if source not in known:
            raise InputError(f"{option}{unknown('source', source, known)}; `vedette sources` lists them")

    def tagged(self, tag: str | None) -> tuple[str, ...] | None:
        """The sources with this tag; None: none was asked for.  An unknown tag is an error that names the nearest."""
        if tag is None:
            return None
        with self.queries() as queries:
            by_source = queries.tags()
        found = tuple(source for source, tags in by_source.items() if tag in tags)
        if not found:
            raise InputError(
                f"--tag: {unknown('tag', tag, {one for tags in by_source.values() for one in tags})}"
            )
        return found
