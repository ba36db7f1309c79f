"""Protocols: what the engine needs from the outside, and nothing more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from vedette.contracts.fetching import Fetched, FetchRequest, FetchSettings


class Wake(Protocol):
    """Something that another part sets when there is news (an `asyncio.Event`)."""

    def is_set(self) -> bool: ...
    def set(self) -> None: ...
    async def wait(self) -> object: ...


class Clock(Protocol):
    """The only home of time and chance."""

    def now(self) -> datetime:
        """Aware UTC."""
        ...

    def chance(self) -> float:
        """A number in [0, 1)."""
        ...

    def stopwatch(self) -> Callable[[], timedelta]:
        """Starts now; a call tells the time since, of this machine and not of a calendar."""
        ...

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        """Return when `wake` is set or the time has come.  A jumping clock jumps there unless `is_busy`."""
        ...


class Fetcher(Protocol):
    """Asks one URL, one hop.  Never raises for weather."""

    async def fetch(self, request: FetchRequest) -> Fetched: ...

    async def close(self) -> None: ...


class Renderer(Protocol):
    """Shows a page that came as scripts make it.  Never raises for weather."""

    def problem(self) -> str:
        """What is missing and how to get it; empty: it can be asked."""
        ...

    async def render(self, fetched: Fetched, settings: FetchSettings) -> Fetched:
        """The same answer with another body; `parse_failed`: it could not be shown."""
        ...

    async def close(self) -> None: ...
