"""A clock that is set by months or a day and comes back: in a run and between two, the engine goes on watching."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli
from engine_kit import POLITE, Rig
from settlements import HOUR, NOON, SECOND, a_watch
from stocked import FixedClock
from test_engine_app import FEED, Station

from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey
from vedette.core.limits import RunLimits
from vedette.engine.loop import Mode
from vedette.store.operator import operating, save_lane

DAY = timedelta(days=1)
STEPS = [90 * DAY, -DAY, DAY, timedelta(hours=-2)]


@pytest.fixture
def station(tmp_path: Path) -> Station:
    station = Station(tmp_path / "data")
    station.configure(every="1h")
    return station


def looks(station: Station) -> int:
    return int(station.rows("SELECT COUNT(*) FROM visits")[0][0])


def times_too_far_ahead(station: Station, now_ms: int) -> list[tuple[Any, ...]]:
    return station.rows(
        "SELECT url, due_at, last_visit_at, seen_at FROM watches WHERE last_visit_at > "
        f"{now_ms + 60_000} OR seen_at > {now_ms + 60_000} "
        f"OR due_at > {now_ms + 60_000} + MAX(interval_s * 1000, 86400000)"
    )


async def test_after_a_run_under_a_clock_that_stood_ahead_the_next_one_goes_on_watching(station: Station):
    await station.run()
    station.clock.set_by(90 * DAY)
    await station.run()
    station.clock.set_by(-90 * DAY)
    before = looks(station)
    ended = await station.run(mode=Mode.FOREVER, seconds=26 * 3600.0)
    assert ended.by == "limit"
    assert looks(station) - before >= 24  # every hour, and what the feed names
    now_ms = int(station.clock.now().timestamp() * 1000)
    assert times_too_far_ahead(station, now_ms) == []
    healed = [event.fields for event in station.events if event.name == "clock_healed"]
    assert len(healed) == 1
    assert healed[0]["watches"] == 4


@pytest.mark.parametrize("by", STEPS)
async def test_a_clock_that_is_set_in_a_run_and_set_back_loses_no_looks(station: Station, by: timedelta):
    """The feed is looked at every hour of real time, whatever the clock says meanwhile."""
    asked = 0

    async def count() -> None:
        nonlocal asked
        asked += 1
        if asked in (5, 10):
            station.clock.set_by(by if asked == 5 else -by)

    station.web.before[FEED] = count
    ended = await station.run(mode=Mode.FOREVER, seconds=24 * 3600.0)
    assert ended.error is None
    assert asked >= 22
    assert [event.fields["seconds"] for event in station.events if event.name == "clock_set"] == [
        by.total_seconds(),
        -by.total_seconds(),
    ]


async def test_a_run_of_so_many_seconds_takes_so_long_though_the_clock_is_set(station: Station):
    async def back() -> None:
        station.web.before.clear()
        station.clock.set_by(-30 * DAY)

    begun = station.clock.now()
    station.web.before[FEED] = back
    await station.run(mode=Mode.FOREVER, seconds=3600.0)
    assert station.clock.now() - begun <= HOUR - 30 * DAY + timedelta(minutes=1)


async def test_in_lanes_that_wait_a_clock_that_is_set_leaves_the_gap_as_it_was():
    rig = Rig(mode=Mode.UNTIL_IDLE, policy=POLITE, limits=RunLimits(max_visits=8))
    for number in range(8):
        rig.plant(a_watch(f"http://a.example/{number}", due_at=NOON - 2 * DAY))
    steps = iter([90 * DAY, -90 * DAY, -DAY, DAY])

    async def jump(job: object) -> None:
        if (by := next(steps, None)) is not None:
            rig.clock.set_by(by)

    rig.during[LaneKey("host:a.example")] = jump
    ended = await rig.run()
    assert (ended.by, len(rig.started)) == ("limit", 8)
    moved = [(b - a) % DAY for (_, a), (_, b) in zip(rig.started, rig.started[1:], strict=False)]
    assert all(gap >= 2 * SECOND for gap in moved), moved
    assert all(gap <= 3 * SECOND for gap in moved), moved


async def test_a_breaker_of_a_clock_that_stood_ahead_lets_its_probe_through_in_time(station: Station):
    await station.run()
    far = LaneState(failures=6, closed_until=station.clock.now() + 200 * DAY)
    with operating(station.data / "vedette.db") as db:
        save_lane(db, LaneKey("host:a.example"), far, now=station.clock.now())
    before = looks(station)
    await station.run(mode=Mode.FOREVER, seconds=30 * 3600.0)
    assert looks(station) > before


async def test_robots_txt_of_a_clock_that_stood_ahead_is_asked_for_again(station: Station):
    station.clock.set_by(90 * DAY)
    await station.run()
    station.clock.set_by(-90 * DAY)
    station.web.asked.clear()
    await station.run(mode=Mode.FOREVER, seconds=2 * 3600.0)
    assert station.web.asked.count("https://a.example/robots.txt") == 1


async def test_health_tells_that_the_clock_stood_ahead_and_doctor_heals_it(station: Station):
    await station.run()
    station.clock.set_by(90 * DAY)
    await station.run(mode=Mode.FOREVER, seconds=2 * 3600.0)
    station.clock.set_by(-90 * DAY)
    (station.data.parent / "vedette.yaml").write_text("{}")
    clock = FixedClock(station.clock.now())
    await asyncio.to_thread(check_health_tells, Cli(station.data, clock=clock))
    assert times_too_far_ahead(station, int(clock.now().timestamp() * 1000)) == []


def check_health_tells(cli: Cli) -> None:
    told = cli("health", "--json")
    assert "stood ahead" in told.json["clock"]
    assert "doctor --heal" in cli("health").err
    checks = {one["check"]: one for one in cli("doctor", "--json").json["checks"]}
    assert (checks["clock"]["state"], "--heal" in checks["clock"]["remedy"]) == ("bad", True)
    checks = {one["check"]: one for one in cli("doctor", "--heal", "--json").json["checks"]}
    assert checks["clock"]["state"] == "ok"
    assert cli("health", "--json").json["clock"] is None


async def test_a_clock_that_is_right_heals_nothing(station: Station):
    for _ in range(3):
        await station.run()
        station.clock.advance(3 * HOUR)
    assert [event.name for event in station.events if event.name.startswith("clock")] == []
