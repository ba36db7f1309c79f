"""How much may one run do?  Deadlines and limits of a run of the crawler or of a batch of the panel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from vedette.contracts.watch import Group
from vedette.contracts.words import Reason
from vedette.core.lanes.outcomes import MEANING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """None: no limit."""

    soft_deadline: datetime | None = None  # from here on the lowest tiers go (core/panel/deadline.py)
    deadline: datetime | None = None  # from here on nothing starts; what is under way ends
    max_visits: int | None = None
    spend: float | None = None  # dollars (core/limits/budget.py)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a run has done so far."""

    visits: int = 0
    sightings: int = 0
    wire_bytes: int = 0
    errors: int = 0


def over(limits: RunLimits, now: datetime, *, visits: int = 0) -> Reason | None:
    """Why this run starts nothing more, or None while it may."""
    if limits.deadline is not None and now >= limits.deadline:
        late = (now - limits.deadline).total_seconds()
        return Reason("deadline", late, f"hard stop {limits.deadline:%H:%M:%S}")
    if limits.max_visits is not None and visits >= limits.max_visits:
        return Reason("max_visits", visits, f"{visits} of {limits.max_visits}")
    return None


def has_room(limits: RunLimits, visits: int) -> bool:
    """May one more start?  `visits` has those under way in it, so the limit is never passed."""
    return limits.max_visits is None or visits < limits.max_visits


def clock_set(limits: RunLimits, by: timedelta) -> RunLimits:
    """The clock was set forward or back: the deadlines are as far away as they were."""
    soft, hard = limits.soft_deadline, limits.deadline
    return replace(
        limits,
        soft_deadline=None if soft is None else soft + by,
        deadline=None if hard is None else hard + by,
    )


def counted(tally: Tally, group: Group) -> Tally:
    """The tally with this group in it."""
    visits = [placed.settlement.visit for placed in group.placed]
    return Tally(
        visits=tally.visits + len(visits),
        sightings=tally.sightings + sum(len(placed.settlement.found) for placed in group.placed),
        wire_bytes=tally.wire_bytes + sum(visit.wire_bytes for visit in visits),
        errors=tally.errors + sum(MEANING[visit.outcome].counts_against_lane for visit in visits),
    )
