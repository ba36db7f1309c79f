"""The role `panel`: asks batches that were left to workers (`vedette panel run --detach`).

Workers share batches by provider.  Whoever visits a provider asks its cells batch by batch, oldest first, with the
engine of `panel run`; limits and breakers of its keys are therefore held by one process at a time.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from pydantic_core import to_json

from vedette.app.configured_providers import ConfiguredProvider, note_calls
from vedette.app.crawl_worker import server_of
from vedette.app.panel import Panel, PanelRequest, prices_of, width_of
from vedette.app.panel_resources import Judging, board_of, projection_of
from vedette.config.model import Loaded
from vedette.contracts.errors import ConfigError, TakenOverError, VedetteError, short_stack
from vedette.contracts.events import Event, PanelNoted, ProblemTold
from vedette.contracts.lane import ALL
from vedette.contracts.panel_run import Batch, BatchId, PanelNote
from vedette.contracts.ports import Clock
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.workers import Role
from vedette.core.lanes.visit import LEASE, counts_for
from vedette.core.panel.domains import MOST_NAME
from vedette.core.panel.pace import Latencies
from vedette.core.panel.plan import block_size, most_cost
from vedette.core.panel.shares import most_visits, others_have_room, widths
from vedette.engine.panel.loop import BatchEnd, PanelEngine
from vedette.engine.panel.provider_lanes import PanelParts
from vedette.engine.settle.ids import PANEL, Ids
from vedette.fetch.http import HttpFetcher
from vedette.store.connection import connect
from vedette.store.dialect import open_sql
from vedette.store.panel.batches import PanelStore
from vedette.store.panel.lane_ledger import PanelLedger
from vedette.store.panel.panel_rows import Projection
from vedette.store.panel.panel_visits import (
    PanelHandover,
    PanelVisit,
    PanelVisits,
    SharedPanelStore,
    VisitCounts,
    end_whole,
    free_visits,
)
from vedette.store.panel.redis_board import RedisBoard
from vedette.store.panel.store_thread import ThreadedPanelLog
from vedette.store.sqlite import Reader
from vedette.store.worker_rows import alive
from vedette.telemetry.clock import SteadyClock

TICK_S = 1.0  # visits are renewed and taken
AGAIN_S = 5.0  # after a fault, and while others may leave a share dollars
REST = timedelta(minutes=5)  # a provider at which our own code failed is left to others for so long
OFFER_AGAIN = timedelta(minutes=5)  # before a provider that nobody else took is left to others once more
LATE = timedelta(seconds=10)  # a provider that nobody took for so long is taken beyond a fair part
ELSEWHERE = "workers ask batches that are in the store itself: leave `panel.database` out"
NOBODY = "no worker has the role `panel`: it waits for `vedette worker --roles panel`"


def detach(panel: Panel, asked: PanelRequest) -> tuple[Batch, str]:
    """A new batch that workers ask, and what the operator should know about it.  Nobody is asked here."""
    server = shared_server(panel.loaded, panel)
    batch = panel.new_batch(asked)
    cells: dict[str, int] = {}
    for one in panel.members(batch.shape.models):
        cells[one.row.lane] = cells.get(one.row.lane, 0) + block_size(batch.shape)
    projection = projection_of(panel.loaded, panel.config, server.url)
    with closing(PanelHandover(open_sql(server.url), projection)) as store:
        store.detach(batch, asked.domains, cells)
    with closing(connect(server, read_only=True)) as db:
        return batch, "" if alive(db)[Role.PANEL] else NOBODY


def shared_server(loaded: Loaded, panel: Panel) -> PostgresAddress:
    """The one database that holds visits and batches: a transaction covers both."""
    server = server_of(loaded)
    if panel.config.database not in (None, server.url):
        raise ConfigError(ELSEWHERE)
    return server


@dataclass(slots=True)
class ProviderHold:
    """One provider in the hands of this worker."""

    visit: PanelVisit
    is_late: bool  # taken beyond a fair part
    until: timedelta  # by our own stopwatch
    task: asyncio.Task[None] | None = None
    engine: PanelEngine | None = None
    is_leaving: bool = False


@dataclass(slots=True)
class PanelDuty:
    """Until it is told to stop.  `worker`: the name that its visits carry."""

    loaded: Loaded
    path: PostgresAddress
    clock: Clock
    hear: Callable[[Event], None]
    worker: str
    lease: timedelta = LEASE
    calls: int = 0  # that ended, for `vedette workers`
    _serving: dict[str, ProviderHold] = field(default_factory=dict)
    _widths: Mapping[str, int] = field(default_factory=dict)
    _resting: dict[str, timedelta] = field(default_factory=dict)  # until when, by our own stopwatch
    _unwanted: dict[str, timedelta] = field(default_factory=dict)  # until when it is offered to nobody again
    _told: str = ""
    _panel: Panel = field(init=False)
    _members: Mapping[str, Sequence[ConfiguredProvider]] = field(init=False)
    _projection: Projection = field(init=False)
    _since: Callable[[], timedelta] = field(init=False)
    _is_over: bool = False

    def __post_init__(self) -> None:
        self._panel = Panel(self.loaded, clock=self.clock)
        shared_server(self.loaded, self._panel)
        self._since = self.clock.stopwatch()
        members: dict[str, list[ConfiguredProvider]] = {}
        for one in self._panel.members():
            members.setdefault(one.row.lane, []).append(one)
        self._members = members

    @property
    def providers(self) -> int:
        return len(self._serving)

    @property
    def under_way(self) -> int:
        return sum(one.engine.progress().under_way for one in self._serving.values() if one.engine)

    async def run(self, told: asyncio.Event) -> None:
        self._projection = await asyncio.to_thread(
            projection_of, self.loaded, self._panel.config, self.path.url
        )
        visits = await asyncio.to_thread(PanelVisits, self.path, worker=self.worker, lease=self.lease)
        try:
            while not told.is_set():
                await self._tick(visits)
                with suppress(TimeoutError):
                    await asyncio.wait_for(told.wait(), TICK_S)
            await self._drain(visits)
        finally:
            await asyncio.to_thread(visits.close)

    async def _tick(self, visits: PanelVisits) -> None:
        """A server that is away is waited for: what we hold lapses by our own stopwatch meanwhile."""
        try:
            await self._step(visits)
            self._told = ""
        except (VedetteError, sqlite3.Error) as error:
            self._tell(f"batches of the panel wait: {error}")

    async def _step(self, visits: PanelVisits) -> None:
        found = await self._renew(visits)
        self._widths = widths(self._panel.config.at_once, {name: self._wants(name) for name in found.busy})
        self._tune()
        await self._take(visits, found)
        for batch, by in await asyncio.to_thread(self._end_whole, visits):
            self._note(PanelNoted(at=self.clock.now(), action="batch_ended", subject=batch, reason=by))

    async def _renew(self, visits: PanelVisits) -> VisitCounts:
        asked = self._since()
        tokens = {name: one.visit.token for name, one in self._serving.items()}
        found = await asyncio.to_thread(visits.renew, tokens)
        for name, one in self._serving.items():
            if found.held.get(name) == one.visit.token:
                one.until = counts_for(asked, self.lease)
        return found

    async def _take(self, visits: PanelVisits, found: VisitCounts) -> None:
        """Its part of what is to be asked, and what nobody else took for a while."""
        workers = await asyncio.to_thread(self._workers)
        fair = most_visits(len(found.busy), workers)
        room = self._panel.config.at_once - sum(found.by_worker.values())
        mine = [one for one in self._serving.values() if not one.is_late]
        for late, most in ((timedelta(0), fair - len(mine)), (LATE, len(found.busy))):
            names = [name for name in found.busy if self._may_take(name)]
            asked = self._since()
            for visit in await asyncio.to_thread(visits.take, names, min(most, room), late=late):
                one = ProviderHold(visit, bool(late), counts_for(asked, self.lease))
                self._serving[visit.provider] = one
                one.task = asyncio.create_task(self._visit(visits, one))
                room -= 1
        staying = [one for one in mine if not one.is_leaving]
        for one in staying[: max(0, len(staying) - fair)]:
            self._leave(one)
        others = [count for worker, count in found.by_worker.items() if worker != self.worker]
        if others_have_room(others, len(found.busy), workers):
            self._offer()

    def _offer(self) -> None:
        """What nobody else took at first may be another's now.  If nobody wants it, it is ours again, for minutes."""
        now = self._since()
        for name, one in self._serving.items():
            if one.is_late and not one.is_leaving and now >= self._unwanted.get(name, now):
                self._unwanted[name] = now + OFFER_AGAIN
                self._leave(one)

    def _may_take(self, name: str) -> bool:
        is_rested = self._since() >= self._resting.get(name, timedelta(0))
        return is_rested and name in self._members and name not in self._serving

    async def _visit(self, visits: PanelVisits, one: ProviderHold) -> None:
        """All batches that have something to ask of the provider."""
        try:
            while not one.is_leaving and not self._is_over:
                batch = await asyncio.to_thread(visits.next_batch, one.visit)
                if batch is None:
                    break
                if not await self._ask(visits, one, batch):
                    await self._pause()
        except TakenOverError as error:
            self._tell(f"{one.visit.provider} is asked no more for now: {error}")
        except (VedetteError, sqlite3.Error) as error:
            self._tell(f"{one.visit.provider} is asked again soon: {error}")
            await self._pause()
        except Exception as error:  # noqa: BLE001  a fault of ours costs one provider some minutes, not the worker
            self._resting[one.visit.provider] = self._since() + REST
            words = f"{type(error).__name__} in {short_stack(error)}"
            minutes = REST // timedelta(minutes=1)
            self._tell(
                f"{one.visit.provider} is not asked by this worker for {minutes} minutes, "
                f"because the program failed: {words}; please report it"
            )
        finally:
            try:
                await asyncio.to_thread(free_visits, self.path, [one.visit])
            except (VedetteError, sqlite3.Error) as error:
                self._tell(f"{one.visit.provider} is free when its lease is over: {error}")
            self._serving.pop(one.visit.provider, None)

    async def _pause(self) -> None:
        await asyncio.sleep(AGAIN_S * (self.lease / LEASE))

    async def _ask(self, visits: PanelVisits, one: ProviderHold, batch: BatchId) -> bool:
        """False: it is tried again after a pause."""
        end = await self._engine(one, batch)
        self.calls += sum(row.calls for row in end.progress.providers)
        if isinstance(end.error, TakenOverError):
            raise end.error
        if end.error is not None:
            self._tell(f"{one.visit.provider}, {batch}: {end.error}")
        is_known = end.error is None
        word = end.by if is_known and end.by not in ("stopped", "failed") else ""
        is_over = await asyncio.to_thread(visits.end_share, one.visit, batch, word, is_known=is_known)
        return bool(word) and is_over

    async def _engine(self, one: ProviderHold, batch_id: BatchId) -> BatchEnd:
        members, clock = self._members[one.visit.provider], SteadyClock(self.clock)
        opened = await asyncio.to_thread(self._open, one, batch_id)
        fetcher = HttpFetcher(clock)
        log = ThreadedPanelLog(opened.store, opened.reader, self.clock.stopwatch)
        board = board_of(self._panel.config, clock, f"workers of {self.path}")
        try:
            keys = self._panel.keys([row.row.name for row in members], fetcher)
            lost_at = clock.now() if one.visit.was_lost else None
            parts = PanelParts(
                clock=clock,
                keeper=self._panel.keeper(opened.lanes, clock, keys, not_before=lost_at),
                log=log,
                keys=keys,
                prices=prices_of(members),
                judge=Judging(),
                chunk_size=self._panel.config.chunk_size,
                timeout=self._panel.config.timeout,
                is_resumed=True,
                lane=self._panel.lane,
                board=board,
                latencies=opened.latencies,
                is_allotted=True,
                is_ours=lambda: self._since() < one.until,
                on_note=self._noted,
                wall=clock.wall,
            )
            one.engine = PanelEngine(opened.batch, parts)
            self._tune()
            if one.is_leaving or self._is_over:
                one.engine.stop("stopped")
            end = await one.engine.run()
            await asyncio.to_thread(self._note_reliability, members, end)
            return end
        finally:
            one.engine = None
            await fetcher.close()
            await asyncio.to_thread(opened.close, log, board)

    def _open(self, one: ProviderHold, batch_id: BatchId) -> OpenedShare:
        """All that an engine needs, or no session more than before."""
        url = self.path.url
        with ExitStack() as held:
            lanes = held.enter_context(closing(Reader(self.path)))
            db = held.enter_context(closing(open_sql(url)))
            ledger = PanelLedger(db, Ids(PANEL, after=lanes.last_id()).next)
            with db.transaction():
                batch = PanelStore(db, self._projection).batch(batch_id)
                latencies = PanelStore(db, self._projection).latencies(batch_id)
            usd = self._usd(one.visit.provider, batch)
            store = SharedPanelStore(db, self._projection, ledger, one.visit, wants_usd=usd)
            spent = store.begin(batch)
            reader = PanelStore(open_sql(url), self._projection)
            held.pop_all()
        return OpenedShare(replace(batch, spent_usd=spent), latencies, store, reader, lanes)

    def _usd(self, provider: str, batch: Batch) -> float:
        """What its calls can cost at most until its worker says the next word."""
        members = self._members[provider]
        prices = prices_of(members)
        each = max(
            most_cost(prices.get(one.row.name), prompt, MOST_NAME)
            for one in members
            for prompt in batch.shape.prompts
        )
        starts = sum(one.row.per_minute * len(one.keys) for one in members) / 60
        return each * (2 * self._wants(provider) + starts)

    def _wants(self, provider: str) -> int:
        members = self._members.get(provider, ())
        return max(1, sum(one.row.at_once * len(one.keys) for one in members))

    def _tune(self) -> None:
        """Calls at once are shared by all providers that are asked, whoever asks them."""
        for name, one in self._serving.items():
            if one.engine is not None and name in self._widths:
                one.engine.keeper.tune(ALL, width_of(self._widths[name]))
                one.engine.keeper.wakes.touch(ALL)

    def _workers(self) -> int:
        with closing(connect(self.path, read_only=True)) as db:
            return alive(db)[Role.PANEL]

    def _end_whole(self, visits: PanelVisits) -> list[tuple[BatchId, str]]:
        if not visits.whole():
            return []
        with closing(Reader(self.path)) as lanes, closing(open_sql(self.path.url)) as db:
            ended = end_whole(PanelHandover(db, self._projection), visits, self.clock.now())
            ledger = PanelLedger(db, Ids(PANEL, after=lanes.last_id()).next)
            for batch_id, by in ended:
                with db.transaction():
                    view = PanelHandover(db, self._projection).view(batch_id)
                tally = to_json({"settled": view.settled, "answered": view.answered}).decode()
                ledger.run_ended(view.batch, now=self.clock.now(), by=by, tally=tally)
        return ended

    def _note_reliability(self, members: Sequence[ConfiguredProvider], end: BatchEnd) -> None:
        counted = {row.model: (row.ok, row.failed) for row in end.progress.providers}
        with closing(connect(self.path)) as db:
            note_calls(db, [one.row for one in members], counted)

    def _leave(self, one: ProviderHold) -> None:
        one.is_leaving = True
        if one.engine is not None:
            one.engine.stop("stopped")

    async def _drain(self, visits: PanelVisits) -> None:
        """What is under way ends; leases go on meanwhile."""
        self._is_over = True
        for one in self._serving.values():
            self._leave(one)
        while tasks := [one.task for one in self._serving.values() if one.task is not None]:
            await asyncio.wait(tasks, timeout=TICK_S)
            with suppress(VedetteError, sqlite3.Error):
                await self._renew(visits)

    def _noted(self, note: PanelNote) -> None:
        words = " ".join(filter(None, (note.reason.code, note.reason.note)))
        self._note(PanelNoted(at=note.at, action=note.action, subject=note.subject, reason=words))

    def _note(self, event: Event) -> None:
        self.hear(event)

    def _tell(self, words: str) -> None:
        if words != self._told:
            self._told = words
            self.hear(ProblemTold(at=self.clock.now(), what=words))


@dataclass(frozen=True, slots=True)
class OpenedShare:
    """What an engine has open."""

    batch: Batch
    latencies: Mapping[str, Latencies]
    store: SharedPanelStore
    reader: PanelStore
    lanes: Reader

    def close(self, log: ThreadedPanelLog, board: RedisBoard | None) -> None:
        log.close()
        for one in (self.store, self.reader, self.lanes, *((board,) if board else ())):
            one.close()
