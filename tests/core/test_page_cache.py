"""Pages behind a cache: looks seconds apart show one drawing, so every visit seems to show an edit."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from change_lives import Life
from hypothesis import given
from hypothesis import strategies as st
from restless_pages import edit_steady, kept, make_page

from vedette.contracts.change import CacheRecord, Noise
from vedette.core.change.page_cache import PROOF, SECOND_LOOK, WAITS, differed, wait_for_next, wait_to_try
from vedette.store.text_columns import dump_noise, read_noise

SEEDS = range(12)


@pytest.mark.parametrize(("minutes", "visits"), [(0.5, 8), (1, 8), (5, 11), (10, 11)])
def test_what_a_cache_keeps_for_minutes_is_known_after_some_visits(minutes, visits):
    late = 0
    for seed in SEEDS:
        life = Life(kept(make_page(seed), minutes), random.Random(f"kept {seed}"))
        for _ in range(visits):
            life.visit()
        late += sum(len(life.visit()) for _ in range(20))
    assert late <= 4, f"{late} reports in {20 * len(SEEDS)} visits"


def test_an_edit_of_a_steady_line_behind_a_cache_is_reported_at_its_visit():
    missed = []
    for seed in SEEDS:
        page = make_page(seed)
        life, r = Life(kept(page, 5), random.Random(f"kept {seed}")), random.Random(f"edit {seed}")
        for _ in range(r.randint(3, 20)):
            life.visit()
        edited = edit_steady(page, r)
        told = [line for one in life.visit() for op in one.diff for line in op.after]
        if not any(edited in line for line in told):
            missed.append(seed)
    assert not missed


def edited_each(hours: float) -> Callable[[random.Random, float], str]:
    """A page that somebody edits once in so many hours: a rate, a headline."""

    def show(r: random.Random, hour: float) -> str:
        n = int(hour / hours)
        rate, news = 7.5 + n % 89 / 100, "abcdefghij"[n % 10] * 3 + f" {n} decided"
        return f"<main><h1>Rates</h1><p>Middle rate {rate:.2f} EUR.</p><p>Board {news} today.</p></main>"

    return show


@pytest.mark.parametrize("hours", [0.5, 0.9, 1.7, 4.0, 24.0])
def test_what_is_edited_at_every_visit_goes_on_being_reported(hours):
    life = Life(edited_each(hours), random.Random(1))
    life.visit()
    told = [bool(life.visit(hours=max(4.0, hours))) for _ in range(60)]
    assert all(told)


@pytest.mark.parametrize("seed", range(8))
def test_every_state_that_a_look_showed_is_told_though_edits_follow_within_the_try(seed):
    """Edits at every visit, some of them seconds or minutes after the first look: what a look saw is in a report."""
    r = random.Random(f"bursts {seed}")
    edits = sorted(
        t for v in range(1, 40) for t in (4.0 * v - r.random(), 4.0 * v + r.choice([0.01, 0.1, 3]))
    )
    rates = r.sample(range(100, 999), len(edits))
    shown: list[str] = []

    def show(_: random.Random, hour: float) -> str:
        rate = max((at, rate) for at, rate in zip([-1.0, *edits], [20, *rates], strict=True) if at <= hour)[1]
        shown.append(f"The rate is {rate} % from today.")
        return f"<main><h1>Rates</h1><p>{shown[-1]}</p><p>Ask the board.</p></main>"

    life = Life(show, random.Random(1))
    for _ in range(40):
        first = len(shown)
        told = [line for one in life.visit() for op in one.diff for line in op.after]
        steps = zip(shown[max(0, first - 1) :], shown[max(1, first) :], strict=False)
        missed = [after for before, after in steps if before != after and after not in told]
        assert not missed, life.noise.cache


def test_a_page_that_was_only_ever_edited_is_believed_as_soon_as_before():
    """Two tries, of a minute and of eleven, then none."""
    life, waits = Life(edited_each(4.0), random.Random(1)), []
    for _ in range(14):
        before = life.at
        life.visit()
        waits.append(life.at - before - timedelta(hours=4))
    assert waits[1:5] == [SECOND_LOOK, SECOND_LOOK, SECOND_LOOK + WAITS[1], WAITS[2]]
    assert set(waits[5:]) == {timedelta(0)}


def test_a_page_that_rests_between_its_edits_is_never_tried():
    life = Life(edited_each(8.0), random.Random(1))
    for _ in range(40):
        before = life.at
        life.visit()
        assert life.at - before - timedelta(hours=4) <= SECOND_LOOK


@given(
    st.builds(CacheRecord, st.integers(0, 40), st.integers(0, 2), st.integers(0, 5), st.integers(0, 2)),
    st.integers(0, 40),
    st.integers(0, 6 * 3600),
)
def test_nobody_waits_for_more_than_an_eighth_of_the_time_between_two_visits(cache, age, seconds):
    noise, since = Noise(cache=cache, edited_at=age), timedelta(seconds=seconds)
    for wait in (wait_for_next(noise, since), wait_to_try(noise, age, since)):
        assert wait is None or wait == SECOND_LOOK or 8 * wait <= since


@given(st.integers(0, 1), st.integers(0, 6))
def test_a_cache_is_known_after_tries_that_all_differed_and_not_before(tried, times):
    noise = Noise(cache=CacheRecord(edits=9, tried=tried))
    for _ in range(times):
        noise = differed(noise)
    assert (noise.cache.known > 0) == (times >= PROOF[tried + 1])


def test_what_is_known_of_a_cache_is_kept_and_older_rows_know_nothing_of_it():
    noise = Noise(agreed=2, cache=CacheRecord(3, 1, 2, 1))
    assert read_noise(dump_noise(noise)) == noise
    older = (dump_noise(noise) or "").replace('"cache":[3,1,2,1],', "")
    assert read_noise(older) == Noise(agreed=2)
