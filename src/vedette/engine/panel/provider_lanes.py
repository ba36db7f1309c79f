"""The lanes of a batch: one per key of a provider, with what is believed about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from vedette.contracts.lane import LanePolicy
from vedette.contracts.panel import Answer, Prompt, Provider, ProviderResp
from vedette.contracts.panel_run import Batch, Board, Cell, CellNumber, CellRow, PanelLog, Price
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.lanes.retry import RetryParams
from vedette.core.panel.ending import RETRIES
from vedette.core.panel.pace import Heard, Latencies, Pace, PaceParams, begin, heard, policy_of
from vedette.engine.panel.batch_counts import Count
from vedette.engine.panel.cell_stream import CellStream
from vedette.lanes import LaneKeeper

_ZERO = timedelta(0)
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
    on_asked: Callable[[CellNumber], None] = lambda cell: None  # its question is on the line
    wall: Callable[[datetime], datetime] = lambda at: (
        at
    )  # a time of `clock` as the wall clock shows it, for rows


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
    count: Count
    tempo: Tempo
    peers: list[KeyLane]  # all that go through this lane, itself too
    is_blocked: bool = False
    is_stopped: bool = False  # the model answers nothing but one error
    is_ready: bool = False
    wake_at: datetime | None = None

    @property
    def is_shut(self) -> bool:
        """Nothing is asked through it any more in this run."""
        return self.is_blocked or self.is_stopped

    @property
    def prefetch(self) -> int:
        """Cells that are leased ahead: what the lane starts in five seconds, within bounds."""
        pace = self.tempo.pace
        return min(MOST_AHEAD, max(8, 2 * pace.at_once, round(pace.per_minute / 12)))


def lanes_of(batch: Batch, parts: PanelParts) -> list[KeyLane]:
    """Every key with the stream of its model; the policy is the provider's, at the pace it begins with."""
    lanes: list[KeyLane] = []
    tempos: dict[LaneKey, tuple[Tempo, list[KeyLane]]] = {}
    for number, model in enumerate(batch.shape.models):
        stream = CellStream(batch, number, chunk_size=parts.chunk_size, is_resumed=parts.is_resumed)
        count = Count(model, latencies=parts.latencies.get(model) or Latencies())
        for setup in (one for one in parts.keys if one.model == model):
            if setup.lane not in tempos:
                pace = begin(setup.pace)
                tempos[setup.lane] = Tempo(setup.pace, pace, policy_of(pace, parts.lane)), []
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
