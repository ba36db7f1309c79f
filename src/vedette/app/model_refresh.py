"""The configured providers asked: a caller for each key, and the models that each provider lists today."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from vedette.app.configured_providers import ProviderListing, asked_models, house_of, panellists, with_table
from vedette.config.model import Config, Loaded
from vedette.config.policies import fetch_settings
from vedette.contracts.ports import Clock, Fetcher
from vedette.core.panel.models import ModelRow, refresh
from vedette.fetch.http import HttpFetcher
from vedette.providers.caller import TIMEOUT, HttpProvider, ModelListing
from vedette.store.connection import StorePlace
from vedette.store.operator import operating
from vedette.store.panel.lane_ledger import read_models, save_models
from vedette.telemetry.wall_clock import SystemClock


def callers(config: Config, fetcher: Fetcher, timeout: timedelta | None = None) -> Iterator[HttpProvider]:
    """One per provider and key, ready to be asked, each with a lane of its own."""
    most = timeout or TIMEOUT
    settings = replace(fetch_settings(config), read_timeout=most, total_timeout=most)
    for one in panellists(config):
        for number, key in enumerate(one.keys, start=1):
            yield HttpProvider(one.row, key, fetcher=fetcher, settings=settings, number=number)


def list_models(
    loaded: Loaded,
    known: Sequence[ModelRow],
    *,
    clock: Clock | None = None,
    make: Callable[[Clock], Fetcher] | None = None,
) -> tuple[tuple[ModelRow, ...], tuple[ProviderListing, ...]]:
    """The registry after the roll was called, and what is worth telling.  Blocking."""
    return asyncio.run(_call_roll(loaded, known, clock or SystemClock(), make or HttpFetcher))


def refresh_models(loaded: Loaded, path: StorePlace, *, clock: Clock) -> tuple[ProviderListing, ...]:
    """Calls the roll and keeps what was heard.  Blocking; the store is not held while the providers are asked."""
    with operating(path) as db:
        known = read_models(db)
    registry, called = list_models(loaded, known, clock=clock)
    with operating(path) as db:
        save_models(db, registry)
    return called


async def _call_roll(
    loaded: Loaded, known: Sequence[ModelRow], clock: Clock, make: Callable[[Clock], Fetcher]
) -> tuple[tuple[ModelRow, ...], tuple[ProviderListing, ...]]:
    fetcher = make(clock)
    try:
        by_house: dict[str, HttpProvider] = {}
        for caller in callers(loaded.config, fetcher):
            by_house.setdefault(house_of(caller.row), caller)
        listings = await asyncio.gather(*(caller.listing() for caller in by_house.values()))
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
