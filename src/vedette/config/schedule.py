"""The sections `schedule` and `objectives`: when to look again, and how soon a change must be seen."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from vedette.config.values import MOST_LOOKS, Duration, RiskWord, Section
from vedette.contracts.words import Risk
from vedette.core.schedule.ewma import EwmaParams, VelocityParams

_EWMA, _VELOCITY = EwmaParams(), VelocityParams()


class VelocityConfig(Section):
    """How a velocity follows what looks find (001 section 11.4)."""

    warmup: int = Field(default=_VELOCITY.warmup, ge=0)
    alpha_change: float = Field(default=_VELOCITY.alpha_change, ge=0, le=1)
    alpha_stable: float = Field(default=_VELOCITY.alpha_stable, ge=0, le=1)
    floor: float = Field(default=_VELOCITY.floor, ge=0, le=0.5)  # a new target begins at 0.5
    ceiling: float = Field(default=_VELOCITY.ceiling, ge=0.5, le=1)


class EwmaConfig(Section):
    """The interval of `seed-ewma` (000 section 4, 001 section 11.4)."""

    base: Duration = Field(default=timedelta(hours=_EWMA.base_hours), gt=timedelta(0))
    longest: Duration = timedelta(hours=_EWMA.max_hours)
    jitter: float = Field(default=_EWMA.jitter_share, ge=0, lt=1)
    factors: dict[RiskWord, float] = Field(default=dict(zip(Risk, _EWMA.risk_factors, strict=True)))


class ScheduleConfig(Section):
    policy: str = "learned"
    interval: Duration = timedelta(hours=4)  # for `fixed`
    velocity: VelocityConfig = VelocityConfig()  # for `seed-ewma`, as `ewma`
    ewma: EwmaConfig = EwmaConfig()
    budget_per_day: float | None = Field(default=None, gt=0, le=MOST_LOOKS)  # looks; not set: no limit
    host_budget_per_day: float | None = Field(default=None, gt=0, le=MOST_LOOKS)
    audit_share: float = Field(default=0.015, ge=0, le=0.5)  # of looks, at a random moment


class ObjectiveConfig(Section):
    """How soon a change must be seen, and how often that must hold."""

    within: Duration
    share: float = Field(default=0.95, gt=0, le=1)


# The section `hunt`: where sources that hunt look first (004).


class HuntConfig(Section):
    """For sources with `hunt: true`.  The defaults are those of `core/hunt.py`, which costs numpy to import."""

    looks_per_day: float | None = Field(default=None, gt=0, le=MOST_LOOKS)  # first looks
    share: float = Field(default=0.15, ge=0, le=1)  # of them, for new hosts and neighbourhoods
    host_budget: float = Field(default=200.0, ge=0, le=MOST_LOOKS)  # units that one host may cost
    error_cost: float = Field(default=5.0, ge=1, le=MOST_LOOKS)  # units of an error; a page costs one
    at_host: int = Field(default=2, ge=1)  # chosen looks that wait at one host
    daring: float = Field(default=0.5, ge=0, le=100)
