from __future__ import annotations

from vedette.contracts.change import Layer, Noise
from vedette.contracts.fetch import Extraction
from vedette.contracts.words import ContentClass
from vedette.core.change.layers import compare, text_key
from vedette.core.change.state import State
from vedette.core.change.weigh import Weighed


def page(*texts: str) -> State:
    return State(tuple((f"main/p[{n}]", text) for n, text in enumerate(texts, 1)))


def test_a_replaced_document_behind_the_same_words_is_another_text():
    said = Extraction(content_class=ContentClass.HTML, text="Pravilnik")
    linked = Extraction(content_class=ContentClass.HTML, text="Pravilnik", targets=("https://a.hr/2.pdf",))
    assert text_key(said) != text_key(linked)


def test_the_cheapest_layer_that_finds_no_difference_is_named():
    assert compare(page("a"), page("a")).layer is Layer.TEXT
    assert compare(page("u 10:30:45 sati"), page("u 11:00:00 sati")).layer is Layer.NORMAL
    nothing = Weighed(is_open=False, noise=Noise())
    quiet = compare(page("Zakon", "Posjeta 3"), page("Zakon", "Posjeta 4"), nothing)
    assert (quiet.layer, quiet.has_changed) == (Layer.MASK, False)


def test_a_changed_word_in_a_long_text_is_near_and_a_rewrite_is_content():
    long = [f"Odlomak {n} govori o obvezi broj {n * 3} i o roku." for n in range(80)]
    near = compare(page(*long), page(*long[:-1], "Odlomak 79 govori o pravu."))
    assert (near.has_changed, near.layer) == (True, Layer.NEAR)
    other = compare(page("Zakon o porezu na dohodak"), page("Recept za kolače s makom i orasima"))
    assert (other.has_changed, other.layer) == (True, Layer.CONTENT)
    assert other.summary


def test_a_field_that_changed_is_structure_and_a_renamed_one_too():
    assert compare(State([("/pdv", "25")]), State([("/pdv", "24")])).layer is Layer.STRUCTURE
    assert compare(State([("/pdv", "25")]), State([("/porez", "25")])).has_changed


def test_a_paragraph_split_in_two_is_not_a_change():
    split = compare(page("Prvi dio. Drugi dio."), page("Prvi dio.", "Drugi dio."))
    assert (split.has_changed, split.reasons[0].code) == (False, "equal_but_for_markup")


def test_what_was_edited_is_the_only_thing_the_diff_shows():
    before = page("Naslov stranice.", "Posjeta 120", "Kraj stranice.")
    after = page("Naslov stranice.", "Nova obavijest.", "Posjeta 150", "Kraj stranice.")
    edited = Weighed(is_open=False, noise=Noise(), new=frozenset({after.keys[1]}))
    assert compare(before, after, edited).summary == "1 line added: 'Nova obavijest.'"


def test_lines_in_any_order_are_not_told_as_moved():
    before, after = page("Prva", "Druga", "Treća", "Zakon"), page("Treća", "Prva", "Druga", "Novi zakon")
    edited = Weighed(
        is_open=False,
        noise=Noise(orders=("main",)),
        gone=frozenset({before.keys[3]}),
        new=frozenset({after.keys[3]}),
    )
    assert [op.op for op in compare(before, after, edited).diff if op.op != "equal"] == ["replace"]
