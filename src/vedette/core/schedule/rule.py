"""What an interval rule is: from velocity and risk to hours between looks, for one target and for columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from vedette.contracts.words import Reason, Risk

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Column


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
    """000 section 4: hours * (1 + (jitter * 0.2 - 0.1)) for a share of 0.1.  Works on columns too."""
    return hours * (1 + (jitter * (2 * share) - share))
