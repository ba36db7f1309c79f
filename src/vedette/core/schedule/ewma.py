"""`seed-ewma`: the interval of spec 000/4, bit for bit.

    interval = base / (velocity * risk factor), at least base, at most the ceiling, then +-10 % jitter

The floor is the base (4 h), and the jitter comes after the clamp, so intervals reach from 3.6 h to 792 h
(docs/adr/README.md).
`interval` is the rule for one target with its reasons, `EwmaRule.hours` the same arithmetic for columns.

The velocity is how often a target changes, per *look*: the EWMA of spec 000/3 with the parameters of spec
001/11.4.  The formula rules, not the document's table: two of its cells are wrong (docs/adr/README.md).  It settles
slowly: 0.5 falls to 0.1 after 16 stable looks, not 5.  When a target last changed is kept by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason, Risk
from vedette.core.schedule.per_risk import Interval, jittered

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class EwmaParams:
    """Spec 000/4, spec 001/11.4."""

    base_hours: float = 4.0
    max_hours: float = 720.0
    jitter_share: float = 0.1
    least_velocity: float = 0.01
    risk_factors: tuple[float, float, float, float] = (0.5, 1.0, 2.0, 4.0)  # LOW, MEDIUM, HIGH, CRITICAL

    def __post_init__(self) -> None:
        if not 0 < self.base_hours <= self.max_hours:
            raise InputError("schedule: 0 < base_hours <= max_hours does not hold")
        if not 0 <= self.jitter_share < 1:
            raise InputError(f"schedule: jitter_share is {self.jitter_share!r}; it must be from 0 to below 1")
        if len(self.risk_factors) != len(Risk) or min(self.risk_factors) <= 0:
            raise InputError("schedule: risk_factors needs four numbers above 0, LOW to CRITICAL")
        if not 0 < self.least_velocity <= 1:
            raise InputError(
                f"schedule: least_velocity is {self.least_velocity!r}; it must be above 0, at most 1"
            )


DEFAULT = EwmaParams()


def calculate_next_scan(
    velocity: float, risk: Risk | str, *, now: datetime, jitter: float, params: EwmaParams = DEFAULT
) -> datetime:
    """When to look next (spec 000/4).  `jitter` in [0, 1): 0 is 10 % sooner, 0.5 is on the dot.

    The risk by its name is as good: "CRITICAL".
    """
    risk = _risk(risk)
    if not 0.0 <= jitter <= 1.0:
        raise InputError(f"jitter is {jitter!r}; it must be from 0 to 1")
    hours = interval(velocity, risk, params).hours
    return now + timedelta(hours=jittered(hours, jitter, params.jitter_share))


def _risk(word: Risk | str) -> Risk:
    if isinstance(word, Risk):
        return word
    try:
        return Risk.parse(word)
    except (ValueError, AttributeError):
        raise InputError(f"risk is {word!r}; it must be one of {', '.join(Risk.__members__)}") from None


def interval(velocity: float, risk: Risk, params: EwmaParams = DEFAULT) -> Interval:
    """Hours between looks before jitter, with the reasons that add up to them."""
    if not 0.0 <= velocity <= 1.0:
        raise InputError(f"velocity is {velocity!r}; it must be a number from 0 to 1")
    base, ceiling = params.base_hours, params.max_hours
    factor = params.risk_factors[risk]
    fast = max(params.least_velocity, velocity)
    raw = base / (fast * factor)
    hours = min(ceiling, max(base, raw))
    reasons = [
        Reason("base", base),
        Reason("velocity", base / fast - base, f"{velocity:.2f} {describe_velocity(velocity)}"),
        Reason("risk", raw - base / fast, f"{risk.name} x{factor:g}"),
    ]
    if hours != raw:
        bound = "floor" if hours > raw else "ceiling"
        reasons.append(Reason(bound, hours - raw, f"{hours:g} h"))
    return Interval(hours, tuple(reasons))


@dataclass(frozen=True, slots=True)
class EwmaRule:
    """The rule as the column policy wants it."""

    params: EwmaParams = DEFAULT

    @property
    def by_risk(self) -> tuple[float, float, float, float]:
        return self.params.risk_factors

    @property
    def jitter_share(self) -> float:
        return self.params.jitter_share

    def hours(self, velocity: Column, factor: Column) -> Column:
        """`interval` for columns: velocity and risk factor of each target."""
        p = self.params
        column: Column = (p.base_hours / (velocity.clip(p.least_velocity) * factor)).clip(
            p.base_hours, p.max_hours
        )
        return column

    def interval(self, velocity: float, risk: Risk) -> Interval:
        return interval(velocity, risk, self.params)


# How often does a target change, per look?


@dataclass(frozen=True, slots=True, kw_only=True)
class VelocityParams:
    """spec 001/11.4."""

    warmup: int = 3  # looks that stay neutral
    alpha_change: float = 0.3
    alpha_stable: float = 0.1
    floor: float = 0.01
    ceiling: float = 0.99
    neutral: float = 0.5

    def __post_init__(self) -> None:
        for name in ("alpha_change", "alpha_stable", "floor", "ceiling", "neutral"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"velocity.{name} is {getattr(self, name)!r}; it must be from 0 to 1")
        if not self.floor <= self.neutral <= self.ceiling:
            raise InputError("velocity: floor <= neutral <= ceiling does not hold")


DEFAULT_VELOCITY = VelocityParams()

# spec 001/C.2: from this velocity on, the word.
WORDS = ((0.8, "volatile"), (0.5, "active"), (0.2, "moderate"), (0.0, "static"))


def update_velocity(
    velocity: float, scan_count: int, changed: bool, *, params: VelocityParams = DEFAULT_VELOCITY
) -> float:
    """The velocity after one more look.  `scan_count` is how many looks there were before it."""
    if not 0.0 <= velocity <= 1.0:
        raise InputError(f"velocity is {velocity!r}; it must be a number from 0 to 1")
    if scan_count < params.warmup:
        return params.neutral
    alpha = params.alpha_change if changed else params.alpha_stable
    signal = 1.0 if changed else 0.0
    return max(params.floor, min(params.ceiling, alpha * signal + (1 - alpha) * velocity))


def describe_velocity(velocity: float) -> str:
    """The word of spec 001/C.2 for a velocity."""
    return next((word for bound, word in WORDS if velocity >= bound), "static")
