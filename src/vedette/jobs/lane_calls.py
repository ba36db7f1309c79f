"""Calls of lanes: a job of BullMQ for each lane that is due, at most one per lane at a time.

A call brings a lane to a worker and nothing else.  Whose lane it is, with its token, is in the store: a call that is
lost, late or doubled costs a look into the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from vedette.contracts.errors import StoreWaitError
from vedette.contracts.jobs import QueueRule
from vedette.contracts.lane import DueLane
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey
from vedette.jobs.bullmq_queues import BullmqQueues, NewCall

QUEUE, NAME = "crawl", "lane"
AGAIN = timedelta(seconds=10)  # a lane that is still due is called again
AWAY = timedelta(
    seconds=5
)  # a Redis that did not answer is not asked for so long: who takes lanes has leases to keep
RULE = QueueRule(attempts=1, lease=timedelta(seconds=20))


class LaneCalls:
    """One thread's."""

    def __init__(self, queues: BullmqQueues, clock: Clock) -> None:
        self._queues = queues
        self._clock = clock
        self._since = clock.stopwatch()
        self._asks_at = timedelta(0)
        self._called: dict[LaneKey, tuple[int, timedelta]] = {}  # token, and when

    def call(self, due: Sequence[DueLane]) -> int:
        """Those of all that are due that were not called lately; how many."""
        at = self._since()
        lanes = {one.lane for one in due}
        self._called = {lane: known for lane, known in self._called.items() if lane in lanes}
        fresh = [one for one in due if self._is_fresh(one, at)]
        if fresh:
            self._queues.call(QUEUE, [_call(one) for one in fresh], now=self._clock.now())
            self._called.update((one.lane, (one.token, at)) for one in fresh)
        return len(fresh)

    def answer(self, worker: str, most: int) -> list[LaneKey] | None:
        """Lanes that were called.  They are this worker's to take in the store, where they may be another's by now.

        None: Redis does not answer.
        """
        if self._since() < self._asks_at:
            return None
        now = self._clock.now()
        lanes: list[LaneKey] = []
        try:
            self._queues.free_stalled(QUEUE)
            for one in self._queues.take(QUEUE, worker=worker, now=now, most=most, rule=RULE):
                lanes.append(LaneKey(str(one.delivered.data.get("lane", ""))))
                self._queues.complete(QUEUE, one, now=now)
        except StoreWaitError:
            self._asks_at = self._since() + AWAY
            return lanes or None
        return lanes

    def depth(self) -> int:
        waiting, active = self._queues.counts(QUEUE)
        return waiting + active

    def close(self) -> None:
        with suppress(StoreWaitError):
            self._queues.close()

    def _is_fresh(self, one: DueLane, at: timedelta) -> bool:
        token, called = self._called.get(one.lane, (-1, -AGAIN))
        return token != one.token or at - called >= AGAIN


def _call(one: DueLane) -> NewCall:
    once = f"lane-{one.number:016x}"
    return NewCall(f"{once}-{one.token}", NAME, {"lane": one.lane}, once)
