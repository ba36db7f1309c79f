"""All that the policy knows: targets, hosts, hubs, and what they taught together.  No decision is made here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import NEW_MARK, BeliefContext, Beliefs
from vedette.core.schedule.learned.learn import Looks, learn
from vedette.core.schedule.learned.listing import Told, mark, share
from vedette.core.schedule.learned.order import Order
from vedette.core.schedule.learned.settings import WEIGHT
from vedette.core.schedule.learned.shared import Shared, Where
from vedette.core.schedule.learned.table import Table

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


class Memory(Shared):
    def __init__(self) -> None:
        super().__init__()
        self.table = Table()
        self.order = Order()

    def find(self, ids: Rows) -> Rows:
        return self.order.find(ids, self.table["id"])

    def add(self, ids: Rows, now: float) -> Rows:
        """Rows of the ids, new ones among them."""
        rows = self.find(ids)
        fresh = np.flatnonzero(rows < 0)
        if len(fresh):
            new = ids[fresh[np.sort(np.unique(ids[fresh], return_index=True)[1])]]
            self.order.add(new, self.table.add(new, now), self.table["id"])
            rows = self.find(ids)
        return rows

    def adopt(self, rows: Rows, parents: Rows, born: NDArray[np.bool_]) -> None:
        """Put targets under their hubs.  Targets that a hub's listing brought count as births of that hub."""
        has = np.flatnonzero(parents >= 0)
        if not len(has):
            return
        hubs = self.hubs
        numbers = hubs.numbers(parents[has].tolist())
        was = self.table["hub"][rows[has]]
        moved = was != numbers
        np.add.at(hubs.columns["leaves"], numbers[moved], 1.0)
        left = moved & (was >= 0)
        np.add.at(hubs.columns["leaves"], was[left], -1.0)
        np.add.at(hubs.columns["pull"], was[left], -self.table["share"][rows[has][left]].astype(np.float64))
        self.table["share"][rows[has][left]] = 0.0
        self.table["hub"][rows[has]] = numbers
        new = born[has] & np.isfinite(hubs.columns["since"][numbers])
        np.add.at(hubs.columns["births"], numbers[new], WEIGHT[self.table["risk"][rows[has][new]]])
        self.table["mark_lag"][rows[has][new]] = -hubs.columns["every"][numbers[new]] / 2

    def link_hubs(self, ids: Rows) -> None:
        """Hubs among these ids, or named by them, get their row and host."""
        names = [one for one in ids.tolist() if one in self.hubs.ids]
        rows = self.find(np.array(names, np.int64)) if names else np.empty(0, np.int64)
        for name, row in zip(names, rows.tolist(), strict=True):
            if row >= 0:
                self.hubs.link(self.hubs.ids[name], row, int(self.table["host"][row]))

    def around(self, rows: Rows, t: float) -> BeliefContext:
        """What the beliefs of these rows are read with at `t`."""
        table = self.table
        none = np.full(len(rows), -1)
        has = len(self.hubs.ids) > 0
        where = Where(
            host=table["host"][rows].astype(np.int64),
            risk=table["risk"][rows].astype(np.int64),
            hub=table["hub"][rows].astype(np.int64) if has else none,
            own=self.hubs.of_rows(rows) if has else none,
        )
        return self.around_of(where, t)

    def observe(self, rows: Rows, looks: Looks) -> None:
        """Good looks: beliefs, clocks, bursts and the listings' quality move."""
        b, around = self.table.beliefs(rows), self.around(rows, float(looks.at.max()))
        old = b.mark < NEW_MARK
        dates = self.hosts.believed(around.host, (looks.changed & old, b.last, looks.at, looks.modified))
        dates = np.where(old, dates, looks.modified)
        after, lesson = learn(b, around, Looks(looks.at, looks.changed, dates))
        counted = self.taught(self.table["hub"][rows], (b, around), looks, lesson)
        self.table.believe(rows, after)
        self.hosts.clocks.set(counted)
        self.publish_bursts()

    def tell(self, rows: Rows, hub: int, told: tuple[float, bool, Floats]) -> None:
        """A source names these rows: (time, is it complete, dates or NaN)."""
        t, complete, modified = told
        c, quality = self.hubs.columns, self.hosts.quality
        before = self.listed(hub, t) if complete else float(c["listed_at"][hub])
        host = int(c["host"][hub])
        if len(rows):
            what = Told(t, before, float(quality.recall(host)), float(quality.false(host)))
            marks, lag = mark(self.table.beliefs(rows), self.around(rows, t), what, modified)
            self.table["mark"][rows] = marks
            self.table["mark_lag"][rows] = lag

    def pull(self, rows: Rows, b: Beliefs, around: BeliefContext) -> None:
        """What these leaves add to the pull of their hubs, at today's beliefs and price."""
        has = np.flatnonzero(around.recall > 0)
        if len(has):
            hub = self.table["hub"][rows[has]]
            false = self.hosts.quality.false(self.hubs.columns["host"][hub])
            new = share(b.take(has), around.take(has), false).astype(np.float16)
            change = new.astype(np.float64) - self.table["share"][rows[has]]
            np.add.at(self.hubs.columns["pull"], hub, change)
            self.table["share"][rows[has]] = new
