"""What is measured, and its text for Prometheus (exposition format 0.0.4).

The five `worker_*` metrics of spec 001 under their names, and ours; labels are never URLs.  Counted from committed
groups, in the thread that committed them: a figure is of what is on disk.  Small on purpose: an increment is
one dict write, so a crawl does not feel it.  Each metric has one writing thread; a scrape copies what it reads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.watch import Group, Placed, Settlement
from vedette.contracts.words import Outcome
from vedette.contracts.workers import RoleLoad
from vedette.core.lanes.outcomes import MEANING
from vedette.core.urls.canonical import host_of

Labels = tuple[str, ...]
Sample = tuple[Labels, float]
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


@dataclass(slots=True)
class Counter:
    """Only ever grows."""

    name: str
    words: str
    labels: Labels = ()
    values: dict[Labels, float] = field(default_factory=dict)

    kind = "counter"

    def add(self, key: Labels = (), by: float = 1.0) -> None:
        self.values[key] = self.values.get(key, 0.0) + by

    def lines(self) -> Iterator[str]:
        for key, value in list(self.values.items()):
            yield f"{self.name}{_marks(self.labels, key)} {_number(value)}"


@dataclass(slots=True)
class Gauge:
    """A value of now: set, or asked for when it is read."""

    name: str
    words: str
    labels: Labels = ()
    values: dict[Labels, float] = field(default_factory=dict)

    kind = "gauge"

    def set(self, value: float, key: Labels = ()) -> None:
        self.values[key] = value

    def replace(self, samples: Iterable[Sample]) -> None:
        """All of them at once: what is not named any more is gone."""
        self.values = dict(samples)

    def lines(self) -> Iterator[str]:
        for key, value in list(self.values.items()):
            yield f"{self.name}{_marks(self.labels, key)} {_number(value)}"


@dataclass(slots=True)
class Histogram:
    name: str
    words: str
    labels: Labels = ()
    buckets: tuple[float, ...] = SECONDS
    counts: dict[Labels, list[int]] = field(default_factory=dict)
    sums: dict[Labels, float] = field(default_factory=dict)

    kind = "histogram"

    def observe(self, value: float, key: Labels = ()) -> None:
        counts = self.counts.get(key)
        if counts is None:
            self.sums[key] = 0.0
            counts = self.counts[key] = [0] * (len(self.buckets) + 1)
        counts[bisect_left(self.buckets, value)] += 1
        self.sums[key] += value

    def lines(self) -> Iterator[str]:
        for key, found in list(self.counts.items()):
            counts, below = list(found), 0
            for bound, count in zip((*map(_number, self.buckets), "+Inf"), counts, strict=True):
                below += count
                yield f"{self.name}_bucket{_marks((*self.labels, 'le'), (*key, bound))} {below}"
            yield f"{self.name}_sum{_marks(self.labels, key)} {_number(self.sums[key])}"
            yield f"{self.name}_count{_marks(self.labels, key)} {below}"


Metric = Counter | Gauge | Histogram


@dataclass(slots=True)
class Registry:
    metrics: tuple[Metric, ...]
    before: list[Callable[[], None]] = field(default_factory=list)  # asked before every reading

    def text(self) -> str:
        """What a scrape reads."""
        for refresh in self.before:
            refresh()
        return "".join(_block(metric) for metric in self.metrics)


def _block(metric: Metric) -> str:
    head = f"# HELP {metric.name} {metric.words}\n# TYPE {metric.name} {metric.kind}\n"
    return head + "".join(f"{line}\n" for line in metric.lines())


def _marks(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return "{" + inner + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


WORKER, LOOKS = "sentinel", "fetch"  # our looks, in spec 001's words: worker and queue
OTHER = "other"  # every host that is no configured source
PAGE = ("host",)
_STATUS = {
    outcome: "failed" if meaning.counts_against_lane or meaning.counts_against_source else "completed"
    for outcome, meaning in MEANING.items()
}
_PROCESSED = {outcome: (WORKER, status, LOOKS) for outcome, status in _STATUS.items()}
_FETCHED = {outcome: ("host", outcome.value) for outcome in Outcome}
_DURATION = (WORKER, LOOKS)


@dataclass(slots=True)
class Meters:
    """Every metric of the program.  `domains` are the hosts that may be named in a label."""

    domains: frozenset[str] = frozenset()
    objectives: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # by risk: hours, share
    jobs: Counter = field(
        default_factory=lambda: Counter(
            "worker_jobs_processed_total", "Jobs that ended.", ("worker", "status", "queue")
        )
    )
    durations: Histogram = field(
        default_factory=lambda: Histogram(
            "worker_job_duration_seconds", "How long jobs took.", ("worker", "queue")
        )
    )
    depth: Gauge = field(
        default_factory=lambda: Gauge("worker_queue_depth", "Jobs that wait in a queue.", ("queue",))
    )
    active: Gauge = field(
        default_factory=lambda: Gauge("worker_active_jobs", "Jobs that are under way.", ("worker",))
    )
    throttled: Counter = field(
        default_factory=lambda: Counter(
            "worker_rate_limit_hits_total", "Answers that asked us to slow down.", ("worker", "domain")
        )
    )
    fetches: Counter = field(
        default_factory=lambda: Counter("vedette_fetch_total", "Looks that ended.", ("lane_kind", "outcome"))
    )
    fetch_seconds: Histogram = field(
        default_factory=lambda: Histogram(
            "vedette_fetch_duration_seconds", "How long looks took.", ("lane_kind",)
        )
    )
    fetch_bytes: Counter = field(
        default_factory=lambda: Counter("vedette_fetch_bytes_total", "Bytes of bodies as they came.")
    )
    changes: Counter = field(
        default_factory=lambda: Counter(
            "vedette_changes_total", "Changes that were reported.", ("kind", "risk")
        )
    )
    promised: Counter = field(
        default_factory=lambda: Counter(
            "vedette_objective_changes_total",
            "Looks that showed a change, of risk classes with an objective.",
            ("risk",),
        )
    )
    in_time: Counter = field(
        default_factory=lambda: Counter(
            "vedette_objective_in_time_total",
            "Of these, how many are expected to have come within the objective: a change came at a uniform moment "
            "since the look before.",
            ("risk",),
        )
    )
    shares: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_objective_share", "Share of changes that must be seen in time.", ("risk",)
        )
    )
    found: Counter = field(default_factory=lambda: Counter("vedette_found_total", "New watches."))
    parked: Counter = field(
        default_factory=lambda: Counter(
            "vedette_parked_total", "Jobs that used up their attempts.", ("outcome",)
        )
    )
    breakers: Counter = field(
        default_factory=lambda: Counter(
            "vedette_breaker_opened_total", "Times that the breaker of a lane opened."
        )
    )
    chosen: Counter = field(
        default_factory=lambda: Counter("vedette_hunt_chosen_total", "Open pages that the hunt chose.")
    )
    commits: Counter = field(
        default_factory=lambda: Counter("vedette_commits_total", "Groups that were committed.")
    )
    committed_at: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_last_commit_timestamp_seconds", "When the last group was committed."
        )
    )
    told: Counter = field(
        default_factory=lambda: Counter(
            "vedette_notifications_total", "Attempts to tell someone.", ("channel", "outcome")
        )
    )
    due: Gauge = field(
        default_factory=lambda: Gauge("vedette_due_watches", "Watches that are due.", ("risk",))
    )
    oldest_due: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_oldest_due_seconds", "How long the oldest due watch waits.", ("risk",)
        )
    )
    lanes: Gauge = field(
        default_factory=lambda: Gauge("vedette_lanes", "Lanes by what holds them.", ("condition",))
    )
    alerts: Gauge = field(
        default_factory=lambda: Gauge("vedette_alerts_open", "Alerts that are open.", ("type",))
    )
    outbox: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_outbox_messages", "Messages that are not sent.", ("channel", "state")
        )
    )
    evidence: Gauge = field(
        default_factory=lambda: Gauge("vedette_evidence_bytes", "Size of the archive as committed.")
    )
    role_workers: Gauge = field(
        default_factory=lambda: Gauge("vedette_workers", "Workers that were heard of lately.", ("role",))
    )
    role_due: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_role_due",
            "Work that waits for workers of a role: lanes, jobs, cells, messages.",
            ("role",),
        )
    )
    role_late: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_role_late_seconds", "How long the oldest of that work has waited.", ("role",)
        )
    )
    redis_away: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_queue_redis_away", "1: jobs wait in the database, because Redis cannot be used."
        )
    )
    read_at: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_gauges_timestamp_seconds", "When the figures of the store were read."
        )
    )
    build: Gauge = field(
        default_factory=lambda: Gauge("vedette_build_info", "The version that runs.", ("version",))
    )

    def registry(self) -> Registry:
        names = [name for name in self.__dataclass_fields__ if name not in ("domains", "objectives")]
        self.shares.replace(((risk,), share) for risk, (_, share) in self.objectives.items())
        return Registry(tuple(getattr(self, name) for name in names))

    def hear(self, group: Group, now: datetime) -> None:
        """A group was committed."""
        for placed in group.placed:
            self._hear_look(placed)
        for note in group.notes:
            if note.decision.action == "breaker":
                self.breakers.add()
        if group.hunt is not None and group.hunt.chosen:
            self.chosen.add(by=len(group.hunt.chosen))
        self.commits.add()
        self.committed_at.set(now.timestamp())

    def job_ended(self, queue: str, *, status: str, took: timedelta) -> None:
        """A job of a queue ended: completed or failed."""
        self.jobs.add((queue, status, queue))
        self.durations.observe(took.total_seconds(), (queue, queue))

    def show_roles(self, loads: Iterable[RoleLoad]) -> None:
        """What waits for each role, where several workers share a store: what an autoscaler goes by."""
        found = list(loads)
        self.role_workers.replace(((one.role.value,), float(one.workers)) for one in found)
        self.role_due.replace(((one.role.value,), float(one.due)) for one in found)
        self.role_late.replace(((one.role.value,), one.late.total_seconds()) for one in found)

    def watch_active(self, count: Callable[[], int]) -> Callable[[], None]:
        """Asked before every reading: how many looks are under way."""
        return lambda: self.active.set(float(count()), (WORKER,))

    def _hear_look(self, placed: Placed) -> None:
        settled = placed.settlement
        visit, outcome = settled.visit, settled.visit.outcome
        seconds = visit.took.total_seconds()
        self.jobs.add(_PROCESSED[outcome])
        self.durations.observe(seconds, _DURATION)
        self.fetches.add(_FETCHED[outcome])
        self.fetch_seconds.observe(seconds, PAGE)
        if visit.wire_bytes:
            self.fetch_bytes.add(by=visit.wire_bytes)
        if settled.found:
            self.found.add(by=len(settled.found))
        if outcome is Outcome.THROTTLED:
            host = host_of(settled.watch.url)
            self.throttled.add((WORKER, host if host in self.domains else OTHER))
        if settled.parked is not None:
            self.parked.add((settled.parked.outcome.value,))
        for report in settled.reports:
            self.changes.add((report.kind.value, settled.watch.risk.name))
        if visit.changed:
            self._hear_change(settled)

    def _hear_change(self, settled: Settlement) -> None:
        """Held against the objective of its risk class; every gap counts once (core/freshness/measured.py weighs)."""
        risk, before = settled.watch.risk.name, settled.job.watch.last_visit_at
        if before is None or risk not in self.objectives:
            return
        within, _ = self.objectives[risk]
        hours = (settled.visit.at - before).total_seconds() / 3600
        self.promised.add((risk,))
        self.in_time.add((risk,), by=min(1.0, within / max(hours, 1e-9)))
