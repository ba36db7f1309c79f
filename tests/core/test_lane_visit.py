"""Visits of lanes: how many lanes a worker takes beside others."""

from __future__ import annotations

from datetime import timedelta

import pytest

from vedette.contracts.lane import LanePolicy
from vedette.core.lanes.visit import AT_ONCE, MOST_HELD, fair_share, share_of


@pytest.mark.parametrize(
    ("busy", "workers", "most"),
    [
        (12, 1, 12 + AT_ONCE),  # alone: what comes
        (12, 2, 7),  # few lanes: the other has some too
        (1, 2, 2),
        (0, 4, 1),  # what becomes due first is somebody's
        (500, 4, 125 + 1 + 15),
        (100_000, 4, MOST_HELD),
    ],
)
def test_a_worker_leaves_others_their_lanes(busy: int, workers: int, most: int):
    assert fair_share(busy, workers) == most


def test_together_the_shares_cover_all_lanes():
    for workers in range(1, 9):
        for busy in range(0, 600, 7):
            assert workers * fair_share(busy, workers) >= min(busy, workers * MOST_HELD)


def test_together_workers_do_what_the_limit_of_all_allows():
    whole = LanePolicy(gap_min=timedelta(seconds=1), gap_max=timedelta(seconds=2), per_minute=120, at_once=32)
    assert share_of(whole, 1) == whole
    for workers in range(2, 33):
        mine = share_of(whole, workers)
        assert workers * mine.at_once <= whole.at_once
        assert workers * mine.per_minute == pytest.approx(whole.per_minute)
        assert (mine.gap_min, mine.gap_max) == (workers * whole.gap_min, workers * whole.gap_max)
    assert share_of(whole, 40).at_once == 1  # none stands still
