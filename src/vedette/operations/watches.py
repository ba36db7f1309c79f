"""Watches: one by its URL, those that fit a filter, and every look at one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vedette.contracts.errors import InputError
from vedette.contracts.source import Source
from vedette.contracts.watch import Visit, Watch
from vedette.contracts.words import VisitId
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import host_of
from vedette.operations.arguments import TOLD, a_url
from vedette.operations.installation import Installation
from vedette.operations.known_watch import known_watch
from vedette.store.rows import opt_iso
from vedette.store.views import ChangeFilter, WatchFilter, WatchLine


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchList:
    watches: tuple[WatchLine, ...]
    total: int  # that fit, shown or not
    asking: Mapping[str, Source]  # by URL, the source that asks for an interval

    @property
    def unseen(self) -> list[WatchLine]:
        return [watch for watch in self.watches if is_unseen(watch)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchHistory:
    watch: Watch
    visits: tuple[Visit, ...]  # newest first
    changes: Mapping[VisitId, int]  # the number of the change that a look was the first to show


def list_watches(installation: Installation, which: WatchFilter, limit: int) -> WatchList:
    """Those that fit, at most `limit` of them; 0: all."""
    with installation.queries() as queries:
        found = queries.watch_lines(which, most=limit)
        total = queries.count_watches(which) if limit and len(found) == limit else len(found)
        asking = queries.asking() if found else {}
    return WatchList(watches=tuple(found), total=total, asking=asking)


def history_of(installation: Installation, url: str, limit: int) -> WatchHistory:
    """Every look at a URL, at most `limit` of them; 0: all."""
    with installation.queries() as queries:
        watch = known_watch(installation, queries, url)
        visits = queries.visits(watch.id, most=limit)
        told = [view.change for view in queries.changes(ChangeFilter(watch=watch.id, states=TOLD))]
        numbers = queries.change_numbers([change.id for change in told])
    changes = {change.after_visit: numbers[change.id] for change in told}
    return WatchHistory(watch=watch, visits=tuple(visits), changes=changes)


def watched_host(installation: Installation, word: str) -> str:
    """A host that is watched, in any spelling; the error names the nearest."""
    host = host_of(a_url(f"http://{word.strip()}/"))
    with installation.queries() as queries:
        known = {lane.removeprefix("host:") for lane in queries.host_lanes()}
    if host not in known:
        raise InputError(f"--host: {unknown('host', word, known)}; `vedette lanes` lists them")
    return host


def is_unseen(watch: WatchLine) -> bool:
    return watch.last_outcome is not None and watch.last_outcome not in SEEN


def watches_json(found: WatchList) -> list[dict[str, object]]:
    """All at once: a list of all watches has tens of thousands."""
    why = {outcome.value: "" if outcome in SEEN else said.words for outcome, said in MEANING.items()}
    return [
        {
            "url": watch.url,
            "title": watch.title,
            "source": watch.source,
            "lister": watch.lister,
            "node_type": watch.node_type,
            "role": watch.node_role,
            "risk": watch.risk.name,
            "velocity": watch.velocity,
            "interval": float(watch.interval_s),
            "every": source.every if source else None,
            "scrape_frequency": source.scrape_frequency if source else None,
            "due_at": opt_iso(watch.due_ms),
            "outcome": watch.outcome or None,
            "why": why[watch.outcome] if watch.outcome else "",
            "last_visit_at": opt_iso(watch.visited_ms),
            "last_changed_at": opt_iso(watch.changed_ms),
        }
        for watch in found.watches
        for source in (found.asking.get(watch.url),)
    ]
