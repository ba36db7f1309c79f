"""A lane of a worker that is gone is another's within a minute: by the length of a lease and who takes it, not by luck.

The leases are real rows on a real server; its clock and the stopwatches of the workers are moved by the test.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from settlements import a_watch

from vedette.contracts.lane import LaneHold
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import LaneKey
from vedette.contracts.workers import Role, WorkerRow, WorkerState
from vedette.core.lanes.visit import LEASE, LONGEST, MOST_HELD, counts_for
from vedette.engine.crawl.lane_visitor import LaneVisitor, VisitCalls
from vedette.store import statements as sql
from vedette.store.connection import connect, operating
from vedette.store.lane_visits import LaneVisits
from vedette.store.rows import watch_row
from vedette.store.worker_rows import say

START = datetime(2026, 3, 1, tzinfo=UTC)
BACK = timedelta(seconds=60)
SECOND = timedelta(seconds=1)
STARTING = timedelta(seconds=6)  # a worker that replaces another needs so long, on a busy machine
# What the server says that it is now: functions of the first schema hide those of the system.
CLOCK = """
CREATE TABLE moved_clock (at TIMESTAMPTZ);
INSERT INTO moved_clock VALUES ('2026-03-01 00:00+00');
CREATE FUNCTION statement_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql STABLE AS 'SELECT at FROM public.moved_clock';
"""
OURS_FIRST = "&options=-csearch_path%3Dpublic,pg_catalog"


@dataclass
class Crawler:
    """The visits of one worker: takes lanes, keeps each as long as a visit lasts, gives it back."""

    name: str
    address: PostgresAddress
    installation: Installation
    holds: dict[LaneKey, LaneHold] = field(default_factory=dict)
    until: dict[LaneKey, timedelta] = field(default_factory=dict)
    since: dict[LaneKey, timedelta] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = LaneVisits(self.address, worker=self.name, lease=LEASE)
        calls = VisitCalls(gained=self._gained, kept=self._kept, lost=self._lost, failed=_raised)
        self.visitor = LaneVisitor(self.store, calls, lambda: self.installation.passed)

    def counts_on(self, lane: LaneKey) -> bool:
        return lane in self.holds and self.installation.passed < self.until[lane]

    def turn(self) -> None:
        passed, surplus = self.installation.passed, self.visitor.surplus
        oldest = sorted(self.holds, key=lambda lane: self.since[lane])
        over = [lane for n, lane in enumerate(oldest) if n < surplus or passed - self.since[lane] >= LONGEST]
        self.visitor.give_back([(lane, self.holds[lane].token, None) for lane in over])
        self._lost(set(over))
        self.visitor.room = MOST_HELD
        self.visitor.turn()

    def _gained(self, taken: list[LaneHold], asked_after: timedelta) -> None:
        for one in taken:
            self.installation.taken(self, one)
            self.holds[one.lane], self.since[one.lane] = one, self.installation.passed
            self.until[one.lane] = counts_for(asked_after)

    def _kept(self, lanes: set[LaneKey], asked_after: timedelta) -> None:
        self.until.update((lane, counts_for(asked_after)) for lane in lanes if lane in self.holds)

    def _lost(self, lanes: set[LaneKey]) -> None:
        for lane in lanes:
            self.holds.pop(lane, None)


@dataclass
class Installation:
    """Workers, the server's clock, and what became of the lanes of those that are gone."""

    address: PostgresAddress
    clock: psycopg.Connection[tuple[object, ...]]
    passed: timedelta = timedelta(0)
    made: int = 0
    working: list[Crawler] = field(default_factory=list)
    silent: list[Crawler] = field(default_factory=list)  # stopped or killed, never told
    starting: list[timedelta] = field(default_factory=list)
    gone: dict[LaneKey, tuple[int, timedelta]] = field(default_factory=dict)  # token, since when
    back: list[timedelta] = field(default_factory=list)
    shared: list[LaneKey] = field(default_factory=list)  # counted on by two workers

    def start(self) -> None:
        self.made += 1
        self.working.append(Crawler(f"w{self.made}", self.address, self))

    def leave(self, one: Crawler) -> None:
        """Killed, or stopped: nobody is told, nothing is given back."""
        self.working.remove(one)
        self.silent.append(one)
        for lane, held in one.holds.items():
            self.gone.setdefault(lane, (held.token, self.passed))

    def kill(self, one: Crawler) -> None:
        self.leave(one)
        one.until.clear()  # it sends nothing any more
        one.store.close()
        self.starting.append(self.passed + STARTING)

    def taken(self, by: Crawler, hold: LaneHold) -> None:
        others = [one for one in (*self.working, *self.silent) if one is not by]
        if any(one.until.get(hold.lane) and one.counts_on(hold.lane) for one in others):
            self.shared.append(hold.lane)
        lost = self.gone.get(hold.lane)
        if lost is not None and hold.token > lost[0]:
            del self.gone[hold.lane]
            self.back.append(self.passed - lost[1])

    def second(self, *, is_server_there: bool = True) -> None:
        self.passed += SECOND
        self.clock.execute("UPDATE moved_clock SET at = %s", (START + self.passed,))
        for at in [at for at in self.starting if at <= self.passed]:
            self.starting.remove(at)
            self.start()
        if not is_server_there:
            return
        with operating(self.address) as db:
            for one in self.working:
                say(db, _row(one.name, int(one.name[1:])))
        for one in self.working:
            one.turn()


def _row(name: str, number: int) -> WorkerRow:
    return WorkerRow(
        id=name, number=number, roles=(Role.CRAWL,), place=name, state=WorkerState.RUNNING, started_at=START,
        beat_at=START, figures={},
    )  # fmt: skip


def _raised(error: BaseException) -> None:
    raise error


@contextmanager
def installation(store: PostgresAddress, workers: int, hosts: int) -> Iterator[Installation]:
    """Every host has work all the time."""
    with psycopg.connect(store.url, autocommit=True) as clock:
        clock.execute(CLOCK)
        watches = [a_watch(f"https://h{number}.example/", due_at=START) for number in range(hosts)]
        with operating(store) as db:
            db.executemany(sql.NEW_WATCH, [watch_row(watch) for watch in watches])
        made = Installation(PostgresAddress(store.url + OURS_FIRST), clock)
        for _ in range(workers):
            made.start()
        with closing(made.working[0].store) as first:
            first.sweep()
            yield made
        for one in made.working:
            one.store.close()


@pytest.mark.parametrize("seed", range(3))
def test_killed_stopped_and_without_a_server_every_lane_is_back_within_a_minute(
    postgres_store: PostgresAddress, seed: int
):
    """A worker is killed every two seconds, one is stopped for a minute, the server is away for ten seconds."""
    chance = random.Random(seed)
    with installation(postgres_store, workers=4, hosts=500) as made:
        for _ in range(20):
            made.second()
        stopped = chance.choice(made.working)
        made.leave(stopped)
        for second in range(120):
            if second == 60:
                made.silent.remove(stopped)
                made.working.append(stopped)
            if second % 2 == 0 and len(made.working) > 1:
                made.kill(chance.choice([one for one in made.working if one is not stopped]))
            made.second(is_server_there=not 54 <= second < 64)
        for _ in range(60):
            made.second()
        assert not made.gone
        assert len(made.back) > 500
        assert max(made.back) <= BACK
        assert made.shared == []


def test_the_last_worker_takes_all_that_the_others_held_within_a_minute(postgres_store: PostgresAddress):
    """Three of four are lost at once with all that they may hold, and more is due than one may hold."""
    with installation(postgres_store, workers=4, hosts=2_000) as made:
        for _ in range(30):
            made.second()
        left, *others = made.working
        for one in others:
            made.kill(one)
        made.starting.clear()
        count = len(made.gone)
        for _ in range(60):
            made.second()
        assert count > 1_000
        assert not made.gone
        assert max(made.back) <= BACK
        assert len(left.holds) <= 2 * MOST_HELD
        assert made.shared == []


def test_a_worker_that_comes_late_has_its_part_of_few_lanes_within_ten_seconds(
    postgres_store: PostgresAddress,
):
    with installation(postgres_store, workers=1, hosts=12) as made:
        for _ in range(10):
            made.second()
        made.start()
        first, late = made.working
        assert len(first.holds) == 12
        for _ in range(10):
            made.second()
        assert len(late.holds) >= 5
        assert len(first.holds) >= 5


def test_a_name_that_is_taken_up_frees_the_leases_of_the_process_whose_lock_was_found(
    postgres_store: PostgresAddress,
):
    with installation(postgres_store, workers=1, hosts=8) as made:
        made.second()
        (one,) = made.working
        assert len(one.holds) == 8
        with closing(LaneVisits(made.address, worker="w1", lease=LEASE)) as heir:
            assert heir.free_own("pid 7 on elsewhere") == 0  # it may be at work on another machine
            assert heir.free_own("w1") == 8  # the place that the row of `workers` has
            with closing(connect(made.address, read_only=True)) as db:
                assert db.execute("SELECT COUNT(*) FROM lane_visits WHERE worker = 'w1'").fetchone() == (8,)
            assert all(hold.was_lost for hold in heir.take(8))
