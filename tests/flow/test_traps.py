"""Sites without end: each class of trap stops within its stated budget, through the whole stream."""

from __future__ import annotations

from datetime import timedelta

import pytest
from watching import clock_of, living, living_web

from vedette.app.run import RunRequest
from vedette.core.urls.admission import DEFAULT_TRAPS
from vedette.engine.crawl.loop import Mode
from vedette.livingweb import trap_world

BUDGETS = {
    "calendar": 2 * DEFAULT_TRAPS.calendar,
    "facets": DEFAULT_TRAPS.facets,
    "session": DEFAULT_TRAPS.session,
    "nesting": 200,
}


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_every_trap_stops_within_its_budget_and_says_why(tmp_path):
    world = trap_world()
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        config = {"lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}}}
        watched = living(world, web, tmp_path, clock=clock, config=config)
        request = RunRequest(
            mode=Mode.UNTIL_IDLE, takes_orders=False, patience=timedelta(seconds=1), max_visits=20_000
        )
        ended = await watched.run(request)
        assert ended.by == "idle"
        taken = dict(watched.rows("SELECT source_id, COUNT(*) FROM watches GROUP BY 1"))
        for host in world.hosts:
            source = host.name.replace(".", "-")
            kind = next((name for name in BUDGETS if name in host.spec.trap), None)
            if kind is not None:
                ordinary = len(host.pages) + 40  # front page, listings, single facets
                assert taken[source] <= BUDGETS[kind] + ordinary, (host.name, taken[source])
                reasons = watched.rows("SELECT DISTINCT reason FROM refusals WHERE source_id = ?", source)
                assert reasons, f"{host.name} refused nothing"
            assert taken[source] <= 2001
