"""What an outcome means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING, SEEN, outcome_of_status, rests


def test_every_outcome_has_a_meaning_and_words() -> None:
    assert set(MEANING) == set(Outcome)
    assert all(meaning.words for meaning in MEANING.values())


@pytest.mark.parametrize("outcome", Outcome)
def test_the_rows_make_sense(outcome: Outcome) -> None:
    row = MEANING[outcome]
    if row.has_content:
        assert outcome is Outcome.OK
    if row.is_refusal:
        assert not row.retry
        assert not row.counts_against_lane
        assert not row.counts_against_source
    if not row.is_look:
        assert row.lane_verdict is None
        assert row.keeps_schedule
        assert not row.retry
    if row.retry:
        assert row.keeps_schedule


def test_transport_counts_against_the_lane_and_content_against_the_source() -> None:
    for outcome in (Outcome.TIMEOUT, Outcome.CONNECT_ERROR, Outcome.SERVER_ERROR, Outcome.THROTTLED):
        assert MEANING[outcome].lane_verdict is False
        assert not MEANING[outcome].counts_against_source
    for outcome in (Outcome.GONE, Outcome.EMPTY, Outcome.SOFT_404, Outcome.DECODE_ERROR):
        assert MEANING[outcome].lane_verdict is True
        assert MEANING[outcome].counts_against_source


def test_what_we_did_ourselves_says_nothing_about_the_lane() -> None:
    for outcome in (Outcome.CANCELLED, Outcome.BUDGET_SPENT, Outcome.ROBOTS_REFUSED, Outcome.BUG):
        assert MEANING[outcome].lane_verdict is None


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_the_retryable_statuses_of_001_are_retried(status: int) -> None:
    assert MEANING[outcome_of_status(status)].retry


STATUSES = {
    200: Outcome.OK, 203: Outcome.OK, 204: Outcome.EMPTY, 206: Outcome.TRUNCATED, 302: Outcome.REDIRECT_ERROR,
    304: Outcome.NOT_MODIFIED, 400: Outcome.CLIENT_ERROR, 401: Outcome.LOGIN_WALL, 403: Outcome.CLIENT_ERROR,
    404: Outcome.GONE, 407: Outcome.LOGIN_WALL, 408: Outcome.TIMEOUT, 410: Outcome.GONE,
    418: Outcome.CLIENT_ERROR,
    429: Outcome.THROTTLED, 451: Outcome.CLIENT_ERROR, 500: Outcome.SERVER_ERROR, 503: Outcome.SERVER_ERROR,
    101: Outcome.PROTOCOL_ERROR, 0: Outcome.PROTOCOL_ERROR, 999: Outcome.SERVER_ERROR,
    -1: Outcome.PROTOCOL_ERROR,
}  # fmt: skip


@pytest.mark.parametrize(("status", "outcome"), STATUSES.items())
def test_statuses(status: int, outcome: Outcome) -> None:
    assert outcome_of_status(status) is outcome


def test_a_503_that_names_a_time_is_throttling() -> None:
    assert outcome_of_status(503, has_retry_after=True) is Outcome.THROTTLED
    assert outcome_of_status(500, has_retry_after=True) is Outcome.SERVER_ERROR


@given(st.integers())
def test_any_number_is_some_outcome(status: int) -> None:
    assert outcome_of_status(status) in MEANING


def test_one_bad_answer_to_a_page_that_was_just_seen_is_no_reason_for_a_long_rest() -> None:
    answers = (
        Outcome.CLIENT_ERROR,
        Outcome.LOGIN_WALL,
        Outcome.SOFT_404,
        Outcome.GONE,
        Outcome.REDIRECT_ERROR,
    )
    for outcome in answers:
        assert [rests(outcome, before) for before in SEEN] == [False] * len(SEEN)
        assert rests(outcome, outcome)
        assert rests(outcome, None), "it was never seen"
        assert not rests(outcome, Outcome.TIMEOUT), "which says nothing of the page"
    for outcome in (Outcome.ROBOTS_REFUSED, Outcome.ADDRESS_REFUSED, Outcome.SCREENED, Outcome.NO_BROWSER):
        assert rests(outcome, Outcome.OK), "we refused: the next look would end alike"
    for outcome in Outcome:
        assert not (rests(outcome, None) and MEANING[outcome].keeps_schedule)
