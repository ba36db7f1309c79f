"""What targets teach together: hosts, hubs, bursts, and how far predictions hold.  No decision is made here."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.belief import BeliefContext, Beliefs
from vedette.core.schedule.learned.calibration import Calibration
from vedette.core.schedule.learned.hosts import Hosts
from vedette.core.schedule.learned.learn import Lesson, Looks
from vedette.core.schedule.learned.listing import FALSE, MISSED, NAMED, ROOM, Hubs
from vedette.core.schedule.learned.lively import spread
from vedette.core.schedule.learned.settings import BURST_HOURS, BURST_START, BURST_TRUST, WEIGHT, Published

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(slots=True)
class Where:
    """Where targets stand, one entry each."""

    host: Rows
    risk: Rows
    hub: Rows  # number of the hub that lists the target; -1: none
    own: Rows  # number of the hub that the target itself is; -1: it is none


class Shared:
    def __init__(self) -> None:
        self.hosts = Hosts()
        self.hubs = Hubs()
        self.published = Published()
        self.calibration = Calibration()
        start = [1.0, *[BURST_START] * len(BURST_HOURS)]
        self.bursts = np.array([start, np.ones(len(start))]) * BURST_TRUST  # seen, and what they could follow

    def around_of(self, where: Where, t: float) -> BeliefContext:
        """What the beliefs of these targets are read with at `t`."""
        n = len(where.host)
        listed, every, recall, pull = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n), np.zeros(n)
        if len(self.hubs.ids):
            c, hub = self.hubs.columns, where.hub
            has = np.flatnonzero((hub >= 0) & np.isfinite(c["listed_at"][hub]))
            of = hub[has]
            listed[has] = c["listed_at"][of]
            every[has] = np.maximum(c["every"][of], t - listed[has])
            recall[has] = self.hosts.quality.recall(c["host"][of])
            pull = np.where(where.own >= 0, self.hubs.pull(np.maximum(where.own, 0), t), 0.0)
        return BeliefContext(
            self.published, self.hosts.clocks, where.host, WEIGHT[where.risk], listed, every, recall, pull,
            self.hosts.dear[where.host], self.hosts.lively.times(where.host, self.published.hosts),
        )  # fmt: skip

    def taught(
        self, hub: Rows, known: tuple[Beliefs, BeliefContext], looks: Looks, lesson: Lesson
    ) -> NDArray[np.int64]:
        """What the looks say beyond their targets.  Gives the hosts whose clocks have counted changes."""
        self._check_listings(hub, known, looks, lesson)
        hit = np.flatnonzero(lesson.taught & looks.changed)
        counted = self.hosts.clocks.count(known[1].host[hit], lesson.start, lesson.end)
        self.hosts.lively.learn(known[1].host, lesson.first_seen, lesson.first_room)
        self.calibration.learn(lesson.predicted, looks.changed[lesson.taught])
        self.bursts += (lesson.burst_seen, lesson.burst_room)
        return counted

    def publish_bursts(self) -> None:
        own, *bursts = (self.bursts[0] / self.bursts[1]).tolist()
        self.published = replace(self.published, own=own, bursts=tuple(bursts))

    def lively(self, host: int) -> float:
        """How many times as likely as elsewhere a target of this host is to change at all."""
        return float(self.hosts.lively.times(np.array([host]), self.published.hosts)[0])

    def publish_hosts(self, hosts: Rows) -> None:
        """How far hosts differ, by these of them."""
        counts = self.hosts.lively.counts[np.unique(hosts)]
        self.published = replace(self.published, hosts=spread(counts))

    def listed(self, hub: int, t: float) -> float:
        """A listing that says what changed was read at `t`; gives the time of the one before (-inf: none)."""
        c = self.hubs.columns
        before = self.hubs.listed(hub, t)
        if np.isfinite(before):
            self.hosts.quality.counts[int(c["host"][hub]), ROOM] += c["leaves"][hub] * (t - before)
        return before

    def _check_listings(
        self, hub: Rows, known: tuple[Beliefs, BeliefContext], looks: Looks, lesson: Lesson
    ) -> None:
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
