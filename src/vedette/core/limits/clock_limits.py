"""How far ahead a stored time may lie: not further than the rule that gave it allows.

A clock that stood ahead leaves times that no rule can have given: a due time months away, a breaker that is open until
next year, a look that will take place tomorrow.  Each kind of time is brought back to the latest moment that its rule
allows.  What lies in the past, or within its rule, is left as it is: a clock that is right changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from vedette.contracts.lane import LanePolicy, LaneState
from vedette.core.lanes.lane import bounded, closed_for

AHEAD = timedelta(minutes=1)  # less is no sign of anything: clocks differ, and are corrected
LONGEST_DAY = timedelta(days=1)  # a retry and a first look never wait longer, whatever the interval
LEASE = timedelta(hours=1)  # of a look or a job
REST = timedelta(hours=1)  # of a source that failed too often (spec 001/8.4)
ROBOTS = timedelta(days=1)  # robots.txt is asked for again after this (RFC 9309)
MESSAGE = timedelta(days=8)  # a digest waits a week at most

Rule = Callable[[datetime | None, timedelta], datetime | None]


def is_ahead(at: datetime | None, now: datetime) -> bool:
    """True where a moment that should be over can only have been written by a clock that stood ahead of this one."""
    return at is not None and at > now + AHEAD


def not_after(at: datetime | None, now: datetime) -> datetime | None:
    """Something that happened: now at the latest."""
    return now if at is not None and at > now + AHEAD else at


def within(at: datetime | None, now: datetime, longest: timedelta) -> datetime | None:
    """Something that ends or begins at `at`: at the latest when its rule allows."""
    return None if at is None else min(at, now + longest)


def due(
    due_at: datetime,
    *,
    looked_at: datetime | None,
    interval: timedelta,
    now: datetime,
    slack: timedelta = AHEAD,
) -> datetime:
    """When a watch is due by a clock that says `now`.

    After a look that lies ahead it is as far from now as it was from that look: when that look was, nobody knows.
    Any other due time lies within its interval, or within a day, which retries and first looks may wait.
    """
    longest = max(interval, LONGEST_DAY)
    if looked_at is not None and is_ahead(looked_at, now):
        return now + min(max(due_at - looked_at, timedelta(0)), longest)
    return now + longest if due_at > now + longest + slack else due_at


def lane(policy: LanePolicy | None, state: LaneState, now: datetime) -> LaneState:
    """A lane whose times are within its own policy; within a day, where that is not known."""
    if policy is not None:
        return bounded(policy, state, now)
    return _each(policy, state, lambda at, longest: within(at, now, longest))


def moved_lane(policy: LanePolicy, state: LaneState, by: timedelta, now: datetime) -> LaneState:
    """The lane after the clock was set while we looked on: what was left to wait is left to wait."""
    return _each(policy, state, lambda at, longest: moved(at, by, now, longest))


def moved(at: datetime | None, by: timedelta, now: datetime, longest: timedelta) -> datetime | None:
    """The end of a wait, after the clock was set by `by`.  Whether it was noted before or after that is not known.

    Set back, what lies further ahead than the rule allows was noted before.  Set forward, what can have been, was.
    """
    if at is None:
        return None
    if by < timedelta(0):
        return at + by if at > now + longest else at
    return at + by if at + by <= now + longest else at


def _each(policy: LanePolicy | None, state: LaneState, rule: Rule) -> LaneState:
    """The lane with each of its times under a rule: the time, and how far ahead it may lie."""
    gap = bucket = closed = held = LONGEST_DAY
    if policy is not None:
        gap = max(policy.gap_min, policy.gap_max, state.crawl_delay or timedelta(0))
        bucket = (
            timedelta(minutes=1 / policy.per_minute) * max(1, policy.burst)
            if policy.per_minute > 0
            else bucket
        )
        closed, held = closed_for(policy, state.failures), policy.max_retry_after
    return replace(
        state,
        next_start_at=rule(state.next_start_at, gap),
        bucket_at=rule(state.bucket_at, bucket),
        closed_until=rule(state.closed_until, closed),
        held_until=rule(state.held_until, held),
    )
