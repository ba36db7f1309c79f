"""The one lane rule: gap, bucket, width, breaker, Retry-After, Crawl-delay, the operator."""

from __future__ import annotations

import math
import random
import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.contracts.lane import Go, LanePolicy, LaneState, Wait
from vedette.core.lanes import lane

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
POLITE = LanePolicy()
BARE = LanePolicy(gap_min=timedelta(0), gap_max=timedelta(0), per_minute=0, at_once=4)


def call(policy: LanePolicy, state: LaneState, ok: bool | None, at: datetime = NOW) -> LaneState:
    """One call that starts and ends at `at`."""
    return lane.finished(policy, lane.started(policy, state, at, 0.0), ok=ok, now=at)


def failures(policy: LanePolicy, n: int, state: LaneState | None = None, at: datetime = NOW) -> LaneState:
    state = state or LaneState()
    for _ in range(n):
        state = call(policy, state, False, at)
    return state


def why(answer: Go | Wait) -> str:
    return answer.reason.code if isinstance(answer, Wait) else "go"


def test_a_new_lane_goes() -> None:
    assert lane.ask(POLITE, LaneState(), NOW) == Go()
    assert lane.explain(POLITE, LaneState(), NOW) == ()


@pytest.mark.parametrize(("jitter", "seconds"), [(0.0, 2), (0.5, 3.5), (1.0, 5)])
def test_the_gap_lies_between_its_bounds_by_jitter(jitter: float, seconds: float) -> None:
    policy = replace(POLITE, per_minute=0, at_once=9)
    state = lane.sent(policy, lane.started(policy, LaneState(), NOW, jitter), NOW, seconds * SECOND)
    assert lane.ask(policy, state, NOW) == Wait(NOW + seconds * SECOND, lane.ask(policy, state, NOW).reason)
    assert lane.ask(policy, state, NOW + seconds * SECOND) == Go()


def test_what_went_out_late_is_counted_from_then() -> None:
    """A look-up, a handshake or a busy machine lies between the permit and the moment the far end sees anything."""
    state = lane.started(POLITE, LaneState(), NOW, 0.0)
    late = lane.sent(POLITE, state, NOW + SECOND, 2 * SECOND)
    assert late.next_start_at == NOW + 3 * SECOND
    assert late.bucket_at == NOW + SECOND + timedelta(minutes=1) / POLITE.per_minute
    assert late.under_way == 1


@given(st.floats(0, 9), st.floats(0, 1), st.sampled_from([POLITE, BARE, replace(POLITE, per_minute=0)]))
def test_knowing_when_it_went_out_never_brings_the_next_start_forward(late, jitter, policy) -> None:
    before = lane.started(policy, LaneState(), NOW, jitter)
    gap = before.next_start_at - NOW
    after = lane.sent(policy, before, NOW + late * SECOND, gap)
    assert after.next_start_at >= max(before.next_start_at, NOW + late * SECOND + gap)
    assert after.bucket_at is before.bucket_at is None or after.bucket_at >= before.bucket_at


def test_a_gap_max_below_gap_min_does_not_shorten_the_gap() -> None:
    policy = replace(BARE, gap_min=4 * SECOND, gap_max=SECOND)
    assert lane.started(policy, LaneState(), NOW, 0.9).next_start_at == NOW + 4 * SECOND


def test_the_stricter_of_gap_and_bucket_wins() -> None:
    state = lane.finished(POLITE, lane.started(POLITE, LaneState(), NOW, 0.0), ok=True, now=NOW)
    answer = lane.ask(POLITE, state, NOW)
    assert isinstance(answer, Wait)
    assert (answer.until, why(answer)) == (NOW + 3 * SECOND, "lane_bucket")
    slow = lane.finished(POLITE, lane.started(POLITE, LaneState(), NOW, 1.0), ok=True, now=NOW)
    answer = lane.ask(POLITE, slow, NOW)
    assert isinstance(answer, Wait)
    assert (answer.until, why(answer)) == (NOW + 5 * SECOND, "lane_gap")


def test_a_bucket_lets_a_burst_through_and_then_drains() -> None:
    policy = replace(BARE, per_minute=60, burst=3)
    state = LaneState()
    for _ in range(3):
        assert lane.ask(policy, state, NOW) == Go()
        state = call(policy, state, True)
    assert why(lane.ask(policy, state, NOW)) == "lane_bucket"
    assert lane.ask(policy, state, NOW + SECOND) == Go()


def test_a_lane_is_as_wide_as_at_once() -> None:
    state = LaneState()
    for _ in range(4):
        assert lane.ask(BARE, state, NOW) == Go()
        state = lane.started(BARE, state, NOW, 0.0)
    answer = lane.ask(BARE, state, NOW)
    assert why(answer) == "lane_full"
    assert isinstance(answer, Wait)
    assert answer.until is None
    assert lane.ask(BARE, lane.finished(BARE, state, ok=None, now=NOW), NOW) == Go()


def test_five_failures_close_the_lane_then_one_probe_passes() -> None:
    closed = failures(BARE, 5)
    assert lane.ask(BARE, failures(BARE, 4), NOW) == Go()
    assert why(lane.ask(BARE, closed, NOW)) == "lane_closed"
    assert why(lane.ask(BARE, closed, NOW + HOUR - SECOND)) == "lane_closed"
    assert lane.ask(BARE, closed, NOW + HOUR) == Go()
    probing = lane.started(BARE, closed, NOW + HOUR, 0.0)
    assert why(lane.ask(BARE, probing, NOW + HOUR)) == "lane_probe"
    opened = lane.finished(BARE, probing, ok=True, now=NOW + HOUR)
    assert lane.condition(opened, NOW + HOUR) == "closed"
    assert lane.ask(BARE, lane.started(BARE, opened, NOW + HOUR, 0.0), NOW + HOUR) == Go()


def test_a_success_in_between_starts_the_count_again() -> None:
    state = failures(BARE, 4, call(BARE, failures(BARE, 4), True))
    assert lane.ask(BARE, state, NOW) == Go()


def test_a_failed_probe_closes_for_twice_as_long_up_to_a_day() -> None:
    state, at, spans = failures(BARE, 5), NOW, []
    for _ in range(7):
        assert state.closed_until is not None
        spans.append((state.closed_until - at) / HOUR)
        at = state.closed_until
        state = call(BARE, state, False, at)
    assert spans == [1, 2, 4, 8, 16, 24, 24]


def test_a_probe_that_says_nothing_leaves_the_lane_half_open() -> None:
    state = call(BARE, failures(BARE, 5), None, NOW + HOUR)
    assert lane.condition(state, NOW + HOUR) == "half-open"
    assert lane.ask(BARE, state, NOW + HOUR) == Go()


@pytest.mark.parametrize("ok", [True, False, None])
def test_a_straggler_neither_opens_a_closed_lane_nor_closes_it_longer(ok: bool | None) -> None:
    state = lane.started(BARE, LaneState(), NOW, 0.0)
    closed = failures(BARE, 5, state)
    after = lane.finished(BARE, closed, ok=ok, now=NOW + SECOND)
    assert (after.closed_until, after.failures) == (closed.closed_until, 5)


def test_a_share_of_failures_over_the_window_closes_too() -> None:
    policy = replace(BARE, trips_after=0, trip_share=0.5, trip_window=10, closed_for=60 * SECOND)
    state = LaneState()
    for n in range(10):
        assert lane.condition(state, NOW) == "closed"
        state = call(policy, state, n % 2 == 0)
    assert lane.condition(state, NOW) == "open"
    assert state.recent.bit_length() <= 63
    opened = call(policy, state, True, NOW + 60 * SECOND)
    assert (opened.recent, opened.recent_count, lane.condition(opened, NOW + HOUR)) == (0, 0, "closed")


def test_a_failed_probe_closes_a_lane_that_a_share_had_closed() -> None:
    policy = replace(BARE, trips_after=0, trip_share=0.5, trip_window=4, closed_for=60 * SECOND)
    closed = failures(policy, 4)
    again = call(policy, closed, False, NOW + 60 * SECOND)
    assert again.closed_until == NOW + 120 * SECOND


def test_a_share_needs_a_full_window() -> None:
    policy = replace(BARE, trips_after=0, trip_share=0.5, trip_window=10)
    assert lane.condition(failures(policy, 9), NOW) == "closed"
    assert lane.condition(failures(policy, 10), NOW) == "open"


def test_below_the_share_the_lane_stays_open() -> None:
    policy = replace(BARE, trips_after=0, trip_share=0.5, trip_window=10)
    state = LaneState()
    for n in range(100):
        state = call(policy, state, n % 5 < 3)
    assert lane.condition(state, NOW) == "closed"


def test_retry_after_holds_the_lane_is_capped_and_never_shortened() -> None:
    state = lane.finished(BARE, LaneState(), ok=False, now=NOW, retry_after=timedelta(days=30))
    assert state.held_until == NOW + 24 * HOUR
    state = lane.finished(BARE, state, ok=False, now=NOW, retry_after=SECOND)
    assert state.held_until == NOW + 24 * HOUR
    assert why(lane.ask(BARE, state, NOW + 23 * HOUR)) == "lane_held"
    assert lane.condition(state, NOW) == "held"
    assert lane.ask(BARE, state, NOW + 24 * HOUR) == Go()


@pytest.mark.parametrize("seconds", [0, -5])
def test_a_retry_after_of_nothing_holds_nothing(seconds: int) -> None:
    assert lane.finished(BARE, LaneState(), ok=True, now=NOW, retry_after=seconds * SECOND).held_until is None


def test_the_crawl_delay_wins_over_a_shorter_gap() -> None:
    state = lane.with_crawl_delay(LaneState(), 30.0)
    state = call(POLITE, state, True)
    assert isinstance(answer := lane.ask(POLITE, state, NOW), Wait)
    assert answer.until == NOW + 30 * SECOND
    assert any("Crawl-delay 30 s" in reason.note for reason in lane.explain(POLITE, state, NOW))


def test_a_crawl_delay_counts_from_the_request_that_brought_it() -> None:
    state = lane.with_crawl_delay(call(POLITE, LaneState(), True), 60.0, NOW)
    assert state.next_start_at == NOW + 60 * SECOND
    assert lane.with_crawl_delay(state, 60.0, NOW + HOUR) == state


@pytest.mark.parametrize(
    ("seconds", "delay"),
    [(None, None), (0.0, None), (-1.0, None), (math.nan, None), (math.inf, 24 * HOUR), (1e12, 24 * HOUR),
     (1.5, 1.5 * SECOND)],
)  # fmt: skip
def test_odd_crawl_delays_have_a_meaning(seconds: float | None, delay: timedelta | None) -> None:
    assert lane.with_crawl_delay(LaneState(), seconds).crawl_delay == delay


def test_the_operator_blocks_until_reset_and_reset_keeps_politeness() -> None:
    state = lane.finished(POLITE, failures(POLITE, 5), ok=False, now=NOW, retry_after=HOUR)
    blocked = lane.block(state, "too many complaints")
    answer = lane.ask(POLITE, blocked, NOW + 1000 * HOUR)
    assert answer == Wait(None, answer.reason)  # type: ignore[union-attr]
    assert answer.reason.note == "too many complaints"  # type: ignore[union-attr]
    assert lane.block(state, " ").blocked_by
    fresh = lane.reset(blocked)
    assert lane.condition(fresh, NOW) == "closed"
    assert (fresh.next_start_at, fresh.bucket_at) == (state.next_start_at, state.bucket_at)
    assert why(lane.ask(POLITE, fresh, NOW)) != "go"


def test_explain_names_everything_that_holds_the_lane() -> None:
    state = lane.finished(POLITE, failures(POLITE, 5), ok=False, now=NOW, retry_after=HOUR)
    state = lane.block(replace(state, under_way=1), "by hand")
    codes = {reason.code for reason in lane.explain(POLITE, state, NOW)}
    assert codes == {"lane_blocked", "lane_full", "lane_closed", "lane_held", "lane_gap", "lane_bucket"}


def test_the_gap_that_holds_a_lane_is_told_in_seconds() -> None:
    state = replace(LaneState(), next_start_at=NOW + HOUR, crawl_delay=HOUR)
    (reason,) = lane.explain(replace(BARE, gap_min=2 * SECOND, gap_max=5 * SECOND), state, NOW)
    assert reason.note == "2 to 5 s between starts; Crawl-delay 3600 s"


def test_finishing_more_than_was_started_does_not_widen_the_lane() -> None:
    assert lane.finished(BARE, LaneState(), ok=True, now=NOW).under_way == 0


POLICIES = st.builds(
    LanePolicy,
    gap_min=st.integers(0, 3).map(lambda s: s * SECOND),
    gap_max=st.integers(0, 6).map(lambda s: s * SECOND),
    per_minute=st.sampled_from([0.0, 6.0, 20.0, 60.0]),
    burst=st.integers(1, 4),
    at_once=st.integers(1, 4),
    trips_after=st.integers(0, 4),
    trip_share=st.sampled_from([0.0, 0.5]),
    trip_window=st.integers(1, 8),
    closed_for=st.integers(1, 60).map(lambda s: s * SECOND),
)
TIMES = st.none() | st.integers(-400, 400).map(lambda s: NOW + s * SECOND)
STATES = st.builds(LaneState, next_start_at=TIMES, bucket_at=TIMES, closed_until=TIMES, held_until=TIMES)


@settings(deadline=None)
@given(POLICIES, STATES)
def test_a_lane_that_says_yes_has_no_time_too_far_ahead(policy: LanePolicy, state: LaneState) -> None:
    if lane.ask(policy, state, NOW) is lane.GO:
        assert lane.bounded(policy, state, NOW) is state


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["start", "start", "start", "ok", "fail", "fail", "nothing"]),
        st.floats(0, 8),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from([None, None, None, 5.0]),
        st.sampled_from([0.0, 0.0, 0.5, 4.0]),  # how late it went out
    ),
    max_size=60,
)
Event = tuple[str, float, float, float | None, float]


def replay(policy: LanePolicy, delay: float | None, events: list[Event]) -> list[tuple[datetime, bool]]:
    """Obey the lane over any sequence of events, checking each step: when requests went out, and which were probes."""
    state, at, starts = lane.with_crawl_delay(LaneState(), delay), NOW, []
    for kind, wait, jitter, after, late in events:
        at += wait * SECOND
        if kind != "start":
            ok = {"ok": True, "fail": False, "nothing": None}[kind]
            if state.under_way:
                state = lane.finished(policy, state, ok=ok, now=at, retry_after=after and after * SECOND)
            continue
        answer = lane.ask(policy, state, at)
        assert (answer == Go()) == (lane.explain(policy, state, at) == ())
        if isinstance(answer, Wait):
            if answer.until is not None:
                assert answer.until > at
                assert lane.ask(policy, state, answer.until - timedelta(microseconds=1)) != Go()
                assert lane.ask(policy, state, answer.until) == Go()
                assert lane.ask(policy, state, answer.until + HOUR) == Go()
            continue
        is_probe = state.closed_until is not None
        assert state.closed_until is None or at >= state.closed_until
        assert state.held_until is None or at >= state.held_until
        assert not is_probe or state.under_way == 0
        state = lane.started(policy, state, at, jitter)
        gap = state.next_start_at - at
        assert state.under_way <= (1 if is_probe else policy.at_once)
        # Before it is on the line nobody else is let in, unless there is neither gap nor bucket to keep.
        assert not (gap or policy.per_minute) or lane.ask(policy, state, at + HOUR) != Go()
        at += late * SECOND
        state = lane.sent(policy, state, at, gap)
        starts.append((at, is_probe))
    return starts


@settings(max_examples=300, deadline=None)
@given(POLICIES, st.sampled_from([None, 4.0]), EVENTS)
def test_no_sequence_of_events_starts_more_than_gap_and_bucket_allow(
    policy: LanePolicy, delay: float | None, events: list[Event]
) -> None:
    starts = [at for at, _ in replay(policy, delay, events)]
    keeps_to(policy, starts, max(policy.gap_min, (delay or 0) * SECOND))


def keeps_to(policy: LanePolicy, starts: list[datetime], gap: timedelta) -> None:
    """No two starts closer than the gap; in any window of n emission intervals at most burst + n."""
    assert all(b - a >= gap for a, b in pairwise(starts))
    if policy.per_minute:
        step = 60 * SECOND / policy.per_minute
        for i, first in enumerate(starts):
            for j in range(i, len(starts)):
                assert j - i + 1 <= policy.burst + math.floor((starts[j] - first) / step + 1e-6)


@settings(max_examples=300, deadline=None)
@given(POLICIES, st.lists(st.floats(0, 8), max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_a_kill_at_any_moment_breaks_neither_gap_nor_bucket(
    policy: LanePolicy, waits: list[float], kill_after: int, kept: int
) -> None:
    """What the store has may be any number of starts old; a burst may have gone out since."""
    at, starts = NOW, []
    states = [LaneState()]
    for n, wait in enumerate(waits):
        at += wait * SECOND
        if n == kill_after:
            states.append(lane.started_unseen(policy, states[min(kept, len(states) - 1)], at))
        if lane.ask(policy, states[-1], at) == Go():
            state = lane.started(policy, states[-1], at, 0.0)
            state = lane.sent(policy, state, at, state.next_start_at - at)
            states.append(replace(lane.finished(policy, state, ok=True, now=at), under_way=0))
            starts.append(at)
    keeps_to(policy, starts, policy.gap_min)


def test_after_a_kill_the_whole_burst_counts_as_spent() -> None:
    policy = replace(BARE, per_minute=60, burst=4)
    state = lane.started_unseen(policy, LaneState(), NOW)
    assert lane.ask(policy, state, NOW).until == NOW + SECOND
    assert state.bucket_at == NOW + 4 * SECOND


def test_a_permit_that_is_not_used_holds_nobody_up() -> None:
    policy = replace(BARE, gap_min=SECOND, gap_max=SECOND)
    state = lane.started(policy, LaneState(), NOW, 0.0)
    assert why(lane.ask(policy, state, NOW + HOUR)) == "lane_unsent"
    assert "lane_unsent" in {reason.code for reason in lane.explain(policy, state, NOW + HOUR)}
    assert lane.ask(policy, lane.unused(state), NOW + HOUR) == Go()
    assert lane.finished(policy, state, ok=None, now=NOW).unsent == 0


@given(POLICIES, EVENTS)
def test_the_same_events_give_the_same_lane(policy: LanePolicy, events: list[Event]) -> None:
    assert replay(policy, None, events) == replay(policy, None, events)


# ---- a clock that was wrong ----


def lived(chance: random.Random, policy: LanePolicy, now: datetime) -> tuple[LaneState, datetime]:
    """A lane after some hours of everything that can happen in it, by a right clock."""
    state = LaneState()
    for _ in range(chance.randrange(1, 60)):
        if isinstance(lane.ask(policy, state, now), Go):
            state = lane.started(policy, state, now, chance.random())
            state = lane.sent(policy, state, now, policy.gap_min)
            hold = timedelta(seconds=chance.randrange(1, 9000)) if chance.random() < 0.2 else None
            state = lane.finished(policy, state, ok=chance.random() < 0.6, now=now, retry_after=hold)
        assert lane.bounded(policy, state, now) is state, "a right clock is never corrected"
        now += timedelta(seconds=chance.expovariate(1 / 60))
    return state, now


@pytest.mark.parametrize("turn", range(20))
def test_a_clock_that_stepped_holds_a_lane_up_no_longer_than_its_rules(turn):
    seed = secrets.randbelow(10**9)
    chance = random.Random(seed)
    policy = LanePolicy(
        gap_max=timedelta(seconds=chance.choice((2, 5, 90))),
        per_minute=chance.choice((0.0, 1.0, 20.0, 500.0)),
        burst=chance.choice((1, 4)),
        at_once=chance.choice((1, 3)),
        trips_after=2,
    )
    state, now = lived(chance, policy, NOW)
    for ahead in (3600, 7300, 86_400, 90 * 86_400):
        true_now = now - timedelta(seconds=ahead)
        healed = lane.bounded(policy, state, true_now)
        assert lane.bounded(policy, healed, true_now) is healed, seed
        waits = [(healed.closed_until, policy.closed_most), (healed.held_until, policy.max_retry_after)]
        for at, most in waits:
            assert at is None or at - true_now <= most, seed
        assert healed.next_start_at is None or healed.next_start_at - true_now <= policy.gap_max, seed
        told = lane.ask(policy, healed, true_now)
        later = true_now + timedelta(days=1, seconds=1)
        assert isinstance(lane.ask(policy, healed, later), Go), (seed, told)


def test_a_hold_that_was_written_by_a_clock_ahead_has_left_what_it_had_left():
    policy = LanePolicy()
    for ahead in (timedelta(hours=1), timedelta(hours=2, minutes=2), timedelta(days=90)):
        state = lane.started(policy, LaneState(), NOW + ahead, 0.5)
        state = lane.finished(policy, state, ok=False, now=NOW + ahead, retry_after=timedelta(seconds=30))
        healed = lane.bounded(policy, state, NOW)
        assert healed.held_until is not None
        assert timedelta(seconds=20) <= healed.held_until - NOW <= timedelta(seconds=40)


def test_a_long_hold_by_a_right_clock_is_kept_after_a_restart():
    policy = LanePolicy()
    state = lane.started(policy, LaneState(), NOW, 0.5)
    state = lane.finished(policy, state, ok=False, now=NOW, retry_after=timedelta(hours=20))
    assert lane.bounded(policy, state, NOW + timedelta(hours=1)) is state
