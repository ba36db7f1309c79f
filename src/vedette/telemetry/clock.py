"""The only home of time and chance.  Everything else takes them as arguments.

The machine's own time is in `wall_clock.py`; here is time that jumps.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Callable
from datetime import datetime, timedelta

from vedette.contracts.ports import Clock, Wake
from vedette.telemetry.wall_clock import SystemClock, wake_or_until

__all__ = ["JumpingClock", "PacedClock", "SteadyClock", "SystemClock", "VirtualClock", "VirtualLoop"]


class SteadyClock:
    """Another clock as it stood at the start, moved on by its stopwatch: a corrected wall clock does not move it.

    For a run whose deadlines and lanes must not see a step; `wall` says what the other clock shows.
    """

    is_stepped = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.now()
        self._since = clock.stopwatch()

    def now(self) -> datetime:
        return self._start + self._since()

    def wall(self, at: datetime) -> datetime:
        """A time of this clock as the other one shows it now."""
        return at + (self._clock.now() - self.now())

    def chance(self) -> float:
        return self._clock.chance()

    def moved(self) -> timedelta:
        """Nobody sets it."""
        return timedelta(0)

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        await wake_or_until(wake, until, self.now())

    def stopwatch(self) -> Callable[[], timedelta]:
        return self._clock.stopwatch()


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
        self._moved = timedelta(0)

    def now(self) -> datetime:
        return self._now

    def chance(self) -> float:
        return self._chance.random()

    def advance(self, by: timedelta) -> None:
        self._now += by

    def set_by(self, by: timedelta) -> None:
        """Somebody sets it forward or back."""
        self._now += by
        self._moved += by

    def moved(self) -> timedelta:
        return self._moved

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


CATCH_UP_S = 1.0  # a world that stood still makes up for it in about so long
FASTEST = 10.0  # times its speed, while it does
STANDS_S = 3.0  # for so long a world waits for what is under way: a page that hangs does not hold it for ever


class PacedClock(JumpingClock):
    """Compressed time to look at: about `speed` times as fast as the machine's, and it waits for what is under way.

    A machine that is busy with other things makes a slower world, never a look that comes too late.
    """

    def __init__(self, start: datetime, *, speed: float, seed: int = 0) -> None:
        super().__init__(start, seed=seed, is_stepped=False)
        self._start = start
        self._speed = speed
        self._elapsed = self.stopwatch()
        self._going: Callable[[], datetime] | None = None  # while nothing is under way

    def now(self) -> datetime:
        going = self._going
        return self._now if going is None else going()

    def stopwatch(self) -> Callable[[], timedelta]:
        """Of the machine: what a look took, and how fast the world goes."""
        return SystemClock().stopwatch()

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        if wake.is_set() or (until is None and not is_busy):
            await super().pause(wake, until, is_busy=is_busy)
            return
        if is_busy or until is None:
            await self._stand(wake, until)
            return
        began, speed, slept = self._now, self._speed_now(), self.stopwatch()
        self._going = lambda: max(began, min(until, began + slept() * speed))
        ahead = (until - began).total_seconds() / speed
        if ahead > 0:
            timer = asyncio.get_running_loop().call_later(ahead, wake.set)
            await wake.wait()
            timer.cancel()
        self._now, self._going = self._going(), None

    async def _stand(self, wake: Wake, until: datetime | None) -> None:
        stood = self.stopwatch()
        timer = asyncio.get_running_loop().call_later(STANDS_S, wake.set)
        await wake.wait()
        timer.cancel()
        if stood() >= timedelta(seconds=STANDS_S):
            then = self._now + stood() * self._speed
            self._now = then if until is None else max(self._now, min(until, then))

    def _speed_now(self) -> float:
        """Faster for a while where the world lags behind."""
        lag = (self._start + self._elapsed() * self._speed - self._now).total_seconds() / self._speed
        return self._speed * min(FASTEST, max(1.0, 1.0 + lag / CATCH_UP_S))


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
        super().__init__()
        self._start = start
        self._chance = random.Random(seed)  # noqa: S311

    def now(self) -> datetime:
        return self._start + timedelta(seconds=asyncio.get_running_loop().time())

    def moved(self) -> timedelta:
        return timedelta(0)

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
