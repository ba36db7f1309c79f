"""Recorded decisions can be recomputed, and a changed rule is seen."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.contracts.schedule import Asked
from vedette.contracts.watch import Decision
from vedette.contracts.words import Outcome, Reason, Risk
from vedette.core.evidence import ledger
from vedette.core.lanes.outcomes import Failure, next_attempt
from vedette.core.schedule.due import DUE_RULES, LookFacts, decide, due_params
from vedette.core.schedule.per_risk import FixedRule
from vedette.core.urls.classify import classify_url, inherit_risk

NOW = datetime(2026, 11, 15, 12, 0, 0, 123, tzinfo=UTC)
JITTERS = st.floats(0, 1, exclude_max=True)


def read_back(decision: Decision) -> Decision:
    """Through JSON, as the store keeps it."""
    return replace(
        decision,
        inputs=json.loads(json.dumps(decision.inputs)),
        output=json.loads(json.dumps(decision.output)),
    )


@given(
    st.sampled_from(sorted(DUE_RULES)), st.floats(0, 1), st.sampled_from(Risk),
    st.sampled_from([True, False, None]), JITTERS, st.none() | st.integers(0, 10**6), st.booleans(),
)  # fmt: skip
def test_a_schedule_decision_survives_json_and_recomputes(
    policy: str,
    velocity: float,
    risk: Risk,
    changed: bool | None,
    jitter: float,
    seconds: int | None,
    is_parked: bool,
) -> None:
    facts = LookFacts(
        velocity=velocity, scan_count=4, risk=risk, changed=changed, now=NOW, jitter=jitter,
        asked=Asked(ceiling=None if seconds is None else timedelta(seconds=seconds)), is_parked=is_parked,
    )  # fmt: skip
    row = read_back(ledger.schedule_decision(facts, decide(facts, due_params(policy)), policy))
    assert ledger.difference(row) is None
    assert ledger.adds_up(row.reasons, row.output["hours"])  # type: ignore[index]


@given(st.sampled_from(Outcome), st.integers(1, 5), JITTERS, st.none() | st.floats(0, 1e6))
def test_a_retry_decision_recomputes(
    outcome: Outcome, attempt: int, jitter: float, seconds: float | None
) -> None:
    failure = Failure(outcome, attempt, None if seconds is None else timedelta(seconds=seconds))
    verdict = next_attempt(failure, now=NOW, jitter=jitter)
    assert (
        ledger.difference(read_back(ledger.retry_decision(failure, verdict, now=NOW, jitter=jitter))) is None
    )


@pytest.mark.parametrize("parent", [None, *Risk])
def test_an_admission_recomputes(parent: Risk | None) -> None:
    found = inherit_risk(classify_url("https://x.hr/a.pdf"), parent)
    assert ledger.difference(read_back(ledger.admit_decision("https://x.hr/a.pdf", parent, found))) is None


def test_a_rule_that_changed_since_is_seen() -> None:
    facts = LookFacts(velocity=0.5, scan_count=4, risk=Risk.LOW, changed=True, now=NOW, jitter=0.5)
    row = ledger.schedule_decision(facts, decide(facts))
    wrong = replace(row, output={**row.output, "velocity": 0.66})  # type: ignore[dict-item]
    assert "0.66" in (ledger.difference(wrong) or "")


def test_a_configured_rule_is_recomputed_with_its_configuration() -> None:
    facts = LookFacts(velocity=0.5, scan_count=4, risk=Risk.LOW, changed=True, now=NOW, jitter=0.5)
    hourly = due_params("fixed", FixedRule(every_hours=1.0))
    row = ledger.schedule_decision(facts, decide(facts, hourly), "fixed")
    assert ledger.difference(row, ledger.InForce(due=hourly)) is None
    assert ledger.difference(row) is not None


def test_what_cannot_be_recomputed_says_so() -> None:
    with pytest.raises(InputError, match="did you mean 'retry'"):
        ledger.recompute(Decision(action="retri"))
    with pytest.raises(InputError, match="cannot be read back"):
        ledger.recompute(Decision(action="schedule", inputs={"velocity": 1}))


def test_points_add_up_or_not() -> None:
    assert ledger.adds_up((Reason("a", 0.1), Reason("b", 0.2)), 0.3)
    assert not ledger.adds_up((Reason("a", 0.1),), 0.2)
