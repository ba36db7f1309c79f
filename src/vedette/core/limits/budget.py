"""Budgets and limits of a run.  One type of budget: looks of a day, dollars of a batch; limits: deadlines and counts.

A budget that is spent once lets something start when what was spent, what is under way may cost at most, and what this
may cost at most fit under it together.

A budget of a day is a bucket (GCRA, as in core/lanes/lane.py) that holds one hour's worth and fills in the course of a
day: burst plus what fills in 24 hours is the budget, so no window of 24 hours ever sees more.  A quarter of the bucket
is kept for second looks: what differs between two looks is noise only when they are seconds apart.  Every look counts:
first and later ones, those that fail and are tried again, second looks, audits, listings.  What a look needs on its way
does not: robots.txt and redirects are requests, and the lanes bound those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from vedette.contracts.lane import Go, Wait
from vedette.contracts.watch import Group
from vedette.contracts.words import Reason
from vedette.core.lanes.outcomes import MEANING
from vedette.core.limits.clock_limits import moved

_DAY = timedelta(days=1)
_BURSTS = 24  # a day's budget is this many bursts
_KEPT = 4  # one in so many looks of a burst is for second looks
_LEAST_FOR_TWO = 4  # looks per day from which on two may start at once
_GO = Go()
_SPENT = Reason("budget_spent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """So much, and what is used of it.  `most` None: no limit."""

    most: float | None = None
    is_daily: bool = False  # in any 24 hours, else once
    spent: float = 0.0  # once: so far
    reserved: float = 0.0  # once: the most that what is under way can cost
    empty_at: datetime | None = None  # daily: when the bucket is empty again

    @property
    def burst(self) -> int:
        """Looks that may start at once: at least one and its second look."""
        per_day = self.most or 0.0
        return max(1 if per_day < _LEAST_FOR_TWO else 2, int(per_day / _BURSTS))

    @property
    def kept(self) -> int:
        """Of these, for second looks."""
        return 0 if self.burst == 1 else max(1, self.burst // _KEPT)

    @property
    def steady(self) -> float:
        """Looks per day in the long run: the burst is given once."""
        per_day = self.most or 0.0
        return per_day - self.burst if per_day >= 2 else min(per_day, 1.0)

    @property
    def step(self) -> timedelta:
        return _DAY / self.steady


def daily(per_day: float, empty_at: datetime | None = None) -> Budget:
    return Budget(most=per_day, is_daily=True, empty_at=empty_at)


def ask(budget: Budget, now: datetime, amount: float = 1.0, *, is_second: bool = False) -> Go | Wait:
    """Whether something may start that costs so much at most.  A wait without a time is for what is under way."""
    if budget.most is None:
        return _GO
    if not budget.is_daily:
        fits = budget.spent + budget.reserved + amount <= budget.most
        return _GO if fits else Wait(None, _SPENT)
    empty_at = bounded(budget, now).empty_at
    if empty_at is None:
        return _GO
    at = empty_at - budget.step * (budget.burst - amount - (0 if is_second else budget.kept))
    return Wait(at, _SPENT) if at > now else _GO


def reserve(budget: Budget, now: datetime, amount: float = 1.0) -> Budget:
    """It starts, and may cost so much."""
    if not budget.is_daily:
        return Budget(most=budget.most, spent=budget.spent, reserved=budget.reserved + amount)
    empty_at = bounded(budget, now).empty_at
    return replace(budget, empty_at=(now if empty_at is None else max(empty_at, now)) + budget.step * amount)


def settle(budget: Budget, amount: float, cost: float) -> Budget:
    """What `amount` was reserved for ended and cost this; 0: it did not take place."""
    if budget.is_daily:
        was = budget.empty_at
        return budget if was is None else replace(budget, empty_at=was - budget.step * (amount - cost))
    left = max(0.0, budget.reserved - amount)
    return Budget(most=budget.most, spent=budget.spent + cost, reserved=left)


def used(budget: Budget, now: datetime) -> float:
    """How much is in use: of the bucket, or of the whole."""
    if not budget.is_daily:
        return budget.spent + budget.reserved
    empty_at = bounded(budget, now).empty_at
    return 0.0 if empty_at is None else max(0.0, (empty_at - now) / budget.step)


def bounded(budget: Budget, now: datetime) -> Budget:
    """Nobody owes more than a day.  What lies further ahead is of a clock that stood ahead: a used-up bucket."""
    empty_at, whole = budget.empty_at, budget.step * budget.burst
    if empty_at is None or empty_at <= now + max(_DAY, whole) + budget.step:
        return budget
    return replace(budget, empty_at=now + whole)


def budget_moved(budget: Budget, by: timedelta, now: datetime) -> Budget:
    """The clock was set forward or back: what is left is left."""
    empty_at = moved(budget.empty_at, by, now, budget.step * budget.burst)
    return replace(budget, empty_at=empty_at or now)


# How much may one run do?  Deadlines and limits of a run of the crawler or of a batch of the panel.


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
    """True where one more may start.  `visits` has those under way in it, so the limit is never passed."""
    return limits.max_visits is None or visits < limits.max_visits


def limits_moved(limits: RunLimits, by: timedelta) -> RunLimits:
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
