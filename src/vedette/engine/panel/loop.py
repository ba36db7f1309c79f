"""The work of a batch, for the dispatcher: cells that are leased, calls, what becomes of each.

When a lane is considered, and what of it starts, is in lanes/dispatcher.py.  Deadlines, the budget and the kill switch
stop new calls; what is under way ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.errors import TakenOverError, short_stack
from vedette.contracts.lane import ALL, Go, Wait
from vedette.contracts.panel_run import Answer, Batch, Cell, CellRow, PanelNote, Progress
from vedette.contracts.words import LaneKey, Outcome, Reason
from vedette.core.lanes.outcomes import MEANING, Failure
from vedette.core.limits import budget as money
from vedette.core.limits.budget import RunLimits
from vedette.core.panel import deadline
from vedette.core.panel.cell_end import Again, Done, PutBack, ending, heard
from vedette.core.panel.cell_end import stop as stop_for
from vedette.core.panel.deadline import COMPLETE, INCOMPLETE
from vedette.core.panel.pace import hold
from vedette.core.panel.plan import cost_of_call, end_of, most_cost
from vedette.engine.panel.cells import CellStream, GroupWriter, WriterCalls
from vedette.engine.panel.provider_lanes import Call, KeyLane, PanelParts, ProviderLanes, row_of
from vedette.engine.panel.shared_limits import RECLAIM, SharedLimits, SharingCalls
from vedette.lanes.dispatcher import Begun, Dispatcher, DispatchTerms
from vedette.lanes.held_lanes import NotOursError

LISTEN = timedelta(milliseconds=500)  # how often the kill switch is looked at: it acts within a second
GRACE = timedelta(seconds=5)  # beyond the provider's own timeout; then the call is given up


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEnd:
    """How a batch ended."""

    by: str  # complete | incomplete | hard_stop | budget_spent | killed | stopped | failed
    progress: Progress
    error: BaseException | None = None


class PanelEngine:
    """Runs one batch, once."""

    def __init__(self, batch: Batch, parts: PanelParts) -> None:
        self.batch = batch
        self.parts = parts
        self.clock = parts.clock
        self.keeper = parts.keeper
        self.lanes = ProviderLanes(batch, parts)
        limits = RunLimits(soft_deadline=batch.target_at, deadline=batch.hard_at, spend=batch.budget_usd)
        self._dispatcher = Dispatcher(self, parts.keeper, parts.clock, DispatchTerms(limits=limits))
        self._wakes = parts.keeper.wakes
        told = WriterCalls(
            dirty_lanes=parts.keeper.take_dirty,
            progress=self.progress,
            written=self._on_written,
            spent=self._on_spent_elsewhere,
        )
        self.writer = GroupWriter(parts.log, batch.id, parts.clock, told)
        heard_of = SharingCalls(news=self._on_news, settled=self._on_settled_elsewhere, failed=self.fail)
        self.shared = SharedLimits(parts, batch.id, heard_of)
        self._budget = money.Budget(most=limits.spend, spent=batch.spent_usd)
        self._dropped_from = batch.dropped_from
        # When the tiers were looked at, after the soft cut: in a batch that goes on, by who dropped one.
        self._looked_at = None if batch.dropped_from is None else batch.target_at
        self._side: list[asyncio.Task[None]] = []
        self._calls: deque[tuple[datetime, asyncio.Task[None]]] = deque()  # by when they began
        self._given_up: set[asyncio.Task[None]] = set()
        self._bugs: set[str] = set()  # places of our code that failed
        self._settled = self._answered = 0
        self._told_away = self._is_lost = False

    async def run(self) -> BatchEnd:
        """Until every cell has its row, or something stops it."""
        writing = asyncio.create_task(self.writer.run())
        writing.add_done_callback(self._on_side_end)
        self._side = [writing, asyncio.create_task(self._listen())]
        self._side += [asyncio.create_task(self._feed(lanes)) for lanes in self.lanes.by_stream]
        for stream in self.lanes.streams:
            stream.hungry.set()
        by = await self._dispatcher.run() or self._how_complete()
        return BatchEnd(by=by, progress=self.progress(), error=self._dispatcher.error)

    def stop(self, word: str) -> None:
        """Nothing starts any more; what is under way ends."""
        if not self._dispatcher.stopped_by:
            self._note("stop", self.batch.id, Reason(word))
            self._dispatcher.stop(word)

    def fail(self, error: BaseException) -> None:
        """The store, or code of ours, broke."""
        self._dispatcher.fail(error)

    def progress(self) -> Progress:
        """How far it has come, for people and for the store."""
        now, loads = self.clock.now(), self.lanes.loads()
        return Progress(
            at=self.parts.wall(now),
            settled=self._settled,
            answered=self._answered,
            under_way=self._dispatcher.under_way,
            waiting=sum(sum(load.waiting.values()) for load in loads),
            spent_usd=self._budget.spent,
            dropped_from=self._dropped_from,
            eta=self.parts.wall(deadline.eta(loads, now)),
            providers=self.lanes.tallies(now),
        )

    # What the dispatcher asks.

    ended = begun = 0  # no limit of visits: a cell that is asked twice is one

    def begin_turn(self, now: datetime) -> None:
        """After the soft cut, once a minute: drops the tiers that have to go."""
        cut_at = self.next_at()
        if self._dispatcher.stopped_by or cut_at is None or now < cut_at:
            return
        is_first, self._looked_at = self._looked_at is None, now
        limits = self._dispatcher.limits
        for drop in deadline.drops(limits, self.lanes.loads(), now, is_first_look=is_first):
            self._dropped_from = drop.tier
            for stream in self.lanes.streams:
                self.writer.release(stream.drop_from(drop.tier))
            self._note("tier_dropped", f"tier {drop.tier}", drop.reason)

    def due(self, now: datetime) -> Iterable[LaneKey]:
        return ()

    def has_work(self, lane: LaneKey, now: datetime) -> bool:
        peers = self.lanes.by_key.get(lane, ())
        return not self._dispatcher.stopped_by and any(not one.is_shut for one in peers)

    def offer(self, lane: LaneKey, answer: Go | Wait, now: datetime) -> float | Wait | None:
        """Every cell is worth the same: lanes start in the order in which they came."""
        peers = self.lanes.by_key[lane]
        if isinstance(answer, Wait):
            if answer.reason.code == "lane_blocked":  # not waited for: only the operator can open it
                self._block(peers[0], answer.reason)
            return None
        answer = self.shared.ask(peers[0], now)
        if isinstance(answer, Wait):
            return answer
        asked = [one for one in peers if not one.is_shut]
        if any([one.stream.has_cell(now, want=one.prefetch) for one in asked]):  # each says what it wants
            return 0.0
        self._wakes.add(lane, min(filter(None, (one.stream.next_at() for one in asked)), default=None))
        return None

    def start(self, lane: LaneKey, lanes: tuple[LaneKey, ...], now: datetime) -> Begun | Wait | None:
        """The next cell of the models that are asked through this lane, in turn."""
        peers = self.lanes.by_key[lane]
        for _ in range(len(peers)):
            one = peers[0]
            peers.rotate(-1)
            cell = None if one.is_shut else self._next_cell(one, now)
            if cell is not None:
                return self._begin(one, cell, now)
        return None

    def end_turn(self, now: datetime) -> None:
        pass

    def is_paused(self) -> bool:
        return False

    def has_room(self) -> bool:
        return not self.writer.is_behind

    def is_busy(self) -> bool:
        return False

    def is_done(self, now: datetime) -> bool:
        if self._dispatcher.under_way:
            return False
        return bool(self._dispatcher.stopped_by) or self.lanes.is_done()

    def next_at(self) -> datetime | None:
        """When it is looked at the tiers."""
        if self._dispatcher.stopped_by:
            return None
        soft = self._dispatcher.limits.soft_deadline
        return soft if self._looked_at is None else self._looked_at + deadline.AGAIN

    def on_limit(self, reason: Reason) -> None:
        self.stop("hard_stop")

    def on_clock_set(self, by: timedelta, now: datetime) -> None:
        """A batch has a clock that nobody sets."""

    async def close(self) -> None:
        writing, *others = self._side
        for task in others:
            task.cancel()
        self.writer.close()
        await asyncio.gather(*others, writing, self.shared.close(), return_exceptions=True)

    def _next_cell(self, lane: KeyLane, now: datetime) -> Cell | None:
        """Cells that another run held are claimed again before they are asked."""
        state = self.keeper.state(lane.key)
        is_ill = state.failures > 0 or state.closed_until is not None
        cell = lane.stream.take(now, prefers_fresh=is_ill)
        while cell is not None and cell.number in self.shared.foreign:
            self.shared.reclaim(lane, cell)
            cell = lane.stream.take(now, prefers_fresh=is_ill)
        return cell

    def _begin(self, lane: KeyLane, cell: Cell, now: datetime) -> Begun | Wait:
        price = self.parts.prices.get(lane.model)
        most = most_cost(price, self.batch.shape.prompts[cell.prompt], len(cell.domain))
        answer = money.ask(self._budget, now, most)
        if isinstance(answer, Wait):
            lane.stream.put_back(cell)
            may_get_more = self.parts.is_allotted and self.writer.unwritten  # with what is written
            if not self._dispatcher.under_way and not may_get_more:
                self.stop("budget_spent")
            return answer
        self._budget = money.reserve(self._budget, now, most)
        self.keeper.start((lane.key, ALL), now)
        self.shared.started(lane.key)
        lane.tempo.under_way += 1
        lane.count.under_way += 1
        return self._call(lane, cell, most)

    async def _call(self, lane: KeyLane, cell: Cell, most: float) -> None:
        """One call, from its start to what becomes of the cell."""
        answer, is_sent = await self._ask(lane, cell)
        if self._is_lost:
            return  # another worker asks it
        now = self.clock.now()
        price, prompt = self.parts.prices.get(lane.model), self.batch.shape.prompts[cell.prompt]
        paid = cost_of_call(price, prompt, len(cell.domain), end_of(answer, is_sent=is_sent))
        self._budget = money.settle(self._budget, most, paid)
        failure = Failure(answer.outcome, cell.attempt, answer.retry_after)
        end = ending(failure, now=now, jitter=self.clock.chance(), params=self.parts.retry)
        self._tell_lane(lane, answer, end, now)
        lane.tempo.under_way -= 1
        lane.count.under_way -= 1
        lane.count.add(answer, paid)
        self._end_cell(lane, cell, end, Call(answer, paid, self.parts.wall(now)))
        self._wakes.touch(lane.key)

    async def _ask(self, lane: KeyLane, cell: Cell) -> tuple[Answer, bool]:
        """How it ended, and whether it went out.  Whatever an adapter raises is a bug of ours, and one cell's."""
        prompt, task = self.batch.shape.prompts[cell.prompt], asyncio.current_task()
        is_sent = False

        def on_sent() -> None:
            nonlocal is_sent
            if not self.parts.is_ours():
                self._is_lost = True
                self.fail(TakenOverError("it was stopped for so long that others may ask its providers"))
                raise NotOursError("another worker may ask this provider by now")
            if not is_sent:
                is_sent = True
                self.parts.on_asked(cell.number)
                self.keeper.sent((lane.key, ALL), self.clock.now())
                self._wakes.touch(lane.key)

        if task is not None:
            self._calls.append((self.clock.now(), task))
        try:
            return await lane.provider.query(cell.domain, prompt, on_sent=on_sent), is_sent
        except asyncio.CancelledError:
            if task not in self._given_up:
                raise
            self._given_up.discard(task)
            took = self.parts.timeout + GRACE
            return Answer(outcome=Outcome.TIMEOUT, took=took, detail="given up by the run"), is_sent
        except Exception as error:  # noqa: BLE001  a fault of ours costs one cell, not the batch
            self._note_bug(lane.model, error)
            return Answer(outcome=Outcome.BUG, detail=type(error).__name__), is_sent

    def _note_bug(self, model: str, error: Exception) -> None:
        """Once for each place: thousands of cells may meet the same."""
        stack = short_stack(error)
        if stack not in self._bugs:
            self._bugs.add(stack)
            self._note("bug", model, Reason("stack", note=f"{type(error).__name__}: {stack}"))

    def _tell_lane(self, lane: KeyLane, answer: Answer, end: Done | Again | PutBack, now: datetime) -> None:
        """The lane learns how the call ended, and at which pace it goes on."""
        wait = answer.retry_after or hold(answer.allowance, lane.tempo.pace.tokens_each)
        if isinstance(end, PutBack) and end.hold is not None:
            wait = end.hold
        self.shared.answered(lane.key, answer.outcome, now)
        verdict = MEANING[answer.outcome].lane_verdict
        for key, reason in self.keeper.finish((lane.key, ALL), ok=verdict, now=now, retry_after=wait):
            self._note("breaker", key, reason)
        if lane.tempo.hear(answer, now):
            self.keeper.tune(lane.key, lane.tempo.policy)
        if isinstance(end, PutBack) and end.hold is None:
            self._block(lane, end.reason)

    def _block(self, lane: KeyLane, reason: Reason) -> None:
        if not lane.is_blocked:
            for peer in lane.peers:
                peer.is_blocked = True
            self._note("key_refused", lane.key, reason)

    def _end_cell(self, lane: KeyLane, cell: Cell, end: Done | Again | PutBack, call: Call) -> None:
        match end:
            case Again(at=at):
                lane.count.retries += 1
                cell.attempt += 1
                lane.stream.again(cell, at)
            case PutBack():
                lane.stream.put_back(cell)
            case Done():
                lane.count.parked += call.answer.outcome is not Outcome.OK
                self.writer.row(row_of(self.batch, cell, call, self.parts.judge))
                self._look_for_one_error(lane, call.answer)

    def _look_for_one_error(self, lane: KeyLane, answer: Answer) -> None:
        """A provider that answers nothing but one error is asked no more: its other cells wait for a resume."""
        lane.count.streak = heard(lane.count.streak, answer.outcome, answer.detail)
        reason = stop_for(lane.count.streak)
        if reason is None or lane.is_stopped:
            return
        for other in self.lanes.all:
            other.is_stopped |= other.model == lane.model
        self._note("provider_stopped", lane.model, reason)

    async def _feed(self, lanes: Sequence[KeyLane]) -> None:
        """Lease cells of one stream ahead of its lanes."""
        stream: CellStream = lanes[0].stream
        while not stream.is_walked:
            await stream.hungry.wait()
            stream.hungry.clear()
            cells = await stream.load(self.parts.log, sum(lane.prefetch for lane in lanes))
            if cells:
                await self.writer.lease([cell.number for cell in cells])
            held = await self.shared.claim(cells, self.batch.shape.models)
            stream.accept([cell for cell in cells if cell not in held] if held else cells)
            for cell in held:
                stream.unhold()
                stream.again(cell, self.clock.now() + RECLAIM)
            for lane in lanes:
                self._wakes.touch(lane.key)

    async def _listen(self) -> None:
        """The kill switch, and a word about the progress."""
        while True:
            if await self.parts.log.is_stopped(self.batch.id):
                self.stop("killed")
            self.writer.tick()
            now = self.clock.now()
            self._give_up(now - self.parts.timeout - GRACE)
            self.shared.tick(lambda: self.lanes.circuits(self.clock.now()), now)
            if self.shared.is_away and not self._told_away:
                self._told_away = True
                away = Reason("redis_away", note="the batch goes on without it")
                self._note("redis_away", self.batch.id, away)
            await asyncio.sleep(LISTEN.total_seconds())

    def _give_up(self, began_before: datetime) -> None:
        """On calls that their adapter should have ended long ago.  One timer per call would cost more than the rule."""
        while self._calls and (self._calls[0][1].done() or self._calls[0][0] < began_before):
            _, task = self._calls.popleft()
            if not task.done():
                self._given_up.add(task)
                task.cancel()

    def _how_complete(self) -> str:
        """How complete a batch is that nothing stopped."""
        is_whole = self._dropped_from is None and self.lanes.has_asked_all(self.batch.shape.models)
        return COMPLETE if is_whole else INCOMPLETE

    def _on_written(self, rows: Sequence[CellRow]) -> None:
        self._settled += len(rows)
        self._answered += sum(1 for row in rows if row.outcome is Outcome.OK)
        self.shared.written(rows)
        self._wakes.news.set()

    def _on_spent_elsewhere(self, usd: float) -> None:
        """Another run of the same batch spent so much: the ceiling is one."""
        self._budget = money.settle(self._budget, 0.0, usd)
        if self._budget.most is not None:
            self._on_news(None)

    def _on_news(self, key: LaneKey | None) -> None:
        for lane in self.lanes.by_key if key is None else (key,):
            self._wakes.touch(lane)

    def _on_settled_elsewhere(self, cell: Cell) -> None:
        """Another run has written its row meanwhile: it counts there, and is not asked again."""
        self.writer.release([cell.number])

    def _on_side_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    def _note(self, action: str, subject: str, reason: Reason) -> None:
        note = PanelNote(at=self.parts.wall(self.clock.now()), action=action, subject=subject, reason=reason)
        self.writer.note(note)
        self.parts.on_note(note)
