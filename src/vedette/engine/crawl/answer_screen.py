"""What must not be kept, at the one place through which every answer comes: the fetcher.

Pages, robots.txt, redirects, error pages and all that a browser asks for are screened as they came, before anything
else sees them.  A host that served such a thing is asked nothing afterwards, in this run and in later ones.  A run
without a table and without blocked hosts has no such fetcher.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from vedette.contracts.fetch import Fetched, FetchRequest
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.words import Outcome
from vedette.core.evidence.screen import (
    UNNAMED,
    Screened,
    ScreenTable,
    breadcrumb,
    host_hash,
    screen_answer,
    screen_url,
    scrubbed,
)
from vedette.core.urls.canonical import host_of

BLOCKED = "its host is on the blocklist"
ON_THE_LOOP = 32 * 1024  # bytes; a larger body is screened beside it


@dataclass(slots=True)
class AnswerScreen:
    """The table, the hosts that are asked nothing, and where a breadcrumb goes before anything else happens."""

    table: ScreenTable
    blocked: set[str]  # hashes of names
    remember: Callable[[Screened], None]

    @property
    def is_empty(self) -> bool:
        return self.table.is_empty

    @property
    def is_idle(self) -> bool:
        """True where nothing can ever be refused."""
        return self.table.is_empty and not self.blocked

    def block(self, crumb: Screened) -> None:
        """Lasting when this returns."""
        self.remember(crumb)
        self.blocked.add(crumb.host_hash)

    def is_blocked(self, url: str) -> bool:
        return bool(self.blocked) and host_hash(host_of(url)) in self.blocked

    def refuses(self, url: str) -> bool:
        """True where no row may be made of an address: its host is blocked, or it is itself what is screened."""
        return self.is_blocked(url) or screen_url(url, self.table) is not None


class ScreeningFetcher:
    """Implements `contracts.ports.Fetcher`."""

    def __init__(self, fetcher: Fetcher, screening: AnswerScreen, clock: Clock) -> None:
        self._fetcher = fetcher
        self._screening = screening
        self._clock = clock

    async def fetch(self, request: FetchRequest) -> Fetched:
        screening, table = self._screening, self._screening.table
        row = screen_url(request.url, table)
        if row is not None:
            screening.block(breadcrumb(row, request.url, at=self._clock.now()))
            return self._unasked(UNNAMED, f"{row.category}: {row.name}")
        if screening.is_blocked(request.url):
            return self._unasked(request.url, BLOCKED)
        fetched = await self._fetcher.fetch(request)
        if table.is_empty:
            return fetched
        if len(fetched.body) <= ON_THE_LOOP:
            row = screen_answer(fetched, table)
        else:
            row = await asyncio.to_thread(screen_answer, fetched, table)
        if row is None:
            return fetched
        screening.block(breadcrumb(row, fetched.url, at=fetched.at))
        return scrubbed(fetched, row, table)

    async def close(self) -> None:
        await self._fetcher.close()

    def _unasked(self, url: str, words: str) -> Fetched:
        return Fetched(
            url=url, outcome=Outcome.SCREENED, at=self._clock.now(), took=timedelta(0), detail=words
        )
