"""The budgets of a run: looks per day, of all and of each host.  Kept like lanes, so a restart goes on counting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.lane import LaneState, Wait
from vedette.contracts.watch import Watch
from vedette.contracts.words import LaneKey, WatchId
from vedette.core.limits.budget import Budget, ask, budget_moved, daily, reserve, settle

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
        self._per_day = per_day
        self._per_host = per_host
        self._load = load
        self._budgets: dict[LaneKey, Budget] = {}
        self._dirty: deque[LaneKey] = deque()

    def opens_at(self, lane: LaneKey | None, now: datetime, *, is_second: bool = False) -> datetime | None:
        """When a look in this lane, or in any, may start; None: now."""
        answers = [ask(self._budget(key), now, is_second=is_second) for key in self._keys(lane)]
        waits = [answer.until for answer in answers if isinstance(answer, Wait)]
        return max((at for at in waits if at is not None), default=None)

    def spend(self, lane: LaneKey, now: datetime) -> None:
        for key in self._keys(lane):
            self._move(key, reserve(self._budget(key), now))

    def give_back(self, lane: LaneKey) -> None:
        """A look that was counted did not take place."""
        for key in self._keys(lane):
            self._move(key, settle(self._budget(key), 1.0, 0.0))

    def clock_set(self, by: timedelta, now: datetime) -> None:
        """The clock was set forward or back: what is left of each budget is left."""
        for key, budget in self._budgets.items():
            if budget.empty_at is not None:
                self._move(key, budget_moved(budget, by, now))

    def take_dirty(self) -> tuple[tuple[LaneKey, LaneState], ...]:
        """What changed since the last call; in the settler's thread."""
        moved = dict.fromkeys(self._dirty.popleft() for _ in range(len(self._dirty)))
        return tuple((key, LaneState(bucket_at=self._budgets[key].empty_at)) for key in moved)

    def _keys(self, lane: LaneKey | None) -> list[LaneKey]:
        keys = [] if self._per_day is None else [ALL_LOOKS]
        if self._per_host is not None and lane is not None:
            keys.append(LaneKey(f"budget:{lane}"))
        return keys

    def _budget(self, key: LaneKey) -> Budget:
        budget = self._budgets.get(key)
        if budget is None:
            state, most = self._load(key), self._per_day if key == ALL_LOOKS else self._per_host
            empty_at = None if state is None else state.bucket_at
            budget = self._budgets[key] = daily(most or 0.0, empty_at)
        return budget

    def _move(self, key: LaneKey, budget: Budget) -> None:
        self._budgets[key] = budget
        self._dirty.append(key)


@dataclass(slots=True)
class SecondLooks:
    """Second looks to come: a budget keeps something for them, and a run that ends when it is idle waits for them."""

    budgets: LookBudgets
    _due: dict[LaneKey, datetime] = field(default_factory=dict)  # when one is due in a lane
    _pending: dict[WatchId, tuple[datetime, LaneKey]] = field(default_factory=dict)

    def note(self, watch: Watch) -> bool:
        """A look was settled; notes whether another one is to come, to confirm it."""
        if watch.pending is None or watch.due_at is None:
            self._pending.pop(watch.id, None)
            return False
        self._due[watch.lane] = watch.due_at
        self._pending[watch.id] = (watch.due_at, watch.lane)
        return True

    def may_lease(self, lane: LaneKey, now: datetime) -> bool:
        """A second look is due, and there is budget kept for it.  One claim for each: what else comes waits."""
        may = self._may_start(lane, now)
        if may:
            del self._due[lane]
        return may

    def overtakes(self, watch: Watch, now: datetime) -> bool:
        """True where this watch waits for a budget that a second look in its lane need not wait for."""
        lane = watch.lane
        if lane not in self._due or watch.pending is not None:
            return False
        return self.budgets.opens_at(lane, now) is not None and self._may_start(lane, now)

    def between(self, first: datetime, last: datetime) -> Iterator[LaneKey]:
        """Lanes of those that are due then."""
        return (lane for at, lane in self._pending.values() if first <= at <= last)

    def clock_set(self, now: datetime) -> None:
        self._due = dict.fromkeys(self._due, now)
        self._pending = {watch: (now, lane) for watch, (_, lane) in self._pending.items()}

    def _may_start(self, lane: LaneKey, now: datetime) -> bool:
        due_at = self._due.get(lane)
        if due_at is None or due_at > now:
            return False
        return self.budgets.opens_at(lane, now, is_second=True) is None
