"""How long a restless line may stay or be away before it is news."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.change import Place, Presence
from vedette.core.change.noise import (
    ERROR,
    SETTLED,
    chance,
    chance_of_draws,
    is_away_too_long,
    stays_too_long,
    stepped,
)
from vedette.core.change.weigh import MAX_LOOKS, VERSION, looks_needed

COUNTS = st.integers(0, 200)


@given(kept=COUNTS, ended=COUNTS, run=st.integers(1, 200))
def test_the_chance_to_go_on_falls_with_every_look_and_rises_with_every_time_it_went_on(kept, ended, run):
    assert 0 < chance(kept, ended, run) <= chance(kept, ended, run - 1) <= 1
    assert chance(kept + 1, ended, run) >= chance(kept, ended, run)
    assert chance(kept, ended + 1, run) <= chance(kept, ended, run)


@given(first=st.integers(1, 300), then=st.integers(1, 300))
def test_the_longer_a_line_was_steady_the_fewer_looks_tell_an_edit(first, then):
    assert chance_of_draws(first + 1, then) < chance_of_draws(first, then)
    assert chance_of_draws(first, then + 1) < chance_of_draws(first, then)
    assert 1 <= looks_needed(first + 1, 1e-4) <= looks_needed(first, 1e-4) <= MAX_LOOKS


@given(st.lists(st.booleans(), max_size=60))
def test_every_step_is_counted_once(looks):
    presence = Presence()
    for is_there in looks:
        presence = stepped(presence, is_there)
    seen = looks[looks.index(True) :] if True in looks else []
    steps = presence.stays + presence.leaves + presence.waits + presence.returns
    assert steps == max(0, len(seen) - 1)
    assert presence.is_there == (bool(looks) and looks[-1])


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_line_that_is_drawn_is_next_to_never_taken_for_an_edit(share):
    """200 pages of 500 looks each; at ERROR one would be expected once in some hundred such tests."""
    told = runs = 0
    for seed in range(200):
        draw, presence = Random(f"{share} {seed}"), Presence(waits=8, run=-8)
        for _ in range(500):
            was = presence.is_there
            presence = stepped(presence, draw.random() < share)
            runs += was != presence.is_there
            told += presence.run > 1 and presence.leaves > 0 and stays_too_long(presence, None)
            told += presence.run < -1 and presence.returns > 1 and is_away_too_long(presence, None)
    assert told <= max(3, 30 * ERROR * runs)


@pytest.mark.parametrize(("share", "looks"), [(0.1, 20), (0.3, 25), (0.5, 35)])
def test_a_drawn_line_that_stays_for_good_is_told_within_the_stated_looks(share, looks):
    draw, presence = Random(7), Presence(waits=8, run=-8)
    for _ in range(60):
        presence = stepped(presence, draw.random() < share)
    stayed = 0
    while not (presence.run > 1 and stays_too_long(presence, None)):
        presence, stayed = stepped(presence, True), stayed + 1
        assert stayed <= looks


def test_where_every_text_is_new_one_that_stays_is_told_after_a_few_looks():
    place = Place("main/p", stays=0, leaves=60)
    presence, looks = Presence(waits=30, run=-30), 0
    while not (presence.run > 1 and stays_too_long(presence, place)):
        presence, looks = stepped(presence, True), looks + 1
    assert looks <= 5
    assert not is_away_too_long(Presence(leaves=1, waits=99, returns=1, run=-100), place)


def test_the_looks_that_must_agree_are_those_of_the_documentation():
    assert [looks_needed(seen, VERSION) for seen in (4, 3, 2, 1)] == [1, 2, 3, 7]
    assert [looks_needed(seen, SETTLED) for seen in (45, 27, 14, 10, 8)] == [1, 2, 3, 5, 6]
