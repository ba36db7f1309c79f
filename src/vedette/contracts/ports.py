"""Protocols: what the engine needs from the outside, and nothing more."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from vedette.contracts.fetching import Fetched, FetchRequest


class Clock(Protocol):
    """The only home of time and chance."""

    def now(self) -> datetime:
        """Aware UTC."""
        ...

    def chance(self) -> float:
        """A number in [0, 1)."""
        ...


class Fetcher(Protocol):
    """Asks one URL, one hop.  Never raises for weather."""

    async def fetch(self, request: FetchRequest) -> Fetched: ...

    async def close(self) -> None: ...
