"""Lines that keep their words and draw values anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.core.change.kinds import accepts, kind_of
from vedette.core.change.template import fits, learn_template, values

LABELS = st.sampled_from(["Posjeta danas:", "Request id", "Ukupno preuzeto", "Šifra dokumenta je"])
NUMBERS = st.integers(0, 10**9).map(str)
TOKENS = st.text("0123456789abcdef", min_size=6, max_size=20).filter(lambda t: not t.isalpha())


@pytest.mark.parametrize(
    ("texts", "fit", "misfit"),
    [
        (["Posjeta 120", "Posjeta 133"], "Posjeta 9000", "Posjeta ukupno 9000"),
        (
            ["Kod 215 503 74 vrijedi.", "Kod 334 184 75 vrijedi."],
            "Kod 1 2 3 vrijedi.",
            "Kod 1 2 3 ne vrijedi.",
        ),
        (
            ["Osvježeno prije 5 min, 12 čita", "Osvježeno prije 9 min, 7 čita"],
            "Osvježeno prije 1 min, 4 čita",
            "",
        ),
        (["ID a1b2c3", "ID 9f8e7d"], "ID 00ff00", "ID nije dodijeljen"),
        (["Posted 54 seconds ago", "Posted 42 minutes ago"], "Posted an hour ago", "Posted 42 minutes late"),
        (
            ["Objavljeno prije 5 min", "Objavljeno prije 2 sata"],
            "Objavljeno prije 11 dana",
            "Objavljeno prije roka",
        ),
        (
            ["Gemeldet vor 5 Minuten", "Gemeldet vor 2 Stunden"],
            "Gemeldet vor 3 Tagen",
            "Gemeldet vor 3 Zeugen",
        ),
        (["Oznaka 4411", "Oznaka 17"], "Oznaka 3", "Oznaka 12,5 %"),
    ],
)
def test_a_template_fits_what_is_drawn_next_and_not_what_was_edited(texts, fit, misfit):
    template = learn_template("main/p", texts)
    assert template is not None
    assert fits(template, fit)
    assert not fits(template, misfit)


@given(
    label=LABELS,
    tail=st.sampled_from(["", " danas", " (od 2019.)"]),
    shown=st.lists(NUMBERS | TOKENS, min_size=2),
)
def test_a_template_fits_all_that_it_was_learned_from(label, tail, shown):
    texts = [f"{label} {value}{tail}" for value in shown]
    template = learn_template("main/p", texts)
    if template is not None:
        assert all(fits(template, text) for text in texts)
        assert all("".join(values(template, text) or ()) in text for text in texts)


@given(first=NUMBERS, second=NUMBERS, at=st.integers(0, 40))
def test_an_edit_anywhere_outside_the_values_does_not_fit(first, second, at):
    left, right = "Ministarstvo je danas zaprimilo", "novih zahtjeva građana za povrat."
    if first == second:
        return
    template = learn_template("main/p", [f"{left} {first} {right}", f"{left} {second} {right}"])
    assert template is not None
    words = left.split() if at % 2 else right.split()
    words[at % len(words)] = "izmjena"
    edited = f"{' '.join(words)} {first} {right}" if at % 2 else f"{left} {first} {' '.join(words)}"
    assert not fits(template, edited)


@pytest.mark.parametrize(
    "texts", [["Kupite danas", "Prodajemo sutra"], ["12", "17"], ["a", "b"], ["isto", "isto"]]
)
def test_where_no_words_stay_there_is_no_template(texts):
    assert learn_template("main/p", texts) is None


@given(st.lists(st.text(max_size=60), min_size=2, max_size=4))
def test_any_texts_give_a_template_that_fits_them_or_none(texts):
    template = learn_template("p", texts)
    assert template is None or all(fits(template, text) for text in texts)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("120", "number"),
        ("1.204,50", "number"),
        ("45710106", "number"),
        ("14.01.2026.", "date"),
        ("14. siječnja 2026.", "date"),
        ("2026-01-14", "date"),
        ("10:30", "time"),
        ("12.5 %", "rate"),
        ("12,50 EUR", "rate"),
        ("€ 5", "rate"),
        ("a8f3-22b1", "token"),
        ("zakon", "words"),
        ("Zakon o porezu na dohodak", "words"),
        ("", "none"),
    ],
)
def test_kinds(text, kind):
    assert kind_of(text) == kind


def test_an_optional_place_may_be_empty_and_another_may_not():
    assert accepts("number?", "")
    assert not accepts("number", "")
