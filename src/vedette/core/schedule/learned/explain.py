"""Why a target is looked at when it is: the plan taken apart, each part with the hours that it moved.

The plan is made again with one part of the belief after the other put in: the rate alone, then sleep, bursts, the
host's clock, the hub's listing, the objective, marks, limits.  The points of the reasons add up to the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from vedette.contracts.words import Reason, Risk
from vedette.core.schedule.learned.beliefs import (
    NEVER_LOOKED,
    BeliefContext,
    Beliefs,
    Surroundings,
    context_of,
    unpack_beliefs,
)
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.objectives import Objectives, asked_hours
from vedette.core.schedule.learned.settings import MOST_HOURS, Published
from vedette.core.schedule.learned.value import least_hours, plan, value_now
from vedette.core.schedule.protocol import Explanation, to_hours

_NONE = np.zeros(1)
_SMALL = 0.1  # shape
_NEVER = 1e-9
_ROUNDING = 0.05  # hours: what small columns may round away


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One target, with what its belief is read with."""

    id: int
    risk: Risk
    beliefs: Beliefs
    context: BeliefContext
    due_at: float
    failures: int
    moved_by: Reason | None = None  # what the decision on record names beyond the belief: an audit, a ceiling


def explain(subject: Subject, t: float, objectives: Objectives) -> Explanation:
    b, context = subject.beliefs, subject.context
    value, stale = value_now(b, context, t)
    shape, scale = context.prior
    a, hours = float(b.events[0] + shape[0]), float(b.hours[0]) + scale
    low, high = (_quantile(a, z) / hours for z in (-1.645, 1.645))
    interval = subject.due_at - float(b.last[0])
    is_new = bool(b.listed_change_p[0] >= NEVER_LOOKED)
    reasons = (Reason("never_looked_at", interval),) if is_new else _parts(subject, objectives, interval)
    return Explanation(
        id=subject.id, at=t, p_changed=float(stale[0]), rate=a / hours, rate_low=low, rate_high=high,
        interval=interval, due_at=subject.due_at, value=float(value[0]), price=float(context.price[0]),
        reasons=reasons,
    )  # fmt: skip


def _parts(subject: Subject, objectives: Objectives, interval: float) -> tuple[Reason, ...]:
    b, context = subject.beliefs, subject.context
    reasons: list[Reason] = []
    hours = 0.0
    for code, note, belief, setting in _steps(b, context):
        then = float(plan(belief, setting, _NONE)[0])
        if then != hours or not reasons:
            reasons.append(Reason(code, then - hours, note))
        hours = then
    least = float(least_hours(np.array([subject.risk], np.int8), context)[0])
    moves = [("floor", max(hours, least), f"{subject.risk.name} at most every {least:g} h")]
    goal = objectives.get(subject.risk.name)
    if goal is not None:
        asked = float(asked_hours(b, context, np.array([subject.risk], np.int8), objectives)[0])
        moves.append(
            ("objective", min(max(hours, least), asked), f"{subject.risk.name} within {goal[0]:g} h")
        )
    for code, then, note in moves:
        if then != hours:
            reasons.append(Reason(code, then - hours, note))
            hours = then
    if abs(interval - hours) > _ROUNDING:
        reasons.append(_last_step(subject, interval - hours))
    else:
        reasons[-1] = replace(reasons[-1], points=reasons[-1].points + interval - hours)
    return tuple(reasons)


def _steps(b: Beliefs, context: BeliefContext) -> list[tuple[str, str, Beliefs, BeliefContext]]:
    """The belief, part after part."""
    shape, scale = context.prior
    rate = float(b.events[0] + shape[0]) / (float(b.hours[0]) + scale) * 24
    flat = Clocks()
    flat.grow(1)
    bare = replace(b, steady=np.ones(1), asleep=_NONE, lag=np.full(1, math.inf))
    alone = replace(
        context,
        clocks=flat,
        host=np.zeros(1, np.int64),
        listed_at=np.full(1, -math.inf),
        recall=_NONE,
        hub_value=_NONE,
    )
    sleepy = replace(bare, steady=b.steady, asleep=b.asleep)
    timed = replace(alone, clocks=context.clocks, host=context.host)
    listed = replace(timed, listed_at=context.listed_at, recall=context.recall)
    return [
        ("rate", f"{rate:.3g} changes a day{_activity_words(context)}", bare, alone),
        ("sleep", f"{float(b.asleep[0]):.0%} likely asleep", sleepy, alone),
        ("recency", f"last change {float(b.lag[0]):.3g} h before the last look", b, alone),
        ("clock", "the hours at which its host changes", b, timed),
        ("listing", f"a hub names {float(context.recall[0]):.0%} of its changes", b, listed),
        (
            "hub",
            f"its listing tells of {float(context.hub_value[0]) * 24:.3g} weighted changes a day",
            b,
            context,
        ),
    ]


def _activity_words(context: BeliefContext) -> str:
    times = float(context.host_activity[0])
    return (
        "" if times == 1.0 else f"; targets of its host are {times:.2g} times as likely as others to change"
    )


def _last_step(subject: Subject, points: float) -> Reason:
    b = subject.beliefs
    if subject.moved_by is not None:
        return replace(subject.moved_by, points=points)
    if subject.failures:
        return Reason("failed", points, f"{subject.failures} failed looks in a row")
    if b.listed_change_p[0] > 0:
        return Reason("mark", points, f"a listing named it, {float(b.listed_change_p[0]):.0%} likely true")
    if subject.due_at - float(b.last[0]) >= MOST_HOURS:
        return Reason("ceiling", points, f"at most {MOST_HOURS:g} h")
    return Reason("planned_before", points, "planned at an earlier price; planned anew in turn")


def _quantile(shape: float, z: float) -> float:
    """Of a Gamma with scale 1, by Wilson and Hilferty's cube root (Proc. Natl. Acad. Sci. 17, 1931).

    Below _SMALL that gives 0; there the first term of the distribution's series is near enough.
    """
    if shape < _SMALL:
        below = 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))
        value = math.exp((math.log(below) + math.lgamma(shape + 1.0)) / shape)
        return value if value > _NEVER else 0.0
    root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * math.sqrt(shape))
    return shape * max(root, 0.0) ** 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainQuestion:
    """One watch, from its rows."""

    belief: bytes
    place: Surroundings
    published: Published
    now: datetime
    due_at: datetime
    objectives: Objectives
    moved_by: Reason | None = None  # by the record: an audit, a ceiling, a failure


def explain_watch(asked: ExplainQuestion) -> Explanation:
    """Why the watch is due when it is.  The points of the reasons add up to the hours from the last look."""
    subject = Subject(
        id=0,
        risk=asked.place.risk,
        beliefs=unpack_beliefs([asked.belief]),
        context=context_of([asked.place], asked.published),
        due_at=to_hours(asked.due_at),
        failures=0,
        moved_by=asked.moved_by,
    )
    return explain(subject, to_hours(asked.now), asked.objectives)
