"""When is a watch due after a look?  The scalar form of the policies, used once per settled look.

`decide` takes the facts of one watch and gives the due time with reasons whose points, in hours, add up to
the interval.  A failed look teaches nothing about change, so it does not move the velocity.  `apply_schedule` puts the
decision of any policy into the watch: it is the one place where a next look is arranged.

Some looks are audits: made at a random moment that depends on nothing the policy believes.  After a look that taught
something, a lot is drawn by the watch and the count of its looks.  With chance `share` the next look comes at a uniform
moment of the interval that the policy chose, instead of at its end.  Whether such a look finds an unseen change says,
without bias, how stale our copies are: a moment of an interval of I hours is taken with density share / I, so weighing
each audit by its I gives every hour of the schedule the same say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from vedette.contracts.copies import quick, replace
from vedette.contracts.errors import InputError
from vedette.contracts.schedule import Asked
from vedette.contracts.watch import Watch
from vedette.contracts.words import Reason, Risk, WatchId
from vedette.core.schedule.asked import step as asked_step
from vedette.core.schedule.ewma import EwmaRule, VelocityParams, update_velocity
from vedette.core.schedule.per_risk import FixedRule, IntervalRule, PerRiskRule, jittered
from vedette.core.schedule.protocol import RISK_WEIGHT
from vedette.core.text.nearest import unknown

# One row per policy that can decide from the facts of one watch.
DUE_RULES: Mapping[str, IntervalRule] = MappingProxyType(
    {"seed-ewma": EwmaRule(), "fixed": FixedRule(), "per-risk": PerRiskRule()}
)

LEARNED = "learned"  # decides by beliefs, for many watches at once: core/schedule/learned/decide.py

FAIR_TURNS = 8
PARKED_TIMES = 4.0  # the long interval: four times the usual one,
PARKED_LEAST_HOURS = 24.0  # at least a day,
PARKED_MOST_HOURS = 720.0  # at most 30 days (spec 000/4)
_MINUTE = timedelta(minutes=1)
SEED = 0x617564  # its own stream: an audit must not go with the jitter of the same look
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


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


@quick
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


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTerms:
    """What holds for the next look beside the policy's decision."""

    second_look_at: datetime | None = None  # what differs must be seen once more, whatever the policy says,
    not_before: datetime | None = None  # any other look waits until its source is open again
    audit_share: float = 0.0  # of looks that are audits
    is_active: bool = True  # False: its source rests, and nothing is due


@quick
@dataclass(frozen=True, slots=True)
class Arranged:
    """The watch with its next look, the decision as it is recorded, and the lot that was drawn."""

    watch: Watch
    due: Due
    lot: Lot | None


def apply_schedule(
    watch: Watch, plain: Due, terms: ScheduleTerms, *, is_taught: bool, belief: bytes | None = None
) -> Arranged:
    """Put the decision into the watch.  `is_taught`: the look taught something, so that an audit may follow it.

    `belief`: after the look; None: it stays.
    """
    lot = Lot(watch.id, plain.scan_count, terms.audit_share) if is_taught and terms.audit_share > 0 else None
    due = plain if lot is None else audited(plain, lot)
    due_at = next_look_at(due.due_at, terms)
    moved = replace(
        watch,
        velocity=due.velocity,
        scan_count=due.scan_count,
        interval=due.interval,
        due_at=due_at,
        audit=plain.interval if due is not plain and due_at == due.due_at else None,
        belief=watch.belief if belief is None else belief,
    )
    return Arranged(moved, due, lot)


def next_look_at(due_at: datetime, terms: ScheduleTerms) -> datetime | None:
    """A second look comes first, even while its source is left alone; None: its source rests."""
    if not terms.is_active:
        return None
    if terms.second_look_at is not None:
        return terms.second_look_at
    return due_at if terms.not_before is None else max(due_at, terms.not_before)


def value(risk: Risk, due_at: datetime, interval: timedelta, now: datetime) -> float:
    """What a look is worth now: risk weight * (1 + lateness / interval).  The frontier claims by it.

    A CRITICAL watch that is due equals a MEDIUM one that is late by three intervals, so nothing starves.
    """
    return RISK_WEIGHT[risk] * max(0.0, 1.0 + (now - due_at) / max(_MINUTE, interval))


def is_fair_turn(now: datetime) -> bool:
    """One moment in FAIR_TURNS, drawn by the clock itself."""
    return (int(now.timestamp() * 1000) * _GOLDEN & _MASK) >> 32 & 0xFFFF < 0x10000 // FAIR_TURNS


def due_params(
    policy: str, rule: IntervalRule | None = None, velocity: VelocityParams | None = None
) -> DueParams:
    """The parameters of a named policy; an unknown name is an InputError that names the nearest."""
    if rule is None and policy == LEARNED:
        rule = DUE_RULES[
            "seed-ewma"
        ]  # for what `learned` fails to decide: it decides from more than one watch
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


# Audits


@quick
@dataclass(frozen=True, slots=True)
class Lot:
    """What decides whether the next look is an audit; recorded with the decision."""

    watch: int
    n: int  # looks of this watch that taught something
    share: float  # of looks that are audits


def place(lot: Lot) -> float | None:
    """Where in the interval the audit falls, in [0, 1); None: no audit."""
    drawn = chance(SEED, lot.watch, lot.n)
    return drawn / lot.share if drawn < lot.share else None


def audited(due: Due, lot: Lot) -> Due:
    """The decision with the audit in it; the same object where there is none."""
    where = place(lot)
    if where is None:
        return due
    wait = due.interval * where
    cut = (wait - due.interval).total_seconds() / 3600
    note = f"at a random moment of {due.interval.total_seconds() / 3600:.3g} h"
    return replace(
        due,
        due_at=due.due_at - due.interval + wait,
        interval=wait,
        reasons=(*due.reasons, Reason("audit", cut, note)),
    )


def chance(seed: int, watch: int, n: int) -> float:
    """A number in [0, 1) for one pair: as `chances` of core/schedule/columns.py, without numpy."""
    mixed = _stir((watch + _stir((seed * _GOLDEN + _GOLDEN) & _MASK)) & _MASK)
    mixed = _stir((mixed + n * _GOLDEN) & _MASK)
    return (mixed >> 11) * 2.0**-53


def _stir(mixed: int) -> int:
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)


# Is a look made without conditions, though the far end gave validators?  From time to time, every one.
#
# A server that answers 304 for ever would otherwise hide every change.  At most eight looks in a row, and where looks
# are rare at most a fortnight (but two looks), rely on its word.

MOST_LOOKS = 8
LEAST_LOOKS = 2
LONGEST = timedelta(days=14)
_SHORTEST = timedelta(minutes=1)


def asks_anew(watch: WatchId, scan_count: int, interval: timedelta) -> bool:
    """One look in so many.  Which one differs between watches: not all bodies of a host are asked for at once.

    Not the second: the first has just brought the body.
    """
    return scan_count > 1 and (scan_count + int(watch)) % looks_between(interval) == 0


def looks_between(interval: timedelta) -> int:
    return max(LEAST_LOOKS, min(MOST_LOOKS, int(LONGEST / max(interval, _SHORTEST))))
