"""One batch from its first call to its last row.

A lane is looked at when something about it changed: a call ended, its time came, cells were leased.  A call starts
when its lane and `all` say Go and the budget allows it.  Deadlines, the budget and the kill switch stop new calls;
what is under way ends.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.lane import LaneState, Wait
from vedette.contracts.panel import Answer
from vedette.contracts.panel_run import Batch, Cell, CellRow, PanelNote, Progress, ProviderTally
from vedette.contracts.words import LaneKey, Outcome, Reason
from vedette.core.lanes import lane as rule
from vedette.core.lanes.outcomes import MEANING
from vedette.core.lanes.retry import Failure
from vedette.core.panel import cost as money
from vedette.core.panel import deadline
from vedette.core.panel.deadline import COMPLETE, INCOMPLETE, STOPPED
from vedette.core.panel.ending import Again, Done, PutBack, ending, heard
from vedette.core.panel.ending import stop as stop_for
from vedette.core.panel.pace import hold
from vedette.engine.panel.provider_lanes import Call, KeyLane, PanelParts, lanes_of, row_of
from vedette.engine.panel.run_sharing import RECLAIM, RunSharing
from vedette.engine.panel.writer import GroupWriter
from vedette.lanes.keeper import ALL

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
        self.lanes = lanes_of(batch, parts)
        self.writer = GroupWriter(
            parts.log, batch.id, parts.clock, parts.keeper.take_dirty, lambda: self.progress()
        )
        self.writer.on_written, self.writer.on_spent = self._on_written, self._on_spent_elsewhere
        self.on_rows: Callable[[Sequence[CellRow]], None] = lambda rows: None
        self.on_note: Callable[[PanelNote], None] = lambda note: None
        self.shared = RunSharing(parts.board, batch.id, parts.clock, parts.log)
        self.shared.on_news, self.shared.on_settled = self._on_news, self._on_settled_elsewhere
        self.shared.on_error = self._on_error
        self._purse = money.CostBudget(ceiling=batch.budget_usd, spent=batch.spent_usd)
        self._deadlines = deadline.Deadlines(target_at=batch.target_at, hard_at=batch.hard_at)
        self._dropped_from = batch.dropped_from
        self._looked_at: datetime | None = None  # at the tiers, after the soft cut
        self._wake = asyncio.Event()
        self._ready: deque[KeyLane] = deque()
        self._crowd: deque[KeyLane] = deque()  # lanes that could start if `all` had room, in order
        self._poor: list[KeyLane] = []  # and those that could if calls under way cost less than they may
        self._timers: list[tuple[datetime, int, KeyLane]] = []
        self._under_way: set[asyncio.Task[None]] = set()
        self._started: deque[tuple[datetime, asyncio.Task[None]]] = deque()
        self._given_up: set[asyncio.Task[None]] = set()
        self._stopped_by = ""
        self._error: BaseException | None = None
        self._settled = self._answered = 0
        self._told_away = False

    def stop(self, word: str) -> None:
        """Nothing starts any more; what is under way ends."""
        if not self._stopped_by:
            self._stopped_by = word
            self._note("stop", self.batch.id, Reason(word))
            self._wake.set()

    async def run(self) -> BatchEnd:
        """Until every cell has its row, or something stops it."""
        side = [asyncio.create_task(self._listen())]
        side += [asyncio.create_task(self._feed(lanes[0], lanes)) for lanes in self._by_stream()]
        writing = asyncio.create_task(self.writer.run())
        writing.add_done_callback(self._on_writer_end)
        for lane in self.lanes:
            lane.stream.hungry.set()
        try:
            while not self._is_over():
                self._wake.clear()
                self._step(self.clock.now())
                if not self._is_over():
                    await self.clock.pause(self._wake, self._next_at(), is_busy=bool(self._under_way))
        finally:
            for task in (*side, *self._under_way):
                task.cancel()
            self.writer.close()
            await asyncio.gather(*side, writing, self.shared.close(), return_exceptions=True)
        by = "failed" if self._error else self._stopped_by or self._how_complete()
        return BatchEnd(by=by, progress=self.progress(), error=self._error)

    def progress(self) -> Progress:
        """How far it has come, for people and for the store."""
        now = self.clock.now()
        loads = [self._load(lanes) for lanes in self._by_stream()]
        return Progress(
            at=self.parts.wall(now),
            settled=self._settled,
            answered=self._answered,
            under_way=len(self._under_way),
            waiting=sum(sum(load.waiting.values()) for load in loads),
            spent_usd=self._purse.spent,
            dropped_from=self._dropped_from,
            eta=self.parts.wall(deadline.eta(loads, now)),
            providers=tuple(self._told(lanes, now) for lanes in self._by_stream()),
        )

    def _step(self, now: datetime) -> None:
        """Everything that can start now starts."""
        if (over := deadline.stop(self._deadlines, now)) is not None:
            self.stop(over.code)
        self._cut(now)
        while self._timers and self._timers[0][0] <= now:
            at, _, lane = heapq.heappop(self._timers)
            if lane.wake_at == at:
                lane.wake_at = None
                self._touch(lane)
        while not self._stopped_by and (ready := self._next_lane(now)) is not None:
            self._serve(ready, now)

    def _next_lane(self, now: datetime) -> KeyLane | None:
        """Who stood in line for `all` goes first, whenever there is room."""
        if self._crowd and self._has_room(now):
            return self._crowd.popleft()
        while self._ready:
            lane = self._ready.popleft()
            lane.is_ready = False
            if lane not in self._crowd:
                return lane
        return None

    def _has_room(self, now: datetime) -> bool:
        return not self.writer.is_behind and not isinstance(self.keeper.ask((ALL,), now), Wait)

    def _serve(self, lane: KeyLane, now: datetime) -> None:
        """Start calls of one lane while it, `all`, the budget and the disk allow it."""
        while not lane.is_shut and not self._stopped_by:
            answer = self.keeper.ask((lane.key,), now)
            if not isinstance(answer, Wait):
                answer = self.shared.ask(lane, now)
            if isinstance(answer, Wait):
                self._wait(lane, answer)
                return
            if not self._has_room(now):
                self._crowd.append(lane)
                return
            state = self.keeper.state(lane.key)
            is_ill = state.failures > 0 or state.closed_until is not None
            cell = lane.stream.take(now, want=lane.prefetch, prefers_fresh=is_ill)
            if cell is None:
                self._wake_later(lane, lane.stream.next_at())
                return
            if cell.number in self.shared.foreign:
                self.shared.reclaim(lane, cell)
            elif not self._start(lane, cell, now):
                return

    def _start(self, lane: KeyLane, cell: Cell, now: datetime) -> bool:
        price = self.parts.prices.get(lane.model)
        most = money.most_cost(price, self.batch.shape.prompts[cell.prompt], len(cell.domain))
        if not money.may_spend(self._purse, most):
            lane.stream.put_back(cell)
            self._poor.append(lane)
            if not self._under_way:
                self.stop("budget_spent")
            return False
        self._purse = money.reserve(self._purse, most)
        self.keeper.start((lane.key, ALL), now)
        self.shared.started(lane.key)
        lane.tempo.under_way += 1
        lane.count.under_way += 1
        task = asyncio.create_task(self._call(lane, cell, most))
        self._under_way.add(task)
        task.add_done_callback(self._on_call_end)
        self._started.append((now, task))
        return True

    async def _call(self, lane: KeyLane, cell: Cell, most: float) -> None:
        """One call, from its start to what becomes of the cell."""
        answer, is_sent = await self._ask(lane, cell)
        now = self.clock.now()
        cost = self._cost(cell, answer, is_sent)
        self._purse = money.settle(self._purse, most, cost)
        failure = Failure(answer.outcome, cell.attempt, answer.retry_after)
        end = ending(failure, now=now, jitter=self.clock.chance(), params=self.parts.retry)
        self._tell_lane(lane, answer, end, now)
        lane.tempo.under_way -= 1
        lane.count.under_way -= 1
        lane.count.add(answer, cost)
        self._end_cell(lane, cell, end, Call(answer, cost, self.parts.wall(now)))
        for peer in lane.peers:
            self._touch(peer)

    def _cost(self, cell: Cell, answer: Answer, is_sent: bool) -> float:
        end = money.CallEnd(
            is_answered=answer.outcome is Outcome.OK,
            has_text=answer.resp is not None and bool(answer.resp.text.strip()),
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            status=answer.status,
            is_sent=is_sent,
        )
        price = self.parts.prices.get(self.batch.shape.models[cell.model])
        return money.cost_of_call(price, self.batch.shape.prompts[cell.prompt], len(cell.domain), end)

    async def _ask(self, lane: KeyLane, cell: Cell) -> tuple[Answer, bool]:
        """How it ended, and whether it went out.  Whatever an adapter raises is a bug of ours, and one cell's."""
        prompt = self.batch.shape.prompts[cell.prompt]
        is_sent = False

        def on_sent() -> None:
            nonlocal is_sent
            if not is_sent:
                is_sent = True
                self.parts.on_asked(cell.number)
                self.keeper.sent((lane.key, ALL), self.clock.now())
                for peer in lane.peers:
                    self._touch(peer)
                self._wake.set()

        try:
            return await lane.provider.query(cell.domain, prompt, on_sent=on_sent), is_sent
        except asyncio.CancelledError:
            if asyncio.current_task() not in self._given_up:
                raise
            took = self.parts.timeout + GRACE
            return Answer(outcome=Outcome.TIMEOUT, took=took, detail="given up by the run"), is_sent
        except Exception as error:  # noqa: BLE001  a fault of ours costs one cell, not the batch
            return Answer(outcome=Outcome.BUG, detail=type(error).__name__), is_sent

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
        if isinstance(end, PutBack) and end.hold is None and not lane.is_blocked:
            for peer in lane.peers:
                peer.is_blocked = True
            self._note("key_refused", lane.key, end.reason)

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
        for other in self.lanes:
            other.is_stopped |= other.model == lane.model
        self._note("provider_stopped", lane.model, reason)

    def _cut(self, now: datetime) -> None:
        """After the soft cut, once a minute: do tiers have to go?"""
        if self._stopped_by or now < self._deadlines.target_at:
            return
        if self._looked_at is not None and now < self._looked_at + deadline.AGAIN:
            return
        is_first, self._looked_at = self._looked_at is None, now
        loads = [self._load(lanes) for lanes in self._by_stream()]
        for drop in deadline.drops(self._deadlines, loads, now, is_first_look=is_first):
            self._dropped_from = drop.tier
            for lane in self._firsts():
                self.writer.release(lane.stream.drop_from(drop.tier))
            self._note("tier_dropped", f"tier {drop.tier}", drop.reason)

    async def _feed(self, first: KeyLane, lanes: list[KeyLane]) -> None:
        """Lease cells of one stream ahead of its lanes."""
        stream = first.stream
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
                self._touch(lane)
            self._wake.set()

    async def _listen(self) -> None:
        """The kill switch, and a word about the progress."""
        while True:
            if await self.parts.log.is_stopped(self.batch.id):
                self.stop("killed")
            self.writer.tick()
            now = self.clock.now()
            self._give_up(now - self.parts.timeout - GRACE)
            self.shared.tick(self._circuits, now)
            self._tell_weather()
            await asyncio.sleep(LISTEN.total_seconds())

    def _give_up(self, started_before: datetime) -> None:
        """On calls that their adapter should have ended long ago.  One timer per call would cost more than the rule."""
        while self._started and (self._started[0][1].done() or self._started[0][0] < started_before):
            _, task = self._started.popleft()
            if not task.done():
                self._given_up.add(task)
                task.cancel()

    def _tell_weather(self) -> None:
        """Of the board, once."""
        if self.shared.is_away and not self._told_away:
            self._told_away = True
            self._note("redis_away", self.batch.id, Reason("redis_away", note="the batch goes on without it"))

    def _circuits(self) -> dict[LaneKey, tuple[str, timedelta]]:
        """How each lane does, and for how long still."""
        now = self.clock.now()
        told: dict[LaneKey, tuple[str, timedelta]] = {}
        for lane in self.lanes:
            state = self.keeper.state(lane.key)
            word = rule.BLOCKED if lane.is_blocked else rule.condition(state, now)
            told[lane.key] = word, (state.closed_until or now) - now
        return told

    def _touch(self, lane: KeyLane) -> None:
        if not lane.is_ready:
            lane.is_ready = True
            self._ready.append(lane)

    def _wait(self, lane: KeyLane, answer: Wait) -> None:
        """A lane that the operator blocked is not waited for: only they can open it."""
        if answer.reason.code == "lane_blocked":
            lane.is_blocked = True
            self._note("key_refused", lane.key, answer.reason)
        self._wake_later(lane, answer.until)

    def _wake_later(self, lane: KeyLane, at: datetime | None) -> None:
        """At most one timer per lane that counts; None: something else will touch it."""
        if at is not None and (lane.wake_at is None or at < lane.wake_at):
            lane.wake_at = at
            heapq.heappush(self._timers, (at, id(lane), lane))

    def _next_at(self) -> datetime:
        """When there is something to do although nothing happens."""
        limits = [self._deadlines.hard_at, self._deadlines.target_at]
        if self._looked_at is not None:
            limits[1] = self._looked_at + deadline.AGAIN
        if self._timers:
            limits.append(self._timers[0][0])
        now = self.clock.now()
        return min((at for at in limits if at > now), default=now + LISTEN)

    def _is_over(self) -> bool:
        if self._error is not None:
            return True
        if self._under_way:
            return False
        return bool(self._stopped_by) or all(self._is_done(lanes) for lanes in self._by_stream())

    def _how_complete(self) -> str:
        """Nothing stopped it: was everything asked?"""
        is_whole = self._dropped_from is None and all(lane.stream.is_empty for lane in self.lanes)
        return COMPLETE if is_whole and self._has_all_models() else INCOMPLETE

    def _has_all_models(self) -> bool:
        return {lane.model for lane in self.lanes} >= set(self.batch.shape.models)

    def _is_done(self, lanes: list[KeyLane]) -> bool:
        return lanes[0].stream.is_empty or all(lane.is_shut for lane in lanes)

    def _load(self, lanes: list[KeyLane]) -> deadline.Load:
        """What a provider has to ask, at the pace of its keys that are not refused."""
        rate = sum(lane.tempo.pace.per_minute / len(lane.peers) for lane in lanes if not lane.is_shut)
        return deadline.Load(lanes[0].stream.waiting(), 60 / rate if rate else 0.0)

    def _told(self, lanes: list[KeyLane], now: datetime) -> ProviderTally:
        states = [self.keeper.state(lane.key) for lane in lanes]
        return lanes[0].count.told(
            breaker=_breaker(lanes, states, now),
            per_minute=sum(lane.tempo.pace.per_minute for lane in lanes),
            at_once=sum(lane.tempo.pace.at_once for lane in lanes),
        )

    def _by_stream(self) -> list[list[KeyLane]]:
        groups: dict[int, list[KeyLane]] = {}
        for lane in self.lanes:
            groups.setdefault(lane.stream.model, []).append(lane)
        return list(groups.values())

    def _firsts(self) -> list[KeyLane]:
        return [lanes[0] for lanes in self._by_stream()]

    def _on_call_end(self, task: asyncio.Task[None]) -> None:
        """Not before the task is over: the last call that ends must not be counted as under way."""
        self._under_way.discard(task)
        self._given_up.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = error
        while self._poor:
            self._touch(self._poor.pop())
        self._wake.set()

    def _on_written(self, rows: Sequence[CellRow]) -> None:
        self._settled += len(rows)
        self._answered += sum(1 for row in rows if row.outcome is Outcome.OK)
        self._wake.set()
        self.shared.written(rows)
        self.on_rows(rows)

    def _on_spent_elsewhere(self, usd: float) -> None:
        """Another run of the same batch spent so much: the ceiling is one."""
        self._purse = money.settle(self._purse, 0.0, usd)

    def _on_news(self, key: LaneKey | None) -> None:
        for lane in self.lanes:
            if key is None or lane.key == key:
                self._touch(lane)
        self._wake.set()

    def _on_settled_elsewhere(self, cell: Cell) -> None:
        """Another run has written its row meanwhile: it counts there, and is not asked again."""
        self.writer.release([cell.number])

    def _on_writer_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)

    def _on_error(self, error: BaseException) -> None:
        self._error = error
        self._wake.set()

    def _note(self, action: str, subject: str, reason: Reason) -> None:
        note = PanelNote(at=self.parts.wall(self.clock.now()), action=action, subject=subject, reason=reason)
        self.writer.note(note)
        self.on_note(note)


def _breaker(lanes: list[KeyLane], states: list[LaneState], now: datetime) -> str:
    """The best of the provider's keys speaks for it."""
    if lanes[0].is_stopped:
        return STOPPED
    words = [
        rule.BLOCKED if lane.is_blocked else rule.condition(s, now)
        for lane, s in zip(lanes, states, strict=True)
    ]
    return min(words, key=rule.CONDITIONS.index)
