"""The budgets of a run: looks per day, of all and of each host.  Kept like lanes, so a restart goes on counting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.lane import LaneState, Wait
from vedette.contracts.watch import Watch
from vedette.contracts.words import LaneKey, Reason, WatchId
from vedette.core.change.life import CLOSE
from vedette.core.limits.budget import Budget, ask, budget_moved, daily, reserve, settle

ALL_LOOKS = LaneKey("budget:looks")
_SPENT = Reason("budget_spent")


class LookBudgets:
    """Says when a look may start, and counts those that did."""

    def __init__(
        self,
        per_day: float | None,
        per_host: float | None,
        *,
        load: Callable[[LaneKey], LaneState | None] = lambda key: None,
        worker: str = "",
    ) -> None:
        """`worker`: one among several, with a share of its own of the budget of all looks."""
        self._all = LaneKey(f"{ALL_LOOKS}/{worker}") if worker else ALL_LOOKS
        self._whole = per_day
        self._per_day = per_day
        self._per_host = per_host
        self._load = load
        self._budgets: dict[LaneKey, Budget] = {}
        self._dirty: deque[LaneKey] = deque()

    @property
    def is_limited(self) -> bool:
        """True where all looks together have a budget."""
        return self._per_day is not None

    @property
    def is_open(self) -> bool:
        """True where neither all looks nor those at one host have a budget."""
        return self._per_day is None and self._per_host is None

    def divide(self, workers: int) -> None:
        """So many workers share the budget of all looks."""
        if self._whole is not None and self._per_day != self._whole / workers:
            self._per_day = self._whole / workers
            budget = self._budgets.pop(self._all, None)
            if budget is not None:
                self._budgets[self._all] = daily(self._per_day, budget.empty_at)

    def forget(self, lane: LaneKey) -> None:
        """Another worker has looked there since: its budget is read anew."""
        self._budgets.pop(LaneKey(f"budget:{lane}"), None)

    def opens_at(self, lane: LaneKey | None, now: datetime, *, is_second: bool = False) -> datetime | None:
        """When a look in this lane, or in any, may start; None: now."""
        if self.is_open:
            return None
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
        known = ((key, self._budgets.get(key)) for key in moved)
        return tuple((key, LaneState(bucket_at=one.empty_at)) for key, one in known if one is not None)

    def _keys(self, lane: LaneKey | None) -> list[LaneKey]:
        keys = [] if self._per_day is None else [self._all]
        if self._per_host is not None and lane is not None:
            keys.append(LaneKey(f"budget:{lane}"))
        return keys

    def _budget(self, key: LaneKey) -> Budget:
        budget = self._budgets.get(key)
        if budget is None:
            state, most = self._load(key), self._per_day if key == self._all else self._per_host
            empty_at = None if state is None else state.bucket_at
            budget = self._budgets[key] = daily(most or 0.0, empty_at)
        return budget

    def _move(self, key: LaneKey, budget: Budget) -> None:
        self._budgets[key] = budget
        self._dirty.append(key)


@dataclass(slots=True)
class SecondLooks:
    """Second looks to come: a budget keeps something for them, and a run that ends when it is idle waits for them.

    What is kept is for looks that are close together: only those tell an edit from noise.  A second look that could not
    start in time begins a new pair, so it waits for the room of two, as any other look does.
    """

    budgets: LookBudgets
    _due: dict[LaneKey, dict[WatchId, datetime]] = field(default_factory=dict)  # those that nobody claimed
    _pending: dict[WatchId, tuple[datetime, LaneKey]] = field(default_factory=dict)

    def note(self, watch: Watch) -> bool:
        """A look was settled; notes whether another one is to come, to confirm it."""
        self._unclaimed(watch.lane).pop(watch.id, None)
        if watch.pending is None or watch.due_at is None:
            self._pending.pop(watch.id, None)
            return False
        self._due.setdefault(watch.lane, {})[watch.id] = watch.due_at
        self._pending[watch.id] = (watch.due_at, watch.lane)
        return True

    def wait(self, watch: Watch, now: datetime) -> Wait | None:
        """What a look at this watch waits for; None: it may start.  A second look in its lane is waited for as well."""
        if self.budgets.is_open:
            return None
        is_close = watch.pending is not None and not _is_late(watch.due_at or now, now)
        until = self.budgets.opens_at(watch.lane, now, is_second=is_close)
        return (
            None if until is None else Wait(min(until, self._overtakes_at(watch.lane, now) or until), _SPENT)
        )

    def leases_at(self, lane: LaneKey, now: datetime) -> datetime | None:
        """When work of this lane is worth a lease; None: now, because the budgets are open or a second look is due.

        One claim for each second look: what else comes with it waits.
        """
        until = self.budgets.opens_at(lane, now)
        at = None if until is None else self._overtakes_at(lane, now)
        if until is None or at is None or at > now:
            return until if at is None else min(at, until or at)
        dues = self._due[lane]
        del dues[min(dues, key=lambda watch: (_is_late(dues[watch], now), dues[watch]))]
        return None

    def overtakes(self, watch: Watch, now: datetime) -> bool:
        """True where this watch waits for a budget that a second look in its lane need not wait for."""
        if self.budgets.is_open or watch.pending is not None or not self._unclaimed(watch.lane):
            return False
        at = self._overtakes_at(watch.lane, now)
        return at is not None and at <= now and self.budgets.opens_at(watch.lane, now) is not None

    def between(self, first: datetime, last: datetime) -> Iterator[LaneKey]:
        """Lanes of those that are due then."""
        return (lane for at, lane in self._pending.values() if first <= at <= last)

    def clock_set(self, now: datetime) -> None:
        self._due = {lane: dict.fromkeys(dues, now) for lane, dues in self._due.items()}
        self._pending = {watch: (now, lane) for watch, (_, lane) in self._pending.items()}

    def _overtakes_at(self, lane: LaneKey, now: datetime) -> datetime | None:
        """When a second look of this lane may start, whatever else waits there for the budget; None: there is none."""
        dues = [at for at in self._unclaimed(lane).values() if not _is_late(at, now)]
        if not dues:
            return None
        return max(min(dues), self.budgets.opens_at(lane, now, is_second=True) or now)

    def _unclaimed(self, lane: LaneKey) -> dict[WatchId, datetime]:
        return self._due.get(lane, {})


def _is_late(due_at: datetime, now: datetime) -> bool:
    return now > due_at + CLOSE
