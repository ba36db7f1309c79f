"""Workers whose jobs and lane visits BullMQ carries: the same promises, whatever happens to Redis."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from machine import patient
from node_kit import start_node, stop_node
from redis_kit import own_redis
from workers_kit import CountingTown, Team, wait_for

from vedette.contracts.jobs import ROUTER, SCOUT
from vedette.contracts.sql_connection import PostgresAddress

LEFT = "SELECT COUNT(*) FROM jobs WHERE state IN ('waiting', 'active')"
DONE = "SELECT COUNT(*) FROM jobs WHERE state = 'done'"
UNJUDGED = (  # what waits for another look has no job yet
    "SELECT COUNT(*) FROM evidence e WHERE e.standing = 'content' AND NOT EXISTS "
    "(SELECT 1 FROM verdicts v WHERE v.evidence_id = e.id AND v.word IS NOT NULL)"
)


@pytest.mark.slow
def test_redis_killed_wiped_and_started_again_in_the_middle_of_a_run_loses_nothing(
    tmp_path: Path, postgres_store: PostgresAddress
):
    with own_redis() as redis, CountingTown(12, 6) as town:
        team = Team(tmp_path, postgres_store, town, redis=redis.url)
        try:
            team.start("crawl,scheduler")
            team.start("crawl,stages")

            def more_looks(by: int = 60) -> None:
                looks = len(team.acknowledged())
                wait_for(lambda: len(team.acknowledged()) >= looks + by, patient(90))

            def more_jobs() -> None:
                wait_for(lambda: team.rows(LEFT)[0][0] == 0, patient(90))

            more_looks()
            wait_for(lambda: team.rows(DONE)[0][0] > 20, patient(90))
            assert redis.client.keys("bull:scout:scout-*")
            assert redis.client.exists("bull:crawl:meta")
            redis.kill()
            more_looks()  # lanes are taken from the store
            redis.start()  # with nothing in it
            more_looks()
            wait_for(lambda: redis.client.exists("bull:crawl:meta"), patient(60))
            more_jobs()
            redis.client.flushall()
            more_looks()
            team.stop()
            team.start("stages,scheduler")
            more_jobs()
            team.stop()
        finally:
            for one in [*team.alive]:
                with suppress(ProcessLookupError):
                    team.kill(one)
        assert team.problems() == {}
        assert team.rows(UNJUDGED) == [(0,)]
        assert team.rows("SELECT queue, id FROM jobs WHERE state = 'parked'") == []


@pytest.mark.slow
def test_a_node_program_takes_scout_jobs_of_a_run_and_each_is_done_once(
    tmp_path: Path, postgres_store: PostgresAddress
):
    """Our workers serve the other queues; a scout job that Node has done is not ours any more."""
    with own_redis() as redis, CountingTown(4, 4) as town:
        team = Team(tmp_path, postgres_store, town, redis=redis.url)
        order = {"do": "consume", "queue": SCOUT, "ends": 1_000_000}
        try:
            with start_node(redis.url, order) as node:
                team.start("crawl,scheduler")
                wait_for(lambda: team.rows(f"{DONE} AND queue = ?", SCOUT)[0][0] >= 16, patient(90))
                team.stop()
                seen = stop_node(node)
        finally:
            for one in [*team.alive]:
                team.kill(one)
        ids = [one["id"] for one in seen]
        assert len(ids) == len(set(ids)) >= 16
        known = {f"scout-{number}" for (number,) in team.rows("SELECT id FROM evidence")}
        assert set(ids) <= known
        assert team.rows("SELECT COUNT(*) FROM jobs WHERE queue = ?", ROUTER) == [(0,)]  # Node's own to queue
        assert team.problems() == {}
