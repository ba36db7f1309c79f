"""The one thread that writes: archive first, synced, then one transaction, then the acknowledgement.

It owns the write connection and the archive.  Settlements that arrive while a group is being written form the
next group, so a fast crawl commits in large groups and a slow one at once.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

from vedette.contracts.alerts import Message
from vedette.contracts.copies import replace
from vedette.contracts.errors import LanesLostError, StoreWaitError, VedetteError
from vedette.contracts.fetch import RobotsRules
from vedette.contracts.hunt import HuntRows
from vedette.contracts.lane import LaneState
from vedette.contracts.ports import Clock
from vedette.contracts.schedule import ScheduleRows
from vedette.contracts.watch import (
    ArchiveEntry,
    Ask,
    Group,
    LedgerNote,
    Payload,
    Placed,
    Questions,
    RecordKind,
    Release,
    Segment,
    Settlement,
    SourceState,
    Watch,
    WrittenRecord,
)
from vedette.contracts.words import EvidenceId, LaneKey, Risk, RunId, WatchId
from vedette.engine.settle.archive_entries import (
    digests_of,
    evidence_of,
    keeps,
    new_payload,
    referring,
    revisit,
    with_standing,
)
from vedette.engine.settle.fallback import rested
from vedette.engine.settle.group_pace import OWN, Company, GroupPace
from vedette.engine.settle.settler_orders import Aside, Barrier, ClaimOrder, SettlerOrders, Word
from vedette.frontier.queue import LEASE, Dues, Heads, best

GROUP = 200  # rows; docs/durability.md
HEARTBEAT = timedelta(seconds=30)
CHECKPOINT_EVERY = 40  # groups
AGAIN_S = 1.0  # a store that takes nothing just now is tried again after this,
LAST_TRIES_S = 10.0  # and for so long after the run was told to end


_T = TypeVar("_T")
Claimed = list[tuple[LaneKey, list[Watch], Dues]]


class WriteSide(Protocol):
    """What the settler needs of the store."""

    def ask_ahead(self, questions: Questions) -> None: ...
    def claim(self, asks: Sequence[Ask], *, now: datetime, due_by: datetime) -> Mapping[LaneKey, Heads]: ...
    def take(self, ids: Sequence[WatchId], *, now: datetime, until: datetime) -> list[Watch]: ...
    def next_dues(
        self, places: Sequence[tuple[LaneKey, Risk]], *, after: datetime
    ) -> list[datetime | None]: ...
    def payloads(self, digests: Sequence[bytes]) -> dict[bytes, list[Payload]]: ...
    def kept(self, evidence: Sequence[EvidenceId]) -> dict[EvidenceId, Payload]: ...
    def screenshots(self, evidence: Sequence[EvidenceId]) -> set[EvidenceId]: ...
    def settle(self, group: Group) -> Segment | None: ...
    def commit(self) -> None: ...
    def heartbeat(self, *, until: datetime) -> None: ...
    def checkpoint(self) -> None: ...
    def close(self) -> None: ...


class ArchiveSide(Protocol):
    """What the settler needs of the archive."""

    def append(self, entry: ArchiveEntry) -> WrittenRecord: ...
    def sync(self) -> tuple[Segment, ...]: ...
    def committed(self, now: datetime, sealed: Segment | None = None) -> None: ...
    def rollback(self) -> None: ...
    def abandon(self) -> None: ...
    def close(self, now: datetime) -> None: ...


# The due times of a group, and what is to be written beside them.
Decide = Callable[[Sequence[Settlement]], tuple[list[Settlement], ScheduleRows | None]]
Hunt = Callable[[Sequence[Settlement], datetime], tuple[HuntRows | None, tuple[LedgerNote, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlerCalls:
    """Whom the settler tells, from its own thread."""

    committed: Callable[[Group], None]
    claimed: Callable[[Claimed], None]
    failed: Callable[[BaseException], None]
    dirty_lanes: Callable[[], tuple[tuple[LaneKey, LaneState], ...]]
    lane_notes: Callable[[], tuple[LedgerNote, ...]] = lambda: ()  # why those lanes closed; asked after them
    pace: GroupPace = OWN
    schedule: Decide = lambda settlements: (list(settlements), None)
    hunt: Hunt = lambda settlements, now: (None, ())
    messages: Callable[[Sequence[Placed]], tuple[Message, ...]] = lambda placed: ()  # written with the group
    paused: Callable[[StoreWaitError], None] = lambda error: None  # the store takes nothing just now
    resumed: Callable[[timedelta], None] = lambda after: None  # it does again
    heal: Callable[[], None] = lambda: None  # the clock was set: brings times back that lie too far ahead
    lost: Callable[[Sequence[Settlement]], None] = lambda looks: (
        None
    )  # at lanes that another worker has by now


class Settler(threading.Thread):
    def __init__(
        self,
        store: WriteSide,
        archive: ArchiveSide,
        *,
        run: RunId,
        clock: Clock,
        calls: SettlerCalls,
    ) -> None:
        super().__init__(name="settler", daemon=True)
        self._store = store
        self._archive = archive
        self._run = run
        self._clock = clock
        self._calls = calls
        self._orders = SettlerOrders(clock, calls.pace)
        self._pace = calls.pace
        self._ended: deque[Settlement] = deque()  # looks that nobody has taken up yet
        self._asides: list[Aside] = []
        self._groups = 0
        self._heals = False
        self._is_stopping = threading.Event()
        self._paused: Callable[[], timedelta] | None = None  # how long the store has taken nothing
        self._beat_at = clock.now() + HEARTBEAT

    def settle(self, settlement: Settlement) -> None:
        """Wakes the thread for the first look of a group, and when it is full: not for every one of them."""
        self._ended.append(settlement)
        if len(self._ended) in (1, GROUP):
            self._orders.put(Word.LOOKS)

    def claim(self, asks: Sequence[Ask], *, due_by: datetime) -> None:
        """Lease the best watches of these lanes that are due by then."""
        self._orders.put(ClaimOrder(tuple(asks), due_by))

    def aside(self, value: Aside) -> None:
        """Goes along with the next group."""
        self._orders.put(value)

    def hunt(self) -> None:
        """Choose prospects, though no look ended."""
        self._orders.put(Word.HUNT)

    def heal(self) -> None:
        """The clock was set while we ran."""
        self._orders.put(Word.HEAL)

    def hurry(self) -> None:
        """The engine has nothing else under way, so waiting for company is in vain."""
        self._orders.put(Word.HURRY)

    def drain(self, timeout: float = 60.0) -> bool:
        """Everything handed over so far is committed when this returns True."""
        barrier = Barrier(threading.Event())
        self._orders.put(barrier)
        return barrier.done.wait(timeout)

    def stop(self) -> None:
        self._orders.put(None)
        self._is_stopping.set()

    def run(self) -> None:
        try:
            while self.turn():
                pass
            self._checkpoint()
        except BaseException as error:  # noqa: BLE001  the engine must hear of it, whatever it is
            self._calls.failed(error)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Both are closed, whatever the first one says; a full disk is heard of here too."""
        for close in (partial(self._archive.close, self._clock.now()), self._store.close):
            try:
                close()
            except VedetteError as error:
                self._calls.failed(error)

    def turn(self) -> bool:
        """One round: gather orders, answer claims at once, write the group.  False: stop."""
        settlements: list[Settlement] = []
        barriers: list[Barrier] = []
        goes_on, hunts = True, 0
        for order in self._gather(settlements):
            if order is None:
                goes_on = False
            elif isinstance(order, Word):
                hunts += 1
            elif isinstance(order, Barrier):
                barriers.append(order)
            else:
                self._asides.append(order)
        if settlements or self._asides or barriers or hunts or not goes_on:
            self._write(settlements, hunts)
        self._keep_house()
        if self._heals:
            self._heals = False
            self._patiently(self._calls.heal)
        for barrier in barriers:
            barrier.done.set()
        return goes_on

    def _gather(self, settlements: list[Settlement]) -> list[Barrier | Word | Aside | None]:
        """Orders until the group is full, patience is over, or someone waits for us."""
        others: list[Barrier | Word | Aside | None] = []
        company = Company(self._ended, self._clock, self._pace)
        quiet = self._pace.quiet_s
        timeout = company.wait(HEARTBEAT.total_seconds() / 2)
        most = GROUP
        while True:
            try:
                pause = timeout if len(self._ended) < GROUP else 0.0
                order = self._orders.next(pause, is_gathering=bool(self._ended))
            except queue.Empty:
                if timeout and company.has_come() and len(self._ended) < GROUP:
                    timeout = company.wait(quiet)
                    continue
                break
            if isinstance(order, ClaimOrder):
                self._patiently(partial(self._answer, order))
                timeout = company.wait(min(timeout, quiet)) if self._ended else 0.0
            elif order is Word.HURRY:
                timeout = min(timeout, self._pace.hurry_s)
            elif order is Word.HEAL:
                self._heals, timeout = True, 0.0
            elif order is Word.LOOKS:
                timeout = company.wait(timeout)
            else:
                others.append(order)
                if order is None or isinstance(order, Barrier):
                    most = len(self._ended)  # all that came before it
                    break
                timeout = 0.0 if order is Word.HUNT else min(timeout, quiet)
        settlements += [self._ended.popleft() for _ in range(min(most, len(self._ended)))]
        return others

    def _answer(self, claim: ClaimOrder) -> None:
        now = self._clock.now()
        self._beat(now)  # a clock that jumped (suspend) must not hand out what we have leased already
        heads = self._store.claim(claim.asks, now=now, due_by=claim.due_by)
        chosen = {ask.lane: best(heads[ask.lane], ask.most, now) for ask in claim.asks}
        ids = [i for picks in chosen.values() for i in picks]
        watches = {w.id: w for w in self._store.take(ids, now=now, until=now + LEASE)} if ids else {}
        dues = self._dues_after(claim, heads, set(ids))
        self._orders.answered(claim)
        self._calls.claimed(
            [
                (ask.lane, [watches[i] for i in chosen[ask.lane] if i in watches], dues[ask.lane])
                for ask in claim.asks
            ]
        )

    def _dues_after(
        self, claim: ClaimOrder, heads: Mapping[LaneKey, Heads], taken: set[WatchId]
    ) -> dict[LaneKey, Dues]:
        """When each class of the lanes is due again.  The store is asked once for all that the heads do not tell."""
        dues: dict[LaneKey, list[datetime | None]] = {}
        unknown: list[tuple[LaneKey, Risk]] = []
        for ask in claim.asks:
            dues[ask.lane] = [_left(heads[ask.lane], risk, ask.most, taken) for risk in Risk]
            unknown += [(ask.lane, risk) for risk in Risk if dues[ask.lane][risk] is None]
        for (lane, risk), at in zip(unknown, self._store.next_dues(unknown, after=claim.due_by), strict=True):
            dues[lane][risk] = at
        return dict(dues)

    def _write(self, settlements: list[Settlement], hunts: int) -> None:
        asides, self._asides = self._asides, []
        try:
            self._patiently(partial(self._ask_ahead, settlements))
            settlements, schedule = self._calls.schedule(settlements)
            hunt, choices = self._hunted(settlements, hunts)
            settlements = rested(settlements, hunt)
            placed, segments = self._patiently(lambda: self._archived(settlements))
            group = Group(
                run=self._run,
                placed=tuple(placed),
                segments=segments,
                lanes=self._calls.dirty_lanes(),
                sources=tuple(a for a in asides if isinstance(a, SourceState)),
                robots=tuple(a for a in asides if isinstance(a, RobotsRules)),
                notes=(
                    *(a for a in asides if isinstance(a, LedgerNote)),
                    *self._calls.lane_notes(),
                    *choices,
                ),
                released=tuple(a.job for a in asides if isinstance(a, Release)),
                schedule=schedule,
                hunt=hunt,
                hunts=hunts,
                messages=self._calls.messages(placed),
            )
        except BaseException:
            self._archive.rollback()
            raise
        self._commit_ours(group, settlements)

    def _ask_ahead(self, settlements: list[Settlement]) -> None:
        """What the group needs to know, and what a claim that waits asks, in one trip to a server."""
        claim = self._orders.waiting
        asked = Questions(
            now=self._clock.now(), evidence=evidence_of(settlements), digests=digests_of(settlements)
        )
        if claim is not None:
            asked = replace(asked, asks=claim.asks, due_by=claim.due_by)
        if asked.evidence or asked.digests or claim is not None:
            self._store.ask_ahead(asked)
        if claim is not None:
            self._answer(claim)

    def _archived(self, settlements: list[Settlement]) -> tuple[list[Placed], tuple[Segment, ...]]:
        """On the disk, lasting; or undone."""
        return self._place(settlements), self._archive.sync()

    def _commit_ours(self, group: Group, settlements: list[Settlement]) -> None:
        """Looks at lanes that are another's by now are in no file and no row; the rest is written without them."""
        while True:
            try:
                return self._commit(group)
            except LanesLostError as error:
                self._archive.rollback()
                lost = [one for one in settlements if one.job.watch.lane in error.lanes]
                settlements = [one for one in settlements if one.job.watch.lane not in error.lanes]
                sources = {one.watch.source for one in lost}
                self._calls.lost(lost)
                placed, segments = self._patiently(partial(self._archived, settlements))
                group = replace(
                    group,
                    placed=tuple(placed),
                    segments=segments,
                    sources=tuple(one for one in group.sources if one.source not in sources),
                    schedule=None,  # half of it was learned from what is lost
                    messages=self._calls.messages(placed),
                )

    def _commit(self, group: Group) -> None:
        """A commit that failed may be found whole after a stop: the same group is tried again, and nothing is cut."""
        try:
            sealed = self._patiently(lambda: self._store.settle(group))
        except LanesLostError:
            raise
        except BaseException:
            self._archive.abandon()
            raise
        self._archive.committed(self._clock.now(), sealed)
        self._calls.committed(group)
        self._groups += 1

    def _hunted(
        self, settlements: list[Settlement], hunts: int
    ) -> tuple[HuntRows | None, tuple[LedgerNote, ...]]:
        """Not whenever something is written aside: when that happens hangs on the machine."""
        return self._calls.hunt(settlements, self._clock.now()) if settlements or hunts else (None, ())

    def _place(self, settlements: list[Settlement]) -> list[Placed]:
        """Into the archive, in order.  A payload that is there already is written as a revisit, and only such a one."""
        seen = evidence_of(settlements)
        kept = self._store.kept(seen) if seen else {}
        entries = [referring(settled, kept) for settled in settlements]
        digests = [
            entry.facts.digest
            for entry in entries
            if entry.kind is RecordKind.RESPONSE and entry.facts.digest is not None
        ]
        known = self._store.payloads(digests) if digests else {}
        both = zip(settlements, entries, strict=True)
        return [self._place_one(settled, entry, known, kept) for settled, entry in both]

    def _place_one(
        self,
        settled: Settlement,
        entry: ArchiveEntry,
        known: dict[bytes, list[Payload]],
        kept: Mapping[EvidenceId, Payload],
    ) -> Placed:
        digest = entry.facts.digest
        evidence, new = settled.visit.evidence, None
        if entry.kind is not RecordKind.RESPONSE or digest is None:
            entry = self._pictured_once(entry, evidence)
            written = self._archive.append(entry)
        else:
            twins = [twin for twin in known.get(digest, ()) if keeps(twin, settled)]
            if twins:
                entry = revisit(entry, RecordKind.IDENTICAL, twins[0])
            own = next((twin for twin in twins if twin.watch == settled.watch.id), None)
            evidence = own.evidence if own is not None else EvidenceId(settled.visit.id)
            entry = self._pictured_once(entry, evidence)
            written = self._archive.append(entry)
            if own is None:
                new = with_standing(new_payload(settled, written, twins), settled, kept)
                known.setdefault(digest, []).append(new)
        return Placed(
            settlement=settled,
            kind=entry.kind,
            written=written,
            evidence=evidence,
            payload=new,
            screenshot=entry.screenshot,
        )

    def _pictured_once(self, entry: ArchiveEntry, evidence: EvidenceId | None) -> ArchiveEntry:
        """A state has one picture: that of the first look that took one."""
        if entry.screenshot is None:
            return entry
        is_there = evidence is None or bool(self._store.screenshots([evidence]))
        return replace(entry, screenshot=None) if is_there else entry

    def _keep_house(self) -> None:
        self._patiently(lambda: self._beat(self._clock.now()))
        self._patiently(self._store.commit)
        if self._groups >= CHECKPOINT_EVERY:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Not now, when the disk is full: everything is in the log of SQLite, and the next group tries again."""
        with suppress(StoreWaitError):
            self._store.checkpoint()
            self._groups = 0

    def _patiently(self, do: Callable[[], _T]) -> _T:
        """Does it, when the store takes it: a full disk and a lock that another holds are waited for.

        Nothing is lost meanwhile: what was looked at waits here, and no new look starts.  A run that is told to end
        does not wait for ever.
        """
        left = LAST_TRIES_S
        while True:
            try:
                done = do()
            except StoreWaitError as error:
                if self._paused is None:
                    self._paused = self._clock.stopwatch()
                    self._calls.paused(error)
                left -= AGAIN_S if self._is_stopping.is_set() else 0.0
                if left <= 0:
                    raise
                time.sleep(AGAIN_S)
            else:
                if self._paused is not None:
                    paused, self._paused = self._paused, None
                    self._calls.resumed(paused())
                return done

    def _beat(self, now: datetime) -> None:
        if now >= self._beat_at or self._beat_at > now + HEARTBEAT:  # the clock was set back
            self._store.heartbeat(until=now + LEASE)
            self._beat_at = now + HEARTBEAT


def _left(heads: Heads, risk: Risk, most: int, taken: set[WatchId]) -> datetime | None:
    """When the class is due again, by its heads; None: they do not tell.  One that filled the claim has more now."""
    mine = [head for head in heads if head[1] is risk]
    left = [head for head in mine if head[0] not in taken]
    if left:
        return left[0][2]
    return mine[-1][2] if len(mine) == most else None
