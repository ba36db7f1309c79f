"""The frontier asks for the best lanes, once each, within its room, and forgets no due time."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from settlements import HOUR, NOON, RUN, SECOND, a_watch

from vedette.contracts.watch import Ask, Watch
from vedette.contracts.words import LaneKey, Risk, WatchId
from vedette.core.schedule.due import value
from vedette.frontier import Frontier
from vedette.frontier.queue import HORIZON, LEASE, MOST_PER_LANE, best

A, B, C, D = (LaneKey(f"host:{name}.example") for name in "abcd")
NOTHING: list[datetime | None] = [None] * len(Risk)
NO_GAP = timedelta(0)


def free(lane: LaneKey) -> timedelta:
    return NO_GAP


def page(lane: LaneKey, number: int = 1, **fields: object) -> Watch:
    return a_watch(f"https://{lane.removeprefix('host:')}/{number}", **fields)


def test_a_lane_is_due_when_its_earliest_class_is():
    frontier = Frontier(run=RUN)
    assert frontier.next_due() is None
    frontier.note_due(A, NOON + 2 * HOUR, Risk.LOW)
    frontier.note_due(A, NOON + HOUR, Risk.HIGH)
    frontier.note_due(A, NOON + 3 * HOUR, Risk.HIGH)
    assert frontier.next_due() == NOON + HOUR
    assert frontier.pop_due(NOON) == []
    assert frontier.pop_due(NOON + HOUR) == [A]
    assert frontier.pop_due(NOON + HOUR) == []


def test_the_lane_with_the_best_value_is_asked_for_first():
    frontier = Frontier(run=RUN)
    frontier.note_due(A, NOON - HOUR, Risk.LOW)
    frontier.note_due(B, NOON - HOUR, Risk.CRITICAL)
    frontier.note_due(C, NOON - 300 * HOUR, Risk.LOW)  # late by many intervals: nothing starves
    for lane in (A, B, C):
        frontier.line_up(lane, NOON)
    assert [ask.lane for ask in frontier.asks(free)] == [C, B, A]


def test_a_lane_stands_in_line_once_and_only_with_due_work_and_nothing_leased():
    frontier = Frontier(run=RUN)
    frontier.note_due(A, NOON, Risk.LOW)
    frontier.note_due(B, NOON + HOUR, Risk.LOW)
    for lane in (A, A, B, C):
        frontier.line_up(lane, NOON)
    assert [ask.lane for ask in frontier.asks(free)] == [A]
    frontier.line_up(A, NOON)
    assert not frontier.has_line()  # the claim is on its way
    frontier.offer(A, [page(A)], now=NOON, dues=[NOON, None, None, None])
    frontier.line_up(A, NOON)
    assert not frontier.has_line()  # it has work
    frontier.pop(A)
    frontier.line_up(A, NOON)
    assert frontier.has_line()


def test_a_claim_asks_for_about_as_much_as_the_lane_can_start_soon():
    frontier = Frontier(run=RUN)
    for lane in (A, B, C):
        frontier.note_due(lane, NOON, Risk.LOW)
        frontier.line_up(lane, NOON)
    gaps = {A: NO_GAP, B: HORIZON / 4, C: HORIZON * 9}
    assert frontier.asks(lambda lane: gaps[lane]) == [Ask(A, MOST_PER_LANE), Ask(B, 4), Ask(C, 1)]


def test_what_was_offered_comes_out_best_first_as_leased_jobs():
    frontier = Frontier(run=RUN)
    watches = [page(A, n, risk=Risk.HIGH, due_at=NOON - n * HOUR, interval=HOUR) for n in (3, 1)]
    frontier.offer(A, watches, now=NOON, dues=NOTHING)
    assert frontier.leased == 2
    job = frontier.peek(A)
    assert job is not None
    assert job.watch is watches[0]
    assert job.value == value(Risk.HIGH, NOON - 3 * HOUR, HOUR, NOON)
    assert (job.leased_until, job.lanes) == (NOON + LEASE, (A, LaneKey("all")))
    assert [frontier.pop(A).watch for _ in watches] == watches
    assert (frontier.leased, frontier.peek(A)) == (0, None)


def test_a_due_time_noted_while_a_claim_is_on_its_way_is_not_forgotten():
    """The operator said `due` after the claim was answered and before we heard the answer."""
    frontier = Frontier(run=RUN)
    frontier.note_due(A, NOON - HOUR, Risk.LOW)
    frontier.line_up(A, NOON)
    frontier.asks(free)
    frontier.note_due(A, NOON, Risk.MEDIUM)
    frontier.offer(A, [], now=NOON, dues=[NOON + HOUR, None, None, None])
    assert frontier.next_due() == NOON
    assert frontier.pop_due(NOON) == [A]
    frontier.line_up(A, NOON)
    assert frontier.has_line()


def test_a_lane_that_shuts_gives_its_leases_back_and_the_room_with_them():
    frontier = Frontier(run=RUN, room=2)
    watches = [page(A, n) for n in (1, 2)]
    frontier.offer(A, watches, now=NOON, dues=NOTHING)
    frontier.note_due(B, NOON, Risk.LOW)
    frontier.line_up(B, NOON)
    assert frontier.asks(free) == []
    assert [job.watch for job in frontier.give_back(A)] == watches
    assert frontier.peek(A) is None
    assert frontier.asks(free) == [Ask(B, 2)]


heads = st.lists(
    st.tuples(
        st.integers(1, 10**6).map(WatchId),
        st.sampled_from(Risk),
        st.integers(-(10**6), 10**6).map(lambda s: NOON + s * SECOND),
        st.integers(0, 10**6),
    ),
    max_size=20,
    unique_by=lambda head: head[0],
)


@given(heads, st.integers(1, 8))
def test_the_best_of_the_heads_is_by_value_not_by_class(found, most: int):
    worth = {i: value(risk, due, timedelta(seconds=s), NOON) for i, risk, due, s in found}
    chosen = best(found, most, NOON)
    assert len(chosen) == min(most, len(found)) == len(set(chosen))
    left = [worth[i] for i in worth if i not in chosen]
    assert all(worth[i] >= max(left, default=0.0) for i in chosen)
    assert [worth[i] for i in chosen] == sorted((worth[i] for i in chosen), reverse=True)


class Frontiers(RuleBasedStateMachine):
    """Random notes, claims, answers and starts, against a store that is a dict of due times."""

    lanes = st.sampled_from([A, B, C, D])

    def __init__(self) -> None:
        super().__init__()
        self.frontier = Frontier(run=RUN, most_per_lane=3, room=5)
        self.now = NOON
        self.store: dict[WatchId, Watch] = {}
        self.leased: dict[LaneKey, list[WatchId]] = {}
        self.asked: dict[LaneKey, int] = {}
        self.number = 0

    @rule(lane=lanes, risk=st.sampled_from(Risk), after=st.integers(-5, 5))
    def find(self, lane: LaneKey, risk: Risk, after: int) -> None:
        self.number += 1
        watch = page(lane, self.number, risk=risk, due_at=self.now + after * SECOND)
        self.store[watch.id] = watch
        self.frontier.note_due(lane, watch.due_at, risk)

    @rule(seconds=st.integers(1, 4))
    def time_goes_on(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @precondition(lambda self: not self.asked)  # one claim at a time, as the engine does it
    @rule()
    def ask(self) -> None:
        for lane in (A, B, C, D):
            self.frontier.line_up(lane, self.now)
        asks = self.frontier.asks(free)
        self.asked = {ask.lane: ask.most for ask in asks}
        assert len(self.asked) == len(asks), "asked for twice at once"
        assert not [lane for lane in self.asked if self.leased.get(lane)]
        room = 5 - self.frontier.leased - sum(self.asked.values())
        assert room >= 0
        if room:
            assert self._due_lanes() <= set(self.asked), "a due lane was forgotten"

    @rule()
    def answer(self) -> None:
        for lane, most in self.asked.items():
            due = [w for w in self._waiting(lane) if w.due_at <= self.now]
            due.sort(key=lambda w: -value(w.risk, w.due_at, w.interval, self.now))
            chosen = due[:most]
            self.leased[lane] = [w.id for w in chosen]
            rest = self._waiting(lane)
            dues = [min((w.due_at for w in rest if w.risk is r), default=None) for r in Risk]
            self.frontier.offer(lane, chosen, now=self.now, dues=dues)
        self.asked.clear()

    @rule(lane=lanes)
    def start(self, lane: LaneKey) -> None:
        if self.frontier.peek(lane) is not None:
            job = self.frontier.pop(lane)
            assert job.watch.id == self.leased[lane].pop(0)
            del self.store[job.watch.id]

    @invariant()
    def leases_are_counted_within_the_room(self) -> None:
        assert self.frontier.leased == sum(map(len, self.leased.values())) <= 5

    def _due_lanes(self) -> set[LaneKey]:
        """With work that is due, and none of it leased."""
        due = {lane for lane in (A, B, C, D) if any(w.due_at <= self.now for w in self._waiting(lane))}
        return {lane for lane in due if not self.leased.get(lane)}

    def _waiting(self, lane: LaneKey) -> list[Watch]:
        taken = set(self.leased.get(lane, ()))
        return [w for w in self.store.values() if w.lane == lane and w.id not in taken]


TestFrontiers = Frontiers.TestCase
TestFrontiers.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_what_is_due_at_every_claim_leaves_a_turn_to_what_is_worth_little_and_late():
    """A page that is asked for every second takes its whole lane; another one is due once in 30 days."""
    looked = Counter()
    for turn in range(0, 2 * 86_400, 3):
        now = NOON + timedelta(seconds=turn, milliseconds=turn % 7)
        often = (WatchId(1), Risk.CRITICAL, now - timedelta(seconds=2), 1)
        seldom = (WatchId(2), Risk.LOW, NOON, 30 * 86_400)
        looked.update(best([often, seldom], 1, now))
    assert 0 < looked[WatchId(2)] < sum(looked.values()) / 8
