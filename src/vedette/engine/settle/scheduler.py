"""The scheduler of a run: loads rows, lets the state machine of `core/schedule/learned` decide, saves what changed.

It lives in the settler's thread.  What it learns goes into the same transaction as the looks that taught it, so a
restart goes on from where the last commit left it, and decides the same.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from vedette.contracts.copies import replace
from vedette.contracts.schedule import Leaf, Lesson, ScheduleRows
from vedette.contracts.watch import Decision, LedgerNote, Settlement, Signal, Watch
from vedette.contracts.words import LaneKey, Reason, Risk, WatchId
from vedette.core.evidence.ledger import LedgerEntry, learned_decision, replan_decision
from vedette.core.schedule.due import Due, Lot, ScheduleTerms, apply_schedule
from vedette.core.schedule.ewma import VelocityParams, update_velocity
from vedette.core.schedule.learned.beliefs import (
    Beliefs,
    Surroundings,
    is_whole,
    last_look,
    looked_by,
    new_belief,
    pack_beliefs,
    remembered,
    unpack_beliefs,
    unpack_contributions,
)
from vedette.core.schedule.learned.decide import Case, Decided, GroupDecision, decide
from vedette.core.schedule.learned.listings import ListingReport, Moved, Named, name, stated_hours
from vedette.core.schedule.learned.review import Sample
from vedette.core.schedule.learned.scheduler_state import REPLAN, SAMPLE, PlannedAnew, differs
from vedette.core.schedule.learned.settings import WEIGHT
from vedette.core.schedule.protocol import from_hours, to_hours
from vedette.engine.settle.scheduler_rows import SchedulerRows, ScheduleSide

Taught = tuple[int, Settlement, Lesson]  # place in the group


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """What the operator asks for and allows."""

    budget_per_day: float | None = None
    objectives: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # risk: hours, share
    room_of: Callable[[LaneKey], float] = lambda lane: math.inf  # looks per day that a host allows
    velocity: VelocityParams = VelocityParams()  # kept beside the belief: the documents' measure
    reviews: bool = True  # False: another process publishes the price, and this one decides with it


class Scheduler:
    def __init__(
        self, store: ScheduleSide, options: SchedulerOptions, next_id: Callable[[datetime], int]
    ) -> None:
        self._store = store
        self._options = options
        self._next_id = next_id  # of ledger rows about watches beside those of the group
        self._rows = SchedulerRows(store)
        self._state = self._rows.state
        self.visited: deque[LaneKey] = deque()  # lanes that were another's before: their rows are read anew

    def decide(self, settlements: Sequence[Settlement]) -> tuple[list[Settlement], ScheduleRows | None]:
        """The settlements with their due times, and what is to be written beside them."""
        taught = [(n, s, s.lesson) for n, s in enumerate(settlements) if s.lesson is not None]
        if not taught:
            return list(settlements), None
        if not self._options.reviews:
            visited = {self.visited.popleft() for _ in range(len(self.visited))}
            self._rows.follow([s.watch for _, s, _ in taught], visited)
        self._load([s.watch for _, s, _ in taught])
        if self._options.reviews:
            self._review(taught[0][2].now)
        back = self._back(taught)
        asked = [one for one in taught if not one[2].has_due]
        done = list(settlements)
        for (n, _, _), settled in zip(asked, self._decide(asked), strict=True):
            done[n] = settled
        group = _Moving({s.watch.id: s.watch for s in done})
        for n, _, lesson in taught:
            done[n] = self._listed(done[n], lesson, group)
        self._state.counters.looks += len(taught)
        self._state.counters.planned += len(asked)
        replanned = self._replanned(taught[-1][2].now, group.marks) if self._options.reviews else ()
        rows = replace(self._rows.changed(), marks=tuple(group.marks.items()), back=back, replanned=replanned)
        return done, rows

    def review(self, now: datetime) -> ScheduleRows | None:
        """Without looks, for who only publishes: the price, and some watches planned anew.  None: it is not time."""
        self._rows.take_sums()
        run, marks = self._state.counters, dict[WatchId, bytes]()
        version = self._rows.version
        self._review(now)
        replanned = self._replanned(now, marks)
        if self._rows.version == version and not replanned and run.replan is None:
            return None
        return replace(self._rows.changed(), marks=tuple(marks.items()), replanned=replanned)

    def _load(self, watches: Sequence[Watch] | Sequence[Leaf]) -> None:
        """After this their hosts and hubs are known."""
        self._rows.load((one.lane for one in watches), (i for one in watches for i in (one.parent, one.id)))

    def _back(self, taught: Sequence[Taught]) -> tuple[tuple[LaneKey, datetime], ...]:
        return tuple((s.watch.lane, lesson.now) for _, s, lesson in taught if self._is_back(s, lesson))

    def _is_back(self, settled: Settlement, lesson: Lesson) -> bool:
        """A host that answers after it was down: what failed there is tried again."""
        if lesson.host_ok is None:
            return False
        return self._state.heard(self._rows.host(settled.watch.lane), lesson.host_ok, to_hours(lesson.now))

    # Looks

    def _decide(self, asked: Sequence[Taught]) -> list[Settlement]:
        if not asked:
            return []
        bare: dict[tuple[int, Risk], Surroundings] = {}
        cases = self._dated(asked, [self._case(s, lesson, bare) for _, s, lesson in asked])
        decision = decide(cases, self._state.published, self._options.objectives)
        self._absorb(asked, decision)
        return [
            self._arranged(s, lesson, case, decided)
            for (_, s, lesson), case, decided in zip(asked, cases, decision.decided, strict=True)
        ]

    def _case(self, settled: Settlement, lesson: Lesson, bare: dict[tuple[int, Risk], Surroundings]) -> Case:
        """`bare`: the surroundings of targets without a hub, which those of one host and risk share."""
        watch, t, state = settled.watch, to_hours(lesson.now), self._state
        host, hub, own = at = self._rows.place(watch)
        place = bare.get((host, watch.risk)) if hub < 0 and own < 0 else None
        if place is None:
            place = state.surroundings(at, watch.risk, t)
            if hub < 0 and own < 0:
                bare[host, watch.risk] = place
        return Case(
            belief=looked_by(belief_of(settled.job.watch), t),
            place=place,
            now=lesson.now,
            changed=lesson.changed,
            failures=lesson.failures,
            is_down=bool(lesson.failures and state.is_down(host)),
            asked=lesson.asked,
            is_parked=lesson.is_parked,
            false=0.0 if place.hub is None else float(state.false(np.array([hub]))[0]),
        )

    def _dated(self, asked: Sequence[Taught], cases: list[Case]) -> list[Case]:
        """The far end's dates of changes, where its host may be believed."""
        said = {
            n: to_hours(lesson.modified_at)
            for n, (_, _, lesson) in enumerate(asked)
            if lesson.changed and lesson.modified_at is not None
        }
        if not said:
            return cases
        host = np.array([self._rows.host(asked[n][1].watch.lane) for n in said])
        last = np.array([last_look(cases[n].belief) for n in said])
        at = np.array([to_hours(cases[n].now) for n in said])
        true = self._state.dated(host, (np.ones(len(said), bool), last, at, np.array([*said.values()])))
        for n, date in zip(said, true.tolist(), strict=True):
            cases[n] = replace(cases[n], modified=None if math.isnan(date) else date)
        return cases

    def _absorb(self, asked: Sequence[Taught], decision: GroupDecision) -> None:
        """What the looks teach about hosts, hubs and bursts; plain first looks teach nothing."""
        if decision.group is not None and decision.advanced is not None:
            where = self._rows.where([asked[n][1].watch for n in decision.rest])
            self._state.absorb(where, decision.group, decision.advanced)

    def _arranged(self, settled: Settlement, lesson: Lesson, case: Case, decided: Decided) -> Settlement:
        """The settlement with its next look."""
        watch = settled.watch
        velocity, looks = watch.velocity, watch.scan_count
        if case.changed is not None:
            velocity = update_velocity(velocity, looks, case.changed, params=self._options.velocity)
            looks += 1
        plain = Due(
            due_at=case.now + decided.wait,
            interval=decided.wait,
            velocity=velocity,
            scan_count=looks,
            reasons=decided.reasons,
        )
        is_taught = case.changed is not None and not case.is_parked
        terms = terms_of(settled, lesson)
        done = apply_schedule(watch, plain, terms, is_taught=is_taught, belief=decided.belief)
        written = self._written(watch.lane, done.lot)
        before = (watch.velocity, watch.scan_count)
        decision = learned_decision(case, before, done.due, decided, written)
        return replace(settled, watch=done.watch, decisions=(*settled.decisions, decision))

    # Listings

    def _listed(self, settled: Settlement, lesson: Lesson, group: _Moving) -> Settlement:
        """What a listing tells: new targets, and which of the known ones changed."""
        watch, state = settled.watch, self._state
        found = [one for one in settled.found if one.parent == watch.id]
        number = self._rows.hub(watch.id)
        state.counters.found += len(settled.found)
        is_page = not lesson.is_listing and (settled.job.watch.seen is None or not found)
        if number < 0 and is_page:
            return settled
        t = to_hours(lesson.now)
        number = self._rows.hub_of(watch)
        state.adopted(np.full(len(found), number), WEIGHT[np.array([one.risk for one in found], np.int64)])
        state.watched_hub(number, t, is_good=lesson.changed is not None)
        if not self._tells(lesson, number):
            return settled
        report = state.listed(number, t)
        return self._marked(settled, report, group) if settled.signals else settled

    def _tells(self, lesson: Lesson, hub: int) -> bool:
        """True where this look at a listing says what changed; without dates only where one did so before."""
        if not lesson.is_listing or lesson.changed is None:
            return False
        return lesson.is_dated or math.isfinite(self._state.hubs.columns["listed_at"][hub])

    def _marked(self, settled: Settlement, report: ListingReport, group: _Moving) -> Settlement:
        """Those that are now worth a look are due, and their ledger says who named them."""
        signals = {signal.watch: signal for signal in settled.signals}
        leaves = list(filter(_is_believed, map(group.now, self._store.leaves(list(signals)))))
        if not leaves:
            return settled
        self._rows.load((leaf.lane for leaf in leaves), (leaf.parent for leaf in leaves))
        named = [self._named(leaf, signals[leaf.id], settled.watch.url, report.t) for leaf in leaves]
        moved = list(zip(leaves, named, name(named, report, self._state.published), strict=True))
        group.marks.update((leaf.id, one.belief) for leaf, _, one in moved)
        kept = tuple(
            replace(signals[leaf.id], due_at=one.due_at) for leaf, _, one in moved if one.due_at is not None
        )
        decisions = (*settled.decisions, _signal_decision(report, len(signals), len(kept)))
        return replace(settled, signals=kept, notes=self._notes(moved, report), decisions=decisions)

    def _notes(
        self, moved: Sequence[tuple[Leaf, Named, Moved]], report: ListingReport
    ) -> tuple[LedgerNote, ...]:
        """Of those that are looked at sooner."""
        return tuple(
            self._noted(leaf, replan_decision(asked, report, one, self._written(leaf.lane)), asked.heard_at)
            for leaf, asked, one in moved
            if one.due_at is not None and one.due_at < asked.due_at
        )

    def _named(self, leaf: Leaf, signal: Signal, by: str, t: float) -> Named:
        belief = leaf.belief or b""  # whole: `_marked` asks about no others
        at = signal.modified_at
        is_day = (at.hour, at.minute, at.second, at.microsecond) == (0, 0, 0, 0)
        return Named(
            belief=belief,
            place=self._state.surroundings(self._rows.place(leaf), leaf.risk, t),
            stated=stated_hours(to_hours(at), is_day, last_look(belief)),
            heard_at=signal.due_at,
            due_at=leaf.due_at or signal.due_at,
            by=by,
        )

    def _noted(self, leaf: Leaf, decision: Decision, at: datetime) -> LedgerNote:
        return LedgerNote(id=self._next_id(at), at=at, kind="signal", decision=decision, watch=leaf.id)

    def _written(self, lane: LaneKey, lot: Lot | None = None) -> LedgerEntry:
        return LedgerEntry(self._rows.version, self._rows.clock_id(lane), lot)

    # Reviews

    def _review(self, now: datetime) -> None:
        """Every few hours: the prior, what objectives need, the price, and where looks cost more."""
        options, state, t = self._options, self._state, to_hours(now)
        if not state.is_review_due(t, has_budget=options.budget_per_day is not None):
            return
        budget = state.begin_review(t, self._store.scheduled(), options.budget_per_day)
        leaves = self._sampled()
        self._load(leaves)
        where = self._rows.where(leaves)
        rows = [
            one.belief if is_whole(one.belief) else new_belief(to_hours(one.created_at)) for one in leaves
        ]
        each = state.counters.watched / max(len(leaves), 1)
        sample = Sample(unpack_beliefs(rows), state.context(where, t), where.risk.astype(np.int8), each)
        rooms = {self._rows.host(lane): options.room_of(lane) for lane in {one.lane for one in leaves}}
        state.review(sample, budget, options.objectives, rooms)
        self._rows.publish(now)

    def _sampled(self) -> list[Leaf]:
        """Some of the scheduled watches, a fair choice."""
        run = self._state.counters
        if run.watched <= SAMPLE:
            run.sampled = 0
        leaves = self._store.sample(run.sampled, SAMPLE)
        if len(leaves) < min(SAMPLE, run.watched):  # round the corner
            leaves += self._store.sample(0, SAMPLE - len(leaves))
        run.sampled = leaves[-1].id if leaves else 0
        return leaves

    def _replanned(
        self, now: datetime, marks: dict[WatchId, bytes]
    ) -> tuple[tuple[Leaf, datetime, timedelta], ...]:
        """Some watches in turn, planned anew at the price of today.  Listings follow with their next look."""
        leaves = self._in_turn(now, marks)
        if not leaves:
            return ()
        self._load(leaves)
        t = to_hours(now)
        packed = [looked_by(one.belief or b"", t) for one in leaves]  # whole: `_in_turn` gives no others
        beliefs, old = unpack_beliefs(packed), unpack_contributions(packed)
        place = (self._rows.where(leaves), t)
        anew = self._state.plan_anew(beliefs, old, place, self._options.objectives)
        if (anew.contribution != old).any():
            rows = pack_beliefs(beliefs, anew.contribution)
            marks.update((leaves[n].id, rows[n]) for n in np.flatnonzero(anew.contribution != old).tolist())
        return tuple(
            (leaves[n], max(last + wait, now), wait)
            for n, (last, wait) in enumerate(_waits(beliefs, anew))
            if _is_moved(leaves[n], last, wait) and not beliefs.listed_change_p[n]
        )

    def _in_turn(self, now: datetime, marks: Mapping[WatchId, bytes]) -> list[Leaf]:
        """The next watches to be planned anew, but those that this group has moved already."""
        run = self._state.counters
        if run.replan is None:
            return []
        leaves = self._store.planned(run.replan, REPLAN, now=now)
        run.replan = leaves[-1].id if len(leaves) == REPLAN else None
        return [one for one in leaves if not one.is_listing and one.id not in marks and _is_believed(one)]


@dataclass(slots=True)
class _Moving:
    """What is not in the store yet: the watches of the group, and beliefs with what listings said."""

    watches: Mapping[WatchId, Watch]
    marks: dict[WatchId, bytes] = field(default_factory=dict)

    def now(self, leaf: Leaf) -> Leaf:
        """The leaf as this group leaves it."""
        watch = self.watches.get(leaf.id)
        if watch is not None:
            leaf = replace(leaf, belief=watch.belief or leaf.belief, due_at=watch.due_at)
        return replace(leaf, belief=self.marks.get(leaf.id) or leaf.belief)


def _signal_decision(report: ListingReport, named: int, kept: int) -> Decision:
    reasons = (Reason("named", named), Reason("brought_forward", kept))
    hours = report.t - report.before
    inputs: dict[str, object] = {"recall": report.recall, "false": report.false, "hours": hours}
    return Decision(action="signal", reasons=reasons, inputs=inputs, output=kept)


def _waits(beliefs: Beliefs, anew: PlannedAnew) -> Iterator[tuple[datetime, timedelta]]:
    """Of each watch the last look, and the wait from there."""
    hours = np.minimum(anew.by_price, anew.by_objective)
    for last, wait in zip(beliefs.last.tolist(), hours.tolist(), strict=True):
        yield from_hours(last), timedelta(milliseconds=round(wait * 3_600_000))


def _is_believed(leaf: Leaf) -> bool:
    return is_whole(leaf.belief)


def _is_moved(leaf: Leaf, last: datetime, wait: timedelta) -> bool:
    return leaf.due_at is not None and differs(leaf.due_at - last, wait)


def terms_of(settled: Settlement, lesson: Lesson) -> ScheduleTerms:
    """What holds for the next look of a watch that is left to the scheduler: it has no second look."""
    return ScheduleTerms(
        not_before=lesson.not_before,
        audit_share=lesson.audit_share,
        is_active=settled.watch.due_at is not None,
    )


def belief_of(watch: Watch) -> bytes:
    """The belief in its row; of a watch that another policy kept so far, what its history tells."""
    if is_whole(watch.belief):
        return watch.belief
    if watch.seen is None or not watch.scan_count:
        return new_belief(to_hours(watch.created_at))
    changed = None if watch.last_changed_at is None else to_hours(watch.last_changed_at)
    times = (to_hours(watch.created_at), to_hours(watch.seen.at), changed)
    return remembered(watch.velocity, watch.scan_count, times)
