"""The only home of time and chance.  Everything else takes them as arguments."""

from __future__ import annotations

import asyncio
import random
import selectors
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from vedette.contracts.ports import Clock, Wake


class SystemClock:
    """The machine's own clock, as `contracts.ports.Clock` asks for it."""

    is_stepped = False

    def now(self) -> datetime:
        """Aware UTC."""
        return datetime.now(UTC)

    def chance(self) -> float:
        """A number in [0, 1).  For jitter, never for secrets."""
        return random.random()  # noqa: S311

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        """Return when `wake` is set or the time has come."""
        await _pause(wake, until, self.now())

    def stopwatch(self) -> Callable[[], timedelta]:
        """Starts now; a call tells the time since.  Monotonic: a corrected wall clock does not move it."""
        begun = time.perf_counter()
        return lambda: timedelta(seconds=time.perf_counter() - begun)


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

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        await _pause(wake, until, self.now())

    def stopwatch(self) -> Callable[[], timedelta]:
        return self._clock.stopwatch()


class FastClock(SystemClock):
    """Time that runs `speed` times as fast from `start` on: an hour of a demonstration in a second."""

    def __init__(self, start: datetime, *, speed: float) -> None:
        self._start = start
        self._speed = speed
        self._begun = time.perf_counter()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=(time.perf_counter() - self._begun) * self._speed)

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        if until is not None:
            real = SystemClock.now(self) + (until - self.now()) / self._speed
            await _pause(wake, real, SystemClock.now(self))
        else:
            await _pause(wake, None, SystemClock.now(self))


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


async def _pause(wake: Wake, until: datetime | None, now: datetime) -> None:
    if wake.is_set():
        await asyncio.sleep(0)
    elif until is None:
        await wake.wait()
    elif until > now:
        timer = asyncio.get_running_loop().call_later((until - now).total_seconds(), wake.set)
        await wake.wait()
        timer.cancel()
