"""Programs of Node and ours share queues: real BullMQ of Node, a real Redis, rows in PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from machine import patient
from node_kit import ask_node, start_node, stop_node
from redis_kit import OwnRedis, own_redis

from vedette.contracts.jobs import SCOUT, SENTINEL, STAGES, NewJob, QueuedJob, QueueRule, StageOrder
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import EvidenceId, RunId, VisitId
from vedette.core.judging.verdict import read_stage_order, scout_job, stage_job
from vedette.core.older_sentinel import read_order
from vedette.jobs.bullmq_bus import BullmqJobBus
from vedette.jobs.bullmq_queues import BullmqQueues, NewCall
from vedette.store.handed_jobs import HandedJobs
from vedette.store.job_bus import RULES as OURS

SECOND = timedelta(seconds=1)
QUICK = {SCOUT: QueueRule(backoff=SECOND)}  # the document's ten seconds are checked in the options


@pytest.fixture(scope="module")
def one_redis() -> Iterator[OwnRedis]:
    with own_redis() as found:
        yield found


@pytest.fixture
def redis(one_redis: OwnRedis) -> OwnRedis:
    one_redis.client.flushall()
    return one_redis


@pytest.fixture
def bus(postgres_store: PostgresAddress, redis: OwnRedis) -> Iterator[BullmqJobBus]:
    with closing(BullmqJobBus(HandedJobs(postgres_store, QUICK), BullmqQueues(redis.url))) as bus:
        yield bus


def now() -> datetime:
    return datetime.now(UTC)


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + patient(60)
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def scout(number: int, **given: Any) -> NewJob:
    made = scout_job(EvidenceId(number), RunId("run-č"), VisitId(number + 100))
    return NewJob(queue=made.queue, name=made.name, data=made.data, id=made.id, **given)


def take_all(bus: BullmqJobBus, count: int, queue: str = SCOUT) -> list[QueuedJob]:
    taken: list[QueuedJob] = []

    def more() -> bool:
        taken.extend(bus.take_some(queue, worker="w", now=now(), most=count - len(taken)))
        return len(taken) >= count

    until(more)
    return taken


def test_node_consumes_scout_jobs_that_we_produced(bus: BullmqJobBus, redis: OwnRedis):
    bus.add([scout(1), scout(1), scout(2), scout(3, delay=2 * SECOND), scout(4)], now=now())
    bus.hear(SCOUT, now=now())
    order = {"do": "consume", "queue": SCOUT, "ends": 4, "fails": {"scout-2": 2, "scout-4": 3}}
    seen = ask_node(redis.url, order)
    by_id = {one["id"]: one for one in seen}
    assert by_id["scout-1"]["name"] == "scout"
    assert by_id["scout-1"]["data"] == {"evidenceId": "1", "runId": "run-č", "parentJobId": "fetch-101"}
    assert [one["id"] for one in seen].count("scout-1") == 1  # added twice
    assert by_id["scout-3"]["waited"] >= 2000
    assert [one["attemptsMade"] for one in seen if one["id"] == "scout-2"] == [0, 1, 2]
    assert [one["attemptsMade"] for one in seen if one["id"] == "scout-4"] == [0, 1, 2]
    bus.hear(SCOUT, now=now())
    depth = bus.depth(SCOUT, now=now())
    assert (depth.waiting, depth.active, depth.done, depth.parked) == (0, 0, 3, 1)
    parked = bus.parked(SCOUT)[0]
    assert (parked.id, parked.attempts, parked.error) == ("scout-4", 3, "node cannot do scout-4")
    assert "bullmq_node.cjs" in parked.stack
    assert bus.take_some(SCOUT, worker="w", now=now(), most=9) == []
    assert bus.retry(SCOUT, "scout-4", now=now())
    (again,) = take_all(bus, 1)
    assert (again.id, again.attempt) == ("scout-4", 1)


def test_jobs_have_the_options_of_the_document(postgres_store: PostgresAddress, redis: OwnRedis):
    with closing(BullmqJobBus(HandedJobs(postgres_store, OURS), BullmqQueues(redis.url))) as bus:
        stages = [stage_job(name, StageOrder(evidence=EvidenceId(7), run=RunId("r"))) for name in STAGES]
        bus.add(stages, now=now())
        for job in stages:
            found = ask_node(redis.url, {"do": "look", "queue": job.queue, "ids": [job.id]})
            options = found["jobs"][job.id]["opts"]
            assert options["attempts"] == 3
            assert options["backoff"] == {"type": "exponential", "delay": 10_000}
            assert options["removeOnComplete"] == {"count": 1000}
            assert options["removeOnFail"] == {"count": 100}


def test_we_consume_jobs_that_node_produced(bus: BullmqJobBus, redis: OwnRedis):
    def job(number: int, **opts: Any) -> dict[str, Any]:
        return {"name": "scout", "data": {"evidenceId": str(number), "runId": "node"}, "opts": opts}

    retries = {"attempts": 2, "backoff": {"type": "fixed", "delay": 1000}}
    jobs = [
        job(1, priority=10),
        job(2, priority=1),
        job(3, jobId="scout-3"),
        job(4, delay=1000, jobId="scout-4"),
        job(5, deduplication={"id": "once"}),
        job(6, deduplication={"id": "once"}),
        job(7, jobId="scout-7", **retries),
        job(8, **retries),
    ]
    ids = ask_node(redis.url, {"do": "produce", "queue": SCOUT, "jobs": jobs})
    assert bus.depth(SCOUT, now=now()).waiting == 7
    first = take_all(bus, 6)
    numbers = [read_stage_order(one.data).evidence for one in first]
    assert numbers == [3, 5, 7, 8, 2, 1]  # without a priority first, then by it
    assert all(one.attempt == 1 for one in first)
    for one, number in zip(first, numbers, strict=True):
        if number in (7, 8):
            assert bus.failed(one, now=now(), error="no text") is not None
        else:
            bus.done(one, now=now(), result={"number": number})
    later = take_all(bus, 3)
    assert sorted(read_stage_order(one.data).evidence for one in later) == [4, 7, 8]
    for one in later:
        number = read_stage_order(one.data).evidence
        assert one.attempt == (1 if number == 4 else 2)
        if number == 7:
            assert bus.failed(one, now=now(), error="no text again") is None
        else:
            bus.done(one, now=now(), result={"number": number})
    found = ask_node(redis.url, {"do": "look", "queue": SCOUT, "ids": [*ids, "scout-7"]})["jobs"]
    assert found[ids[1]]["returnvalue"] == {"number": 2}
    assert found["scout-7"]["state"] == "failed"
    assert found["scout-7"]["failedReason"] == "no text again"
    assert found["scout-7"]["attemptsMade"] == 2
    assert found[ids[7]]["state"] == "completed"
    assert [one.id for one in bus.parked(SCOUT)] == ["scout-7"]
    assert bus.compare(SCOUT, now=now()) == 0


def test_a_job_that_node_retries_by_hand_is_tried_again(bus: BullmqJobBus, redis: OwnRedis):
    jobs = [{"name": "scout", "data": {"evidenceId": "9", "runId": "n"}, "opts": {"jobId": "scout-9"}}]
    ask_node(redis.url, {"do": "produce", "queue": SCOUT, "jobs": jobs})
    (one,) = take_all(bus, 1)
    assert bus.failed(one, now=now(), error="no") is None  # one attempt is BullMQ's default
    ask_node(redis.url, {"do": "retry", "queue": SCOUT, "id": "scout-9"})
    (one,) = take_all(bus, 1)
    bus.done(one, now=now())
    assert bus.parked(SCOUT) == []


def test_an_order_of_a_node_program_is_a_run_of_the_sentinel(bus: BullmqJobBus, redis: OwnRedis):
    """Direct queue injection, spec 001/7.3, word for word."""
    data = {"runId": "manual-1763000000000", "priority": "CRITICAL"}
    jobs = [{"name": "sentinel-manual", "data": data}]
    ask_node(redis.url, {"do": "produce", "queue": SENTINEL, "jobs": jobs})
    (job,) = take_all(bus, 1, SENTINEL)
    order = read_order(job.data)
    assert (order.run, order.tier and order.tier.name) == ("manual-1763000000000", "CRITICAL")


def test_calls_of_one_subject_are_queued_once_and_by_priority(bus: BullmqJobBus, redis: OwnRedis):
    queues = BullmqQueues(redis.url)
    calls = [
        NewCall(f"lane-{name}-{n}", "lane", {"lane": name}, f"lane-{name}", priority=priority)
        for n in range(2)
        for name, priority in (("b", 10), ("a", 1))
    ]
    queues.call("crawl", calls, now=now())
    seen = ask_node(redis.url, {"do": "consume", "queue": "crawl", "ends": 2})
    assert [one["data"]["lane"] for one in seen] == ["a", "b"]
    queues.close()


def test_node_and_ours_share_a_queue_and_each_job_is_done_once(bus: BullmqJobBus, redis: OwnRedis):
    bus.add([scout(n) for n in range(200)], now=now())
    bus.hear(SCOUT, now=now())
    ours: list[str] = []

    def more() -> bool:
        for job in bus.take_some(SCOUT, worker="w", now=now(), most=2):
            ours.append(job.id)
            bus.done(job, now=now())
        bus.hear(SCOUT, now=now())
        return bus.depth(SCOUT, now=now()).done == 200

    with start_node(redis.url, {"do": "consume", "queue": SCOUT, "ends": 1_000_000}) as node:
        until(more)
        theirs = [one["id"] for one in stop_node(node)]
    assert sorted(ours + theirs) == sorted(f"scout-{n}" for n in range(200))
