"""Why a target is looked at when it is: the plan taken apart, each part with the hours that it moved.

The plan is made again with one part of the belief after the other put in: the rate alone, then sleep, bursts, the
host's clock, the hub's listing, the objective, marks, limits.  The points of the reasons add up to the interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from vedette.contracts.words import Reason, Risk
from vedette.core.schedule.learned.belief import NEW_MARK, BeliefContext, Beliefs
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.objective import asked_hours
from vedette.core.schedule.learned.settings import MOST_HOURS
from vedette.core.schedule.learned.worth import least_hours, plan, value_now
from vedette.core.schedule.protocol import Explanation

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
    around: BeliefContext
    due_at: float
    failures: int
    moved_by: Reason | None = None  # what the decision on record names beyond the belief: an audit, a ceiling


def explain(subject: Subject, t: float, objectives: Mapping[str, tuple[float, float]]) -> Explanation:
    b, around = subject.beliefs, subject.around
    value, stale = value_now(b, around, t)
    shape, scale = around.prior
    a, hours = float(b.events[0] + shape[0]), float(b.hours[0]) + scale
    low, high = (_quantile(a, z) / hours for z in (-1.645, 1.645))
    interval = subject.due_at - float(b.last[0])
    is_new = bool(b.mark[0] >= NEW_MARK)
    reasons = (Reason("never_looked_at", interval),) if is_new else _parts(subject, objectives, interval)
    return Explanation(
        id=subject.id, at=t, p_changed=float(stale[0]), rate=a / hours, rate_low=low, rate_high=high,
        interval=interval, due_at=subject.due_at, value=float(value[0]), price=float(around.price[0]),
        reasons=reasons,
    )  # fmt: skip


def _parts(
    subject: Subject, objectives: Mapping[str, tuple[float, float]], interval: float
) -> tuple[Reason, ...]:
    b, around = subject.beliefs, subject.around
    reasons: list[Reason] = []
    hours = 0.0
    for code, note, belief, setting in _steps(b, around):
        then = float(plan(belief, setting, _NONE)[0])
        if then != hours or not reasons:
            reasons.append(Reason(code, then - hours, note))
        hours = then
    least = float(least_hours(np.array([subject.risk], np.int8), around)[0])
    moves = [("floor", max(hours, least), f"{subject.risk.name} at most every {least:g} h")]
    goal = objectives.get(subject.risk.name)
    if goal is not None:
        asked = float(asked_hours(b, around, np.array([subject.risk], np.int8), objectives)[0])
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


def _steps(b: Beliefs, around: BeliefContext) -> list[tuple[str, str, Beliefs, BeliefContext]]:
    """The belief, part after part."""
    shape, scale = around.prior
    rate = float(b.events[0] + shape[0]) / (float(b.hours[0]) + scale) * 24
    flat = Clocks()
    flat.grow(1)
    bare = replace(b, steady=np.ones(1), asleep=_NONE, lag=np.full(1, math.inf))
    alone = replace(
        around,
        clocks=flat,
        host=np.zeros(1, np.int64),
        listed_at=np.full(1, -math.inf),
        recall=_NONE,
        pull=_NONE,
    )
    sleepy = replace(bare, steady=b.steady, asleep=b.asleep)
    timed = replace(alone, clocks=around.clocks, host=around.host)
    listed = replace(timed, listed_at=around.listed_at, recall=around.recall)
    return [
        ("rate", f"{rate:.3g} changes a day{_lively(around)}", bare, alone),
        ("sleep", f"{float(b.asleep[0]):.0%} likely asleep", sleepy, alone),
        ("recency", f"last change {float(b.lag[0]):.3g} h before the last look", b, alone),
        ("clock", "the hours at which its host changes", b, timed),
        ("listing", f"a hub names {float(around.recall[0]):.0%} of its changes", b, listed),
        ("hub", f"its listing tells of {float(around.pull[0]) * 24:.3g} weighted changes a day", b, around),
    ]


def _lively(around: BeliefContext) -> str:
    times = float(around.lively[0])
    return (
        "" if times == 1.0 else f"; targets of its host are {times:.2g} times as likely as others to change"
    )


def _last_step(subject: Subject, points: float) -> Reason:
    b = subject.beliefs
    if subject.moved_by is not None:
        return replace(subject.moved_by, points=points)
    if subject.failures:
        return Reason("failed", points, f"{subject.failures} failed looks in a row")
    if b.mark[0] > 0:
        return Reason("mark", points, f"a listing named it, {float(b.mark[0]):.0%} likely true")
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
