"""`fixed`: every target at the same interval.  The yardstick that the other policies have to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason, Risk
from vedette.core.schedule.rule import Interval

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Column


@dataclass(frozen=True, slots=True)
class FixedRule:
    """One interval for all."""

    every_hours: float = 24.0  # DAILY, 001 section 11.3
    jitter_share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.every_hours < float("inf"):
            raise InputError(f"fixed: every_hours is {self.every_hours!r}; it must be above 0")
        if not 0 <= self.jitter_share < 1:
            raise InputError(f"jitter_share is {self.jitter_share!r}; it must be from 0 to below 1")

    @property
    def by_risk(self) -> tuple[float, float, float, float]:
        return (self.every_hours,) * 4

    def hours(self, velocity: Column, by_risk: Column) -> Column:
        return by_risk

    def interval(self, velocity: float, risk: Risk) -> Interval:
        return Interval(
            self.every_hours, (Reason("fixed", self.every_hours, f"every {self.every_hours:g} h"),)
        )
