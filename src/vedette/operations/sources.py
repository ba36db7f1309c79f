"""Sources as they stand: of the store, and of vedette.yaml what the store does not have yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vedette.core.health.remedies import advice
from vedette.core.health.source_check import Checked
from vedette.core.lanes.outcomes import SEEN
from vedette.operations.configured_sources import views_not_taken_in
from vedette.operations.installation import Installation
from vedette.store.views import SourceView

COVERING = ("crawl", "html_list", "pagination")  # listers that reach what lies under their address


@dataclass(frozen=True, slots=True)
class ListedSource:
    view: SourceView
    shares: Mapping[
        str, int
    ]  # by other source, its pages under the address of this one: a page is watched once


def list_sources(installation: Installation, tag: str | None = None) -> list[ListedSource]:
    """Every source, or those with a tag; highest tier first."""
    found = _all_sources(installation)
    shares = _shares(installation, found)
    named = installation.tagged(tag)
    return [
        ListedSource(view, shares.get(view.source.id, {}))
        for view in found
        if named is None or view.source.id in named
    ]


def source_json(one: ListedSource) -> dict[str, object]:
    view, source, state = one.view, one.view.source, one.view.state
    return {
        "id": source.id,
        "name": source.name,
        "url": source.url,
        "lister": source.lister.value,
        "read_as": None if view.read_as is None else view.read_as.value,
        "risk": None if source.risk is None else source.risk.name,
        "tier": source.tier.name,
        "active": source.is_active,
        "origin": source.origin,
        "category": source.registered.category or None,
        "hierarchy": source.registered.hierarchy,
        "domains": list(source.registered.domains),
        "provenance": source.registered.provenance or None,
        "tags": list(source.registered.tags),
        "note": source.registered.note or None,
        "muted_until": source.muted_until,
        "watches": view.watches,
        "failures": state.failures,
        "last_error": last_error(view),
        "last_success_at": view.last_success_at,
        "outcome": None if view.last_outcome is None else view.last_outcome.value,
        "remedy": remedy(view) or None,
        "closed_until": state.closed_until,
        "created_at": view.created_at,
        "shares": one.shares,
    }


def checked_json(one: Checked) -> dict[str, object]:
    look = one.look
    return {
        "id": look.source.id,
        "url": look.source.url,
        "provenance": look.source.registered.provenance or None,
        "lister": look.source.lister.value,
        "finding": one.finding.value,
        "words": one.words,
        "outcome": look.outcome.value,
        "status": look.status,
        "answered": look.answered,
        "moved_for_good": look.has_moved and look.is_permanent,
        "looks_like": look.looks_like.value if look.looks_like else None,
        "items": look.items,
    }


def last_error(view: SourceView) -> str | None:
    """Why the last look at its own address did not show it."""
    outcome = view.last_outcome
    if outcome is None or outcome in SEEN:
        return view.state.last_error or None
    return f"{outcome.value}: {view.last_detail}" if view.last_detail else outcome.value


def remedy(view: SourceView) -> str:
    """What to do about it; empty: nothing."""
    if view.last_outcome is None:
        return ""
    return advice(view.last_outcome, url=view.source.url, detail=view.last_detail)


def _all_sources(installation: Installation) -> list[SourceView]:
    found = views_not_taken_in(installation)
    if not found or installation.has_store:
        with installation.queries() as queries:
            found += queries.sources()
    return sorted(found, key=lambda view: (-view.source.tier, view.source.id))


def _shares(installation: Installation, found: Sequence[SourceView]) -> Mapping[str, Mapping[str, int]]:
    """What lies under the address of a source that lists, and belongs to another."""
    listing = [view.source for view in found if view.source.lister.value in COVERING and view.watches]
    if len(found) < 2 or not listing:
        return {}
    with installation.queries() as queries:
        return queries.shared_pages(listing)
