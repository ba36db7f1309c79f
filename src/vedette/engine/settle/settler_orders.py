"""What the settler's thread is told, in order; a claim that comes early waits for its time, or for the next group."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from vedette.contracts.fetch import RobotsRules
from vedette.contracts.ports import Clock
from vedette.contracts.watch import Ask, LedgerNote, Release, SourceState
from vedette.engine.settle.group_pace import GroupPace

Aside = RobotsRules | SourceState | LedgerNote | Release  # goes along with the next group


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    asks: tuple[Ask, ...]
    due_by: datetime


@dataclass(frozen=True, slots=True)
class Barrier:
    done: threading.Event


class Word(Enum):
    """What needs no more than a word."""

    LOOKS = auto()  # have ended: there is something to write, or so much that it is written at once
    HUNT = auto()  # there may be something to choose, though no look ended
    HEAL = auto()  # the clock was set: times that lie too far ahead are brought back
    HURRY = auto()  # nothing more is coming: write what there is


SettlerOrder = Word | ClaimOrder | Barrier | Aside | None  # None: stop


class SettlerOrders:
    """Any thread puts, one takes."""

    def __init__(self, clock: Clock, pace: GroupPace) -> None:
        self.queue: queue.SimpleQueue[SettlerOrder] = queue.SimpleQueue()
        self.waiting: ClaimOrder | None = None  # it came too soon after the one before
        self._clock = clock
        self._pace = pace
        self._answered: Callable[[], timedelta] | None = None  # how long ago a claim was

    def put(self, order: SettlerOrder) -> None:
        self.queue.put(order)

    def next(self, timeout: float, *, is_gathering: bool) -> SettlerOrder:
        """Raises queue.Empty after so many seconds.  A claim is given when it may be answered by itself.

        Where looks wait to be written it waits longer, for their group: what it asks goes with what that must know.
        """
        while True:
            waits = self._claim_wait(is_gathering)
            wait = timeout if self.waiting is None else min(timeout, waits)
            try:
                order = self.queue.get(timeout=wait)
            except queue.Empty:
                if self.waiting is None or wait >= timeout:
                    raise
                return self.waiting
            if not isinstance(order, ClaimOrder) or self.waiting is not None or not waits:
                return order
            self.waiting = order

    def answered(self, claim: ClaimOrder) -> None:
        self.waiting = None if self.waiting is claim else self.waiting
        self._answered = self._clock.stopwatch()

    def _claim_wait(self, is_gathering: bool) -> float:
        """Seconds until the next claim may be answered by itself."""
        every_s = self._pace.rides_s if is_gathering else self._pace.claims_s
        return 0.0 if self._answered is None else max(0.0, every_s - self._answered().total_seconds())
