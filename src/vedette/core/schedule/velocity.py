"""How often does a target change, per look?  EWMA of spec 000/3, parameters of spec 001/11.4.

The formula rules, not the document's table: two of its cells are wrong (docs/adr/README.md).  It measures
change per *look*, so it settles slowly: 0.5 falls to 0.1 after 16 stable looks, not 5.
When a target last changed is kept by the caller, who keeps the old time when nothing changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from vedette.contracts.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class VelocityParams:
    """Spec 001/11.4."""

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


DEFAULT = VelocityParams()

# spec 001/C.2: from this velocity on, the word.
WORDS = ((0.8, "volatile"), (0.5, "active"), (0.2, "moderate"), (0.0, "static"))


def update_velocity(
    velocity: float, scan_count: int, changed: bool, *, params: VelocityParams = DEFAULT
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
