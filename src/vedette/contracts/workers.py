"""Processes that share a store, and what each of them does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


class Role(StrEnum):
    """What a worker does."""

    CRAWL = "crawl"  # looks
    STAGES = "stages"  # judges, reads and indexes after the look
    PANEL = "panel"  # asks language models about domains
    SCHEDULER = "scheduler"  # publishes prices, keeps the cron, watches health: one at a time
    SERVE = "serve"  # dashboard, API, metrics


class WorkerState(StrEnum):
    RUNNING = "running"
    DRAINING = "draining"  # told to stop: it ends what it has begun
    ENDED = "ended"
    SILENT = "silent"  # has not been heard of for too long; derived, never stored


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A worker, as it last said."""

    id: str
    number: int  # of its archive files; 0: it writes none
    roles: tuple[Role, ...]
    place: str  # machine and process
    state: WorkerState
    started_at: datetime
    beat_at: datetime
    figures: Mapping[str, float] = field(default_factory=dict)
    lanes: int = 0  # that it holds


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleLoad:
    """What waits for workers of a role."""

    role: Role
    workers: int  # that are alive
    due: int  # pieces of work that could be done now: lanes, jobs, cells, messages
    late: timedelta  # how long the oldest of them has waited


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCarrier:
    """What brings jobs to workers, and how it is."""

    name: str  # bullmq | store
    found: str = ""  # version and place
    problem: str = ""  # empty: it works
    is_away: bool = False  # it may be back in a moment
    evicts: bool = False  # Redis may forget keys where its memory is full
    depths: Mapping[str, int] = field(default_factory=dict)  # jobs that wait, by queue, where it answers
