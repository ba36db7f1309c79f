"""What a hunt knows and writes: what looks at places came to, what waits to be chosen, and what was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from vedette.contracts.words import LaneKey, Risk, WatchId


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNow:
    """A chosen watch is due."""

    watch: WatchId
    lane: LaneKey
    risk: Risk
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntRows:
    """What a hunt writes with a group."""

    opened: tuple[WatchId, ...] = ()  # found by this group
    chosen: tuple[DueNow, ...] = ()
    ended: tuple[WatchId, ...] = ()  # looked at
    yields: tuple[tuple[str, HuntRecord], ...] = ()  # by place; "" is the whole
    state: HuntState | None = None
    again_at: datetime | None = None  # there is more to choose then; None: after the next look
