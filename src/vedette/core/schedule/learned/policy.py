"""`make_policy("learned")`: the scheduler's state machine over rows in memory, and the best k of them now.

Beliefs, waits, listings, failures, reviews and prices are those of `state.py` and `decide.py`, which the engine runs.
What is here is what the database and the lanes are to the engine: rows, a queue by due time, the choice of k, room and
daily budgets of hosts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule.columns import (
    SIGNALS,
    as_dates,
    as_ids,
    as_ranks,
    as_time,
    as_times,
    fits,
    is_good,
    one_each,
)
from vedette.core.schedule.learned.beliefs import NEVER_LOOKED
from vedette.core.schedule.learned.decide import Advanced, LookGroup, advance, taught
from vedette.core.schedule.learned.explain import Subject, explain
from vedette.core.schedule.learned.forecast import ForecastQuestion, forecast
from vedette.core.schedule.learned.learn import GoodLooks
from vedette.core.schedule.learned.listings import weigh
from vedette.core.schedule.learned.memory import LearnedOptions, MemoryRows
from vedette.core.schedule.learned.objectives import TIER
from vedette.core.schedule.learned.review import Sample
from vedette.core.schedule.learned.scheduler_state import REPLAN, SAMPLE
from vedette.core.schedule.learned.settings import FREE_PRICE, WEIGHT
from vedette.core.schedule.learned.value import least_hours, value_now
from vedette.core.schedule.protocol import Explanation, Forecast, Risks

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Flags, Floats, Ints

Rows = NDArray[np.int64]
_POOL = 64  # rows whose value is weighed at every decision, at least
_SURE = 1.0 - 1e-9
_MOST_FAILURES = 100  # counted, in one byte


class LearnedPolicy:
    """Pure: time and outcomes come in as arguments; nothing is drawn by chance."""

    def __init__(self, name: str, options: LearnedOptions) -> None:
        self.name = name
        self._options = options
        self._rows = MemoryRows(with_promises=bool(options.objectives))
        if options.budget_per_day is None:
            self._rows.state.published = replace(self._rows.state.published, price=FREE_PRICE)

    def add(self, ids: Ints, *, risk: Risks, host: Ints, parent: Ints | None = None, now: float) -> None:
        keys = as_ids(ids)
        ranks, hosts = as_ranks(risk, len(keys)), one_each(keys, host, "host")
        parents = np.full(len(keys), -1) if parent is None else one_each(keys, parent, "parent")
        as_time(now)
        memory = self._rows
        before = memory.size
        rows = memory.add(keys, now)
        memory["risk"][rows] = ranks
        memory["host"][rows] = memory.state.hosts.numbers(hosts.tolist())
        self._adopt(rows, parents, rows >= before)
        memory.link_hubs(np.unique(np.concatenate([keys, parents])))
        memory.state.counters.found += memory.size - before
        memory.moved(rows[rows >= before])
        self._plan_anew(rows[rows < before], now)

    def observe(
        self,
        ids: Ints,
        t: float | Floats,
        changed: Flags,
        *,
        last_modified: Floats | None = None,
        status: Ints | None = None,
    ) -> None:
        keys = as_ids(ids)
        seen = np.asarray(changed, bool)
        if seen.shape != keys.shape or len(np.unique(keys)) != len(keys):
            raise InputError("observe needs one `changed` for each id, and every id at most once")
        if not len(keys):
            return
        rows, at = self._known(keys), as_times(t, len(keys))
        good = np.ones(len(keys), bool) if status is None else is_good(one_each(keys, status, "status"))
        looks = GoodLooks(at, seen, as_dates(last_modified, len(keys)))
        late = at < self._rows["last"][rows]
        if late.any():
            raise InputError(
                f"target {int(keys[late][0])} was looked at before its last look; looks come in order"
            )
        self._rows.days.spend(self._rows["host"][rows], at)
        back = self._heard(rows, at, good)
        self._step(rows, looks, good)
        self._try_again(back, float(at.max()))

    def learn(self, ids: Ints, t: Floats, changed: Flags) -> None:
        """Good looks, for who asks for a forecast and nothing else: as `observe`, all ids at once."""
        keys = as_ids(ids)
        looks = GoodLooks(as_times(t, len(keys)), np.asarray(changed, bool), as_dates(None, len(keys)))
        rows, good = self._known(keys), np.ones(len(keys), bool)
        group = self._group(rows, looks, good)
        self._taught(rows, group, taught(group))

    def publish(self) -> None:
        """Go by all that was learned so far, as after a review: for who asks for a forecast."""
        self._rows.state.publish()

    def signal(  # noqa: PLR0913  as the Protocol has it
        self,
        ids: Ints,
        t: float,
        *,
        kind: str,
        source: int | None = None,
        modified: Floats | None = None,
        complete: bool = False,
    ) -> None:
        if kind not in SIGNALS:
            raise InputError(f"unknown signal {kind!r}; use one of {', '.join(sorted(SIGNALS))}")
        as_time(t)
        keys = as_ids(ids)
        dates = as_dates(modified, len(keys))
        keys, first = np.unique(keys, return_index=True)
        rows = self._known(keys)
        hub = self._source(kind, source, rows)
        if hub >= 0:
            self._tell(rows, hub, (t, complete, dates[first]))

    def next(self, t: float, k: int | None, *, host_room: Mapping[int, int] | None = None) -> Rows:
        as_time(t)
        if k is not None and k < 0:
            raise InputError(f"next was asked for {k} targets")
        memory = self._rows
        if k == 0 or not memory.size:
            return np.empty(0, np.int64)
        self._review(t, k)
        self._replan(t)
        pool = _POOL if k is None else max(_POOL, 4 * k)
        while True:
            rows, is_all = memory.first(pool, t)
            chosen = self._choose(rows, t, k, host_room)
            is_enough = is_all if k is None else len(chosen.rows) >= k
            if is_enough or len(rows) >= memory.size:
                break
            pool *= 4
        memory.asked.tier -= int(chosen.urgent.sum())
        ids: Rows = memory["id"][chosen.rows]
        return ids

    def next_due(self, id: int) -> float:  # noqa: A002  as the Protocol has it
        return float(self._rows.due(self._known(as_ids([id])))[0])

    def explain(self, id: int, t: float) -> Explanation:  # noqa: A002
        as_time(t)
        rows = self._known(as_ids([id]))
        memory, state = self._rows, self._rows.state
        subject = Subject(
            id=id,
            risk=Risk(int(memory["risk"][rows[0]])),
            beliefs=memory.beliefs(rows),
            context=state.context(memory.where(rows), t),
            due_at=float(memory.due(rows)[0]),
            failures=int(memory["failures"][rows[0]]),
        )
        told = explain(subject, t, self._options.objectives)
        honest = state.calibration.honest(np.array([told.p_changed]))
        return replace(told, p_changed=float(honest[0]))

    def forecast(
        self, t: float, budget: float | None, *, host_limits: Mapping[int, float] | None = None
    ) -> Forecast:
        """As the Protocol says; `host_limits` are looks per day that a host allows."""
        as_time(t)
        if budget is not None and not budget >= 0:
            raise InputError(f"a budget of {budget!r} looks per day cannot be forecast")
        numbers = self._rows.state.hosts.ids
        limits = {**self._options.host_limits(numbers), **(host_limits or {})}
        known = {numbers[host]: float(most) for host, most in limits.items() if host in numbers}
        spend = self._options.budget_per_day if budget is None else budget
        asked = ForecastQuestion(t, spend, self._options.objectives, known)
        told = forecast(self._sample(t), asked)
        names: dict[int, Any] = {number: host for host, number in numbers.items()}
        return replace(told, tight_hosts={names[number]: most for number, most in told.tight_hosts.items()})

    def dump(self) -> bytes:
        return self._rows.dump(self._about())

    def load(self, data: bytes) -> None:
        self._rows = MemoryRows.load(data, self._about(), with_promises=bool(self._options.objectives))

    def _about(self) -> dict[str, object]:
        return {"policy": self.name, "seed": self._options.seed, "objectives": dict(self._options.objectives)}

    # Steps of the state machine

    def _step(self, rows: Rows, looks: GoodLooks, good: NDArray[np.bool_]) -> None:
        """Looks at these rows: beliefs, waits, and what they teach about hosts and hubs."""
        group = self._group(rows, looks, good)
        done = advance(group, self._options.objectives)
        self._taught(rows, group, done)
        self._arrange(rows, done.plan.usual, done.plan.objective)
        failed = np.flatnonzero(~good)
        if len(failed):
            self._put_off(rows[failed], looks.at[failed] + done.plan.wait[failed])

    def _group(self, rows: Rows, looks: GoodLooks, good: NDArray[np.bool_]) -> LookGroup:
        memory, state = self._rows, self._rows.state
        where, before = memory.where(rows), memory.beliefs(rows)
        old = before.listed_change_p < NEVER_LOOKED
        dates = state.dated(where.host, (looks.changed & old & good, before.last, looks.at, looks.modified))
        memory["failures"][rows] = np.where(good, 0, np.minimum(memory["failures"][rows] + 1, _MOST_FAILURES))
        return LookGroup(
            beliefs=before,
            contribution=memory["contribution"][rows].astype(np.float64),
            context=state.context(where, looks.at),
            risk=where.risk.astype(np.int8),
            looks=replace(looks, modified=np.where(old, dates, looks.modified)),
            good=np.flatnonzero(good),
            failures=memory["failures"][rows].astype(np.int64),
            is_down=state.is_down(where.host),
            false=state.false(where.hub),
        )

    def _taught(self, rows: Rows, group: LookGroup, done: Advanced) -> None:
        memory, state = self._rows, self._rows.state
        state.absorb(memory.where(rows), group, done)
        state.counters.looks += len(rows)
        state.counters.planned += len(rows)
        memory.believe(rows, done.beliefs, done.contribution)

    def _arrange(self, rows: Rows, usual: Floats, objective: Floats) -> None:
        memory = self._rows
        memory["wait"][rows], memory["promise"][rows] = usual, objective
        memory.moved(rows)

    def _put_off(self, rows: Rows, until: NDArray[np.float64]) -> None:
        """A failed look is tried again at `until`; an objective that asks for the target does so too."""
        memory = self._rows
        again = until - memory["last"][rows]
        memory["wait"][rows] = again
        has_goal = np.isin(memory["risk"][rows], [Risk[name] for name in self._options.objectives])
        memory["promise"][rows] = np.where(has_goal, again, np.inf)
        memory.moved(rows)

    def _heard(self, rows: Rows, at: NDArray[np.float64], good: NDArray[np.bool_]) -> list[int]:
        """The hosts that are back after they were down."""
        memory, state = self._rows, self._rows.state
        host = memory["host"][rows]
        if good.all() and not state.hosts.streak[host].any():
            return []
        each = zip(host.tolist(), good.tolist(), at.tolist(), strict=True)
        return [number for number, ok, t in each if state.heard(number, ok, t)]

    def _try_again(self, hosts: list[int], t: float) -> None:
        """These hosts are back: what failed while they were down need not wait."""
        if not hosts:
            return
        memory = self._rows
        rows = np.flatnonzero((memory["failures"] > 0) & np.isin(memory["host"], hosts))
        now = np.maximum(t - memory["last"][rows], 0.0)
        memory["wait"][rows] = np.minimum(memory["wait"][rows], now)
        promise = memory["promise"][rows]
        memory["promise"][rows] = np.where(np.isfinite(promise), np.minimum(promise, now), np.inf)
        memory.moved(rows)

    def _tell(self, rows: Rows, hub: int, said: tuple[float, bool, NDArray[np.float64]]) -> None:
        """A source names these rows: (time, is it complete, dates or NaN)."""
        t, is_complete, dates = said
        memory, state = self._rows, self._rows.state
        before = float(state.hubs.columns["listed_at"][hub])
        report = state.listed(hub, t) if is_complete else state.report(hub, t, before)
        if not len(rows):
            return
        where = memory.where(rows)
        context = state.context(where, t)
        weighed = weigh(memory.beliefs(rows), context, where.risk.astype(np.int8), (report, dates))
        memory["listed_change_p"][rows] = weighed.beliefs.listed_change_p
        memory["listed_change_lag"][rows] = weighed.beliefs.listed_change_lag
        due = np.maximum(weighed.due, t) - weighed.beliefs.last
        soon = np.flatnonzero(np.isfinite(weighed.due) & (memory["failures"][rows] == 0))
        memory["wait"][rows[soon]] = np.minimum(memory["wait"][rows[soon]], np.maximum(due[soon], 0.0))
        memory.moved(rows[soon])

    def _adopt(self, rows: Rows, parents: Rows, born: NDArray[np.bool_]) -> None:
        """Put targets under their hubs.  Targets that a hub's listing brought count as births of that hub."""
        memory, state = self._rows, self._rows.state
        has = np.flatnonzero(parents >= 0)
        if not len(has):
            return
        rows, born = rows[has], born[has]
        numbers, was = state.hubs.numbers(parents[has].tolist()), memory["hub"][rows].astype(np.int64)
        c = state.hubs.columns
        left = (was != numbers) & (was >= 0)
        np.add.at(c["leaves"], was[left], -1.0)
        state.contributed(was[left], -memory["contribution"][rows[left]].astype(np.float64))
        memory["contribution"][rows[left]] = 0.0
        memory["hub"][rows] = numbers
        weight = np.where(born, WEIGHT[memory["risk"][rows]], 0.0)
        joined = was != numbers
        state.adopted(numbers[joined], weight[joined])
        new = born & np.isfinite(c["since"][numbers])
        memory["listed_change_lag"][rows[new]] = (
            -c["every"][numbers[new]] / 2
        )  # so old it is, when it is found

    def _source(self, kind: str, source: int | None, rows: Rows) -> int:
        """The number of what told us; of an unnamed one, of its kind.  -1: it has no host to learn about."""
        hubs = self._rows.state.hubs
        number = int(hubs.numbers([-2 - sorted(SIGNALS).index(kind) if source is None else source])[0])
        if hubs.columns["host"][number] < 0:
            if not len(rows):
                return -1
            hubs.columns["host"][number] = self._rows["host"][rows[0]]
        return number

    # Reviews

    def _review(self, t: float, k: int | None) -> None:
        """Every few hours: prior, what objectives need, price.  The budget is what was asked for, or as configured."""
        asked, state, options = self._rows.asked, self._rows.state, self._options
        asked.looks += k or 0
        if k is not None:
            asked.tier = min(
                asked.tier + TIER * k, max(TIER * asked.per_day, 1.0)
            )  # a day's worth is saved up
        if not state.is_review_due(t, has_budget=options.budget_per_day is not None):
            return
        gone = t - state.counters.reviewed_at
        budget = state.begin_review(t, self._rows.size, options.budget_per_day if k is None else None)
        if k is not None and math.isfinite(gone):
            budget = asked.per_day = asked.looks * 24.0 / gone
        asked.looks = 0
        if k is not None and budget is None:
            return  # nobody knows yet how many looks there will be
        rooms = options.host_limits(state.hosts.ids)
        numbers = {state.hosts.ids[host]: room for host, room in rooms.items()}
        state.review(self._sample(t), budget, options.objectives, numbers)

    def _replan(self, t: float) -> None:
        """Some rows in turn, planned anew at the price of today."""
        run, size = self._rows.state.counters, self._rows.size
        if run.replan is None:
            return
        rows = np.arange(run.replan, min(run.replan + REPLAN, size))
        run.replan = int(rows[-1]) + 1 if len(rows) == REPLAN else None
        self._plan_anew(rows[self._rows.where(rows).own < 0], t)  # listings follow with their next look

    def _plan_anew(self, rows: Rows, t: float) -> None:
        memory, state = self._rows, self._rows.state
        rows = rows[(memory["listed_change_p"][rows] == 0.0) & (memory["failures"][rows] == 0)]
        if not len(rows):
            return
        where = memory.where(rows)
        anew = state.plan_anew(
            memory.beliefs(rows),
            memory["contribution"][rows].astype(np.float64),
            (where, t),
            self._options.objectives,
        )
        memory["contribution"][rows] = anew.contribution
        self._arrange(rows, anew.by_price, anew.by_objective)

    def _sample(self, t: float) -> Sample:
        """Targets at even steps; those never looked at count as any other."""
        memory = self._rows
        step = -(-memory.size // SAMPLE) or 1
        rows = np.arange(0, memory.size, step)
        where = memory.where(rows)
        context = memory.state.context(where, t)
        each = memory.size / max(len(rows), 1)
        return Sample(memory.beliefs(rows), context, where.risk.astype(np.int8), each)

    # The best k

    def _choose(self, rows: Rows, t: float, k: int | None, host_room: Mapping[int, int] | None) -> Choice:
        """The best of these rows: what objectives ask for, within their tier, then by value."""
        memory, state = self._rows, self._rows.state
        b, where = memory.beliefs(rows), memory.where(rows)
        context = state.context(where, t)
        promised = t >= memory.due_by_promise(rows)
        ready = (memory.due(rows) <= t) | ((memory["failures"][rows] == 0) & (k is not None))
        is_free = t - b.last >= least_hours(where.risk.astype(np.int8), context)
        ready &= (b.listed_change_p >= NEVER_LOOKED) | is_free | promised
        can = np.flatnonzero(ready)
        rows, promised, host = rows[can], promised[can], where.host[can]
        value, stale = value_now(b.take(can), context.take(can), t)
        urgent, closed = np.zeros(len(can), bool), memory.days.closed(state.hosts, t)
        asked = np.flatnonzero(promised)
        calm = np.log1p(-np.minimum(stale[asked], _SURE)) / np.maximum(t - b.last[can][asked], 1e-6)
        busiest = asked[np.argsort(calm, kind="stable")]
        is_open = fits(host[busiest], closed)  # a host that is down takes no room of the tier
        urgent[busiest[is_open][: int(memory.asked.tier)]] = True
        order = np.lexsort((memory["id"][rows], -value, ~urgent))
        if host_room is not None or self._options.has_host_budgets or closed:
            order = order[fits(host[order], self._room(host, t, (host_room or {}, closed)))]
        order = order[:k]
        return Choice(rows[order], urgent[order])

    def _room(
        self, host: Rows, t: float, rooms: tuple[Mapping[int, int], Mapping[int, int]]
    ) -> dict[int, int]:
        """Looks that each host has room for now: as asked, by its budget, and if it is down."""
        asked, closed = rooms
        ids = self._rows.state.hosts.ids
        room = {ids[one]: most for one, most in asked.items() if one in ids}
        if self._options.has_host_budgets:
            left = self._rows.days.left(np.unique(host), t, (ids, self._options))
            room |= {one: min(most, room.get(one, most)) for one, most in left.items()}
        return room | {one: min(most, room.get(one, most)) for one, most in closed.items()}

    def _known(self, keys: Rows) -> Rows:
        rows = self._rows.find(keys)
        if len(rows) and rows.min() < 0:
            raise InputError(f"unknown target {int(keys[rows < 0][0])}; add it first")
        return rows


@dataclass(slots=True)
class Choice:
    rows: Rows
    urgent: NDArray[np.bool_]  # asked for by an objective
