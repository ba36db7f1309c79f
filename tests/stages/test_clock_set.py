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
from vedette.core.limits.budget import RunLimits
from vedette.engine.crawl.loop import Mode
from vedette.store.operator import operating, save_lane

DAY = timedelta(days=1)
STEPS = [90 * DAY, -DAY, DAY, timedelta(hours=-2)]


@pytest.fixture
def crawl_run(tmp_path: Path) -> Station:
    crawl_run = Station(tmp_path / "data")
    crawl_run.configure(every="1h")
    return crawl_run


def looks(crawl_run: Station) -> int:
    return int(crawl_run.rows("SELECT COUNT(*) FROM visits")[0][0])


def times_too_far_ahead(crawl_run: Station, now_ms: int) -> list[tuple[Any, ...]]:
    return crawl_run.rows(
        "SELECT url, due_at, last_visit_at, seen_at FROM watches WHERE last_visit_at > "
        f"{now_ms + 60_000} OR seen_at > {now_ms + 60_000} "
        f"OR due_at > {now_ms + 60_000} + MAX(interval_s * 1000, 86400000)"
    )


async def test_after_a_run_under_a_clock_that_stood_ahead_the_next_one_goes_on_watching(crawl_run: Station):
    await crawl_run.run()
    crawl_run.clock.set_by(90 * DAY)
    await crawl_run.run()
    crawl_run.clock.set_by(-90 * DAY)
    before = looks(crawl_run)
    ended = await crawl_run.run(mode=Mode.FOREVER, seconds=26 * 3600.0)
    assert ended.by == "limit"
    assert looks(crawl_run) - before >= 24  # every hour, and what the feed names
    now_ms = int(crawl_run.clock.now().timestamp() * 1000)
    assert times_too_far_ahead(crawl_run, now_ms) == []
    healed = [event.fields for event in crawl_run.events if event.name == "clock_healed"]
    assert len(healed) == 1
    assert healed[0]["watches"] == 4


@pytest.mark.parametrize("by", STEPS)
async def test_a_clock_that_is_set_in_a_run_and_set_back_loses_no_looks(crawl_run: Station, by: timedelta):
    """The feed is looked at every hour of real time, whatever the clock says meanwhile."""
    asked = 0

    async def count() -> None:
        nonlocal asked
        asked += 1
        if asked in (5, 10):
            crawl_run.clock.set_by(by if asked == 5 else -by)

    crawl_run.web.before[FEED] = count
    ended = await crawl_run.run(mode=Mode.FOREVER, seconds=24 * 3600.0)
    assert ended.error is None
    assert asked >= 22
    assert [event.fields["seconds"] for event in crawl_run.events if event.name == "clock_set"] == [
        by.total_seconds(),
        -by.total_seconds(),
    ]


async def test_a_run_of_so_many_seconds_takes_so_long_though_the_clock_is_set(crawl_run: Station):
    async def back() -> None:
        crawl_run.web.before.clear()
        crawl_run.clock.set_by(-30 * DAY)

    begun = crawl_run.clock.now()
    crawl_run.web.before[FEED] = back
    await crawl_run.run(mode=Mode.FOREVER, seconds=3600.0)
    assert crawl_run.clock.now() - begun <= HOUR - 30 * DAY + timedelta(minutes=1)


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


async def test_a_breaker_of_a_clock_that_stood_ahead_lets_its_probe_through_in_time(crawl_run: Station):
    await crawl_run.run()
    far = LaneState(failures=6, closed_until=crawl_run.clock.now() + 200 * DAY)
    with operating(crawl_run.data / "vedette.db") as db:
        save_lane(db, LaneKey("host:a.example"), far, now=crawl_run.clock.now())
    before = looks(crawl_run)
    await crawl_run.run(mode=Mode.FOREVER, seconds=30 * 3600.0)
    assert looks(crawl_run) > before


async def test_robots_txt_of_a_clock_that_stood_ahead_is_asked_for_again(crawl_run: Station):
    crawl_run.clock.set_by(90 * DAY)
    await crawl_run.run()
    crawl_run.clock.set_by(-90 * DAY)
    crawl_run.web.asked.clear()
    await crawl_run.run(mode=Mode.FOREVER, seconds=2 * 3600.0)
    assert crawl_run.web.asked.count("https://a.example/robots.txt") == 1


async def test_health_tells_that_the_clock_stood_ahead_and_doctor_heals_it(crawl_run: Station):
    await crawl_run.run()
    crawl_run.clock.set_by(90 * DAY)
    await crawl_run.run(mode=Mode.FOREVER, seconds=2 * 3600.0)
    crawl_run.clock.set_by(-90 * DAY)
    (crawl_run.data.parent / "vedette.yaml").write_text("{}")
    clock = FixedClock(crawl_run.clock.now())
    await asyncio.to_thread(check_health_tells, Cli(crawl_run.data, clock=clock))
    assert times_too_far_ahead(crawl_run, int(clock.now().timestamp() * 1000)) == []


def check_health_tells(cli: Cli) -> None:
    told = cli("health", "--json")
    assert "stood ahead" in told.json["clock"]
    assert "doctor --heal" in cli("health").err
    checks = {one["check"]: one for one in cli("doctor", "--json").json["checks"]}
    assert (checks["clock"]["state"], "--heal" in checks["clock"]["remedy"]) == ("bad", True)
    checks = {one["check"]: one for one in cli("doctor", "--heal", "--json").json["checks"]}
    assert checks["clock"]["state"] == "ok"
    assert cli("health", "--json").json["clock"] is None


async def test_a_clock_that_is_right_heals_nothing(crawl_run: Station):
    for _ in range(3):
        await crawl_run.run()
        crawl_run.clock.advance(3 * HOUR)
    assert [event.name for event in crawl_run.events if event.name.startswith("clock")] == []
