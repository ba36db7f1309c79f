from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.core.change.simhash import distance, simhash, similarity

TEXT = " ".join(f"članak {n} propisuje obvezu {n * 7 % 31} poreznog obveznika" for n in range(200))


def test_a_small_edit_moves_few_bits_and_another_text_many():
    assert similarity(simhash(TEXT), simhash(TEXT.replace("članak 7 ", "stavak 7 "))) > 0.9
    assert similarity(simhash(TEXT), simhash("nešto sasvim drugo " * 50)) < 0.8


@given(st.text(max_size=300))
def test_every_text_has_a_fingerprint_that_fits_a_signed_column(text):
    assert -(2**63) <= simhash(text) < 2**63


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_distance_is_symmetric_and_bounded(one, other):
    assert distance(one, other) == distance(other, one)
    assert 0 <= distance(one, other) <= 64
    assert distance(one, one) == 0


def test_no_words_have_no_fingerprint():
    assert simhash("") == 0
