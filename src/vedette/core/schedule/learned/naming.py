"""A listing names targets: how likely is it true of each, and which of them are now worth a look?

Everything comes from rows that are stored, so the engine decides here, and `replay` decides here again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from vedette.contracts.words import Reason
from vedette.core.schedule.hours import from_hours
from vedette.core.schedule.learned.listing import Told, mark
from vedette.core.schedule.learned.row import (
    Place,
    pack_beliefs,
    surroundings,
    unpack_beliefs,
    unpack_shares,
)
from vedette.core.schedule.learned.settings import Published
from vedette.core.schedule.learned.worth import least_hours, value_now

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A target that a listing named, with all that follows from it."""

    belief: bytes  # before
    place: Place
    stated: (
        float  # hours: when the listing says it changed; NaN: it says no more than the day of our last look
    )
    heard_at: datetime
    due_at: datetime  # before
    by: str  # the listing


@dataclass(frozen=True, slots=True)
class Moved:
    belief: bytes  # with its mark
    due_at: datetime | None  # None: a look is not worth its price yet; never later than it was due
    reasons: tuple[Reason, ...]  # their points add up to the hours from the last look to the next


def name(named: Sequence[Named], told: Told, published: Published) -> list[Moved]:
    """The marks of the named targets, and when those that are worth a look are due."""
    packed = [one.belief for one in named]
    b = unpack_beliefs(packed)
    around = surroundings([one.place for one in named], published)
    b.mark, b.mark_lag = mark(b, around, told, np.array([one.stated for one in named]))
    value, _ = value_now(b, around, told.t)
    free = b.last + least_hours(np.array([one.place.risk for one in named], np.int8), around)
    worth = (value >= around.price) & (b.mark > 0)
    beliefs = pack_beliefs(b, unpack_shares(packed))
    return [
        _moved(one, belief, from_hours(last), _Weighed(bool(is_worth), from_hours(at), *numbers))
        for one, belief, last, is_worth, at, *numbers in zip(
            named,
            beliefs,
            b.last.tolist(),
            worth.tolist(),
            free.tolist(),
            b.mark.tolist(),
            value.tolist(),
            around.price.tolist(),
            strict=True,
        )
    ]


def stated_hours(stated: float, is_day: bool, last: float) -> float:
    """When the listing says it changed; NaN: it names a day, and we looked on that day."""
    return math.nan if is_day and stated <= last < stated + 24.0 else stated


@dataclass(frozen=True, slots=True)
class _Weighed:
    is_worth: bool
    free_at: datetime  # its floor
    mark: float
    value: float
    price: float


def _moved(one: Named, belief: bytes, last: datetime, weighed: _Weighed) -> Moved:
    if not weighed.is_worth:
        return Moved(belief, None, ())
    due_at = min(one.due_at, max(one.heard_at, weighed.free_at))
    note = (
        f"{one.by} named it, {weighed.mark:.0%} likely true; "
        f"a look is worth {weighed.value:.3g} and costs {weighed.price:.3g}"
    )
    reasons = (
        Reason("planned", (one.due_at - last) / _HOUR, "hours after the last look, as it was planned"),
        Reason("mark", (due_at - one.due_at) / _HOUR, note),
    )
    return Moved(belief, due_at, reasons)
