"""Several workers on one PostgreSQL store: every host sees one of them at a time, and a late one writes nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from machine import patient
from workers_kit import GAP_S, CountingTown, Team, town_world, wait_for
from workers_trial import DrillPlan, run_drill

from vedette.app.crawl_worker import crawl, server_of
from vedette.app.run import RunHooks
from vedette.app.worker import BEAT_S, roles_of
from vedette.config.model import Loaded, load, parse
from vedette.contracts.errors import ConfigError, InputError
from vedette.contracts.events import Event
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import SourceId
from vedette.engine.crawl.loop import Ended
from vedette.engine.crawl.run import CrawlRun
from vedette.livingweb import LivingWeb
from vedette.livingweb.process import DAY
from vedette.livingweb.world import WorldClock, real_time
from vedette.operations.installation import Installation
from vedette.operations.maintenance import verify_evidence
from vedette.store.connection import connect, operating
from vedette.store.operator import pause_source
from vedette.telemetry.clock import SystemClock

# As whoever takes a lane over does it: nobody who writes looks of it is passed by.
TAKE_OVER = (
    "WITH free AS (SELECT lane_id FROM lane_visits WHERE worker = ? FOR UPDATE) UPDATE lane_visits v "
    "SET worker = 'w9', token = token + 1, due_at = due_at + 3600000 FROM free f WHERE v.lane_id = f.lane_id"
)


@dataclass
class Shop:
    """Workers in this process, each with connections, threads and archive files of its own."""

    loaded: Loaded
    web: LivingWeb
    runs: list[CrawlRun] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    tasks: list[asyncio.Task[Ended]] = field(default_factory=list)

    async def start(self) -> CrawlRun:
        begun: asyncio.Future[CrawlRun] = asyncio.get_running_loop().create_future()
        hooks = RunHooks(on_event=self.events.append, clock=SystemClock())
        self.tasks.append(asyncio.create_task(crawl(self.loaded, hooks, begun.set_result)))
        await asyncio.wait([begun, self.tasks[-1]], return_when=asyncio.FIRST_COMPLETED)
        if not begun.done():
            self.tasks[-1].result()
        self.runs.append(begun.result())
        return self.runs[-1]

    async def end(self) -> None:
        for run in self.runs:
            run.engine.stop()
        for task in self.tasks:
            assert (await task).error is None

    async def until(self, what: Any) -> None:
        async with asyncio.timeout(patient(60)):
            while not what():
                for task in self.tasks:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.05)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        assert self.loaded.server is not None
        db = connect(self.loaded.server, read_only=True)
        try:
            return db.execute(query, values).fetchall()
        finally:
            db.close()


@asynccontextmanager
async def shop(data: Path, server: PostgresAddress, hosts: int, **config: Any) -> AsyncIterator[Shop]:
    world = town_world(hosts, 6)
    clock = WorldClock(real_time() - 30 * DAY, speed=3600.0)
    world.prepare(clock())
    async with LivingWeb(world, now=clock, pace=real_time) as web:
        sources = [
            {key: value for key, value in source.items() if key != "options"} | source["options"]
            for source in web.sources(by="address")
        ]
        gap = f"{int(GAP_S * 1000)}ms"
        raw = {
            "sources": sources,
            "lanes": {"default": {"gap_min": gap, "gap_max": gap, "per_minute": 0, "at_once": 1}},
            "schedule": {"policy": "fixed", "interval": "1s"},
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [web.port]},
        }
        loaded = Loaded(config=parse(raw | config), path=None, data=data, digest="shop", server=server)
        yield Shop(loaded, web)


@pytest.mark.parametrize("policy", [{"policy": "fixed", "interval": "1s"}, {"policy": "learned"}])
async def test_two_workers_share_the_hosts_and_no_host_sees_more_than_its_lane_allows(
    tmp_path: Path, postgres_store: PostgresAddress, policy: dict[str, str]
):
    async with shop(tmp_path / "data", postgres_store, 24, schedule=policy) as made:
        one, other = await made.start(), await made.start()
        await made.until(lambda: min(one.engine.tally.visits, other.engine.tally.visits) > 40)
        await made.end()
        assert dict(made.web.journal.violation_counts) == {}
    looks = made.rows("SELECT run_id, COUNT(*) FROM visits GROUP BY 1")
    assert sum(count for _, count in looks) == one.engine.tally.visits + other.engine.tally.visits
    assert {run.rpartition("-")[2] for run, _ in looks} == {"w1", "w2"}
    assert made.rows("SELECT key FROM lane_visits WHERE worker <> ''") == []  # all were given back
    assert made.rows("SELECT ended_by FROM runs") == [("stopped",), ("stopped",)]
    report = verify_evidence(Installation(made.loaded, SystemClock()))
    assert report.is_whole
    assert report.visits == sum(count for _, count in looks)


async def test_a_worker_whose_lanes_were_taken_writes_nothing(
    tmp_path: Path, postgres_store: PostgresAddress
):
    async with shop(tmp_path / "data", postgres_store, 4) as made:
        run = await made.start()
        await made.until(lambda: run.engine.tally.visits > 20)
        with operating(postgres_store) as db:
            db.execute(TAKE_OVER, ("w1",))
        tables = ("visits", "evidence", "changes", "segments", "lanes", "ledger", "sources")
        before = {name: made.rows(f"SELECT * FROM {name} ORDER BY 1") for name in tables}
        await made.until(lambda: any(event.name == "problem" for event in made.events))
        await made.until(lambda: not len(run.parts.visits.holds) and not run.engine.under_way)
        await made.end()
        assert {name: made.rows(f"SELECT * FROM {name} ORDER BY 1") for name in tables} == before
        words = [event.fields["what"] for event in made.events if event.name == "problem"]
        assert all("another worker has host:" in what and "were not written" in what for what in words)
    assert verify_evidence(Installation(made.loaded, SystemClock())).is_whole


async def test_what_was_found_on_a_host_of_another_worker_is_visited_there(
    tmp_path: Path, postgres_store: PostgresAddress
):
    """A lane that nobody knows of is found by the next sweep, from the watches alone."""
    async with shop(tmp_path / "data", postgres_store, 2) as made:
        run = await made.start()
        await made.until(lambda: run.engine.tally.visits > 10)
        await made.end()
        with operating(postgres_store) as db:
            db.execute("DELETE FROM lane_visits")
            db.execute("DELETE FROM cron_marks")
        again = await made.start()
        await made.until(lambda: again.engine.tally.visits > 10)
        made.runs.remove(run)
        made.tasks.pop(0)
        await made.end()
        assert dict(made.web.journal.violation_counts) == {}


async def test_a_store_in_a_file_has_no_workers_and_the_message_says_what_to_do(tmp_path: Path):
    loaded = Loaded(config=parse({}), path=None, data=tmp_path, digest="")
    with pytest.raises(ConfigError, match="vedette db copy --to"):
        await crawl(loaded, RunHooks(on_event=lambda event: None, clock=SystemClock()), lambda run: None)


@pytest.mark.slow
def test_killed_workers_lose_nothing_and_hurt_nobody(tmp_path: Path):
    plan = DrillPlan(
        workers=2, hosts=12, seconds=12, kill_every_s=3, stopped_s=0, restarts=0, redis_goes=False
    )
    summary = run_drill(tmp_path, plan, random.Random(3), tell=lambda words: None)
    assert summary["problems"] == {}
    assert summary["kills"] >= 3
    assert summary["looks acknowledged"] > 50


@pytest.mark.slow
def test_killed_stopped_and_cut_off_workers_lose_nothing_and_hurt_nobody(tmp_path: Path):
    """One is stopped for longer than its lease, PostgreSQL crashes twice meanwhile, Redis goes."""
    plan = DrillPlan(workers=3, hosts=12, seconds=50, kill_every_s=9, stopped_s=46, restarts=2)
    seed = random.randrange(1_000_000)
    summary = run_drill(tmp_path, plan, random.Random(seed), tell=lambda words: None)
    assert summary["problems"] == {}, (seed, summary)
    assert summary["kills"] >= 2
    assert summary["looks acknowledged"] > 50


@pytest.mark.slow
@pytest.mark.drill
def test_a_worker_that_was_stopped_for_longer_than_its_lease_hurts_nobody(tmp_path: Path):
    plan = DrillPlan(workers=3, hosts=60, seconds=80, stopped_s=50)
    summary = run_drill(tmp_path, plan, random.Random(4), tell=lambda words: None)
    assert summary["problems"] == {}


@pytest.mark.slow
def test_the_limit_of_all_is_shared_by_the_workers(tmp_path: Path, empty_database: PostgresAddress):
    """Two requests a second for the whole installation, by the count of the hosts."""
    with CountingTown(12, 4) as town:
        team = Team(tmp_path, empty_database, town)
        team.settings["lanes"]["all"] = {
            "gap_min": "500ms",
            "gap_max": "500ms",
            "per_minute": 0,
            "at_once": 8,
        }
        workers = [team.start(), team.start()]
        wait_for(lambda: all(one.visits for one in workers), patient(120))
        time.sleep(3 * BEAT_S)
        before, begun = town.stats()["requests"], time.monotonic()
        time.sleep(12)
        asked, took = town.stats()["requests"] - before, time.monotonic() - begun
        assert 0 < asked <= 2 * took + 2
        assert team.stop() == [0, 0]
        assert team.problems() == {}


async def test_a_source_that_hunts_is_refused_beside_workers_unless_it_is_paused(
    tmp_path: Path, postgres_store: PostgresAddress
):
    raw = {"sources": [{"id": "odd", "url": "http://odd.example/", "lister": "crawl", "hunt": True}]}
    loaded = Loaded(config=parse(raw), path=None, data=tmp_path, digest="", server=postgres_store)
    hooks = RunHooks(on_event=lambda event: None, clock=SystemClock())
    with pytest.raises(ConfigError, match="`vedette sources pause odd` lets workers start without it"):
        await crawl(loaded, hooks, lambda run: None)
    with operating(postgres_store) as db:
        pause_source(db, SourceId("odd"), now=SystemClock().now())
    ended = await crawl(loaded, hooks, lambda run: run.engine.stop())
    assert (ended.by, ended.error) == ("stopped", None)


def test_a_worker_whose_database_is_of_another_kind_is_told_so_and_the_password_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DATABASE_URL", "mysql://u:hidden@db.example/x")
    with pytest.raises(ConfigError, match="DATABASE_URL names another database") as told:
        server_of(load(data=tmp_path))
    assert "hidden" not in str(told.value)


def test_a_role_that_is_not_known_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'stages'"):
        roles_of("crawl,stage")
