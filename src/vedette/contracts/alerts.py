"""What the operator hears of: how sources fare, alerts, notices, and what waits to be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import NewType

from vedette.contracts.lane import LaneState
from vedette.contracts.source import Source
from vedette.contracts.words import Outcome, Risk, SourceId

AlertId = NewType("AlertId", int)
ChannelName = NewType("ChannelName", str)


class AlertKind(StrEnum):
    """The documents' words (spec 001/10.3) and one of ours, the gravest first."""

    CIRCUIT_BREAKER_OPEN = "CIRCUIT_BREAKER_OPEN"
    ENDPOINT_SLA_BREACH = "ENDPOINT_SLA_BREACH"
    ENDPOINT_CONSECUTIVE_ERRORS = "ENDPOINT_CONSECUTIVE_ERRORS"
    DISCOVERY_CAPPED = "DISCOVERY_CAPPED"  # ours: a limit keeps a source from finding more


class Sign(StrEnum):
    """What one check says about a subject.  Unknown is neither a failure nor a recovery."""

    BAD = "bad"
    GOOD = "good"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFacts:
    """What the store knows of one source when its health is asked for."""

    source: Source
    host: str
    created_at: datetime
    interval: timedelta  # what the schedule gave its own address last, the long one of a parked look included
    looks: tuple[tuple[datetime, Outcome, str], ...]  # at its own address, newest first
    last_success_at: datetime | None
    lane: LaneState | None
    is_breaker_open: bool  # the lane is closed, or waits for its probe
    others_answered_at: datetime | None = None  # another page of its host, last before its own newest failure
    capped: int = 0  # addresses that a limit left out at the last readings of its listings
    pages_lost: tuple[int, Outcome] | None = (
        None  # none of the pages that it lists was seen: how many, and the last
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHealth:
    """EndpointHealthStatus of spec 001/10.2, and what the alert rules need beside it."""

    id: SourceId
    host: str
    name: str
    tier: Risk
    last_success_at: datetime | None
    consecutive_errors: int
    own_errors: int  # of these, those that are the source's own and not the host's
    last_error: str
    is_sla_breached: bool
    has_consecutive_errors: bool
    since_success: timedelta | None
    sla: timedelta
    pace: timedelta  # how often it is looked at
    is_breaker_open: bool
    lane_failures: int
    is_unseen: bool = False  # its last look did not show it, and it never did or will not be tried soon
    last_outcome: Outcome | None = None  # None: never looked at
    capped: int = 0
    warning: str = ""  # it was read, but not as its source asks
    pages_lost: tuple[int, Outcome] | None = None
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmState:
    """What is remembered of one subject, so that a flapping one is told of once."""

    is_raised: bool = False
    bad_since: datetime | None = None
    good_since: datetime | None = None
    relapses: int = 0  # how often it turned bad again before it was forgotten
    settled_at: datetime | None = None  # of the last recovery
    alert: AlertId | None = None  # the open one


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check found of one subject: a host, or one source of a host that is up."""

    subject: str  # "host:hgk.hr" | "source:hgk-news"
    sign: Sign
    kinds: tuple[AlertKind, ...]
    risk: Risk
    sources: tuple[SourceId, ...]
    pace: timedelta
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One incident: opened once, recovered once.  A row of spec 001's WatchdogAlert."""

    id: AlertId
    kind: AlertKind  # that opened it
    kinds: tuple[AlertKind, ...]  # all that were seen while it was open
    subject: str
    risk: Risk
    sources: tuple[SourceId, ...]
    detail: str
    opened_at: datetime
    recovered_at: datetime | None = None
    acked_at: datetime | None = None
    ack_note: str = ""
    relapses: int = 0


class NoticeKind(StrEnum):
    CHANGE = "change"
    ALERT = "alert"
    RECOVERY = "recovery"
    DIGEST = "digest"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something to tell people, before it is known to whom.  Its id is stable over restarts and attempts."""

    id: str
    kind: NoticeKind
    at: datetime
    risk: Risk
    title: str
    summary: str = ""
    url: str = ""
    sources: tuple[str, ...] = ()
    excerpt: tuple[str, ...] = ()  # what differs, line by line
    why: tuple[str, ...] = ()  # why it is important, in words
    facts: Mapping[str, object] = field(default_factory=dict)  # for programs
    tags: tuple[str, ...] = ()  # of the source of a change


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A text of several pages that an operator sends to one channel, as text and as HTML."""

    id: str
    subject: str
    text: str
    html: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A notice on its way to one channel.  Unique by notice and channel."""

    notice: Notice
    channel: ChannelName
    due_at: datetime
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPolicy:
    """How much one channel may bother its readers."""

    name: ChannelName
    digest: str = "none"  # none | hourly | daily | weekly
    digest_at: time = time(8, 0)  # of a daily or weekly digest, in the channel's zone
    digest_on: int = 0  # of a weekly digest: the day of the week, Monday is 0
    zone: tzinfo = UTC
    per_day: int | None = None  # notices at once; the rest goes into the digest
    bypass: Risk = Risk.CRITICAL  # this and graver never waits and is never counted out


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which notices a channel gets.  What is not given does not filter."""

    channel: ChannelName
    risk: Risk | None = None  # this and graver
    sources: tuple[str, ...] = ()
    kinds: tuple[NoticeKind, ...] = ()
    tags: tuple[str, ...] = ()  # changes of sources with one of these


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How one attempt to send ended.  Weather, never an exception."""

    outcome: Outcome
    detail: str = ""
    retry_after: timedelta | None = None
