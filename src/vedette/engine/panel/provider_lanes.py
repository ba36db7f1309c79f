"""The lanes of a batch: one per key of a provider, with what is believed about it and what has happened in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from vedette.contracts.lane import LanePolicy
from vedette.contracts.panel_run import (
    Answer,
    Batch,
    Board,
    Cell,
    CellNumber,
    CellRow,
    PanelLog,
    PanelNote,
    Price,
    Prompt,
    Provider,
    ProviderResp,
    ProviderTally,
)
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.lanes import lane as rule
from vedette.core.lanes.outcomes import RetryParams
from vedette.core.panel.cell_end import RETRIES, Streak
from vedette.core.panel.deadline import STOPPED, Load
from vedette.core.panel.models import is_failure
from vedette.core.panel.pace import Heard, Latencies, Pace, PaceParams, begin, heard, policy_of
from vedette.engine.panel.cells import CellStream
from vedette.lanes import LaneKeeper

_ZERO = timedelta(0)
_ORDER = (STOPPED, *rule.CONDITIONS)
# A provider's breaker: a share of failures over a window or five in a row, probes every 15 to 60 s (spec 003).
PROVIDER_LANE = LanePolicy(
    gap_min=_ZERO,
    gap_max=_ZERO,
    per_minute=0.0,
    trips_after=5,
    trip_share=0.5,
    trip_window=20,
    closed_for=timedelta(seconds=15),
    closed_most=timedelta(seconds=60),
)

_THROTTLED = frozenset((Outcome.THROTTLED, Outcome.OVERLOADED))
MOST_AHEAD = 256  # cells leased ahead of one key; bounds memory, and what a kill makes us ask again

Judged = tuple[str | None, Mapping[str, float]]  # quality flag, scores


class Judge(Protocol):
    """What an answer is worth, and what can be counted in it."""

    def __call__(self, model: str, domain: str, prompt: Prompt, resp: ProviderResp) -> Judged: ...


def unjudged(model: str, domain: str, prompt: Prompt, resp: ProviderResp) -> Judged:
    """The provider's own flag, no scores."""
    return (resp.quality_flag.value if resp.quality_flag else None), {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySetup:
    """One key of one provider.  Models that share a limit share the lane; its name never holds the key itself."""

    model: str
    lane: LaneKey
    provider: Provider
    pace: PaceParams = field(default_factory=PaceParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelParts:
    """What a run moves values between."""

    clock: Clock
    keeper: LaneKeeper
    log: PanelLog
    keys: tuple[KeySetup, ...]
    prices: Mapping[str, Price] = field(default_factory=dict)
    judge: Judge = unjudged
    chunk_size: int = 500
    timeout: timedelta = timedelta(seconds=15)  # PROVIDER_TIMEOUT_MS
    retry: RetryParams = RETRIES
    is_resumed: bool = False
    lane: LanePolicy = PROVIDER_LANE
    board: Board | None = None  # what other runs that use the same keys share with this one
    latencies: Mapping[str, Latencies] = field(default_factory=dict)  # of earlier runs of the batch, by model
    is_allotted: bool = False  # dollars come in parts, with what is written
    is_ours: Callable[[], bool] = lambda: True  # False: another worker may ask these providers by now
    on_asked: Callable[[CellNumber], None] = lambda cell: None  # its question is on the line
    on_note: Callable[[PanelNote], None] = lambda note: None  # a decision of the run, as it is made
    wall: Callable[[datetime], datetime] = lambda at: (
        at
    )  # a time of `clock` as the wall clock shows it, for rows


@dataclass(slots=True)
class CallCount:
    """Of one provider, all its keys together.  Calls, not cells: a cell that was asked twice counts twice."""

    model: str
    calls: int = 0
    ok: int = 0
    throttled: int = 0
    errors: int = 0
    failed: int = 0
    retries: int = 0
    parked: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    under_way: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    streak: Streak = field(default_factory=Streak)  # of cells that ended with the same error

    def add(self, answer: Answer, cost: float) -> None:
        self.calls += 1
        self.tokens_in += answer.tokens_in
        self.tokens_out += answer.tokens_out
        self.cost_usd += cost
        self.failed += is_failure(answer.outcome) is True
        if answer.outcome is Outcome.OK:
            self.ok += 1
            self.latencies.add(answer.took.total_seconds() * 1000)
        elif answer.outcome in _THROTTLED:
            self.throttled += 1
        else:
            self.errors += 1

    def told(self, *, breaker: str, per_minute: float, at_once: int) -> ProviderTally:
        return ProviderTally(
            model=self.model,
            calls=self.calls,
            ok=self.ok,
            throttled=self.throttled,
            errors=self.errors,
            failed=self.failed,
            retries=self.retries,
            parked=self.parked,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd,
            p50_ms=self.latencies.quantile(0.50),
            p95_ms=self.latencies.quantile(0.95),
            p99_ms=self.latencies.quantile(0.99),
            under_way=self.under_way,
            breaker=breaker,
            per_minute=per_minute,
            at_once=at_once,
        )


@dataclass(slots=True)
class Tempo:
    """What is believed about a lane, by all models that are asked through it."""

    params: PaceParams
    pace: Pace
    policy: LanePolicy
    under_way: int = 0

    def hear(self, answer: Answer, now: datetime) -> bool:
        """Learn from an answer.  True: the lane's policy is another one now."""
        news = Heard(
            outcome=answer.outcome,
            took=answer.took,
            allowance=answer.allowance,
            tokens=answer.tokens_in + answer.tokens_out,
            was_full=self.under_way >= self.pace.at_once,
        )
        self.pace = heard(self.pace, self.params, news, now)
        before, self.policy = self.policy, policy_of(self.pace, self.policy)
        return before is not self.policy


@dataclass(slots=True, eq=False)
class KeyLane:
    """One model asked by one key."""

    key: LaneKey
    provider: Provider
    model: str
    stream: CellStream
    count: CallCount
    tempo: Tempo
    peers: deque[KeyLane]  # all that go through this lane, itself too, in turn
    is_blocked: bool = False
    is_stopped: bool = False  # the model answers nothing but one error

    @property
    def is_shut(self) -> bool:
        """Nothing is asked through it any more in this run."""
        return self.is_blocked or self.is_stopped

    @property
    def prefetch(self) -> int:
        """Cells that are leased ahead: what the lane starts in five seconds, within bounds."""
        pace = self.tempo.pace
        return min(MOST_AHEAD, max(8, 2 * pace.at_once, round(pace.per_minute / 12)))


class ProviderLanes:
    """All lanes of a batch, and how each provider does by them."""

    def __init__(self, batch: Batch, parts: PanelParts) -> None:
        self._keeper = parts.keeper
        self.all = _lanes_of(batch, parts)
        self.by_key = {lane.key: lane.peers for lane in self.all}
        groups: dict[int, list[KeyLane]] = {}
        for lane in self.all:
            groups.setdefault(lane.stream.model, []).append(lane)
        self.by_stream = tuple(groups.values())

    @property
    def streams(self) -> list[CellStream]:
        return [lanes[0].stream for lanes in self.by_stream]

    def is_done(self) -> bool:
        """Nothing is left to ask, or nobody is left to be asked."""
        return all(
            lanes[0].stream.is_empty or all(lane.is_shut for lane in lanes) for lanes in self.by_stream
        )

    def has_asked_all(self, models: Iterable[str]) -> bool:
        return all(lane.stream.is_empty for lane in self.all) and {lane.model for lane in self.all} >= set(
            models
        )

    def loads(self) -> list[Load]:
        """What each provider has to ask, at the pace of its keys that are not refused."""
        return [_load(lanes) for lanes in self.by_stream]

    def tallies(self, now: datetime) -> tuple[ProviderTally, ...]:
        return tuple(
            lanes[0].count.told(
                breaker=min((self._condition(lane, now) for lane in lanes), key=_ORDER.index),
                per_minute=sum(lane.tempo.pace.per_minute for lane in lanes),
                at_once=sum(lane.tempo.pace.at_once for lane in lanes),
            )
            for lanes in self.by_stream
        )

    def circuits(self, now: datetime) -> dict[LaneKey, tuple[str, timedelta]]:
        """How each lane does, and for how long still."""
        told: dict[LaneKey, tuple[str, timedelta]] = {}
        for lane in self.all:
            state = self._keeper.state(lane.key)
            word = rule.BLOCKED if lane.is_blocked else rule.condition(state, now)
            told[lane.key] = word, (state.closed_until or now) - now
        return told

    def _condition(self, lane: KeyLane, now: datetime) -> str:
        """The best of the provider's keys speaks for it; a provider is stopped with all its keys."""
        if lane.is_stopped:
            return STOPPED
        return rule.BLOCKED if lane.is_blocked else rule.condition(self._keeper.state(lane.key), now)


def _load(lanes: Sequence[KeyLane]) -> Load:
    rate = sum(lane.tempo.pace.per_minute / len(lane.peers) for lane in lanes if not lane.is_shut)
    return Load(lanes[0].stream.waiting(), 60 / rate if rate else 0.0)


def _lanes_of(batch: Batch, parts: PanelParts) -> list[KeyLane]:
    """Every key with the stream of its model; the policy is the provider's, at the pace it begins with."""
    lanes: list[KeyLane] = []
    tempos: dict[LaneKey, tuple[Tempo, deque[KeyLane]]] = {}
    for number, model in enumerate(batch.shape.models):
        stream = CellStream(batch, number, chunk_size=parts.chunk_size, is_resumed=parts.is_resumed)
        count = CallCount(model, latencies=parts.latencies.get(model) or Latencies())
        for setup in (one for one in parts.keys if one.model == model):
            if setup.lane not in tempos:
                pace = begin(setup.pace)
                tempos[setup.lane] = Tempo(setup.pace, pace, policy_of(pace, parts.lane)), deque()
                parts.keeper.tune(setup.lane, tempos[setup.lane][0].policy)
            tempo, peers = tempos[setup.lane]
            lane = KeyLane(setup.lane, setup.provider, model, stream, count, tempo, peers)
            peers.append(lane)
            lanes.append(lane)
    return lanes


@dataclass(frozen=True, slots=True)
class Call:
    """A call that ended."""

    answer: Answer
    cost: float
    at: datetime


def row_of(batch: Batch, cell: Cell, call: Call, judge: Judge) -> CellRow:
    """How the cell ended, for the store."""
    answer = call.answer
    prompt = batch.shape.prompts[cell.prompt]
    resp = answer.resp if answer.outcome is Outcome.OK else None
    model = batch.shape.models[cell.model]
    flag, scores = judge(model, cell.domain, prompt, resp) if resp is not None else (None, {})
    return CellRow(
        cell=cell.number,
        domain_id=cell.domain_id,
        domain=cell.domain,
        model=model,
        prompt_type=prompt.prompt_type,
        prompt_version=prompt.version,
        prompt=prompt.text.replace("{domain}", cell.domain),
        repeat=cell.repeat,
        outcome=answer.outcome,
        at=call.at,
        text=resp.text if resp is not None else None,
        response_time_ms=round(answer.took.total_seconds() * 1000),
        retry_count=cell.attempt - 1,
        quality_flag=flag,
        scores=scores,
        meta=resp.meta if resp is not None else {},
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        cost_usd=call.cost,
        detail=answer.detail,
    )
