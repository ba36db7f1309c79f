"""The only home of time and chance.  Everything else takes them as arguments.

The machine's own time is in `wall_clock.py`; here is time that jumps.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Callable
from datetime import datetime, timedelta

from vedette.contracts.ports import Wake
from vedette.telemetry.wall_clock import FastClock, SystemClock

__all__ = ["FastClock", "JumpingClock", "SystemClock", "VirtualClock", "VirtualLoop"]


class JumpingClock:
    """Compressed time: stands still while anything is under way, then jumps to the next event.

    Stepped, one thing at a time is under way: time stands still, so nothing gets later, and the same seed gives the
    same run on a busy machine.
    """

    def __init__(self, start: datetime, *, seed: int = 0, is_stepped: bool = True) -> None:
        self._now = start
        self.is_stepped = is_stepped
        self._chance = random.Random(seed)  # noqa: S311
        self.jumps = 0

    def now(self) -> datetime:
        return self._now

    def chance(self) -> float:
        return self._chance.random()

    def advance(self, by: timedelta) -> None:
        self._now += by

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        """Wait for what is under way; when nothing is, it is `until`."""
        if is_busy or until is None:
            await wake.wait()
            return
        await asyncio.sleep(0)
        if not wake.is_set() and until > self._now:
            self._now = until
            self.jumps += 1

    def stopwatch(self) -> Callable[[], timedelta]:
        return lambda: timedelta(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer when nothing is ready: two hours of timers in seconds.

    Sockets still work in real time; a thread that is waited for stops the jumping only when no timer is set.
    """

    def __init__(self) -> None:
        self._jumps = _JumpingSelector()
        super().__init__(self._jumps)

    def time(self) -> float:
        return self._jumps.elapsed


class VirtualClock(SystemClock):
    """The time of a `VirtualLoop`, from `start` on.  Chance is seeded: a run can be repeated."""

    def __init__(self, start: datetime, *, seed: int = 0) -> None:
        self._start = start
        self._chance = random.Random(seed)  # noqa: S311

    def now(self) -> datetime:
        return self._start + timedelta(seconds=asyncio.get_running_loop().time())

    def chance(self) -> float:
        return self._chance.random()

    def stopwatch(self) -> Callable[[], timedelta]:
        begun = self.now()
        return lambda: self.now() - begun


class _JumpingSelector(selectors.DefaultSelector):
    """Never sleeps: when nothing is there to read, the time that would have been slept is over."""

    elapsed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            self.elapsed += timeout
        return ready
