"""Providers of ours before the played ones, on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from vedette.contracts.fetch import FetchSettings
from vedette.contracts.panel_run import Prompt
from vedette.contracts.words import Secret
from vedette.fetch.http import HttpFetcher
from vedette.livingweb.providers import TWELVE, FaultRule, LivingProviders
from vedette.providers.caller import HttpProvider
from vedette.providers.provider_table import PROVIDERS, ProviderRow
from vedette.telemetry.clock import SystemClock

KEY = Secret("sk-planted-7Qf3/xZ9bL2vN8wK4mR6t")
ABOUT = Prompt(
    prompt_type="about",
    text="What do you know about the organisation behind {domain}, its registers and its opening hours?",
)
O_NJOJ = Prompt(
    prompt_type="o", text="Što znaš o ustanovi koja stoji iza {domain}, čemu služe njezini registri?"
)


def at_home(row: ProviderRow, town: LivingProviders) -> ProviderRow:
    """The row with its base URL on loopback."""
    return replace(row, base_url=town.origin(row.name) + urlsplit(row.base_url).path)


class Panel:
    """All twelve by one key each."""

    def __init__(self, town: LivingProviders, fetcher: HttpFetcher, settings: FetchSettings) -> None:
        self.town, self.fetcher, self.settings = town, fetcher, settings
        self.by_name = {row.name: self.caller(row) for row in PROVIDERS if row.name in town.hosts}

    def caller(self, row: ProviderRow, key: Secret = KEY) -> HttpProvider:
        return HttpProvider(at_home(row, self.town), key, fetcher=self.fetcher, settings=self.settings)


@asynccontextmanager
async def panel(*faults: str, **options: Any) -> AsyncIterator[Panel]:
    """`faults` strike every request of every provider."""
    rules = tuple(FaultRule(kind=kind) for kind in faults)
    specs = [replace(spec, faults=rules) for spec in options.pop("specs", TWELVE)]
    total = options.pop("total_timeout", timedelta(seconds=5))
    async with LivingProviders(specs, latency=0.0, **options) as town:
        settings = FetchSettings(
            allow_networks=("127.0.0.0/8",), allow_ports=(town.port,), total_timeout=total, read_timeout=total
        )
        fetcher = HttpFetcher(SystemClock())
        try:
            yield Panel(town, fetcher, settings)
        finally:
            await fetcher.close()
