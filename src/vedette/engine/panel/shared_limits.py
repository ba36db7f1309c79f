"""What this run and others that use the same keys tell each other.  Without a board there is nobody to ask.

The lanes of `provider_lanes.py` hold alone; the board only ever adds a wait, so a batch goes on without it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from vedette.contracts.lane import Go, Wait
from vedette.contracts.panel_run import BatchId, Board, Cell, CellNumber, CellRow, Told
from vedette.contracts.words import LaneKey, Outcome, Reason
from vedette.core.panel.pace import WORDS, hold_for, is_late, slots_at_once
from vedette.engine.panel.provider_lanes import KeyLane, PanelParts

EVERY = timedelta(seconds=1)  # circuits are told and heard
RECLAIM = timedelta(seconds=5)  # a cell that another run holds is looked at again
_GO = Go()


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingCalls:
    """Whom it tells."""

    news: Callable[[LaneKey | None], None]  # this lane, or any, may have become free
    settled: Callable[[Cell], None]  # another run has asked it meanwhile
    failed: Callable[[BaseException], None]


class SharedLimits:
    """Belongs to one run of a batch."""

    def __init__(self, parts: PanelParts, batch: BatchId, calls: SharingCalls) -> None:
        self.foreign: set[CellNumber] = set()  # cells that another run holds
        self._calls = calls
        self._board = parts.board
        self._batch = batch
        self._clock = parts.clock
        self._log = parts.log
        self._slots: dict[LaneKey, deque[datetime]] = {}
        self._asked: set[LaneKey] = set()  # slots are on their way
        self._held: dict[str, datetime] = {}  # by provider
        self._answered_at: dict[str, datetime] = {}
        self._told_at: datetime | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._models: Sequence[str] = ()

    @property
    def is_away(self) -> bool:
        return self._board is not None and self._board.is_away

    def ask(self, lane: KeyLane, now: datetime) -> Go | Wait:
        """Whether the lane may start a call, by what others do with the same key."""
        if self._board is None or self._board.is_away:
            return _GO
        until = self._held.get(_provider(lane.key))
        if until is not None and until > now:
            return Wait(until, Reason("circuit_open", note="another run says so"))
        rate = lane.tempo.policy.per_minute
        slots = self._slots.setdefault(lane.key, deque())
        while slots and is_late(slots[0], now, rate):
            slots.popleft()
        if not slots and lane.key not in self._asked:
            self._asked.add(lane.key)
            self._spawn(self._fetch_slots(self._board, lane.key, rate))
        if not slots:
            return Wait(None, Reason("shared_bucket"))
        return _GO if slots[0] <= now else Wait(slots[0], Reason("shared_bucket"))

    def started(self, key: LaneKey) -> None:
        """A call used the slot that it was given."""
        if slots := self._slots.get(key):
            slots.popleft()

    def answered(self, key: LaneKey, outcome: Outcome, now: datetime) -> None:
        if self._board is not None and outcome is Outcome.OK:
            self._answered_at[_provider(key)] = now

    async def claim(self, cells: Sequence[Cell], models: Sequence[str]) -> list[Cell]:
        """Those that another run holds; they are asked later, unless they have a row by then."""
        if self._board is None or not cells:
            return []
        self._models = models
        places = [(cell.domain, models[cell.model]) for cell in cells]
        ours = await self._board.claim(self._batch, places)
        held = [cell for cell, is_ours in zip(cells, ours, strict=True) if not is_ours]
        self.foreign |= {cell.number for cell in held}
        return held

    def reclaim(self, lane: KeyLane, cell: Cell) -> None:
        """Claims a cell whose time came again; False: it is still another run's."""
        lane.stream.hold()
        self._spawn(self._reclaim(lane, cell))

    def written(self, rows: Sequence[CellRow]) -> None:
        """These have their rows: nobody need be kept from them."""
        if self._board is not None and rows:
            self._board.release(self._batch, [(row.domain, row.model) for row in rows])

    def tick(self, circuits: Callable[[], dict[LaneKey, tuple[str, timedelta]]], now: datetime) -> None:
        """Once a second: tell the others, hear from them.  `circuits`: condition and time left, by lane."""
        is_due = self._told_at is None or now - self._told_at >= EVERY
        if self._board is not None and is_due:
            self._told_at = now
            self._spawn(self._exchange(self._board, _by_provider(circuits())))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _fetch_slots(self, board: Board, key: LaneKey, rate: float) -> None:
        try:
            waits = await board.slots(key, rate, slots_at_once(rate))
            now = self._clock.now()
            self._slots[key].extend(now + wait for wait in waits)
        finally:
            self._asked.discard(key)
        self._calls.news(key)

    async def _reclaim(self, lane: KeyLane, cell: Cell) -> None:
        self.foreign.discard(cell.number)
        is_held = bool(await self.claim([cell], self._models))
        has_row = not is_held and await self._log.settled(
            self._batch, cell.number, CellNumber(cell.number + 1)
        )
        lane.stream.unhold()
        if has_row:
            self._calls.settled(cell)
        else:
            lane.stream.again(cell, self._clock.now() + (RECLAIM if is_held else timedelta(0)))
        self._calls.news(lane.key)

    async def _exchange(self, board: Board, mine: dict[str, Told]) -> None:
        heard = await board.exchange(mine)
        now = self._clock.now()
        for provider, told in heard.items():
            if provider in mine and mine[provider].circuit != told.circuit:
                hold = hold_for(told, self._answered_at.get(provider), now)
                if hold is not None:
                    self._held[provider] = now + hold
        self._calls.news(None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """A board never raises; what does is a fault of ours or of the store, and ends the run."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._calls.failed(error)


def _by_provider(circuits: dict[LaneKey, tuple[str, timedelta]]) -> dict[str, Told]:
    """The best of a provider's keys speaks for it."""
    order = tuple(WORDS.values())
    told: dict[str, Told] = {}
    for key, (condition, left) in circuits.items():
        if condition not in WORDS:
            continue
        one, name = Told(WORDS[condition], left), _provider(key)
        known = told.get(name)
        if known is None or order.index(one.circuit) < order.index(known.circuit):
            told[name] = one
    return told


def _provider(key: LaneKey) -> str:
    """`provider:openai/k1` is a key of `openai`."""
    return key.partition(":")[2].rpartition("/")[0]
