"""BullMQ as the job bus keeps what every bus promises, on a real Redis, with rows in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from jobbus_contract import RULES, JobBusContract
from redis_kit import OwnRedis, own_redis
from stocked import blank

from vedette.contracts.sql_connection import PostgresAddress
from vedette.jobs.bullmq_bus import BullmqJobBus
from vedette.jobs.bullmq_queues import BullmqQueues
from vedette.store.connection import StorePlace
from vedette.store.handed_jobs import HandedJobs


@pytest.fixture(scope="module")
def one_redis() -> Iterator[OwnRedis]:
    with own_redis() as found:
        yield found


@pytest.fixture
def redis(one_redis: OwnRedis) -> OwnRedis:
    one_redis.client.flushall()
    return one_redis


def a_bus(path: StorePlace, redis: OwnRedis) -> BullmqJobBus:
    return BullmqJobBus(HandedJobs(path, RULES), BullmqQueues(redis.url))


class TestBullmqJobBus(JobBusContract):
    @pytest.fixture
    def bus(self, tmp_path: Path, server: PostgresAddress | None, redis: OwnRedis) -> Iterator[BullmqJobBus]:
        with closing(a_bus(server or blank(tmp_path), redis)) as bus:
            yield bus
