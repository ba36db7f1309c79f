"""What waits in the outbox, channel by channel.  Each has a worker of its own: a dead one keeps nobody else waiting.

A message leaves the outbox after it was delivered, so a kill in between sends it again, under the same id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from vedette.contracts.alerts import ChannelName, ChannelPolicy, Delivery, Message, Notice
from vedette.contracts.errors import StoreWaitError
from vedette.contracts.jobs import Idle
from vedette.contracts.lane import LanePolicy, LaneState, Wait
from vedette.contracts.ports import Channel, Clock, Outbox
from vedette.contracts.words import Outcome
from vedette.core.health.alarm import day_start, digest_id, held_until
from vedette.core.lanes import lane as lanes
from vedette.core.lanes.outcomes import MEANING, Failure, Retry, RetryParams, next_attempt

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What all channels share.  The outbox is one connection."""

    outbox: Outbox
    clock: Clock
    retry: RetryParams
    make_digest: MakeDigest
    on_sent: Heard = lambda channel, message, delivery: None
    on_bug: Callable[[ChannelName, BaseException], None] = lambda channel, error: None
    lane_policy: LanePolicy = LANE
    _store: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, call: Callable[..., _T], *args: object) -> _T:
        """One call of the outbox at a time, and none of them on the loop's own thread."""
        while True:
            try:
                async with self._store:
                    return await asyncio.to_thread(call, *args)
            except StoreWaitError:  # a message that went out must be noted, or it goes out again
                await asyncio.sleep(WAIT_S)


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message that may go out, and its lane once it has."""

    message: Message
    started: LaneState


@dataclass(frozen=True, slots=True)
class ChannelQueue:
    """What waits for one channel."""

    sender: Sender
    way: ChannelRoute

    async def take(self) -> OutgoingMessage | Idle:
        """The next message that may go out; those beyond the channel's measure are held for a digest."""
        sender, policy = self.sender, self.way.policy
        now = sender.clock.now()
        due_at = await sender.ask(sender.outbox.next_due, policy.name)
        if due_at is None or due_at > now:  # a channel that is asked often and has nothing costs one question
            return self._idle(due_at, now)
        while True:
            await sender.ask(self._gather, now)
            message = await sender.ask(self._next, now)
            if message is None:
                return self._idle(await sender.ask(sender.outbox.next_due, policy.name), now)
            sent_today = await sender.ask(sender.outbox.sent_since, policy.name, day_start(policy, now))
            until = held_until(policy, message.notice, sent_today=sent_today, now=now)
            if until is None:
                break
            await sender.ask(partial(sender.outbox.hold, message, until=until))
        state = await sender.ask(sender.outbox.lane, self.way.channel.lane)
        answer = lanes.ask(sender.lane_policy, state, now)
        if isinstance(answer, Wait):
            return self._idle(answer.until, now)
        started = lanes.started(sender.lane_policy, state, now, sender.clock.chance())
        return OutgoingMessage(message, lanes.unused(started))

    async def perform(self, work: OutgoingMessage) -> Delivery:
        return await self.way.channel.send(work.message.notice, at=self.sender.clock.now())

    async def extend(self, work: OutgoingMessage) -> None:
        """A message has no lease: it leaves the outbox when it was delivered."""

    async def end(self, work: OutgoingMessage, result: Delivery) -> int:
        await self._settle(work.message, result)
        sender, now = self.sender, self.sender.clock.now()
        verdict = MEANING[result.outcome].lane_verdict
        after = lanes.finished(
            sender.lane_policy, work.started, ok=verdict, now=now, retry_after=result.retry_after
        )
        await sender.ask(sender.outbox.save_lane, self.way.channel.lane, after)
        return 1

    async def failed(self, work: OutgoingMessage | None, error: Exception) -> int | Idle:
        """What our own code failed on is parked, like any job; a store that is broken is for others to mend."""
        self.sender.on_bug(self.way.policy.name, error)
        if work is None:
            return Idle(BUG_PAUSE_S)
        await self._settle(work.message, Delivery(outcome=Outcome.BUG, detail=repr(error)))
        return 1

    async def _settle(self, message: Message, delivery: Delivery) -> None:
        """Delivered, tried again later, or parked for a person: by the one table of retries."""
        sender, outbox = self.sender, self.sender.outbox
        now, word = sender.clock.now(), delivery.outcome.value
        error = f"{word}: {delivery.detail}" if delivery.detail else word
        failure = Failure(delivery.outcome, message.attempts + 1, delivery.retry_after)
        if delivery.outcome is Outcome.OK:
            await sender.ask(partial(outbox.sent, message, at=now))
        elif isinstance(again := self._again(failure, now), Retry):
            await sender.ask(partial(outbox.later, message, at=again.at, error=error))
        else:
            await sender.ask(partial(outbox.park, message, error=error))
        sender.on_sent(self.way.policy.name, message, delivery)

    def _again(self, failure: Failure, now: datetime) -> object:
        sender = self.sender
        return next_attempt(failure, now=now, jitter=sender.clock.chance(), params=sender.retry)

    def _gather(self, now: datetime) -> None:
        name = self.way.policy.name

        def make(window: datetime, notices: Sequence[Notice]) -> Notice:
            return self.sender.make_digest(digest_id(name, window), name, notices, now)

        self.sender.outbox.gather(name, now=now, make=make)

    def _next(self, now: datetime) -> Message | None:
        return self.sender.outbox.due(self.way.policy.name, now=now)

    def _idle(self, until: datetime | None, now: datetime) -> Idle:
        """Messages of other processes are heard of meanwhile."""
        wait = POLL if until is None else min(until - now, POLL)
        return Idle(max(TICK, wait).total_seconds())
