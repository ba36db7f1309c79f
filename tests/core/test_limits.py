"""Deadlines and budgets of a run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.words import Risk
from vedette.core.limits.run_limits import RunLimits, Tally, claim_room, shed, sighting_room, spent

NOW = datetime(2026, 11, 15, tzinfo=UTC)
LATER, SOONER = NOW + timedelta(seconds=1), NOW - timedelta(seconds=1)


def test_the_defaults_are_the_documents() -> None:
    assert (RunLimits().per_cycle, RunLimits().max_sightings) == (500, 5000)
    assert spent(RunLimits(), Tally(visits=10**9, errors=10**9, wire_bytes=10**15), NOW) is None


@pytest.mark.parametrize(
    ("limits", "tally", "code"),
    [
        (RunLimits(deadline=NOW), Tally(), "deadline"),
        (RunLimits(max_visits=3), Tally(visits=3), "max_visits"),
        (RunLimits(max_visits=0), Tally(), "max_visits"),
        (RunLimits(max_wire_bytes=10), Tally(wire_bytes=11), "max_wire_bytes"),
        (RunLimits(max_errors=2), Tally(errors=2), "max_errors"),
    ],
)
def test_each_limit_stops_the_run_and_says_so(limits: RunLimits, tally: Tally, code: str) -> None:
    reason = spent(limits, tally, NOW)
    assert reason is not None
    assert reason.code == code


def test_below_every_limit_it_goes_on() -> None:
    limits = RunLimits(deadline=LATER, max_visits=4, max_wire_bytes=10, max_errors=2)
    assert spent(limits, Tally(visits=3, wire_bytes=9, errors=1), NOW) is None


def test_after_the_soft_deadline_only_the_upper_tiers_go_on() -> None:
    limits = RunLimits(soft_deadline=NOW, deadline=LATER)
    assert [shed(limits, risk, NOW) is None for risk in Risk] == [False, False, True, True]
    assert all(shed(limits, risk, SOONER) is None for risk in Risk)
    assert spent(limits, Tally(), NOW) is None


def test_room_is_never_negative() -> None:
    limits = RunLimits(max_visits=510, max_sightings=10)
    assert [claim_room(limits, Tally(visits=n)) for n in (0, 100, 510, 600)] == [500, 410, 0, 0]
    assert [sighting_room(limits, Tally(sightings=n)) for n in (0, 10, 11)] == [10, 0, 0]
    assert sighting_room(RunLimits(max_sightings=None), Tally(sightings=10**9)) is None
