"""`per-risk`: an interval per risk class, whatever the target does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason, Risk
from vedette.core.schedule.rule import Interval

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Column


@dataclass(frozen=True, slots=True)
class PerRiskRule:
    """Hours between looks, LOW to CRITICAL.  Defaults: weekly, daily, twice a day, every 4 h."""

    by_risk: tuple[float, float, float, float] = (168.0, 24.0, 12.0, 4.0)
    jitter_share: float = 0.1

    def __post_init__(self) -> None:
        if len(self.by_risk) != len(Risk) or not all(0 < hours < float("inf") for hours in self.by_risk):
            raise InputError(
                "per-risk needs an interval above 0 hours for each of LOW, MEDIUM, HIGH, CRITICAL"
            )
        if not 0 <= self.jitter_share < 1:
            raise InputError(f"jitter_share is {self.jitter_share!r}; it must be from 0 to below 1")

    def hours(self, velocity: Column, by_risk: Column) -> Column:
        return by_risk

    def interval(self, velocity: float, risk: Risk) -> Interval:
        hours = self.by_risk[risk]
        return Interval(hours, (Reason("per_risk", hours, f"{risk.name} every {hours:g} h"),))


DEFAULT = PerRiskRule()


def per_risk_rule(hours: Mapping[str, float] | None = None, jitter_share: float = 0.1) -> PerRiskRule:
    """From names: {"CRITICAL": 2}.  Risks that are not named keep their default."""
    table = list(DEFAULT.by_risk)
    for name, value in (hours or {}).items():
        try:
            table[Risk.parse(name)] = float(value)
        except (TypeError, ValueError) as problem:
            raise InputError(f"per-risk hours: {problem}") from None
    return PerRiskRule((table[0], table[1], table[2], table[3]), jitter_share)
