"""The watch that somebody means by a URL."""

from __future__ import annotations

from vedette.contracts.errors import VedetteError
from vedette.contracts.watch import Watch
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import a_url
from vedette.operations.configured_sources import written_url
from vedette.operations.installation import Installation
from vedette.store.queries import Queries


def known_watch(installation: Installation, queries: Queries, url: str) -> Watch:
    """The watch of a URL in any spelling, merged ones followed."""
    wanted = a_url(url)
    watch = queries.watch(watch_id(wanted))
    if watch is not None and watch.merged_into is not None:
        watch = queries.watch(watch.merged_into) or watch
    if watch is None and written_url(installation, wanted) is not None:
        raise VedetteError(f"{wanted} stands in vedette.yaml and was not looked at yet; type: vedette run")
    if watch is None:
        raise VedetteError(f"{wanted} is not watched; `vedette why-not {wanted}` says why")
    return watch
