"""How often a worker waits for its server: what it asks, writes and gives back goes in few trips, with every check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from settlements import HOUR, NOON, SECOND, a_group, a_look, a_watch
from stocked import a_change
from trips_kit import TripCounter

from vedette.contracts.change import ChangeState
from vedette.contracts.errors import LanesLostError
from vedette.contracts.fetch import RobotsRules
from vedette.contracts.lane import LaneState
from vedette.contracts.schedule import Lesson, ScheduleRows
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import Ask, Questions, Settlement, Watch
from vedette.contracts.words import EvidenceId, LaneKey, Outcome, Risk, SourceId, VisitId, WatchId
from vedette.contracts.workers import Role, WorkerRow, WorkerState
from vedette.core.lanes.visit import LEASE
from vedette.engine.settle.scheduler import Scheduler, SchedulerOptions
from vedette.frontier.queue import best
from vedette.store import statements as sql
from vedette.store.connection import connect, operating
from vedette.store.fenced_writer import FencedWriter
from vedette.store.lane_visits import LaneExchange, LaneVisits
from vedette.store.operator import save_sources
from vedette.store.rows import robots_row, source_row, watch_row
from vedette.store.schedule_rows import ServerScheduleReader, schedule_statements
from vedette.store.server_reader import ReadAhead, ServerReader
from vedette.store.sqlite import Writer
from vedette.store.worker_rows import say

A, B, C = (LaneKey(f"host:{name}.example") for name in "abc")
PAST = datetime(2026, 1, 1, tzinfo=UTC)
TAKEN_OVER = "UPDATE lane_visits SET worker = 'w9', token = token + 1 WHERE key = ?"


@dataclass
class Worker:
    """Its two connections to the server, with a counter between."""

    counter: TripCounter
    address: PostgresAddress
    visits: LaneVisits
    tokens: dict[LaneKey, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ahead = ReadAhead()
        self.writer = FencedWriter(self.address, tokens=lambda: dict(self.tokens), ahead=self.ahead)
        assert self.writer.take_series(1)

    def hold(self, *lanes: LaneKey) -> None:
        self.tokens |= {one.lane: one.token for one in self.visits.take_named(lanes)}

    def handed(self, *lanes: LaneKey) -> list[Watch]:
        """As the settler claims."""
        asks = [Ask(lane, 16) for lane in lanes]
        heads = self.writer.claim(asks, now=NOON, due_by=NOON)
        ids = [i for lane in lanes for i in best(heads[lane], 16, NOON)]
        return self.writer.take(ids, now=NOON, until=NOON + HOUR)

    @contextmanager
    def trips(self, count: int) -> Iterator[None]:
        before = self.counter.trips
        yield
        assert self.counter.trips - before == count, self.counter.words


@pytest.fixture
def worker(postgresql: str, postgres_store: PostgresAddress) -> Iterator[Worker]:
    counter = TripCounter(postgresql)
    url = postgres_store.url
    address = PostgresAddress(counter.url(url.partition("?")[0].rpartition("/")[2]))
    with closing(LaneVisits(address, worker="w1", lease=LEASE)) as visits:
        made = Worker(counter, address, visits)
        yield made
        made.writer.close()


def plant(store: PostgresAddress, *watches: Watch) -> None:
    with operating(store) as db:
        db.executemany(sql.NEW_WATCH, [watch_row(watch) for watch in watches])


def rows(store: PostgresAddress, query: str, *values: object) -> list[Any]:
    with closing(connect(store, read_only=True)) as db:
        return db.execute(query, values).fetchall()


def looks_at(watches: list[Watch], first: int = 1) -> list[Settlement]:
    return [a_look(watch, number, b"%d" % number) for number, watch in enumerate(watches, first)]


# lanes


def test_what_a_worker_takes_and_gives_back_is_one_trip(worker: Worker):
    worker.visits.sooner(dict.fromkeys((A, B), PAST))
    held = {one.lane: one.token for one in worker.visits.take(1)}
    ((lane, token),) = held.items()
    asked = LaneExchange(
        room=4,
        named=[C],
        back=[(lane, token, LaneState(failures=2))],
        sooner={LaneKey("host:d.example"): PAST},
    )
    with worker.trips(1):
        done = worker.visits.exchange(asked)
    assert {one.lane for one in done.taken} == {A, B, C} - {lane}  # what is given back is others' first
    (again,) = worker.visits.take_named([lane])
    assert (again.token, again.state) == (token + 1, LaneState(failures=2))
    assert [one.lane for one in worker.visits.take(4)] == ["host:d.example"]


def test_a_lane_that_is_anothers_is_not_given_back_and_nothing_of_its_state_is_written(
    worker: Worker, postgres_store: PostgresAddress
):
    worker.hold(A, B)
    with operating(postgres_store) as db:
        db.execute(TAKEN_OVER, (A,))
    state = LaneState(failures=3)
    worker.visits.give_back([(lane, worker.tokens[lane], state) for lane in (A, B)])
    assert rows(postgres_store, "SELECT worker FROM lane_visits ORDER BY key") == [("w9",), ("",)]
    assert rows(postgres_store, "SELECT key FROM lanes") == [(B,)]


def test_renewing_says_how_a_worker_stands_in_one_trip(worker: Worker, postgres_store: PostgresAddress):
    worker.hold(A, B)
    with operating(postgres_store) as db:
        db.execute(TAKEN_OVER, (A,))
    with worker.trips(1):
        found = worker.visits.renew(worker.tokens)
    assert (found.kept, found.busy, found.workers) == ({B}, 2, 1)


def test_the_operators_last_word_comes_with_the_lanes(worker: Worker, postgres_store: PostgresAddress):
    assert worker.visits.exchange(LaneExchange()).last_order == 0
    with operating(postgres_store) as db:
        db.execute("INSERT INTO orders (at, action, subject) VALUES (1, 'lane', 'host:a.example')")
    assert worker.visits.exchange(LaneExchange()).last_order == 1


def test_a_worker_says_that_it_is_there_in_one_trip(worker: Worker):
    row = WorkerRow(
        id="w1", number=1, roles=(Role.CRAWL,), place="here", state=WorkerState.RUNNING, started_at=NOON, beat_at=NOON,
        figures={},
    )  # fmt: skip
    with closing(connect(worker.address)) as db, worker.trips(1):
        assert say(db, row)[Role.CRAWL] == 1


# claims


def test_a_claim_is_one_trip_and_says_what_a_store_of_its_own_says(
    worker: Worker, postgres_store: PostgresAddress
):
    second = a_watch("https://a.example/second", due_at=NOON - SECOND)
    plant(
        postgres_store,
        *(a_watch(f"https://a.example/{n}", due_at=NOON - n * SECOND) for n in range(5)),
        a_watch("https://a.example/late", risk=Risk.HIGH, due_at=NOON - HOUR),
        a_watch("https://a.example/later", risk=Risk.LOW, due_at=NOON + HOUR),
        a_watch("https://b.example/", risk=Risk.CRITICAL, due_at=NOON - HOUR),
        second,
    )
    with operating(postgres_store) as db:
        db.execute("UPDATE watches SET pending_change = 7 WHERE id = ?", (second.id,))
    worker.hold(A, B)
    asks, places = (Ask(A, 3), Ask(B, 3)), [(A, Risk.LOW), (A, Risk.MEDIUM), (B, Risk.CRITICAL)]
    with closing(Writer(postgres_store, worker="alone")) as alone:
        expected = alone.claim(asks, now=NOON, due_by=NOON)
        later = alone.next_dues(places, after=NOON)
        chosen = best(expected[A], 3, NOON)
        whole = {watch.id: watch for watch in alone.take(chosen, now=NOON, until=NOON)}
    with worker.trips(1):
        assert worker.writer.claim(asks, now=NOON, due_by=NOON) == expected
        taken = worker.writer.take(chosen, now=NOON, until=NOON + HOUR)
        assert worker.writer.next_dues(places, after=NOON) == later
    assert {watch.id: watch for watch in taken} == whole
    assert second.id in whole


def test_what_was_handed_out_is_not_handed_out_again_until_the_lane_is_taken_anew(
    worker: Worker, postgres_store: PostgresAddress
):
    plant(postgres_store, *(a_watch(f"https://a.example/{n}") for n in range(3)))
    worker.hold(A)
    assert len(worker.handed(A)) == 3
    assert worker.handed(A) == []
    worker.visits.give_back([(A, worker.tokens[A], None)])
    worker.hold(A)
    assert len(worker.handed(A)) == 3


def test_a_claim_and_what_a_group_must_know_are_one_trip(worker: Worker, postgres_store: PostgresAddress):
    watches = [a_watch("https://a.example/1"), a_watch("https://b.example/1")]
    plant(postgres_store, *watches)
    worker.hold(A, B)
    seen = worker.handed(A)
    look = a_look(seen[0], 1, b"one")
    worker.writer.settle(a_group(look))
    digest = look.visit.digest
    assert digest is not None
    asks = (Ask(B, 4),)
    with worker.trips(1):
        worker.writer.ask_ahead(
            Questions(
                now=NOON, asks=asks, due_by=NOON, evidence=(EvidenceId(1), EvidenceId(9)), digests=(digest,)
            )
        )
        assert len(worker.writer.claim(asks, now=NOON, due_by=NOON)[B]) == 1
        assert [one.evidence for one in worker.writer.payloads([digest])[digest]] == [1]
        assert set(worker.writer.kept([EvidenceId(1), EvidenceId(9)])) == {1}
    with worker.trips(2):  # an answer is heard once, and what was not asked for is asked for
        worker.writer.claim(asks, now=NOON, due_by=NOON)
        assert worker.writer.kept([EvidenceId(8)]) == {}


def test_what_was_read_before_a_lane_was_lost_and_taken_again_is_not_written(
    worker: Worker, postgres_store: PostgresAddress
):
    """The token counts that the lane had before its watches were read, not that of when they are handed out."""
    plant(postgres_store, a_watch("https://a.example/1"))
    worker.hold(A)
    asks = (Ask(A, 4),)
    worker.writer.ask_ahead(Questions(now=NOON, asks=asks, due_by=NOON))
    worker.tokens[A] += 2
    with operating(postgres_store) as db:
        db.execute("UPDATE lane_visits SET token = token + 2")
    heads = worker.writer.claim(asks, now=NOON, due_by=NOON)
    watches = worker.writer.take([head[0] for head in heads[A]], now=NOON, until=NOON + HOUR)
    with pytest.raises(LanesLostError):
        worker.writer.settle(a_group(*looks_at(watches)))
    assert rows(postgres_store, "SELECT * FROM visits") == []


def test_what_a_second_look_reads_comes_with_the_claim(worker: Worker, postgres_store: PostgresAddress):
    """Its change, the looks since, and where the payloads are that it compares."""
    watch = a_watch("https://a.example/1")
    plant(postgres_store, watch)
    worker.hold(A)
    (first,) = worker.handed(A)
    look = a_look(first, 1, b"one")
    change = a_change(ChangeState.OBSERVED, at=look.visit.at)(first.id, VisitId(1))
    worker.writer.settle(a_group(replace(look, change=change)))
    with operating(postgres_store) as db:
        db.execute("UPDATE watches SET pending_change = ?, seen_evidence = 1, due_at = 0", (change.id,))
    with closing(ServerReader(worker.address)) as reader, worker.trips(1):
        found, since = reader.change(change.id), reader.looks_since(first.id, change.observed_at)
        place = reader.located(EvidenceId(1))
    with closing(ServerReader(worker.address, worker.ahead)) as reader:
        worker.handed(A)
        with worker.trips(0):
            assert reader.change(change.id) == found
            assert reader.looks_since(first.id, change.observed_at) == since
            assert reader.located(EvidenceId(1)) == place
    assert found is not None
    assert place is not None
    assert [evidence for evidence, _ in since] == [1]


def test_a_source_comes_with_its_robots_txt_and_its_own_address_in_one_trip(
    worker: Worker, postgres_store: PostgresAddress
):
    source = Source(id=SourceId("s"), name="s", url="https://a.example/list", lister=ListerKind.PAGE)
    rules = RobotsRules(
        origin="https://a.example", fetched_at=NOON, expires_at=NOON + HOUR, status=200, outcome=Outcome.OK, text="x",
        verdict="rules",
    )  # fmt: skip
    with operating(postgres_store) as db:
        db.execute(sql.FOUND_SOURCE, source_row(source, now=NOON))
        db.execute(sql.SAVE_ROBOTS, robots_row(rules))
        db.execute(sql.NEW_WATCH, watch_row(a_watch(source.url, merged_into=WatchId(7))))
    with closing(ServerReader(worker.address)) as reader, worker.trips(1):
        found = reader.source(source.id)
        assert found is not None
        assert found[0] == source
        assert reader.own_watch(source) == 7
        assert reader.robots("https://a.example") == rules


# groups


def test_a_group_is_settled_in_two_trips(worker: Worker, postgres_store: PostgresAddress):
    plant(postgres_store, *(a_watch(f"https://{host}.example/{n}") for host in "ab" for n in range(4)))
    worker.hold(A, B)
    looks = looks_at(worker.handed(A, B))
    with worker.trips(2):
        reached = worker.writer.settle(a_group(*looks, lanes=((A, LaneState(failures=1)),)))
    assert reached is not None
    assert rows(postgres_store, "SELECT COUNT(*) FROM visits") == [(8,)]
    assert rows(postgres_store, "SELECT failures FROM lanes") == [(1,)]
    assert rows(postgres_store, "SELECT number, chain FROM seals ORDER BY 1 DESC LIMIT 1") == [
        (reached.count, reached.head)
    ]


def test_a_group_with_nothing_that_is_sealed_is_one_trip(worker: Worker, postgres_store: PostgresAddress):
    worker.hold(A)
    with worker.trips(1):
        assert worker.writer.settle(a_group(segments=(), lanes=((A, LaneState(failures=1)),))) is None
    assert rows(postgres_store, "SELECT failures FROM lanes") == [(1,)]


def test_a_look_at_a_lane_that_was_taken_over_is_not_written_and_the_rest_is(
    worker: Worker, postgres_store: PostgresAddress
):
    plant(postgres_store, a_watch("https://a.example/1"), a_watch("https://b.example/1"))
    worker.hold(A, B)
    looks = looks_at(worker.handed(A, B))
    with operating(postgres_store) as db:
        db.execute(TAKEN_OVER, (A,))
    with pytest.raises(LanesLostError, match=A):
        worker.writer.settle(a_group(*looks))
    assert rows(postgres_store, "SELECT * FROM visits") == []
    rest = [look for look in looks if look.watch.lane == B]
    assert worker.writer.settle(a_group(*rest)) is not None
    assert rows(postgres_store, "SELECT id FROM visits") == [(rest[0].visit.id,)]


def test_the_state_of_a_lane_that_was_given_back_meanwhile_is_not_written(
    worker: Worker, postgres_store: PostgresAddress
):
    plant(postgres_store, a_watch("https://a.example/1"))
    worker.hold(A, B)
    looks = looks_at(worker.handed(A))
    worker.visits.give_back([(B, worker.tokens[B], None)])
    states = tuple((lane, LaneState(failures=5)) for lane in (A, B))
    assert worker.writer.settle(a_group(*looks, lanes=states)) is not None
    assert rows(postgres_store, "SELECT key FROM lanes") == [(A,)]
    assert rows(postgres_store, "SELECT COUNT(*) FROM visits") == [(1,)]


def test_a_group_that_was_committed_though_nobody_heard_of_it_is_not_written_twice(
    worker: Worker, postgres_store: PostgresAddress
):
    """Settled again, as the settler does when the server went away at the last moment."""
    plant(postgres_store, a_watch("https://a.example/1"))
    worker.hold(A)
    group = a_group(*looks_at(worker.handed(A)))
    reached = worker.writer.settle(group)
    worker.writer._in_doubt = group.placed[0].settlement.visit.id
    before = rows(postgres_store, "SELECT number, chain FROM seals ORDER BY 1")
    again = worker.writer.settle(group)
    assert (again.count, again.head) == (reached.count, reached.head)  # type: ignore[union-attr]
    assert rows(postgres_store, "SELECT number, chain FROM seals ORDER BY 1") == before


# the scheduler of a worker


def test_what_the_learned_policy_reads_for_a_group_is_one_trip(worker: Worker):
    watches = [a_watch(f"https://{host}.example/{n}") for host in "abc" for n in range(3)]

    def group(first: int) -> list[Settlement]:
        return [replace(look, lesson=Lesson(now=NOON, changed=True)) for look in looks_at(watches, first)]

    with closing(connect(worker.address, read_only=True)) as db:
        scheduler = Scheduler(ServerScheduleReader(db), SchedulerOptions(reviews=False), lambda at: 1)
        with worker.trips(1):
            done, rows_beside = scheduler.decide(group(1))
        assert rows_beside is not None
        assert all(one.watch.due_at > NOON for one in done)  # type: ignore[operator]
        scheduler.visited.extend((A, B))  # another may have been there: they are read anew
        with worker.trips(1):
            scheduler.decide(group(20))


def test_a_host_that_another_worker_looked_at_is_as_the_store_has_it_now(
    worker: Worker, postgres_store: PostgresAddress
):
    watch = a_watch("https://a.example/1")
    look = replace(looks_at([watch])[0], lesson=Lesson(now=NOON, host_ok=False, failures=1))
    with closing(connect(worker.address, read_only=True)) as db:
        scheduler = Scheduler(ServerScheduleReader(db), SchedulerOptions(reviews=False), lambda at: 1)
        _, mine = scheduler.decide([look])
        assert mine is not None
        assert [host.streak for host in mine.hosts] == [1]
        with operating(postgres_store) as other:
            host = replace(mine.hosts[0], streak=7)
            for statement, values in schedule_statements(ScheduleRows(hosts=(host,))):
                other.executemany(statement, values)
        scheduler.visited.append(A)
        _, again = scheduler.decide([look])
        assert again is not None
        assert [host.streak for host in again.hosts] == [8]


# starts


def test_a_start_with_sources_that_are_as_they_were_asks_twice_and_writes_nothing(
    worker: Worker, postgres_store: PostgresAddress
):
    """Whoever starts has the lock of all that write: no worker settles meanwhile."""
    sources = [
        Source(id=SourceId(f"s{n}"), name=f"S{n}", url=f"https://s{n}.example/", lister=lister, risk=risk)
        for n, (lister, risk) in enumerate([(ListerKind.FEED, None), (ListerKind.PAGE, Risk.LOW)] * 50)
    ]
    with operating(postgres_store) as db:
        save_sources(db, sources, now=NOON)
    before = rows(postgres_store, "SELECT COUNT(*) FROM orders")
    with closing(connect(worker.address)) as db, worker.trips(2):
        save_sources(db, sources, now=NOON + HOUR)
    assert rows(postgres_store, "SELECT COUNT(*) FROM orders") == before

    moved = [replace(sources[0], name="moved"), replace(sources[1], risk=Risk.HIGH), *sources[2:]]
    with operating(postgres_store) as db:
        db.execute("UPDATE watches SET source_id = 'other' WHERE url = ?", (sources[2].url,))
        save_sources(db, moved, now=NOON + HOUR)
    assert rows(postgres_store, "SELECT name FROM sources WHERE id = 's0'") == [("moved",)]
    query = "SELECT source_id, risk FROM watches WHERE url IN (?, ?) ORDER BY url"
    found = rows(postgres_store, query, sources[1].url, sources[2].url)
    assert found == [("s1", int(Risk.HIGH)), ("s2", found[1][1])]
