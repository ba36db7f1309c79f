"""A wall clock that is wrong, or is set while a batch runs, stops nothing and holds no lane up afterwards."""

from __future__ import annotations

import secrets
from datetime import timedelta

import pytest
from panel_kit import START, MemoryLog, ScriptedProvider, SteppedClock, batch_of, key_of, names, play, steady

from vedette.contracts.words import LaneKey, Outcome
from vedette.telemetry.clock import SteadyClock

FAR = {"target_at": START + timedelta(days=300), "hard_at": START + timedelta(days=400)}
IDS = ["back 1 h", "on 2 h", "back 1 day", "on 90 days", "drawn"]  # the last differs in every run
STEPS = [-3600.0, 7300.0, -86_400.0, 86_400.0 * 90, float(secrets.randbelow(20_000)) - 10_000]


def stepped(step: float, after: float = 20.0):
    return lambda: SteadyClock(SteppedClock(step=step, after=after))


def quiet_seconds(domains: int) -> float:
    return play(batch_of(domains, "a"), [key_of(ScriptedProvider("a", steady(300), latency=1.0))]).seconds


@pytest.mark.parametrize("step", STEPS, ids=IDS)
def test_a_step_in_mid_run_changes_nothing(step):
    provider = ScriptedProvider("a", steady(300), latency=1.0)
    log = MemoryLog(names(450))
    played = play(batch_of(450, "a", **FAR), [key_of(provider)], log=log, make_clock=stepped(step))
    assert (played.end.by, len(log.rows), provider.over) == ("complete", 450, 0)
    assert played.seconds == pytest.approx(quiet_seconds(450), abs=1.0)
    again = ScriptedProvider("a", steady(300), latency=1.0)
    later = step + played.seconds  # the same wall clock, a moment later
    played = play(batch_of(60, "a", **FAR), [key_of(again)], lanes=log.lanes, make_clock=stepped(later, 0.0))
    assert again.seen_at[0] <= 5.0
    assert played.seconds <= quiet_seconds(60) + 5.0


@pytest.mark.parametrize("step", STEPS, ids=IDS)
def test_deadlines_are_counted_from_the_start_whatever_the_clock_shows(step):
    provider = ScriptedProvider("a", steady(60), latency=1.0)
    times = {"target_at": START + timedelta(minutes=1), "hard_at": START + timedelta(minutes=2)}
    played = play(batch_of(900, "a", **times), [key_of(provider)], make_clock=stepped(step))
    assert played.end.by == "hard_stop"
    assert 120 <= played.seconds <= 124


@pytest.mark.parametrize("ahead", [-3600.0, 7300.0, 86_400.0 * 90])
@pytest.mark.parametrize("weather", [None, Outcome.THROTTLED, Outcome.SERVER_ERROR])
def test_a_run_under_a_wrong_clock_holds_up_no_run_after_it(ahead, weather):
    """The lanes that it leaves behind have a bucket, a hold or a breaker far ahead."""
    provider = ScriptedProvider(
        "a", steady(300), latency=1.0, weather=lambda at: weather if at > 10 else None
    )
    log = MemoryLog(names(400), kill_at=25.0)
    play(
        batch_of(400, "a", **FAR),
        [key_of(provider)],
        log=log,
        make_clock=lambda: SteadyClock(SteppedClock(ahead=ahead)),
    )
    state = log.lanes[LaneKey("provider:a/k1")]
    assert state.next_start_at is not None
    again = ScriptedProvider("a", steady(300), latency=1.0)
    played = play(
        batch_of(60, "a", **FAR),
        [key_of(again)],
        lanes=log.lanes,
        make_clock=lambda: SteadyClock(SteppedClock(step=30.0)),
    )
    assert len(played.log.rows) == 60
    assert again.seen_at[0] <= (65.0 if weather else 5.0), "no longer than a breaker of a minute"


def test_rows_and_heartbeats_have_the_time_of_the_wall_clock():
    log = MemoryLog(names(300))
    provider = ScriptedProvider("a", steady(300), latency=1.0)
    clock = {}

    def made():
        clock["steady"] = SteadyClock(SteppedClock(step=-3600.0, after=20.0))
        return clock["steady"]

    play(batch_of(300, "a"), [key_of(provider)], log=log, make_clock=made,
         wall=lambda at: clock["steady"].wall(at))  # fmt: skip
    last = max(log.rows)
    assert log.rows[last].at < START
    assert log.progress is not None
    assert log.progress.at < START
