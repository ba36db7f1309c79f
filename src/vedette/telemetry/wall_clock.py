"""The machine's own time and chance.  Loads nothing that a short command does not need."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vedette.contracts.ports import Wake


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
        await wake_or_until(wake, until, self.now())

    def stopwatch(self) -> Callable[[], timedelta]:
        """Starts now; a call tells the time since.  Monotonic: a corrected wall clock does not move it."""
        begun = time.perf_counter()
        return lambda: timedelta(seconds=time.perf_counter() - begun)


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
