"""What is watched, for other tools: sources, every known URL, or the signals that `vedette rank` scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vedette.contracts.errors import InputError
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import Watch
from vedette.contracts.words import NodeType, SourceId
from vedette.core.priority.score import UrlSignals
from vedette.core.text.nearest import unknown
from vedette.operations.configured_sources import not_taken_in
from vedette.operations.formats import write
from vedette.operations.formats.signals import WRITERS
from vedette.operations.installation import Installation
from vedette.operations.source_keys import slug_of
from vedette.store.views import WatchFilter


@dataclass(frozen=True, slots=True)
class SourceExport:
    text: str
    count: int


def export_sources(installation: Installation, what: str, form: str) -> SourceExport:
    """`what`: sources, watches or signals.  `form`: what `vedette import` or `vedette rank` reads back."""
    if what not in EXPORTS:
        raise InputError(f"--what: {unknown('kind of export', what, EXPORTS)}")
    return EXPORTS[what](installation, form)


def _sources(installation: Installation, form: str) -> SourceExport:
    with installation.queries() as queries:
        found = [view.source for view in queries.sources()]
    sources = sorted([*found, *not_taken_in(installation)], key=lambda source: source.id)
    return SourceExport(write(sources, form), len(sources))


def _watches(installation: Installation, form: str) -> SourceExport:
    with installation.queries() as queries:
        asking = queries.asking()
        sources = [_as_source(watch, asking.get(watch.url)) for watch in queries.watches(WatchFilter())]
    return SourceExport(write(sources, form), len(sources))


def _signals(installation: Installation, form: str) -> SourceExport:
    if form not in WRITERS:
        raise InputError(f"--format: signals are written as {' or '.join(WRITERS)}, not {form!r}")
    with installation.queries() as queries:
        rows = [_signals_of(watch) for watch in queries.watches(WatchFilter(only_kept=True))]
    return SourceExport(WRITERS[form](rows), len(rows))


EXPORTS: dict[str, Callable[[Installation, str], SourceExport]] = {
    "sources": _sources,
    "watches": _watches,
    "signals": _signals,
}


def _as_source(watch: Watch, asking: Source | None) -> Source:
    return Source(
        id=SourceId(slug_of(watch.url)),
        name=watch.title or slug_of(watch.url),
        url=watch.url,
        lister=watch.lister or ListerKind.PAGE,
        risk=watch.risk,
        every=asking.every if asking else None,
        scrape_frequency=asking.scrape_frequency if asking else None,
    )


def _signals_of(watch: Watch) -> UrlSignals:
    """002's fields, as the store knows them.  Nothing here judges topics, so `topic_relevance` is left at 0."""
    return UrlSignals(
        url=watch.url,
        visits=watch.scan_count,
        last_visited=watch.last_visit_at,
        last_changed=watch.last_changed_at,
        hub_depth=watch.depth,
        is_hub=watch.node_type is NodeType.HUB,
    )
