"""The whole stream on a jumping clock, held against what the living web knows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from watching import a_busy_machine, clock_of, judge, living, living_web

from vedette.app.run import RunRequest
from vedette.engine.crawl.loop import Mode
from vedette.livingweb import grid_world

DAY = 86400.0


@pytest.fixture
async def grid(tmp_path):
    world = grid_world(16, 10, seed=11)
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        yield living(world, web, tmp_path, clock=clock)


async def test_three_days_of_a_small_web_agree_with_its_truth(grid):
    ended = await grid.run(seconds=3 * DAY)
    assert ended.error is None
    found = judge(grid)
    assert found.never_visited == []
    assert found.missed == []
    assert found.false == []
    assert found.true > 20
    assert grid.web.journal.violation_counts == {}
    assert grid.web.stats()["forbidden"] == 0


async def test_the_same_web_lives_the_same_life_beside_a_busy_machine(tmp_path):
    async def lived(folder) -> tuple[str, int]:
        world = grid_world(8, 6, seed=12)
        clock = clock_of(world)
        async with living_web(world, clock) as web:
            watched = living(world, web, folder, clock=clock)
            await watched.run(seconds=DAY / 2)
            return watched.life(), len(web.journal.requests)

    calm = await lived(tmp_path / "calm")
    with a_busy_machine():
        busy = await lived(tmp_path / "busy")
    assert calm[1] > 100
    assert calm == busy


async def test_a_stopped_run_goes_on_where_it_was(grid):
    await grid.run(seconds=DAY / 2)
    visits = grid.rows("SELECT COUNT(*) FROM visits")[0][0]
    await grid.run(seconds=DAY)
    found = judge(grid)
    assert grid.rows("SELECT COUNT(*) FROM visits")[0][0] > visits
    assert (found.missed, found.false, found.never_visited) == ([], [], [])
    assert grid.rows("SELECT COUNT(*) FROM leases") == [(0,)]


async def test_until_idle_ends_when_nothing_is_due_soon(grid):
    ended = await grid.run(
        RunRequest(mode=Mode.UNTIL_IDLE, takes_orders=False, patience=timedelta(seconds=40))
    )
    assert ended.by == "idle"
    assert judge(grid).never_visited == []


async def test_once_takes_what_is_due_at_the_start_and_nothing_found_later(grid):
    ended = await grid.run(RunRequest(mode=Mode.ONCE, takes_orders=False))
    assert ended.by == "idle"
    sources = len(grid.config.sources)
    assert grid.rows("SELECT COUNT(*) FROM visits") == [(sources,)]
    assert grid.rows("SELECT COUNT(*) FROM watches")[0][0] > sources
