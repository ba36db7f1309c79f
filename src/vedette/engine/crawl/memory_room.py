"""The memory budget at work: who waits for room, and what each look holds until it is written."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace

from vedette.contracts.words import WatchId
from vedette.core.limits.memory_budget import DEFAULT, SMALL, Use, bounded, fits, for_bodies

PATIENCE_S = 50.0  # servers cut the line to whoever takes nothing for a minute


@dataclass(slots=True, eq=False)
class _Waiter:
    size: int
    ready: asyncio.Future[None]


class MemoryBudget:
    """Claims of looks.  A look holds one claim at a time, so nobody holds memory while waiting for more."""

    def __init__(self, budget: int = DEFAULT, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._use = Use(for_bodies(budget))
        self._held: dict[WatchId, int] = {}
        self._small: deque[_Waiter] = deque()
        self._large: deque[_Waiter] = deque()

    @property
    def used(self) -> int:
        return self._use.small + self._use.large

    @property
    def waiting(self) -> int:
        return len(self._small) + len(self._large)

    async def claim(self, look: WatchId, size: int) -> bool:
        """Waits until there is room; False: not for too long.

        What the look held before (the body of another hop) it holds no more.
        """
        self.free(look)
        size = bounded(size, self._use.total)
        line = self._large if size > SMALL else self._small
        if line or not self._fits(size):
            try:
                async with asyncio.timeout(self._patience_s):
                    await self._wait(line, size)
            except TimeoutError:
                return False
        else:
            self._add(size, size)
        self._held[look] = size
        return True

    async def _wait(self, line: deque[_Waiter], size: int) -> None:
        waiter = _Waiter(size, asyncio.get_running_loop().create_future())
        line.append(waiter)
        try:
            await waiter.ready
        except asyncio.CancelledError:
            if waiter.ready.cancelled():
                with suppress(ValueError):  # whoever gave up before has taken it out of the line
                    line.remove(waiter)
            else:  # let in and cancelled in the same moment
                self._add(-size, size)
            self._wake()
            raise

    def free(self, look: WatchId) -> None:
        """The look was written, or ended without anything to write."""
        size = self._held.pop(look, 0)
        if size:
            self._add(-size, size)
            self._wake()

    def _wake(self) -> None:
        for line in (self._large, self._small):
            while line and (line[0].ready.done() or self._fits(line[0].size)):
                waiter = line.popleft()
                if not waiter.ready.done():
                    self._add(waiter.size, waiter.size)
                    waiter.ready.set_result(None)

    def _fits(self, size: int) -> bool:
        return fits(size, self._use, is_large_waiting=bool(self._large))

    def _add(self, more: int, size: int) -> None:
        use = self._use
        is_small = size <= SMALL
        self._use = replace(use, small=use.small + more) if is_small else replace(use, large=use.large + more)
