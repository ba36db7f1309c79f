"""Leases on lanes: one holder at a time, a token that rises, nothing written under an old one."""

from __future__ import annotations

import json
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from machine import patient

from vedette.contracts.errors import LanesLostError
from vedette.contracts.lane import LaneState
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import LaneKey
from vedette.contracts.workers import Role, WorkerRow, WorkerState
from vedette.core.lanes.visit import LEASE
from vedette.store.connection import connect, operating
from vedette.store.fenced_writer import FencedWriter
from vedette.store.lane_visits import LaneVisits
from vedette.store.schedule_rows import merged
from vedette.store.sqlite import Writer
from vedette.store.worker_rows import Election, alive, loads, say, workers_of

LANES = [LaneKey(f"host:{name}.example") for name in "abcdef"]
PAST = datetime(2026, 1, 1, tzinfo=UTC)
GONE = "UPDATE lane_visits SET due_at = 0 WHERE worker = ?"  # as if the worker had been silent for a lease


@pytest.fixture
def first(postgres_store: PostgresAddress):
    with closing(LaneVisits(postgres_store, worker="w1", lease=LEASE)) as made:
        made.sooner(dict.fromkeys(LANES, PAST))
        yield made


@pytest.fixture
def second(postgres_store: PostgresAddress):
    with closing(LaneVisits(postgres_store, worker="w2", lease=LEASE)) as made:
        yield made


def silent(path: PostgresAddress, worker: str) -> None:
    with operating(path) as db:
        db.execute(GONE, (worker,))


def test_two_workers_never_hold_the_same_lane(first: LaneVisits, second: LaneVisits):
    mine, others = first.take(4), second.take(4)
    assert len(mine) == 4
    assert {one.lane for one in mine} | {one.lane for one in others} == set(LANES)
    assert not {one.lane for one in mine} & {one.lane for one in others}
    assert second.take(4) == []


def test_a_lane_that_is_about_to_be_taken_is_passed_over(
    first: LaneVisits, second: LaneVisits, postgres_store: PostgresAddress
):
    with closing(connect(postgres_store)) as db:
        db.execute("START TRANSACTION")
        db.execute("SELECT 1 FROM lane_visits WHERE key = ? FOR UPDATE", (LANES[0],))
        assert LANES[0] not in {one.lane for one in second.take(len(LANES))}
        db.execute("ROLLBACK")
    assert [one.lane for one in first.take(len(LANES))] == [LANES[0]]


def test_a_lane_of_a_silent_worker_is_anothers_with_a_higher_token(
    first: LaneVisits, second: LaneVisits, postgres_store: PostgresAddress
):
    tokens = {one.lane: one.token for one in first.take(len(LANES))}
    assert first.renew(tokens).kept == set(LANES)
    silent(postgres_store, "w1")
    taken = {one.lane: one for one in second.take(len(LANES))}
    assert all(taken[lane].token > token and taken[lane].was_lost for lane, token in tokens.items())
    assert first.renew(tokens).kept == set()
    first.give_back([(lane, token, LaneState(failures=3)) for lane, token in tokens.items()])
    assert second.renew({lane: one.token for lane, one in taken.items()}).kept == set(LANES)
    with closing(connect(postgres_store, read_only=True)) as db:
        assert db.execute("SELECT COUNT(*) FROM lanes").fetchone()[0] == 0  # nothing of the first was written


def test_a_lane_comes_with_the_state_that_its_last_holder_left(first: LaneVisits, second: LaneVisits):
    held = first.take(1)[0]
    state = LaneState(failures=2, next_start_at=PAST, crawl_delay=timedelta(seconds=7))
    first.give_back([(held.lane, held.token, state)])
    (taken,) = second.take_named([held.lane])
    assert taken.state == state
    assert not taken.was_lost
    assert taken.token == held.token + 1


def test_a_blocked_lane_and_one_without_work_are_nobodys(first: LaneVisits, second: LaneVisits):
    held = first.take(2)
    first.give_back(
        [(held[0].lane, held[0].token, LaneState(blocked_by="me")), (held[1].lane, held[1].token, None)]
    )
    first.sweep()
    assert not {one.lane for one in second.take(9)} & {one.lane for one in held}


def test_one_of_several_is_elected_and_another_when_it_is_gone(postgres_store: PostgresAddress):
    one, other = Election(postgres_store), Election(postgres_store)
    assert one.stand()
    assert not other.stand()
    assert one.stand()
    one.close()
    until = time.monotonic() + patient(30)  # the server hears of it a moment later
    while not other.stand():
        assert time.monotonic() < until
        time.sleep(0.02)
    other.close()


def test_an_engine_that_has_the_store_for_itself_is_not_started_beside_workers(
    postgres_store: PostgresAddress,
):
    from vedette.contracts.errors import RefusedError

    worker, other = (FencedWriter(postgres_store, tokens=dict) for _ in range(2))
    worker.take_lock(shared=True)
    other.take_lock(shared=True)
    alone = Writer(postgres_store, worker="alone")
    with pytest.raises(RefusedError, match="is in use by"):
        alone.take_lock()
    for writer in (worker, other, alone):
        writer.close()


def test_the_error_of_a_lost_lane_names_it():
    assert "host:a.example" in str(LanesLostError(frozenset(LANES[:1])))


def test_workers_say_what_they_do_and_the_silent_are_known(postgres_store: PostgresAddress):
    now = datetime.now(UTC)

    def row(name: str, number: int) -> WorkerRow:
        roles = (Role.CRAWL, Role.STAGES) if number else (Role.SCHEDULER,)
        return WorkerRow(
            id=name, number=number, roles=roles, place="here", state=WorkerState.RUNNING, started_at=now, beat_at=now,
            figures={"looks": 3.0},
        )  # fmt: skip

    with operating(postgres_store) as db:
        for one in (row("w1", 1), row("w2", 2), row("s", 0)):
            say(db, one)
        db.execute("UPDATE workers SET beat_at = beat_at - 61000 WHERE id = 'w2'")
    with closing(connect(postgres_store, read_only=True)) as db:
        states = {one.id: one.state for one in workers_of(db)}
        assert states == {"w1": "running", "w2": "silent", "s": "running"}
        assert alive(db)[Role.CRAWL] == 1
        assert {one.role for one in loads(db)} == {Role.CRAWL, Role.STAGES, Role.SCHEDULER, Role.PANEL}


def test_sums_that_several_workers_add_to_lose_nothing():
    def sums(looks: int, bursts: list[float], **counters: object) -> str:
        return json.dumps(
            {
                "running": {"looks": looks, "planned": 0, "found": 0, "started_at": 1.0, **counters},
                "b": bursts,
            }
        )

    stored = sums(110, [5.0, 7.0], price=2)  # another has added 10 looks since this worker read
    before, mine = sums(100, [4.0, 7.0], price=1), sums(103, [4.5, 7.0], price=1)
    found = json.loads(merged(stored, before, mine))
    assert found["running"]["looks"] == 113
    assert found["running"]["price"] == 2  # what this worker did not change is as it is stored
    assert found["b"] == [5.5, 7.0]
