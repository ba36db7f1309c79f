"""Takes over the store of an older sentinel (spec 000/6): four phases there, then its sources and items here.

The old store is only added to.  Said again, it goes on where it was stopped and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from pydantic import ValidationError

from vedette.config.model import Loaded, SourceConfig
from vedette.config.policies import source_of
from vedette.contracts.errors import ConfigError
from vedette.contracts.source import Source
from vedette.contracts.watch import Watch
from vedette.contracts.words import NodeRole, NodeType, Outcome, Risk, SourceId
from vedette.core.older_sentinel import LEFT_ALONE, NEVER_SEEN, source_words, start_of
from vedette.core.urls.admission import blocked_by
from vedette.core.urls.canonical import canonical, host_of, lane_of, too_long, watch_id
from vedette.core.urls.classify import Classification, auto_source
from vedette.operations.installation import Installation
from vedette.store.connection import StorePlace
from vedette.store.legacy_sentinel import CHUNK, OldItem, OldStore, old_store
from vedette.store.migrate import prepare_place
from vedette.store.operator import operating, order, save_source, save_watches

OnItems = Callable[[int, int], None]  # how many so far, of how many
_METADATA = {  # spec 001/3.4, as SourceConfig takes it
    field.alias or name: name for name, field in SourceConfig.model_fields.items()
} | {name: name for name in SourceConfig.model_fields}


@dataclass(slots=True)
class Adopted:
    """What was done, or in a trial what would be."""

    items: int = 0
    columns: list[str] = field(default_factory=list)
    scheduled: int = 0
    deprecated: int = 0
    sources: int = 0  # new ones
    watches: int = 0  # new ones
    left_alone: int = 0  # SKIPPED there
    problems: list[tuple[str, str]] = field(default_factory=list)  # which row, why it was not taken


def adopt_store(
    installation: Installation,
    place: str,
    *,
    is_trial: bool = False,
    progress: OnItems = lambda done, whole: None,
) -> Adopted:
    """Take over the store at `place`, a file or the URL of a database.  A trial only says what would be done."""
    work = Adoption(
        loaded=installation.loaded,
        classify=installation.classify,
        now=installation.now(),
        on_items=progress,
    )
    return work.look(place) if is_trial else work.run(place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """One adoption: what it is done with."""

    loaded: Loaded
    classify: Callable[[str], Classification]
    now: datetime
    on_items: OnItems = lambda count, all_of_them: None

    def look(self, place: str) -> Adopted:
        """What would be done.  Changes nothing."""
        with old_store(place) as old:
            return Adopted(items=old.count(), columns=old.missing_columns(), scheduled=old.unscheduled())

    def run(self, place: str) -> Adopted:
        """Phases 1 to 4 in the old store, then sources and watches in ours."""
        done = Adopted()
        start = partial(start_of, now=self.now, classify=self.classify)
        with old_store(place) as old:
            done.items = old.count()
            done.columns = old.add_columns()
            done.scheduled = old.schedule(start)
            done.deprecated = old.deprecate_frequency(self.now)
            path = prepare_place(self.loaded.data, self.loaded.store)
            sources = self._sources(old, path, done)
            self._items(old, path, sources, done)
        return done

    def _sources(self, old: OldStore, path: StorePlace, done: Adopted) -> dict[str, Source]:
        """By endpoint id."""
        found: dict[str, Source] = {}
        for endpoint in old.endpoints():
            name = f"endpoint {endpoint.get('id')}"
            try:
                source = _source(endpoint, done)
            except (KeyError, ValueError, ConfigError) as error:
                done.problems.append((name, _words(error)))
                continue
            found[str(endpoint.get("id"))] = source
        with operating(path) as db:
            for source in found.values():
                done.sources += save_source(db, source, now=self.now, classify=self.classify)
        return found

    def _items(self, old: OldStore, path: StorePlace, sources: dict[str, Source], done: Adopted) -> None:
        by_host: dict[str, Source] = {}
        items, count, known = old.items(), 0, 0
        while chunk := list(islice(items, CHUNK)):
            watches = list(self._watches(chunk, sources, by_host, done))
            fresh, known = list(by_host.values())[known:], len(by_host)
            with operating(path) as db:
                for source in fresh:
                    done.sources += save_source(db, source, now=self.now, classify=self.classify)
                done.watches += save_watches(db, watches)
                for lane in sorted({watch.lane for watch in watches}):
                    order(db, "due", lane, now=self.now)
            count += len(chunk)
            self.on_items(count, done.items)

    def _watches(
        self, chunk: list[OldItem], sources: Mapping[str, Source], by_host: dict[str, Source], done: Adopted
    ) -> Iterator[Watch]:
        blocked = self.loaded.config.discover.blocked_words
        for item in chunk:
            if item.text("status") in LEFT_ALONE:
                done.left_alone += 1
                continue
            url = canonical(item.url)
            host = host_of(url) if url else ""
            word = blocked_by(host, blocked) if host else None
            if url is None or word:
                why = too_long(item.url) or "not an http or https URL"
                why = f"the host is blocked by the word {word!r}" if word else why
                done.problems.append((f"item {item.id}", f"{why}: {item.url[:200]}"))
                continue
            source = sources.get(item.text("endpointId")) or by_host.get(host)
            if source is None:
                source = by_host[host] = auto_source(host)
            try:
                yield self._watch(item, url, source)
            except ValueError as error:
                done.problems.append((f"item {item.id}", str(error)))

    def _watch(self, item: OldItem, url: str, source: Source) -> Watch:
        """Raises ValueError for a row whose words or dates are none."""
        said = item.row
        is_new = item.text("status") in NEVER_SEEN
        return Watch(
            id=watch_id(url),
            url=url,
            lane=lane_of(url),
            source=SourceId(source.id),
            title=item.text("title"),
            node_type=NodeType(said["nodeType"] or "LEAF"),
            node_role=NodeRole(said["nodeRole"]) if said["nodeRole"] else None,
            risk=source.risk if source.risk is not None else Risk.parse(said["freshnessRisk"] or "MEDIUM"),
            velocity=min(1.0, max(0.0, item.number("changeFrequency"))),
            scan_count=int(item.number("scanCount")),
            last_changed_at=item.date("lastChangedAt"),
            due_at=(self.now if is_new else item.date("nextScanDue")) if source.is_active else None,
            depth=int(item.number("depth")),
            created_at=item.date("createdAt") or self.now,
            published_at=item.date("publishedAt"),
            last_visit_at=item.date("processedAt"),
            last_outcome=Outcome.OK if item.text("status") in {"FETCHED", "PROCESSED"} else None,
            attempt=int(item.number("retryCount")) if item.text("status") == "FAILED" else 0,
        )


def _source(endpoint: Mapping[str, Any], done: Adopted) -> Source:
    words = source_words(endpoint)
    for name, word in endpoint["metadata"].items():
        if name in _METADATA:
            words[_METADATA[name]] = word
        else:
            done.problems.append((f"endpoint {endpoint.get('id')}", f"metadata {name!r} is not carried over"))
    try:
        return source_of(SourceConfig(**words), where=f"endpoint {endpoint.get('id')}", origin="adopt")
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"`{'.'.join(str(part) for part in first['loc'])}`: {first['msg']}") from None


def _words(error: Exception) -> str:
    return f"it has no {error.args[0]}" if isinstance(error, KeyError) else str(error)
