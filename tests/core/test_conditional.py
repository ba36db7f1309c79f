"""A server's word that nothing changed is relied on for so many looks in a row, and no more."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from vedette.contracts.words import WatchId
from vedette.core.schedule.due import LONGEST, MOST_LOOKS, asks_anew, looks_between

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize("interval", [timedelta(0), HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY])
@pytest.mark.parametrize("watch", [0, 1, 7, 910405996264816640, -5])
def test_at_most_eight_looks_in_a_row_are_conditional_and_rarely_more_than_a_fortnight(
    interval: timedelta, watch: int
):
    anew = [n for n in range(100) if asks_anew(WatchId(watch), n, interval)]
    gaps = {b - a for a, b in pairwise(anew)}
    assert gaps == {looks_between(interval)}
    assert max(gaps) <= MOST_LOOKS
    assert max(gaps) * interval <= max(LONGEST, 2 * interval)
    assert 2 <= anew[0] <= looks_between(interval) + 1, (
        "the first look brought the body, so the second may ask for less"
    )


def test_watches_of_one_host_do_not_all_ask_at_once():
    asking = [sum(asks_anew(WatchId(watch), n, HOUR) for watch in range(800)) for n in range(2, 10)]
    assert asking == [100] * 8
