"""The only home of time and chance.  Everything else takes them as arguments."""

from __future__ import annotations

import asyncio
import random
import selectors
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from vedette.contracts.ports import Wake

_SAFE_S = 60.0  # nobody sleeps longer: a clock that is set back or forward is noticed by then


class SystemClock:
    """The machine's own clock, as `contracts.ports.Clock` asks for it."""

    is_stepped = False

    def __init__(self) -> None:
        self._begun = _set_forward()

    def now(self) -> datetime:
        """Aware UTC."""
        return datetime.now(UTC)

    def chance(self) -> float:
        """A number in [0, 1).  For jitter, never for secrets."""
        return random.random()  # noqa: S311

    def moved(self) -> timedelta:
        """Of the wall clock against the time since the machine was started, which nobody sets."""
        return timedelta(seconds=_set_forward() - self._begun)

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        """Return when `wake` is set or the time has come; or sooner, to see whether the clock was set."""
        now = self.now()
        latest = now + timedelta(seconds=_SAFE_S)
        await _pause(wake, latest if until is None else min(until, latest), now)

    def stopwatch(self) -> Callable[[], timedelta]:
        """Starts now; a call tells the time since.  Monotonic: a corrected wall clock does not move it."""
        begun = time.perf_counter()
        return lambda: timedelta(seconds=time.perf_counter() - begun)


class FastClock(SystemClock):
    """Time that runs `speed` times as fast from `start` on: an hour of a demonstration in a second."""

    def __init__(self, start: datetime, *, speed: float) -> None:
        super().__init__()
        self._start = start
        self._speed = speed
        self._start_s = time.perf_counter()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=(time.perf_counter() - self._start_s) * self._speed)

    def moved(self) -> timedelta:
        """Nobody sets it."""
        return timedelta(0)

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


def _set_forward() -> float:
    """Seconds between the wall clock and the time since the machine was started, sleep included."""
    steady = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
    return time.time() - time.clock_gettime(steady)


async def _pause(wake: Wake, until: datetime | None, now: datetime) -> None:
    if wake.is_set():
        await asyncio.sleep(0)
    elif until is None:
        await wake.wait()
    elif until > now:
        timer = asyncio.get_running_loop().call_later((until - now).total_seconds(), wake.set)
        await wake.wait()
        timer.cancel()
