"""What is measured.  spec 001's five `worker_*` metrics under their names, and ours; labels are never URLs.

Counted from committed groups, in the thread that committed them: a figure is of what is on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.watch import Group, Placed
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING
from vedette.core.urls.canonical import host_of
from vedette.telemetry.metrics import Counter, Gauge, Histogram, Registry

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
    read_at: Gauge = field(
        default_factory=lambda: Gauge(
            "vedette_gauges_timestamp_seconds", "When the figures of the store were read."
        )
    )
    build: Gauge = field(
        default_factory=lambda: Gauge("vedette_build_info", "The version that runs.", ("version",))
    )

    def registry(self) -> Registry:
        names = [name for name in self.__dataclass_fields__ if name != "domains"]
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
