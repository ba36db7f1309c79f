"""What the server saw: every request, every limit broken, every forbidden page that was asked for."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import NamedTuple

from vedette.livingweb.world import Limits

KEPT_REQUESTS = 250_000
KEPT_DETAILS = 1_000


class Seen(NamedTuple):
    """One request.  `at` is the time by which limits are counted."""

    at: float
    host: str
    target: str
    status: int
    user_agent: str
    at_once: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A limit that a client broke."""

    at: float
    host: str
    target: str
    limit: str  # gap | at_once | per_minute
    measured: float
    allowed: float


class Journal:
    """The record of all hosts."""

    def __init__(self) -> None:
        self.requests: deque[Seen] = deque(maxlen=KEPT_REQUESTS)
        self.violations: deque[Violation] = deque(maxlen=KEPT_DETAILS)
        self.violation_counts: Counter[str] = Counter()
        self.bans: Counter[str] = Counter()  # host -> how often it shut someone out
        self.forbidden: deque[Seen] = deque(maxlen=KEPT_DETAILS)
        self.forbidden_count = 0
        self.statuses: Counter[int] = Counter()
        self.page_fetches: Counter[tuple[int, int]] = (
            Counter()
        )  # (host, page) -> answered with the page or 304
        self.bytes_out = 0

    def write(self, seen: Seen, *, forbidden: bool) -> None:
        self.requests.append(seen)
        self.statuses[seen.status] += 1
        if forbidden:
            self.forbidden.append(seen)
            self.forbidden_count += 1

    def violate(self, violation: Violation) -> None:
        self.violations.append(violation)
        self.violation_counts[violation.limit] += 1


class HostCount:
    """One host's own count of who comes when."""

    __slots__ = (
        "_banned_until",
        "_journal",
        "_last",
        "_limits",
        "_minute",
        "_strikes",
        "least_gap",
        "most_at_once",
        "name",
        "requests",
        "under_way",
    )

    def __init__(self, name: str, limits: Limits, journal: Journal) -> None:
        self.name = name
        self.requests = 0
        self.under_way = 0
        self.most_at_once = 0
        self.least_gap: float | None = None
        self._limits = limits
        self._journal = journal
        self._last: float | None = None
        self._minute: deque[float] = deque()
        self._strikes = 0
        self._banned_until = float("-inf")

    def begin(self, at: float, target: str) -> None:
        """A request starts; every limit is checked against it."""
        limits = self._limits
        self.requests += 1
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        if self._last is not None:
            gap = at - self._last
            if self.least_gap is None or gap < self.least_gap:
                self.least_gap = gap
            if limits.min_gap and gap < limits.min_gap - limits.slack:
                self._violate(at, target, "gap", gap, limits.min_gap)
        self._last = at
        if limits.at_once and self.under_way > limits.at_once:
            self._violate(at, target, "at_once", self.under_way, limits.at_once)
        if limits.per_minute:
            self._count_minute(at, target)

    def end(self) -> None:
        self.under_way -= 1

    def is_banned(self, at: float) -> bool:
        return at < self._banned_until

    def _count_minute(self, at: float, target: str) -> None:
        minute = self._minute
        minute.append(at)
        while minute[0] <= at - 60.0 + self._limits.slack:
            minute.popleft()
        if len(minute) > self._limits.per_minute:
            self._violate(at, target, "per_minute", len(minute), self._limits.per_minute)

    def _violate(self, at: float, target: str, limit: str, measured: float, allowed: float) -> None:
        self._journal.violate(Violation(at, self.name, target, limit, measured, allowed))
        self._strikes += 1
        if self._limits.ban_after and self._strikes >= self._limits.ban_after and not self.is_banned(at):
            self._strikes, self._banned_until = 0, at + self._limits.ban_for
            self._journal.bans[self.name] += 1


def stats_of(journal: Journal, hosts: list[HostCount]) -> dict[str, object]:
    """Plain values for JSON."""
    return {
        "requests": sum(host.requests for host in hosts),
        "statuses": {str(status): count for status, count in sorted(journal.statuses.items())},
        "bytes_out": journal.bytes_out,
        "pages_fetched": len(journal.page_fetches),
        "page_fetches": sum(journal.page_fetches.values()),
        "forbidden": journal.forbidden_count,
        "forbidden_requests": [seen._asdict() for seen in journal.forbidden],
        "violations": sum(journal.violation_counts.values()),
        "violation_counts": dict(journal.violation_counts),
        "bans": dict(journal.bans),
        "violation_details": [asdict(violation) for violation in journal.violations],
        "hosts": {
            host.name: {
                "requests": host.requests,
                "under_way": host.under_way,
                "most_at_once": host.most_at_once,
                "least_gap": host.least_gap,
            }
            for host in hosts
            if host.requests
        },
    }
