from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.core.change.layers import distance, simhash, similarity

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


def plain(text: str) -> int:
    """The definition, bit by bit: the majority of the mixed words."""
    data = b" " + text.lower().encode() + b" " * 8
    votes, count = [0] * 64, 0
    for at in (n + 1 for n in range(len(data) - 8) if data[n] == ord(" ")):
        word = int.from_bytes(data[at : at + 8], "little") * 0x9E3779B97F4A7C15 % 2**64
        word = (word ^ word >> 29) * 0xBF58476D1CE4E5B9 % 2**64
        word ^= word >> 32
        count += 1
        votes = [vote + (word >> bit & 1) for bit, vote in enumerate(votes)]
    bits = sum(1 << bit for bit, vote in enumerate(votes) if vote * 2 > count)
    return bits - 2**64 if bits >= 2**63 else bits


@given(st.text("abc č", max_size=80))
def test_the_fast_count_is_the_plain_count(text):
    assert simhash(text) == (plain(text) if text else 0)


def test_the_fast_count_does_not_overflow_on_long_texts():
    assert simhash(TEXT) == plain(TEXT)
