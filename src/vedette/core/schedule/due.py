"""When is a watch due after a look?  The scalar form of the policies, used once per settled look.

`decide` takes the facts of one watch and gives the due time with reasons whose points, in hours, add up to
the interval.  A failed look teaches nothing about change, so it does not move the velocity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from vedette.contracts.errors import InputError
from vedette.contracts.schedule import Asked
from vedette.contracts.words import Reason, Risk
from vedette.core.schedule.asked import step as asked_step
from vedette.core.schedule.ewma import EwmaRule
from vedette.core.schedule.per_risk import FixedRule, IntervalRule, PerRiskRule, jittered
from vedette.core.schedule.protocol import RISK_WEIGHT
from vedette.core.schedule.velocity import VelocityParams, update_velocity
from vedette.core.text.nearest import unknown

# One row per policy that can decide from the facts of one watch.
DUE_RULES: Mapping[str, IntervalRule] = MappingProxyType(
    {"seed-ewma": EwmaRule(), "fixed": FixedRule(), "per-risk": PerRiskRule()}
)

LEARNED = "learned"  # decides by beliefs, for many watches at once: core/schedule/learned/deciding.py

PARKED_TIMES = 4.0  # the long interval: four times the usual one,
PARKED_LEAST_HOURS = 24.0  # at least a day,
PARKED_MOST_HOURS = 720.0  # at most 30 days (spec 000/4)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookFacts:
    """What the due time of a watch depends on."""

    velocity: float
    scan_count: int  # looks that taught something, before this one
    risk: Risk
    changed: bool | None  # None: the look failed and says nothing
    now: datetime
    jitter: float  # in [0, 1)
    asked: Asked = Asked()  # by the operator: `every`, `scrape_frequency`
    is_parked: bool = False  # attempts used up, gone or refused: the long interval


@dataclass(frozen=True, slots=True, kw_only=True)
class DueParams:
    """The rule in force, as a value.  `rule` comes from DUE_RULES or the configuration."""

    policy: str = "seed-ewma"
    rule: IntervalRule = DUE_RULES["seed-ewma"]
    velocity: VelocityParams = field(default_factory=VelocityParams)


DEFAULT = DueParams()


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """The decision.  The points of the reasons add up to `interval` in hours."""

    due_at: datetime
    interval: timedelta
    velocity: float
    scan_count: int
    reasons: tuple[Reason, ...]


def decide(facts: LookFacts, params: DueParams = DEFAULT) -> Due:
    """When to look next, and why."""
    velocity, scan_count = facts.velocity, facts.scan_count
    if facts.changed is not None:
        velocity = update_velocity(velocity, scan_count, facts.changed, params=params.velocity)
        scan_count += 1
    plain = params.rule.interval(velocity, facts.risk)
    reasons = list(plain.reasons)
    hours = plain.hours
    if facts.is_parked:
        hours = _step(reasons, hours, parked_hours(hours), "parked", "the long interval")
    hours = _step(reasons, hours, jittered(hours, facts.jitter, params.rule.jitter_share), "jitter", "")
    sooner = facts.jitter * params.rule.jitter_share
    step = asked_step(hours, facts.asked, is_parked=facts.is_parked, sooner=sooner)
    if step is not None:
        hours = _step(reasons, hours, step.hours, step.code, step.note)
    wait = timedelta(hours=hours)
    return Due(
        due_at=facts.now + wait,
        interval=wait,
        velocity=velocity,
        scan_count=scan_count,
        reasons=tuple(reasons),
    )


def value(risk: Risk, due_at: datetime, interval: timedelta, now: datetime) -> float:
    """What a look is worth now: risk weight * (1 + lateness / interval).  The frontier claims by it.

    A CRITICAL watch that is due equals a MEDIUM one that is late by three intervals, so nothing starves.
    """
    return RISK_WEIGHT[risk] * max(0.0, 1.0 + (now - due_at) / max(_MINUTE, interval))


def due_params(
    policy: str, rule: IntervalRule | None = None, velocity: VelocityParams | None = None
) -> DueParams:
    """The parameters of a named policy; an unknown name is an InputError that names the nearest."""
    if rule is None and policy == LEARNED:
        rule = DUE_RULES["seed-ewma"]  # not asked: `learned` decides from more than the facts of one watch
    if rule is None and policy not in DUE_RULES:
        raise InputError(unknown("schedule policy", policy, (LEARNED, *DUE_RULES)))
    return DueParams(policy=policy, rule=rule or DUE_RULES[policy], velocity=velocity or VelocityParams())


def parked_hours(hours: float) -> float:
    """The long interval of a watch whose usual one is `hours`."""
    return max(hours, min(PARKED_MOST_HOURS, max(PARKED_LEAST_HOURS, PARKED_TIMES * hours)))


def _step(reasons: list[Reason], before: float, after: float, code: str, note: str) -> float:
    """The number moves from `before` to `after`, and says why."""
    if after != before:
        reasons.append(Reason(code, after - before, note))
    return after
