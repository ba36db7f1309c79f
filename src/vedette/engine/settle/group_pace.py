"""How long looks that ended wait for others, so that one group of rows is written for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass
from datetime import timedelta

from vedette.contracts.ports import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPace:
    """How long the settler waits for company.  A store that is far away is asked seldom and for much."""

    quiet_s: float  # when nothing came for so long, the group is written
    patience_s: float  # and never later than this after its first settlement, however many keep coming
    # Between two answers to claims, so that lanes that are ready meanwhile are asked for together.  What waits when a
    # group is written is answered with what the group needs to know.
    claims_s: float = 0.0
    rides_s: float = 0.0  # the same while a group gathers, with which a claim may go
    hurry_s: float = 0.0  # and so long is waited where the engine has nothing else under way


OWN = GroupPace(quiet_s=0.05, patience_s=0.25)  # a file of our own; docs/durability.md
# A server of several workers.
SHARED = GroupPace(quiet_s=0.4, patience_s=0.9, claims_s=0.25, rides_s=0.7, hurry_s=0.4)


class Company:
    """How long the looks that ended wait for others to be written with them."""

    def __init__(self, ended: Sized, clock: Clock, pace: GroupPace) -> None:
        self._pace = pace
        self._ended = ended
        self._clock = clock
        self._waited: Callable[[], timedelta] | None = None  # since the first was there
        self._known = 0

    def wait(self, timeout: float) -> float:
        """Seconds, at most `timeout`."""
        self._known = len(self._ended)
        if not self._known:
            return timeout
        self._waited = self._waited or self._clock.stopwatch()
        left = max(0.0, self._pace.patience_s - self._waited().total_seconds())
        return min(timeout, self._pace.quiet_s, left)

    def has_come(self) -> bool:
        """True where more ended meanwhile."""
        return len(self._ended) > self._known
