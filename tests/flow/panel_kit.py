"""A panel without a network: providers in memory with scripted weather, a log in memory, time that jumps."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from vedette.contracts.lane import LanePolicy, LaneState
from vedette.contracts.panel_run import (
    Allowance,
    Answer,
    Batch,
    BatchId,
    BatchShape,
    CellRow,
    PanelGroup,
    PanelNote,
    Progress,
    Prompt,
    ProviderResp,
)
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.panel.pace import PaceParams
from vedette.engine.panel.loop import BatchEnd, PanelEngine
from vedette.engine.panel.provider_lanes import KeySetup, PanelParts
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import LanePolicies
from vedette.telemetry.clock import VirtualClock, VirtualLoop

START = datetime(2026, 11, 16, 6, 0, tzinfo=UTC)
ASK = Prompt(prompt_type="brand", text="What is {domain} known for?", most_tokens=100)
MINUTE = timedelta(minutes=1)

Weather = Callable[[float], Outcome | None]  # seconds since the start; None: fair


def fair(seconds: float) -> Outcome | None:
    return None


def down(first: float, last: float, outcome: Outcome = Outcome.SERVER_ERROR) -> Weather:
    """Nothing but this outcome between two moments."""
    return lambda seconds: outcome if first <= seconds < last else None


@dataclass
class ScriptedProvider:
    """One key of a provider: a sliding window of a minute, counted by the provider itself."""

    model: str
    limit: Callable[[float], float]  # requests a minute at that second
    latency: float = 2.0
    weather: Weather = fair
    says_limit: bool = False
    says_retry_after: bool = True
    tokens: int = 0
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    over: int = 0  # requests beyond the limit
    seen: int = 0
    seen_at: list[float] = field(default_factory=list)
    _window: deque[float] = field(default_factory=deque)

    def name(self) -> str:
        return self.model

    def supports_search_enhanced(self) -> bool:
        return False

    async def list_models(self) -> Sequence[str]:
        return (self.model,)

    async def query(
        self, domain: str, prompt: Prompt, *, on_sent: Callable[[], None] | None = None
    ) -> Answer:
        loop = asyncio.get_running_loop()
        if on_sent is not None:
            on_sent()
        begun = loop.time()
        self.seen += 1
        self.seen_at.append(begun)
        self.asked[domain, prompt.prompt_type] += 1
        outcome = self._admit(begun) or self.weather(begun)
        await asyncio.sleep(self.latency if outcome in (None, Outcome.TIMEOUT) else self.latency / 4)
        took = timedelta(seconds=loop.time() - begun)
        allowance = Allowance(requests_per_minute=self.limit(begun)) if self.says_limit else None
        if outcome is None:
            self.answered[domain, prompt.prompt_type] += 1
            resp = ProviderResp(
                text=f"{domain} is known for {prompt.prompt_type}", latency_ms=round(took / MINUTE * 60000)
            )
            return Answer(
                outcome=Outcome.OK,
                resp=resp,
                took=took,
                allowance=allowance,
                tokens_in=self.tokens,
                tokens_out=self.tokens,
            )
        wait = timedelta(seconds=5) if outcome is Outcome.THROTTLED and self.says_retry_after else None
        return Answer(outcome=outcome, took=took, allowance=allowance, retry_after=wait, detail="scripted")

    def _admit(self, now: float) -> Outcome | None:
        while self._window and self._window[0] <= now - 60 + 1e-6:
            self._window.popleft()
        if len(self._window) >= self.limit(now):
            self.over += 1
            return Outcome.THROTTLED
        self._window.append(now)
        return None


@dataclass
class MemoryLog:
    """As `PanelLog` promises, without a disk.  Refuses what the real one's unique key refuses."""

    names: Sequence[str]
    keeps_rows: bool = True
    rows: dict[int, CellRow] = field(default_factory=dict)
    leases: set[int] = field(default_factory=set)
    notes: list[PanelNote] = field(default_factory=list)
    progress: Progress | None = None
    lanes: dict[LaneKey, LaneState] = field(default_factory=dict)  # as the next run finds them
    groups: int = 0
    kill_at: float | None = None
    most_leases: int = 0

    async def domains(self, batch: BatchId, first: int, count: int) -> Sequence[tuple[str, str]]:
        return [(str(n), name) for n, name in enumerate(self.names[first : first + count], start=first)]

    async def settled(self, batch: BatchId, first: int, last: int) -> frozenset[int]:
        return frozenset(number for number in range(first, last) if number in self.rows)

    async def write(self, group: PanelGroup) -> None:
        await asyncio.sleep(0)
        self.groups += 1
        for row in group.rows:
            assert row.cell not in self.rows, f"cell {row.cell} has two rows"
            assert row.cell in self.leases, f"cell {row.cell} was asked without a lease"
            self.rows[row.cell] = row if self.keeps_rows else None  # type: ignore[assignment]
            self.leases.discard(row.cell)
        self.leases |= set(group.leases)
        self.leases -= set(group.released)
        self.most_leases = max(self.most_leases, len(self.leases))
        self.notes += group.notes
        self.lanes |= dict(group.lanes)
        self.progress = group.progress or self.progress

    async def is_stopped(self, batch: BatchId) -> bool:
        return self.kill_at is not None and asyncio.get_running_loop().time() >= self.kill_at


@dataclass
class Played:
    end: BatchEnd
    log: MemoryLog
    seconds: float
    engine: PanelEngine


class SteppedClock(VirtualClock):
    """A wall clock that is `ahead` of the true time, and is set by `step` after so many seconds of the loop."""

    def __init__(self, *, ahead: float = 0.0, step: float = 0.0, after: float = 0.0) -> None:
        super().__init__(START + timedelta(seconds=ahead))
        self._step, self._after = timedelta(seconds=step), after

    def now(self) -> datetime:
        is_set = asyncio.get_running_loop().time() >= self._after
        return super().now() + (self._step if is_set else timedelta(0))

    def stopwatch(self) -> Callable[[], timedelta]:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        return lambda: timedelta(seconds=loop.time() - begun)


def steady(per_minute: float) -> Callable[[float], float]:
    return lambda seconds: per_minute


def names(count: int) -> list[str]:
    return [f"d{n:05d}.example" for n in range(count)]


def batch_of(domains: int, models: Sequence[str], prompts: Sequence[Prompt] = (ASK,), **given: Any) -> Batch:
    shape = BatchShape(
        domains=domains, models=tuple(models), prompts=tuple(prompts), repeats=given.pop("repeats", 1)
    )
    times = {"target_at": START + timedelta(hours=1), "hard_at": START + timedelta(hours=2)}
    return Batch(id=BatchId("b1"), shape=shape, started_at=START, **{**times, **given})


def play(
    batch: Batch,
    keys: Sequence[KeySetup],
    *,
    log: MemoryLog | None = None,
    at_once: int = 96,
    lanes: dict[LaneKey, LaneState] | None = None,
    meanwhile: Callable[[PanelEngine], Any] | None = None,
    make_clock: Callable[[], Clock] = lambda: VirtualClock(START),
    **parts: Any,
) -> Played:
    """Run a batch in virtual time."""
    log = log or MemoryLog(names(batch.shape.domains))

    async def whole() -> Played:
        clock = make_clock()
        everything = LanePolicy(
            gap_min=timedelta(0), gap_max=timedelta(0), per_minute=0, at_once=at_once, trips_after=1_000_000
        )
        keeper = LaneKeeper(LanePolicies(named={"all": everything}), load=(lanes or {}).get, clock=clock)
        engine = PanelEngine(
            batch, PanelParts(clock=clock, keeper=keeper, log=log, keys=tuple(keys), **parts)
        )
        side = asyncio.create_task(meanwhile(engine)) if meanwhile else None
        end = await engine.run()
        if side:
            side.cancel()
        return Played(end, log, asyncio.get_running_loop().time(), engine)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(whole())


def key_of(
    provider: ScriptedProvider, per_minute: float | None = None, name: str = "k1", **pace: Any
) -> KeySetup:
    """A key that is configured with what its provider allows, unless told otherwise."""
    rate = provider.limit(0) if per_minute is None else per_minute
    return KeySetup(
        model=provider.model,
        lane=LaneKey(f"provider:{provider.model}/{name}"),
        provider=provider,
        pace=PaceParams(per_minute=rate, **pace),
    )
