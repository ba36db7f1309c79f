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
    MASK = "mask"  # equal but for learned noise
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
class Presence:
    """How a line comes and goes, counted in steps from one look to the next."""

    stays: int = 0  # it was there, and was still there
    leaves: int = 0
    waits: int = 0  # it was away, and was still away
    returns: int = 0
    run: int = 0  # looks since it last came (above 0) or left (below 0), that look included

    @property
    def is_there(self) -> bool:
        return self.run > 0


@dataclass(frozen=True, slots=True)
class RestlessLine:
    """A line that came or went while nobody edited the page."""

    key: int
    place: str
    presence: Presence
    form: int = 0  # of the text with its values taken out; 0: too little is left
    text: str = ""  # its beginning, kept once the line has returned: a removal can then be shown


@dataclass(frozen=True, slots=True)
class Template:
    """A line that keeps its words and draws some values anew: "Visitors today: 1,204"."""

    place: str
    lengths: tuple[int, ...]  # characters of each steady part; one more than there are values
    heads: tuple[str, ...]  # how each steady part begins
    digest: int  # of all steady parts
    kinds: tuple[str, ...]  # of the values: number, date, time, rate, token, words
    presence: Presence = Presence()
    now: tuple[int, ...] = ()  # keys of the lines that showed it at the last look
    rises: int = 0  # not restless yet: a number that only went up, so many edits in a row


@dataclass(frozen=True, slots=True)
class Place:
    """Where texts are drawn anew; counted over all lines that came there."""

    path: str  # structural path without positions: "main/ul/li"
    stays: int = 0
    leaves: int = 0
    quiet: int = 0  # looks since a text came that was never seen before
    most: int = 0  # texts that were drawn there at one look


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """For how long answers seem to be kept by a cache (`core/change/page_cache.py`)."""

    edits: int = 0  # visits in a row at which an edit was confirmed, when that was last done
    tried: int = 0  # the longest wait after which the page was still the same
    differed: int = 0  # tries in a row of the next longer wait after which the same lines were new again
    known: int = 0  # the wait that shows new answers; 0: no cache is known


@dataclass(frozen=True, slots=True)
class Noise:
    """What varies on this target by itself, learned from its looks (`core/change/noise.py`)."""

    lines: tuple[RestlessLine, ...] = ()
    templates: tuple[Template, ...] = ()
    places: tuple[Place, ...] = ()
    orders: tuple[str, ...] = ()  # containers whose lines come in any order
    wild: tuple[str, ...] = ()  # places that draw more lines than can be kept: not compared
    agreed: int = 0  # differences that a further look confirmed
    refuted: int = 0  # differences that further looks showed to be noise
    quick: int = 0  # looks seconds after another
    begun_at: int = 0  # looks at the target before it was learned from; below 0: all so far
    edited_at: int = 0  # looks since then when an edit was last confirmed
    replaced: tuple[int, ...] = ()  # lines that were edited away; one that comes back may be drawn
    cache: CacheRecord = CacheRecord()
    is_older: bool = False  # learned of an older form of the text: the target stays with that form
    is_glued: bool = (
        False  # learned when words of neighbouring elements were glued: until that makes no difference
    )

    @property
    def is_restless(self) -> bool:
        return bool(self.lines or self.places or self.orders or self.wild or self.refuted)


@dataclass(frozen=True, slots=True)
class DiffOp:
    """One step of a diff by line, with the words that differ inside a replaced line."""

    op: str  # equal | insert | delete | replace | move
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()  # replace: (removed words, added words) in order
    headings: tuple[
        str, ...
    ] = ()  # of a row of a table: the headings of its cells, for whoever reads the diff


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two states of one target, compared in layers."""

    has_changed: bool
    layer: Layer  # the layer that decided
    similarity: float = 1.0
    summary: str = ""  # spec 001/4.1 changeSummary: "2 lines added, 1 changed: 'PDV 25 %' -> 'PDV 24 %'"
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
