"""Lanes, objectives and schedule policies as configured.

Apart from the rest of the policies: reports about them need no parser, no screen and no guard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from vedette.contracts.lane import BROWSER, TOR, LanePolicies, LanePolicy
from vedette.contracts.words import LaneKey, Risk
from vedette.core.lanes.lane import starts_per_day
from vedette.core.schedule import make_policy
from vedette.core.schedule.ewma import EwmaParams, VelocityParams

if TYPE_CHECKING:
    from vedette.config.model import Config
    from vedette.config.sections import LaneConfig
    from vedette.core.schedule.protocol import SchedulePolicy

SEED_EWMA = "seed-ewma"
_ZERO = timedelta(0)
_TWELVE = timedelta(seconds=12)
_HOUR = timedelta(hours=1)
# spec 001/9.1: five pages a minute, one at a time.  What a page does to the browser is not the lane's fault.
_BROWSER = LanePolicy(gap_min=_TWELVE, gap_max=_TWELVE, per_minute=5, at_once=1, trips_after=1_000_000)
# Circuits are slow and shared: two looks at once.  Five failures in a row close the lane; then it is tried again.
_TOR = LanePolicy(gap_min=timedelta(seconds=1), gap_max=timedelta(seconds=3), per_minute=20, at_once=2)


def objectives(config: Config) -> dict[str, tuple[float, float]]:
    """By risk name: hours, share."""
    return {risk.name: (row.within / _HOUR, row.share) for risk, row in config.objectives.items()}


def schedule_policy(
    config: Config, name: str, *, goals: Mapping[str, tuple[float, float]], budget: float | None
) -> SchedulePolicy:
    """The named policy over columns, as simulation and forecast play it."""
    own: dict[str, dict[str, Any]] = {
        "fixed": {"every_hours": config.schedule.interval / _HOUR},
        SEED_EWMA: {"params": ewma_params(config), "velocity": velocity_params(config)},
    }
    return make_policy(name, objectives=goals, budget_per_day=budget, **own.get(name, {}))


def rooms(config: Config, hosts: Iterable[tuple[str, timedelta | None]]) -> list[float]:
    """Looks per day that lane, Crawl-delay and budget allow each host."""
    lanes, most = lane_policies(config), config.schedule.host_budget_per_day
    budget = float("inf") if most is None else most
    starts = cache(starts_per_day)  # few policies, many hosts
    return [
        min(starts(lanes.of(LaneKey(f"host:{host}")), crawl_delay), budget) for host, crawl_delay in hosts
    ]


def lane_policies(config: Config) -> LanePolicies:
    """`default` for every lane, `all` for the whole machine, `host:x` for one lane, `engine:browser` for that."""
    default = _lane(LanePolicy(), config.lanes.get("default"))
    everything = LanePolicy(
        gap_min=_ZERO, gap_max=_ZERO, per_minute=0, at_once=config.run.at_once, trips_after=1_000_000
    )
    own = {"all": everything, BROWSER: _BROWSER, TOR: _TOR}
    given = {key: row for key, row in config.lanes.items() if key != "default"}
    named = {key: _lane(own.get(key, default), given.get(key)) for key in (*own, *given)}
    return LanePolicies(default=default, named=named)


def _lane(policy: LanePolicy, row: LaneConfig | None) -> LanePolicy:
    if row is None:
        return policy
    values = {name: value for name, value in row.model_dump().items() if value is not None}
    if "gap_min" in values and "gap_max" not in values:
        values["gap_max"] = max(policy.gap_max, values["gap_min"]) if values["gap_min"] else values["gap_min"]
    return replace(policy, **values)


def ewma_params(config: Config) -> EwmaParams:
    """Spec 000/4 and spec 001/11.4, as configured."""
    row = config.schedule.ewma
    plain = dict(zip(Risk, EwmaParams().risk_factors, strict=True)) | row.factors
    factors = (plain[Risk.LOW], plain[Risk.MEDIUM], plain[Risk.HIGH], plain[Risk.CRITICAL])
    return EwmaParams(
        base_hours=row.base / _HOUR,
        max_hours=row.longest / _HOUR,
        jitter_share=row.jitter,
        risk_factors=factors,
    )


def velocity_params(config: Config) -> VelocityParams:
    """Spec 001/11.4, as configured."""
    return VelocityParams(**config.schedule.velocity.model_dump())
