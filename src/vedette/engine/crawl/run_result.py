"""What a run gives: the result of spec 001/10.5, counted from committed groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.jobs import HostResult, Miss, Missed, SentinelResult
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import Group, Placed, Settlement
from vedette.contracts.words import LaneKey, Outcome, SourceId, WatchId
from vedette.core.health.source_health import is_success
from vedette.core.lanes.lane import HALF_OPEN, OPEN, condition
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.urls.canonical import host_of

MOST_ERRORS = 1000
MOST_MISSES = 10_000  # named one by one; the others are counted
# What a crawl meets on any site: pages that are gone, and pages that are not for us.
DEAD_LINKS = frozenset({Outcome.GONE, Outcome.SOFT_404, Outcome.CLIENT_ERROR, Outcome.LOGIN_WALL}) | {
    Outcome.ROBOTS_REFUSED
}


@dataclass(slots=True)
class _Host:
    lane: LaneKey
    looks: int = 0
    good: int = 0
    last_success_at: datetime | None = None
    last_error: str = ""


@dataclass(slots=True)
class RunLog:
    """Hears groups in the settler's thread.  `sources`: only these; None: all."""

    sources: Collection[SourceId] | None = None
    addresses: set[WatchId] = field(default_factory=set)
    found: int = 0
    retries: int = 0
    _errors: dict[WatchId, tuple[SourceId, str]] = field(default_factory=dict)
    _hosts: dict[str, _Host] = field(default_factory=dict)
    _elsewhere: _Host = field(default_factory=lambda: _Host(LaneKey("")))  # where a crawl wandered: not told
    _missed: dict[WatchId, Miss] = field(default_factory=dict)
    _more_missed: dict[WatchId, bool] = field(default_factory=dict)  # beyond those; True: a dead link

    def add(self, group: Group) -> None:
        for placed in group.placed:
            if self.sources is None or placed.settlement.watch.source in self.sources:
                self._add_look(placed)

    def result(
        self,
        *,
        took: timedelta,
        now: datetime,
        lane: Callable[[LaneKey], LaneState],
        name: Callable[[SourceId], str] = str,
        failure: str = "",
    ) -> SentinelResult:
        errors = [f"{name(source)}: {words}" for source, words in list(self._errors.values())[:MOST_ERRORS]]
        return SentinelResult(
            success=not failure,
            sources_checked=len(self.addresses),
            new_items_discovered=self.found,
            errors=tuple([failure, *errors] if failure else errors),
            hosts={host: _told(one, lane(one.lane), now) for host, one in sorted(self._hosts.items())},
            took=took,
            retries=self.retries,
        )

    def missed(self, waiting: Iterable[Miss] = ()) -> Missed:
        """What was looked at and not seen, and what still waits for a look."""
        misses = (*self._missed.values(), *waiting)
        links = sum(miss.is_dead_link for miss in misses) + sum(self._more_missed.values())
        total = sum(miss.count for miss in misses) + len(self._more_missed)
        return Missed(misses=misses, count=total, unseen=total - links)

    def _add_miss(self, settled: Settlement) -> None:
        """The last look decides.  A removal that is reported was seen: that the page is gone is what it says."""
        visit, watch = settled.visit, settled.watch
        self._missed.pop(watch.id, None)
        self._more_missed.pop(watch.id, None)
        if visit.outcome in SEEN or (visit.outcome is Outcome.GONE and watch.is_gone):
            return
        is_found = watch.lister is ListerKind.CRAWL and watch.parent is not None
        is_link = is_found and watch.seen is None and visit.outcome in DEAD_LINKS
        if len(self._missed) >= MOST_MISSES:
            self._more_missed[watch.id] = is_link
            return
        self._missed[watch.id] = Miss(
            url=watch.url,
            source=watch.source,
            outcome=visit.outcome,
            detail=visit.detail,
            again_at=watch.due_at,
            is_own=watch.parent is None,
            is_dead_link=is_link,
        )

    def _add_look(self, placed: Placed) -> None:
        settled = placed.settlement
        visit, watch = settled.visit, settled.watch
        meaning = MEANING[visit.outcome]
        self._add_miss(settled)
        self.found += len(settled.found)
        self.retries += settled.job.watch.attempt > 0
        is_own_address = watch.parent is None
        name = host_of(watch.url)
        host = self._hosts.get(name, self._elsewhere)
        if host is self._elsewhere and is_own_address:
            host = self._hosts[name] = _Host(watch.lane)
        host.looks += 1
        if is_own_address:
            self.addresses.add(watch.id)
        if is_success(visit.outcome):
            host.good += 1
            host.last_success_at = visit.at
            if is_own_address:
                self._errors.pop(watch.id, None)
        elif (
            settled.parked
            or meaning.counts_against_lane
            or meaning.counts_against_source
            or meaning.is_refusal
        ):
            words = f"{visit.outcome.value}: {visit.detail}" if visit.detail else visit.outcome.value
            host.last_error = words
            if is_own_address:
                self._errors[watch.id] = (watch.source, words)


def _told(host: _Host, lane: LaneState, now: datetime) -> HostResult:
    is_broken = condition(lane, now) in (OPEN, HALF_OPEN)
    return HostResult(
        is_healthy=not is_broken and host.good > 0,
        success_rate=round(host.good / host.looks, 4) if host.looks else 0.0,
        consecutive_errors=lane.failures,
        is_circuit_broken=is_broken,
        last_success_at=host.last_success_at,
        last_error=host.last_error,
    )
