"""All that the policy knows: targets, hosts, hubs, and what they taught together.  No decision is made here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import NEW_MARK, Around, Beliefs
from vedette.core.schedule.learned.calibration import Calibration
from vedette.core.schedule.learned.hosts import Hosts
from vedette.core.schedule.learned.learn import Lesson, Looks, learn
from vedette.core.schedule.learned.listing import FALSE, MISSED, NAMED, ROOM, Hubs, Told, mark, share
from vedette.core.schedule.learned.order import Order
from vedette.core.schedule.learned.settings import BURST_HOURS, BURST_START, BURST_TRUST, WEIGHT, Published
from vedette.core.schedule.learned.table import Table

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


class Memory:
    def __init__(self) -> None:
        self.table = Table()
        self.order = Order()
        self.hosts = Hosts()
        self.hubs = Hubs()
        self.published = Published()
        self.calibration = Calibration()
        start = [1.0, *[BURST_START] * len(BURST_HOURS)]
        self.bursts = np.array([start, np.ones(len(start))]) * BURST_TRUST  # seen, and what they could follow

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

    def around(self, rows: Rows, t: float) -> Around:
        """What the beliefs of these rows are read with at `t`."""
        table, n = self.table, len(rows)
        listed, every, recall, pull = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n), np.zeros(n)
        if len(self.hubs.ids):
            hub = table["hub"][rows].astype(np.int64)
            c = self.hubs.columns
            has = np.flatnonzero((hub >= 0) & np.isfinite(c["listed_at"][hub]))
            of = hub[has]
            listed[has] = c["listed_at"][of]
            every[has] = np.maximum(c["every"][of], t - listed[has])
            recall[has] = self.hosts.quality.recall(c["host"][of])
            pull = self.hubs.pull_of(rows, t)
        return Around(
            self.published, self.hosts.clocks, table["host"][rows].astype(np.int64), WEIGHT[table["risk"][rows]],
            listed, every, recall, pull,
        )  # fmt: skip

    def observe(self, rows: Rows, looks: Looks) -> None:
        """Good looks: beliefs, clocks, bursts and the listings' quality move."""
        b, around = self.table.beliefs(rows), self.around(rows, float(looks.at.max()))
        old = b.mark < NEW_MARK
        dates = self.hosts.believed(around.host, (looks.changed & old, b.last, looks.at, looks.modified))
        dates = np.where(old, dates, looks.modified)
        after, lesson = learn(b, around, Looks(looks.at, looks.changed, dates))
        self._check_listings(self.table["hub"][rows], (b, around), looks, lesson)
        self.table.believe(rows, after)
        hit = np.flatnonzero(lesson.taught & looks.changed)
        self.hosts.clocks.learn(around.host[hit], lesson.start, lesson.end)
        self.calibration.learn(lesson.predicted, looks.changed[lesson.taught])
        self.bursts += (lesson.burst_seen, lesson.burst_room)
        own, *bursts = (self.bursts[0] / self.bursts[1]).tolist()
        self.published = replace(self.published, own=own, bursts=tuple(bursts))

    def tell(self, rows: Rows, hub: int, told: tuple[float, bool, Floats]) -> None:
        """A source names these rows: (time, is it complete, dates or NaN)."""
        t, complete, modified = told
        c, quality = self.hubs.columns, self.hosts.quality
        before = self.hubs.listed(hub, t) if complete else float(c["listed_at"][hub])
        host = int(c["host"][hub])
        if complete and np.isfinite(before):
            quality.counts[host, ROOM] += c["leaves"][hub] * (t - before)
        if len(rows):
            what = Told(t, before, float(quality.recall(host)), float(quality.false(host)))
            marks, lag = mark(self.table.beliefs(rows), self.around(rows, t), what, modified)
            self.table["mark"][rows] = marks
            self.table["mark_lag"][rows] = lag

    def pull(self, rows: Rows, b: Beliefs, around: Around) -> None:
        """What these leaves add to the pull of their hubs, at today's beliefs and price."""
        has = np.flatnonzero(around.recall > 0)
        if len(has):
            hub = self.table["hub"][rows[has]]
            false = self.hosts.quality.false(self.hubs.columns["host"][hub])
            new = share(b.take(has), around.take(has), false).astype(np.float16)
            change = new.astype(np.float64) - self.table["share"][rows[has]]
            np.add.at(self.hubs.columns["pull"], hub, change)
            self.table["share"][rows[has]] = new

    def _check_listings(self, hub: Rows, known: tuple[Beliefs, Around], looks: Looks, lesson: Lesson) -> None:
        """Was the mark true, was the change named?  A change that nobody named counts as far as it was covered."""
        rows = np.flatnonzero(lesson.taught & (known[1].recall > 0))
        if not len(rows):
            return
        b, around, changed = known[0].take(rows), known[1].take(rows), looks.changed[rows]
        hours = around.clocks.hours
        whole = hours(around.host, b.last, looks.at[rows])
        covered = hours(around.host, b.last, np.maximum(around.listed_at, b.last))
        unnamed = (1.0 - around.recall) * covered
        missed = unnamed / np.maximum(unnamed + whole - covered, 1e-9)
        is_marked = b.mark > 0
        counts, of = self.hosts.quality.counts, self.hubs.columns["host"][hub[rows]]
        np.add.at(counts[:, NAMED], of, (is_marked & changed).astype(np.float64))
        np.add.at(counts[:, MISSED], of, np.where(~is_marked & changed, missed, 0.0))
        np.add.at(counts[:, FALSE], of, (is_marked & ~changed).astype(np.float64))
