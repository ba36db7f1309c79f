from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vedette.core.change.history import flip_flop, learn_clock, learn_from_history
from vedette.core.change.mask import masked_key

NOON = datetime(2026, 1, 14, 12, tzinfo=UTC)


def page(line: str) -> tuple[tuple[str, str], ...]:
    return (("main/h1", "Zakon o porezu"), ("main/p", line))


def quiet(mask, *lines: str) -> bool:
    return len({masked_key(page(line), mask) for line in lines}) == 1


def test_a_counter_that_only_goes_up_is_noise_after_five_visits():
    seen = [page(f"Posjeta: {n}") for n in (120, 133, 180, 181, 240)]
    assert quiet(learn_from_history(seen), "Posjeta: 120", "Posjeta: 999")
    assert learn_from_history(seen[:4]) == ()


def test_a_rate_that_changes_daily_is_content():
    assert learn_from_history([page(f"EUR {n} %") for n in ("7,53", "7,54", "7,55")]) == ()
    assert learn_from_history([page(f"Tečaj {n} EUR") for n in ("7,53", "7,54", "7,55")]) == ()


def test_numbers_that_go_both_ways_and_plain_words_are_content():
    assert learn_from_history([page(f"Nezaposleno: {n}") for n in (120, 118, 133)]) == ()
    assert learn_from_history([page(f"Na snazi je {word}") for word in ("ovo", "ono", "nešto")]) == ()


def test_a_text_that_returned_twice_is_drawn_from_a_pool():
    pool = ["Citat: more je duboko", "Citat: tko rano rani"]
    assert quiet(flip_flop([page(pool[n % 2]) for n in range(4)]), *pool)
    assert flip_flop([page(pool[n % 2]) for n in range(3)]) == ()


def test_a_place_that_moved_with_the_clock_shows_the_time():
    later = NOON + timedelta(hours=4, minutes=11)
    assert quiet(
        learn_clock(page("Sada je 13:00 sati"), NOON, page("Sada je 17:11 sati"), later), "Sada je 01:02 sati"
    )
    assert learn_clock(page("Otvoreno od 8:00"), NOON, page("Otvoreno od 9:00"), later) == ()


def test_a_date_is_a_clock_only_when_it_shows_the_day_of_both_visits():
    later = NOON + timedelta(days=3)
    assert learn_clock(page("Danas je 14.01.2026."), NOON, page("Danas je 17.01.2026."), later)
    assert not learn_clock(page("Vrijedi od 1.1.2026."), NOON, page("Vrijedi od 4.1.2026."), later)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("u 12:30", "€½€b, 25"),
        ("12:30", "12:"),
        ("²²²²²²²²²²", "³³³³³³³³³³"),
        ("1" + "0" * 5000, "2" + "0" * 5000),
    ],
)
def test_places_that_show_odd_numbers_teach_nothing_and_break_nothing(one, other):
    states = [page(f"a {text} b") for text in (one, other, one + "1", other + "2")]
    learn_clock(states[0], NOON, states[1], NOON + timedelta(minutes=5))
    learn_from_history(states)
    flip_flop(states)
