"""The machine's own time and chance.  Loads nothing that a short command does not need."""

from __future__ import annotations

import os
import random
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vedette.contracts.ports import Wake


_SAFE_S = 60.0  # nobody sleeps longer: a clock that is set back or forward is noticed by then


def cpu_seconds() -> float:
    """That this process has used, with its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


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
        await wake_or_until(wake, latest if until is None else min(until, latest), now)

    def stopwatch(self) -> Callable[[], timedelta]:
        """Starts now; a call tells the time since.  Monotonic: a corrected wall clock does not move it."""
        begun = time.perf_counter()
        return lambda: timedelta(seconds=time.perf_counter() - begun)


def random_words() -> str:
    """43 characters that nobody can guess: 256 bits of the system's own chance."""
    return urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


def _set_forward() -> float:
    """Seconds between the wall clock and the time since the machine was started, sleep included."""
    steady = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
    return time.time() - time.clock_gettime(steady)


async def wake_or_until(wake: Wake, until: datetime | None, now: datetime) -> None:
    import asyncio  # whoever waits has it already; who only asks for the time does not

    if wake.is_set():
        await asyncio.sleep(0)
    elif until is None:
        await wake.wait()
    elif until > now:
        timer = asyncio.get_running_loop().call_later((until - now).total_seconds(), wake.set)
        await wake.wait()
        timer.cancel()
