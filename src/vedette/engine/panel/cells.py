"""The cells of a batch on their way: from the block to the lanes, and from their answers to the disk.

A cell is asked only once its lease is on disk, and is done only once its row is: a kill loses no cell, and asks
again no more than were leased.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import heappop, heappush

from vedette.contracts.lane import LaneState
from vedette.contracts.panel_run import (
    Batch,
    BatchId,
    Cell,
    CellNumber,
    CellRow,
    PanelGroup,
    PanelLog,
    PanelNote,
    Progress,
)
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.panel.plan import block, place_of, rows_between

GATHER = 0.2  # seconds
GROUP = 200  # rows that are not waited beyond
BEHIND = 2000  # rows that wait at most before no new call starts
EVERY = timedelta(seconds=2)  # progress, for `status`


class CellStream:
    """The cells of one model: those whose time comes again, those that are leased, and the rest of the block.

    All lanes of a model take from one stream, so a key that is slow or gone holds nothing up.  Holds what is leased
    and one chunk of domains, never the block: memory does not grow with the number of domains.
    """

    def __init__(self, batch: Batch, model: int, *, chunk_size: int, is_resumed: bool) -> None:
        self.model = model
        self.hungry = asyncio.Event()
        self._batch = batch
        self._shape = batch.shape
        self._chunk_size = chunk_size
        self._is_resumed = is_resumed
        cells = block(batch.shape, model, dropped_from=batch.dropped_from)
        self._next, self._end = cells.start, cells.stop
        self._chunk: Sequence[tuple[str, str]] = ()
        self._chunk_from = -1
        self._ready: deque[Cell] = deque()
        self._again: list[tuple[datetime, int, Cell]] = []
        self._loading = 0

    @property
    def is_empty(self) -> bool:
        """Nothing is left to ask, as far as nothing under way comes back."""
        return not (self._ready or self._again or self._loading or self._next < self._end)

    @property
    def is_walked(self) -> bool:
        """The whole block has been leased."""
        return self._next >= self._end

    def has_cell(self, now: datetime, *, want: int) -> bool:
        """True where there is one to ask.  `want`: so many should be leased."""
        if len(self._ready) < want and not self.is_walked:
            self.hungry.set()
        return bool(self._ready) or (bool(self._again) and self._again[0][0] <= now)

    def take(self, now: datetime, *, prefers_fresh: bool = False) -> Cell | None:
        """The next cell to ask: one whose time has come again first.

        `prefers_fresh`: the lane fails just now, so no cell should spend its attempts on that.
        """
        has_again = bool(self._again) and self._again[0][0] <= now
        if has_again and not (prefers_fresh and self._ready):
            return heappop(self._again)[2]
        return self._ready.popleft() if self._ready else None

    def again(self, cell: Cell, at: datetime) -> None:
        heappush(self._again, (at, cell.number, cell))

    def put_back(self, cell: Cell) -> None:
        self._ready.appendleft(cell)

    def next_at(self) -> datetime | None:
        """When a cell's time comes again."""
        return self._again[0][0] if self._again else None

    def drop_from(self, tier: int) -> list[CellNumber]:
        """Tiers from this one on are asked no more.  Gives what was leased of them."""
        prompts = self._shape.prompts
        self._end = min(self._end, block(self._shape, self.model, dropped_from=tier).stop)
        gone = [cell for cell in self._ready if prompts[cell.prompt].tier >= tier]
        gone += [cell for _, _, cell in self._again if prompts[cell.prompt].tier >= tier]
        lost = {cell.number for cell in gone}
        self._ready = deque(cell for cell in self._ready if cell.number not in lost)
        self._again = sorted(entry for entry in self._again if entry[1] not in lost)
        return sorted(lost)

    def leased(self) -> list[CellNumber]:
        """What waits here with a lease."""
        return [cell.number for cell in self._ready] + [cell.number for _, _, cell in self._again]

    def waiting(self) -> dict[int, int]:
        """Cells that wait, by tier."""
        count: dict[int, int] = {}
        for piece in rows_between(self._shape, self._next, max(self._next, self._end)):
            tier = self._shape.prompts[place_of(self._shape, piece.start).prompt].tier
            count[tier] = count.get(tier, 0) + len(piece)
        for cell in (*self._ready, *(cell for _, _, cell in self._again)):
            tier = self._shape.prompts[cell.prompt].tier
            count[tier] = count.get(tier, 0) + 1
        return count

    async def load(self, log: PanelLog, count: int) -> list[Cell]:
        """The next cells of the block that have no row yet.  `accept` them once they are leased."""
        found: list[Cell] = []
        while len(found) < count and self._next < self._end:
            place = place_of(self._shape, self._next)
            first = place.domain - place.domain % self._chunk_size
            if first != self._chunk_from:
                self._chunk = await log.domains(self._batch.id, first, self._chunk_size)
                self._chunk_from = first
            room = count - len(found)
            row_end = self._next - place.domain + min(self._shape.domains, first + self._chunk_size)
            last = min(self._end, row_end, self._next + room)
            settled: frozenset[int] = frozenset()
            if self._is_resumed:
                settled = await log.settled(self._batch.id, self._next, last)
            found += self._cells(last, settled)
        self._loading += len(found)
        return found

    def accept(self, cells: Sequence[Cell]) -> None:
        self._loading -= len(cells)
        tier_end = self._end
        self._ready.extend(cell for cell in cells if cell.number < tier_end)

    def hold(self) -> None:
        """A cell that was taken is neither asked nor back yet: the stream is not empty."""
        self._loading += 1

    def unhold(self, count: int = 1) -> None:
        self._loading -= count

    def _cells(self, last: int, settled: frozenset[int]) -> list[Cell]:
        cells = []
        for number in range(self._next, last):
            if number not in settled:
                place = place_of(self._shape, number)
                domain_id, domain = self._chunk[place.domain - self._chunk_from]
                cells.append(
                    Cell(CellNumber(number), self.model, place.prompt, place.repeat, domain_id, domain)
                )
        self._next = last
        return cells


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterCalls:
    """Whom a writer asks and tells."""

    dirty_lanes: Callable[[], tuple[tuple[LaneKey, LaneState], ...]]
    progress: Callable[[], Progress]
    written: Callable[[Sequence[CellRow]], None]
    spent: Callable[[float], None]  # by other runs of the batch, since the last word


class GroupWriter:
    """Rows and leases, in groups: what came within `GATHER`, or while the last group was written.

    One group at a time; whoever waits for a lease is woken after its commit.
    """

    def __init__(self, log: PanelLog, batch: BatchId, clock: Clock, calls: WriterCalls) -> None:
        self._log = log
        self._batch = batch
        self._clock = clock
        self._calls = calls
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
            lanes=self._calls.dirty_lanes(),
            notes=tuple(notes),
            progress=self._due_progress(rows),
        )
        try:
            spent = await self._log.write(group)
        except BaseException:  # a stop in the middle, too: who waits for the write waits for the next one
            self._waiters += waiters
            raise
        self.unwritten -= len(rows)
        self._held.difference_update(row.cell for row in rows)
        self._held.difference_update(released)
        if spent is not None and group.progress is not None:
            self._calls.spent(spent - group.progress.spent_usd)
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._calls.written(rows)

    def _due_progress(self, rows: Sequence[CellRow]) -> Progress | None:
        """With every row: what its call cost and took is counted in the same transaction."""
        now = self._clock.now()
        if not rows and self._progress_at is not None and now - self._progress_at < EVERY:
            return None
        self._progress_at = now
        so_far = self._calls.progress()
        answered = sum(1 for row in rows if row.outcome is Outcome.OK)
        return replace(so_far, settled=so_far.settled + len(rows), answered=so_far.answered + answered)
