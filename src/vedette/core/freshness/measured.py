"""How fresh were we, and what can be promised?  Per risk class, from the looks on record, with how far to trust them.

Seen within the objective: a change that was found after a gap of D hours came at a uniform moment of it, so it was
seen within T with chance min(1, T / D).  A gap that showed one may have held several, more of them the longer it was:
it counts for as many as its target's rate lets expect.  The interval allows for three things that nobody sees: where in
its gap a change came, that gaps hold MORE times as many changes as that, or as few, because changes come in bursts, and
changes that no look showed.  `sure` are those whose whole gap was within T, wherever in it they came.

Stale share, by audits: looks at random moments, each weighed by its interval (core/schedule/due.py); unbiased.
Stale share, by gaps: from the rates that the gaps tell (core/whatif/history.py); steadier, only as good as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vedette.contracts.words import Risk
from vedette.core.schedule.protocol import Forecast
from vedette.core.whatif.history import Flags, Floats, Gaps, History, Targets, estimate, gaps

Z95 = 1.959963984540054  # two-sided, 95 %
MORE = 1.5  # times as many changes as a steady rate lets expect may be in a gap (docs/scheduling.md has the trial)
MOST = 6.0  # changes that a gap is taken for
_LEAST = 0.005  # chance from which on it may be that none was late


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One risk class.  None: nothing on record to tell by."""

    looks: int
    changes: int  # gaps that showed one
    within: float  # hours
    in_time: Estimate | None
    sure: float | None
    audits: int
    audits_found: int  # unseen changes that audits found
    stale: Estimate | None  # by audits
    stale_by_gaps: float | None


def measure(history: History, within: Mapping[str, float]) -> dict[str, Measured]:
    """Per risk name, CRITICAL first."""
    between = gaps(history)
    rows, place = np.unique(between.row, return_inverse=True)
    rate = estimate(between, len(history.targets)).mean(rows)[place]
    return {risk.name: _measured(history, between, rate, risk, within[risk.name]) for risk in reversed(Risk)}


def wilson(share: float, count: float) -> Estimate:
    """Wilson's interval; `count` may be an effective sample size."""
    if count <= 0:
        return Estimate(share, 0.0, 1.0)
    z2 = Z95 * Z95
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z95 / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return Estimate(share, min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def stale_by_audits(interval: Floats, found: Flags) -> Estimate | None:
    """The share of time that a copy is stale: audits weighed by their interval, Wilson by the effective count.

    Long intervals weigh more and are stale more often, so the spread is taken from the audits as they are
    (linearised), and by the weights alone (Kish) where that is wider.
    """
    weight, squares = float(interval.sum()), float((interval**2).sum())
    if not weight > 0:
        return None
    share = float((interval * found).sum()) / weight
    count = weight * weight / squares
    spread = (
        float((interval**2 * (found - share) ** 2).sum()) / (weight * weight) * _small_sample(len(interval))
    )
    return wilson(share, min(count, share * (1 - share) / spread) if spread > 0 else count)


def in_time(hours: Floats, rate: Floats, within: float) -> Estimate | None:
    """The share of changes seen within the objective, from the gaps that showed one and the rates of their targets."""
    if not len(hours):
        return None
    chance = np.minimum(1.0, within / np.maximum(hours, 1e-9))
    count = _changes(rate, hours)
    is_open = chance < 1.0
    plain, many, few = (
        _weighed(chance, count * np.where(is_open, times, 1.0)) for times in (1.0, MORE, 1.0 / MORE)
    )
    none_late = float(np.log(chance).sum())
    high = 1.0 if none_late > math.log(_LEAST) else max(plain.high, few.high)
    return Estimate(plain.value, min(plain.low, many.low), high)


def _changes(rate: Floats, hours: Floats) -> Floats:
    """Changes to expect in gaps that showed one.  Of a target that differs at every look nobody can tell."""
    x = np.maximum(rate * hours, 1e-9)
    return np.minimum(x / -np.expm1(-x), MOST)


def _weighed(chance: Floats, count: Floats) -> Estimate:
    """Wilson's interval by the effective number of gaps."""
    whole = float(count.sum())
    return wilson(float((count * chance).sum()) / whole, whole * whole / float((count**2).sum()))


def _measured(history: History, between: Gaps, rate: Floats, risk: Risk, within: float) -> Measured:
    """`rate`: of the target of each gap."""
    of_class = history.targets.risk == risk
    looks = of_class[history.row]
    audits = looks & ~np.isnan(history.audit)
    mine = of_class[between.row]
    changed = mine & between.changed
    hours = between.hours
    whole = float(hours[mine].sum())
    return Measured(
        looks=int(looks.sum()),
        changes=int(changed.sum()),
        within=within,
        in_time=in_time(hours[changed], rate[changed], within),
        sure=_sure(hours[changed], rate[changed], within),
        audits=int(audits.sum()),
        audits_found=int((audits & history.changed).sum()),
        stale=stale_by_audits(history.audit[audits], history.changed[audits]),
        stale_by_gaps=float(_stale_hours(rate, hours)[changed].sum()) / whole if whole > 0 else None,
    )


def _sure(hours: Floats, rate: Floats, within: float) -> float | None:
    count = _changes(rate, hours)
    return float(count[hours <= within].sum() / count.sum()) if len(hours) else None


def _small_sample(count: int) -> float:
    return count / (count - 1) if count > 1 else 1.0


def _stale_hours(rate: Floats, hours: Floats) -> Floats:
    """Expected hours from the first change of a gap to its end, given that there was one."""
    x = np.maximum(rate * hours, 1e-6)
    stale: Floats = hours * (1.0 / -np.expm1(-x) - 1.0 / x)
    return stale


# What can be promised?  A policy's forecast, held against the objectives and what the hosts allow.
#
# To see a share s of the changes of a target within T hours, it must be looked at every T / s hours.  A host whose
# lane has no room for that shares what it has among its targets, and their coverage falls in proportion.  Where the
# operator asked for an interval (`every`), that interval holds, whatever the policy would do.

Objectives = Mapping[str, tuple[float, float]]  # risk name: hours, share


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One risk class."""

    targets: int
    within: float  # hours
    share: float | None  # the objective; None: there is none
    coverage: float  # share of changes expected to be seen within those hours
    freshness: float  # share of the time that our copy is current
    needed: float | None  # looks per day that the objective asks for

    @property
    def is_met(self) -> bool:
        return self.share is None or not self.targets or self.coverage >= self.share


@dataclass(frozen=True, slots=True, kw_only=True)
class TightHost:
    """A host whose lane has no room for the objectives of its targets."""

    host: int
    room: float  # looks per day that its lane allows
    needed: float  # looks per day that the objectives ask for
    coverage: float  # the most that its targets with an objective can get

    @property
    def missing(self) -> float:
        return self.needed - self.room


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Before the run."""

    budget: float | None  # looks per day
    needed: float  # looks per day that the policy's schedule asks for
    shortfall: float  # looks per day that the budget is short of
    classes: Mapping[str, Expected]  # CRITICAL first
    tight: tuple[TightHost, ...]  # the tightest first
    crowded: tuple[
        tuple[int, float], ...
    ] = ()  # hosts that the schedule asks for more looks a day than they allow

    @property
    def is_met(self) -> bool:
        return all(one.is_met for one in self.classes.values())


def expect(
    forecast: Forecast,
    targets: Targets,
    objectives: Objectives,
    room: Mapping[int, float],
    every: Floats | None = None,
) -> Outlook:
    """The forecast with the objectives and the hosts' limits in it.

    `room`: looks per day by host.  `every`: hours between two looks that were asked for, NaN where none were.
    """
    need = np.bincount(targets.host, _needs(targets, objectives)) if len(targets) else np.zeros(0)
    limit = np.array([room.get(host, np.inf) for host in range(len(need))])
    ratio = np.divide(limit, need, out=np.full(len(need), np.inf), where=need > 0)
    covered = _coverage(forecast, targets, objectives, ratio, every)
    tight = [
        TightHost(
            host=host,
            room=float(limit[host]),
            needed=float(need[host]),
            coverage=float(ratio[host]) * strictest,
        )
        for host in np.flatnonzero(ratio < 1.0).tolist()
        for strictest in [_strictest(host, targets, objectives)]
    ]
    return Outlook(
        budget=forecast.budget,
        needed=forecast.needed,
        shortfall=forecast.shortfall,
        classes={
            risk.name: _expected(risk, forecast, targets, objectives, covered) for risk in reversed(Risk)
        },
        tight=tuple(sorted(tight, key=lambda one: (-one.missing, one.host))),
        crowded=tuple(sorted(forecast.tight_hosts.items(), key=lambda one: (-one[1], one[0]))),
    )


def _coverage(
    forecast: Forecast, targets: Targets, objectives: Objectives, ratio: Floats, every: Floats | None
) -> Floats:
    """Share of the changes of each target that is expected to be seen in time."""
    covered = np.array([forecast.coverage[risk.name] for risk in Risk])[targets.risk]
    if every is not None:
        within = np.array([_goal(risk, forecast, objectives)[0] for risk in Risk])[targets.risk]
        covered = np.where(np.isnan(every), covered, np.minimum(1.0, within / every))
    shares = np.array([_goal(risk, forecast, objectives)[1] for risk in Risk], np.float64)[targets.risk]
    most: Floats = np.where(np.isnan(shares), covered, np.minimum(covered, shares * ratio[targets.host]))
    return most


def _expected(
    risk: Risk, forecast: Forecast, targets: Targets, objectives: Objectives, covered: Floats
) -> Expected:
    rows = targets.risk == risk
    count = int(rows.sum())
    within, share = _goal(risk, forecast, objectives)
    return Expected(
        targets=count,
        within=within,
        share=share,
        coverage=float(covered[rows].mean()) if count else forecast.coverage[risk.name],
        freshness=forecast.freshness[risk.name],
        needed=None if share is None else count * 24.0 * share / within,
    )


def _goal(risk: Risk, forecast: Forecast, objectives: Objectives) -> tuple[float, float | None]:
    """Hours, and the share that is promised; None: nothing is."""
    return objectives.get(risk.name, (forecast.within[risk.name], None))


def _needs(targets: Targets, objectives: Objectives) -> Floats:
    """Looks per day that the objective of each target asks for."""
    by_risk = np.array(
        [24.0 * objectives[r.name][1] / objectives[r.name][0] if r.name in objectives else 0.0 for r in Risk]
    )
    need: Floats = by_risk[targets.risk]
    return need


def _strictest(host: int, targets: Targets, objectives: Objectives) -> float:
    """The highest share that an objective promises for a target of this host."""
    risks = np.unique(targets.risk[targets.host == host]).tolist()
    return max(objectives[Risk(r).name][1] for r in risks if Risk(r).name in objectives)
