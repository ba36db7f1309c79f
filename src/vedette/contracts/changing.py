"""The life of a change: observed, gated, confirmed, reported."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from vedette.contracts.words import ChangeId, EvidenceId, Reason, VisitId, WatchId

Block = tuple[str, str]  # structural path, text.  HTML: "main/p[3]"; JSON: "/rates/0/value"


class Layer(StrEnum):
    """Which comparison decided."""

    BYTES = "bytes"  # equal bytes, or 304
    TEXT = "text"  # equal compared text
    NORMAL = "normal"  # equal after normalising
    MASK = "mask"  # equal once learned noise is masked
    NEAR = "near"  # differs, near-duplicate by simhash
    STRUCTURE = "structure"  # JSON / XML fields
    CONTENT = "content"  # differs


class ChangeState(StrEnum):
    OBSERVED = "observed"  # seen once, waiting for the second look
    REJECTED = "rejected"  # the second look showed noise, or it went away
    CONFIRMED = "confirmed"
    REPORTED = "reported"


class ChangeKind(StrEnum):
    CHANGED = "changed"
    REMOVED = "removed"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class MaskRegion:
    """A place that is noise on this target.  Learned from two looks, never from a list of patterns."""

    path: str  # structural path of the block, indices included; a trailing "/*" covers a container
    before: str = ""  # stable words left of the noise inside the block
    after: str = ""  # stable words right of it
    kind: str = "any"  # number | date | time | token | words | any: a change of kind is reported
    seen: int = 2  # how many looks showed it


Mask = tuple[MaskRegion, ...]


@dataclass(frozen=True, slots=True)
class DiffOp:
    """One step of a diff by line, with the words that differ inside a replaced line."""

    op: str  # equal | insert | delete | replace | move
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()  # replace: (removed words, added words) in order


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two states of one target, compared in layers."""

    has_changed: bool
    layer: Layer  # the layer that decided
    similarity: float = 1.0
    summary: str = ""  # 001 4.1 changeSummary: "2 lines added, 1 changed: 'PDV 25 %' -> 'PDV 24 %'"
    diff: tuple[DiffOp, ...] = ()
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Two visits of one target that differ."""

    id: ChangeId
    watch: WatchId
    kind: ChangeKind
    state: ChangeState
    before_visit: VisitId
    after_visit: VisitId
    before_evidence: EvidenceId | None
    after_evidence: EvidenceId | None
    observed_at: datetime
    comparison: Comparison
