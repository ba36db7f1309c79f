"""The living web's own time.  The one place here that asks the machine for the hour."""

from __future__ import annotations

import time


def real_time() -> float:
    """Unix seconds, as the machine says."""
    return time.time()


class WorldClock:
    """World time = start_at + (real time since the start) * speed.  `jump` moves it; speed 0 stands still."""

    __slots__ = ("_anchor", "_speed", "_start_at")

    def __init__(self, start_at: float, *, speed: float = 1.0) -> None:
        self._start_at = start_at
        self._speed = speed
        self._anchor = real_time()

    def __call__(self) -> float:
        if not self._speed:
            return self._start_at
        return self._start_at + (real_time() - self._anchor) * self._speed

    def jump(self, to: float) -> None:
        """From now on the clock goes on from `to`.  It never goes back."""
        self._start_at = max(to, self())
        self._anchor = real_time()
