"""Rows and leases on their way to the disk, in groups.

A cell is asked only once its lease is on disk, and is done only once its row is: a kill loses no cell, and asks
again no more than were leased.  A group is what came within `GATHER`, or while the last one was written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from vedette.contracts.lane import LaneState
from vedette.contracts.panel_run import (
    BatchId,
    CellNumber,
    CellRow,
    PanelGroup,
    PanelLog,
    PanelNote,
    Progress,
)
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Outcome

GATHER = 0.2  # seconds
GROUP = 200  # rows that are not waited beyond
BEHIND = 2000  # rows that wait at most before no new call starts
EVERY = timedelta(seconds=2)  # progress, for `status`

DirtyLanes = Callable[[], tuple[tuple[LaneKey, LaneState], ...]]


class GroupWriter:
    """One group at a time; whoever waits for a lease is woken after its commit."""

    def __init__(
        self, log: PanelLog, batch: BatchId, clock: Clock, lanes: DirtyLanes, progress: Callable[[], Progress]
    ) -> None:
        self._log = log
        self._batch = batch
        self._clock = clock
        self._lanes = lanes
        self._progress = progress
        self._progress_at: datetime | None = None
        self._rows: list[CellRow] = []
        self._leases: list[CellNumber] = []
        self._released: list[CellNumber] = []
        self._notes: list[PanelNote] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._news = asyncio.Event()
        self._full = asyncio.Event()
        self._is_closing = False
        self.unwritten = 0  # rows that no commit has yet
        self.on_written: Callable[[Sequence[CellRow]], None] = lambda rows: None
        self.on_spent: Callable[[float], None] = lambda usd: (
            None
        )  # by other runs of the batch, since the last word
        self._held: set[CellNumber] = set()  # leased, and neither settled nor given back

    @property
    def is_behind(self) -> bool:
        return self.unwritten >= BEHIND

    def row(self, row: CellRow) -> None:
        self._rows.append(row)
        self.unwritten += 1
        self._news.set()
        if len(self._rows) >= GROUP:
            self._full.set()

    def note(self, note: PanelNote) -> None:
        self._notes.append(note)
        self._news.set()

    def release(self, cells: Sequence[CellNumber]) -> None:
        self._released.extend(cells)
        self._news.set()

    async def lease(self, cells: Sequence[CellNumber]) -> None:
        """Returns once the leases are on disk."""
        self._leases.extend(cells)
        self._held.update(cells)
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._news.set()
        await waiter

    def tick(self) -> None:
        """Time for a word about the progress, also when no row came."""
        self._news.set()

    async def run(self) -> None:
        """Until closed.  What a failed write raises comes out here, and to everyone who waits for a lease."""
        try:
            while not (self._is_closing and not self._has_news()):
                await self._news.wait()
                if not self._is_closing:
                    await self._gather()
                self._news.clear()
                self._full.clear()
                await self._write()
        finally:
            for waiter in self._waiters:
                waiter.cancel()

    def close(self) -> None:
        """Write what is there, give every lease back, with a last word about the progress, and end."""
        self._released.extend(self._held.difference(row.cell for row in self._rows))
        self._is_closing = True
        self._progress_at = None
        self._news.set()
        self._full.set()

    async def _gather(self) -> None:
        if len(self._rows) < GROUP:
            try:
                async with asyncio.timeout(GATHER):
                    await self._full.wait()
            except TimeoutError:
                pass

    def _has_news(self) -> bool:
        return bool(self._rows or self._leases or self._released or self._notes) or self._news.is_set()

    async def _write(self) -> None:
        rows, leases, released, notes = self._rows, self._leases, self._released, self._notes
        waiters, given_back = self._waiters, set(released)
        self._rows, self._leases, self._released, self._notes, self._waiters = [], [], [], [], []
        group = PanelGroup(
            batch=self._batch,
            rows=tuple(rows),
            leases=tuple(cell for cell in leases if cell not in given_back),
            released=tuple(released),
            lanes=self._lanes(),
            notes=tuple(notes),
            progress=self._due_progress(rows),
        )
        try:
            spent = await self._log.write(group)
        except BaseException:
            self._waiters += waiters
            raise
        self.unwritten -= len(rows)
        self._held.difference_update(row.cell for row in rows)
        self._held.difference_update(released)
        if spent is not None and group.progress is not None:
            self.on_spent(spent - group.progress.spent_usd)
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.on_written(rows)

    def _due_progress(self, rows: Sequence[CellRow]) -> Progress | None:
        """With every row: what its call cost and took is counted in the same transaction."""
        now = self._clock.now()
        if not rows and self._progress_at is not None and now - self._progress_at < EVERY:
            return None
        self._progress_at = now
        so_far = self._progress()
        answered = sum(1 for row in rows if row.outcome is Outcome.OK)
        return replace(so_far, settled=so_far.settled + len(rows), answered=so_far.answered + answered)
