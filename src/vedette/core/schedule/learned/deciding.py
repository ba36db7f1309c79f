"""The policy at settle: belief before, look, belief after, and when to look next.  One watch or a whole group.

Everything comes from rows that are stored (row.py), so the engine decides here, and `replay` decides here again.
What a group teaches about hosts and hubs is in the `lesson`; writing it down is the scheduler's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.schedule import Asked
from vedette.contracts.words import Reason
from vedette.core.schedule.asked import step as asked_step
from vedette.core.schedule.due import parked_hours
from vedette.core.schedule.hours import EPOCH, to_hours
from vedette.core.schedule.learned.belief import BeliefContext, Beliefs
from vedette.core.schedule.learned.hosts import PROBE_HOURS
from vedette.core.schedule.learned.learn import Lesson, Looks, learn
from vedette.core.schedule.learned.listing import share
from vedette.core.schedule.learned.objective import asked_hours
from vedette.core.schedule.learned.row import (
    Place,
    is_new,
    looked_once,
    pack_beliefs,
    surroundings,
    unpack_beliefs,
    unpack_shares,
)
from vedette.core.schedule.learned.settings import ACQUAINTED_HOURS, FREE_PRICE, MOST_HOURS, Published
from vedette.core.schedule.learned.telling import Subject, explain
from vedette.core.schedule.learned.worth import crossing, least_hours, values
from vedette.core.schedule.protocol import Explanation

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Objectives = Mapping[str, tuple[float, float]]  # risk: hours, share
_MS_PER_HOUR = 3_600_000
_LIKELY_GONE = 6  # failures in a row
_MOST_FAILURES = 12
_PROBES = 24  # failed looks at a host that is down before it is tried less often
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One look, with all that the next one depends on."""

    belief: bytes  # before the look
    place: Place
    now: datetime
    changed: bool | None  # None: the look teaches nothing
    modified: float | None = None  # hours: when it changed, where the host's word is believed
    failures: int = 0  # in a row, this look included
    is_down: bool = False  # its host answers nobody
    asked: Asked = Asked()  # by the operator: `every`, `scrape_frequency`
    is_parked: bool = False  # attempts used up, gone or refused: the long interval
    false: float = 0.0  # false marks per hour of the listing that names it


@dataclass(frozen=True, slots=True)
class Decided:
    """The points of the reasons add up to `wait` in hours."""

    belief: bytes
    wait: timedelta
    reasons: tuple[Reason, ...]


@dataclass(slots=True)
class Batch:
    """The decisions, and what the good looks among them teach."""

    decided: list[Decided]
    good: Rows  # the cases that taught something
    before: Beliefs  # of these,
    around: BeliefContext
    looks: Looks
    lesson: Lesson | None  # None: no look was good
    moved: Floats  # of every case: by how much its share of its hub's pull moved


def decide(cases: Sequence[Case], published: Published, objectives: Objectives) -> Batch:
    """Belief after each look and the wait for the next one.

    A first look teaches nothing, and while its host has no clock the plan after it is the same for all of a risk: it is
    remembered, so a crawl of new pages costs next to nothing here.
    """
    plain = [n for n, case in enumerate(cases) if _is_plain(case)]
    if not plain:
        return _decide(cases, published, objectives)
    taken = set(plain)
    rest = [n for n in range(len(cases)) if n not in taken]
    batch = _decide([cases[n] for n in rest], published, objectives) if rest else _nothing()
    decided = dict(zip(rest, batch.decided, strict=True))
    goals = tuple(sorted(objectives.items()))
    for n in plain:
        plan = _first_plan(published, cases[n].place, goals)
        belief = looked_once(to_hours(cases[n].now))
        decided[n] = Decided(belief, *_arranged(cases[n], plan))
    moved = np.zeros(len(cases))
    moved[rest] = batch.moved
    good = np.array(rest, np.int64)[batch.good]
    every = [decided[n] for n in range(len(cases))]
    return replace(batch, decided=every, good=good, moved=moved)


@lru_cache(maxsize=1)
def _nothing() -> Batch:
    """No case, decided."""
    return _decide([], Published(), {})


def _is_plain(case: Case) -> bool:
    """A first look that found the page, at a place that nothing is known of."""
    place = case.place
    is_bare = not place.host_clock and place.hub is None and not place.pull
    return is_bare and case.changed is False and is_new(case.belief)


@lru_cache(maxsize=1024)
def _first_plan(
    published: Published, place: Place, goals: tuple[tuple[str, tuple[float, float]], ...]
) -> _Plan:
    case = Case(belief=looked_once(0.0), place=place, now=EPOCH, changed=None)
    around = surroundings([case.place], published)
    return _plans(unpack_beliefs([case.belief]), around, [case], dict(goals))[0]


def _decide(cases: Sequence[Case], published: Published, objectives: Objectives) -> Batch:
    around = surroundings([case.place for case in cases], published)
    known = unpack_beliefs([case.belief for case in cases])
    good = np.array([n for n, case in enumerate(cases) if case.changed is not None], np.int64)
    before, near = known.take(good), around.take(good)
    looks = _looks([cases[n] for n in good.tolist()])
    lesson = None
    if len(good):
        after, lesson = learn(before, near, looks)
        _put(known, good, after)
    old = unpack_shares([case.belief for case in cases])
    shares = _shares(cases, known, around, old)
    beliefs = pack_beliefs(known, shares)
    stored = unpack_beliefs(beliefs)  # decide from what is stored: a restart must not see other digits
    plans = _plans(stored, around, cases, objectives)
    decided = [
        Decided(belief, *_arranged(case, plan))
        for belief, case, plan in zip(beliefs, cases, plans, strict=True)
    ]
    return Batch(decided, good, before, near, looks, lesson, unpack_shares(beliefs) - old)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What `tell` takes apart."""

    belief: bytes
    place: Place
    published: Published
    now: datetime
    due_at: datetime
    objectives: Objectives
    moved_by: Reason | None = None  # by the record: an audit, a ceiling, a failure


def tell(told: Told) -> Explanation:
    """Why the watch is due when it is.  The points of the reasons add up to the hours from the last look."""
    subject = Subject(
        id=0,
        risk=told.place.risk,
        beliefs=unpack_beliefs([told.belief]),
        around=surroundings([told.place], told.published),
        due_at=to_hours(told.due_at),
        failures=0,
        moved_by=told.moved_by,
    )
    return explain(subject, to_hours(told.now), told.objectives)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the belief asks for, before failures, parking and ceilings."""

    hours: float  # at which a look is worth its price
    least: float
    asked: float  # by an objective; inf: none
    rate: float  # changes a day
    price: float


def _looks(cases: Sequence[Case]) -> Looks:
    return Looks(
        np.array([to_hours(case.now) for case in cases]),
        np.array([bool(case.changed) for case in cases], bool),
        np.array([math.nan if case.modified is None else case.modified for case in cases]),
    )


def _put(known: Beliefs, rows: Rows, after: Beliefs) -> None:
    for name in Beliefs.__slots__:
        getattr(known, name)[rows] = getattr(after, name)


def _shares(cases: Sequence[Case], b: Beliefs, around: BeliefContext, old: Floats) -> Floats:
    """What each watch now adds to the pull of its hub, at today's belief and price."""
    listed = np.flatnonzero(around.recall > 0)
    if not len(listed):
        return old
    false = np.array([cases[n].false for n in listed.tolist()])
    new = old.copy()
    new[listed] = share(b.take(listed), around.take(listed), false)
    return new


def planned_hours(
    b: Beliefs, around: BeliefContext, risk: NDArray[np.int8], objectives: Objectives
) -> Floats:
    """Hours from the last look to the next one, marks and failures apart."""
    hours = np.clip(_worth_it(b, around), least_hours(risk, around), MOST_HOURS)
    return np.minimum(hours, asked_hours(b, around, risk, objectives))


def _worth_it(b: Beliefs, around: BeliefContext) -> Floats:
    """Hours at which a look is worth its price."""
    return np.minimum(crossing(values(b, around)[0], around.price), MOST_HOURS)


def _plans(b: Beliefs, around: BeliefContext, cases: Sequence[Case], objectives: Objectives) -> list[_Plan]:
    risk = np.array([case.place.risk for case in cases], np.int8)
    hours, asked = _worth_it(b, around), asked_hours(b, around, risk, objectives)
    shape, scale = around.prior
    rate = (b.events + shape) / (b.hours + scale) * 24
    columns = (hours, least_hours(risk, around), asked, rate, around.price)
    return [_Plan(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _arranged(case: Case, plan: _Plan) -> tuple[timedelta, tuple[Reason, ...]]:
    """The wait, to the millisecond that the store keeps, and its reasons."""
    risk = case.place.risk.name
    reasons: list[Reason] = []
    hours = 0.0
    for code, then, note in _steps(case, plan):
        if then != hours or not reasons:
            words = note or f"{risk} at most every {then:g} h"
            reasons.append(Reason(code, then - hours, words))
        hours = then
    wait = timedelta(milliseconds=round(hours * _MS_PER_HOUR))
    rest = wait / _HOUR - math.fsum(reason.points for reason in reasons)
    last = reasons[-1]
    reasons[-1] = Reason(last.code, last.points + rest, last.note)
    return wait, tuple(reasons)


def _steps(case: Case, plan: _Plan) -> list[tuple[str, float, str]]:
    """(code, hours after this step, note), in the order in which they apply."""
    hours = max(plan.hours, plan.least)
    steps = [
        ("value", plan.hours, f"{plan.rate:.3g} changes a day; a look costs {plan.price:.3g}"),
        ("floor", hours, ""),
    ]
    if plan.asked < hours and not case.failures:
        hours = plan.asked
        steps.append(("objective", hours, f"{case.place.risk.name} changes must be seen in time"))
    if (
        plan.price <= FREE_PRICE
        and hours > ACQUAINTED_HOURS
        and case.changed is False
        and is_new(case.belief)
    ):
        hours = ACQUAINTED_HOURS
        steps.append(("acquaint", hours, "seen once; a second look on the same day shows its noise"))
    if case.failures:
        hours = _put_off(hours, plan.least, case)
        down = ", its host is down" if case.is_down else ""
        steps.append(("failed", hours, f"{case.failures} failed looks in a row{down}"))
    if case.is_parked:
        hours = hours if case.failures else parked_hours(hours)
        steps.append(("parked", hours, "the long interval"))
    step = asked_step(hours, case.asked, is_parked=case.is_parked)
    if step is not None:
        steps.append((step.code, step.hours, step.note))
    return steps


def _put_off(usual: float, least: float, case: Case) -> float:
    """A failed look is tried again after the floor, then twice as long each time.

    No longer than the usual interval, unless it has failed so often that it is likely gone.  A host that is down is
    tried every hour of a day, whoever's turn it is: the lane lets one look through.
    """
    if case.is_down:
        tired = min(max(case.failures - _PROBES, 0), _MOST_FAILURES)
        return min(PROBE_HOURS * 2.0**tired, MOST_HOURS)
    failures = min(case.failures, _MOST_FAILURES)
    longest = usual * 2.0 ** max(failures - _LIKELY_GONE, 0)
    return min(least * 2.0 ** (failures - 1), longest, MOST_HOURS)
