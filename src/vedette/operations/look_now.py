"""A look now: the order, the wait for its turn, and what was seen.

An engine that runs elsewhere makes the looks; without one they are made here.
"""

from __future__ import annotations

import asyncio
import difflib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from vedette.config.model import Loaded
from vedette.config.pace_policies import lane_policies
from vedette.contracts.errors import RefusedError, VedetteError
from vedette.contracts.events import Event, Visited
from vedette.contracts.lane import LaneState
from vedette.contracts.watch import Visit, Watch
from vedette.contracts.words import LaneKey, WatchId
from vedette.core.lanes.lane import TurnForecast, turn
from vedette.core.lanes.outcomes import MEANING
from vedette.core.urls.canonical import host_of, watch_id
from vedette.engine.crawl.run import RunRequest
from vedette.lanes.look_budgets import LookBudgets
from vedette.operations.arguments import TOLD, a_url
from vedette.operations.installation import Installation
from vedette.operations.sources import save_configured
from vedette.operations.why_not import facts_of
from vedette.report.looks import Looked
from vedette.report.plain import when
from vedette.report.why_not import WhyNotAnswer, why_not
from vedette.store.operator import lock_holder, order_looks
from vedette.store.queries import Queries
from vedette.store.views import ChangeFilter, WatchFilter

if TYPE_CHECKING:  # all that fetches: 450 modules, 0.6 s, not needed where an engine runs elsewhere
    from vedette.engine.crawl.loop import Ended

GRACE = timedelta(minutes=30)  # beyond the estimate: retries, second looks, a Crawl-delay that is news to us
POLL = timedelta(seconds=0.5)
NEAR = 2000  # watches of a host among which the nearest URL is looked for
RECENT = 20  # visits and changes of one watch among which those since the order are looked for


class LookEngine(Protocol):
    """What makes looks: `vedette.operations.probe`, or what a test plays."""

    def run_engine(
        self, loaded: Loaded, request: RunRequest, *, on_event: Callable[[Event], None]
    ) -> Ended: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LookForecast:
    """When the turn of each lane comes, and for how long it is waited at most."""

    at: datetime
    looks: int
    turns: Mapping[LaneKey, TurnForecast]
    limit: timedelta

    @property
    def longest(self) -> timedelta:
        return _longest(self.turns, self.at)

    @property
    def until(self) -> datetime:
        return self.at + self.limit


Tell = Callable[[Looked, int, int], None]  # what was seen, how many of how many were


def order_looks_now(
    installation: Installation,
    urls: Sequence[str],
    source: str | None,
    engine: Callable[[], LookEngine],
    on_looked: Tell,
) -> OrderedLooks:
    """Orders a look at each URL, or at all that is watched of a source, or at all that is watched.

    What stands in vedette.yaml is watched, before the first run too.  `engine` is called where none runs elsewhere.
    """
    installation.check_source(source)
    save_configured(installation)
    with installation.queries() as queries:
        watches = _chosen(queries, urls, source)
    if not watches:
        raise VedetteError("nothing is watched there; `vedette add URL` makes a watch")
    return OrderedLooks(installation, watches, engine, on_looked)


def order_look(installation: Installation, urls: Sequence[str], source: str | None) -> dict[str, object]:
    """The order alone: an engine that runs makes the looks, or the next run does."""
    ordered = order_looks_now(installation, urls, source, _nobody, lambda *told: None)
    told = ordered.forecast(None)
    turns = {lane: one.start_at for lane, one in told.turns.items()}
    return {"ordered_at": ordered.ordered_at, "looks": told.looks, "turns": turns}


def _nobody() -> LookEngine:
    raise AssertionError("an order alone makes no look")


class OrderedLooks:
    """What is still waited for, and what was seen.  Followed through the store, whoever makes the looks."""

    def __init__(
        self,
        installation: Installation,
        watches: Sequence[Watch],
        engine: Callable[[], LookEngine],
        on_looked: Tell,
    ) -> None:
        self._installation, self._engine, self._on_looked = installation, engine, on_looked
        self._watches = {watch.id: watch for watch in watches}
        now = installation.now()
        self._at = now.replace(microsecond=now.microsecond // 1000 * 1000)  # as the store keeps times
        self._done: dict[WatchId, Looked] = {}
        self.is_stopped = False  # by a signal, in the middle of our own run
        self.waits_for, self._after = self._order()

    @property
    def ordered_at(self) -> datetime:
        return self._at

    def forecast(self, patience: timedelta | None) -> LookForecast:
        """`patience`: how long is waited at most; None: the estimate, and half an hour more."""
        now, turns = self._installation.now(), self._turns()
        limit = _longest(turns, now) + GRACE if patience is None else patience
        return LookForecast(at=now, looks=len(self.waits_for), turns=turns, limit=limit)

    def wait(self, until: datetime) -> None:
        """Until all was seen or the time is over."""
        now, clock = self._installation.now, self._installation.clock
        while self.waits_for and now() < until and not self.is_stopped:
            if lock_holder(self._installation.loaded.data) is None:
                try:
                    self._run(until)
                    return
                except RefusedError:
                    continue  # another engine was faster: it has the order
            if self._poll():
                break
            asyncio.run(clock.pause(asyncio.Event(), min(now() + POLL, until), is_busy=False))

    def finish(self) -> list[Looked]:
        """All of them, with what was not seen and why.  Those orders stand: the next run makes them."""
        with self._installation.queries() as queries:
            for number in [i for i in self._watches if i not in self._done]:
                self._end(queries, number)
        return [self._done[number] for number in self._watches]

    def _order(self) -> tuple[dict[WatchId, LaneKey], int]:
        """What was ordered, and after which order; those of a source that is paused or removed are not."""
        with self._installation.queries() as queries:
            active = {view.source.id for view in queries.sources() if view.source.is_active}
        wanted = {i: watch.lane for i, watch in self._watches.items() if watch.source in active}
        with self._installation.operating() as db:
            return wanted, order_looks(db, wanted, now=self._at)

    def _turns(self) -> dict[LaneKey, TurnForecast]:
        """When the turn of each lane comes, and how long its looks take: they come before all that is due there."""
        policies = lane_policies(self._installation.loaded.config)
        found = {}
        with self._installation.queries() as queries:
            for lane, looks in Counter(self.waits_for.values()).items():
                state = queries.lane(lane) or LaneState()
                found[lane] = turn(policies.of(lane), state, self._at, looks=looks)
        return found

    def _run(self, until: datetime) -> None:
        """No engine runs: we make the looks."""
        engine = self._engine()
        left = (until - self._installation.now()).total_seconds()
        request = RunRequest(looks=tuple(self.waits_for.items()), ordered_after=self._after, seconds=left)
        reading: list[Queries] = []  # one connection for the thread that events come from

        def hear(event: Event) -> None:
            if isinstance(event, Visited):
                if not reading:
                    reading.append(Queries(self._installation.store()))
                self._hear(reading[0], event)

        try:
            ended = engine.run_engine(self._installation.loaded, request, on_event=hear)
        finally:
            for queries in reading:
                queries.close()
        if ended.error is not None:
            raise ended.error
        self.is_stopped = ended.by == "stopped"

    def _poll(self) -> bool:
        """What an engine of another process has seen.  True: all of it."""
        with self._installation.queries() as queries:
            for watch in queries.looked_at(list(self.waits_for), since=self._at):
                self._take(queries, watch)
            self._order_again(queries)
        return not self.waits_for

    def _hear(self, queries: Queries, event: Visited) -> None:
        watch = queries.watch(watch_id(event.url))
        if watch is not None and watch.id in self.waits_for:
            self._take(queries, watch)

    def _take(self, queries: Queries, watch: Watch) -> None:
        """A look was made.  It is the last one unless a second look or another try is to come."""
        visits = self._visits(queries, watch.id)
        if not visits:
            return
        is_second = watch.pending is not None and watch.due_at is not None
        is_retried = MEANING[visits[0].outcome].retry and not queries.parked(watch.id)
        if not is_second and not is_retried:
            self._end(queries, watch.id)

    def _end(self, queries: Queries, number: WatchId) -> None:
        self.waits_for.pop(number, None)
        looked = self._done[number] = self._looked(queries, number)
        self._on_looked(looked, len(self._done), len(self._watches))

    def _looked(self, queries: Queries, number: WatchId) -> Looked:
        before = self._watches[number]
        watch = queries.watch(number) or before
        visits = self._visits(queries, number)
        told = ChangeFilter(watch=number, states=TOLD)
        return Looked(
            watch=watch,
            is_first=before.seen is None,
            visit=visits[0] if visits else None,
            changes=tuple(
                view.change
                for view in queries.changes(told, most=RECENT)
                if (view.decided_at or view.change.observed_at) >= self._at
            ),
            found=queries.count_found(number, since=self._at) if watch.lister else 0,
            why=None if visits else self._why_not(queries, watch),
        )

    def _visits(self, queries: Queries, number: WatchId) -> list[Visit]:
        """Since the order, newest first."""
        return [visit for visit in queries.visits(number, most=RECENT) if visit.at >= self._at]

    def _why_not(self, queries: Queries, watch: Watch) -> WhyNotAnswer:
        """What keeps it from being looked at; where that is only its turn, when that comes."""
        answer = why_not(facts_of(self._installation, queries, watch.url))[0]
        if answer.code not in ("no_engine", "waiting"):
            return answer
        now = self._installation.now()
        at, why = self._turn_of(queries, watch.lane, now)
        words = (
            f"Its turn in {watch.lane} comes {when(at, now)}{why}" if at > now else "Its turn did not come"
        )
        return WhyNotAnswer(
            "waiting", f"{words}.", "It stays due: the next run looks at it; --patience waits longer."
        )

    def _turn_of(self, queries: Queries, lane: LaneKey, now: datetime) -> tuple[datetime, str]:
        """When one look may start in this lane, and what it waits for."""
        config = self._installation.loaded.config
        schedule = config.schedule
        budget = LookBudgets(schedule.budget_per_day, schedule.host_budget_per_day, load=queries.lane)
        first = turn(lane_policies(config).of(lane), queries.lane(lane) or LaneState(), now, looks=1)
        opens, starts = budget.opens_at(lane, now) or now, first.start_at or now
        if opens > starts:
            return opens, " (the budget of looks is spent)"
        return starts, f" ({first.reason.note})" if first.reason and first.reason.note else ""

    def _order_again(self, queries: Queries) -> None:
        """A look that was under way when we ordered has written its own due time over ours."""
        now = self._installation.now()
        lost = [
            number
            for number in queries.not_due(list(self.waits_for), now, since=self._at)
            if queries.lease(number) is None
        ]
        if lost:
            with self._installation.operating() as db:
                order_looks(db, lost, now=now)


def _longest(turns: Mapping[LaneKey, TurnForecast], now: datetime) -> timedelta:
    """Until the last look of the slowest lane."""
    return max((turn.end_at for turn in turns.values() if turn.end_at is not None), default=now) - now


def _chosen(queries: Queries, urls: Sequence[str], source: str | None) -> list[Watch]:
    if urls:
        return list({(watch := _known(queries, url)).id: watch for url in urls}.values())
    chosen = queries.watches(WatchFilter(source=source))
    return [watch for watch in chosen if watch.merged_into is None and watch.due_at is not None]


def _known(queries: Queries, url: str) -> Watch:
    """The watch of a URL in any spelling, merged ones followed; the error names the nearest that is watched."""
    wanted = a_url(url)
    watch = queries.watch(watch_id(wanted))
    if watch is not None and watch.merged_into is not None:
        watch = queries.watch(watch.merged_into) or watch
    if watch is not None:
        return watch
    there = [one.url for one in queries.watches(WatchFilter(host=host_of(wanted)), most=NEAR)]
    known = there or [view.source.url for view in queries.sources()]
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)
    hint = f"; the nearest that is watched is {near[0]}" if near else ""
    raise VedetteError(f"{wanted} is not watched{hint}; watch it: vedette add {wanted}")
