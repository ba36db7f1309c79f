"""When a failed look is tried again: full jitter of spec 001/8.2, three attempts in all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.words import Outcome, Reason
from vedette.core.lanes.outcomes import MEANING

_NOTHING = timedelta(0)
_MAX_DOUBLINGS = 40  # beyond it every delay is the longest one; keeps 2**n small


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryParams:
    attempts: int = 3  # in all, the first included (spec 001/8.2)
    shortest: timedelta = timedelta(seconds=1)  # baseRetryDelayMs, spec 001/11.2
    longest: timedelta = timedelta(seconds=30)  # maxRetryDelayMs
    max_retry_after: timedelta = timedelta(hours=24)


DEFAULT = RetryParams()


@dataclass(frozen=True, slots=True)
class Retry:
    """Not before `at`; the lane may make it later."""

    at: datetime
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Park:
    """No further attempt for this job; the watch is looked at again when it is due."""

    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A look that did not succeed.  `attempt` counts it: the first look is attempt 1."""

    outcome: Outcome
    attempt: int
    retry_after: timedelta | None = None


def next_attempt(
    failure: Failure, *, now: datetime, jitter: float, params: RetryParams = DEFAULT
) -> Retry | Park:
    """Try again, and when; or park.  The far end's Retry-After wins over our own delay."""
    outcome, attempt = failure.outcome, failure.attempt
    if not MEANING[outcome].retry:
        return Park((Reason("no_retry", note=f"{outcome} does not change within minutes"),))
    if attempt >= params.attempts:
        return Park((Reason("attempts_used", attempt, f"{attempt} of {params.attempts}: {outcome}"),))
    if failure.retry_after is not None and failure.retry_after > _NOTHING:
        wait = min(failure.retry_after, params.max_retry_after)
        why = Reason("retry_after", wait.total_seconds(), "the far end named the time")
    else:
        doublings = _MAX_DOUBLINGS if MEANING[outcome].is_ours else attempt - 1  # many lack it at once
        wait = delay(doublings, jitter=jitter, params=params)
        why = Reason("backoff", wait.total_seconds(), f"attempt {attempt} of {params.attempts}: {outcome}")
    return Retry(now + wait, (why,))


def delay(attempt: int, *, jitter: float, params: RetryParams = DEFAULT) -> timedelta:
    """jitter * min(longest, shortest * 2**attempt), attempt from 0."""
    doubled = params.shortest * (1 << max(0, min(attempt, _MAX_DOUBLINGS)))
    return jitter * min(params.longest, doubled)
