"""What was parked because a tool was missing (tesseract, kreuzberg, a browser) is looked at again once it is there."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from vedette.contracts.errors import StoreError
from vedette.contracts.ports import Clock
from vedette.extract.ocr import missing_tools
from vedette.fetch.browser import find_browser
from vedette.store.connection import connect
from vedette.store.operator import operating, parked_for_tools, retry_for_tools

EVERY_S = 300.0  # installations happen in real time, whatever clock the run goes by


@dataclass(slots=True)
class ToolWatch:
    path: Path  # of the database
    languages: str
    clock: Clock
    _missing: frozenset[str] | None = (
        None  # when we looked last; a tool that does not work is not tried for ever
    )

    async def retry(self) -> int:
        """Makes due what no longer waits for a tool; how many.  Asks for no tool while nothing waits."""
        if not await asyncio.to_thread(self._waits):
            return 0
        missing = await missing_tools(self.languages) | {find_browser()[1]}
        is_news, self._missing = missing != self._missing, missing
        return await asyncio.to_thread(self._retry, missing) if is_news else 0

    async def keep_on(self) -> None:
        """The same from time to time, for a run that goes on for months."""
        while True:
            await asyncio.sleep(EVERY_S)
            with suppress(StoreError, sqlite3.Error):  # the run itself says what is wrong with the store
                await self.retry()

    def _waits(self) -> bool:
        with closing(connect(self.path, read_only=True)) as db:
            return bool(parked_for_tools(db))

    def _retry(self, missing: frozenset[str]) -> int:
        with operating(self.path) as db:
            return retry_for_tools(db, missing, now=self.clock.now())
