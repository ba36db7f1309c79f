"""Follows ordered looks through the store, whoever makes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from vedette.contracts.watch import Visit, Watch
    from vedette.contracts.words import LaneKey, WatchId
    from vedette.core.lanes.turn_forecast import TurnForecast
    from vedette.report.looks import Looked
    from vedette.report.why_not import WhyNotAnswer
    from vedette.store.queries import Queries
    from vedette.surface.cli.session import Session
    from vedette.telemetry.events import Event

RECENT = 20  # visits and changes of one watch among which those since the order are looked for


class Follower:
    """The order, what is still waited for, and what was seen."""

    def __init__(self, session: Session, watches: Sequence[Watch]) -> None:
        self._session = session
        self._watches = {watch.id: watch for watch in watches}
        now = session.now()
        self._at = now.replace(microsecond=now.microsecond // 1000 * 1000)  # as the store keeps times
        self._done: dict[WatchId, Looked] = {}
        self._after = 0  # the orders come after this one
        self.waits_for: dict[WatchId, LaneKey] = {}
        self.is_stopped = False
        self.progress: Callable[[int, int], None] = lambda done, whole: None

    def order(self) -> None:
        """Those of a source that is paused or removed are not ordered."""
        from vedette.store.operator import order_looks

        with self._session.queries() as queries:
            active = {view.source.id for view in queries.sources() if view.source.is_active}
        self.waits_for = {i: watch.lane for i, watch in self._watches.items() if watch.source in active}
        with self._session.operating() as db:
            self._after = order_looks(db, self.waits_for, now=self._at)

    def turns(self) -> dict[LaneKey, TurnForecast]:
        """When the turn of each lane comes, and how long its looks take.  A running engine has others to look at."""
        from vedette.config.policies import lane_policies
        from vedette.contracts.lane import LaneState
        from vedette.core.lanes.turn_forecast import turn
        from vedette.store.operator import lock_holder

        policies = lane_policies(self._session.loaded.config)
        is_shared = lock_holder(self._session.loaded.data) is not None
        found = {}
        with self._session.queries() as queries:
            for lane, looks in Counter(self.waits_for.values()).items():
                state = queries.lane(lane) or LaneState()
                due = queries.due_in(lane, self._at) if is_shared else looks
                ahead = max(due - looks, 0)
                found[lane] = turn(policies.of(lane), state, self._at, looks=looks, ahead=ahead)
        return found

    def run(self, until: datetime) -> None:
        """No engine runs: we make the looks."""
        from vedette.app.run import RunRequest
        from vedette.store.queries import Queries

        left = (until - self._session.now()).total_seconds()
        request = RunRequest(looks=tuple(self.waits_for.items()), ordered_after=self._after, seconds=left)
        reading: list[Queries] = []  # one connection for the thread that events come from

        def hear(event: Event) -> None:
            if event.name == "visited":
                if not reading:
                    reading.append(Queries(self._session.store()))
                self._hear(reading[0], event)

        try:
            ended = self._session.engine().run_engine(self._session.loaded, request, on_event=hear)
        finally:
            for queries in reading:
                queries.close()
        if ended.error is not None:
            raise ended.error
        self.is_stopped = ended.by == "stopped"

    def poll(self) -> bool:
        """What an engine of another process has seen.  True: all of it."""
        with self._session.queries() as queries:
            for watch in queries.looked_at(list(self.waits_for), since=self._at):
                self._take(queries, watch)
            self._order_again(queries)
        return not self.waits_for

    def report(self) -> bool:
        """Says what was not seen and why; gives whether all of it was seen."""
        from vedette.report.looks import IS_SEEN, looks_json, summary

        with self._session.queries() as queries:
            for number in [i for i in self._watches if i not in self._done]:
                self._end(queries, number)
        looks = [self._done[number] for number in self._watches]
        out = self._session.out
        if out.as_json:
            out.document(looks_json(looks, self._at))
        else:
            out.note(summary(looks))
        return all(one.saw in IS_SEEN for one in looks)

    def _hear(self, queries: Queries, event: Event) -> None:
        from vedette.core.urls.canonical import watch_id

        watch = queries.watch(watch_id(str(event.fields["url"])))
        if watch is not None and watch.id in self.waits_for:
            self._take(queries, watch)

    def _take(self, queries: Queries, watch: Watch) -> None:
        """A look was made.  It is the last one unless a second look or another try is to come."""
        from vedette.core.lanes.outcomes import MEANING

        visits = self._visits(queries, watch.id)
        if not visits:
            return
        is_second = watch.pending is not None and watch.due_at is not None
        is_retried = MEANING[visits[0].outcome].retry and not queries.parked(watch.id)
        if not is_second and not is_retried:
            self._end(queries, watch.id)

    def _end(self, queries: Queries, number: WatchId) -> None:
        from vedette.report.looks import looked_lines

        self.waits_for.pop(number, None)
        looked = self._done[number] = self._looked(queries, number)
        if not self._session.given.as_json:
            self._session.out.lines(looked_lines(looked))
        self.progress(len(self._done), len(self._watches))

    def _looked(self, queries: Queries, number: WatchId) -> Looked:
        from vedette.contracts.change import ChangeState
        from vedette.report.looks import Looked
        from vedette.store.views import ChangeFilter

        before = self._watches[number]
        watch = queries.watch(number) or before
        visits = self._visits(queries, number)
        told = ChangeFilter(watch=number, states=(ChangeState.CONFIRMED, ChangeState.REPORTED))
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
        from vedette.operations.why_not import facts_of
        from vedette.report.plain import when
        from vedette.report.why_not import WhyNotAnswer, why_not

        answer = why_not(facts_of(self._session.installation, queries, watch.url))[0]
        if answer.code not in ("no_engine", "waiting"):
            return answer
        now = self._session.now()
        at, why = self._turn_of(queries, watch.lane, now)
        words = (
            f"Its turn in {watch.lane} comes {when(at, now)}{why}" if at > now else "Its turn did not come"
        )
        return WhyNotAnswer(
            "waiting", f"{words}.", "It stays due: the next run looks at it; --patience waits longer."
        )

    def _turn_of(self, queries: Queries, lane: LaneKey, now: datetime) -> tuple[datetime, str]:
        """When one look may start in this lane, and what it waits for."""
        from vedette.config.policies import lane_policies
        from vedette.contracts.lane import LaneState
        from vedette.core.lanes.turn_forecast import turn
        from vedette.lanes.look_budgets import LookBudgets

        config = self._session.loaded.config
        schedule = config.schedule
        budget = LookBudgets(schedule.budget_per_day, schedule.host_budget_per_day, load=queries.lane)
        first = turn(lane_policies(config).of(lane), queries.lane(lane) or LaneState(), now, looks=1)
        opens, starts = budget.opens_at(lane, now) or now, first.start_at or now
        if opens > starts:
            return opens, " (the budget of looks is spent)"
        return starts, f" ({first.reason.note})" if first.reason and first.reason.note else ""

    def _order_again(self, queries: Queries) -> None:
        """A look that was under way when we ordered has written its own due time over ours."""
        from vedette.store.operator import order_looks

        now = self._session.now()
        lost = [
            number
            for number in queries.not_due(list(self.waits_for), now, since=self._at)
            if queries.lease(number) is None
        ]
        if lost:
            with self._session.operating() as db:
                order_looks(db, lost, now=now)
