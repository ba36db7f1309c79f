"""Turns at the one worker: who began goes on, small work passes large, and large work is not forgotten."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import IntEnum

SMALL = 1024 * 1024  # bytes to read
IN_A_ROW = 4  # small ones while a large one waits


class Rank(IntEnum):
    BEGUN = 0  # the second step of a look whose body is in memory already
    SMALL = 1
    LARGE = 2


class Turns:
    def __init__(self) -> None:
        self._lines: dict[Rank, deque[asyncio.Future[None]]] = {rank: deque() for rank in Rank}
        self._is_taken = False
        self._in_a_row = 0

    @asynccontextmanager
    async def take(self, rank: Rank) -> AsyncIterator[None]:
        """One at a time."""
        if self._is_taken:
            turn = asyncio.get_running_loop().create_future()
            self._lines[rank].append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.cancelled():
                    self._lines[rank].remove(turn)
                else:
                    self._next()
                raise
        self._is_taken = True
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        self._is_taken = False
        rank = self._chosen()
        if rank is None:
            return
        self._in_a_row = self._in_a_row + 1 if rank is Rank.SMALL else 0
        self._is_taken = True
        self._lines[rank].popleft().set_result(None)

    def _chosen(self) -> Rank | None:
        waiting = [rank for rank in Rank if self._lines[rank]]
        if Rank.LARGE in waiting and Rank.BEGUN not in waiting and self._in_a_row >= IN_A_ROW:
            return Rank.LARGE
        return waiting[0] if waiting else None


def rank_of(size: int) -> Rank:
    return Rank.LARGE if size > SMALL else Rank.SMALL
