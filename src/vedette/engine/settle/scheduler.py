"""One scheduler for all watches: decides the due times of a whole group, and publishes what it decides by.

It lives in the settler's thread.  What it learns goes into the same transaction as the looks that taught it, so a
restart goes on from where the last commit left it, and decides the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from vedette.contracts.copies import replace
from vedette.contracts.schedule import Leaf, Lesson, PublishedRow, ScheduleRows
from vedette.contracts.watch import Decision, LedgerNote, Settlement, Signal, Watch
from vedette.contracts.words import LaneKey, Reason, WatchId
from vedette.core.evidence.ledger import LedgerEntry, learned_decision, replan_decision
from vedette.core.limits.budget import daily
from vedette.core.schedule.audit import Lot, audited
from vedette.core.schedule.due import Due
from vedette.core.schedule.hours import from_hours, to_hours
from vedette.core.schedule.learned.deciding import Batch, Case, Decided, decide, planned_hours
from vedette.core.schedule.learned.hosts import DOWN
from vedette.core.schedule.learned.listing import Told
from vedette.core.schedule.learned.naming import Named, name, stated_hours
from vedette.core.schedule.learned.outlook import Sample
from vedette.core.schedule.learned.prices import Terms, dearness, review
from vedette.core.schedule.learned.row import (
    Place,
    is_whole,
    last_look,
    looked_by,
    new_belief,
    remembered,
    surroundings,
    unpack_beliefs,
)
from vedette.core.schedule.learned.settings import WEIGHT, Published
from vedette.core.schedule.velocity import VelocityParams, update_velocity
from vedette.engine.settle.scheduler_state import SchedulerState, ScheduleSide

REVIEW_HOURS = 6.0  # between two reviews of price, prior and objectives,
EARLY_REVIEW_HOURS = 1.0  # and in the first days, when beliefs move fast
FIRST_HOURS = 72.0
SAMPLE = 2048  # watches that prices are worked out from
WELL_SAMPLED = 20  # watches of a host in a sample before it says how crowded the host is
GROWN = 4  # times as many watches: the price is worked out before its time
REPLAN = 128  # watches planned anew with every group, while the price has moved
REPLAN_AFTER = 0.1  # of the price
_STEADY_LOOKS = 50.0  # before the share of looks beside the schedule is believed
_MOST_SPARE = (
    1.25  # times the budget that is asked for at most: what does not start queues, and queues are late
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """What the operator asks for and allows."""

    budget_per_day: float | None = None
    objectives: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # risk: hours, share
    room_of: Callable[[LaneKey], float] = lambda lane: math.inf  # looks per day that a host allows
    velocity: VelocityParams = VelocityParams()  # kept beside the belief: the documents' measure


class Scheduler:
    def __init__(
        self, store: ScheduleSide, options: SchedulerOptions, next_id: Callable[[datetime], int]
    ) -> None:
        self._store = store
        self._options = options
        self._next_id = next_id  # of ledger rows about watches beside those of the group
        self._known = SchedulerState(store)
        self._published: PublishedRow | None = None
        self._lane: dict[int, LaneKey] = {}  # of the hosts in the last sample

    def decide(self, settlements: Sequence[Settlement]) -> tuple[list[Settlement], ScheduleRows | None]:
        """The settlements with their due times, and what is to be written beside them."""
        taught = [(n, s, s.lesson) for n, s in enumerate(settlements) if s.lesson is not None]
        if not taught:
            return list(settlements), None
        self._known.load(
            (s.watch.lane for _, s, _ in taught),
            (i for _, s, _ in taught for i in (s.watch.parent, s.watch.id)),
        )
        self._review(taught[0][2].now)
        done = list(settlements)
        back = tuple(one for _, s, lesson in taught if (one := self._heard(s.watch.lane, lesson)) is not None)
        asked = [(n, s, lesson) for n, s, lesson in taught if not lesson.has_due]
        if asked:
            for (n, _, _), settled in zip(asked, self._decide(asked), strict=True):
                done[n] = settled
        group = _Moving({s.watch.id: s.watch for s in done})
        for n, _, lesson in taught:
            done[n] = self._listed(done[n], lesson, group)
        running = self._known.running
        running.looks += len(taught)
        running.planned += len(asked)
        return done, self._rows(group.marks, back, taught[-1][2].now)

    def _decide(self, asked: Sequence[tuple[int, Settlement, Lesson]]) -> list[Settlement]:
        cases = [self._case(s, lesson) for _, s, lesson in asked]
        cases = self._dated(asked, cases)
        batch = decide(cases, self._known.shared.published, self._options.objectives)
        self._learn(asked, batch)
        settled = []
        for (_, s, lesson), case, decided in zip(asked, cases, batch.decided, strict=True):
            watch, due, lot = _due(s, lesson, case, decided, self._options.velocity)
            written = self._written(s.watch.lane, lot)
            decision = learned_decision(case, (s.watch.velocity, s.watch.scan_count), due, decided, written)
            settled.append(replace(s, watch=watch, decisions=(*s.decisions, decision)))
        return settled

    def _case(self, settled: Settlement, lesson: Lesson) -> Case:
        watch, t = settled.watch, to_hours(lesson.now)
        place = self._known.place(watch.id, watch.lane, watch.risk, watch.parent, t)
        false = 0.0
        if place.hub is not None:
            shared = self._known.shared
            host = int(shared.hubs.columns["host"][self._known.hub(watch.parent)])
            false = float(shared.hosts.quality.false(host))
        return Case(
            belief=looked_by(belief_of(settled.job.watch), t),
            place=place,
            now=lesson.now,
            changed=lesson.changed,
            failures=lesson.failures,
            is_down=bool(
                lesson.failures and self._known.shared.hosts.streak[self._known.host(watch.lane)] >= DOWN
            ),
            asked=lesson.asked,
            is_parked=lesson.is_parked,
            false=false,
        )

    def _dated(self, asked: Sequence[tuple[int, Settlement, Lesson]], cases: list[Case]) -> list[Case]:
        """The far end's dates of changes, where its host may be believed."""
        rows = [
            n for n, (_, _, lesson) in enumerate(asked) if lesson.changed and lesson.modified_at is not None
        ]
        if not rows:
            return cases
        host = np.array([self._known.host(asked[n][1].watch.lane) for n in rows])
        last = unpack_beliefs([cases[n].belief for n in rows]).last
        at = np.array([to_hours(cases[n].now) for n in rows])
        said = np.array([to_hours(m) for n in rows if (m := asked[n][2].modified_at) is not None])
        true = self._known.shared.hosts.believed(host, (np.ones(len(rows), bool), last, at, said))
        for n, number, date in zip(rows, host.tolist(), true.tolist(), strict=True):
            self._known.touch_host(number)
            cases[n] = replace(cases[n], modified=None if math.isnan(date) else date)
        return cases

    def _learn(self, asked: Sequence[tuple[int, Settlement, Lesson]], batch: Batch) -> None:
        """What the looks teach about hosts, hubs and bursts."""
        known, shared = self._known, self._known.shared
        watches = [s.watch for _, s, _ in asked]
        for n in np.flatnonzero(batch.moved).tolist():
            parent = watches[n].parent
            if parent is not None and known.hub(parent) >= 0:
                shared.hubs.columns["pull"][known.hub(parent)] += batch.moved[n]
                known.touch_hub(parent)
        if batch.lesson is None:
            return
        good = [watches[n] for n in batch.good.tolist()]
        hub = np.array([known.hub(watch.parent) for watch in good], np.int64)
        host = np.array([known.host(watch.lane) for watch in good], np.int64)
        around = replace(batch.around, host=host, clocks=shared.hosts.clocks)
        known.counted(shared.taught(hub, (batch.before, around), batch.looks, batch.lesson).tolist())
        for number in np.unique(host[batch.lesson.first_room > 0]).tolist():
            known.touch_host(number)
        for n in np.flatnonzero(batch.lesson.taught & (around.recall > 0)).tolist():
            known.touch_host(int(shared.hubs.columns["host"][hub[n]]))

    def _heard(self, lane: LaneKey, lesson: Lesson) -> tuple[LaneKey, datetime] | None:
        """A host that answers after it was down: what failed there is tried again."""
        hosts, number = self._known.shared.hosts, self._known.host(lane)
        was = int(hosts.streak[number])
        if lesson.host_ok is False:
            hosts.streak[number] = min(was + 1, 1000)
            hosts.failed_at[number] = to_hours(lesson.now)
        elif was and lesson.host_ok:
            hosts.streak[number] = 0
        else:
            return None
        self._known.touch_host(number)
        return (lane, lesson.now) if was >= DOWN and lesson.host_ok else None

    def _listed(self, settled: Settlement, lesson: Lesson, group: _Moving) -> Settlement:
        """What a listing tells: new targets, and which of the known ones changed."""
        watch, known = settled.watch, self._known
        found = [one for one in settled.found if one.parent == watch.id]
        number = known.hub(watch.id)
        is_first = settled.job.watch.seen is None
        known.running.found += len(settled.found)
        if number < 0 and not lesson.is_listing and (is_first or not found):
            return settled
        t, c = to_hours(lesson.now), known.shared.hubs.columns
        if number < 0:
            number = known.new_hub(watch.id, watch.lane)
            c = known.shared.hubs.columns
        known.touch_hub(watch.id)
        c["leaves"][number] += len(found)
        if math.isfinite(c["since"][number]):
            c["births"][number] += float(WEIGHT[[int(one.risk) for one in found]].sum())
        elif lesson.changed is not None:
            c["since"][number] = t
        tells = lesson.is_listing and lesson.changed is not None
        if not (tells and (lesson.is_dated or math.isfinite(c["listed_at"][number]))):
            return settled
        before = known.shared.listed(number, t)
        known.touch_host(int(c["host"][number]))
        return self._marked(settled, (number, t, before), group) if settled.signals else settled

    def _marked(self, settled: Settlement, told: tuple[int, float, float], group: _Moving) -> Settlement:
        """Mark the named targets; those that are now worth a look are due, and their ledger says who named them."""
        number, t, before = told
        signals = {signal.watch: signal for signal in settled.signals}
        leaves = [
            leaf for one in self._store.leaves(list(signals)) if is_whole((leaf := group.now(one)).belief)
        ]
        if not leaves:
            return settled
        known = self._known
        known.load((leaf.lane for leaf in leaves), (leaf.parent for leaf in leaves))
        quality, host = known.shared.hosts.quality, int(known.shared.hubs.columns["host"][number])
        tale = Told(t, before, float(quality.recall(host)), float(quality.false(host)))
        named = [self._named(leaf, signals[leaf.id], settled.watch.url, t) for leaf in leaves]
        moved = name(named, tale, known.shared.published)
        group.marks.update((leaf.id, one.belief) for leaf, one in zip(leaves, moved, strict=True))
        kept = tuple(
            replace(signals[leaf.id], due_at=one.due_at)
            for leaf, one in zip(leaves, moved, strict=True)
            if one.due_at is not None
        )
        notes = tuple(
            self._noted(leaf, replan_decision(asked, tale, one, self._written(leaf.lane)), asked.heard_at)
            for leaf, asked, one in zip(leaves, named, moved, strict=True)
            if one.due_at is not None and one.due_at < asked.due_at
        )
        reasons = (Reason("named", len(signals)), Reason("brought_forward", len(kept)))
        inputs: dict[str, object] = {"recall": tale.recall, "false": tale.false, "hours": t - before}
        decision = Decision(action="signal", reasons=reasons, inputs=inputs, output=len(kept))
        return replace(settled, signals=kept, notes=notes, decisions=(*settled.decisions, decision))

    def _named(self, leaf: Leaf, signal: Signal, by: str, t: float) -> Named:
        belief = leaf.belief or b""  # whole: `_marked` asks about no others
        return Named(
            belief=belief,
            place=self._place(leaf, t),
            stated=_stated(signal, last_look(belief)),
            heard_at=signal.due_at,
            due_at=leaf.due_at or signal.due_at,
            by=by,
        )

    def _noted(self, leaf: Leaf, decision: Decision, at: datetime) -> LedgerNote:
        return LedgerNote(id=self._next_id(at), at=at, kind="signal", decision=decision, watch=leaf.id)

    def _written(self, lane: LaneKey, lot: Lot | None = None) -> LedgerEntry:
        return LedgerEntry(self._known.version, self._known.clock_id(lane), lot)

    def _review(self, now: datetime) -> None:
        """Every few hours: the prior, what objectives need, the price, and where looks are dearer."""
        known, run, t = self._known, self._known.running, to_hours(now)
        run.started_at = min(run.started_at, t)
        if run.reviewed_at > t:  # by a clock that stood ahead
            run.reviewed_at = -math.inf
        is_early = t - run.started_at < FIRST_HOURS
        has_grown = self._options.budget_per_day is not None and run.found > GROWN * max(run.watched, 25)
        if t - run.reviewed_at < (EARLY_REVIEW_HOURS if is_early else REVIEW_HOURS) and not has_grown:
            return
        if not is_early:
            self._ask_for_spare(t - run.reviewed_at)
        run.watched, run.found, run.reviewed_at, run.looked = self._store.scheduled(), 0, t, run.looks
        sample, host = self._sample(t)
        was = known.shared.published
        terms = Terms(budget=self._budget(), objectives=self._options.objectives)
        known.shared.published = review(sample, was, terms)
        known.shared.publish_hosts(host)
        new = known.shared.published
        if len(host):
            sample.around.published = new
            seen = {n: self._options.room_of(self._lane[n]) for n in _well_sampled(host, sample.each)}
            rooms = {n: room for n, room in seen.items() if math.isfinite(room)}
            known.set_dear(dearness(sample, host, rooms), seen)
        self._published = known.publish(now)
        if abs(math.log(new.price / was.price)) > REPLAN_AFTER or _keeps_more(new, was):
            run.replan = 0

    def _budget(self) -> float | None:
        """Looks per day that are left for the schedule, beside second looks and retries."""
        budget, run = self._options.budget_per_day, self._known.running
        if budget is None:
            return None
        beside = (run.planned + _STEADY_LOOKS) / (run.looks + _STEADY_LOOKS)
        return daily(budget).steady * beside * run.spare

    def _ask_for_spare(self, hours: float) -> None:
        """Less was spent than might have been: looks wait for lanes, or beliefs were too calm.  The bucket is hard."""
        budget, run = self._options.budget_per_day, self._known.running
        if budget is None or not math.isfinite(hours):
            return
        might = daily(budget).steady * hours / 24.0
        times = min(might / max(run.looks - run.looked, 1), _MOST_SPARE)
        run.spare = min(max(run.spare * times ** -math.expm1(-hours / 24.0), 1.0), _MOST_SPARE)

    def _sample(self, t: float) -> tuple[Sample, np.ndarray]:
        """Some of the scheduled watches, a fair choice, and the numbers of their hosts."""
        run = self._known.running
        if run.watched <= SAMPLE:
            run.sampled = 0
        leaves = self._store.sample(run.sampled, SAMPLE)
        if len(leaves) < min(SAMPLE, run.watched):  # round the corner
            leaves += self._store.sample(0, SAMPLE - len(leaves))
        run.sampled = leaves[-1].id if leaves else 0
        self._known.load(
            (leaf.lane for leaf in leaves), (i for leaf in leaves for i in (leaf.parent, leaf.id))
        )
        host = np.array([self._known.host(leaf.lane) for leaf in leaves], np.int64)
        self._lane = {self._known.host(leaf.lane): leaf.lane for leaf in leaves}
        flat = [replace(self._place(leaf, t), dear=1.0) for leaf in leaves]
        beliefs = unpack_beliefs(
            [
                leaf.belief if is_whole(leaf.belief) else new_belief(to_hours(leaf.created_at))
                for leaf in leaves
            ]
        )
        around = surroundings(flat, self._known.shared.published)
        risk = np.array([leaf.risk for leaf in leaves], np.int8)
        return Sample(beliefs, around, risk, run.watched / max(len(leaves), 1)), host

    def _replanned(self, now: datetime) -> tuple[tuple[Leaf, datetime, timedelta], ...]:
        """Some watches in turn, planned anew at the price of today.  Listings follow with their next look."""
        run = self._known.running
        if run.replan is None:
            return ()
        leaves = self._store.planned(run.replan, REPLAN, now=now)
        run.replan = leaves[-1].id if len(leaves) == REPLAN else None
        leaves = [leaf for leaf in leaves if not leaf.is_listing and is_whole(leaf.belief)]
        if not leaves:
            return ()
        self._known.load(
            (leaf.lane for leaf in leaves), (i for leaf in leaves for i in (leaf.parent, leaf.id))
        )
        t = to_hours(now)
        beliefs = unpack_beliefs([leaf.belief for leaf in leaves if leaf.belief is not None])
        around = surroundings([self._place(leaf, t) for leaf in leaves], self._known.shared.published)
        risk = np.array([leaf.risk for leaf in leaves], np.int8)
        hours = planned_hours(beliefs, around, risk, self._options.objectives)
        waits = [timedelta(milliseconds=round(one * 3_600_000)) for one in hours.tolist()]
        lasts = [from_hours(last) for last in beliefs.last.tolist()]
        return tuple(
            (leaf, max(last + wait, now), wait)
            for leaf, last, wait, named in zip(leaves, lasts, waits, beliefs.mark.tolist(), strict=True)
            if not named and leaf.due_at is not None and _differs(leaf.due_at - last, wait)
        )

    def _place(self, leaf: Leaf, t: float) -> Place:
        return self._known.place(leaf.id, leaf.lane, leaf.risk, leaf.parent, t)

    def _rows(
        self, marks: dict[WatchId, bytes], back: tuple[tuple[LaneKey, datetime], ...], now: datetime
    ) -> ScheduleRows:
        known = self._known
        published, self._published = self._published, None
        replanned = self._replanned(now)
        return ScheduleRows(
            hosts=known.changed_hosts(),
            hubs=known.changed_hubs(),
            clocks=known.changed_clocks(),
            published=published,
            running=known.running_text(),
            marks=tuple(marks.items()),
            back=back,
            replanned=replanned,
        )


@dataclass(slots=True)
class _Moving:
    """What is not in the store yet: the watches of the group, and beliefs with new marks."""

    watches: Mapping[WatchId, Watch]
    marks: dict[WatchId, bytes] = field(default_factory=dict)

    def now(self, leaf: Leaf) -> Leaf:
        """The leaf as this group leaves it."""
        watch = self.watches.get(leaf.id)
        if watch is not None:
            leaf = replace(leaf, belief=watch.belief or leaf.belief, due_at=watch.due_at)
        return replace(leaf, belief=self.marks.get(leaf.id) or leaf.belief)


def belief_of(watch: Watch) -> bytes:
    """The belief in its row; of a watch that another policy kept so far, what its history tells."""
    if is_whole(watch.belief):
        return watch.belief
    if watch.seen is None or not watch.scan_count:
        return new_belief(to_hours(watch.created_at))
    changed = None if watch.last_changed_at is None else to_hours(watch.last_changed_at)
    times = (to_hours(watch.created_at), to_hours(watch.seen.at), changed)
    return remembered(watch.velocity, watch.scan_count, times)


def _due(
    settled: Settlement, lesson: Lesson, case: Case, decided: Decided, params: VelocityParams
) -> tuple[Watch, Due, Lot | None]:
    """The watch with its next look, the decision, and the lot that may have made it an audit."""
    watch = settled.watch
    velocity, looks = watch.velocity, watch.scan_count
    if case.changed is not None:
        velocity, looks = update_velocity(velocity, looks, case.changed, params=params), looks + 1
    plain = Due(
        due_at=case.now + decided.wait,
        interval=decided.wait,
        velocity=velocity,
        scan_count=looks,
        reasons=decided.reasons,
    )
    lot = None
    if lesson.audit_share > 0 and case.changed is not None and not case.is_parked:
        lot = Lot(watch.id, looks, lesson.audit_share)
    due = plain if lot is None else audited(plain, lot)
    due_at = due.due_at if lesson.not_before is None else max(due.due_at, lesson.not_before)
    moved = replace(
        watch,
        belief=decided.belief,
        velocity=velocity,
        scan_count=looks,
        interval=due.interval,
        due_at=None if watch.due_at is None else due_at,
        audit=plain.interval if due is not plain and due_at == due.due_at else None,
    )
    return moved, due, lot


def _well_sampled(host: np.ndarray, each: float) -> list[int]:
    """Hosts of which the sample says enough; of all watches, every host."""
    numbers, counts = np.unique(host, return_counts=True)
    return [int(n) for n in numbers[counts >= (1 if each <= 1.0 else WELL_SAMPLED)]]


def _keeps_more(new: Published, was: Published) -> bool:
    """Can a promise be kept that could not be?  Then nobody waits for the next look to hear of it."""
    return any(
        math.isfinite(now) and math.isinf(then)
        for now, then in zip(new.kept_from, was.kept_from, strict=True)
    )


def _stated(signal: Signal, last: float) -> float:
    """When the listing says it changed, as far as that says more than the day of our last look."""
    at = signal.modified_at
    is_day = (at.hour, at.minute, at.second, at.microsecond) == (0, 0, 0, 0)
    return stated_hours(to_hours(at), is_day, last)


def _differs(was: timedelta, wait: timedelta) -> bool:
    """By enough to be written down."""
    return abs(was - wait) > REPLAN_AFTER * max(wait, timedelta(hours=1))
