"""Lanes of a store that several workers share: only what this worker holds may be asked.

The rule of a lane is the one of `core/lanes/lane.py`.  Its state comes with the lane, and goes back with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from vedette.contracts.lane import ALL, Go, LaneHold, LanePolicies, LaneState, Wait
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Reason
from vedette.core.lanes import lane as rule
from vedette.core.lanes.visit import counts_for, share_of
from vedette.lanes.keeper import LaneKeeper, _Lane

FAR = ("host:", "addr:")  # kinds of lanes that workers share by turns
_ELSEWHERE = Wait(None, Reason("lane_elsewhere"))


class NotOursError(OSError):
    """The lane is another's by now: nothing goes out."""


class LaneHolds:
    """What this worker holds, and for how long it may count on it.  Several threads read; one dict, no lock."""

    def __init__(self, stopwatch: Callable[[], timedelta], now: Callable[[], datetime]) -> None:
        self.stopwatch = stopwatch
        self._now = now
        self._held: dict[LaneKey, LaneHold] = {}
        self._until: dict[LaneKey, timedelta] = {}
        self._taken_at: dict[LaneKey, datetime] = {}
        self.wanted: dict[LaneKey, None] = {}  # lanes that looks under way lead to

    def __len__(self) -> int:
        return len(self._held)

    def has(self, lane: LaneKey) -> bool:
        """True where a request may go out now."""
        until = self._until.get(lane)
        return until is not None and self.stopwatch() < until

    def hold(self, lane: LaneKey) -> LaneHold | None:
        return self._held.get(lane)

    def state(self, lane: LaneKey) -> LaneState | None:
        held = self._held.get(lane)
        return None if held is None else held.state

    def lost_at(self, lane: LaneKey) -> datetime | None:
        """When it was taken from a worker that is gone; None: it was given back."""
        held = self._held.get(lane)
        return self._taken_at[lane] if held is not None and held.was_lost else None

    def tokens(self) -> Mapping[LaneKey, int]:
        """As of now, also those that are counted on no more: the store decides."""
        return {lane: held.token for lane, held in self._held.copy().items()}

    def add(self, holds: Iterable[LaneHold], asked_after: timedelta) -> None:
        until, now = counts_for(asked_after), self._now()
        for one in holds:
            self._held[one.lane], self._taken_at[one.lane], self._until[one.lane] = one, now, until
            self.wanted.pop(one.lane, None)

    def renewed(self, lanes: Iterable[LaneKey], asked_after: timedelta) -> None:
        until = counts_for(asked_after)
        self._until.update((lane, until) for lane in lanes if lane in self._held)

    def drop(self, lanes: Iterable[LaneKey]) -> None:
        for lane in lanes:
            self._until.pop(lane, None)
            self._held.pop(lane, None)
            self._taken_at.pop(lane, None)


class HeldLaneKeeper(LaneKeeper):
    """The keeper of one worker among several.  A lane that it does not hold says wait, and is asked for."""

    def __init__(
        self,
        holds: LaneHolds,
        policies: LanePolicies,
        *,
        clock: Clock,
        on_closed: Callable[[LaneKey, Reason], None] = lambda key, reason: None,
    ) -> None:
        super().__init__(policies, load=holds.state, clock=clock, on_closed=on_closed)
        self.holds = holds

    def gained(self, lane: LaneKey) -> None:
        """The lane is ours: its state is the one that came with it."""
        known = self._lanes.get(lane)
        if known is not None:
            fresh = self._opened(lane)
            known.state, known.is_new = rule.adopt(known.state, fresh.state), fresh.is_new
        self.wakes.touch(lane)

    def divide_all(self, workers: int) -> None:
        """So many workers share the limit of `all`."""
        self.tune(ALL, share_of(self._policies.of(ALL), workers))
        self.wakes.touch(ALL)

    def forget(self, lanes: Collection[LaneKey]) -> None:
        """They are no longer ours."""
        for lane in lanes:
            if not self.has_waiters(lane):
                self._lanes.pop(lane, None)

    def going_out(self, keys: Sequence[LaneKey], at: datetime) -> None:
        """Just before the bytes: a worker that was stopped in between sends nothing."""
        if any(_is_far(key) and not self.holds.has(key) for key in keys):
            raise NotOursError("another worker has this host by now")
        self.sent(keys, at)

    def _opened(self, key: LaneKey) -> _Lane:
        lane = super()._opened(key)
        lost_at = self.holds.lost_at(key)
        if lost_at is not None:
            lane.state = rule.started_unseen(lane.policy, lane.state, lost_at)
        return lane

    def _asked(self, lane: _Lane, now: datetime) -> Go | Wait:
        if _is_far(lane.key) and not self.holds.has(lane.key):
            if self.holds.hold(lane.key) is None:
                self.holds.wanted[lane.key] = None
            return _ELSEWHERE
        return super()._asked(lane, now)


def _is_far(key: LaneKey) -> bool:
    return key.startswith(FAR)
