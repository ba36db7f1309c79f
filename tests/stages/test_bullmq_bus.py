"""BullMQ as the job bus keeps what every bus promises, on a real Redis, with rows in SQLite and in PostgreSQL.

And it loses nothing when Redis is away, is started again, or comes back empty.
"""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from jobbus_contract import MINUTE, NOON, RULES, SECOND, WIDE, JobBusContract, a_job
from machine import patient
from redis_kit import OwnRedis, own_redis
from stocked import blank

from vedette.app.job_buses import carrier_of, keep_relaying, open_bus
from vedette.config.model import Config, Loaded
from vedette.contracts.errors import ConfigError, StoreWaitError
from vedette.contracts.jobs import SCOUT, JobEnd, QueuedJob
from vedette.contracts.lane import DueLane
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import LaneKey
from vedette.jobs.bullmq_bus import BullmqJobBus
from vedette.jobs.bullmq_queues import BullmqQueues
from vedette.jobs.lane_calls import LaneCalls
from vedette.store.connection import StorePlace
from vedette.store.handed_jobs import HandedJobs
from vedette.store.job_bus import SqliteJobBus
from vedette.telemetry.clock import SystemClock


@pytest.fixture(scope="module")
def one_redis() -> Iterator[OwnRedis]:
    with own_redis() as found:
        yield found


@pytest.fixture
def redis(one_redis: OwnRedis) -> OwnRedis:
    one_redis.client.flushall()
    return one_redis


@pytest.fixture
def mortal() -> Iterator[OwnRedis]:
    """One that may be killed.  What it was told is there again afterwards."""
    with own_redis(keeps=True) as found:
        yield found


def a_bus(path: StorePlace, redis: OwnRedis) -> BullmqJobBus:
    return BullmqJobBus(HandedJobs(path, RULES), BullmqQueues(redis.url))


def ids(jobs: list[QueuedJob]) -> list[str]:
    return [job.id for job in jobs]


class TestBullmqJobBus(JobBusContract):
    @pytest.fixture
    def bus(self, tmp_path: Path, server: PostgresAddress | None, redis: OwnRedis) -> Iterator[BullmqJobBus]:
        with closing(a_bus(server or blank(tmp_path), redis)) as bus:
            yield bus


def test_jobs_that_were_added_while_redis_was_away_are_there_when_it_is_back(
    tmp_path: Path, mortal: OwnRedis
):
    with closing(a_bus(blank(tmp_path), mortal)) as bus:
        mortal.kill()
        assert bus.add([a_job("x"), a_job("y")], now=NOON) == ["x", "y"]
        with pytest.raises(StoreWaitError, match="jobs wait in the database, nothing is lost"):
            bus.take_some(WIDE, worker="w", now=NOON, most=9)
        assert bus.depth(WIDE, now=NOON).waiting == 2
        mortal.start()
        assert ids(bus.take_some(WIDE, worker="w", now=NOON, most=9)) == ["x", "y"]


def test_a_wiped_redis_gets_every_job_again_and_none_that_has_ended(tmp_path: Path, redis: OwnRedis):
    path = blank(tmp_path)
    with closing(a_bus(path, redis)) as bus, closing(a_bus(path, redis)) as relay:
        bus.add([a_job(f"x-{n}") for n in range(20)] + [a_job("late", delay=MINUTE)], now=NOON)
        done, failed, *held = bus.take_some(WIDE, worker="w", now=NOON, most=5)
        bus.done(done, now=NOON)
        assert bus.failed(failed, now=NOON, error="no") is not None
        redis.client.flushall()
        for job in held:  # a worker does not notice
            bus.done(job, now=NOON)
        relay.compare(WIDE, now=NOON)
        taken = ids(bus.take_some(WIDE, worker="w", now=NOON, most=99))
        assert taken == [f"x-{n}" for n in range(5, 20)]
        later = bus.take_some(WIDE, worker="w", now=NOON + MINUTE, most=99)
        assert {job.id: job.attempt for job in later} == {"late": 1, failed.id: 2}


def test_a_job_that_ended_while_redis_was_away_is_not_worked_on_again(tmp_path: Path, mortal: OwnRedis):
    with closing(a_bus(blank(tmp_path), mortal)) as bus:
        bus.add([a_job("x")], now=NOON)
        (job,) = bus.take_some(WIDE, worker="w", now=NOON, most=1)
        mortal.kill()
        bus.done(job, now=NOON)
        mortal.start()
        for key in ("bull:extract:x:lock", "bull:extract:stalled-check"):
            mortal.client.delete(key)  # as if the time of the lock were over
        bus.take(WIDE, worker="w", now=NOON)  # marks what has no lock
        mortal.client.delete("bull:extract:stalled-check")
        assert bus.take(WIDE, worker="w", now=NOON + MINUTE) is None
        assert mortal.client.zcard("bull:extract:completed") == 1
        assert bus.depth(WIDE, now=NOON).done == 1


def test_redis_carries_no_more_than_its_window(tmp_path: Path, redis: OwnRedis):
    rows = HandedJobs(blank(tmp_path), RULES)
    with closing(BullmqJobBus(rows, BullmqQueues(redis.url), window=10)) as bus:
        bus.add([a_job(f"x-{n:02}") for n in range(25)], now=NOON)
        assert redis.client.llen("bull:extract:wait") == 10
        assert bus.depth(WIDE, now=NOON).waiting == 25
        seen: list[str] = []
        for _ in range(3):
            jobs = bus.take_some(WIDE, worker="w", now=NOON, most=10)
            seen += ids(jobs)
            bus.end([JobEnd(job=job) for job in jobs], now=NOON)
        assert seen == [f"x-{n:02}" for n in range(25)]


def test_what_a_worker_without_redis_did_is_not_done_again(tmp_path: Path, redis: OwnRedis):
    """As while REDIS_URL is being rolled out."""
    path = blank(tmp_path)
    with closing(a_bus(path, redis)) as bus, closing(SqliteJobBus(path, RULES)) as plain:
        bus.add([a_job("x"), a_job("y")], now=NOON)
        old = plain.take(WIDE, worker="old", now=NOON)
        assert old is not None
        assert ids(bus.take_some(WIDE, worker="w", now=NOON, most=9)) == ["y"]
        plain.done(old, now=NOON)
        assert bus.take_some(WIDE, worker="w", now=NOON + 6 * MINUTE, most=9) == []
        assert bus.depth(WIDE, now=NOON).done == 1


class Storm:
    """Two workers, a relay, and a Redis that is wiped, killed, and started again with and without what it knew."""

    def __init__(self, path: Path, redis: OwnRedis, seed: int) -> None:
        self.chance, self.redis, self.now = random.Random(seed), redis, NOON
        self.rows = [HandedJobs(path) for _ in range(3)]
        self.buses = [BullmqJobBus(one, BullmqQueues(redis.url)) for one in self.rows]
        self.added, self.is_up = 0, True
        self.held: list[tuple[int, QueuedJob]] = []
        self.ended: Counter[str] = Counter()  # ends that counted

    def step(self) -> None:
        self.now += SECOND * self.chance.randrange(20)
        acts = (
            self.add,
            self.take,
            self.take,
            self.end,
            self.end,
            self.compare,
            self.wipe,
            self.kill,
            self.start,
        )
        with suppress(StoreWaitError):
            self.chance.choice(acts)()

    def add(self) -> None:
        jobs = [a_job(f"j-{self.added + n}") for n in range(5)]
        self.added += 5
        self.chance.choice(self.buses).add(jobs, now=self.now)

    def take(self) -> None:
        n = self.chance.randrange(2)
        jobs = self.buses[n].take_some(WIDE, worker=f"w{n}", now=self.now, most=self.chance.randrange(1, 8))
        self.held += [(n, job) for job in jobs]

    def end(self) -> None:
        if self.held:
            n, job = self.held.pop(self.chance.randrange(len(self.held)))
            self.finish(n, job, "no" if self.chance.random() < 0.4 else None)

    def finish(self, n: int, job: QueuedJob, error: str | None) -> None:
        before = self.rows[n].depth(WIDE, now=self.now)
        self.buses[n].end([JobEnd(job=job, error=error)], now=self.now)
        after = self.rows[n].depth(WIDE, now=self.now)
        self.ended[job.id] += (after.done + after.parked) - (before.done + before.parked)

    def compare(self) -> None:
        self.buses[2].hear(WIDE, now=self.now)
        self.buses[2].compare(WIDE, now=self.now)

    def wipe(self) -> None:
        if self.is_up:
            self.redis.client.flushall()

    def kill(self) -> None:
        if self.is_up:
            self.redis.kill()
            self.is_up = False

    def start(self) -> None:
        if not self.is_up:
            if self.chance.random() < 0.5:
                forget(self.redis)
            self.redis.start()
            self.is_up = True

    def calm(self) -> None:
        """Redis is there, and one worker goes on until nothing waits."""
        self.start()
        for _ in range(200):
            self.now += MINUTE
            self.compare()
            for job in self.buses[0].take_some(WIDE, worker="w0", now=self.now, most=50):
                self.finish(0, job, None)
            left = self.rows[0].depth(WIDE, now=self.now)
            if not left.waiting and not left.active:
                return

    def close(self) -> None:
        for bus in self.buses:
            bus.close()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_to_redis_every_job_is_ended_and_none_twice(
    tmp_path: Path, mortal: OwnRedis, seed: int
):
    with closing(Storm(blank(tmp_path), mortal, seed)) as storm:
        for _ in range(90):
            storm.step()
        storm.calm()
        last = storm.rows[0].depth(WIDE, now=storm.now)
        assert storm.added >= 20
        assert (last.waiting, last.active, last.done + last.parked) == (0, 0, storm.added)
        assert max(storm.ended.values()) == 1
        waiting, active = storm.buses[0]._queues.counts(WIDE)
        assert (waiting, active) == (0, 0)


def forget(redis: OwnRedis) -> None:
    """Its disk is gone too."""
    for file in redis.folder.glob("appendonlydir/*"):
        file.unlink()


class Weather:
    """An installation on PostgreSQL with this Redis."""

    def __init__(self, server: PostgresAddress, folder: Path, url: str) -> None:
        self.loaded = Loaded(config=Config(), path=None, data=folder, digest="", server=server, redis=url)
        self.told: list[str] = []

    async def relaying(self) -> None:
        assert self.loaded.server is not None
        await keep_relaying(self.loaded, self.loaded.server, SystemClock(), self.told.append)


async def test_the_relay_makes_jobs_again_after_a_wipe_and_says_once_that_redis_is_away(
    postgres_store: PostgresAddress, tmp_path: Path, mortal: OwnRedis
):
    weather = Weather(postgres_store, tmp_path, mortal.url)
    relaying = asyncio.create_task(weather.relaying())
    with closing(SqliteJobBus(postgres_store)) as rows:
        rows.add([a_job(f"scout-{n}", queue=SCOUT) for n in range(30)], now=SystemClock().now())
        await _until(lambda: _waits(mortal, SCOUT) == 30)
        mortal.kill()
        await _until(lambda: weather.told)
        rows.add([a_job("scout-99", queue=SCOUT)], now=SystemClock().now())
        forget(mortal)
        mortal.start()
        await _until(lambda: _waits(mortal, SCOUT) == 31)
    assert len(weather.told) == 1
    assert f"Redis at 127.0.0.1:{mortal.port} (REDIS_URL)" in weather.told[0]
    relaying.cancel()
    await asyncio.wait([relaying])


def test_a_server_that_cannot_be_used_is_told_with_what_to_do(
    postgres_store: PostgresAddress, tmp_path: Path, redis: OwnRedis
):
    def problem(url: str) -> tuple[str, bool]:
        found = carrier_of(Weather(postgres_store, tmp_path, url).loaded, NOON)
        return found.problem, found.is_away

    assert problem("localhost:6379") == ("REDIS_URL: write redis://host:6379/0", False)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        words, is_away = problem(f"redis://:secret@127.0.0.1:{closed.getsockname()[1]}/0")
        assert "cannot be used just now" in words
        assert is_away
        assert "secret" not in words
    with an_old_redis() as url:
        assert "is version 5.0.14, and BullMQ needs 6.2 or newer: upgrade it" in problem(url)[0]
    redis.client.config_set("requirepass", "word")
    try:
        locked = redis.url.replace("redis://", "redis://:wrong@")
        assert "refuses us" in problem(locked)[0]
        assert "check the user and the password" in problem(locked)[0]
        with pytest.raises(ConfigError, match="refuses us"):
            open_bus(Weather(postgres_store, tmp_path, locked).loaded, postgres_store)
    finally:
        redis.client.config_set("requirepass", "")
    redis.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        assert carrier_of(Weather(postgres_store, tmp_path, redis.url).loaded, NOON).evicts
    finally:
        redis.client.config_set("maxmemory-policy", "noeviction")


def test_lanes_are_called_once_until_somebody_answers(redis: OwnRedis):
    clock = SystemClock()
    with (
        closing(LaneCalls(BullmqQueues(redis.url), clock)) as calls,
        closing(LaneCalls(BullmqQueues(redis.url), clock)) as other,
    ):
        due = [DueLane(LaneKey(f"host:{n}.hr"), n, 0) for n in range(5)]
        assert calls.call(due) == 5
        assert other.call(due) == 5  # a scheduler that was elected since calls too,
        assert redis.client.llen("bull:crawl:wait") == 5  # and each lane is queued once
        assert calls.call(due) == 0
        assert calls.answer("w1", 3) == [f"host:{n}.hr" for n in range(3)]
        assert other.answer("w2", 9) == [f"host:{n}.hr" for n in range(3, 5)]
        assert calls.call([DueLane(LaneKey("host:0.hr"), 0, 1)]) == 1  # its next visit
        assert other.answer("w2", 9) == ["host:0.hr"]
    assert redis.client.keys("bull:crawl:lane-*") == []


def test_who_takes_lanes_is_not_held_up_by_a_redis_that_hangs(mortal: OwnRedis):
    with closing(LaneCalls(BullmqQueues(mortal.url, answer_s=0.2), SystemClock())) as calls:
        calls.call([DueLane(LaneKey("host:a.hr"), 1, 0)])
        mortal.hang()
        assert calls.answer("w", 9) is None
        mortal.wake()
        end = time.monotonic() + patient(60)
        while calls.answer("w", 9) is None:  # later it is asked again; the lane itself is in the store
            assert time.monotonic() < end
            time.sleep(0.1)


def _waits(redis: OwnRedis, queue: str) -> int:
    return int(redis.client.llen(f"bull:{queue}:wait"))


async def _until(is_so: object) -> None:
    end = time.monotonic() + patient(60)
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < end
        await asyncio.sleep(0.1)


@contextmanager
def an_old_redis() -> Iterator[str]:
    """Says that it is a version of 2018; nothing else can be asked of it."""
    info = b"redis_version:5.0.14\r\nmaxmemory_policy:noeviction\r\n"

    def answer() -> None:
        with suppress(OSError):
            while True:
                one, _ = listening.accept()
                while data := one.recv(65536):
                    for _ in range(data.count(b"\r\n$4\r\nINFO") or data.count(b"*")):
                        one.sendall(b"$%d\r\n%s\r\n" % (len(info), info) if b"INFO" in data else b"+OK\r\n")

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        threading.Thread(target=answer, daemon=True).start()
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
