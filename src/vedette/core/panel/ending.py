"""What becomes of a cell after a call?  The retry table of `core/lanes/retry.py`, and one row for faults of the key.

A key that is refused or spent says nothing about the cell: the cell goes back, another key or a later probe asks
it, and the lane waits.  Everything else ends or is tried again as any look is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from vedette.contracts.words import Outcome, Reason
from vedette.core.lanes.retry import Failure, Retry, RetryParams, next_attempt

RETRIES = RetryParams(attempts=3, shortest=timedelta(seconds=1), longest=timedelta(seconds=30))  # 003: 2-3


@dataclass(frozen=True, slots=True)
class Done:
    """The cell has its row."""

    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """Asked again, not before `at`."""

    at: datetime
    reason: Reason


@dataclass(frozen=True, slots=True)
class PutBack:
    """The key is at fault.  Its lane is blocked, or waits for so long; the cell is as it was."""

    reason: Reason
    hold: timedelta | None = None  # None: until the operator resets the lane


# Fault of the key: how long its lane waits.  A quota may be filled up; a key that is refused has to be changed.
OF_THE_KEY: Mapping[Outcome, timedelta | None] = MappingProxyType(
    {Outcome.AUTH_ERROR: None, Outcome.QUOTA_SPENT: timedelta(minutes=10)}
)


def ending(
    failure: Failure, *, now: datetime, jitter: float, params: RetryParams = RETRIES
) -> Done | Again | PutBack:
    """After a call that ended so.  An answer, and what no second call would change, is done."""
    outcome = failure.outcome
    if outcome is Outcome.OK:
        return Done()
    if outcome in OF_THE_KEY:
        wait = OF_THE_KEY[outcome]
        if wait is not None and failure.retry_after is not None:
            wait = max(wait, failure.retry_after)
        return PutBack(Reason(outcome.value, note="the key, not the question"), wait)
    match next_attempt(failure, now=now, jitter=jitter, params=params):
        case Retry(at=at, reasons=reasons):
            return Again(at, reasons[0])
        case parked:
            return Done(parked.reasons[0])
