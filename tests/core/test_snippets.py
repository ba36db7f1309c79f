"""What somebody looks for, read from what they typed and found again in a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.core.text.snippets import Term, folded, snippet, terms_of

TEXTS = st.text(st.sampled_from("ab čćŽđ.\n\"*-_'<&\u202e"), max_size=300)


def test_words_phrases_beginnings_and_what_is_unwanted_are_told_apart():
    assert terms_of('PDV "Stopa poreza" obrt* -carina') == (
        Term(("pdv",)),
        Term(("stopa", "poreza")),
        Term(("obrt",), is_prefix=True),
        Term(("carina",), is_unwanted=True),
    )
    assert terms_of(' "" * - ... ') == ()


@given(TEXTS)
def test_whatever_is_typed_words_have_letters_and_digits_alone(typed: str):
    assert all(word and all(c.isalnum() for c in word) for term in terms_of(typed) for word in term.words)


@given(TEXTS)
def test_folding_leaves_every_letter_in_its_place(text: str):
    assert len(folded(text)) == len(text)


def test_letters_with_marks_are_found_without_them():
    assert (True, "Članak") in snippet("Izmjena: Članak 5.", terms_of("clanak"))
    assert (True, "članka") in snippet("Izmjena članka 5.", terms_of("clan*"))


def test_what_stands_around_a_word_is_shown_and_the_rest_is_left_out():
    text = "prije " * 100 + "pravilnik o porezu" + " poslije" * 100
    parts = snippet(text, terms_of('"pravilnik o"'))
    said = "".join(words for _, words in parts)
    assert [words for is_hit, words in parts if is_hit] == ["pravilnik o"]
    assert len(said) < 200
    assert said.startswith("… ")


@given(TEXTS, st.sampled_from(("a", "ab", "b*", '"a b"', "c z")))
def test_marked_parts_are_parts_of_the_text_in_their_order(text: str, typed: str):
    flat, at = " ".join(text.split("\n")), 0
    for is_hit, words in snippet(text, terms_of(typed)):
        if is_hit:
            at = flat.index(words, at) + len(words)


@given(
    st.lists(st.text(alphabet="abcč,.", min_size=1, max_size=12), max_size=60),
    st.lists(st.text(alphabet="abcč,.", min_size=1, max_size=12), max_size=60),
)
def test_no_word_is_cut_where_a_snippet_begins_or_ends(before: list[str], after: list[str]):
    text = " ".join([*before, "deadline", *after])
    said = "".join(words for _, words in snippet(text, terms_of("deadline")))
    assert set(said.split()) <= {*text.split(), "…"}
    assert not said.endswith(" ")


def test_a_text_that_says_nothing_of_it_is_shown_from_its_beginning_in_whole_words():
    ((is_hit, said),) = snippet("notice " * 60, terms_of("deadline"))
    assert not is_hit
    assert set(said.split()) == {"notice", "…"}


def test_a_word_without_end_is_cut_all_the_same():
    said = "".join(words for _, words in snippet("x" * 500 + " deadline " + "y" * 500, terms_of("deadline")))
    assert len(said) < 200
