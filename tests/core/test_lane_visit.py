"""Visits of lanes: how many lanes a worker takes beside others."""

from __future__ import annotations

import pytest

from vedette.core.lanes.visit import AT_ONCE, MOST_HELD, fair_share


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
