"""`per-risk`: an interval per risk class, whatever the target does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason, Risk

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Column

# What an interval rule is: from velocity and risk to hours between looks, for one target and for columns.


@dataclass(frozen=True, slots=True)
class Interval:
    """Hours between looks, and the reasons whose points add up to them."""

    hours: float
    reasons: tuple[Reason, ...]


class IntervalRule(Protocol):
    """`interval` and `hours` give the same numbers, bit for bit; a property test holds them together."""

    @property
    def by_risk(self) -> tuple[float, float, float, float]:
        """A number per risk, LOW to CRITICAL, that `hours` gets as a column."""
        ...

    @property
    def jitter_share(self) -> float:
        """Jitter moves an interval by at most this share, both ways."""
        ...

    def hours(self, velocity: Column, by_risk: Column, /) -> Column: ...

    def interval(self, velocity: float, risk: Risk) -> Interval: ...


def jittered(hours: float, jitter: float, share: float) -> float:
    """Spec 000/4: hours * (1 + (jitter * 0.2 - 0.1)) for a share of 0.1.  Works on columns too."""
    return hours * (1 + (jitter * (2 * share) - share))


# `per-risk`: an interval per risk class, whatever the target does.


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


# `fixed`: every target at the same interval.  The yardstick that the other policies have to beat.


@dataclass(frozen=True, slots=True)
class FixedRule:
    """One interval for all."""

    every_hours: float = 24.0  # DAILY, spec 001/11.3
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
