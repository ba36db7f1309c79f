"""The panel's store for an event loop: writes in one thread, reads in another, so that neither waits for the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TypeVar, TypeVarTuple

from vedette.contracts.panel_run import BatchId, PanelGroup
from vedette.store.panel.batches import PanelStore

_Given = TypeVarTuple("_Given")
_Found = TypeVar("_Found")


class ThreadedPanelLog:
    """Implements `contracts.panel_run.PanelLog`."""

    def __init__(
        self, writer: PanelStore, reader: PanelStore, stopwatch: Callable[[], Callable[[], timedelta]]
    ) -> None:
        self._writer, self._reader = writer, reader
        self._stopwatch = stopwatch
        self.groups = self.rows = 0
        self.writing = timedelta(0)
        self._write = ThreadPoolExecutor(1, thread_name_prefix="panel-write")
        self._read = ThreadPoolExecutor(1, thread_name_prefix="panel-read")

    async def domains(self, batch: BatchId, first: int, count: int) -> Sequence[tuple[str, str]]:
        return await self._reading(self._reader.domains, batch, first, count)

    async def settled(self, batch: BatchId, first: int, last: int) -> frozenset[int]:
        return await self._reading(self._reader.settled, batch, first, last)

    async def is_stopped(self, batch: BatchId) -> bool:
        return await self._reading(self._reader.is_stopped, batch)

    async def write(self, group: PanelGroup) -> float | None:
        took = self._stopwatch()
        spent = await asyncio.get_running_loop().run_in_executor(self._write, self._writer.write, group)
        self.groups += 1
        self.rows += len(group.rows)
        self.writing += took()
        return spent

    def close(self) -> None:
        """Waits for what is being written.  The stores stay open."""
        self._write.shutdown()
        self._read.shutdown()

    async def _reading(self, call: Callable[[*_Given], _Found], *given: *_Given) -> _Found:
        return await asyncio.get_running_loop().run_in_executor(self._read, call, *given)
