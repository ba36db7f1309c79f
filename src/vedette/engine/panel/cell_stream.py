"""The cells of one model on their way: those whose time comes again, those that are leased, and the rest of the block.

Holds what is leased and one chunk of domains, never the block: memory does not grow with the number of domains.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import datetime
from heapq import heappop, heappush

from vedette.contracts.panel_run import Batch, Cell, CellNumber, PanelLog
from vedette.core.panel.plan import block, place_of, rows_between


class CellStream:
    """All lanes of a model take from one stream, so a key that is slow or gone holds nothing up."""

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

    def take(self, now: datetime, *, want: int, prefers_fresh: bool = False) -> Cell | None:
        """The next cell to ask: one whose time has come again first.

        `prefers_fresh`: the lane fails just now, so no cell should spend its attempts on that.
        """
        if len(self._ready) < want and not self.is_walked:
            self.hungry.set()
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
