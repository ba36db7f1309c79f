"""What happens to a cell after a call: the retry table of `core/lanes/outcomes.py`, and one row for faults of the key.

A key that is refused or spent says nothing about the cell: the cell goes back, another key or a later probe asks
it, and the lane waits.  Everything else ends or is tried again as any look is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from vedette.contracts.words import Outcome, Reason
from vedette.core.lanes.outcomes import MEANING, Failure, Retry, RetryParams, next_attempt

RETRIES = RetryParams(
    attempts=3, shortest=timedelta(seconds=1), longest=timedelta(seconds=30)
)  # spec 003: 2-3


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


# A provider that answers nothing but one and the same error is not asked on: it is of no use, and costs.
#
# An error counts when a second call would not change it.  Some are about the model or the address (404, 400, a
# redirect): so many in a row, and the provider is stopped.  Others may be about the question (a filter, an answer that
# cannot be read): they stop a provider only when it has answered nothing at all.

STOP_AFTER = 20
_OF_THE_MODEL = frozenset(
    (
        Outcome.GONE,
        Outcome.CLIENT_ERROR,
        Outcome.REDIRECT_ERROR,
        Outcome.ADDRESS_REFUSED,
        Outcome.SCHEME_REFUSED,
        Outcome.TLS_ERROR,
        Outcome.BLOCKED_PAGE,
        Outcome.LOGIN_WALL,
    )
)


@dataclass(frozen=True, slots=True)
class Streak:
    """Of one provider: how often in a row the same error ended a cell, and whether it ever answered."""

    outcome: Outcome | None = None
    length: int = 0
    has_answered: bool = False
    detail: str = ""


def heard(streak: Streak, outcome: Outcome, detail: str = "") -> Streak:
    """After a cell ended so, for good."""
    if outcome is Outcome.OK:
        return Streak(has_answered=True)
    if outcome in OF_THE_KEY or not MEANING[outcome].is_look:
        return streak
    if outcome is not streak.outcome:
        return replace(streak, outcome=outcome, length=1, detail=detail)
    return replace(streak, length=streak.length + 1, detail=detail)


def stop(streak: Streak) -> Reason | None:
    """Why the provider is asked no more, or None."""
    if streak.outcome is None or streak.length < STOP_AFTER:
        return None
    if streak.has_answered and streak.outcome not in _OF_THE_MODEL:
        return None
    told = f"{streak.length} answers in a row were {streak.outcome.value}"
    return Reason("same_error", streak.length, f"{told}: {streak.detail}" if streak.detail else told)
