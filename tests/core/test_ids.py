"""Ids rise, whatever the clock does, and no two are equal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from vedette.engine.settle.ids import Ids

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
MS = timedelta(milliseconds=1)
moves = st.lists(st.integers(-10_000, 10_000).map(lambda ms: ms * MS), min_size=1, max_size=50)


@given(moves)
def test_ids_rise_though_the_clock_is_set_back(steps: list[timedelta]):
    ids, now, given_out = Ids(), NOON, []
    for step in steps:
        now += step
        given_out.append(ids.next(now))
    assert given_out == sorted(set(given_out))


@given(moves, moves)
def test_a_new_start_goes_on_after_the_last_id_of_the_store(before: list[timedelta], after: list[timedelta]):
    first, now, last = Ids(), NOON, 0
    for step in before:
        now += step
        last = first.next(now)
    second, now = Ids(after=last), NOON - timedelta(hours=1)  # the clock was set back meanwhile
    for step in after:
        now += step
        number = second.next(now)
        assert number > last
        last = number


def test_more_ids_than_fit_into_a_millisecond_borrow_from_the_next():
    ids = Ids()
    given_out = [ids.next(NOON) for _ in range(10_000)]
    assert given_out == sorted(set(given_out))
    assert ids.next(NOON + timedelta(seconds=1)) > given_out[-1]


def test_two_workers_never_give_out_the_same_id():
    one, two = Ids(worker=1), Ids(worker=1023)
    assert not {one.next(NOON) for _ in range(5000)} & {two.next(NOON) for _ in range(5000)}


def test_ids_fit_into_a_signed_column_for_decades_and_sort_by_time():
    assert Ids(worker=1023).next(datetime(2085, 1, 1, tzinfo=UTC)) < 2**63
    assert Ids(worker=1023).next(NOON) < Ids().next(NOON + MS)


def test_a_new_start_repeats_no_id_though_another_worker_has_the_highest():
    """Verdicts have a worker number of their own: the highest id of the store says nothing of our sequence."""
    looks, verdicts = Ids(), Ids(worker=1023)
    before = {looks.next(NOON) for _ in range(5)}
    highest = verdicts.next(NOON)
    assert highest > max(before)
    again = Ids(after=highest)
    assert not before & {again.next(NOON - timedelta(days=90)) for _ in range(10)}
