"""Which models do the providers have today?  Asks each house once, and compares with what the registry knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vedette.app.configured_providers import callers, panellists
from vedette.config.model import Loaded
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.words import Outcome
from vedette.core.panel.models import ModelFinding, ModelRow, canonical_name, refresh
from vedette.providers.table import ProviderRow
from vedette.store.operator import operating
from vedette.store.panel.lane_ledger import count_calls, read_models, save_models
from vedette.telemetry.wall_clock import SystemClock

if TYPE_CHECKING:
    from vedette.providers.caller import HttpProvider, ModelListing


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderListing:
    """What one house answered."""

    house: str
    outcome: Outcome | None  # None: it was not asked
    detail: str = ""
    listed: int = 0
    findings: tuple[ModelFinding, ...] = ()


def list_models(
    loaded: Loaded,
    known: Sequence[ModelRow],
    *,
    clock: Clock | None = None,
    make: Callable[[Clock], Fetcher] | None = None,
) -> tuple[tuple[ModelRow, ...], tuple[ProviderListing, ...]]:
    """The registry after the roll was called, and what is worth telling.  Blocking."""
    import asyncio

    from vedette.fetch.http import HttpFetcher

    return asyncio.run(_call_roll(loaded, known, clock or SystemClock(), make or HttpFetcher))


def refresh_models(loaded: Loaded, path: Path, *, clock: Clock) -> tuple[ProviderListing, ...]:
    """Calls the roll and keeps what was heard.  Blocking; the store is not held while the providers are asked."""
    with operating(path) as db:
        known = read_models(db)
    registry, called = list_models(loaded, known, clock=clock)
    with operating(path) as db:
        save_models(db, registry)
    return called


def with_table(known: Iterable[ModelRow], rows: Iterable[ProviderRow]) -> tuple[ModelRow, ...]:
    """The registry, and the models that the panel asks, each under the name that spec 003 gives it as an alias."""
    merged = {row.name: row for row in known}
    for row in rows:
        name = canonical_name(row.name, row.model)
        model = merged.get(name) or ModelRow(name=name, provider=house_of(row), wire_name=row.model)
        aliases = dict.fromkeys((*model.aliases, *((row.name,) if row.name != name else ())))
        merged[name] = replace(model, aliases=tuple(aliases))
    return tuple(merged[name] for name in sorted(merged))


def note_calls(
    db: sqlite3.Connection, rows: Sequence[ProviderRow], counted: Mapping[str, tuple[int, int]]
) -> None:
    """Adds to what is known of reliability: by spec 003's name of a provider, calls answered and calls failed.

    Failed is what `core.panel.models.is_failure` says; a model that the registry does not have yet is added to it.
    """
    save_models(db, with_table(read_models(db), rows))
    names = {row.name: canonical_name(row.name, row.model) for row in rows}
    count_calls(db, {names[name]: both for name, both in counted.items() if name in names})


def asked_models(rows: Iterable[ProviderRow]) -> frozenset[str]:
    return frozenset(canonical_name(row.name, row.model) for row in rows)


def house_of(row: ProviderRow) -> str:
    return row.name.partition("/")[0]


async def _call_roll(
    loaded: Loaded, known: Sequence[ModelRow], clock: Clock, make: Callable[[Clock], Fetcher]
) -> tuple[tuple[ModelRow, ...], tuple[ProviderListing, ...]]:
    from asyncio import gather

    fetcher = make(clock)
    try:
        by_house: dict[str, HttpProvider] = {}
        for caller in callers(loaded.config, fetcher):
            by_house.setdefault(house_of(caller.row), caller)
        listings = await gather(*(caller.listing() for caller in by_house.values()))
    finally:
        await fetcher.close()
    rows = [one.row for one in panellists(loaded.config)]
    heard = dict(zip(by_house, listings, strict=True))
    registry, called = list(with_table(known, rows)), []
    for house in dict.fromkeys(map(house_of, rows)):
        told = heard.get(house)
        if told is None:
            variable = next(row.key_env for row in rows if house_of(row) == house)
            called.append(
                ProviderListing(house=house, outcome=None, detail=f"no key: set {variable or 'its keys'}")
            )
            continue
        registry, one = _heard(registry, house, told, asked_models(rows), clock.now())
        called.append(one)
    return tuple(sorted(registry, key=lambda row: row.name)), tuple(called)


def _heard(
    registry: list[ModelRow], house: str, told: ModelListing, asked: frozenset[str], now: datetime
) -> tuple[list[ModelRow], ProviderListing]:
    mine = [row for row in registry if row.provider == house]
    rest = [row for row in registry if row.provider != house]
    after, findings = refresh(mine, house, told.names, now=now, asked=asked)
    called = ProviderListing(
        house=house, outcome=told.outcome, detail=told.detail, listed=len(told.names), findings=findings
    )
    return [*rest, *after], called
