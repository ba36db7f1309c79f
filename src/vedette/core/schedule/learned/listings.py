"""What hubs, sitemaps and feeds tell, how far it may be believed, and which named targets are now worth a look.

Per host of the source two numbers are learned: its recall (the share of changes that it names) and how often it
names a target that did not change.  That a named target has changed is as likely as

    recall * rate * clock   :   false names per hour * hours,

so the same listing is strong evidence about a busy page and weak evidence about one that never changed.
The value of a hub is what looking at it would tell: the weighted rate of changes that it names, each leaf counting
only as far as its change, told by the hub, costs less to see than by looking at the leaf itself.  When looks cost much
that is less and less, so a short budget is not spent on hubs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.words import Reason
from vedette.core.schedule.learned.beliefs import (
    NEVER_LOOKED,
    BeliefContext,
    Beliefs,
    Surroundings,
    context_of,
    pack_beliefs,
    unpack_beliefs,
    unpack_contributions,
)
from vedette.core.schedule.learned.settings import Published
from vedette.core.schedule.learned.value import age_at_value, least_hours, rate_ahead, value_now
from vedette.core.schedule.protocol import from_hours

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]
NAMED, MISSED, FALSE, ROOM = range(4)  # what is counted per host: changes, false names, target hours
QUALITY = (2.0, 2.0, 0.5, 500.0)  # of each, before anything was seen
_BIRTHS = (0.3, 168.0)  # new targets, weighted, in so many hours of a hub
_EVERY_TRUST = 0.2  # weight of the newest gap between two listings
_FIRST_EVERY = 24.0
MOST_SURE = 0.99  # a name is never certain; certainty is kept for targets that were never looked at
_HOUR = timedelta(hours=1)
_LATER = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # hours after a listing at which a look is weighed


class Quality:
    """Recall and false names per host of the source."""

    def __init__(self) -> None:
        self.counts = np.zeros((0, 4))

    def grow(self, hosts: int) -> None:
        more = hosts - len(self.counts)
        if more > 0:
            self.counts = np.concatenate([self.counts, np.tile(QUALITY, (more, 1))])

    def recall(self, host: Any) -> Floats:
        found: Floats = self.counts[host, NAMED] / (self.counts[host, NAMED] + self.counts[host, MISSED])
        return found

    def false(self, host: Any) -> Floats:
        """Times that a target is named without a change, per target and hour."""
        found: Floats = self.counts[host, FALSE] / self.counts[host, ROOM]
        return found


HUB_KINDS: dict[str, Any] = {
    "host": np.int64, "leaves": np.float64, "listed_at": np.float64, "every": np.float64,
    "value": np.float64, "births": np.float64, "since": np.float64,
}  # fmt: skip


class Hubs:
    """Sources of listings, numbered from 0 as they appear.  `value`: the sum of what the leaves contribute."""

    def __init__(self) -> None:
        self.columns: dict[str, NDArray[Any]] = {key: np.empty(0, kind) for key, kind in HUB_KINDS.items()}
        self.ids: dict[Hashable, int] = {}

    def numbers(self, ids: Iterable[Hashable]) -> Rows:
        """The number of each source; new ones are taken in."""
        asked = list(ids)
        fresh = [one for one in dict.fromkeys(asked) if one not in self.ids]
        if fresh:
            start = {"host": -1, "listed_at": -np.inf, "every": _FIRST_EVERY, "since": np.inf}
            for one in fresh:
                self.ids[one] = len(self.ids)
            for key, kind in HUB_KINDS.items():
                tail = np.full(len(fresh), start.get(key, 0), kind)
                self.columns[key] = np.concatenate([self.columns[key], tail])
        return np.array([self.ids[one] for one in asked], np.int64)

    def number(self, one: Hashable | None) -> int:
        """The number of a hub; -1: it is none."""
        return -1 if one is None else self.ids.get(one, -1)

    def restore(self, ids: Sequence[Hashable], columns: dict[str, NDArray[Any]]) -> None:
        self.ids = {one: number for number, one in enumerate(ids)}
        self.columns = columns

    def listed(self, hub: int, t: float) -> float:
        """A complete listing at `t`; gives the time of the one before (-inf: none)."""
        c = self.columns
        before = min(float(c["listed_at"][hub]), t)  # a clock that stood ahead may have read the one before
        if np.isfinite(before):
            c["every"][hub] += _EVERY_TRUST * (t - before - c["every"][hub])
        else:
            c["since"][hub] = t
        c["listed_at"][hub] = t
        return before

    def value(self, hub: Any, t: Any) -> Floats:
        """Weighted changes per hour that a look would tell of, new targets among them."""
        c = self.columns
        watched = np.maximum(t - c["since"][hub], 0.0)
        born = (c["births"][hub] + _BIRTHS[0]) / (watched + _BIRTHS[1])
        return np.where(np.isfinite(c["since"][hub]), np.maximum(c["value"][hub], 0.0) + born, 0.0)


@dataclass(frozen=True, slots=True)
class ListingReport:
    """A listing that named targets: at `t`, the one before at `before`, of a host with this quality."""

    t: float
    before: float
    recall: float
    false: float


def listed_change(
    b: Beliefs, context: BeliefContext, report: ListingReport, stated: Floats
) -> tuple[Floats, Floats]:
    """How likely the named targets have changed, and hours from their last look to the change."""
    begin = np.maximum(b.last, report.before)
    rate = rate_ahead(b, context)
    here = np.maximum(context.clocks.hours(context.host, begin, np.full(len(b), report.t)), 0.0)
    fresh = report.recall * rate * here
    is_first = not np.isfinite(report.before)
    known = 0.0 if is_first else np.maximum(b.last - report.before, 0.0) * report.recall * rate
    span = report.t - (b.last if is_first else report.before)
    true = fresh / (fresh + known + report.false * np.maximum(span, 1e-3) + 1e-12)
    dated = np.isfinite(stated) & (stated <= report.t)
    true = np.where(dated & (stated <= b.last), 0.0, true)
    when = np.where(dated, np.maximum(stated - b.last, 0.0), (begin + report.t) / 2 - b.last)
    both = np.minimum(1.0 - (1.0 - b.listed_change_p) * (1.0 - true), MOST_SURE)
    is_new = b.listed_change_p >= NEVER_LOOKED
    lag = np.where(b.listed_change_p > 0, np.minimum(b.listed_change_lag, when), when)
    return np.where(is_new, b.listed_change_p, both), np.where(is_new, b.listed_change_lag, lag)


def hub_contribution(b: Beliefs, context: BeliefContext, false: Floats) -> Floats:
    """What each leaf adds to the value of its hub.

    Seen by its own looks, a change costs weight * T (half in delay, half in looks), T the hours between looks.
    Told by the hub it costs one look for each time that it is named, truly or falsely.
    """
    rate = rate_ahead(b, context)
    named = context.recall * rate
    price = context.price
    alone = context.weight * age_at_value(price / context.weight, rate)
    told_cost = price * (named + false) / np.maximum(named, 1e-12)
    gain = np.clip(1.0 - told_cost / alone, 0.0, 1.0)
    return context.weight * named * gain


# Named targets: which of them are now worth a look


@dataclass(slots=True)
class WeighedNames:
    """Named targets, one entry each."""

    beliefs: Beliefs  # with what the listing said
    due: Floats  # when a look is worth its price, at the earliest by the floor of its risk; inf: not soon
    value: Floats  # of a look then


def weigh(
    b: Beliefs, context: BeliefContext, risk: NDArray[np.int8], said: tuple[ListingReport, Floats]
) -> WeighedNames:
    """`said`: the report, and when it says that each target changed (NaN: it does not)."""
    report, stated = said
    chance, lag = listed_change(b, context, report, stated)
    named = Beliefs(b.events, b.hours, b.steady, b.asleep, b.last, b.lag, chance, lag)
    worth, value = np.full(len(b), np.inf), np.zeros(len(b))
    for later in _LATER:
        left = np.flatnonzero(np.isinf(worth) & (chance > 0))
        if not len(left):
            break
        then, _ = value_now(named.take(left), context.take(left), report.t + later)
        hit = then >= context.price[left]
        worth[left[hit]], value[left[hit]] = report.t + later, then[hit]
    free = b.last + least_hours(risk, context)
    return WeighedNames(named, np.maximum(worth, free), value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A target that a listing named, with all that follows from it."""

    belief: bytes  # before
    place: Surroundings
    stated: float  # hours: when the listing says it changed; NaN: no more than the day of our last look
    heard_at: datetime
    due_at: datetime  # before
    by: str  # the listing


@dataclass(frozen=True, slots=True)
class Moved:
    belief: bytes  # with what the listing said
    due_at: datetime | None  # None: a look is not worth its price yet; never later than it was due
    reasons: tuple[Reason, ...]  # their points add up to the hours from the last look to the next


def name(named: Sequence[Named], report: ListingReport, published: Published) -> list[Moved]:
    """What is now believed of the named targets, and when those that are worth a look are due."""
    packed = [one.belief for one in named]
    context = context_of([one.place for one in named], published)
    risk = np.array([one.place.risk for one in named], np.int8)
    stated = np.array([one.stated for one in named])
    weighed = weigh(unpack_beliefs(packed), context, risk, (report, stated))
    beliefs = pack_beliefs(weighed.beliefs, unpack_contributions(packed))
    price = context.price
    return [_moved(one, beliefs[n], weighed, (n, float(price[n]))) for n, one in enumerate(named)]


def stated_hours(stated: float, is_day: bool, last: float) -> float:
    """When the listing says it changed; NaN: it names a day, and we looked on that day."""
    return math.nan if is_day and stated <= last < stated + 24.0 else stated


def _moved(one: Named, belief: bytes, weighed: WeighedNames, place: tuple[int, float]) -> Moved:
    n, price = place
    if not math.isfinite(weighed.due[n]):
        return Moved(belief, None, ())
    last = from_hours(float(weighed.beliefs.last[n]))
    due_at = min(one.due_at, max(one.heard_at, from_hours(float(weighed.due[n]))))
    note = (
        f"{one.by} named it, {weighed.beliefs.listed_change_p[n]:.0%} likely true; "
        f"a look is worth {weighed.value[n]:.3g} and costs {price:.3g}"
    )
    reasons = (
        Reason("planned", (one.due_at - last) / _HOUR, "hours after the last look, as it was planned"),
        Reason("mark", (due_at - one.due_at) / _HOUR, note),
    )
    return Moved(belief, due_at, reasons)
