"""Visits of lanes by a worker among several: takes lanes that are due, renews its leases, gives lanes back.

A thread of its own talks to the store, so that a lease hangs neither on the loop being free nor on a commit being
through.  What the loop may ask is in `lanes/held_lanes.py`; when a visit is over is in `core/lanes/visit.py`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from vedette.contracts.copies import replace
from vedette.contracts.errors import StoreError, StoreWaitError
from vedette.contracts.lane import LaneHold, Wait
from vedette.contracts.ports import Clock
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import LaneKey
from vedette.core.lanes.visit import (
    A_STEP,
    AT_ONCE,
    MOST_HELD,
    RENEW,
    SWEEP,
    LaneVisit,
    fair_share,
    is_over,
    lost_room,
)
from vedette.frontier.visit_queue import VisitFrontier
from vedette.jobs.lane_calls import LaneCalls
from vedette.lanes.held_lanes import HeldLaneKeeper, LaneHolds
from vedette.store.lane_visits import Exchanged, LaneExchange, LaneVisits, RenewedLeases, Returned

TURN_S = 1.0  # lanes are taken and given back so often, in one trip
AGAIN_S = 1.0  # after the store took nothing
OPENS_SOON = timedelta(seconds=15)  # a lane that is shut for longer is given back meanwhile


class VisitSide(Protocol):
    """What the visitor needs of the store (`store/lane_visits.py`)."""

    def exchange(self, asked: LaneExchange) -> Exchanged: ...
    def renew(self, tokens: Mapping[LaneKey, int]) -> RenewedLeases: ...
    def sweep(self, every: timedelta | None = None) -> int: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitCalls:
    """Whom the visitor tells, from its own thread."""

    gained: Callable[[list[LaneHold], timedelta], None]
    kept: Callable[[set[LaneKey], timedelta], None]
    lost: Callable[[set[LaneKey]], None]
    failed: Callable[[BaseException], None]
    server_time: Callable[[datetime], None] = lambda at: None
    ordered: Callable[[int], None] = lambda number: None  # the operator's last word


class LaneVisitor(threading.Thread):
    """The thread.  What it holds is given back when it is stopped."""

    def __init__(self, store: VisitSide, calls: VisitCalls, since: Callable[[], timedelta]) -> None:
        """`since`: the stopwatch by which leases are counted on."""
        super().__init__(name="visits", daemon=True)
        self._store = store
        self._calls = calls
        self._since = since
        self._ours: dict[LaneKey, int] = {}  # tokens
        self._back: deque[Returned] = deque()
        self._dues: deque[Mapping[LaneKey, datetime]] = deque()
        self._untold: dict[LaneKey, datetime] = {}  # of these dues
        self._renewed = self._swept = timedelta(0)
        self._is_over = threading.Event()
        self._news = threading.Event()
        self._last_order = 0
        self._share = AT_ONCE  # of the lanes that are held or due
        self.room = 0  # lanes that may be taken
        self.wanted: tuple[LaneKey, ...] = ()  # that looks under way wait for
        self.taken = 0

    @property
    def surplus(self) -> int:
        """Lanes beyond its share: others came, or more lanes than it could have came from workers that are gone."""
        return max(0, len(self._ours) - len(self._back) - self._share)

    def give_back(self, lanes: Sequence[Returned]) -> None:
        self._back.extend(lanes)

    def sooner(self, dues: Mapping[LaneKey, datetime]) -> None:
        self._dues.append(dues)

    def hurry(self) -> None:
        self._news.set()

    def renew_soon(self) -> None:
        """Something was refused: see which lanes are ours."""
        self._renewed = timedelta(0)
        self._news.set()

    def stop(self) -> None:
        self._is_over.set()
        self._news.set()

    def run(self) -> None:
        try:
            while not self._is_over.is_set():
                try:
                    self.turn()
                except StoreWaitError:
                    self._is_over.wait(AGAIN_S)
                self._news.wait(2 * TURN_S)  # the loop calls for each turn, unless it hangs
                self._news.clear()
        except BaseException as error:  # noqa: BLE001  the engine must hear of it, whatever it is
            self._calls.failed(error)
        finally:
            self._give_back_all()
            self._store.close()

    def _give_back_all(self) -> None:
        """Twice where the first finds that the server has cut the session.  What is not given back ends by itself."""
        back, told = tuple(self._back), {lane for lane, _, _ in self._back}
        rest = tuple((lane, token, None) for lane, token in self._ours.items() if lane not in told)
        for _ in range(2):
            with suppress(StoreError):
                self._exchange(LaneExchange(back=(*back, *rest)))
                return

    def turn(self) -> None:
        """One round.  The leases come first: the rest can wait."""
        if self._since() - self._renewed >= RENEW or not self._renewed:
            self._renew()
        asked = self._asked()
        self._exchange(asked)
        self._untold.clear()
        for _ in asked.back:
            self._back.popleft()
        if self._since() - self._swept >= 3 * SWEEP or not self._swept:
            self._swept = self._since() or timedelta.resolution
            self._store.sweep(SWEEP)

    def _asked(self) -> LaneExchange:
        named = tuple(lane for lane in self.wanted if lane not in self._ours)
        room = min(self.room, self._share) - len(self._ours) - len(named)
        most = A_STEP if self.taken else AT_ONCE
        lost = lost_room(len(self._ours)) if self.room else 0
        return LaneExchange(
            room=min(room, most), lost_room=lost, named=named, back=tuple(self._back), sooner=self._sooner()
        )

    def _sooner(self) -> dict[LaneKey, datetime]:
        """Kept until the store has heard it."""
        while self._dues:
            for lane, at in self._dues.popleft().items():
                self._untold[lane] = min(at, self._untold.get(lane, at))
        return dict(self._untold)

    def _exchange(self, asked: LaneExchange) -> None:
        since = self._since()
        done = self._store.exchange(asked)
        for lane, token, _ in asked.back:
            if self._ours.get(lane) == token:
                del self._ours[lane]
        if done.taken:
            self._ours.update((one.lane, one.token) for one in done.taken)
            self.taken += len(done.taken)
            self._calls.gained(done.taken, since)
        if done.last_order > self._last_order:
            self._last_order = done.last_order
            self._calls.ordered(done.last_order)

    def _renew(self) -> None:
        asked, known = self._since(), dict(self._ours)
        found = self._store.renew(known)
        self._renewed = asked or timedelta.resolution
        lost = known.keys() - found.kept
        for lane in lost:
            self._ours.pop(lane, None)
        self._calls.kept(set(found.kept), asked)
        if lost:
            self._calls.lost(set(lost))
        self._share = fair_share(found.busy, found.workers)
        self._calls.server_time(found.at)


@dataclass(slots=True, kw_only=True)
class Visits:
    """The visits of a worker, in the loop: begins them, sees when they are over."""

    clock: Clock
    holds: LaneHolds
    keeper: HeldLaneKeeper
    frontier: VisitFrontier
    on_gained: list[Callable[[LaneKey], None]] = field(default_factory=list)  # who reads of a lane anew
    most: int = MOST_HELD
    made: int = 0  # visits that are over
    has_doubt: bool = False  # a look was refused, because its lane is another's
    last_order: int = 0  # the operator's last word, as far as the visitor has heard

    def gained(self, taken: Sequence[LaneHold], asked_after: timedelta) -> None:
        self.holds.add(taken, asked_after)
        now = self.clock.now()
        for one in taken:
            for hear in self.on_gained:
                hear(one.lane)
            self.frontier.gained(one.lane, now)
            self.keeper.gained(one.lane)

    def kept(self, lanes: Collection[LaneKey], asked_after: timedelta) -> None:
        """A lane that was counted on no more, and is ours all the same, is considered again."""
        lapsed = [lane for lane in lanes if self.holds.hold(lane) is not None and not self.holds.has(lane)]
        self.holds.renewed(lanes, asked_after)
        for lane in lapsed:
            self.keeper.wakes.touch(lane)

    def lost(self, lanes: Collection[LaneKey]) -> None:
        """Looks under way may end; nothing of them is written."""
        self.holds.drop(lanes)
        self.frontier.forget(lanes)
        self.keeper.forget(lanes)

    def tidy(self, visitor: LaneVisitor, *, may_take: bool) -> None:
        """Gives back what is over, and says what is wanted."""
        now = self.clock.now()
        self.frontier.wind_up(visitor.surplus)
        over = [lane for lane in self.frontier.held() if is_over(self._facts(lane, now))]
        if over:
            visitor.give_back(self._returned(over))
            self.made += len(over)
        dues, self.frontier.elsewhere = self.frontier.elsewhere, {}
        if dues:
            visitor.sooner(dues)
        for lane in tuple(self.holds.wanted):
            if not self.keeper.has_waiters(lane):
                self.holds.wanted.pop(lane, None)
        visitor.wanted = tuple(self.holds.wanted)
        visitor.room = self.most if may_take else 0
        if self.has_doubt:
            self.has_doubt = False
            visitor.renew_soon()
        visitor.hurry()

    def ordered(self, number: int) -> None:
        self.last_order = number

    def give_back_all(self, visitor: LaneVisitor) -> None:
        """The worker ends: everything that it looked at is written."""
        visitor.room, visitor.wanted = 0, ()
        visitor.give_back(self._returned(self.frontier.held()))

    def _returned(self, lanes: Collection[LaneKey]) -> list[Returned]:
        returned: list[Returned] = []
        for lane in lanes:
            held = self.holds.hold(lane)
            if held is not None:
                returned.append((lane, held.token, self.keeper.state(lane)))
        self.lost(lanes)
        return returned

    def _facts(self, lane: LaneKey, now: datetime) -> LaneVisit:
        """With what the lane itself says: requests of looks that only pass through, and how long it is shut."""
        facts = self.frontier.facts(lane, now)
        busy = facts.busy + self.keeper.state(lane).under_way + self.keeper.has_waiters(lane)
        answer = None if busy else self.keeper.ask((lane,), now)
        if isinstance(answer, Wait) and answer.until is not None and answer.until > now + OPENS_SOON:
            return replace(facts, busy=busy, due_in=answer.until - now)
        return replace(facts, busy=busy)


# Where BullMQ calls lanes that are due, the store still says whose lane it is.

PATIENCE = timedelta(seconds=10)  # a lane that waited so long is taken without a call


class CalledVisits(LaneVisits):
    """Takes lanes that were called.  Where calls do not come, it takes what is due, as others do."""

    def __init__(self, path: PostgresAddress, *, worker: str, lease: timedelta, calls: LaneCalls) -> None:
        super().__init__(path, worker=worker, lease=lease)
        self._calls = calls

    def exchange(self, asked: LaneExchange) -> Exchanged:
        called = self._calls.answer(self._worker, asked.room) if asked.room > 0 else None
        if called is not None:  # None: Redis is away
            asked = replace(asked, called=called, room=asked.room - len(called), late=PATIENCE)
        return super().exchange(asked)

    def close(self) -> None:
        super().close()
        self._calls.close()
