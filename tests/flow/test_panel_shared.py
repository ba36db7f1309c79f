"""Two runs that use the same keys, in virtual time, over a board in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from panel_kit import START, MemoryLog, ScriptedProvider, batch_of, down, key_of, names, play, steady

from vedette.contracts.errors import StoreError
from vedette.contracts.lane import LanePolicy
from vedette.contracts.panel_run import BatchId, Circuit, Told
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.panel.pace import hold_for, is_late, slots_at_once
from vedette.engine.panel.loop import PanelEngine
from vedette.engine.panel.provider_lanes import PanelParts
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import LanePolicies
from vedette.telemetry.clock import VirtualClock, VirtualLoop


@dataclass
class Memory:
    """What the runs of one test share."""

    next_at: dict[LaneKey, float] = field(default_factory=dict)
    circuits: dict[str, tuple[Circuit, float]] = field(default_factory=dict)
    locks: dict[tuple[str, str, str], str] = field(default_factory=dict)


@dataclass
class MemoryBoard:
    shared: Memory
    owner: str = "me"
    is_away: bool = False
    told: dict[str, Circuit] = field(default_factory=dict)

    async def claim(self, batch: BatchId, places: Sequence[tuple[str, str]]) -> Sequence[bool]:
        return [self.shared.locks.setdefault((batch, *place), self.owner) == self.owner for place in places]

    def release(self, batch: BatchId, places: Sequence[tuple[str, str]]) -> None:
        for place in places:
            self.shared.locks.pop((batch, *place), None)

    async def slots(self, lane: LaneKey, per_minute: float, count: int) -> Sequence[timedelta]:
        await asyncio.sleep(0.001)
        if self.is_away:
            return ()
        now, each = asyncio.get_running_loop().time(), 60 / per_minute
        first = max(now, self.shared.next_at.get(lane, 0.0))
        self.shared.next_at[lane] = first + count * each
        return [timedelta(seconds=first - now + n * each) for n in range(count)]

    async def exchange(self, mine: Mapping[str, Told]) -> Mapping[str, Told]:
        now = asyncio.get_running_loop().time()
        for name, told in mine.items():
            if self.told.get(name, Circuit.CLOSED) is not told.circuit:
                self.shared.circuits[name] = told.circuit, now + max(1.0, told.left.total_seconds())
            self.told[name] = told.circuit
        live = {name: row for name, row in self.shared.circuits.items() if row[1] > now}
        return {name: Told(word, timedelta(seconds=until - now)) for name, (word, until) in live.items()}


def play_two(domains: int, first, second, **given):
    """Two batches at the same time, each with a board of its own over one memory."""
    memory = Memory()
    logs = [MemoryLog(names(domains)), MemoryLog(names(domains))]

    async def one(log: MemoryLog, provider: ScriptedProvider, owner: str):
        clock = VirtualClock(START)
        wide = LanePolicy(
            gap_min=timedelta(0), gap_max=timedelta(0), per_minute=0, at_once=96, trips_after=10**6
        )
        parts = PanelParts(
            clock=clock,
            keeper=LaneKeeper(LanePolicies(named={"all": wide}), load=lambda key: None, clock=clock),
            log=log,
            keys=(key_of(provider, **given),),
            board=MemoryBoard(memory, owner),
        )
        return await PanelEngine(batch_of(domains, [provider.model]), parts).run()

    async def whole():
        return await asyncio.gather(one(logs[0], first, "one"), one(logs[1], second, "two"))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(whole()), logs


def test_a_board_costs_a_lonely_run_next_to_nothing():
    provider = ScriptedProvider("a", steady(120), latency=1.0)
    played = play(batch_of(600, "a"), [key_of(provider)], board=MemoryBoard(Memory()))
    assert (played.end.by, len(played.log.rows), provider.over) == ("complete", 600, 0)
    assert played.seconds <= 1.03 * 300


def test_two_runs_with_one_key_stay_within_its_limit_together():
    provider = ScriptedProvider("a", steady(120), latency=1.0)
    ends, logs = play_two(300, provider, provider)
    assert [end.by for end in ends] == ["complete", "complete"]
    assert [len(log.rows) for log in logs] == [300, 300]
    assert provider.over == 0
    assert provider.seen == 600
    span = max(provider.seen_at) - min(provider.seen_at)
    assert span <= 1.1 * 300, "and use nearly all of it"


def test_without_the_board_they_would_not():
    provider = ScriptedProvider("a", steady(120), latency=1.0, says_retry_after=False)

    async def both():
        async def one():
            clock = VirtualClock(START)
            wide = LanePolicy(
                gap_min=timedelta(0), gap_max=timedelta(0), per_minute=0, at_once=96, trips_after=10**6
            )
            keeper = LaneKeeper(LanePolicies(named={"all": wide}), load=lambda key: None, clock=clock)
            log = MemoryLog(names(300))
            parts = PanelParts(clock=clock, keeper=keeper, log=log, keys=(key_of(provider),))
            return await PanelEngine(batch_of(300, "a"), parts).run()

        return await asyncio.gather(one(), one())

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(both())
    assert provider.over > 0


def test_what_another_run_found_out_about_an_outage_is_not_found_out_again():
    provider = ScriptedProvider("a", steady(600), latency=1.0, weather=down(0, 50))
    memory = Memory()
    memory.circuits["a"] = Circuit.OPEN, 60.0
    played = play(batch_of(100, "a"), [key_of(provider)], board=MemoryBoard(memory))
    assert {(row.outcome, row.retry_count) for row in played.log.rows.values()} == {(Outcome.OK, 0)}
    assert min(provider.seen_at) >= 59


def test_a_cell_that_another_run_holds_is_asked_when_it_lets_go():
    provider = ScriptedProvider("a", steady(600), latency=0.5)
    memory = Memory()
    memory.locks["b1", "d00003.example", "a"] = "other"

    async def lets_go(engine):
        await asyncio.sleep(30)
        del memory.locks["b1", "d00003.example", "a"]

    board = MemoryBoard(memory)
    played = play(batch_of(10, "a"), [key_of(provider)], board=board, meanwhile=lets_go)
    assert len(played.log.rows) == 10
    assert set(provider.asked.values()) == {1}
    assert provider.seen_at[-1] >= 30
    assert not played.log.leases
    assert not memory.locks


def test_a_cell_that_the_other_run_answered_meanwhile_is_not_asked_at_all():
    provider = ScriptedProvider("a", steady(600), latency=0.5)
    memory = Memory()
    memory.locks["b1", "d00003.example", "a"] = "other"
    log = MemoryLog(names(10))

    async def answers(engine):
        await asyncio.sleep(20)
        log.rows[3] = next(iter(log.rows.values()))
        del memory.locks["b1", "d00003.example", "a"]

    played = play(
        batch_of(10, "a"), [key_of(provider)], log=log, board=MemoryBoard(memory), meanwhile=answers
    )
    assert played.end.by == "complete"
    assert ("d00003.example", "brand") not in provider.asked
    assert (len(log.rows), log.leases) == (10, set())


def test_a_store_that_breaks_while_a_held_cell_is_looked_at_ends_the_run_loudly():
    class Broken(MemoryLog):
        async def settled(self, batch, first, last):
            raise StoreError("the disk is gone")

    provider = ScriptedProvider("a", steady(600), latency=0.5)
    memory = Memory()
    memory.locks["b1", "d00003.example", "a"] = "other"

    async def lets_go(engine):
        await asyncio.sleep(8)
        del memory.locks["b1", "d00003.example", "a"]

    log = Broken(names(10))
    played = play(
        batch_of(10, "a"), [key_of(provider)], log=log, board=MemoryBoard(memory), meanwhile=lets_go
    )
    assert (played.end.by, str(played.end.error)) == ("failed", "the disk is gone")


def test_a_board_that_goes_away_in_mid_run_is_told_once_and_slows_nothing():
    provider = ScriptedProvider("a", steady(120), latency=1.0)
    board = MemoryBoard(Memory())

    async def flaps(engine):
        for _ in range(4):
            await asyncio.sleep(30)
            board.is_away = not board.is_away

    played = play(batch_of(600, "a"), [key_of(provider)], board=board, meanwhile=flaps)
    assert (played.end.by, len(played.log.rows)) == ("complete", 600)
    assert played.seconds <= 1.03 * 300
    assert [note.action for note in played.log.notes].count("redis_away") == 1


@pytest.mark.parametrize(
    ("circuit", "answered_s_ago", "held"),
    [
        (Circuit.OPEN, None, 15.0),
        (Circuit.OPEN, 120, 15.0),
        (Circuit.OPEN, 10, None),  # our own answer says more
        (Circuit.HALF_OPEN, None, 1.0),
        (Circuit.CLOSED, None, None),
    ],
)
def test_what_others_say_is_believed_unless_we_know_better(circuit, answered_s_ago, held):
    at = None if answered_s_ago is None else START - timedelta(seconds=answered_s_ago)
    found = hold_for(Told(circuit, timedelta(seconds=15)), at, START)
    assert (None if found is None else found.total_seconds()) == held


def test_nobody_holds_us_up_for_long_and_slots_are_few():
    assert hold_for(Told(Circuit.OPEN, timedelta(days=9)), None, START) == timedelta(minutes=2)
    assert [slots_at_once(rate) for rate in (1, 60, 170, 3000, 1e6)] == [1, 1, 1, 5, 50]
    assert not is_late(START, START + timedelta(seconds=0.25), 60)
    assert is_late(START, START + timedelta(seconds=0.3), 60)
