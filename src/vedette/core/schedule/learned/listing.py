"""What hubs, sitemaps and feeds tell, and how far it may be believed.

Per host of the source two numbers are learned: its recall (the share of changes that it names) and how often it
names a target that did not change.  A mark on a target is as likely true as

    recall * rate * clock   :   false marks per hour * hours,

so the same listing is strong evidence about a busy page and weak evidence about one that never changed.
The pull of a hub is what looking at it would tell: the weighted rate of changes that it names, each leaf counting
only as far as its change, told by the hub, is cheaper to see than by looking at the leaf itself.  When looks are dear
that is less and less, so a short budget is not spent on hubs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import BeliefContext, Beliefs
from vedette.core.schedule.learned.worth import age_at_value, rate_ahead

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
NAMED, MISSED, FALSE, ROOM = range(4)  # what is counted per host: changes, marks, target hours
_RECALL = (2.0, 2.0)  # named and not named, before anything was seen
_FALSE = (0.5, 500.0)  # false marks in so many target hours
_BIRTHS = (0.3, 168.0)  # new targets, weighted, in so many hours of a hub
_EVERY_TRUST = 0.2  # weight of the newest gap between two listings
_FIRST_EVERY = 24.0
MOST_SURE = 0.99  # a mark is never certain; certainty is kept for targets that were never looked at


class Quality:
    """Recall and false marks per host of the source."""

    def __init__(self) -> None:
        self.counts = np.zeros((0, 4))

    def grow(self, hosts: int) -> None:
        more = hosts - len(self.counts)
        if more > 0:
            self.counts = np.concatenate([self.counts, np.tile([*_RECALL, *_FALSE], (more, 1))])

    def recall(self, host: Any) -> Floats:
        found: Floats = self.counts[host, NAMED] / (self.counts[host, NAMED] + self.counts[host, MISSED])
        return found

    def false(self, host: Any) -> Floats:
        """False marks per target and hour."""
        found: Floats = self.counts[host, FALSE] / self.counts[host, ROOM]
        return found


HUB_KINDS: dict[str, Any] = {
    "row": np.int64, "host": np.int64, "leaves": np.float64, "listed_at": np.float64, "every": np.float64,
    "pull": np.float64, "births": np.float64, "since": np.float64,
}  # fmt: skip


class Hubs:
    """One entry per source of listings."""

    def __init__(self) -> None:
        self.columns: dict[str, NDArray[Any]] = {key: np.empty(0, kind) for key, kind in HUB_KINDS.items()}
        self.ids: dict[int, int] = {}
        self.of_row: dict[int, int] = {}

    def numbers(self, ids: list[int]) -> Rows:
        """The number of each source; new ones are taken in."""
        fresh = [one for one in dict.fromkeys(ids) if one not in self.ids]
        if fresh:
            start = {"row": -1, "host": -1, "listed_at": -np.inf, "every": _FIRST_EVERY, "since": np.inf}
            for one in fresh:
                self.ids[one] = len(self.ids)
            for key, kind in HUB_KINDS.items():
                tail = np.full(len(fresh), start.get(key, 0), kind)
                self.columns[key] = np.concatenate([self.columns[key], tail])
        return np.array([self.ids[one] for one in ids], np.int64)

    def link(self, hub: int, row: int, host: int) -> None:
        """The source is itself a target."""
        self.of_row[row] = hub
        self.columns["row"][hub] = row
        self.columns["host"][hub] = host

    def of_rows(self, rows: Rows) -> Rows:
        """The number of rows that are hubs, -1 for all others."""
        return np.array([self.of_row.get(row, -1) for row in rows.tolist()], np.int64)

    def restore(self, ids: list[int], columns: dict[str, NDArray[Any]]) -> None:
        self.ids = {one: number for number, one in enumerate(ids)}
        self.columns = columns
        self.of_row = {row: number for number, row in enumerate(columns["row"].tolist()) if row >= 0}

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

    def pull(self, hub: Any, t: float) -> Floats:
        """Weighted changes per hour that a look would tell of, new targets among them."""
        c = self.columns
        watched = np.maximum(t - c["since"][hub], 0.0)
        born = (c["births"][hub] + _BIRTHS[0]) / (watched + _BIRTHS[1])
        return np.where(np.isfinite(c["since"][hub]), np.maximum(c["pull"][hub], 0.0) + born, 0.0)


@dataclass(slots=True)
class Told:
    """A listing that named targets: at `t`, the one before at `before`, of a host with this quality."""

    t: float
    before: float
    recall: float
    false: float


def mark(b: Beliefs, around: BeliefContext, told: Told, modified: Floats) -> tuple[Floats, Floats]:
    """Marks of the named targets and hours from their last look to the change."""
    begin = np.maximum(b.last, told.before)
    rate = rate_ahead(b, around)
    fresh = (
        told.recall * rate * np.maximum(around.clocks.hours(around.host, begin, np.full(len(b), told.t)), 0.0)
    )
    known = (
        np.where(np.isfinite(told.before), np.maximum(b.last - told.before, 0.0), 0.0) * told.recall * rate
    )
    span = told.t - (told.before if np.isfinite(told.before) else b.last)
    true = fresh / (fresh + known + told.false * np.maximum(span, 1e-3) + 1e-12)
    dated = np.isfinite(modified) & (modified <= told.t)
    true = np.where(dated & (modified <= b.last), 0.0, true)
    when = np.where(dated, np.maximum(modified - b.last, 0.0), (begin + told.t) / 2 - b.last)
    both = np.minimum(1.0 - (1.0 - b.mark) * (1.0 - true), MOST_SURE)
    is_new = b.mark >= 1.0
    lag = np.where(b.mark > 0, np.minimum(b.mark_lag, when), when)
    return np.where(is_new, b.mark, both), np.where(is_new, b.mark_lag, lag)


def share(b: Beliefs, around: BeliefContext, false: Floats) -> Floats:
    """What each leaf adds to the pull of its hub.

    Seen by its own looks, a change costs weight * T (half in delay, half in looks), T the hours between looks.
    Told by the hub it costs one look for each true mark and for the false ones beside it.
    """
    rate = rate_ahead(b, around)
    named = around.recall * rate
    price = around.price
    alone = around.weight * age_at_value(price / around.weight, rate)
    told_cost = price * (named + false) / np.maximum(named, 1e-12)
    gain = np.clip(1.0 - told_cost / alone, 0.0, 1.0)
    return around.weight * named * gain
