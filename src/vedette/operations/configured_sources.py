"""Sources of vedette.yaml, which are watched from the moment they are written down; the store has them from the next
run on."""

from __future__ import annotations

from vedette.config.policies import sources_of
from vedette.contracts.source import Source
from vedette.contracts.watch import SourceState
from vedette.core.urls.canonical import watch_id
from vedette.operations.installation import Installation
from vedette.store.views import SourceView


def not_taken_in(installation: Installation) -> list[Source]:
    """Those that the store does not know yet."""
    config = installation.loaded.config
    if not config.sources:
        return []  # at no cost, for every verb asks
    written = list(sources_of(config))
    if not installation.has_store:
        return written
    with installation.queries() as queries:
        known = set(queries.source_ids())
    return [source for source in written if source.id not in known]


def views_not_taken_in(installation: Installation) -> list[SourceView]:
    """The same as the store would show them."""
    now = installation.now()
    return [
        SourceView(source=source, state=SourceState(source=source.id), created_at=now)
        for source in not_taken_in(installation)
    ]


def written_url(installation: Installation, url: str) -> Source | None:
    """The source of vedette.yaml with this address that the store does not know yet."""
    number = watch_id(url)
    return next((source for source in not_taken_in(installation) if watch_id(source.url) == number), None)
