"""Pages behind a cache: looks seconds apart show one drawing, so the next look has to come later."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from change_lives import Life
from hypothesis import given
from hypothesis import strategies as st
from restless_pages import edit_steady, kept, make_page

from vedette.contracts.change import Noise
from vedette.core.change.patience import SECOND_LOOK, WAITS, patience
from vedette.store.text_columns import dump_noise, read_noise

SEEDS = range(12)


@pytest.mark.parametrize(("minutes", "bar"), [(0.5, 0.1), (1, 0.1), (5, 3), (10, 3)])
def test_what_a_cache_keeps_for_minutes_is_reported_a_few_times_and_then_known(minutes, bar):
    """In its cache a first drawing looks like an edit; the second or third difference tells, and ends the first."""
    early = late = 0
    for seed in SEEDS:
        life = Life(kept(make_page(seed), minutes), random.Random(f"kept {seed}"))
        for visit in range(25):
            told = len(life.visit())
            early, late = (early + told, late) if visit < 8 else (early, late + told)
    assert early <= bar * len(SEEDS)
    assert late <= 2, f"{late} reports in {17 * len(SEEDS)} visits"


def test_an_edit_of_a_steady_line_behind_a_cache_is_reported_at_its_visit():
    missed = []
    for seed in SEEDS:
        page = make_page(seed)
        life, r = Life(kept(page, 5), random.Random(f"kept {seed}")), random.Random(f"edit {seed}")
        for _ in range(r.randint(6, 16)):
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


@pytest.mark.parametrize("hours", [0.9, 1.7, 4.0, 24.0])
def test_what_is_edited_at_every_visit_goes_on_being_reported(hours):
    life = Life(edited_each(hours), random.Random(1))
    life.visit()
    told = [bool(life.visit(hours=max(4.0, hours))) for _ in range(60)]
    assert all(told)


def test_a_page_that_was_only_ever_edited_is_believed_as_soon_as_before():
    life, waits = Life(edited_each(4.0), random.Random(1)), []
    for _ in range(14):
        before = life.at
        life.visit()
        waits.append(life.at - before - timedelta(hours=4))
    assert waits[1:] == [WAITS[1], WAITS[1], WAITS[2], SECOND_LOOK, *[timedelta(0)] * 9]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 2), st.integers(0, 6 * 3600))
def test_nobody_is_kept_waiting_for_more_than_an_eighth_of_the_time_between_two_visits(
    row, age, known, since
):
    noise = Noise(row=row, edited_at=age, patience=known)
    wait = WAITS[patience(noise, age, timedelta(seconds=since))]
    assert wait == SECOND_LOOK or 8 * wait <= timedelta(seconds=since)


def test_what_is_known_of_a_cache_is_kept_and_older_rows_know_nothing_of_it():
    noise = Noise(agreed=2, row=3, patience=1)
    assert read_noise(dump_noise(noise)) == noise
    older = (dump_noise(noise) or "").replace('"second_looks":[3,1],', "")
    assert read_noise(older) == Noise(agreed=2)
