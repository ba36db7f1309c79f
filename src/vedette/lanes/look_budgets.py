"""The budgets of a run: looks per day, of all and of each host.  Kept like lanes, so a restart goes on counting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta

from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey
from vedette.core.limits.clock_limits import moved
from vedette.core.limits.look_budget import LookAllowance, given_back, opens_at, spent

ALL_LOOKS = LaneKey("budget:looks")


class LookBudgets:
    """Says when a look may start, and counts those that did."""

    def __init__(
        self,
        per_day: float | None,
        per_host: float | None,
        *,
        load: Callable[[LaneKey], LaneState | None] = lambda key: None,
    ) -> None:
        self._all = None if per_day is None else LookAllowance(per_day)
        self._host = None if per_host is None else LookAllowance(per_host)
        self._load = load
        self._empty_at: dict[LaneKey, datetime | None] = {}
        self._dirty: deque[LaneKey] = deque()

    def opens_at(self, lane: LaneKey | None, now: datetime, *, is_second: bool = False) -> datetime | None:
        """When a look in this lane, or in any, may start; None: now."""
        waits = [
            opens_at(allowance, self._state(key), now, is_second=is_second)
            for key, allowance in self._budgets(lane)
        ]
        return max((at for at in waits if at is not None), default=None)

    def spend(self, lane: LaneKey, now: datetime, looks: float = 1.0) -> None:
        for key, allowance in self._budgets(lane):
            self._move(key, spent(allowance, self._state(key), now, looks))

    def give_back(self, lane: LaneKey) -> None:
        """A look that was counted did not take place."""
        for key, allowance in self._budgets(lane):
            empty_at = self._state(key)
            if empty_at is not None:
                self._move(key, given_back(allowance, empty_at))

    def clock_set(self, by: timedelta, now: datetime) -> None:
        """The clock was set forward or back: what is left of each budget is left."""
        for key, empty_at in self._empty_at.items():
            allowance = self._all if key == ALL_LOOKS else self._host
            if empty_at is not None and allowance is not None:
                self._move(key, moved(empty_at, by, now, allowance.step * allowance.burst) or now)

    def take_dirty(self) -> tuple[tuple[LaneKey, LaneState], ...]:
        """What changed since the last call; in the settler's thread."""
        moved = dict.fromkeys(self._dirty.popleft() for _ in range(len(self._dirty)))
        return tuple((key, LaneState(bucket_at=self._empty_at[key])) for key in moved)

    def _budgets(self, lane: LaneKey | None) -> list[tuple[LaneKey, LookAllowance]]:
        found = [] if self._all is None else [(ALL_LOOKS, self._all)]
        if self._host is not None and lane is not None:
            found.append((LaneKey(f"budget:{lane}"), self._host))
        return found

    def _state(self, key: LaneKey) -> datetime | None:
        if key not in self._empty_at:
            state = self._load(key)
            self._empty_at[key] = state.bucket_at if state is not None else None
        return self._empty_at[key]

    def _move(self, key: LaneKey, empty_at: datetime) -> None:
        self._empty_at[key] = empty_at
        self._dirty.append(key)
