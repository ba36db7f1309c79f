"""The freshness promise: the forecast moves the right way, the measured figure is as sure as it says."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.contracts.lane import LanePolicy
from vedette.core.freshness.measured import Outlook, expect, measure, stale_by_audits, wilson
from vedette.core.lanes.lane import starts_per_day
from vedette.core.schedule import make_policy
from vedette.core.schedule.due import Lot, place
from vedette.core.whatif.history import History, Targets, gaps
from vedette.core.whatif.play import teach

WITHIN = {"CRITICAL": 4.0, "HIGH": 4.0, "MEDIUM": 4.0, "LOW": 4.0}
GOAL = {"CRITICAL": (4.0, 0.95)}


def a_history(
    per_day: float, *, targets: int = 24, every: float = 6.0, days: float = 20.0, seed: int = 1
) -> History:
    """Targets of all risks on four hosts, looked at like clockwork."""
    rng = np.random.default_rng(seed)
    times = np.arange(every, days * 24, every)
    row = np.repeat(np.arange(targets), len(times))
    changed = rng.random(len(row)) < -np.expm1(-per_day / 24 * every)
    changed[:: len(times)] = False
    rows = np.arange(targets)
    return History(
        targets=Targets(risk=rows % 4, host=rows % 4, since=np.zeros(targets)), row=row, at=np.tile(times, targets),
        changed=changed, audit=np.full(len(row), np.nan), start=0.0, end=days * 24, requests=len(row),
    )  # fmt: skip


def outlook(
    history: History, *, budget: float | None = None, room: dict[int, float] | None = None, goals=GOAL
) -> Outlook:
    policy = make_policy("seed-ewma", objectives=goals)
    teach(policy, history)
    return expect(policy.forecast(history.end, budget), history.targets, goals, room or {})


def test_an_interval_that_was_asked_for_counts_as_it_is_and_no_promise_is_told_beyond_it():
    history = a_history(0.3)
    policy = make_policy("learned", objectives=GOAL)
    teach(policy, history)
    forecast = policy.forecast(history.end, None)

    def critical(hours: float):
        every = np.full(len(history.targets), np.nan)
        every[history.targets.risk == 3] = hours
        return expect(forecast, history.targets, GOAL, {}, every).classes["CRITICAL"]

    assert expect(forecast, history.targets, GOAL, {}).classes["CRITICAL"].is_met
    assert critical(1).is_met
    assert not critical(24).is_met
    assert critical(24).coverage == pytest.approx(4 / 24)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 6), st.floats(5, 300), st.floats(1.05, 4))
def test_more_budget_is_never_expected_to_see_less(rate, budget, times):
    history = a_history(rate)
    less, more = outlook(history, budget=budget), outlook(history, budget=budget * times)
    for name in WITHIN:
        assert less.classes[name].coverage <= more.classes[name].coverage + 1e-9
    assert less.shortfall >= more.shortfall
    assert outlook(history).shortfall == 0


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 6), st.floats(1, 60), st.floats(1.05, 4))
def test_a_host_with_less_room_covers_less_and_misses_more(rate, room, times):
    history = a_history(rate)  # host 3 has all the CRITICAL targets: 6 of them ask for 34.2 looks a day
    less, more = outlook(history, room={3: room}), outlook(history, room={3: room * times})
    assert less.classes["CRITICAL"].coverage <= more.classes["CRITICAL"].coverage
    assert less.classes["HIGH"].coverage == more.classes["HIGH"].coverage
    assert bool(less.tight) == (room < 6 * 24 * 0.95 / 4)
    if less.tight:
        assert less.tight[0].host == 3
        assert less.tight[0].missing == pytest.approx(34.2 - room)
        assert less.tight[0].coverage == pytest.approx(0.95 * room / 34.2)
        assert not less.classes["CRITICAL"].is_met


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 2), st.floats(1.5, 4))
def test_livelier_targets_ask_for_more_looks(rate, times):
    assert outlook(a_history(rate)).needed <= outlook(a_history(rate * times)).needed


@given(st.floats(0.5, 24), st.floats(1.05, 4), st.floats(0.5, 0.9))
def test_a_stricter_objective_needs_more(hours, times, share):
    history = a_history(0.5, targets=8, days=4)
    loose = outlook(history, goals={"CRITICAL": (hours * times, share)}).classes["CRITICAL"].needed
    strict = outlook(history, goals={"CRITICAL": (hours, share)}).classes["CRITICAL"].needed
    stricter = outlook(history, goals={"CRITICAL": (hours, share + 0.1)}).classes["CRITICAL"].needed
    assert loose < strict < stricter


def test_a_class_without_an_objective_is_never_broken():
    found = outlook(a_history(1.0), budget=1.0, goals={})
    assert found.is_met
    assert found.classes["CRITICAL"].needed is None


def test_what_a_lane_lets_through_in_a_day():
    assert starts_per_day(LanePolicy()) == pytest.approx(86_400 / 3.5)
    assert starts_per_day(LanePolicy(per_minute=1)) == 1440
    assert starts_per_day(LanePolicy(), timedelta(seconds=60)) == 1440
    between = starts_per_day(LanePolicy(per_minute=0), timedelta(seconds=4))
    assert 86_400 / 5 < between < 86_400 / 4
    nothing = LanePolicy(gap_min=timedelta(0), gap_max=timedelta(0), per_minute=0)
    assert starts_per_day(nothing) == float("inf")


@given(st.floats(0, 1), st.floats(1, 1e6))
def test_an_interval_holds_its_value_and_stays_a_share(share, count):
    one = wilson(share, count)
    assert 0 <= one.low <= one.value <= one.high <= 1


class _Watched:
    """Targets that change by chance and are looked at as a policy of fixed intervals says, audits among it."""

    def __init__(self, seed: int, *, share: float, days: float = 40.0, targets: int = 40) -> None:
        rng = np.random.default_rng(seed)
        self.end = days * 24
        rows: list[int] = []
        at: list[float] = []
        changed: list[bool] = []
        audit: list[float] = []
        self.stale = self.total = 0.0
        self.in_time: list[bool] = []  # of every change that a look found
        for row in range(targets):
            rate, every = rng.lognormal(-4.0, 1.2), rng.choice([3.0, 6.0, 24.0, 60.0])
            times = np.cumsum(rng.exponential(1 / rate, int(rate * self.end * 3) + 50))
            t, n = 0.0, 0
            while t < self.end:
                hours = every * rng.uniform(0.9, 1.1)
                where = place(Lot(seed * 1000 + row, n, share))
                n += 1
                upto = min(t + hours, self.end)
                seen = times[np.searchsorted(times, t, "right") : np.searchsorted(times, upto, "right")]
                self.total += upto - t  # the schedule without audits is what the share is about
                self.stale += upto - seen[0] if len(seen) else 0.0
                after = t + hours * (1.0 if where is None else where)
                if after >= self.end:
                    break
                found = seen[seen <= after]
                if n > 1:
                    self.in_time += (after - found <= 4.0).tolist()
                rows.append(row)
                at.append(after)
                changed.append(len(found) > 0)
                audit.append(np.nan if where is None else hours)
                t = after
        whom = Targets(risk=np.full(targets, 3), host=np.zeros(targets, np.int64), since=np.zeros(targets))
        flags = np.array(changed) & np.r_[False, np.diff(rows) == 0]
        self.history = History(
            targets=whom, row=np.array(rows), at=np.array(at), changed=flags, audit=np.array(audit),
            start=0.0, end=self.end, requests=len(rows),
        )  # fmt: skip

    @property
    def true_stale(self) -> float:
        return self.stale / self.total


def covers(one, truth: float) -> bool:
    return one.low - 1e-12 <= truth <= one.high + 1e-12


@pytest.fixture(scope="module")
def watched() -> list[_Watched]:
    return [_Watched(seed, share=0.05) for seed in range(40)]


def test_the_audited_stale_share_is_unbiased(watched):
    """Weighed over all worlds it is the truth; the plain share of audits that find something is not."""
    weight = found = plain = count = 0.0
    for one in watched:
        audits = ~np.isnan(one.history.audit)
        weight += one.history.audit[audits].sum()
        found += (one.history.audit * one.history.changed)[audits].sum()
        plain += one.history.changed[audits].sum()
        count += audits.sum()
    truth = np.mean([one.true_stale for one in watched])
    assert found / weight == pytest.approx(truth, rel=0.1)
    assert plain / count < 0.7 * truth


def test_the_stale_interval_covers_the_truth_nineteen_times_in_twenty(watched):
    hits = [covers(measure(one.history, WITHIN)["CRITICAL"].stale, one.true_stale) for one in watched]
    assert 0.87 <= np.mean(hits) <= 1.0


def test_the_interval_of_the_share_in_time_covers_the_truth(watched):
    hits = []
    for one in watched:
        found = measure(one.history, WITHIN)["CRITICAL"]
        truth = np.mean(one.in_time)
        assert found.sure <= found.in_time.value
        hits.append(covers(found.in_time, truth))
    assert 0.87 <= np.mean(hits) <= 1.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_both_intervals_cover_as_often_as_they_say_over_many_worlds():
    many = [_Watched(seed, share=0.05) for seed in range(100, 500)]
    told = [measure(one.history, WITHIN)["CRITICAL"] for one in many]
    stale = np.mean([covers(t.stale, one.true_stale) for t, one in zip(told, many, strict=True)])
    in_time = np.mean([covers(t.in_time, np.mean(one.in_time)) for t, one in zip(told, many, strict=True)])
    assert 0.92 <= stale <= 0.98
    assert 0.92 <= in_time <= 1.0


def test_gaps_and_audits_tell_of_the_same_staleness(watched):
    told = [measure(one.history, WITHIN)["CRITICAL"].stale_by_gaps for one in watched]
    assert np.mean(told) == pytest.approx(np.mean([one.true_stale for one in watched]), rel=0.15)


def test_nothing_on_record_is_said_and_not_guessed():
    empty = a_history(1.0)
    none = History(
        targets=empty.targets, row=np.zeros(0, np.int64), at=np.zeros(0), changed=np.zeros(0, bool),
        audit=np.zeros(0), start=0.0, end=1.0, requests=0,
    )  # fmt: skip
    found = measure(none, WITHIN)["CRITICAL"]
    assert (found.in_time, found.sure, found.stale, found.stale_by_gaps) == (None, None, None, None)
    assert len(gaps(none).row) == 0
    assert stale_by_audits(np.zeros(0), np.zeros(0, bool)) is None


@pytest.mark.parametrize("budget", [None, 40.0])
def test_a_policy_that_learned_without_planning_foresees_the_same(budget: float | None):
    history = a_history(0.3)
    planned, unplanned = (make_policy("learned", objectives=GOAL) for _ in range(2))
    teach(planned, history)
    teach(unplanned, history, to_forecast=True)
    assert unplanned.forecast(history.end, budget) == planned.forecast(history.end, budget)
