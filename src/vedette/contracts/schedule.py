"""What the scheduler knows beside the watches, as rows, and what a look has to tell it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.copies import quick
from vedette.contracts.words import LaneKey, Risk, WatchId


@dataclass(frozen=True, slots=True)
class Asked:
    """How often the operator asked for a look at one watch.  `every` wins over `ceiling`."""

    every: timedelta | None = None  # the interval itself
    ceiling: timedelta | None = None  # `scrape_frequency`: at most so long


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What a look says to a policy that decides for a whole group at once, before the group is committed."""

    now: datetime
    changed: bool | None = None  # None: it failed, or is not known before a second look
    modified_at: datetime | None = None  # the far end's word on when it changed
    host_ok: bool | None = None  # did its host answer as a healthy one does?  None: it was not asked
    failures: int = 0  # looks that its host failed, in a row, not counting quick retries
    has_due: bool = False  # the next look is arranged already: a retry, or a second look
    is_parked: bool = False
    asked: Asked = Asked()
    not_before: datetime | None = None  # its source is closed until then
    audit_share: float = 0.0
    is_listing: bool = False  # its body was read as a listing,
    is_dated: bool = False  # whose entries say when they changed


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBelief:
    """What is believed of a host.  Times are hours of the schedule layer."""

    lane: LaneKey
    counts: bytes = b""  # changes by hour of a working day and of a weekend day
    quality: tuple[float, ...] = ()  # of its listings: changes named, missed; false marks, target hours
    dates: tuple[float, ...] = ()  # of Last-Modified: those that could be true, and not
    streak: int = 0  # failed looks in a row
    failed_at: float = 0.0
    dear: float = 1.0  # how many times the price a look at it costs: its room is short
    clock: int | None = None  # the published clock of this host; None: that of all hosts
    fresh: int = 0  # changes counted since that was published
    lively: tuple[float, ...] = (0.0, 0.0)  # first changes of its targets: found, and to be expected


@dataclass(frozen=True, slots=True, kw_only=True)
class HubBelief:
    """What is believed of a target that lists others."""

    watch: WatchId
    lane: LaneKey
    leaves: float = 0.0
    listed_at: float | None = None  # last listing that says what changed
    every: float = 24.0  # hours between two of them
    pull: float = 0.0  # weighted changes per hour that its listing tells of
    births: float = 0.0  # new targets, weighted, since
    since: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """What one scheduler published: with it every worker decides alike, and `replay` decides again."""

    version: int
    at: datetime
    body: str  # JSON of core Published
    clock: int | None = None  # of hosts that have none of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The part of a watch that the scheduler plans by."""

    id: WatchId
    lane: LaneKey
    risk: Risk
    parent: WatchId | None
    belief: bytes | None
    created_at: datetime
    due_at: datetime | None = None
    is_listing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRows:
    """What the scheduler writes with a group."""

    hosts: tuple[HostBelief, ...] = ()
    hubs: tuple[HubBelief, ...] = ()
    clocks: tuple[tuple[int, bytes], ...] = ()
    published: PublishedRow | None = None
    running: str = ""  # its own sums, as JSON; empty: not changed
    before: str = ""  # the same as they were before the group
    marks: tuple[tuple[WatchId, bytes], ...] = ()  # beliefs of targets that a listing named
    back: tuple[tuple[LaneKey, datetime], ...] = ()  # hosts that answer again: what failed there is due
    replanned: tuple[tuple[Leaf, datetime, timedelta], ...] = ()  # new due times, at a new price
