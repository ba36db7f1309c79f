"""What a look counts for in a hunt, when the page is looked at again, and when a failure is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from settlements import a_watch

from vedette.contracts.copies import replace
from vedette.contracts.oddness import Action, ScoreDecision
from vedette.contracts.words import Outcome
from vedette.core.oddness.triage import Revisits, found_by, open_again_at, rest_of

AT = datetime(2026, 3, 1, tzinfo=UTC)
KEPT = ScoreDecision(
    score=61.0, reasons=(), thresholds_hit=("persist",), action=Action.PERSIST, weights="default-1"
)
SKIPPED = ScoreDecision(score=12.0, reasons=(), thresholds_hit=(), action=Action.SKIP, weights="default-1")
TWIN = ScoreDecision(
    score=61.0, reasons=(), thresholds_hit=("persist",), action=Action.SKIP, weights="default-1", twin=7
)
LOOKED = replace(a_watch(), last_visit_at=AT, last_outcome=Outcome.OK, due_at=AT + timedelta(hours=4))


def test_a_finding_is_worth_its_oddness_and_what_triage_skips_is_worth_nothing() -> None:
    assert found_by(Outcome.OK, KEPT) == pytest.approx(0.61)
    assert found_by(Outcome.OK, SKIPPED) == 0.0
    assert found_by(Outcome.OK, TWIN) == 0.0
    assert found_by(Outcome.OK, None) == 0.0


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.LOGIN_WALL])
def test_an_answer_that_is_no_page_is_an_error_and_may_be_chosen_again_later(outcome: Outcome) -> None:
    assert found_by(outcome, None) is None
    at = open_again_at(outcome, AT, Revisits())
    assert at is not None
    assert AT < at <= AT + timedelta(days=7)


@pytest.mark.parametrize("outcome", [Outcome.ROBOTS_REFUSED, Outcome.ADDRESS_REFUSED, Outcome.SCREENED])
def test_what_we_refuse_ourselves_is_neither_a_find_nor_an_error(outcome: Outcome) -> None:
    assert found_by(outcome, None) == 0.0
    assert open_again_at(outcome, AT, Revisits()) is None


def test_a_404_is_forgotten_after_the_time_of_the_failure_cache() -> None:
    assert open_again_at(Outcome.GONE, AT, Revisits()) == AT + timedelta(days=7)
    assert open_again_at(Outcome.GONE, AT, Revisits(failure=timedelta(hours=1))) == AT + timedelta(hours=1)


def test_a_page_that_was_skipped_is_not_looked_at_again_and_a_finding_after_a_long_time() -> None:
    assert rest_of(LOOKED, SKIPPED, Revisits(), is_kept=False) is None
    assert rest_of(LOOKED, KEPT, Revisits(), is_kept=False) == AT + timedelta(days=30)
    assert rest_of(LOOKED, None, Revisits(), is_kept=True) == AT + timedelta(days=30)


def test_a_seed_that_does_not_answer_is_tried_again_by_the_retry_rule_and_then_left_alone() -> None:
    failing = replace(LOOKED, last_outcome=Outcome.TIMEOUT, attempt=1)
    assert rest_of(failing, None, Revisits(), is_kept=True) == failing.due_at
    assert rest_of(replace(failing, attempt=3), None, Revisits(), is_kept=True) == AT + timedelta(days=7)
    assert rest_of(
        replace(failing, last_outcome=Outcome.GONE), None, Revisits(), is_kept=True
    ) == AT + timedelta(days=7)
