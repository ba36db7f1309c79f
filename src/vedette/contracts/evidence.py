"""What is kept of a visit, and how it is chained."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from vedette.contracts.copies import quick

if TYPE_CHECKING:
    from vedette.contracts.fetch import Headers
    from vedette.contracts.words import Outcome, VisitId, WatchId

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
