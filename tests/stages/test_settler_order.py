"""The one thread that writes: archive, sync, commit, said; and nothing is said that is not kept."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count, islice
from typing import Any

import pytest
from settlements import HOUR, NOON, RUN, SECOND, SEGMENT, a_job, a_look, a_watch

from vedette.contracts.errors import StoreError
from vedette.contracts.lane import LaneState
from vedette.contracts.watch import (
    ArchiveEntry,
    Ask,
    Decision,
    Group,
    LedgerNote,
    Payload,
    Questions,
    RecordKind,
    Release,
    Segment,
    SourceState,
    Watch,
    WrittenRecord,
)
from vedette.contracts.words import EvidenceId, LaneKey, Risk, SourceId, WatchId
from vedette.engine.settle.group_pace import OWN, SHARED, GroupPace
from vedette.engine.settle.settler import GROUP, HEARTBEAT, Settler, SettlerCalls
from vedette.frontier.queue import LEASE, Heads
from vedette.telemetry.clock import JumpingClock

A, B = LaneKey("host:a.example"), LaneKey("host:b.example")


@dataclass
class Log:
    """What was called, in order, by whoever was called."""

    calls: list[str] = field(default_factory=list)
    fails_at: str = ""
    groups: list[Group] = field(default_factory=list)
    claimed: list[Any] = field(default_factory=list)
    error: BaseException | None = None

    def note(self, call: str) -> None:
        self.calls.append(call)
        if call == self.fails_at:
            raise StoreError(f"{call} failed")


class FakeStore:
    def __init__(self, log: Log) -> None:
        self.log = log
        self.heads: dict[LaneKey, Heads] = {}
        self.watches: dict[WatchId, Watch] = {}
        self.known: dict[bytes, list[Payload]] = {}
        self.later: dict[Risk, datetime] = {}
        self.kept_until: datetime | None = None
        self.asked: list[Questions] = []

    def ask_ahead(self, questions: Questions) -> None:
        self.asked.append(questions)

    def claim(self, asks: Sequence[Ask], *, now: datetime, due_by: datetime) -> Mapping[LaneKey, Heads]:
        self.log.note("claim")
        return {ask.lane: self.heads.get(ask.lane, []) for ask in asks}

    def take(self, ids: Sequence[WatchId], *, now: datetime, until: datetime) -> list[Watch]:
        self.log.note("take")
        assert until == now + LEASE
        return [self.watches[i] for i in ids]

    def next_dues(self, places: Sequence[tuple[LaneKey, Risk]], *, after: datetime) -> list[datetime | None]:
        return [self.later.get(risk) for _, risk in places]

    def payloads(self, digests: Sequence[bytes]) -> dict[bytes, list[Payload]]:
        return {digest: list(self.known[digest]) for digest in digests if digest in self.known}

    def kept(self, evidence: Sequence[EvidenceId]) -> dict[EvidenceId, Payload]:
        return {p.evidence: p for found in self.known.values() for p in found if p.evidence in evidence}

    def screenshots(self, evidence: Sequence[EvidenceId]) -> set[EvidenceId]:
        return set()

    def settle(self, group: Group) -> None:
        self.log.note("settle")

    def commit(self) -> None:
        pass

    def heartbeat(self, *, until: datetime) -> None:
        self.log.note("heartbeat")
        self.kept_until = until

    def checkpoint(self) -> None:
        self.log.note("checkpoint")

    def close(self) -> None:
        self.log.note("store closed")


class FakeArchive:
    def __init__(self, log: Log) -> None:
        self.log = log
        self.entries: list[ArchiveEntry] = []

    def append(self, entry: ArchiveEntry) -> WrittenRecord:
        self.log.note("append")
        self.entries.append(entry)
        seq, has_record = len(self.entries), entry.kind is not RecordKind.NONE
        return WrittenRecord(
            visit=entry.facts.visit,
            segment=SEGMENT.replace("standard", entry.retention),
            seq=seq,
            offset=seq * 100 if has_record else None,
            length=90 if has_record else None,
            record_digest=b"r" * 32 if has_record else None,
            chain=b"c" * 32,
        )

    def sync(self) -> tuple[Segment, ...]:
        self.log.note("sync")
        return ()

    def committed(self, now: datetime, sealed: Segment | None = None) -> None:
        self.log.note("committed")

    def rollback(self) -> None:
        self.log.note("rollback")

    def abandon(self) -> None:
        self.log.note("abandon")

    def close(self, now: datetime) -> None:
        self.log.note("archive closed")


class Orders:
    """A queue that has all its orders already, and remembers how long someone would have waited for more."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.waits: list[float] = []
        self.meanwhile: Callable[[], object] = lambda: None  # happens when somebody waits in vain

    def put(self, order: Any) -> None:
        self.waiting.append(order)

    def get(self, timeout: float) -> Any:
        self.waits.append(timeout)
        if not self.waiting:
            if timeout:
                self.meanwhile()
            raise queue.Empty
        return self.waiting.pop(0)


class Desk:
    """A settler with fakes around it, driven turn by turn."""

    def __init__(self, *, clock: JumpingClock | None = None, pace: GroupPace = OWN, **log: Any) -> None:
        self.log = Log(**log)
        self.pace = pace
        self.clock = clock or JumpingClock(NOON)
        self.store, self.archive = FakeStore(self.log), FakeArchive(self.log)
        self.dirty: list[tuple[LaneKey, LaneState]] = []
        self.settler = Settler(
            self.store, self.archive, run=RUN, clock=self.clock, calls=self._calls()
        )  # fmt: skip
        self.orders = Orders()
        self.settler._orders.queue = self.orders  # type: ignore[assignment]

    def _calls(self) -> SettlerCalls:
        def committed(group: Group) -> None:
            self.log.groups.append(group)
            self.log.note("acknowledged")

        def claimed(answer: Any) -> None:
            self.log.claimed += answer
            self.log.note("claimed")

        def failed(error: BaseException) -> None:
            self.log.error = error

        def dirty_lanes() -> tuple[tuple[LaneKey, LaneState], ...]:
            moved, self.dirty = tuple(self.dirty), []
            return moved

        return SettlerCalls(
            committed=committed, claimed=claimed, failed=failed, dirty_lanes=dirty_lanes, pace=self.pace
        )


def looks(count: int, first: int = 1) -> list:
    return [
        a_look(a_watch(f"https://a.example/{n}"), n, str(n).encode()) for n in range(first, first + count)
    ]


# the order of writing


def test_archive_then_sync_then_commit_then_said():
    desk = Desk()
    for settled in looks(2):
        desk.settler.settle(settled)
    desk.settler.turn()
    assert desk.log.calls == ["append", "append", "sync", "settle", "committed", "acknowledged"]


@pytest.mark.parametrize(
    ("step", "then"), [("append", "rollback"), ("sync", "rollback"), ("settle", "abandon")]
)
def test_a_step_that_fails_is_undone_and_nothing_is_said(step: str, then: str):
    """But a commit that failed may yet be found whole: what it needs of the archive is left to the next start."""
    desk = Desk(fails_at=step)
    desk.settler.settle(looks(1)[0])
    with pytest.raises(StoreError):
        desk.settler.turn()
    assert desk.log.calls[-2:] == [step, then]
    assert desk.log.groups == []


@pytest.mark.parametrize(
    "step", ["append", "settle", "committed", "claim", "checkpoint", "archive closed", "store closed"]
)
def test_the_engine_hears_of_what_failed_and_everything_is_closed(step: str):
    desk = Desk(fails_at=step)
    desk.settler.claim([Ask(A, 1)], due_by=NOON)
    desk.settler.settle(looks(1)[0])
    desk.settler.stop()
    desk.settler.run()
    assert str(desk.log.error) == f"{step} failed"
    assert desk.log.calls[-2:] == ["archive closed", "store closed"]


def test_a_fault_of_our_own_reaches_the_engine_too():
    desk = Desk()
    desk.archive.append = lambda entry: 1 / 0  # type: ignore[method-assign,assignment]
    desk.settler.settle(looks(1)[0])
    desk.settler.run()
    assert isinstance(desk.log.error, ZeroDivisionError)
    assert "rollback" in desk.log.calls


# groups


def test_what_arrives_while_a_group_is_written_is_the_next_group():
    desk = Desk()
    for settled in looks(GROUP + 50):
        desk.settler.settle(settled)
    desk.settler.turn()
    desk.settler.turn()
    assert [len(group.placed) for group in desk.log.groups] == [GROUP, 50]
    numbers = [placed.settlement.visit.id for group in desk.log.groups for placed in group.placed]
    assert numbers == sorted(numbers)


def test_the_first_of_a_group_waits_a_moment_for_company_unless_told_to_hurry():
    slow, quick = Desk(), Desk()
    for desk in (slow, quick):
        desk.settler.settle(looks(1)[0])
    quick.settler.hurry()
    for desk in (slow, quick):
        desk.settler.turn()
        assert len(desk.log.groups) == 1
    assert slow.orders.waits[1:] == [OWN.quiet_s]
    assert quick.orders.waits[1:] == [OWN.quiet_s, 0.0]


class SlowClock(JumpingClock):
    """Every glance at the stopwatch shows a tenth of a second more."""

    def stopwatch(self) -> Callable[[], timedelta]:
        glances = count(1)
        return lambda: timedelta(seconds=next(glances) / 10)


def test_a_group_is_written_after_a_moment_however_many_keep_coming():
    desk, later = Desk(clock=SlowClock(NOON)), iter(looks(20))
    desk.settler.settle(next(later))
    desk.orders.meanwhile = lambda: desk.settler.settle(next(later))
    desk.settler.turn()
    assert desk.orders.waits[1:] == pytest.approx([OWN.patience_s - 0.2, 0.0])
    assert [len(group.placed) for group in desk.log.groups] == [2]
    assert len(list(later)) == 18


def test_looks_that_keep_coming_are_waited_for_a_moment_each():
    desk, later = Desk(), iter(looks(3))
    desk.settler.settle(next(later))
    desk.orders.meanwhile = lambda: [desk.settler.settle(one) for one in islice(later, 1)]
    desk.settler.turn()
    assert desk.orders.waits[1:] == [OWN.quiet_s] * 3
    assert [len(group.placed) for group in desk.log.groups] == [3]


def test_the_thread_is_woken_for_the_first_look_and_for_a_full_group():
    desk = Desk()
    for settled in looks(GROUP + 50):
        desk.settler.settle(settled)
    assert len(desk.orders.waiting) == 2


def test_a_claim_is_answered_although_there_is_more_to_write_than_a_group_holds():
    desk = Desk()
    for settled in looks(3 * GROUP):
        desk.settler.settle(settled)
    desk.settler.claim([Ask(A, 1)], due_by=NOON)
    desk.settler.turn()
    assert desk.log.calls.index("claimed") < desk.log.calls.index("acknowledged")
    assert [len(group.placed) for group in desk.log.groups] == [GROUP]


def test_a_stop_writes_more_than_a_group_holds():
    desk = Desk()
    for settled in looks(2 * GROUP + 1):
        desk.settler.settle(settled)
    desk.settler.stop()
    assert not desk.settler.turn()
    assert sum(len(group.placed) for group in desk.log.groups) == 2 * GROUP + 1


def test_what_goes_along_is_in_the_next_group_and_only_there():
    desk = Desk()
    desk.dirty = [(A, LaneState(failures=1))]
    note = LedgerNote(id=1, at=NOON, kind="lane", decision=Decision(action="breaker"))
    state, job = SourceState(source=SourceId("a")), a_job(a_watch())
    for value in (note, state, Release(job)):
        desk.settler.aside(value)
    desk.settler.turn()
    desk.settler.settle(looks(1)[0])
    desk.settler.turn()
    first, second = desk.log.groups
    assert (first.notes, first.sources, first.released) == ((note,), (state,), (job,))
    assert first.lanes == ((A, LaneState(failures=1)),)
    assert (second.notes, second.sources, second.released, second.lanes) == ((), (), (), ())


def test_drain_returns_when_all_that_was_handed_over_is_committed():
    desk = Desk()
    desk.settler._orders.queue = queue.SimpleQueue()
    desk.settler.start()
    for settled in looks(5):
        desk.settler.settle(settled)
    assert desk.settler.drain(5)
    assert sum(len(group.placed) for group in desk.log.groups) == 5
    desk.settler.stop()
    desk.settler.join(5)
    assert not desk.settler.is_alive()


def test_a_stop_writes_what_is_waiting():
    desk = Desk()
    desk.settler.settle(looks(1)[0])
    desk.settler.stop()
    desk.settler.run()
    assert len(desk.log.groups[0].placed) == 1
    assert desk.log.error is None


# claims and leases


def planted(desk: Desk, *watches: Watch) -> None:
    for watch in watches:
        desk.store.watches[watch.id] = watch
        head = (watch.id, watch.risk, watch.due_at or NOON, int(watch.interval.total_seconds()))
        desk.store.heads.setdefault(watch.lane, []).append(head)


def test_a_claim_is_answered_while_settlements_wait():
    desk = Desk()
    planted(desk, a_watch())
    desk.settler.settle(looks(1)[0])
    desk.settler.claim([Ask(A, 1)], due_by=NOON)
    desk.settler.turn()
    assert desk.log.calls[:4] == ["claim", "take", "claimed", "append"]


def test_a_claim_takes_the_best_and_says_when_each_class_is_due_after_it():
    desk = Desk()
    low = a_watch("https://a.example/low", risk=Risk.LOW, due_at=NOON - HOUR, interval=24 * HOUR)
    late = a_watch("https://a.example/late", due_at=NOON - 9 * HOUR, interval=HOUR)
    next_low = replace(low, id=WatchId(5), due_at=NOON - SECOND)
    planted(desk, late, low, next_low)
    desk.store.later = {Risk.MEDIUM: NOON + HOUR, Risk.HIGH: NOON + 2 * HOUR}
    desk.settler.claim([Ask(A, 2), Ask(B, 2)], due_by=NOON)
    desk.settler.turn()
    (lane, watches, dues), (other, nothing, _) = desk.log.claimed
    assert (lane, watches) == (A, [late, low])
    assert dues == [NOON - SECOND, NOON + HOUR, NOON + 2 * HOUR, None]
    assert (other, nothing) == (B, [])


def test_a_class_that_filled_the_claim_has_more_that_is_due_now():
    desk = Desk()
    planted(desk, *(a_watch(f"https://a.example/{n}", due_at=NOON - n * SECOND) for n in (3, 2)))
    desk.settler.claim([Ask(A, 2)], due_by=NOON)
    desk.settler.turn()
    ((_, watches, dues),) = desk.log.claimed
    assert len(watches) == 2
    assert dues[Risk.MEDIUM] == NOON - 2 * SECOND


def test_a_claim_that_comes_too_soon_is_answered_with_the_next_group_in_one_question():
    """A server of several workers is asked seldom."""
    desk = Desk(pace=SHARED)
    planted(desk, a_watch())
    desk.settler.claim([Ask(A, 1)], due_by=NOON)
    desk.settler.turn()
    assert desk.log.calls == ["claim", "take", "claimed"]
    look = looks(1)[0]
    desk.settler.settle(look)
    desk.settler.claim([Ask(B, 2)], due_by=NOON)
    desk.settler.drain(0)
    desk.settler.turn()
    assert desk.log.calls[3:6] == ["claim", "claimed", "append"]
    (asked,) = desk.store.asked
    assert (asked.asks, asked.due_by, asked.digests) == ((Ask(B, 2),), NOON, (look.visit.digest,))
    assert desk.log.claimed[-1][0] == B


def test_a_claim_that_comes_too_soon_is_answered_in_its_time_where_there_is_no_group():
    desk = Desk(pace=SHARED)
    for lane in (A, B):
        desk.settler.claim([Ask(lane, 1)], due_by=NOON)
        desk.settler.turn()
    assert [one[0] for one in desk.log.claimed] == [A, B]
    assert max(desk.orders.waits[-2:]) == SHARED.claims_s


class WaitedClock(JumpingClock):
    """Its stopwatches go on with it."""

    def stopwatch(self) -> Callable[[], timedelta]:
        begun = self.now()
        return lambda: self.now() - begun


def test_looks_of_several_workers_are_written_within_a_second_however_many_keep_coming():
    desk, later = Desk(clock=WaitedClock(NOON), pace=SHARED), iter(looks(50))

    def one_more() -> None:
        desk.clock.advance(timedelta(seconds=desk.orders.waits[-1]))
        desk.settler.settle(next(later))

    desk.settler.settle(next(later))
    desk.orders.meanwhile = one_more
    desk.settler.turn()
    assert 0.5 < sum(desk.orders.waits[1:]) < 1.0
    assert len(desk.log.groups) == 1


def test_leases_are_kept_though_nobody_says_anything():
    """The thread wakes by itself: an event loop that hangs for a minute loses no lease."""
    desk = Desk()
    desk.settler.turn()
    assert desk.store.kept_until is None
    desk.clock.advance(HEARTBEAT)
    desk.settler.turn()
    assert desk.store.kept_until == NOON + HEARTBEAT + LEASE
    assert max(desk.orders.waits) <= HEARTBEAT.total_seconds() / 2
    assert desk.log.calls == ["heartbeat"]


def test_a_clock_that_jumped_does_not_hand_out_what_is_leased():
    desk = Desk()
    desk.clock.advance(8 * HOUR)
    desk.settler.claim([Ask(A, 1)], due_by=NOON)
    desk.settler.turn()
    assert desk.log.calls[:2] == ["heartbeat", "claim"]


def test_the_log_is_moved_into_the_database_now_and_then_and_at_the_end():
    desk = Desk()
    for settled in looks(50):
        desk.settler.settle(settled)
        desk.settler.turn()
    assert desk.log.calls.count("checkpoint") == 1
    desk.settler.stop()
    desk.settler.run()
    assert desk.log.calls.count("checkpoint") == 2


# payloads


def test_the_same_bytes_at_two_addresses_are_kept_once_and_both_have_them():
    desk = Desk()
    one, two = (
        a_look(a_watch("https://a.example/"), 1, b"same"),
        a_look(a_watch("https://b.example/"), 2, b"same"),
    )
    for settled in (one, two):
        desk.settler.settle(settled)
    desk.settler.turn()
    first, second = desk.log.groups[0].placed
    assert (first.kind, second.kind) == (RecordKind.RESPONSE, RecordKind.IDENTICAL)
    assert desk.archive.entries[1].refers_to == (one.visit.url, one.visit.at)
    assert desk.archive.entries[1].refers_to_record == (first.written.segment, one.visit.id)
    assert desk.archive.entries[1].payload == b""
    assert (first.evidence, second.evidence) == (EvidenceId(1), EvidenceId(2))
    place = (first.payload.segment, first.payload.offset, first.payload.length)
    assert (second.payload.segment, second.payload.offset, second.payload.length) == place


def test_a_state_that_comes_back_is_the_evidence_that_it_was():
    desk = Desk()
    watch = a_watch()
    for number, body in ((1, b"A"), (2, b"B"), (3, b"A")):
        desk.settler.settle(a_look(watch, number, body))
    desk.settler.turn()
    placed = desk.log.groups[0].placed
    assert [one.evidence for one in placed] == [1, 2, 1]
    assert [one.payload is not None for one in placed] == [True, True, False]
    assert placed[2].kind is RecordKind.IDENTICAL


def test_bytes_that_only_a_shorter_lived_class_has_are_kept_again():
    """When that class expires, its files go."""
    desk = Desk()
    short = a_look(a_watch("https://a.example/"), 1, b"same")
    short = replace(short, entry=replace(short.entry, retention="short"))
    desk.settler.settle(short)
    desk.settler.settle(a_look(a_watch("https://b.example/"), 2, b"same"))
    desk.settler.turn()
    placed = desk.log.groups[0].placed
    assert [one.kind for one in placed] == [RecordKind.RESPONSE, RecordKind.RESPONSE]
    assert placed[1].payload.segment.startswith("standard-")


def test_a_look_without_a_body_takes_a_link_and_no_evidence():
    desk = Desk()
    desk.settler.settle(a_look(a_watch(), 1, None))
    desk.settler.turn()
    (placed,) = desk.log.groups[0].placed
    assert (placed.kind, placed.evidence, placed.payload) == (RecordKind.NONE, None, None)


def test_the_settler_is_a_thread_that_does_not_keep_the_process_alive():
    assert isinstance(Desk().settler, threading.Thread)
    assert Desk().settler.daemon
