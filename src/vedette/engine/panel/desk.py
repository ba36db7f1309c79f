"""The lanes of a batch: one per key of a provider, with what is believed about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.lane import LanePolicy
from vedette.contracts.panel import Answer, Prompt, Provider
from vedette.contracts.panel_run import Batch, Cell, CellRow, PanelLog, Price
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.panel.ending import RETRIES
from vedette.core.panel.pace import Heard, Pace, PaceParams, begin, heard, policy_of
from vedette.core.retry import RetryParams
from vedette.engine.panel.stream import Stream
from vedette.engine.panel.tally import Count
from vedette.lanes import LaneKeeper

_ZERO = timedelta(0)
# A provider's breaker: a share of failures over a window or five in a row, probes every 15 to 60 s (003).
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

Judge = Callable[[str, Prompt, Answer], tuple[str | None, Mapping[str, float]]]  # domain, prompt, answer


def unjudged(domain: str, prompt: Prompt, answer: Answer) -> tuple[str | None, Mapping[str, float]]:
    """The provider's own flag, no scores."""
    flag = answer.resp.quality_flag if answer.resp is not None else None
    return (flag.value if flag else None), {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySetup:
    """One key of one provider.  `name` tells the keys of a provider apart and is never the key itself."""

    model: str
    name: str
    provider: Provider
    pace: PaceParams = field(default_factory=PaceParams)

    @property
    def lane(self) -> LaneKey:
        return LaneKey(f"provider:{self.model}/{self.name}")


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


@dataclass(slots=True, eq=False)
class KeyLane:
    """A lane at work."""

    setup: KeySetup
    stream: Stream
    count: Count
    pace: Pace
    policy: LanePolicy
    under_way: int = 0
    is_blocked: bool = False
    is_ready: bool = False
    wake_at: datetime | None = None
    key: LaneKey = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.setup.lane

    @property
    def prefetch(self) -> int:
        """Cells that are leased ahead: what the lane starts in a few seconds."""
        return max(8, 2 * self.pace.at_once, round(self.pace.per_minute / 12))

    def hear(self, answer: Answer, now: datetime) -> bool:
        """Learn from an answer.  True: the lane's policy is another one now."""
        news = Heard(
            outcome=answer.outcome,
            took=answer.took,
            allowance=answer.allowance,
            tokens=answer.tokens_in + answer.tokens_out,
            was_full=self.under_way >= self.pace.at_once,
        )
        self.pace = heard(self.pace, self.setup.pace, news, now)
        before, self.policy = self.policy, policy_of(self.pace, self.policy)
        return before is not self.policy


def lanes_of(batch: Batch, parts: PanelParts) -> list[KeyLane]:
    """Every key with the stream of its model; the policy is the provider's, at the pace it begins with."""
    lanes: list[KeyLane] = []
    for number, model in enumerate(batch.shape.models):
        stream = Stream(batch, number, chunk_size=parts.chunk_size, is_resumed=parts.is_resumed)
        count = Count(model)
        for setup in parts.keys:
            if setup.model == model:
                pace = begin(setup.pace)
                policy = policy_of(pace, PROVIDER_LANE)
                parts.keeper.tune(setup.lane, policy)
                lanes.append(KeyLane(setup, stream, count, pace, policy))
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
    flag, scores = judge(cell.domain, prompt, answer) if resp is not None else (None, {})
    return CellRow(
        cell=cell.number,
        domain_id=cell.domain_id,
        domain=cell.domain,
        model=batch.shape.models[cell.model],
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
