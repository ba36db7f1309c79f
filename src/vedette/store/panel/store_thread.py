"""The panel's store for an event loop (one thread writes, one reads), and the file of cells that were asked."""

from __future__ import annotations

import asyncio
import hashlib
import os
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from vedette.contracts.panel_run import BatchId, CellNumber, PanelGroup
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


# Which cells were asked: a file of numbers beside the store, written as each question goes out.
#
# It is not synced, so it costs nothing and survives the kill of the process, not of the machine.  With it a resume
# knows what was under way when the run died; without it, only what was leased.

_NUMBER = struct.Struct("<q")


def asked_path(data: Path, batch: BatchId) -> Path:
    """Of one batch.  The id may come from another machine: its digest is a safe name."""
    return data / f"panel-asked-{hashlib.sha256(batch.encode()).hexdigest()[:16]}"


def asked_cells(path: Path) -> frozenset[int] | None:
    """What the last run asked; None: no run of this machine died over the batch."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    whole = len(data) - len(data) % _NUMBER.size
    return frozenset(number for (number,) in _NUMBER.iter_unpack(data[:whole]))


class AskedJournal:
    """Open while a run goes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def note(self, cell: CellNumber) -> None:
        os.write(self._file, _NUMBER.pack(cell))

    def close(self, *, is_clean: bool) -> None:
        """After a clean end nothing was under way."""
        os.close(self._file)
        if is_clean:
            self._path.unlink(missing_ok=True)
