"""What a hunt knows and writes: what looks at places came to, what waits to be chosen, and what was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from vedette.contracts.oddness import OddPage, PageFigures
from vedette.contracts.words import LaneKey, Outcome, Risk, SourceId, WatchId


class HuntRecord(NamedTuple):
    """What looks at one place came to."""

    looks: int = 0
    found: float = 0.0
    errors: int = 0


class Open(NamedTuple):
    """A watch that was found and never looked at, and that a hunt may choose."""

    watch: WatchId
    url: str
    risk: Risk
    source: SourceId = SourceId("")
    pull: float = 0.0  # the oddness of the best page that links to it, 0 to 1
    words: tuple[str, ...] = ()  # of the link by which it was opened


class Waiting(NamedTuple):
    """A watch that a hunt chose and that was not looked at yet."""

    watch: WatchId
    url: str
    is_shut: bool  # its lane is closed: it will be a while


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntState:
    """Where the hunt is."""

    number: int = 0  # looks chosen so far
    empty_at: datetime | None = None  # of the bucket that `looks_per_day` fills
    after: int = 0  # the watch up to which open ones were read
    turn: int = 0  # looks ordered so far: those chosen, and seeds
    learned: int = 0  # of these, those that were learned from
    weighed: int = -1  # `learned` when open ones were weighed last


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedLook:
    """What a hunt learns from a look.  Kept until the looks that were ordered before it have ended too."""

    watch: WatchId
    url: str  # as it is known from now on
    shown_url: str  # the page came from there
    source: SourceId
    risk: Risk
    outcome: Outcome
    at: datetime
    digest: bytes
    links: tuple[WatchId, ...] = ()
    said: tuple[tuple[WatchId, tuple[str, ...]], ...] = ()  # words of these links
    page: PageFigures | None = None  # of a page that came for the first time


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedLook:
    """One place in the line of looks that a hunt ordered."""

    turn: int
    watch: WatchId
    url: str
    seed: SourceId
    pull: float = 0.0
    words: tuple[str, ...] = ()  # of the link by which it was opened
    is_prospect: bool = True  # false: a seed, which nobody chose
    is_due: bool = True  # false: beyond what this run may look at
    ordered_at: datetime | None = None  # as it is written; None: read from the store
    look: EndedLook | None = None  # not None: it ended


class BudgetContext(NamedTuple):
    """What a place has cost when a look at it was ordered.  The budget was asked before."""

    place: str = ""
    looks: int = 0
    room: int = 0  # pages that it may still be asked for, this one included
    waiting: int = 0  # looks that were ordered there and have not ended


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNow:
    """A chosen watch is due.  Spec 004's CrawlJob: it is leased as a `Job` until a look has settled it."""

    watch: WatchId
    lane: LaneKey
    risk: Risk
    at: datetime
    url: str = ""
    priority: float = 0.0  # the value that it was chosen by
    budget_context: BudgetContext = BudgetContext()

    @property
    def requested_at(self) -> datetime:
        return self.at


class Rest(NamedTuple):
    """When a page that a hunt looked at is looked at again."""

    watch: WatchId
    due_at: datetime | None  # None: never by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntRows:
    """What a hunt writes with a group."""

    found: tuple[tuple[WatchId, str], ...] = ()  # by this group, with their neighbourhoods; not open yet
    # Linked to by what was learned from, with its seed and the words of the link.
    opened: tuple[tuple[WatchId, SourceId, tuple[str, ...]], ...] = ()
    ordered: tuple[OrderedLook, ...] = ()  # new in the line
    came: tuple[EndedLook, ...] = ()  # ended, and not learned from yet
    done: tuple[WatchId, ...] = ()  # leave the line
    chosen: tuple[DueNow, ...] = ()
    ended: tuple[WatchId, ...] = ()  # prospects no more: they were learned from
    yields: tuple[tuple[str, HuntRecord], ...] = ()  # by place; "" is the whole
    state: HuntState | None = None
    again_at: datetime | None = None  # there is more to choose then; None: after the next look
    rests: tuple[Rest, ...] = ()
    revisits: tuple[DueNow, ...] = ()  # findings among what was settled before
    dropped: tuple[WatchId, ...] = ()  # findings no more: they are not looked at again
    # Failed: open again from then on.  With neighbourhood and seed.
    reopened: tuple[tuple[WatchId, datetime, str, SourceId], ...] = ()
    pulls: tuple[tuple[WatchId, float, str], ...] = ()  # open pages that a find of this other place links to
    odd: tuple[OddPage, ...] = ()  # looked at, in the order of the looks
    links: tuple[tuple[WatchId, tuple[WatchId, ...]], ...] = ()  # what the pages in `odd` link to, each once
    background: tuple[int, bytes] | None = None  # what was learned up to this number of a look
