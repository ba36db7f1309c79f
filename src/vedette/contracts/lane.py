"""The queue in front of one host, browser, Tor circuit or provider key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.copies import quick
from vedette.contracts.words import LaneKey, Reason

ALL = LaneKey("all")
BROWSER = LaneKey("engine:browser")
TOR = LaneKey("engine:tor")  # whatever goes by a SOCKS proxy


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePolicy:
    """What the far end may see from us at most."""

    gap_min: timedelta = timedelta(seconds=2)  # spec 001/9.1
    gap_max: timedelta = timedelta(seconds=5)
    per_minute: float = 20.0  # 0: no bucket
    burst: int = 1
    at_once: int = 1  # docs/adr/README.md
    trips_after: int = 5  # failures in a row
    trip_share: float = 0.0  # or this share of failures in the window; 0: off
    trip_window: int = 20  # calls the share is taken over
    closed_for: timedelta = timedelta(hours=1)
    closed_most: timedelta = timedelta(hours=24)  # failed probes double `closed_for` up to this
    max_retry_after: timedelta = timedelta(hours=24)
    sleep: tuple[str, ...] = ()  # `22:00-06:00`, `Sat-Sun`, UTC: nothing starts (spec 004)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePolicies:
    """Which policy a lane has: its own, else that of its kind (`host`, `engine`, `all`), else the default."""

    default: LanePolicy = field(default_factory=LanePolicy)
    named: Mapping[str, LanePolicy] = field(default_factory=dict)

    def of(self, key: LaneKey) -> LanePolicy:
        return self.named.get(key) or self.named.get(key.partition(":")[0]) or self.default


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class LaneState:
    """What has happened in the lane, as far as the next start depends on it.  Survives restarts."""

    under_way: int = 0  # not persisted: a restart has none
    unsent: int = 0  # of these, requests that are not on the line yet; not persisted
    next_start_at: datetime | None = None  # gap
    bucket_at: datetime | None = None  # GCRA: when the bucket is empty again
    failures: int = 0  # in a row
    recent: int = 0  # bit field of the last calls, 1 = failure
    recent_count: int = 0
    closed_until: datetime | None = None  # breaker
    held_until: datetime | None = None  # Retry-After
    blocked_by: str = ""  # the operator's word; until `lanes reset`
    crawl_delay: timedelta | None = None  # robots.txt
    word: int = 0  # how often the operator spoke; who missed the last word does not write over it


@dataclass(frozen=True, slots=True)
class Go:
    """The call may start now."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Not before `until`; None means until another call in the lane ends, or the operator acts."""

    until: datetime | None
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneHold:
    """A lane that a store gave to one of several workers."""

    lane: LaneKey
    token: int  # rises with every holder of the lane
    state: LaneState | None  # as its last holder left it
    was_lost: bool  # the last holder never gave it back: what it asked at last is in no store


@dataclass(frozen=True, slots=True)
class DueLane:
    """A lane that is worth a visit now and is nobody's."""

    lane: LaneKey
    number: int  # its id
    token: int  # of its last holder
