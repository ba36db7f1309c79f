"""Protocols: what the engine needs from the outside, and nothing more."""

from __future__ import annotations

import asyncio
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

    async def pause(self, wake: asyncio.Event, until: datetime | None, *, is_busy: bool) -> None:
        """Return when `wake` is set or the time has come.  A jumping clock jumps there unless `is_busy`."""
        ...


class Fetcher(Protocol):
    """Asks one URL, one hop.  Never raises for weather."""

    async def fetch(self, request: FetchRequest) -> Fetched: ...

    async def close(self) -> None: ...
