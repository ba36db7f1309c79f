"""The clock of a server that several machines share: whatever their own clocks say, they agree about `now`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from vedette.contracts.ports import Clock, Wake
from vedette.telemetry.wall_clock import wake_or_until

NOTICED = timedelta(milliseconds=50)  # less is the way there and back


class ServerClock:
    """Another clock, moved by how far it is from the server's.  `heard` says what the server shows."""

    is_stepped = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by = timedelta(0)

    @property
    def by(self) -> timedelta:
        """How far the machine's clock is behind."""
        return self._by

    def heard(self, server: datetime) -> None:
        """Just now, in any thread."""
        by = server - self._clock.now()
        if abs(by - self._by) > NOTICED:
            self._by = by

    def now(self) -> datetime:
        return self._clock.now() + self._by

    def chance(self) -> float:
        return self._clock.chance()

    def moved(self) -> timedelta:
        """A machine whose clock is set hears of it from the server soon, and is where it was."""
        return self._clock.moved() + self._by

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        now = self.now()
        latest = now + timedelta(seconds=60)
        await wake_or_until(wake, latest if until is None else min(until, latest), now)

    def stopwatch(self) -> Callable[[], timedelta]:
        return self._clock.stopwatch()
