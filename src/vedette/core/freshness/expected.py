"""What can be promised?  A policy's forecast, held against the objectives and what the hosts allow.

To see a share s of the changes of a target within T hours, it must be looked at every T / s hours.  A host whose
lane has no room for that shares what it has among its targets, and their coverage falls in proportion.  Where the
operator asked for an interval (`every`), that interval holds, whatever the policy would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vedette.contracts.words import Risk
from vedette.core.schedule.protocol import Forecast
from vedette.core.whatif.history import Floats, Targets

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
