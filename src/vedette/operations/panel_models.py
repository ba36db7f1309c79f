"""Which models the providers have, and what became of those that went."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.app.configured_providers import (
    ProviderListing,
    asked_models,
    panellists,
    with_table,
)
from vedette.core.panel.models import ModelRow, resolve_alias
from vedette.operations.installation import Installation
from vedette.store.panel.lane_ledger import read_models, save_models


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelModels:
    shown: tuple[ModelRow, ...]
    refreshed: tuple[ProviderListing, ...]  # of each provider that was asked now
    asked: frozenset[str]  # names that the panel asks
    is_any_gone: bool  # of those


def panel_models(
    installation: Installation, *, model: str | None = None, refresh: bool = False, every: bool = False
) -> PanelModels:
    """Those that the panel asks, every one that is known, or one by any of its names.

    `refresh`: every provider that has a key is asked once which models it has now.
    """
    rows = [one.row for one in panellists(installation.loaded.config)]
    called: tuple[ProviderListing, ...] = ()
    with installation.operating(create=True) as db:
        known = read_models(db)
    registry = with_table(known, rows)
    if refresh:
        from vedette.app.model_refresh import list_models  # what fetches, which reading does without

        registry, called = list_models(installation.loaded, known, clock=installation.clock)
        with installation.operating() as db:
            save_models(db, registry)
    asked = asked_models(rows)
    shown = [row for row in registry if every or row.name in asked]
    return PanelModels(
        shown=tuple(shown) if model is None else (resolve_alias(model, registry),),
        refreshed=called,
        asked=asked,
        is_any_gone=any(row.retired_at is not None for row in registry if row.name in asked),
    )


def models_json(found: PanelModels) -> dict[str, object]:
    return {
        "models": [_model_json(row, found.asked) for row in found.shown],
        "refreshed": [_listing_json(one) for one in found.refreshed],
    }


def _model_json(row: ModelRow, asked: frozenset[str]) -> dict[str, object]:
    return {
        "name": row.name,
        "provider": row.provider,
        "wire_name": row.wire_name,
        "aliases": row.aliases,
        "is_asked": row.name in asked,
        "first_seen_at": row.first_seen_at,
        "last_seen_at": row.last_seen_at,
        "retired_at": row.retired_at,
        "successor": row.successor,
        "answered": row.answered,
        "failed": row.failed,
        "reliability": round(row.weight, 4),
    }


def _listing_json(called: ProviderListing) -> dict[str, object]:
    findings = [{"kind": f.kind, "name": f.name, "successor": f.successor} for f in called.findings]
    return {
        "provider": called.house,
        "outcome": called.outcome,
        "detail": called.detail,
        "listed": called.listed,
        "findings": findings,
    }
