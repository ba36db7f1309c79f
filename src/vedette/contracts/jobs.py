"""Jobs of named queues: what spec 001 puts on them, and how a queue treats them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.documents import Artifact
from vedette.contracts.verdict import Likeness, Verdict
from vedette.contracts.watch import LedgerNote
from vedette.contracts.words import EvidenceId, Outcome, Risk, RunId, SourceId

Data = Mapping[str, object]  # JSON, in the words of the documents: other programs read it
SENTINEL = "sentinel"  # spec 001/2.3
SCOUT, ROUTER, OCR, EXTRACT, EMBED = "scout", "router", "ocr", "extract", "embed"  # spec 001/4.3
STAGES = (SCOUT, ROUTER, OCR, EXTRACT, EMBED)  # in the order in which a piece of evidence passes them


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRule:
    """How a queue treats its jobs (spec 001/2.3)."""

    at_once: int | None = None  # None: as many as there are workers
    per_minute: int | None = None
    attempts: int = 3
    backoff: timedelta = timedelta(seconds=10)  # doubles with each attempt: 10 s, 20 s, 40 s
    has_fixed_backoff: bool = False  # as a producer elsewhere may have ordered it
    keep_done: int = 1000
    keep_parked: int = 100
    lease: timedelta = timedelta(minutes=5)


SENTINEL_RULE = QueueRule(at_once=1, per_minute=5)  # spec 001/2.1, 001/2.3


@dataclass(frozen=True, slots=True)
class Idle:
    """A queue has nothing to do for so long, unless there is news."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """To be put on a queue."""

    queue: str
    name: str
    data: Data
    id: str | None = None  # None: the bus makes one
    delay: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job that a worker took.  Its lease must be extended, or another worker takes it."""

    queue: str
    id: str
    name: str
    data: Data
    attempt: int  # this one included
    added_at: datetime
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedJob:
    """DeadLetterJobData of spec 001/8.5."""

    queue: str
    id: str
    name: str
    data: Data
    error: str
    attempts: int
    failed_at: datetime
    stack: str = ""  # where our own code failed; empty for weather


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How one job ended: with a result and the jobs that follow from it, or with an error."""

    job: QueuedJob
    is_new: bool = False  # it followed from another and was done at once: the queue never had it
    result: Data | None = None
    then: tuple[NewJob, ...] = ()
    error: str | None = None  # not None: it failed
    stack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettled:
    """What became of an end."""

    is_ours: bool  # False: the lease was lost, and nothing was written
    again_at: datetime | None = None  # None with an error: parked


# A store whose jobs another engine carries: the rows stay the truth, the engine brings them to workers.


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """A row that the engine is to carry."""

    queue: str
    id: str
    name: str
    data: Data
    added_at: datetime
    due_at: datetime
    attempts: int  # made so far


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A job as the engine gave it to a worker."""

    id: str  # of its row
    foreign_id: str  # its id in the engine
    name: str
    data: Data
    added_at: datetime
    attempts: int  # made so far, by the engine's count
    rule: QueueRule  # as its producer ordered


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What the rows say to a delivery: work, wait, or neither because it has ended."""

    job: QueuedJob | None = None
    again_at: datetime | None = None  # without a job: not before then; None: it has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class EndElsewhere:
    """A job that a worker of another program ended."""

    id: str
    attempts: int = 1
    result: str | None = None  # JSON
    error: str | None = None  # not None: it failed for good
    stack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    waiting: int = 0
    active: int = 0
    done: int = 0
    parked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SentinelOrder:
    """SentinelJobData of spec 001/3.1: look at one source, at one tier, or at all."""

    run: RunId
    source: SourceId | None = None
    tier: Risk | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostResult:
    """How one host fared in a run."""

    is_healthy: bool
    success_rate: float
    consecutive_errors: int
    is_circuit_broken: bool
    last_success_at: datetime | None = None
    last_error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentinelResult:
    """What a run gives (spec 001/10.5)."""

    success: bool
    sources_checked: int
    new_items_discovered: int
    errors: tuple[str, ...]
    hosts: Mapping[str, HostResult]
    took: timedelta
    retries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """What a run should have shown and did not: a page, or what waits in a lane that is shut."""

    url: str
    source: SourceId
    outcome: Outcome
    detail: str = ""
    again_at: datetime | None = None  # when it is tried again
    count: int = 1  # pages; the URL is one of them
    is_own: bool = False  # the address of its source, or all that waits of that source
    is_dead_link: bool = (
        False  # a crawl followed it to a page that is not there or not for us: nobody asked for it
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """All that a run did not see."""

    misses: tuple[Miss, ...] = ()  # the first of them
    count: int = 0
    unseen: int = 0  # of these, what somebody asked for


# What a stage job is told to do, and what it leaves behind.


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOrder:
    """What every stage job of spec 001/4.3 names."""

    evidence: EvidenceId
    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What a stage job gives: its result in the documents' words, and what is to be written with it."""

    result: Data
    then: tuple[NewJob, ...] = ()
    verdict: Verdict | None = None
    note: tuple[RunId, LedgerNote] | None = None  # the decision behind the verdict
    artifact: tuple[EvidenceId, Artifact] | None = None
    vector: tuple[EvidenceId, bytes] | None = None
    likeness: Likeness | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Why a stage job could not be done this time: weather, or a payload that nobody can read."""

    error: str
    stack: str = ""  # of a bug of ours
