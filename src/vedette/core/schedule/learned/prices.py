"""What a look costs: one price for all targets, from the budget, and more at hosts whose room is short.

The price is the one at which the targets, as believed, ask for as many looks as the budget has.  Without a budget
it is FREE_PRICE, so that politeness and the floors of the intervals are the only limits: a look is then made as soon
as it saves one stale hour of a MEDIUM target.  At a host that is asked for more looks than its lane (or its budget)
allows, looks are dearer, so that its own targets share its room by value instead of queueing for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.outlook import Sample, price_for, promised, tiers
from vedette.core.schedule.learned.prior import fitted
from vedette.core.schedule.learned.settings import FREE_PRICE, MOST_HOURS, Published
from vedette.core.schedule.learned.worth import crossing, least_hours, values

Floats = NDArray[np.float64]
_TIMES = np.geomspace(1.0, 1e6, 40)  # how much dearer a look at a tight host may be
_FULL = 0.9  # of a host's room is planned with; the rest is for second looks and retries


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the operator asks for and allows, in looks per day."""

    budget: float | None = None
    objectives: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # risk: hours, share


def review(sample: Sample, published: Published, terms: Terms) -> Published:
    """What is published next: prior, what objectives take, price."""
    if not len(sample.risk):
        return replace(published, price=_start(published, terms))
    prior = fitted(sample.beliefs.take(sample.around.pull == 0), published.prior)
    sample = Sample(
        sample.beliefs,
        replace(sample.around, published=replace(published, prior=prior)),
        sample.risk,
        sample.each,
    )
    packed = tiers(sample, terms.objectives, terms.budget)
    price = FREE_PRICE
    if terms.budget is not None:
        left = terms.budget - sum(one.looks for one in packed.values())
        price = max(FREE_PRICE, price_for(sample, max(left, 1e-9), packed))
    return replace(promised(published, packed), prior=prior, price=price)


def dearness(sample: Sample, host: NDArray[np.int64], room: Mapping[int, float]) -> dict[int, float]:
    """How many times the price a look costs at the hosts that are asked for more than their room."""
    value, least = values(sample.beliefs, sample.around)[0], least_hours(sample.risk, sample.around)
    price = sample.around.published.price

    def asked(rows: NDArray[np.int64], times: float) -> float:
        gap = np.clip(crossing(value[rows], price * times), least[rows], MOST_HOURS)
        return float((24.0 / gap).sum()) * sample.each

    every = np.bincount(host, 24.0 / np.clip(crossing(value, price), least, MOST_HOURS)) * sample.each
    dear = {}
    for number, most in room.items():
        if number < len(every) and every[number] > _FULL * most:
            rows = np.flatnonzero(host == number)
            looks = np.array([asked(rows, times) for times in _TIMES])
            dear[number] = float(np.exp(np.interp(-_FULL * most, -looks, np.log(_TIMES))))
    return dear


def _start(published: Published, terms: Terms) -> float:
    return FREE_PRICE if terms.budget is None else published.price
