"""How long a request that nobody answers may hold up the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.lane import LanePolicy, LaneState
from vedette.core.lanes.waiting_requests import (
    CUT_S,
    DOUBTFUL_MOMENT_S,
    MOMENT_S,
    WaitingRequest,
    WaitStep,
    doubtful_width,
    failing,
    is_doubtful,
    is_paced,
    next_step,
    waiting_room,
)

ROOM = 100
waitings = st.builds(
    WaitingRequest,
    waited_s=st.floats(0, 100),
    is_heard=st.booleans(),
    is_doubtful=st.booleans(),
    is_new=st.booleans(),
    is_aside=st.booleans(),
)


def one(waited_s: float, **given: bool) -> WaitingRequest:
    plain = {"is_heard": False, "is_doubtful": False, "is_new": False, "is_aside": False}
    return WaitingRequest(waited_s=waited_s, **(plain | given))


def test_a_host_is_doubtful_until_it_answers_and_again_when_it_fails():
    assert is_doubtful(LaneState(), is_new=True)
    assert is_doubtful(LaneState(failures=1), is_new=False)
    assert not is_doubtful(LaneState(), is_new=False)


def test_who_takes_longer_than_a_moment_steps_aside_and_doubtful_hosts_sooner():
    assert next_step(one(MOMENT_S - 0.1), crowd=0, room=ROOM) is WaitStep.STAY
    assert next_step(one(MOMENT_S), crowd=0, room=ROOM) is WaitStep.ASIDE
    assert next_step(one(DOUBTFUL_MOMENT_S, is_doubtful=True), crowd=0, room=ROOM) is WaitStep.ASIDE
    assert next_step(one(MOMENT_S, is_heard=True), crowd=0, room=ROOM) is WaitStep.ASIDE, (
        "a body may drip too"
    )


def test_a_silent_first_contact_is_cut_when_the_room_is_half_full_and_has_all_its_time_before():
    silent = one(CUT_S, is_doubtful=True, is_new=True, is_aside=True)
    assert next_step(silent, crowd=ROOM // 2 - 1, room=ROOM) is WaitStep.STAY
    assert next_step(silent, crowd=ROOM // 2, room=ROOM) is WaitStep.CUT


@given(waitings, st.integers(0, 2 * ROOM))
def test_who_is_heard_or_waited_little_is_never_cut(waiting: WaitingRequest, crowd: int):
    if waiting.is_heard or waiting.waited_s < CUT_S:
        assert next_step(waiting, crowd=crowd, room=ROOM) is not WaitStep.CUT


@given(waitings, st.integers(0, 2 * ROOM))
def test_the_room_never_takes_more_than_it_holds_and_nobody_enters_it_twice(
    waiting: WaitingRequest, crowd: int
):
    if next_step(waiting, crowd=crowd, room=ROOM) is WaitStep.ASIDE:
        assert crowd < ROOM
        assert not waiting.is_aside


@given(waitings)
def test_no_silent_request_keeps_its_place_in_the_width_for_longer_than_the_cut(waiting: WaitingRequest):
    if waiting.waited_s >= CUT_S and not waiting.is_heard and not waiting.is_aside:
        for crowd in range(2 * ROOM):
            assert next_step(waiting, crowd=crowd, room=ROOM) is not WaitStep.STAY


@given(st.integers(1, 1000))
def test_doubtful_hosts_never_have_the_whole_width_unless_it_is_one(width: int):
    policy = LanePolicy(at_once=width)
    assert 1 <= doubtful_width(policy).at_once <= max(1, width // 2)
    assert waiting_room(policy).at_once >= width


@given(st.lists(st.booleans(), max_size=400))
def test_whoever_fails_now_and_then_is_not_paced_and_a_pace_does_not_flicker(failures: list[bool]):
    share, paced, turns = 0.0, False, 0
    for has_failed in failures:
        share = failing(share, has_failed=has_failed)
        assert 0 <= share <= 1
        was, paced = paced, is_paced(share, was_paced=paced)
        turns += was is not paced
    assert turns <= 1 + len(failures) // 50
    assert not paced or sum(failures) > len(failures) // 4
