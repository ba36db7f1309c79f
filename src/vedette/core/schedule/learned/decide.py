"""Belief before, look, belief after, and when to look next: the one rule, for arrays and for single watches.

`advance` is the rule over arrays.  `decide` is the same rule from rows that are stored, with its reasons: the engine
decides by it, and `replay` decides by it again.  What a group of looks teaches about hosts and hubs is in the `lesson`;
`state.py` keeps it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.copies import quick
from vedette.contracts.schedule import Asked
from vedette.contracts.words import Reason
from vedette.core.schedule.asked import step as asked_step
from vedette.core.schedule.due import parked_hours
from vedette.core.schedule.learned.beliefs import (
    NEVER_LOOKED,
    BeliefContext,
    Beliefs,
    Surroundings,
    as_stored,
    context_of,
    is_new,
    looked_once,
    new_belief,
    pack_beliefs,
    unpack_beliefs,
    unpack_contributions,
)
from vedette.core.schedule.learned.hosts import PROBE_HOURS
from vedette.core.schedule.learned.learn import CommonLesson, GoodLooks, learn
from vedette.core.schedule.learned.listings import hub_contribution
from vedette.core.schedule.learned.objectives import Objectives, asked_hours
from vedette.core.schedule.learned.settings import ACQUAINTED_HOURS, FREE_PRICE, MOST_HOURS, Published
from vedette.core.schedule.learned.value import crossing, least_hours, values
from vedette.core.schedule.protocol import EPOCH, to_hours

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]
_MS_PER_HOUR = 3_600_000
_LIKELY_GONE = 6  # failures in a row
_MOST_FAILURES = 12
_PROBES = 24  # failed looks at a host that is down before it is tried less often
_HOUR = timedelta(hours=1)


@dataclass(slots=True)
class LookGroup:
    """Looks that are decided together, one entry each, with all that the next ones depend on."""

    beliefs: Beliefs  # before the look
    contribution: Floats  # to the value of its hub, before
    context: BeliefContext
    risk: NDArray[np.int8]
    looks: GoodLooks  # of all, good or not
    good: Rows  # those that teach something
    failures: Rows  # in a row, this look included
    is_down: Flags  # its host answers nobody
    false: Floats  # names without a change, per hour, of the listing that names it


@dataclass(slots=True)
class WaitPlan:
    """Hours from the look to the next one, and what they come from."""

    worth: Floats  # at which a look is worth its price
    least: Floats
    usual: Floats  # by price and floor, of a new target within its first day
    objective: Floats  # asked for by an objective; inf: none does
    wait: Floats  # to the next look: the sooner of the two, or put off after a failure


@dataclass(slots=True)
class Advanced:
    """What follows from a group."""

    beliefs: Beliefs  # after the looks, as they are stored
    contribution: Floats
    plan: WaitPlan
    before: Beliefs  # of the good looks,
    context: BeliefContext
    looks: GoodLooks
    lesson: CommonLesson | None  # None: no look was good


def advance(group: LookGroup, objectives: Objectives) -> Advanced:
    """Beliefs after the looks, and the waits for the next ones."""
    done = taught(group)
    done.plan = _plan(done.beliefs, group, objectives)
    return done


def taught(group: LookGroup) -> Advanced:
    """Beliefs after the looks; no next look is planned."""
    good = group.good
    before, near, looks = group.beliefs.take(good), group.context.take(good), group.looks.take(good)
    known, lesson = group.beliefs, None
    if len(good):
        after, lesson = learn(before, near, looks)
        known = known.take(slice(None))
        _put(known, good, after)
    contribution = contributions(known, group.context, group.contribution, group.false)
    return Advanced(as_stored(known), contribution, _UNPLANNED, before, near, looks, lesson)


def contributions(b: Beliefs, context: BeliefContext, old: Floats, false: Floats) -> Floats:
    """What each target now adds to the value of its hub, at today's belief and price, as it is stored."""
    listed = np.flatnonzero(context.recall > 0)
    if not len(listed):
        return old
    new = old.copy()
    new[listed] = hub_contribution(b.take(listed), context.take(listed), false[listed]).astype("<f2")
    return new


def planned_hours(
    b: Beliefs, context: BeliefContext, risk: NDArray[np.int8], objectives: Objectives
) -> tuple[Floats, Floats]:
    """Hours from the last look to the next one, by price and by objective; listings and failures apart."""
    by_price = np.clip(_worth_it(b, context), least_hours(risk, context), MOST_HOURS)
    return by_price, asked_hours(b, context, risk, objectives)


def _put(known: Beliefs, rows: Rows, after: Beliefs) -> None:
    for name in Beliefs.__slots__:
        column = getattr(known, name).copy()
        column[rows] = getattr(after, name)
        setattr(known, name, column)


def _worth_it(b: Beliefs, context: BeliefContext) -> Floats:
    """Hours at which a look is worth its price."""
    return np.minimum(crossing(values(b, context)[0], context.price), MOST_HOURS)


def _plan(b: Beliefs, group: LookGroup, objectives: Objectives) -> WaitPlan:
    """In the order in which the steps apply: price, floor, first day, objective, failures."""
    worth, least = _worth_it(b, group.context), least_hours(group.risk, group.context)
    floored = np.maximum(worth, least)
    usual = np.where(_is_first_day(group), np.minimum(floored, ACQUAINTED_HOURS), floored)
    has_failed = group.failures > 0
    asked = asked_hours(b, group.context, group.risk, objectives)
    objective = np.where(has_failed, np.inf, asked)
    wait = np.minimum(usual, objective)
    if has_failed.any():
        wait = np.where(has_failed, _put_off(floored, least, group.failures, group.is_down), wait)
    return WaitPlan(worth, least, usual, objective, wait)


def _is_first_day(group: LookGroup) -> Flags:
    """First looks where nothing binds: a second look on the same day shows the noise of the page."""
    is_first = np.zeros(len(group.risk), bool)
    first = group.beliefs.listed_change_p[group.good] >= NEVER_LOOKED
    is_first[group.good] = first & ~group.looks.changed[group.good]
    first_day: Flags = is_first & (group.context.price <= FREE_PRICE)
    return first_day


def _put_off(usual: Floats, least: Floats, failures: Rows, is_down: Flags) -> Floats:
    """A failed look is tried again after the floor, then twice as long each time.

    No longer than the usual interval, unless it has failed so often that it is likely gone.  A host that is down is
    tried every hour of a day, whoever's turn it is: the lane lets one look through.
    """
    tired = np.clip(failures - _PROBES, 0, _MOST_FAILURES)
    down = np.minimum(PROBE_HOURS * 2.0**tired, MOST_HOURS)
    count = np.minimum(failures, _MOST_FAILURES)
    longest = usual * 2.0 ** np.maximum(count - _LIKELY_GONE, 0)
    alone = np.minimum(np.minimum(least * 2.0 ** (count - 1.0), longest), MOST_HOURS)
    hours: Floats = np.where(is_down, down, alone)
    return hours


# Single watches, from rows


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One look, with all that the next one depends on."""

    belief: bytes  # before the look
    place: Surroundings
    now: datetime
    changed: bool | None  # None: the look teaches nothing
    modified: float | None = None  # hours: when it changed, where the host's word is believed
    failures: int = 0  # in a row, this look included
    is_down: bool = False  # its host answers nobody
    asked: Asked = Asked()  # by the operator: `every`, `scrape_frequency`
    is_parked: bool = False  # attempts used up, gone or refused: the long interval
    false: float = 0.0  # names without a change, per hour, of the listing that names it


@quick
@dataclass(frozen=True, slots=True)
class Decided:
    """The points of the reasons add up to `wait` in hours."""

    belief: bytes
    wait: timedelta
    reasons: tuple[Reason, ...]


@dataclass(slots=True)
class GroupDecision:
    """The decisions about all cases, and what those have taught that were no plain first looks."""

    decided: list[Decided]
    rest: list[int]  # the cases that were advanced,
    group: LookGroup | None  # as arrays; None: all were plain first looks
    advanced: Advanced | None


def decide(cases: Sequence[Case], published: Published, objectives: Objectives) -> GroupDecision:
    """Belief after each look and the wait for the next one.

    A first look teaches nothing, and while its host has no clock the plan after it is the same for all of a risk: it is
    remembered, so a crawl of new pages costs next to nothing here.
    """
    rest = [n for n, case in enumerate(cases) if not _is_plain(case)]
    decided = dict.fromkeys(range(len(cases)), _NOTHING)
    group = advanced = None
    if rest:
        part = [cases[n] for n in rest]
        group = group_of(part, published)
        advanced = advance(group, objectives)
        decided |= zip(rest, _told(part, group, advanced), strict=True)
    if len(rest) < len(cases):
        goals, taken = tuple(sorted(objectives.items())), set(rest)
        for n, case in enumerate(cases):
            if n not in taken:
                belief = looked_once(to_hours(case.now))
                decided[n] = Decided(belief, *_arranged(case, _first_plan(published, case.place, goals)))
    return GroupDecision(list(decided.values()), rest, group, advanced)


def group_of(cases: Sequence[Case], published: Published) -> LookGroup:
    """The cases as arrays."""
    rows = [case.belief for case in cases]
    return LookGroup(
        beliefs=unpack_beliefs(rows),
        contribution=unpack_contributions(rows),
        context=context_of([case.place for case in cases], published),
        risk=np.array([case.place.risk for case in cases], np.int8),
        looks=_looks_of(cases),
        good=np.array([n for n, case in enumerate(cases) if case.changed is not None], np.int64),
        failures=np.array([case.failures for case in cases], np.int64),
        is_down=np.array([case.is_down for case in cases], bool),
        false=np.array([case.false for case in cases]),
    )


def _looks_of(cases: Sequence[Case]) -> GoodLooks:
    return GoodLooks(
        np.array([to_hours(case.now) for case in cases]),
        np.array([bool(case.changed) for case in cases], bool),
        np.array([math.nan if case.modified is None else case.modified for case in cases]),
    )


def _is_plain(case: Case) -> bool:
    """A first look that found the page, in surroundings that nothing is known of."""
    place = case.place
    is_bare = not place.host_clock and place.hub is None and not place.hub_value
    return is_bare and case.changed is False and is_new(case.belief)


@quick
@dataclass(frozen=True, slots=True)
class _Step:
    """The plan of one watch."""

    worth: float
    least: float
    objective: float
    wait: float
    rate: float  # changes a day
    price: float


@lru_cache(maxsize=1024)
def _first_plan(
    published: Published, place: Surroundings, goals: tuple[tuple[str, tuple[float, float]], ...]
) -> _Step:
    """After a first look at any time: it is decided as at the beginning of a week."""
    case = Case(belief=_BEGINNING, place=place, now=EPOCH, changed=False)
    group = group_of([case], published)
    return _steps_of(group, advance(group, dict(goals)))[0]


def _told(cases: Sequence[Case], group: LookGroup, advanced: Advanced) -> list[Decided]:
    beliefs = pack_beliefs(advanced.beliefs, advanced.contribution)
    steps = _steps_of(group, advanced)
    return [
        Decided(belief, *_arranged(case, step))
        for belief, case, step in zip(beliefs, cases, steps, strict=True)
    ]


def _steps_of(group: LookGroup, advanced: Advanced) -> list[_Step]:
    b, plan, context = advanced.beliefs, advanced.plan, group.context
    shape, scale = context.prior
    rate = (b.events + shape) / (b.hours + scale) * 24
    columns = (plan.worth, plan.least, plan.objective, plan.wait, rate, context.price)
    return [_Step(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _arranged(case: Case, step: _Step) -> tuple[timedelta, tuple[Reason, ...]]:
    """The wait, to the millisecond that the store keeps, and its reasons."""
    risk = case.place.risk.name
    reasons: list[Reason] = []
    hours = 0.0
    for code, then, note in _reasoned(case, step):
        if then != hours or not reasons:
            words = note or f"{risk} at most every {then:g} h"
            reasons.append(Reason(code, then - hours, words))
        hours = then
    wait = timedelta(milliseconds=round(hours * _MS_PER_HOUR))
    rest = wait / _HOUR - math.fsum(reason.points for reason in reasons)
    last = reasons[-1]
    reasons[-1] = Reason(last.code, last.points + rest, last.note)
    return wait, tuple(reasons)


def _reasoned(case: Case, step: _Step) -> list[tuple[str, float, str]]:
    """(code, hours after this step, note), in the order in which they apply."""
    hours = max(step.worth, step.least)
    steps = [
        ("value", step.worth, f"{step.rate:.3g} changes a day; a look costs {step.price:.3g}"),
        ("floor", hours, ""),
    ]
    if step.objective < hours:
        hours = step.objective
        steps.append(("objective", hours, f"{case.place.risk.name} changes must be seen in time"))
    if case.failures:
        down = ", its host is down" if case.is_down else ""
        steps.append(("failed", step.wait, f"{case.failures} failed looks in a row{down}"))
    elif step.wait < hours:
        steps.append(("acquaint", step.wait, "seen once; a second look on the same day shows its noise"))
    hours = step.wait
    if case.is_parked:
        hours = hours if case.failures else parked_hours(hours)
        steps.append(("parked", hours, "the long interval"))
    asked = asked_step(hours, case.asked, is_parked=case.is_parked)
    if asked is not None:
        steps.append((asked.code, asked.hours, asked.note))
    return steps


_UNPLANNED = WaitPlan(*[np.empty(0)] * 5)
_NOTHING = Decided(b"", timedelta(0), ())
_BEGINNING = new_belief(0.0)
