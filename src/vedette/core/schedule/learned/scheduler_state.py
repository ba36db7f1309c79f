"""The scheduler as a state machine: what targets teach together, what is published, and when to plan anew.

One step takes a group of looks and gives beliefs, waits and what is now known of hosts and hubs.  The engine loads and
saves these as rows (engine/settle/scheduler.py); `LearnedPolicy` (policy.py) keeps them in memory.  Time comes in as an
argument and nothing is drawn, so the same looks give the same decisions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.words import Risk
from vedette.core.limits.budget import daily
from vedette.core.schedule.learned.beliefs import (
    BeliefContext,
    Beliefs,
    HubListing,
    Surroundings,
    pack_clock,
    pack_published,
    unpack_published,
)
from vedette.core.schedule.learned.clock import COMMON_LEAST
from vedette.core.schedule.learned.decide import Advanced, LookGroup, contributions, planned_hours
from vedette.core.schedule.learned.hosts import DOWN, FRESH, Hosts, spread
from vedette.core.schedule.learned.learn import Calibration, CommonLesson, GoodLooks
from vedette.core.schedule.learned.listings import FALSE, MISSED, NAMED, ROOM, Hubs, ListingReport
from vedette.core.schedule.learned.objectives import Objectives
from vedette.core.schedule.learned.review import ReviewTerms, Sample, price_factors, review
from vedette.core.schedule.learned.settings import BURST_HOURS, BURST_START, BURST_TRUST, WEIGHT, Published

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
REVIEW_HOURS = 6.0  # between two reviews of price, prior and objectives,
EARLY_REVIEW_HOURS = 1.0  # and in the first days, when beliefs move fast
FIRST_HOURS = 72.0
SAMPLE = 2048  # targets that a review or a forecast is worked out from
WELL_SAMPLED = 20  # targets of a host in a sample before it says how crowded the host is
GROWN = 4  # times as many targets: the price is worked out before its time
REPLAN = 128  # targets planned anew with every group, while the price has moved
REPLAN_AFTER = 0.1  # of the price
_HOUR = timedelta(hours=1)
_STEADY_LOOKS = 50.0  # before the share of looks beside the schedule is believed
_MOST_SPARE = (
    1.25  # times the budget that is asked for at most: what does not start queues, and queues are late
)


@dataclass(slots=True)
class SchedulerCounters:
    """Sums of the scheduler itself.  They are stored by these names."""

    reviewed_at: float = -math.inf
    started_at: float = math.inf
    watched: int = 0  # scheduled watches at the last review,
    found: int = 0  # and those that came in since
    looks: int = 0  # all looks, and
    planned: int = 0  # those that the schedule asked for: no retries, no second looks
    replan: int | None = None  # ids up to here are planned at the newest price; None: all are
    sampled: int = 0  # where the last sample ended
    looked: int = 0  # looks up to the last review
    spare: float = 1.0  # how many times the budget is asked for, because less than it was spent


@dataclass(slots=True)
class Where:
    """Where targets stand, one entry each, by number."""

    host: Rows
    risk: Rows
    hub: Rows  # that lists the target; -1: none
    own: Rows  # the hub that the target itself is; -1: it is none


@dataclass(frozen=True, slots=True)
class PlannedAnew:
    """One entry for each target."""

    contribution: Floats  # to the value of its hub
    by_price: Floats  # hours from the last look to the next one,
    by_objective: Floats  # and by what an objective asks for; inf: none does


class SchedulerState:
    """Hosts and hubs by number.  `touched_*` are those whose rows have changed since somebody saved them."""

    def __init__(self) -> None:
        self.hosts = Hosts()
        self.hubs = Hubs()
        self.published = Published()
        self.calibration = Calibration()
        self.counters = SchedulerCounters()
        self.has_common_clock = False
        start = [1.0, *[BURST_START] * len(BURST_HOURS)]
        self.bursts = np.array([start, np.ones(len(start))]) * BURST_TRUST  # seen, and what they could follow
        self.touched_hosts: set[int] = set()
        self.touched_hubs: set[int] = set()

    # What beliefs are read with

    def context(self, where: Where, t: Any) -> BeliefContext:
        """What the beliefs of these targets are read with at `t`, one time for all or one each."""
        n = len(where.host)
        listed, every, recall, value = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n), np.zeros(n)
        if len(self.hubs.ids):
            c, hub, at = self.hubs.columns, where.hub, np.broadcast_to(t, (n,))
            has = np.flatnonzero((hub >= 0) & np.isfinite(c["listed_at"][hub]))
            of = hub[has]
            listed[has] = c["listed_at"][of]
            every[has] = np.maximum(c["every"][of], at[has] - listed[has])
            recall[has] = self.hosts.quality.recall(c["host"][of])
            value = np.where(where.own >= 0, self.hubs.value(np.maximum(where.own, 0), at), 0.0)
        return BeliefContext(
            self.published, self.hosts.clocks, where.host, WEIGHT[where.risk], listed, every, recall, value,
            self.hosts.price_factor[where.host], self.hosts.activity.times(where.host, self.published.hosts),
        )  # fmt: skip

    def surroundings(self, place: tuple[int, int, int], risk: Risk, t: float) -> Surroundings:
        """The same of one target, without arrays: (its host, the hub that lists it, the hub that it is)."""
        host, hub, own = place
        told, c = None, self.hubs.columns
        if hub >= 0 and math.isfinite(c["listed_at"][hub]):
            listed = float(c["listed_at"][hub])
            recall = float(self.hosts.quality.recall(c["host"][hub]))
            told = HubListing(listed, max(float(c["every"][hub]), t - listed), recall)
        has_clock = self.has_common_clock or bool(self.hosts.has_clock[host])
        activity = self.hosts.activity.times(np.array([host]), self.published.hosts)
        return Surroundings(
            risk=risk,
            host_clock=pack_clock(self.hosts.clocks, host) if has_clock else b"",
            hub=told,
            hub_value=float(self.hubs.value(own, t)) if own >= 0 else 0.0,
            price_factor=float(self.hosts.price_factor[host]),
            host_activity=float(activity[0]),
        )

    def false(self, hub: Rows) -> Floats:
        """Names without a change, per target and hour, of the listings of these hubs; 0 where there is none."""
        if not len(self.hubs.ids):
            return np.zeros(len(hub))
        host = self.hubs.columns["host"][hub]
        return np.where((hub >= 0) & (host >= 0), self.hosts.quality.false(host), 0.0)

    # What looks teach

    def heard(self, host: int, ok: bool, t: float) -> bool:
        """The host answered, or failed to.  Is it back after it was down?"""
        is_moved, is_back = self.hosts.heard(host, ok, t)
        if is_moved:
            self.touched_hosts.add(host)
        return is_back

    def is_down(self, host: Any) -> Any:
        return self.hosts.streak[host] >= DOWN

    def dated(self, host: Rows, seen: tuple[Any, Floats, Floats, Floats]) -> Floats:
        """The far end's dates of changes, where its host may be believed, else NaN (`Hosts.believed`)."""
        self.touched_hosts.update(host[seen[0] & ~np.isnan(seen[3])].tolist())
        return self.hosts.believed(host, seen)

    def absorb(self, where: Where, group: LookGroup, advanced: Advanced) -> None:
        """What a group of looks says beyond its targets: for hubs, clocks, listings, bursts."""
        self.contributed(where.hub, advanced.contribution - group.contribution)
        if advanced.lesson is None:
            return
        hub, host = where.hub[group.good], where.host[group.good]
        known, looks, lesson = (advanced.before, advanced.context), advanced.looks, advanced.lesson
        self._check_listings((host, hub), known, looks, lesson)
        hit = np.flatnonzero(lesson.taught & looks.changed)
        counted = self.hosts.clocks.count(host[hit], lesson.start, lesson.end)
        np.add.at(self.hosts.fresh, counted, 1)
        self.hosts.activity.learn(host, lesson.first_seen, lesson.first_room)
        self.calibration.learn(lesson.predicted, looks.changed[lesson.taught])
        self.bursts += (lesson.burst_seen, lesson.burst_room)
        self.touched_hosts.update(counted.tolist(), host[lesson.first_room > 0].tolist())

    def contributed(self, hub: Rows, moved: Floats) -> None:
        """Leaves add so much more to the value of their hubs."""
        rows = np.flatnonzero((hub >= 0) & (moved != 0.0))
        if len(rows):
            np.add.at(self.hubs.columns["value"], hub[rows], moved[rows])
            self.touched_hubs.update(hub[rows].tolist())

    def _check_listings(
        self,
        where: tuple[Rows, Rows],
        known: tuple[Beliefs, BeliefContext],
        looks: GoodLooks,
        lesson: CommonLesson,
    ) -> None:
        """Was the name true, was the change named?  A change that nobody named counts as far as it was covered."""
        rows = np.flatnonzero(lesson.taught & (known[1].recall > 0))
        if not len(rows):
            return
        b, context, changed = known[0].take(rows), known[1].take(rows), looks.changed[rows]
        host, hours = where[0][rows], self.hosts.clocks.hours
        whole = hours(host, b.last, looks.at[rows])
        covered = hours(host, b.last, np.maximum(context.listed_at, b.last))
        unnamed = (1.0 - context.recall) * covered
        missed = unnamed / np.maximum(unnamed + whole - covered, 1e-9)
        is_named = b.listed_change_p > 0
        counts, of = self.hosts.quality.counts, self.hubs.columns["host"][where[1][rows]]
        np.add.at(counts[:, NAMED], of, (is_named & changed).astype(np.float64))
        np.add.at(counts[:, MISSED], of, np.where(~is_named & changed, missed, 0.0))
        np.add.at(counts[:, FALSE], of, (is_named & ~changed).astype(np.float64))
        self.touched_hosts.update(of.tolist())

    # What listings tell

    def adopted(self, hub: Rows, weight: Floats) -> None:
        """New targets that hubs list, and their weights.  They count as births once the hub is watched."""
        c = self.hubs.columns
        np.add.at(c["leaves"], hub, 1.0)
        born = np.isfinite(c["since"][hub])
        np.add.at(c["births"], hub[born], weight[born])
        self.touched_hubs.update(hub.tolist())

    def watched_hub(self, hub: int, t: float, *, is_good: bool) -> None:
        """The page of a hub was looked at; from its first good look on, new targets count as births."""
        c = self.hubs.columns
        if is_good and not math.isfinite(c["since"][hub]):
            c["since"][hub] = t
        self.touched_hubs.add(hub)

    def listed(self, hub: int, t: float) -> ListingReport:
        """A listing that says what changed was read at `t`."""
        c = self.hubs.columns
        host = int(c["host"][hub])
        before = self.hubs.listed(hub, t)
        if np.isfinite(before):
            self.hosts.quality.counts[host, ROOM] += c["leaves"][hub] * (t - before)
        self.touched_hosts.add(host)
        self.touched_hubs.add(hub)
        return self.report(hub, t, before)

    def report(self, hub: int, t: float, before: float) -> ListingReport:
        quality, host = self.hosts.quality, int(self.hubs.columns["host"][hub])
        return ListingReport(t, before, float(quality.recall(host)), float(quality.false(host)))

    # Reviews

    def is_review_due(self, t: float, *, has_budget: bool) -> bool:
        """Every hour in the first days, then every six; at once when there are many more targets."""
        run = self.counters
        run.started_at = min(run.started_at, t)
        if run.reviewed_at > t:  # by a clock that stood ahead
            run.reviewed_at = -math.inf
        has_grown = has_budget and run.found > GROWN * max(run.watched, 25)
        every = EARLY_REVIEW_HOURS if self.is_early(t) else REVIEW_HOURS
        return t - run.reviewed_at >= every or has_grown

    def is_early(self, t: float) -> bool:
        return t - self.counters.started_at < FIRST_HOURS

    def begin_review(self, t: float, watched: int, budget_per_day: float | None) -> float | None:
        """`watched`: targets under watch.  Gives the looks per day that are left for the schedule."""
        run = self.counters
        if budget_per_day is not None and not self.is_early(t):
            self._ask_for_spare(budget_per_day, t - run.reviewed_at)
        run.watched, run.found, run.reviewed_at, run.looked = watched, 0, t, run.looks
        if budget_per_day is None:
            return None
        planned = (run.planned + _STEADY_LOOKS) / (run.looks + _STEADY_LOOKS)
        return daily(budget_per_day).steady * planned * run.spare

    def review(
        self, sample: Sample, budget: float | None, objectives: Objectives, rooms: Mapping[int, float]
    ) -> None:
        """Publish what the sample says.  `rooms`: looks per day that a host allows; not named: no limit."""
        was, host = self.published, sample.context.host
        flat = replace(sample.context, price_factor=np.ones(len(host)))
        sample = Sample(sample.beliefs, flat, sample.risk, sample.each)
        self.published = review(sample, was, ReviewTerms(budget=budget, objectives=objectives))
        counts = self.hosts.activity.counts[np.unique(host)]
        self.published = replace(self.published, hosts=spread(counts))
        if len(host):
            flat.published = self.published
            self._price_hosts(sample, rooms)
        self.publish()
        new = self.published
        is_moved = abs(math.log(new.price / was.price)) > REPLAN_AFTER
        if (
            is_moved or _keeps_more(new, was) or self.hubs.ids
        ):  # what leaves add to hubs moves with their trust
            self.counters.replan = 0

    def _ask_for_spare(self, budget_per_day: float, hours: float) -> None:
        """Less was spent than might have been: looks wait for lanes, or beliefs were too calm.  The bucket is hard."""
        run = self.counters
        if not math.isfinite(hours):
            return
        might = daily(budget_per_day).steady * hours / 24.0
        times = min(might / max(run.looks - run.looked, 1), _MOST_SPARE)
        run.spare = min(max(run.spare * times ** -math.expm1(-hours / 24.0), 1.0), _MOST_SPARE)

    def _price_hosts(self, sample: Sample, rooms: Mapping[int, float]) -> None:
        """Looks cost more at hosts without room, once the price at the others of which enough is known."""
        numbers, counts = np.unique(sample.context.host, return_counts=True)
        seen = numbers[counts >= (1 if sample.each <= 1.0 else WELL_SAMPLED)].tolist()
        tight = {n: rooms[n] for n in seen if math.isfinite(rooms.get(n, math.inf))}
        factors = price_factors(sample, sample.context.host, tight)
        for number in seen:
            factor = float(f"{factors.get(number, 1.0):.5g}")
            if factor != self.hosts.price_factor[number]:
                self.hosts.price_factor[number] = factor
                self.touched_hosts.add(number)

    def publish(self) -> None:
        """Bursts, and the clocks of hosts that have counted enough; the others follow the clock of all."""
        own, *bursts = (self.bursts[0] / self.bursts[1]).tolist()
        published = replace(self.published, own=own, bursts=tuple(bursts))
        self.published = unpack_published(pack_published(published))  # decide by the digits that are kept
        hosts = self.hosts
        due = np.flatnonzero(hosts.fresh >= FRESH)
        hosts.clocks.set(due)
        hosts.has_clock[due], hosts.fresh[due] = True, 0
        self.touched_hosts.update(due.tolist())
        if hosts.clocks.shared.sum() >= COMMON_LEAST:
            self.follow(hosts.clocks.shared_clock().astype("<f4"))

    def follow(self, clock: NDArray[np.float32]) -> None:
        """Hosts without a clock of their own go by this one."""
        clocks = self.hosts.clocks
        clocks.common, self.has_common_clock = clock, True
        clocks.upto[~self.hosts.has_clock] = clock

    def plan_anew(
        self, b: Beliefs, contribution: Floats, place: tuple[Where, float], objectives: Objectives
    ) -> PlannedAnew:
        """Targets at the price of today.  `place`: where they stand, and the time."""
        where, t = place
        context = self.context(where, t)
        new = contributions(b, context, contribution, self.false(where.hub))
        is_near = np.abs(new - contribution) <= REPLAN_AFTER * np.maximum(new, contribution)
        new = np.where(is_near, contribution, new)
        self.contributed(where.hub, new - contribution)
        by_price, by_objective = planned_hours(b, context, where.risk.astype(np.int8), objectives)
        return PlannedAnew(new, by_price, by_objective)


def differs(was: timedelta, wait: timedelta) -> bool:
    """By enough to be planned anew."""
    return abs(was - wait) > REPLAN_AFTER * max(wait, _HOUR)


def _keeps_more(new: Published, was: Published) -> bool:
    """Can a promise be kept that could not be?  Then nobody waits for the next look to hear of it."""
    return any(
        math.isfinite(now) and math.isinf(then)
        for now, then in zip(new.kept_from, was.kept_from, strict=True)
    )
