"""The embedded job bus keeps what every bus promises, also over a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jobbus_contract import NOON, RULES, WIDE, JobBusContract, a_job
from stocked import blank

from vedette.contracts.jobs import SENTINEL
from vedette.contracts.sql_connection import PostgresAddress
from vedette.store.job_bus import RULES as OURS
from vedette.store.job_bus import SqliteJobBus


class TestJobBus(JobBusContract):
    @pytest.fixture
    def bus(self, tmp_path: Path, server: PostgresAddress | None) -> Iterator[SqliteJobBus]:
        bus = SqliteJobBus(server or blank(tmp_path), RULES)
        yield bus
        bus.close()


def test_jobs_outlive_their_process(tmp_path: Path):
    path = blank(tmp_path)
    first = SqliteJobBus(path)
    first.add([a_job("x")], now=NOON)
    first.close()
    second = SqliteJobBus(path)
    assert second.take(WIDE, worker="w", now=NOON) is not None
    second.close()


def test_the_sentinel_queue_is_as_the_document_has_it():
    rule = OURS[SENTINEL]
    assert (rule.at_once, rule.per_minute, rule.attempts, rule.backoff.total_seconds()) == (1, 5, 3, 10)
    assert (rule.keep_done, rule.keep_parked) == (1000, 100)
