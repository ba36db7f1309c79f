from __future__ import annotations

from vedette.contracts.changing import Layer
from vedette.contracts.fetching import Extraction
from vedette.contracts.words import ContentClass
from vedette.core.change.layers import compare, text_key
from vedette.core.change.mask import learn


def page(*texts: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"main/p[{n}]", text) for n, text in enumerate(texts, 1))


def test_a_replaced_document_behind_the_same_words_is_another_text():
    said = Extraction(content_class=ContentClass.HTML, text="Pravilnik")
    linked = Extraction(content_class=ContentClass.HTML, text="Pravilnik", targets=("https://a.hr/2.pdf",))
    assert text_key(said) != text_key(linked)


def test_the_cheapest_layer_that_finds_no_difference_is_named():
    assert compare(page("a"), page("a")).layer is Layer.TEXT
    assert compare(page("u 10:30:45 sati"), page("u 11:00:00 sati")).layer is Layer.NORMAL
    mask = learn(page("Zakon", "Posjeta 1"), page("Zakon", "Posjeta 2")).mask
    quiet = compare(page("Zakon", "Posjeta 3"), page("Zakon", "Posjeta 4"), mask)
    assert (quiet.layer, quiet.has_changed) == (Layer.MASK, False)


def test_a_changed_word_in_a_long_text_is_near_and_a_rewrite_is_content():
    long = [f"Odlomak {n} govori o obvezi broj {n * 3} i o roku." for n in range(80)]
    near = compare(page(*long), page(*long[:-1], "Odlomak 79 govori o pravu."))
    assert (near.has_changed, near.layer) == (True, Layer.NEAR)
    other = compare(page("Zakon o porezu na dohodak"), page("Recept za kolače s makom i orasima"))
    assert (other.has_changed, other.layer) == (True, Layer.CONTENT)
    assert other.summary


def test_a_field_that_changed_is_structure_and_a_renamed_one_too():
    assert compare([("/pdv", "25")], [("/pdv", "24")]).layer is Layer.STRUCTURE
    assert compare([("/pdv", "25")], [("/porez", "25")]).has_changed


def test_a_paragraph_split_in_two_is_not_a_change():
    split = compare(page("Prvi dio. Drugi dio."), page("Prvi dio.", "Drugi dio."))
    assert (split.has_changed, split.reasons[0].code) == (False, "equal_but_for_markup")


def test_real_content_above_noise_is_the_only_thing_the_diff_shows():
    before = page("Naslov stranice.", "Posjeta 120", "Kraj stranice.")
    mask = learn(before, page("Naslov stranice.", "Posjeta 133", "Kraj stranice.")).mask
    found = compare(
        before, page("Naslov stranice.", "Nova obavijest.", "Posjeta 150", "Kraj stranice."), mask
    )
    assert found.summary == "1 line added: 'Nova obavijest.'"
