"""Protocols: what the engine needs from the outside, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:  # who asks for the time alone need not load jobs, verdicts and messages
    from vedette.contracts.alerts import ChannelName, Delivery, Message, Notice
    from vedette.contracts.fetch import Fetched, FetchRequest, FetchSettings, PostRequest
    from vedette.contracts.jobs import (
        Data,
        Delivered,
        Depth,
        EndElsewhere,
        HandOver,
        Idle,
        JobEnd,
        JobSettled,
        Lease,
        NewJob,
        ParkedJob,
        QueuedJob,
        QueueRule,
    )
    from vedette.contracts.lane import LaneState
    from vedette.contracts.words import LaneKey

W = TypeVar("W")
R = TypeVar("R")


class Wake(Protocol):
    """Something that another part sets when there is news (an `asyncio.Event`)."""

    def is_set(self) -> bool: ...
    def set(self) -> None: ...
    async def wait(self) -> object: ...


class Clock(Protocol):
    """The only home of time and chance."""

    @property
    def is_stepped(self) -> bool:
        """Stands still while something is under way, and one thing at a time is: a run can be repeated."""
        ...

    def now(self) -> datetime:
        """Aware UTC."""
        ...

    def chance(self) -> float:
        """A number in [0, 1)."""
        ...

    def stopwatch(self) -> Callable[[], timedelta]:
        """Starts now; a call tells the time since, of this machine and not of a calendar."""
        ...

    def moved(self) -> timedelta:
        """How far this clock was set forward (or back: negative) since it was made, beside the passing of time."""
        ...

    async def pause(self, wake: Wake, until: datetime | None, *, is_busy: bool) -> None:
        """Return when `wake` is set or the time has come.  A jumping clock jumps there unless `is_busy`."""
        ...


class Fetcher(Protocol):
    """Asks one URL, one hop.  Never raises for weather."""

    async def fetch(self, request: FetchRequest) -> Fetched: ...

    async def close(self) -> None: ...


class Renderer(Protocol):
    """Shows a page that came as scripts make it.  Never raises for weather."""

    def problem(self) -> str:
        """What is missing and how to get it; empty: it can be asked."""
        ...

    async def render(
        self, fetched: Fetched, settings: FetchSettings, *, with_screenshot: bool = False
    ) -> Fetched:
        """The same answer with another body; `parse_failed`: it could not be shown.

        A screenshot that failed is told in `Fetched.screenshot` and fails nothing else.
        """
        ...

    async def close(self) -> None: ...


class Poster(Protocol):
    """Hands one body to one URL, through the same guard as every fetch.  Never raises for weather."""

    async def post(self, request: PostRequest) -> Delivery: ...

    async def close(self) -> None: ...


class Channel(Protocol):
    """One way to reach people.  Never raises for weather."""

    @property
    def lane(self) -> LaneKey:
        """The far end: channels of one host share what it may see from us."""
        ...

    async def send(self, notice: Notice, *, at: datetime) -> Delivery: ...


class Outbox(Protocol):
    """What waits to be sent.  A message leaves it only when it was delivered, or is parked for a person."""

    def due(self, channel: ChannelName, *, now: datetime) -> Message | None: ...
    def next_due(self, channel: ChannelName) -> datetime | None: ...
    def sent_since(self, channel: ChannelName, since: datetime) -> int: ...
    def sent(self, message: Message, *, at: datetime) -> None: ...
    def later(self, message: Message, *, at: datetime, error: str) -> None: ...
    def park(self, message: Message, *, error: str) -> None: ...
    def hold(self, message: Message, *, until: datetime) -> None:
        """It waits for the digest of that moment."""
        ...

    def gather(
        self, channel: ChannelName, *, now: datetime, make: Callable[[datetime, Sequence[Notice]], Notice]
    ) -> None:
        """What waited for digests that are due becomes one message each, in one step with its members."""
        ...

    def lane(self, key: LaneKey) -> LaneState: ...
    def save_lane(self, key: LaneKey, state: LaneState) -> None: ...


class WorkQueue(Protocol[W, R]):
    """What one worker serves (`engine/stages/queue_worker.py`)."""

    async def take(self) -> W | Idle:
        """The next work, leased where it has a lease."""
        ...

    async def perform(self, work: W) -> R: ...

    async def extend(self, work: W) -> None:
        """The worker is still at it."""
        ...

    async def end(self, work: W, result: R) -> int:
        """It is done; how many jobs that were."""
        ...

    async def failed(self, work: W | None, error: Exception) -> int | Idle:
        """Our own code failed on this work, or beside any.  Parks it, or raises what the worker cannot go on with."""
        ...


class JobBus(Protocol):
    """Named queues of jobs.  `tests/stages/jobbus_contract.py` says what every bus promises."""

    def add(self, jobs: Sequence[NewJob], *, now: datetime) -> list[str]:
        """All of them or none; gives their ids.  An id that the queue knows already stays as it is."""
        ...

    def take(self, queue: str, *, worker: str, now: datetime) -> QueuedJob | None:
        """The next job that may start, leased; None: there is none, or the queue's rule says wait."""
        ...

    def take_some(self, queue: str, *, worker: str, now: datetime, most: int) -> list[QueuedJob]:
        """The same for up to so many at once, in one step."""
        ...

    def extend(self, job: QueuedJob, *, now: datetime) -> bool:
        """The worker is still at it.  False: the lease was lost, and the job is another's."""
        ...

    def done(self, job: QueuedJob, *, now: datetime, result: Data | None = None) -> None: ...

    def failed(self, job: QueuedJob, *, now: datetime, error: str) -> datetime | None:
        """When it is tried again; None: its attempts are used up and it is parked."""
        ...

    def end(self, ends: Sequence[JobEnd], *, now: datetime) -> list[datetime | None]:
        """Many ends and the jobs that follow from them, all or none; when each is tried again, as of `failed`.

        The end of a job whose lease was lost is passed over, with what would follow from it.  A job that is new and
        done is kept like one that was taken.
        """
        ...

    def depth(self, queue: str, *, now: datetime) -> Depth: ...
    def parked(self, queue: str | None = None, *, most: int = 100) -> list[ParkedJob]: ...
    def retry(self, queue: str, job_id: str, *, now: datetime) -> bool:
        """A parked job gets all its attempts again."""
        ...

    def drop(self, queue: str, job_id: str) -> bool: ...
    def lose(self, worker: str, *, now: datetime) -> int:
        """A worker of this name starts, so the one before it is gone: its jobs are tried again.  How many."""
        ...

    def close(self) -> None: ...


class JobRows(JobBus, Protocol):
    """The rows behind a bus whose jobs another engine carries (`store/handed_jobs.py`)."""

    def rule(self, queue: str) -> QueueRule: ...
    def room(self, queue: str, *, now: datetime) -> int:
        """How many may start now.  What workers have lost is given back first."""
        ...

    def lease(self, queue: str, delivered: Sequence[Delivered], *, worker: str, now: datetime) -> list[Lease]:
        """One answer for each.  A job that no row knows gets one."""
        ...

    def settle(
        self, ends: Sequence[JobEnd], *, now: datetime, rules: Mapping[tuple[str, str], QueueRule]
    ) -> list[JobSettled]:
        """As `end`, for jobs with rules of their own, by queue and id."""
        ...

    def unqueued(self, queue: str, *, most: int) -> list[HandOver]:
        """Rows that wait and that the engine does not carry yet, the first due first."""
        ...

    def queued(self, queue: str, *, after: str, most: int) -> list[str]:
        """Ids of rows that wait and that the engine carries, in order of their ids."""
        ...

    def queued_count(self, queue: str) -> int: ...
    def unqueued_count(self, queue: str) -> int: ...
    def mark_queued(self, queue: str, ids: Sequence[str], *, now: datetime | None) -> None:
        """The engine carries them; None: it does not."""
        ...

    def ended_elsewhere(self, queue: str, ends: Sequence[EndElsewhere], *, now: datetime) -> int:
        """Rows that wait are done or parked by what another program says; how many."""
        ...
