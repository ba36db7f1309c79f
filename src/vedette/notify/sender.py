"""Sends what waits in the outbox.  Every channel has a task of its own: one that is dead keeps nobody else waiting.

A message leaves the outbox after it was delivered, so a kill in between sends it again, under the same id.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from vedette.contracts.alerts import ChannelName, ChannelPolicy, Delivery, Message, Notice
from vedette.contracts.errors import StoreWaitError
from vedette.contracts.lane import LanePolicy, Wait
from vedette.contracts.ports import Channel, Clock, Outbox
from vedette.contracts.words import Outcome
from vedette.core.health.alarm import day_start, digest_id, held_until
from vedette.core.lanes import lane as lanes
from vedette.core.lanes.outcomes import MEANING
from vedette.core.lanes.retry import Failure, Retry, RetryParams, next_attempt

POLL = timedelta(seconds=2)  # messages of other processes are heard of within this
TICK = timedelta(milliseconds=50)
BUG_PAUSE_S = 30.0
WAIT_S = 2.0  # before a store that takes nothing just now is asked again
# What a receiver sees from us at most; it is told, not crawled.
LANE = LanePolicy(
    gap_min=timedelta(0),
    gap_max=timedelta(0),
    per_minute=60,
    burst=20,
    trips_after=5,
    closed_for=timedelta(minutes=1),
)
_T = TypeVar("_T")
MakeDigest = Callable[[str, ChannelName, Sequence[Notice], datetime], Notice]
Heard = Callable[[ChannelName, Message, Delivery], None]


@dataclass(frozen=True, slots=True)
class ChannelRoute:
    """A channel and how much it may bother its readers."""

    channel: Channel
    policy: ChannelPolicy


@dataclass(slots=True, kw_only=True)
class Sender:
    ways: Mapping[ChannelName, ChannelRoute]
    outbox: Outbox
    clock: Clock
    retry: RetryParams
    make_digest: MakeDigest
    on_sent: Heard = lambda channel, message, delivery: None
    on_bug: Callable[[ChannelName, BaseException], None] = lambda channel, error: None
    lane_policy: LanePolicy = LANE
    _store: asyncio.Lock = field(default_factory=asyncio.Lock)
    _wakes: dict[ChannelName, asyncio.Event] = field(default_factory=dict)
    _under_way: dict[ChannelName, Message] = field(default_factory=dict)
    _turns: defaultdict[ChannelName, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def run(self) -> None:
        """Until cancelled."""
        self._wakes = {name: asyncio.Event() for name in self.ways}
        async with asyncio.TaskGroup() as tasks:
            for name in self.ways:
                tasks.create_task(self._serve(name))

    def wake(self) -> None:
        """Something was put into the outbox."""
        for wake in self._wakes.values():
            wake.set()

    async def drain(self, most: int = 10_000) -> None:
        """Sends what can be sent now, and comes back."""
        await asyncio.gather(*(self._drain(name, most) for name in self.ways))

    async def turn(self, name: ChannelName) -> datetime | None:
        """One message of this channel.  None: go on; else nothing can be done before that moment."""
        async with self._turns[name]:  # `drain` beside `run` must not send what is being sent
            return await self._turn(name)

    async def _turn(self, name: ChannelName) -> datetime | None:
        way, now = self.ways[name], self.clock.now()
        await self._ask(self._gather, name, now)
        message = await self._ask(self._next, name, now)
        if message is None:
            due = await self._ask(self.outbox.next_due, name)
            return now + POLL if due is None else max(due, now + TICK)
        sent_today = await self._ask(self.outbox.sent_since, name, day_start(way.policy, now))
        until = held_until(way.policy, message.notice, sent_today=sent_today, now=now)
        if until is not None:
            await self._ask(lambda: self.outbox.hold(message, until=until))
            return None
        state = await self._ask(self.outbox.lane, way.channel.lane)
        answer = lanes.ask(self.lane_policy, state, now)
        if isinstance(answer, Wait):
            return answer.until or now + POLL
        started = lanes.unused(lanes.started(self.lane_policy, state, now, self.clock.chance()))
        self._under_way[name] = message
        delivery = await way.channel.send(message.notice, at=now)
        self._under_way.pop(name, None)
        await self._settle(way, message, delivery)
        now = self.clock.now()
        verdict = MEANING[delivery.outcome].lane_verdict
        after = lanes.finished(
            self.lane_policy, started, ok=verdict, now=now, retry_after=delivery.retry_after
        )
        await self._ask(self.outbox.save_lane, way.channel.lane, after)
        return None

    async def _serve(self, name: ChannelName) -> None:
        wake = self._wakes[name]
        while True:
            task = asyncio.create_task(self.turn(name))
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()  # we were: what is under way stays in the outbox
            error = task.exception()  # a bug in one channel must not end the others
            if error is not None:
                await self._mend(name, error)
            elif (until := task.result()) is not None:
                await _rest(wake, min(until - self.clock.now(), POLL))

    async def _drain(self, name: ChannelName, most: int) -> None:
        for _ in range(most):
            if await self.turn(name) is not None:
                return

    async def _settle(self, way: ChannelRoute, message: Message, delivery: Delivery) -> None:
        """Delivered, tried again later, or parked for a person: by the one table of retries."""
        now = self.clock.now()
        if delivery.outcome is Outcome.OK:
            await self._ask(lambda: self.outbox.sent(message, at=now))
        else:
            failure = Failure(delivery.outcome, message.attempts + 1, delivery.retry_after)
            answer = next_attempt(failure, now=now, jitter=self.clock.chance(), params=self.retry)
            error = (
                f"{delivery.outcome.value}: {delivery.detail}" if delivery.detail else delivery.outcome.value
            )
            if isinstance(answer, Retry):
                await self._ask(lambda: self.outbox.later(message, at=answer.at, error=error))
            else:
                await self._ask(lambda: self.outbox.park(message, error=error))
        self.on_sent(way.policy.name, message, delivery)

    async def _mend(self, name: ChannelName, error: BaseException) -> None:
        """What our own code failed on is parked, like any job; a store that is broken is for others to mend."""
        self.on_bug(name, error)
        message = self._under_way.pop(name, None)
        if message is None:
            await asyncio.sleep(BUG_PAUSE_S)
        else:
            await self._settle(self.ways[name], message, Delivery(outcome=Outcome.BUG, detail=repr(error)))

    def _gather(self, name: ChannelName, now: datetime) -> None:
        def make(window: datetime, notices: Sequence[Notice]) -> Notice:
            return self.make_digest(digest_id(name, window), name, notices, now)

        self.outbox.gather(name, now=now, make=make)

    def _next(self, name: ChannelName, now: datetime) -> Message | None:
        return self.outbox.due(name, now=now)

    async def _ask(self, call: Callable[..., _T], *args: object) -> _T:
        """The outbox is one connection: one call at a time, and none of them on the loop's own thread."""
        while True:
            try:
                async with self._store:
                    return await asyncio.to_thread(call, *args)
            except StoreWaitError:  # a message that went out must be noted, or it goes out again
                await asyncio.sleep(WAIT_S)


async def _rest(wake: asyncio.Event, most: timedelta) -> None:
    """In real time: a clock that jumps belongs to the engine."""
    with suppress(TimeoutError):
        async with asyncio.timeout(max(TICK, most).total_seconds()):
            await wake.wait()
    wake.clear()
