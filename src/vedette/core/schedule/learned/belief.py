"""What is believed about targets: arrays, one entry per target.  28 bytes each in a watch row (row.py).

The rate of a target is Gamma(events + prior shape, hours + prior hours) per clock hour.  Beside it stand the
chance that the target never sleeps, and the chance that it sleeps now: many pages are edited for some weeks and
then left alone, and counting the quiet weeks as evidence of a low rate would be slow to believe both.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.settings import Published

Floats = NDArray[np.float64]
NEW_MARK = 1.0  # the mark of a target that was never looked at: what we hold is stale for certain


@dataclass(slots=True)
class Beliefs:
    events: Floats  # changes that the rate explains (a change that followed a change counts in part)
    hours: Floats  # clock hours under watch while awake
    steady: Floats  # chance that it never sleeps
    asleep: Floats  # chance that it sleeps now
    last: Floats  # time of the last good look; of a new target the time that it was added
    lag: Floats  # hours from the last known change to the last look; inf: none known
    mark: Floats  # chance that a listing told true of a change after the last look; NEW_MARK: never looked at
    mark_lag: Floats  # hours from the last look to that change, as far as one can tell

    def take(self, where: Any) -> Beliefs:
        return Beliefs(*(getattr(self, field.name)[where] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.last)


@dataclass(slots=True)
class BeliefContext:
    """What a belief is read with: the host's clock, the hub's listing, and what all targets taught."""

    published: Published
    clocks: Clocks
    host: NDArray[Any]
    weight: Floats
    listed_at: Floats  # last complete listing by the hub of the target; -inf: none
    listed_every: Floats  # hours between these listings
    recall: Floats  # share of changes that the listing names
    pull: Floats  # of a hub: weighted changes per hour that a look at its listing would tell of
    dear: Floats  # how many times the price a look costs there: more where the room of a host is short
    lively: Floats  # how many times as likely as elsewhere a target of its host is to change at all

    @property
    def prior(self) -> tuple[Floats, float]:
        """Shape and hours of the Gamma that stands for a target before anything was seen of it."""
        shape, hours = self.published.prior
        return shape * self.lively, hours

    @property
    def price(self) -> Floats:
        price: Floats = self.published.price * self.dear
        return price

    def take(self, where: Any) -> BeliefContext:
        return BeliefContext(
            self.published, self.clocks, self.host[where], self.weight[where],
            self.listed_at[where], self.listed_every[where], self.recall[where], self.pull[where], self.dear[where],
            self.lively[where],
        )  # fmt: skip
