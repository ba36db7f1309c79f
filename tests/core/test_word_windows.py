"""The words that fingerprints are made of: the same for a text that is remembered and one that is not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vedette.core.change.layers import simhash
from vedette.core.judging import embedding
from vedette.core.text.word_windows import REMEMBERED, parted_words, word_windows

TEXTS = st.text(alphabet=st.sampled_from(" abčžŠİ9\t\n\x01\xa0"), max_size=60)


def plainly(text: str) -> list[int]:
    """By the definition: eight bytes from behind each space."""
    data = b" " + text.lower().encode() + b" " * 8
    starts = [at + 1 for at in range(len(data) - 8) if data[at : at + 1] == b" "]
    return [int.from_bytes(data[at : at + 8], "little") for at in starts]


@given(TEXTS)
def test_a_word_is_eight_bytes_from_behind_a_space(text: str) -> None:
    found = word_windows(text)
    assert found.words.tolist() == plainly(text)
    assert found.is_plain == all(letter >= " " for letter in text)


@given(TEXTS)
def test_a_fingerprint_does_not_depend_on_what_is_remembered(text: str) -> None:
    long = text + "x" * (REMEMBERED + 1)
    first = (simhash(text), embedding.embed(text).tobytes())
    simhash(long)
    word_windows("another text")
    assert (simhash(text), embedding.embed(text).tobytes()) == first


@given(TEXTS)
def test_a_vector_parts_words_by_any_white_space(text: str) -> None:
    said = text.lower().strip().encode()
    data = b" " + said + b" " * 8
    starts = [at + 1 for at in range(len(data) - 8) if data[at] <= ord(" ")] if said else []
    words = [int.from_bytes(data[at : at + 8], "little") for at in starts]
    assert parted_words(text, embedding.MOST).tolist() == words
    assert np.isfinite(embedding.embed(text)).all()
