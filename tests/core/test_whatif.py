"""What-if: truths that fit a history, policies played on them, bounds that hold the real truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.core.schedule import make_policy
from vedette.core.urls.classify import classify_url
from vedette.core.whatif.history import (
    FASTEST,
    SLOWEST,
    Extreme,
    History,
    Targets,
    Truth,
    estimate,
    first_and_last,
    gaps,
    imputer,
    sorted_truth,
)
from vedette.core.whatif.play import ALL, Bounds, PlayTerms, bounds, exact, figures, play, teach
from vedette.livingweb import grid_world
from vedette.surface.cli.plots import truth_of

DAY = 24.0
FIGURES = ("requests", "delay", "within", "missed")


def some_targets(n: int, *, hosts: int = 3) -> Targets:
    rows = np.arange(n)
    return Targets(risk=rows % 4, host=rows % hosts, since=np.zeros(n))


def poisson(n: int, per_day: float, days: float, seed: int) -> Truth:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(per_day * days, n)
    at = rng.random(counts.sum()) * days * DAY
    return sorted_truth(some_targets(n), np.repeat(np.arange(n), counts), at, (0.0, days * DAY))


def looks(rows: list[int], at: list[float], changed: list[bool], n: int = 1, end: float = 100.0) -> History:
    return History(
        targets=some_targets(n), row=np.array(rows), at=np.array(at), changed=np.array(changed, bool),
        audit=np.full(len(rows), np.nan), start=0.0, end=end, requests=len(rows),
    )  # fmt: skip


def test_a_gap_is_the_time_between_two_looks_at_one_target():
    found = gaps(looks([0, 0, 0, 1], [1.0, 5.0, 7.0, 2.0], [False, True, False, False], n=2))
    assert found.begin.tolist() == [1.0, 5.0]
    assert found.hours.tolist() == [4.0, 2.0]
    assert found.changed.tolist() == [True, False]
    first, last = first_and_last(looks([0, 0], [1.0, 5.0], [False, False], n=2))
    assert (first.tolist(), last.tolist()) == ([1.0, 100.0], [5.0, 100.0])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(0, 2))
def test_every_draw_and_every_extreme_would_have_left_the_same_history(seed, of, number):
    """Looked at where it was looked at, an imputed truth shows a change exactly where the history has one."""
    history = play(
        make_policy("seed-ewma", seed=seed), poisson(12, 0.7, 10, seed), PlayTerms(), record=True
    ).history
    made = imputer(history)
    truths = [made.draw(number, of, seed), *(made.extreme(which) for which in Extreme)]
    for truth in truths:
        seen = gaps(history)
        inside = [
            bool(((truth.row == row) & (truth.at > begin) & (truth.at <= end)).any())
            for row, begin, end in zip(seen.row, seen.begin, seen.end, strict=True)
        ]
        assert inside == seen.changed.tolist()


def test_the_same_draw_is_the_same_truth_and_another_is_another():
    history = play(make_policy("fixed"), poisson(20, 1.0, 10, 3), PlayTerms(), record=True).history
    made = imputer(history)
    assert made.draw(3, 20).at.tolist() == made.draw(3, 20).at.tolist()
    assert made.draw(3, 20).at.tolist() != made.draw(4, 20).at.tolist()
    assert made.draw(3, 20, seed=1).at.tolist() != made.draw(3, 20, seed=2).at.tolist()


def test_extremes_put_the_change_right_after_and_right_before():
    made = imputer(looks([0, 0], [10.0, 20.0], [False, True]))
    assert made.extreme(Extreme.EARLY).at[0] == pytest.approx(10.0, abs=1e-5)
    assert made.extreme(Extreme.LATE).at[0] == 20.0


def test_rates_find_the_truth_where_the_looks_tell_and_stay_open_where_they_do_not():
    history = play(
        make_policy("fixed", every_hours=6.0), poisson(300, 1.0, 60, 5), PlayTerms(), record=True
    ).history
    mean = estimate(gaps(history), 300).mean(np.arange(300)) * DAY
    assert np.median(mean) == pytest.approx(1.0, rel=0.15)
    always = looks([0] * 50, [4.0 * n for n in range(50)], [False] + [True] * 49, end=200.0)
    wide = estimate(gaps(always), 1)
    low, high = wide.quantiles(np.array([0.05]))[0], wide.quantiles(np.array([0.95]))[0]
    assert high / low > 1.5
    assert low * 4 > 1.0  # at least about one change per look
    never = estimate(gaps(looks([0] * 50, [4.0 * n for n in range(50)], [False] * 50, end=200.0)), 1)
    assert never.mean(np.arange(1))[0] < 1 / 100
    assert SLOWEST < never.mean(np.arange(1))[0] < low < high <= FASTEST * 1.3


def test_play_counts_delay_missed_states_and_requests():
    """Looked at every 6 hours: of two changes in one gap the first state is missed, both have their delay."""
    truth = sorted_truth(some_targets(1), np.array([0, 0, 0]), np.array([7.0, 9.0, 20.0]), (0.0, 48.0))
    policy = make_policy("fixed", every_hours=6.0, jitter_share=0.0)
    played = play(policy, truth, PlayTerms(within=(4.0,) * 4, step=1.0))
    # looks at 1, 7, 13, 19, 25, ...: the change at 7 is seen at once, that of 9 at 13, that of 20 at 25
    assert (played.changes[0], played.missed[0], played.unseen[0]) == (3, 0, 0)
    assert played.delay[0] == pytest.approx(0 + 4 + 5)
    assert (played.judged[0], played.in_time[0]) == (3, 2)
    late = sorted_truth(some_targets(1), np.array([0, 0, 0]), np.array([8.0, 9.0, 47.5]), (0.0, 48.0))
    again = play(make_policy("fixed", every_hours=6.0, jitter_share=0.0), late, PlayTerms(step=1.0))
    assert (again.missed[0], again.unseen[0], again.judged[0]) == (1, 1, 2)
    assert figures(again)["LOW"]["delay"] == pytest.approx((5 + 4 + 0.5) / 3)


def test_what_was_there_at_the_first_look_is_no_change():
    truth = sorted_truth(some_targets(1), np.array([0]), np.array([0.1]), (0.0, 48.0))
    assert play(make_policy("fixed"), truth, PlayTerms()).changes.sum() == 0


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(["seed-ewma", "fixed", "per-risk"]), st.floats(2, 80), st.integers(0, 99))
def test_a_budget_is_never_passed(name, budget, seed):
    played = play(make_policy(name, seed=seed), poisson(30, 0.5, 7, seed), PlayTerms(budget=budget))
    assert played.looks.sum() <= budget * 7 + 1


def test_a_tight_host_is_never_asked_more_than_its_room():
    truth = poisson(30, 0.5, 7, 1)
    played = play(make_policy("fixed", every_hours=2.0), truth, PlayTerms(room={0: 20.0}), record=True)
    hosts = truth.targets.host[played.history.row]
    assert (hosts == 0).sum() <= 20 * 7 + 1
    assert (hosts == 1).sum() > 10 * 11 * 7


def test_more_budget_sees_sooner():
    truth = poisson(200, 0.5, 14, 2)
    delays = [
        figures(play(make_policy("seed-ewma"), truth, PlayTerms(budget=b)))[ALL]["delay"]
        for b in (100, 300, 900)
    ]
    assert delays == sorted(delays, reverse=True)


def test_a_budget_that_buys_nothing_is_said():
    with pytest.raises(InputError, match="buys no look"):
        play(make_policy("fixed"), poisson(3, 1.0, 3, 1), PlayTerms(budget=0.0))
    with pytest.raises(InputError, match="no length"):
        sorted_truth(some_targets(1), np.zeros(0, np.int64), np.zeros(0), (5.0, 5.0))


def test_a_known_truth_has_bounds_without_width():
    table = exact(figures(play(make_policy("fixed"), poisson(20, 1.0, 5, 1), PlayTerms())))
    assert table[ALL]["delay"].low == table[ALL]["delay"].high


def test_a_taught_policy_knows_what_one_knows_that_made_the_looks_itself():
    truth = poisson(40, 1.0, 20, 9)
    own = make_policy("seed-ewma", seed=4)
    history = play(own, truth, PlayTerms(), record=True).history
    told = make_policy("seed-ewma", seed=4)
    teach(told, history)
    assert [told.next_due(n) for n in range(40)] == [own.next_due(n) for n in range(40)]


Held = list[tuple[str, str, float, Bounds]]


def held(
    seeds: tuple[int, ...],
    policies: tuple[str, ...],
    shares: tuple[float | None, ...],
    days: float,
    step: float,
) -> Held:
    """Figures of the living web's truth beside the bounds that a history of it gives."""
    found: Held = []
    for seed in seeds:
        truth = truth_of(grid_world(12, 16, seed=seed), days, classify_url)
        history = play(make_policy("seed-ewma", seed=1), truth, PlayTerms(step=step), record=True).history
        made, spent = imputer(history), history.requests / history.days
        for name in policies:
            for share in shares:
                terms = PlayTerms(budget=None if share is None else share * spent, step=step)
                real = figures(play(make_policy(name, seed=2), truth, terms))
                table = bounds(lambda name=name: make_policy(name, seed=2), made, terms)
                found += [(risk, key, real[risk][key], table[risk][key]) for risk in table for key in FIGURES]
    return found


@pytest.fixture(scope="module")
def few() -> Held:
    return held((2,), ("seed-ewma", "per-risk"), (None, 0.5), 7, 1.0)


def test_the_bounds_hold_the_living_webs_truth(few):
    assert len(few) == 2 * 2 * 5 * 4
    assert [(risk, key, real, one) for risk, key, real, one in few if not one.contains(real)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("worlds", "policies", "budgets"),
    [
        ((1, 3), ("seed-ewma", "per-risk"), (None, 0.25)),
        pytest.param(
            (1, 2, 3, 4),
            ("seed-ewma", "fixed", "per-risk"),
            (None, 0.25, 0.5, 1.0),
            marks=[pytest.mark.drill, pytest.mark.timeout(1200)],
        ),
    ],
    ids=["some", "many"],
)
def test_the_bounds_hold_the_truth_of_many_worlds_policies_and_budgets(worlds, policies, budgets):
    many = held(worlds, policies, budgets, 10, 0.25)
    out = [(risk, key, real, one) for risk, key, real, one in many if not one.contains(real)]
    assert len(out) <= len(many) * 0.01, out


def test_the_bounds_are_narrow_enough_to_be_of_use(few):
    """Median widths: requests 3 %, delay its own size, the share 40 points, the missed five times themselves."""
    widths: dict[str, list[float]] = {}
    for _, key, real, one in few:
        size = 1.0 if key == "within" else max(real, 1.0)
        widths.setdefault(key, []).append((one.high - one.low) / size)
    median = {key: float(np.median(each)) for key, each in widths.items()}
    assert median["requests"] < 0.03
    assert median["delay"] < 1.0
    assert median["within"] < 0.4
    assert median["missed"] < 5.0
    assert all(one.least <= one.low <= one.middle <= one.high <= one.most for _, _, _, one in few)
