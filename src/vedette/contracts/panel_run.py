"""One run of the panel: the cells of a batch, how each ended, and what was dropped.

A cell is one question to one model about one domain, asked once per repeat.  `batch_id`, `model` and
`prompt_type` are spec 003's words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NewType, Protocol

from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey, Outcome, Reason

# What is asked of a provider, and what it answered (spec 003).
#
# spec 003's words stay at this boundary: `ProviderResp` and its five fields, `prompt_type`, `batch_id`.


class QualityFlag(StrEnum):
    """What is wrong with an answer that did arrive."""

    OK = "ok"
    EMPTY = "empty"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    OFF_TOPIC = "off-topic"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question.  `{domain}` in its text stands for the domain."""

    prompt_type: str
    text: str
    tier: int = 1  # 1 is asked first and dropped last
    version: str = "1"
    system: str = ""
    most_tokens: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderResp:
    """Spec 003's five fields.  `meta` holds `usage`, `citations`, `model` as the provider named it, `finish`."""

    text: str
    latency_ms: int
    retry_count: int = 0
    quality_flag: QualityFlag | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What the headers of an answer say about the key's limits; None: they do not say."""

    requests_per_minute: float | None = None
    requests_left: int | None = None
    requests_back_in: timedelta | None = None
    tokens_per_minute: float | None = None
    tokens_left: int | None = None
    tokens_back_in: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How one call ended.  `resp` is there when, and only when, the outcome is ok."""

    outcome: Outcome
    resp: ProviderResp | None = None
    allowance: Allowance | None = None
    retry_after: timedelta | None = None
    status: int | None = None
    took: timedelta = timedelta(0)
    tokens_in: int = 0
    tokens_out: int = 0
    detail: str = ""  # for people; never a key


class Provider(Protocol):
    """Spec 003's `ProviderAdapter`, bound to one key.  Never raises for weather."""

    def name(self) -> str:
        """As in spec 003: `openai/gpt-4o-mini`."""
        ...

    def supports_search_enhanced(self) -> bool: ...

    async def list_models(self) -> Sequence[str]:
        """What the provider says it has; empty when it does not say."""
        ...

    async def query(
        self, domain: str, prompt: Prompt, *, on_sent: Callable[[], None] | None = None
    ) -> Answer:
        """`on_sent` is called when the request is on the line: from then on the far end counts it."""
        ...


BatchId = NewType("BatchId", str)
CellNumber = NewType("CellNumber", int)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, and per request."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0
    request: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchShape:
    """What a batch asks.  Fixed when the batch begins: cell numbers count on it."""

    domains: int
    models: tuple[str, ...]
    prompts: tuple[Prompt, ...]  # by tier; the first tier is asked first and dropped last
    repeats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One run of the panel."""

    id: BatchId
    shape: BatchShape
    started_at: datetime
    target_at: datetime  # soft cut
    hard_at: datetime  # hard stop
    budget_usd: float | None = None
    spent_usd: float = 0.0
    dropped_from: int | None = None  # tiers from this one on were dropped before


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopening:
    """How a batch goes on."""

    target_at: datetime
    hard_at: datetime
    budget_usd: float | None = None
    with_parked: bool = False  # cells that ended without an answer are asked again
    with_cut: bool = False  # and tiers that were cut are asked after all


@dataclass(slots=True)
class Cell:
    """One question that is waiting or under way."""

    number: CellNumber
    model: int
    prompt: int
    repeat: int
    domain_id: str
    domain: str
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """How a cell ended.  One row per cell, for ever."""

    cell: CellNumber
    domain_id: str
    domain: str
    model: str
    prompt_type: str
    prompt_version: str
    prompt: str
    repeat: int
    outcome: Outcome
    at: datetime
    text: str | None = None
    response_time_ms: int = 0
    retry_count: int = 0
    quality_flag: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTally:
    """Spec 003's figures of one provider, as far as the batch has come."""

    model: str
    calls: int = 0
    ok: int = 0
    throttled: int = 0
    errors: int = 0
    failed: int = 0  # calls that speak against the model's reliability (core/panel/models.py)
    retries: int = 0
    parked: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    p50_ms: int = 0
    p95_ms: int = 0
    p99_ms: int = 0
    under_way: int = 0
    breaker: str = "closed"  # core.lane.condition: closed lets calls through; or stopped
    per_minute: float = 0.0  # what its lanes are held to now
    at_once: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Cells that were never answered, and why."""

    model: str
    tier: int
    cells: int
    reason: str
    note: str = ""  # how the provider did


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedCell:
    """Cells that were asked and ended without an answer; the operator may have them asked again."""

    model: str
    outcome: str
    cells: int
    detail: str = ""  # of one of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a batch has come."""

    at: datetime
    settled: int = 0  # cells with a row
    answered: int = 0  # of these, ok
    under_way: int = 0
    waiting: int = 0
    spent_usd: float = 0.0
    dropped_from: int | None = None
    eta: datetime | None = None  # None: not known yet
    providers: tuple[ProviderTally, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelNote:
    """A decision about the run itself, for the ledger."""

    at: datetime
    action: str
    subject: str
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelGroup:
    """What is written in one transaction: all of it, or nothing."""

    batch: BatchId
    rows: tuple[CellRow, ...] = ()
    leases: tuple[CellNumber, ...] = ()
    released: tuple[CellNumber, ...] = ()  # leased, and not asked after all
    lanes: tuple[tuple[LaneKey, LaneState], ...] = ()
    notes: tuple[PanelNote, ...] = ()
    progress: Progress | None = None


class PanelLog(Protocol):
    """Where a run keeps its cells.  What `write` returned from survives a kill."""

    async def domains(self, batch: BatchId, first: int, count: int) -> Sequence[tuple[str, str]]:
        """Id and name of the domains of this batch, in order, from `first` on."""
        ...

    async def settled(self, batch: BatchId, first: int, last: int) -> frozenset[int]:
        """Which cells from `first` up to and without `last` have a row."""
        ...

    async def write(self, group: PanelGroup) -> float | None:
        """Gives what all runs of the batch have spent together, where the log knows."""
        ...

    async def is_stopped(self, batch: BatchId) -> bool:
        """True once the operator has pulled the kill switch."""
        ...


class ConsensusCache(Protocol):
    """`cache:consensus:{domain}` of spec 003: invalidated here, computed elsewhere."""

    def forget(self, domains: Sequence[str]) -> None: ...


class Circuit(StrEnum):
    """Spec 003's words for a breaker: an open circuit lets nothing through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True)
class Told:
    """What a run says about a provider, and for how long it holds."""

    circuit: Circuit
    left: timedelta = timedelta(0)


class Board(Protocol):
    """What runs that use the same keys share (spec 003: `rl:`, `cb:`, `lock:crawl:`).

    Never raises for weather and never makes anyone wait long: a board that is away lets everything pass.
    """

    @property
    def is_away(self) -> bool: ...

    async def claim(self, batch: BatchId, places: Sequence[tuple[str, str]]) -> Sequence[bool]:
        """Claims a cell by domain and model.  False: another run holds it."""
        ...

    def release(self, batch: BatchId, places: Sequence[tuple[str, str]]) -> None: ...

    async def slots(self, lane: LaneKey, per_minute: float, count: int) -> Sequence[timedelta]:
        """The next starts that the shared bucket of a key has for us, from now; none: the board is away."""
        ...

    async def exchange(self, mine: Mapping[str, Told]) -> Mapping[str, Told]:
        """Tell how the providers do, hear what others say of them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchView:
    """A batch as it stands in the store."""

    batch: Batch
    status: str
    ended_at: datetime | None
    heartbeat_at: datetime | None
    eta: datetime | None
    is_stop_asked: bool
    cells: int
    settled: int
    answered: int
    under_way: int
    waiting: int
    leased: int
    written_to: str
    unasked: int  # cells without a row
    dropped: tuple[Dropped, ...]
    parked: tuple[ParkedCell, ...]
    providers: tuple[Mapping[str, Any], ...]
