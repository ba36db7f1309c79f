"""Visits: how long a worker counts on a lane that it holds, and when it gives the lane back.

A worker holds a lane by a lease that it renews.  Whoever holds it counts on it for a shorter time than the store gives
it to nobody else, by a clock that nobody sets: a worker that was stopped for a while knows it before it asks anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from vedette.contracts.lane import LanePolicy

LEASE = timedelta(seconds=30)  # a lane whose worker was silent for so long is free; docs/adr/0060, 0090
MARGIN = timedelta(seconds=6)  # and its worker starts nothing for so long before
RENEW = timedelta(seconds=6)
STAYS = timedelta(seconds=3)  # work that is due within this is waited for
LONGEST = timedelta(seconds=30)
MOST_LOOKS = 64
MOST_HELD = 500  # lanes of one worker
AT_ONCE = 16  # taken in the first step: several workers that begin share what is due
A_STEP = 32  # taken in a later one, of which a second has one
LOST_STEP = 64  # of workers that are gone, in each step, beside what is a worker's share
SPARE = 8  # one lane of so many of its share is taken beyond it: what is due moves while it is counted
SWEEP = timedelta(seconds=20)  # how often the visits are compared with what is due
SWEPT_AT_ONCE = 20_000  # lanes: all of 60,000 within a minute


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneVisit:
    """A lane in the hands of a worker."""

    lasted: timedelta
    looks: int
    busy: int  # looks that began and are not written, requests under way, claims that are not answered
    due_in: timedelta | None  # until there is work; None: there is none


def is_long(visit: LaneVisit) -> bool:
    """Nothing new is begun in it: others may have it."""
    return visit.lasted >= LONGEST or visit.looks >= MOST_LOOKS


def is_over(visit: LaneVisit) -> bool:
    """The lane is given back."""
    if visit.busy:
        return False
    return is_long(visit) or visit.due_in is None or visit.due_in > STAYS


def fair_share(busy: int, workers: int) -> int:
    """How many lanes one of so many workers takes at most, when so many are held or due.

    Whoever is alone takes what comes.  Beside others it leaves them theirs, also where there are few: a worker that is
    quicker would otherwise hold all of them for ever.
    """
    if workers <= 1:
        return min(MOST_HELD, busy + AT_ONCE)
    return min(MOST_HELD, -(-busy // workers) + 1 + busy // (SPARE * workers))


def lost_room(held: int) -> int:
    """How many lanes of workers that are gone are taken in one step, whatever the share.

    Others may have died with theirs, so that those who are left are at their share before the rest has come back.
    """
    return max(0, min(LOST_STEP, 2 * MOST_HELD - held))


def share_of(policy: LanePolicy, workers: int) -> LanePolicy:
    """What one of so many workers may do of a limit that all of them share.  No fewer than one request at once."""
    if workers <= 1:
        return policy
    return replace(
        policy,
        at_once=max(1, policy.at_once // workers),
        per_minute=policy.per_minute / workers,
        gap_min=policy.gap_min * workers,
        gap_max=policy.gap_max * workers,
    )


def counts_for(asked_after: timedelta, lease: timedelta = LEASE) -> timedelta:
    """Until when, by the worker's own stopwatch, a lease that was asked for then is counted on."""
    return asked_after + lease * (1 - MARGIN / LEASE)
