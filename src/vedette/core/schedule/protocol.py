"""What a schedule policy is asked and what it answers.  docs/scheduling.md.

Pure: no I/O, no wall clock; chance is a counter-based hash of (seed, id, n).  Ids are int arrays.  Times are
hours as float64 since Monday 1970-01-05 00:00 UTC, so that t mod 168 is the hour of the week (`to_hours`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from vedette.contracts.words import Reason, Risk

if TYPE_CHECKING:  # numpy costs 0.3 s of start-up; the scalar rules of this package do without
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64] | Sequence[int]
    Floats = NDArray[np.float64] | Sequence[float]
    Flags = NDArray[np.bool_] | Sequence[bool]
    Rows = NDArray[np.int64]
    Column = NDArray[Any]

Risks = Sequence[str | int | Risk] | str | int | Risk  # names or ranks, one for all or one each

# How much a stale hour of each risk costs, LOW to CRITICAL.  Equal to the risk factors of spec 000/4.
RISK_WEIGHT = (0.5, 1.0, 2.0, 4.0)
EPOCH = datetime(1970, 1, 5, tzinfo=UTC)
_HOUR = timedelta(hours=1)


def to_hours(at: datetime) -> float:
    """Hours of an aware time."""
    return (at - EPOCH) / _HOUR


def from_hours(t: float) -> datetime:
    """The aware UTC time of hours, to the microsecond."""
    return EPOCH + timedelta(hours=t)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a target is looked at when it is.  The points of the reasons add up to `interval`."""

    id: int
    at: float
    p_changed: float  # chance that it has changed since the last look
    rate: float  # changes per hour, as believed
    rate_low: float | None = None  # between these two with a chance of 90 %; None: the policy cannot say
    rate_high: float | None = None
    interval: float  # hours between looks
    due_at: float
    value: float  # what `next` orders by
    price: float  # the value from which on a look is worth it; 0: no budget binds
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a budget buys, by name of the risk, before it is spent."""

    at: float
    budget: float | None  # looks per day; None: as many as the schedule asks for
    needed: float  # looks per day that the schedule, or the objectives, ask for
    shortfall: float  # looks per day missing; 0: the budget carries it
    freshness: Mapping[str, float]  # share of the time that our copy is current
    age: Mapping[str, float]  # mean hours that our copy has been stale
    within: Mapping[str, float]  # hours that coverage is measured over
    coverage: Mapping[str, float]  # share of changes seen within those hours
    tight_hosts: Mapping[int, float] = field(default_factory=dict)  # host: looks per day beyond its room
    reasons: tuple[Reason, ...] = ()


class SchedulePolicy(Protocol):
    """Decides what to look at and when.  A target that was added and not observed has never been fetched."""

    def add(self, ids: Ints, *, risk: Risks, host: Ints, parent: Ints | None = None, now: float) -> None:
        """Targets to keep an eye on.  `parent` is the id of the hub that lists them, or -1.

        An id that is known already gets the new risk, host and parent and keeps what was learned.
        """
        ...

    def observe(
        self,
        ids: Ints,
        t: float | Floats,
        changed: Flags,
        *,
        last_modified: Floats | None = None,
        status: Ints | None = None,
    ) -> None:
        """Looks that ended at `t`.  `last_modified` is NaN where the server gives none.

        `status` other than 2xx and 304 marks a failed look, which teaches nothing about change.
        """
        ...

    def signal(  # noqa: PLR0913  as the Protocol has it
        self,
        ids: Ints,
        t: float,
        *,
        kind: str,
        source: int | None = None,
        modified: Floats | None = None,
        complete: bool = False,
    ) -> None:
        """A hub, sitemap, feed or push names these targets as changed.

        `complete`: the targets of this source that are not named did not change.
        """
        ...

    def next(self, t: float, k: int | None, *, host_room: Mapping[int, int] | None = None) -> Rows:
        """The ids of the best `k` targets to look at now, best first.

        `k` None: what is due by the policy's own schedule.
        `host_room` says how many looks a host has room for now; a host that is not named has no limit.
        """
        ...

    def next_due(self, id: int) -> float:  # noqa: A002  as the Protocol has it
        """When the target is due by the policy's own schedule."""
        ...

    def explain(self, id: int, t: float) -> Explanation:  # noqa: A002
        """The belief and the decision about one target at `t`."""
        ...

    def forecast(self, t: float, budget: float | None) -> Forecast:
        """What `budget` looks per day would buy from `t` on."""
        ...

    def dump(self) -> bytes:
        """Everything that the next decision depends on."""
        ...

    def load(self, data: bytes) -> None:
        """Go on from a dump: the next decisions are identical."""
        ...
