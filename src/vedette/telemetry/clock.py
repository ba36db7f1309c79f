"""The only home of time and chance.  Everything else takes them as arguments."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class SystemClock:
    """The machine's own clock, as `contracts.ports.Clock` asks for it."""

    def now(self) -> datetime:
        """Aware UTC."""
        return datetime.now(UTC)

    def chance(self) -> float:
        """A number in [0, 1).  For jitter, never for secrets."""
        return random.random()  # noqa: S311

    def stopwatch(self) -> Callable[[], timedelta]:
        """Starts now; a call tells the time since.  Monotonic: a corrected wall clock does not move it."""
        begun = time.perf_counter()
        return lambda: timedelta(seconds=time.perf_counter() - begun)
