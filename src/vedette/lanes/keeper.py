"""One keeper for all lanes: web hosts, browser, Tor, providers, and `all`.

A request needs a permit of every lane it names.  Who cannot start yet waits in the first lane that says no, and
moves on to the next one that does; a lane is woken once, when its time has come or a call in it ended.  There is
no wake-all.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from vedette.contracts.lane import ALL, BROWSER, Go, LanePolicies, LanePolicy, LaneState, Wait
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Reason
from vedette.core.lanes import lane as rule
from vedette.core.lanes.waiting_requests import doubtful_width, failing, is_doubtful, is_paced, waiting_room
from vedette.core.limits import clock_limits as ahead

__all__ = ["ALL", "BROWSER", "PATIENCE", "ROOM", "LaneKeeper", "LanePolicies"]
DOUBTFUL = LaneKey("all:doubtful")  # the part of `all` for hosts of which nobody knows whether they answer
ROOM = LaneKey("all:waiting")  # requests that do not end: they left `all` to others
SHARED = frozenset(
    (ALL, DOUBTFUL, ROOM)
)  # widths of ours, and no far end: they learn nothing and are not stored
PATIENCE = timedelta(seconds=90)  # a look that is under way gives up on a lane that is closed for longer


@dataclass(slots=True, eq=False)
class _Lane:
    key: LaneKey
    policy: LanePolicy
    state: LaneState
    is_new: bool = False  # no request of ours was ever answered, or failed, there
    gap: timedelta = timedelta(0)  # as drawn at the last start
    waiters: deque[_Waiter] = field(default_factory=deque)
    is_dirty: bool = False


@dataclass(slots=True, eq=False)
class _Waiter:
    keys: tuple[LaneKey, ...]
    ready: asyncio.Future[Wait | None]
    give_up_at: datetime


class LaneWakes:
    """Lanes that are to be considered: something happened in them, or their time has come.

    At most one timer for each; the soonest stands.
    """

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.touched: dict[LaneKey, None] = {}  # in the order in which it happened
        self._heap: list[tuple[datetime, int, LaneKey]] = []
        self._at: dict[LaneKey, datetime] = {}
        self._sequence = 0

    def touch(self, lane: LaneKey) -> None:
        """Something about this lane changed."""
        self.touched[lane] = None
        self.news.set()

    def add(self, lane: LaneKey, until: datetime | None) -> None:
        """None: something else will touch it."""
        if until is None:
            return
        planned = self._at.get(lane)
        if planned is not None and planned <= until:
            return
        self._at[lane] = until
        self._sequence += 1
        heapq.heappush(self._heap, (until, self._sequence, lane))

    def due(self, now: datetime) -> Iterator[LaneKey]:
        """Lanes whose time has come, in order; each is given once."""
        while self._heap and self._heap[0][0] <= now:
            at, _, lane = heapq.heappop(self._heap)
            if self._at.get(lane) == at:
                del self._at[lane]
                yield lane

    def clear(self) -> list[LaneKey]:
        """The clock was set: nobody knows when.  Gives the lanes that waited, in the order in which they would come."""
        lanes = [lane for _, _, lane in sorted(self._heap)]
        self._heap.clear()
        self._at.clear()
        return lanes

    def next_at(self) -> datetime | None:
        return self._heap[0][0] if self._heap else None

    def by(self, last: datetime) -> Iterator[LaneKey]:
        """Lanes that are to be considered by then."""
        return (lane for at, _, lane in self._heap if at <= last)


class _Lanes(dict[LaneKey, _Lane]):
    """Lanes by key; one that is not there yet is opened."""

    def __init__(self, opened: Callable[[LaneKey], _Lane]) -> None:
        super().__init__()
        self._opened = opened

    def __missing__(self, key: LaneKey) -> _Lane:
        lane = self[key] = self._opened(key)
        return lane


class LaneKeeper:
    """Answers for every lane whether a request may start now, and remembers what happened in it."""

    def __init__(
        self,
        policies: LanePolicies,
        *,
        load: Callable[[LaneKey], LaneState | None],
        clock: Clock,
        not_before: datetime | None = None,
        on_closed: Callable[[LaneKey, Reason], None] = lambda key, reason: None,
    ) -> None:
        """`not_before`: the last run was killed, so a start of its last moments may be in no store."""
        self._not_before = not_before
        self._policies = policies
        self._load = load
        self._clock = clock
        self._lanes = _Lanes(self._opened)
        self._dirty: deque[_Lane] = deque()
        self._is_closing = False
        self._failing = 0.0  # the share of doubtful requests that failed of late
        self._is_paced = False
        self.waiting = 0  # looks under way that stand in a lane
        self.wakes = LaneWakes()
        self._on_closed = on_closed

    def ask(self, keys: Sequence[LaneKey], now: datetime) -> Go | Wait:
        """Whether a request that needs all these lanes may start now.  The longest wait speaks."""
        worst: Wait | None = None
        for key in keys:
            lane = self._lanes[key]
            if lane.waiters:
                return Wait(None, Reason("lane_queue", note=key))
            answer = rule.ask(lane.policy, lane.state, now)
            if answer is rule.GO:
                continue
            answer = self._held(lane, answer, now)
            if isinstance(answer, Wait) and (worst is None or _later(answer, worst)):
                worst = answer
        return worst or rule.GO

    def start(self, keys: Sequence[LaneKey], now: datetime) -> None:
        """A request that was told Go starts."""
        for key in keys:
            lane = self._lanes[key]
            state = rule.started(lane.policy, lane.state, now, self._clock.chance())
            lane.gap = state.next_start_at - now if state.next_start_at else timedelta(0)
            self._move(lane, state)

    def sent(self, keys: Sequence[LaneKey], at: datetime) -> None:
        """A request that was let in went out then: later than it was let in, when the machine was busy."""
        for key in keys:
            lane = self._lanes[key]
            if lane.gap or lane.policy.per_minute:
                self._move(lane, rule.sent(lane.policy, lane.state, at, lane.gap))
                if lane.policy.at_once > 1:
                    self.wakes.touch(key)

    going_out = sent  # said just before the bytes; who shares its lanes with others may refuse here

    def heard(self, keys: Sequence[LaneKey], at: datetime) -> None:
        """The far end answered, or will not: it has seen the request by now, and surely no sooner.

        One at a time, gap and bucket are counted from here.  Whatever held the request up on its way, the far end
        sees the next one a whole gap after it.
        """
        for key in keys:
            lane = self._lanes[key]
            if lane.policy.at_once == 1 and (lane.gap or lane.policy.per_minute):
                self._move(lane, rule.sent(lane.policy, lane.state, at, lane.gap))

    def give_back(self, keys: Sequence[LaneKey], now: datetime) -> None:
        """A permit that was not used: nothing went out.  What it cost stays paid."""
        for key in keys:
            lane = self._lanes[key]
            self._move(lane, rule.unused(lane.state))
        self.finish(keys, ok=None, now=now)

    def finish(
        self, keys: Sequence[LaneKey], *, ok: bool | None, now: datetime, retry_after: timedelta | None = None
    ) -> list[tuple[LaneKey, Reason]]:
        """The request ended.  Only the far end's own lane learns how.  Gives the lanes that closed by it."""
        closed: list[tuple[LaneKey, Reason]] = []
        if ok is not None and (DOUBTFUL in keys or ROOM in keys):
            self._pace(has_failed=not ok)
        for key in keys:
            lane = self._lanes[key]
            was = lane.state.closed_until
            says = ok if key not in SHARED else None
            hold = retry_after if key not in SHARED else None
            lane.is_new = lane.is_new and says is None
            state = rule.finished(lane.policy, lane.state, ok=says, now=now, retry_after=hold)
            until = state.closed_until
            if until is not None and until != was:
                closed.append((key, Reason("breaker_open", note=f"until {until:%Y-%m-%d %H:%M:%S}Z")))
                self._on_closed(*closed[-1])  # first: who takes the state finds the reason there
            self._move(lane, state)
            self.wakes.touch(key)
        return closed

    def _pace(self, *, has_failed: bool) -> None:
        """While most of the doubtful fail they start one after another."""
        self._failing = failing(self._failing, has_failed=has_failed)
        paced = is_paced(self._failing, was_paced=self._is_paced)
        if paced is not self._is_paced:
            self._is_paced = paced
            self.tune(DOUBTFUL, doubtful_width(self._policies.of(ALL), is_paced=paced))

    def lanes_to(self, host: LaneKey) -> tuple[LaneKey, ...]:
        """The lanes that a request to this host needs, as far as is known of it now."""
        return (host, DOUBTFUL, ALL) if self.is_doubtful(host) else (host, ALL)

    def is_doubtful(self, host: LaneKey) -> bool:
        lane = self._lanes[host]
        return is_doubtful(lane.state, is_new=lane.is_new)

    def doubt(self, host: LaneKey) -> int | None:
        """How often in a row a doubtful host failed; None: it answers."""
        return self._lanes[host].state.failures if self.is_doubtful(host) else None

    def doubt_waits(self, now: datetime) -> Wait | None:
        """What a request to a doubtful host has to wait for, as far as these hosts are concerned; None: nothing."""
        if self.aside >= self.room:
            return Wait(None, Reason("waiting_room"))
        answer = self.ask((DOUBTFUL,), now)
        return answer if isinstance(answer, Wait) else None

    def is_new(self, host: LaneKey) -> bool:
        """It was never reached."""
        return self._lanes[host].is_new

    def step_aside(self, keys: tuple[LaneKey, ...], now: datetime) -> tuple[LaneKey, ...]:
        """A request that does not end leaves the width to others.  Gives the lanes that it holds from now on."""
        self.start((ROOM,), now)
        self.give_back([key for key in keys if key in SHARED], now)
        return (*(key for key in keys if key not in SHARED), ROOM)

    @property
    def aside(self) -> int:
        """How many requests stepped aside."""
        return self._lanes[ROOM].state.under_way

    @property
    def room(self) -> int:
        """How many may."""
        return self._lanes[ROOM].policy.at_once

    async def enter(self, keys: tuple[LaneKey, ...]) -> Wait | None:
        """Wait for a permit in the middle of a look (robots.txt, next hop).  A Wait comes back: give up."""
        now = self._clock.now()
        answer = self.ask(keys, now)
        if isinstance(answer, Go):
            self.start(keys, now)
            return None
        if self._is_closing or is_shut(answer, now + PATIENCE):
            return answer
        waiter = _Waiter(keys, asyncio.get_running_loop().create_future(), now + PATIENCE)
        self._stand(waiter, self._blocking(keys, now), answer.until)
        self.waiting += 1
        try:
            return await waiter.ready
        except asyncio.CancelledError:
            if waiter.ready.cancelled():
                self.waiting -= 1
            elif waiter.ready.result() is None:  # let in and cancelled in the same moment
                self.give_back(keys, self._clock.now())
            raise

    def wake(self, key: LaneKey) -> datetime | None:
        """Let waiters of this lane in, in order, as far as the lanes allow.  Gives when to call again."""
        lane = self._lanes[key]
        now = self._clock.now()
        while lane.waiters:
            waiter = lane.waiters[0]
            obstacle = self._obstacle(waiter.keys, now)
            if waiter.ready.done():
                lane.waiters.popleft()
            elif obstacle is None or now >= waiter.give_up_at or is_shut(obstacle[1], waiter.give_up_at):
                if obstacle is None:
                    self.start(waiter.keys, now)
                self._let_go(lane, None if obstacle is None else obstacle[1])
                if self._clock.is_stepped:
                    return now if lane.waiters else None  # one at a time
            elif obstacle[0] is lane:
                return _sooner(obstacle[1].until, waiter.give_up_at)
            else:
                self._stand(lane.waiters.popleft(), obstacle[0], obstacle[1].until)
        return None

    def dismiss(self) -> None:
        """The run ends: whoever stands in a lane gives up, and nobody stands in one any more."""
        self._is_closing = True
        for lane in self._lanes.values():
            while lane.waiters:
                self._let_go(lane, Wait(None, Reason("stopped")))

    def has_waiters(self, key: LaneKey) -> bool:
        lane = self._lanes.get(key)
        return lane is not None and bool(lane.waiters)

    def crawl_delay(self, key: LaneKey, seconds: float | None) -> None:
        """robots.txt asked for this gap."""
        lane = self._lanes[key]
        known = lane.state.crawl_delay
        if seconds != (known.total_seconds() if known else None):
            self._move(lane, rule.with_crawl_delay(lane.state, seconds, self._clock.now()))

    def gap(self, key: LaneKey) -> timedelta:
        """The least time between two starts in this lane."""
        lane = self._lanes[key]
        delay = lane.state.crawl_delay or timedelta(0)
        bucket = timedelta(seconds=60 / lane.policy.per_minute) if lane.policy.per_minute else timedelta(0)
        return max(lane.policy.gap_min, delay, bucket)

    def state(self, key: LaneKey) -> LaneState:
        return self._lanes[key].state

    def replace(self, key: LaneKey, state: LaneState) -> None:
        """The operator changed the lane from outside: their word wins, calls under way stay counted."""
        lane = self._lanes[key]
        was = lane.state
        state = replace(  # the store may lag behind: a start that it does not have yet still counts
            state,
            next_start_at=_later_of(was.next_start_at, state.next_start_at),
            bucket_at=_later_of(was.bucket_at, state.bucket_at),
        )
        lane.state = rule.bounded(lane.policy, rule.adopt(was, state), self._clock.now())

    def tune(self, key: LaneKey, policy: LanePolicy) -> None:
        """From now on the lane is held to this: a far end said, or was found to have, another limit."""
        self._lanes[key].policy = policy

    def clock_set(self, by: timedelta) -> None:
        """The clock was set forward or back: what was left to wait in each lane is left to wait."""
        now = self._clock.now()
        for lane in self._lanes.values():
            self._move(lane, ahead.moved_lane(lane.policy, lane.state, by, now))
            for waiter in lane.waiters:
                waiter.give_up_at += by

    def known(self) -> Iterable[LaneKey]:
        return self._lanes.keys()

    def take_dirty(self) -> tuple[tuple[LaneKey, LaneState], ...]:
        """Lanes that moved since the last call, for the settle transaction.  May be called from another thread.

        The mark is cleared before the state is read, and `_move` sets the state before it looks at the mark: a
        move in between is given now or with the next call, never lost.
        """
        moved: dict[LaneKey, LaneState] = {}
        for _ in range(len(self._dirty)):
            lane = self._dirty.popleft()
            lane.is_dirty = False
            if lane.key not in SHARED:
                moved[lane.key] = lane.state
        return tuple(moved.items())

    def _opened(self, key: LaneKey) -> _Lane:
        """A lane that this run asks about for the first time."""
        known, policy = None if key in SHARED else self._load(key), self._policy_of(key)
        state = ahead.lane(policy, known or LaneState(), self._clock.now())
        if self._not_before is not None and key not in SHARED:
            state = rule.started_unseen(policy, state, self._not_before)
        return _Lane(key, policy, state, is_new=known is None and key not in SHARED)

    def _policy_of(self, key: LaneKey) -> LanePolicy:
        if key == DOUBTFUL:
            return doubtful_width(self._policies.of(ALL))
        if key == ROOM:
            return waiting_room(self._policies.of(ALL))
        return self._policies.of(key)

    def _asked(self, lane: _Lane, now: datetime) -> Go | Wait:
        """The rule's answer, once no time of the lane is further ahead than the rule allows: an open lane has none."""
        answer = rule.ask(lane.policy, lane.state, now)
        return answer if answer is rule.GO else self._held(lane, answer, now)

    def _held(self, lane: _Lane, answer: Go | Wait, now: datetime) -> Go | Wait:
        """The answer of a lane that said no, by times that are as near as the rule has them."""
        state = rule.bounded(lane.policy, lane.state, now)
        if state is lane.state:
            return answer
        self._move(lane, state)
        return rule.ask(lane.policy, state, now)

    def _move(self, lane: _Lane, state: LaneState) -> None:
        lane.state = state
        if not lane.is_dirty:
            lane.is_dirty = True
            self._dirty.append(lane)

    def _blocking(self, keys: Sequence[LaneKey], now: datetime) -> _Lane:
        lanes = [self._lanes[key] for key in keys]
        for lane in lanes:
            if lane.waiters or isinstance(self._asked(lane, now), Wait):
                return lane
        return lanes[0]

    def _obstacle(self, keys: Sequence[LaneKey], now: datetime) -> tuple[_Lane, Wait] | None:
        """The first lane that says no to someone who already stands in line: the queues are no obstacle."""
        for key in keys:
            lane = self._lanes[key]
            answer = self._asked(lane, now)
            if isinstance(answer, Wait):
                return lane, answer
        return None

    def _let_go(self, lane: _Lane, answer: Wait | None) -> None:
        """The first in line goes on.  It counts as under way from here, not from when it resumes."""
        waiter = lane.waiters.popleft()
        if not waiter.ready.done():
            self.waiting -= 1
            waiter.ready.set_result(answer)

    def _stand(self, waiter: _Waiter, lane: _Lane, until: datetime | None) -> None:
        lane.waiters.append(waiter)
        self.wakes.add(lane.key, _sooner(until, waiter.give_up_at))
        self.wakes.news.set()  # whoever sleeps does not know of this time


def _later(a: Wait, b: Wait) -> bool:
    if b.until is None:
        return False
    return a.until is None or a.until > b.until


def is_shut(answer: Wait, limit: datetime) -> bool:
    """Not open before the limit, as far as is known now."""
    return answer.reason.code == "lane_blocked" if answer.until is None else answer.until > limit


def _sooner(until: datetime | None, limit: datetime) -> datetime:
    return limit if until is None else min(until, limit)


def _later_of(a: datetime | None, b: datetime | None) -> datetime | None:
    return max((at for at in (a, b) if at is not None), default=None)
