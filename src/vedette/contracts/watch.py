"""A target we keep an eye on, the order to look at it now, what the look settled, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from vedette.contracts.change import Change, ChangeState, Noise
from vedette.contracts.copies import quick
from vedette.contracts.words import (
    ChangeId,
    ContentClass,
    EvidenceId,
    LaneKey,
    NodeRole,
    NodeType,
    Outcome,
    Reason,
    Risk,
    RunId,
    SourceId,
    VisitId,
    WatchId,
)

if TYPE_CHECKING:
    from vedette.contracts.alerts import Message
    from vedette.contracts.documents import Artifact
    from vedette.contracts.fetch import RobotsRules
    from vedette.contracts.hunt import HuntRows
    from vedette.contracts.lane import LaneState
    from vedette.contracts.oddness import PageFigures
    from vedette.contracts.schedule import Lesson, ScheduleRows
    from vedette.contracts.source import ListerKind, Source
    from vedette.contracts.verdict import Traits


from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vedette.contracts.fetch import Headers, Screenshot
    from vedette.contracts.words import Outcome, VisitId, WatchId


# What is kept of a visit, and how it is chained.

SEALS = "seals"  # how HEADS names the chain of sealed rows, beside the segments


class Standing(StrEnum):
    """What a kept answer is to whoever asks for evidence (spec 001/4.1)."""

    CONTENT = "content"  # evidence in its own right
    NOISE = "noise"  # differs from evidence that is there by noise alone
    WAITING = "waiting"  # differs, and no later look has confirmed it
    NO_CONTENT = "no_content"  # an error, a block page, nothing: kept with its status, no evidence of content


class RecordKind(StrEnum):
    RESPONSE = "response"
    IDENTICAL = "identical"  # revisit: the payload is already in the archive
    NOT_MODIFIED = "not_modified"  # revisit: the server said 304
    NONE = "none"  # nothing came back (timeout, refused): chained, no record


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class VisitFacts:
    """The facts of one visit that the chain covers.  The same fields are columns of the visit row."""

    visit: VisitId
    watch: WatchId
    url: str  # the URL that answered last
    at: datetime
    outcome: Outcome
    status: int | None
    digest: bytes | None  # sha256 of the decoded body


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """One visit on its way into the archive."""

    facts: VisitFacts
    kind: RecordKind
    retention: str = "standard"
    phrase: str = ""
    headers: Headers = ()
    payload: bytes = b""  # wire bytes; content coding kept, transfer coding removed; of a revisit not written
    payload_digest: bytes | None = (
        None  # sha256 of the wire bytes, where it is known (saves hashing them again)
    )
    address: str = ""
    refers_to: tuple[str, datetime] | None = None  # url and time of the record with the payload
    refers_to_record: tuple[str, VisitId] | None = None  # its segment and visit
    screenshot: Screenshot | None = None  # goes into a record of its own, right behind that of the visit


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRecord:
    """Where an entry ended up."""

    visit: VisitId
    segment: str
    seq: int
    offset: int | None  # None: no record
    length: int | None
    record_digest: bytes | None  # sha256 of the compressed member
    chain: bytes  # sha256 over the previous link and the facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One archive file: one retention class, one day.  `size`, `count` and `head` are as committed."""

    name: str  # "standard-20261115-0001"; the file is <name>.warc.gz
    retention: str
    day: str  # YYYY-MM-DD, UTC
    size: int
    count: int
    head: bytes
    state: str = "open"  # open | closed | expired


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRow:
    """A visit row as the store has it, for `verify`."""

    facts: VisitFacts
    written: WrittenRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Where a payload can be read back."""

    segment: str
    offset: int
    length: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The last state of a target with content: what the next look is compared with."""

    visit: VisitId
    evidence: EvidenceId
    at: datetime
    digest: bytes  # sha256 of the decoded bytes
    text_key: int = 0  # xxh3 of the compared text
    simhash: int = 0
    text_chars: int = 0
    content_class: ContentClass = ContentClass.HTML


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """One target with its topology, velocity, risk and schedule."""

    id: WatchId
    url: str
    lane: LaneKey
    source: SourceId
    lister: ListerKind | None = None  # not None: its body lists other targets
    depth: int = 0
    parent: WatchId | None = None
    title: str = ""
    node_type: NodeType = NodeType.LEAF
    node_role: NodeRole | None = None
    risk: Risk = Risk.MEDIUM
    velocity: float = 0.5
    scan_count: int = 0
    last_changed_at: datetime | None = None
    due_at: datetime | None = None  # None: not scheduled (paused, merged, open to a hunt)
    interval: timedelta = timedelta(0)  # what the last schedule decision gave
    created_at: datetime
    published_at: datetime | None = None
    modified_at: datetime | None = None  # what a listing said: a signal
    last_visit_at: datetime | None = None
    last_outcome: Outcome | None = None
    attempt: int = 0  # failed looks since the last good one
    etag: str | None = None
    last_modified: str | None = None
    seen: Seen | None = None
    noise: Noise = Noise()  # learned from its looks
    pending: ChangeId | None = None  # an observed change waits for its second look
    is_gone: bool = False  # its removal was reported
    canonical: WatchId | None = None  # the page says, or redirects for good, that this is its right address
    merged_into: WatchId | None = None  # both showed the same text: one target, looked at there
    audit: timedelta | None = (
        None  # the next look is an audit, at a random moment of an interval of this length
    )
    belief: bytes | None = (
        None  # of the learned policy (core/schedule/learned/beliefs.py); None: it has none yet
    )


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A leased order to look at a watch now."""

    watch: Watch
    lanes: tuple[LaneKey, ...]
    run: RunId
    value: float  # what it was chosen by
    leased_until: datetime


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What happened on one look.  Always appended."""

    id: VisitId
    watch: WatchId
    run: RunId
    at: datetime
    took: timedelta
    outcome: Outcome
    url: str  # that answered last, after redirects
    status: int | None = None
    changed: bool = False
    digest: bytes | None = None
    evidence: EvidenceId | None = None
    text_chars: int | None = None
    wire_bytes: int = 0
    detail: str = ""
    audit: timedelta | None = None  # it was an audit, in an interval of this length


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision of the ledger: what, from what, why."""

    action: str  # fetch | schedule | change | retry | park | refuse | skip | breaker | admit ...
    reasons: tuple[Reason, ...] = ()
    inputs: dict[str, object] = field(default_factory=dict)
    output: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """A job that used up its attempts (spec 001/8.5)."""

    watch: WatchId
    url: str
    outcome: Outcome
    detail: str
    attempts: int
    at: datetime


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A URL we know of and do not watch.  Upserted: last reason and a count."""

    url: str
    id: WatchId
    source: SourceId
    reason: Reason
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A listing says that a watch changed since we read the listing last.  A hint to look, never a change."""

    watch: WatchId
    lane: LaneKey
    modified_at: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A page of risk CRITICAL links to this document, so it is CRITICAL too and its next look comes soon."""

    watch: WatchId
    lane: LaneKey
    due_at: datetime
    note: LedgerNote


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMove:
    """An observed change goes on in its life."""

    id: ChangeId
    state: ChangeState
    at: datetime
    reasons: tuple[Reason, ...] = ()
    change: Change | None = None  # as confirmed: its comparison without the noise that the second look showed


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a look means for the change life of its watch."""

    changed: bool | None  # None: not known before the second look
    seen: Seen | None
    noise: Noise
    pending: ChangeId | None = None
    is_gone: bool = False
    change: Change | None = None
    moves: tuple[ChangeMove, ...] = ()
    reports: tuple[Change, ...] = ()
    reasons: tuple[Reason, ...] = ()
    look_again_at: datetime | None = None

    @property
    def words(self) -> str:
        if self.look_again_at is not None:
            return "observed"
        return "changed" if self.changed else "unchanged"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Everything one look settled.  Written in one transaction, or not at all."""

    job: Job
    visit: Visit
    watch: Watch  # as it is from now on
    entry: ArchiveEntry
    decisions: tuple[Decision, ...]
    change: Change | None = None
    moves: tuple[ChangeMove, ...] = ()
    reports: tuple[Change, ...] = ()  # changes that this look confirmed: the world hears of them
    sources: tuple[Source, ...] = ()  # of hosts that had none (spec 001/6.2)
    found: tuple[Watch, ...] = ()  # new watches
    signals: tuple[Signal, ...] = ()
    raised: tuple[Raised, ...] = ()
    nearer: tuple[tuple[WatchId, int], ...] = ()  # pages of a crawl that are fewer links away than was known
    refused: tuple[Refused, ...] = ()
    parked: Parked | None = None
    content_class: ContentClass = ContentClass.OTHER
    content_type: str = ""
    body_bytes: int = 0
    standing: Standing = Standing.CONTENT  # of the answer, if it is kept as a new one
    like: EvidenceId | None = None  # the earlier state that it differs from by noise alone
    artifact: Artifact | None = None  # text that was made of a document
    traits: Traits | None = None  # of the text, for the scout
    vector: bytes | None = None  # of the text, `core/judging/embedding.py`
    figures: PageFigures | None = None  # of a page that a hunt looks at
    linked: tuple[WatchId, ...] = ()  # of such a page: all that it names
    said: tuple[tuple[WatchId, tuple[str, ...]], ...] = ()  # and by which words
    lesson: Lesson | None = None  # not None: the scheduler decides the due time, with those of its group
    notes: tuple[LedgerNote, ...] = ()  # what this look decided about other watches


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A payload that the archive already has, the evidence that names it, and the record that holds it."""

    evidence: EvidenceId
    watch: WatchId
    stored_by: VisitId  # the visit of that record; may be another watch's
    url: str  # as that record names it
    at: datetime  # of that record
    segment: str
    offset: int
    length: int
    standing: Standing = Standing.CONTENT
    same_as: EvidenceId | None = None  # the evidence that it differs from by noise alone


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A settlement whose bytes are in the archive, synced, not yet committed."""

    settlement: Settlement
    kind: RecordKind  # what was really written: a known payload becomes a revisit
    written: WrittenRecord
    evidence: EvidenceId | None  # what the visit showed; None: no content
    payload: Payload | None  # not None: a new evidence row, with the place of its payload
    screenshot: Screenshot | None = None  # that was written with it


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerNote:
    """A decision that belongs to no visit of its subject: breaker, operator, run, a listing that named a watch."""

    id: int
    at: datetime
    kind: str  # lane | run | operator | signal | hunt | risk
    decision: Decision
    watch: WatchId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """How a source fares, and how far its trap budgets are used."""

    source: SourceId
    failures: int = 0
    last_error: str = ""
    last_success_at: datetime | None = None
    closed_until: datetime | None = None
    tally: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What goes into one transaction."""

    run: RunId
    placed: tuple[Placed, ...] = ()
    segments: tuple[Segment, ...] = ()
    lanes: tuple[tuple[LaneKey, LaneState], ...] = ()
    sources: tuple[SourceState, ...] = ()
    robots: tuple[RobotsRules, ...] = ()
    notes: tuple[LedgerNote, ...] = ()
    released: tuple[Job, ...] = ()  # leases given back without a look
    schedule: ScheduleRows | None = None
    hunt: HuntRows | None = None
    hunts: int = 0  # how often the engine had asked for a choice
    messages: tuple[Message, ...] = ()  # what people are to hear of it


@dataclass(frozen=True, slots=True)
class Release:
    """This job was not looked at (its lane closed, the run ends): the lease goes back, nothing else moves."""

    job: Job


@dataclass(frozen=True, slots=True)
class Ask:
    """Give me the best `most` eligible watches of this lane, first of all those that the operator ordered."""

    lane: LaneKey
    most: int
    ordered: tuple[WatchId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What the store is asked for next.  A server answers all of it in one trip."""

    now: datetime
    asks: tuple[Ask, ...] = ()
    due_by: datetime | None = None  # of the asks
    evidence: tuple[EvidenceId, ...] = ()  # where the archive has these,
    digests: tuple[bytes, ...] = ()  # and payloads with these
