"""How a next look is arranged; audits: looks at random moments, drawn by a lot that can be drawn again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from settlements import a_watch

from vedette.contracts.words import Risk
from vedette.core.evidence.ledger import adds_up, difference, recompute, schedule_decision
from vedette.core.schedule.columns import chances
from vedette.core.schedule.due import (
    SEED,
    Arranged,
    LookFacts,
    Lot,
    ScheduleTerms,
    apply_schedule,
    audited,
    chance,
    decide,
    place,
)

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
IDS = st.integers(0, 2**63 - 1)
FACTS = LookFacts(velocity=0.4, scan_count=7, risk=Risk.HIGH, changed=True, now=NOW, jitter=0.3)


def certain(watch: int) -> Lot:
    """A lot that is an audit for sure."""
    return Lot(watch, 8, 1.0)


@given(IDS, st.integers(0, 2**31), st.integers(0, 2**31))
def test_one_chance_is_the_chance_of_columns(watch, n, seed):
    assert chance(seed, watch, n) == chances(seed, np.array([watch]), np.array([n]))[0]


def test_the_share_is_kept_and_the_place_is_uniform():
    places = [place(Lot(watch, n, 0.015)) for watch in range(400) for n in range(500)]
    drawn = [one for one in places if one is not None]
    assert abs(len(drawn) / len(places) - 0.015) < 0.001
    assert 0.0 <= min(drawn) < 0.01 < 0.99 < max(drawn) < 1.0
    assert abs(np.mean(drawn) - 0.5) < 0.02


@given(IDS)
def test_an_audit_comes_within_the_interval_and_its_reasons_add_up(watch):
    due = decide(FACTS)
    moved = audited(due, certain(watch))
    assert NOW <= moved.due_at <= due.due_at
    assert moved.interval <= due.interval
    assert moved.due_at - NOW == moved.interval
    assert moved.reasons[-1].code == "audit"
    assert adds_up(moved.reasons, moved.interval / timedelta(hours=1))
    assert (moved.velocity, moved.scan_count) == (due.velocity, due.scan_count)


def test_without_the_lot_nothing_moves():
    due = decide(FACTS)
    lot = next(lot for lot in (Lot(watch, 8, 0.015) for watch in range(99)) if place(lot) is None)
    assert audited(due, lot) is due


@given(IDS, st.floats(0.001, 1.0))
def test_the_recorded_decision_comes_out_the_same_again(watch, share):
    lot = Lot(watch, 8, share)
    decision = schedule_decision(FACTS, audited(decide(FACTS), lot), lot=lot)
    assert difference(decision) is None
    if place(lot) is not None:
        decision.inputs["audit"] = {"watch": watch, "n": 9, "share": share}
        assert recompute(decision) != decision.output


def test_the_stream_of_audits_is_its_own():
    assert chance(SEED, 1, 1) != chance(0, 1, 1)


# Arranging the next look

WATCH = a_watch("https://a.example/", velocity=0.4, scan_count=7)
PLAIN = decide(FACTS)


def arranged(**terms: object) -> Arranged:
    return apply_schedule(WATCH, PLAIN, ScheduleTerms(**terms), is_taught=True)  # type: ignore[arg-type]


def test_the_decision_of_the_policy_goes_into_the_watch():
    done = arranged()
    assert (done.watch.due_at, done.watch.interval) == (PLAIN.due_at, PLAIN.interval)
    assert (done.watch.velocity, done.watch.scan_count) == (PLAIN.velocity, 8)
    assert (done.watch.audit, done.lot, done.due) == (None, None, PLAIN)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_second_look_comes_first_and_any_other_waits_until_its_source_is_open(second, closed):
    """Under every policy: one of them forgot the second look, another forgot that the source was closed."""
    again, opens = NOW + timedelta(seconds=second), NOW + timedelta(seconds=closed)
    assert arranged(second_look_at=again).watch.due_at == again
    assert arranged(not_before=opens).watch.due_at == max(PLAIN.due_at, opens)
    assert arranged(second_look_at=again, not_before=opens).watch.due_at == again


def test_nothing_is_due_while_its_source_rests():
    assert arranged(is_active=False, second_look_at=NOW).watch.due_at is None


def test_a_look_is_called_an_audit_only_if_it_comes_at_the_moment_that_was_drawn():
    drawn = arranged(audit_share=1.0)
    assert drawn.watch.audit == PLAIN.interval
    assert drawn.watch.due_at == drawn.due.due_at < PLAIN.due_at
    assert arranged(audit_share=1.0, not_before=PLAIN.due_at).watch.audit is None
    untaught = apply_schedule(WATCH, PLAIN, ScheduleTerms(audit_share=1.0), is_taught=False)
    assert untaught.lot is None
