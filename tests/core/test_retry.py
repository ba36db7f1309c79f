"""Full jitter, three attempts, Retry-After wins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING, Failure, Park, Retry, RetryParams, delay, next_attempt

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("attempt", "most"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 30), (60, 30), (9999, 30)]
)
def test_the_most_doubles_from_a_second_to_thirty(attempt: int, most: int) -> None:
    assert delay(attempt, jitter=0.5) == most * SECOND / 2
    assert delay(attempt, jitter=0.0) == timedelta(0)


def test_three_attempts_in_all_then_parked() -> None:
    verdicts = [next_attempt(Failure(Outcome.TIMEOUT, n), now=NOW, jitter=0.5) for n in (1, 2, 3, 4)]
    assert [type(v) for v in verdicts] == [Retry, Retry, Park, Park]
    assert verdicts[0].at == NOW + SECOND / 2  # type: ignore[union-attr]
    assert verdicts[1].at == NOW + SECOND  # type: ignore[union-attr]
    assert verdicts[2].reasons[0].code == "attempts_used"


@pytest.mark.parametrize("outcome", [o for o in Outcome if not MEANING[o].retry])
def test_what_does_not_heal_in_minutes_is_not_tried_again(outcome: Outcome) -> None:
    assert isinstance(next_attempt(Failure(outcome, 1), now=NOW, jitter=0.0), Park)


def test_retry_after_wins_over_our_own_delay_and_is_capped() -> None:
    hour = timedelta(hours=1)
    asked = next_attempt(Failure(Outcome.THROTTLED, 1, hour), now=NOW, jitter=0.0)
    assert asked == Retry(NOW + hour, asked.reasons)
    endless = next_attempt(Failure(Outcome.THROTTLED, 1, timedelta(days=9000)), now=NOW, jitter=0.0)
    assert isinstance(endless, Retry)
    assert endless.at == NOW + timedelta(hours=24)


def test_a_retry_after_in_the_past_is_none() -> None:
    verdict = next_attempt(Failure(Outcome.THROTTLED, 1, -SECOND), now=NOW, jitter=0.5)
    assert isinstance(verdict, Retry)
    assert verdict.reasons[0].code == "backoff"


@given(st.sampled_from(Outcome), st.integers(0, 100), st.floats(0, 1, exclude_max=True), st.integers(1, 9))
def test_a_retry_is_never_later_than_the_longest_and_its_reason_is_its_wait(
    outcome: Outcome, attempt: int, jitter: float, attempts: int
) -> None:
    verdict = next_attempt(
        Failure(outcome, attempt), now=NOW, jitter=jitter, params=RetryParams(attempts=attempts)
    )
    assert verdict.reasons
    if isinstance(verdict, Retry):
        assert attempt < attempts
        assert timedelta(0) <= verdict.at - NOW <= timedelta(seconds=30)
        assert (verdict.at - NOW).total_seconds() == pytest.approx(verdict.reasons[0].points, abs=1e-6)
