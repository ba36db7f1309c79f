"""What a first look counts for in a hunt."""

from __future__ import annotations

import pytest
from settlements import a_look, a_watch

from vedette.contracts.verdict import Traits
from vedette.contracts.words import ContentClass, Outcome
from vedette.core.judging.verdict import found_by

PROSE = Traits(
    chars=3000, words=400, visible_chars=3200, sentences=20, sample_words=180, function_words=50, distinct_words=110,
    language="en", text_key=7,
)  # fmt: skip
THIN = Traits(chars=20, words=3, visible_chars=20, sample_words=3, distinct_words=3, text_key=8)


def found(traits: Traits | None, outcome: Outcome = Outcome.OK, *, is_known: bool = False) -> float | None:
    look = a_look(a_watch(), 1, outcome=outcome, traits=traits, content_class=ContentClass.HTML)
    return found_by(look, is_known=is_known)


def test_a_page_worth_reading_is_a_find_by_its_score() -> None:
    score = found(PROSE)
    assert score is not None
    assert 0.7 < score <= 1.0


def test_what_the_scout_would_skip_and_what_has_no_text_is_no_find() -> None:
    assert found(THIN) == 0.0
    assert found(None) == 0.0


def test_a_text_that_another_page_has_shown_is_no_find() -> None:
    assert found(PROSE, is_known=True) == 0.0


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.LOGIN_WALL])
def test_an_answer_that_is_no_page_is_an_error(outcome: Outcome) -> None:
    assert found(None, outcome) is None


@pytest.mark.parametrize("outcome", [Outcome.ROBOTS_REFUSED, Outcome.ADDRESS_REFUSED, Outcome.SCREENED])
def test_what_we_refuse_ourselves_is_neither_a_find_nor_an_error(outcome: Outcome) -> None:
    assert found(None, outcome) == 0.0
