"""A request that is under way: it steps aside when it takes long, and is cut when too many others do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey
from vedette.core.lanes.waiting_requests import WaitingRequest, WaitStep, asks_again_after, next_step
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import ROOM

_T = TypeVar("_T")
CUT = "nothing was heard, and too many others are silent too"


class Held:
    """The permit of one request, and what happens to it while nobody answers."""

    def __init__(self, keeper: LaneKeeper, clock: Clock, lanes: tuple[LaneKey, ...]) -> None:
        self.lanes = lanes
        self.is_heard = False
        self._keeper = keeper
        self._clock = clock
        self._is_doubtful = keeper.is_doubtful(lanes[0])
        self._is_new = keeper.is_new(lanes[0])

    async def within(self, ask: Callable[[], Awaitable[_T]]) -> _T | None:
        """What the request gives; None: it was cut."""
        loop, waited = asyncio.get_running_loop(), self._clock.stopwatch()  # a stepped world never waits
        limit = asyncio.timeout(None)
        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal timer
            one = self._waiting(waited().total_seconds())
            match next_step(one, crowd=self._keeper.aside, room=self._keeper.room):
                case WaitStep.ASIDE:
                    self.lanes = self._keeper.step_aside(self.lanes, self._clock.now())
                case WaitStep.CUT:
                    limit.reschedule(loop.time())
                    return
            timer = loop.call_later(asks_again_after(one), look)

        timer = loop.call_later(asks_again_after(self._waiting(0)), look)
        try:
            async with limit:
                return await ask()
        except TimeoutError:
            if not limit.expired():
                raise
            return None
        finally:
            timer.cancel()

    def _waiting(self, waited_s: float) -> WaitingRequest:
        return WaitingRequest(
            waited_s=waited_s,
            is_heard=self.is_heard,
            is_doubtful=self._is_doubtful,
            is_new=self._is_new,
            is_aside=ROOM in self.lanes,
        )
