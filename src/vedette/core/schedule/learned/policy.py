"""The learned policy: what to look at now, when to look again, and why.  The Protocol over `Memory`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule.checks import (
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
from vedette.core.schedule.learned import outlook, saved, telling
from vedette.core.schedule.learned.belief import NEW_MARK
from vedette.core.schedule.learned.ladder import Queue
from vedette.core.schedule.learned.learn import Looks
from vedette.core.schedule.learned.memory import Memory
from vedette.core.schedule.learned.objective import TIER, asked_hours
from vedette.core.schedule.learned.prior import fitted
from vedette.core.schedule.learned.settings import FREE_PRICE, MOST_HOURS
from vedette.core.schedule.learned.worth import least_hours, plan, value_now
from vedette.core.schedule.protocol import Explanation, Forecast, Risks

if TYPE_CHECKING:
    from vedette.core.schedule.learned.options import LearnedOptions
    from vedette.core.schedule.protocol import Flags, Floats, Ints

Rows = NDArray[np.int64]
_PRICE_HOURS = 24.0  # the price follows what was chosen within about a day
_SWEEP = 32  # rows planned anew at every decision, so that all follow the price
_SWEEP_MOST = 2048
_SWEEP_PER_MOVE = 4096  # more rows when the price moves by a factor of e
_SWEEP_AT_ONCE = 256  # many rows at once cost little more than a few
_POOL = 64  # rows whose value is weighed at every decision, at least
_SAMPLE = 4096  # targets that prices and forecasts are worked out from
_REVIEW_HOURS = 6.0  # between two reviews of the objectives, the prior and a daily budget,
_EARLY_REVIEW_HOURS = 1.0  # and in the first days, when beliefs move fast
_FIRST_HOURS = 72.0
_LEAST_PRICE = 1e-6
_SURE = 1.0 - 1e-9
_MOST_FAILURES = 12
_LIKELY_GONE = 6  # failures in a row


class LearnedPolicy:
    """Pure: time and outcomes come in as arguments; nothing is drawn by chance."""

    def __init__(self, name: str, options: LearnedOptions) -> None:
        self.name = name
        self._options = options
        self._memory = Memory()
        self._queue = Queue(self._memory.table, with_promises=bool(options.objectives))
        self._run = saved.Running()
        if options.budget_per_day is None:
            self._price(FREE_PRICE)

    def add(self, ids: Ints, *, risk: Risks, host: Ints, parent: Ints | None = None, now: float) -> None:
        keys = as_ids(ids)
        ranks, hosts = as_ranks(risk, len(keys)), one_each(keys, host, "host")
        parents = np.full(len(keys), -1) if parent is None else one_each(keys, parent, "parent")
        as_time(now)
        memory, table = self._memory, self._memory.table
        before = table.size
        rows = memory.add(keys, now)
        table["risk"][rows] = ranks
        table["host"][rows] = memory.hosts.numbers(hosts)
        memory.adopt(rows, parents, rows >= before)
        memory.link_hubs(np.unique(np.concatenate([keys, parents])))
        self._queue.moved(rows[rows >= before])
        self._plan(rows[rows < before], now)

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
        dates = as_dates(last_modified, len(keys))
        memory, table = self._memory, self._memory.table
        late = at < table["last"][rows]
        if late.any():
            raise InputError(
                f"target {int(keys[late][0])} was looked at before its last look; looks come in order"
            )
        self._memory.hosts.spend(table["host"][rows], at)
        if good.any():
            self._memory.observe(rows[good], Looks(at[good], seen[good], dates[good]))
            table["failures"][rows[good]] = 0
        back = memory.hosts.answered(table["host"][rows], rows, at, good)
        self._put_off(rows[~good], at[~good])
        self._try_again(np.array(back, np.int64), float(at.max()))
        self._plan(rows[good], float(at.max()))

    def learn(self, ids: Ints, t: Floats, changed: Flags) -> None:
        """Good looks, for who asks for a forecast and nothing else: as `observe`, but no next look is planned."""
        keys = as_ids(ids)
        looks = Looks(as_times(t, len(keys)), np.asarray(changed, bool), as_dates(None, len(keys)))
        self._memory.observe(self._known(keys), looks)

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
            self._memory.tell(rows, hub, (t, complete, dates[first]))
            self._bring_forward(rows[self._memory.table["mark"][rows] > 0], t)

    def next(self, t: float, k: int | None, *, host_room: Mapping[int, int] | None = None) -> Rows:
        as_time(t)
        if k is not None and k < 0:
            raise InputError(f"next was asked for {k} targets")
        table = self._memory.table
        if k == 0 or not table.size:
            return np.empty(0, np.int64)
        self._review(t, k)
        self._sweep(t, k or 0)
        pool = _POOL if k is None else max(_POOL, 4 * k)
        while True:
            rows, is_all = self._queue.first(pool, t)
            chosen = self._choose(rows, t, k, host_room)
            is_enough = is_all if k is None else len(chosen.rows) >= k
            if is_enough or len(rows) >= table.size:
                break
            pool *= 4
        self._run.tier -= int(chosen.urgent.sum())
        if k is not None and not math.isnan(chosen.marginal):
            self._follow(chosen.marginal, t)
        ids: Rows = table["id"][chosen.rows]
        return ids

    def next_due(self, id: int) -> float:  # noqa: A002  as the Protocol has it
        return float(self._memory.table.due(self._known(as_ids([id])))[0])

    def explain(self, id: int, t: float) -> Explanation:  # noqa: A002
        as_time(t)
        rows = self._known(as_ids([id]))
        table = self._memory.table
        subject = telling.Subject(
            id=id,
            risk=Risk(int(table["risk"][rows[0]])),
            beliefs=table.beliefs(rows),
            around=self._memory.around(rows, t),
            due_at=float(table.due(rows)[0]),
            failures=int(table["failures"][rows[0]]),
        )
        told = telling.explain(subject, t, self._options.objectives)
        honest = self._memory.calibration.honest(np.array([told.p_changed]))
        return replace(told, p_changed=float(honest[0]))

    def forecast(
        self, t: float, budget: float | None, *, host_limits: Mapping[int, float] | None = None
    ) -> Forecast:
        """As the Protocol says; `host_limits` are looks per day that a host allows."""
        as_time(t)
        if budget is not None and not budget >= 0:
            raise InputError(f"a budget of {budget!r} looks per day cannot be forecast")
        numbers = self._memory.hosts.ids
        limits = {**self._options.host_limits(numbers), **(host_limits or {})}
        known = {numbers[host]: float(most) for host, most in limits.items() if host in numbers}
        spend = self._options.budget_per_day if budget is None else budget
        asked = outlook.Asked(t, spend, self._options.objectives, known)
        told = outlook.forecast(self._sample(t), asked)
        names = {number: host for host, number in numbers.items()}
        return replace(told, tight_hosts={names[number]: most for number, most in told.tight_hosts.items()})

    def dump(self) -> bytes:
        return saved.dump(self._about(), self._memory, self._run)

    def load(self, data: bytes) -> None:
        self._memory, self._run = saved.load(data, self._about())
        self._queue = Queue(self._memory.table, with_promises=bool(self._options.objectives))
        self._queue.moved(np.empty(0, np.int64))

    def _about(self) -> dict[str, Any]:
        return {"policy": self.name, "seed": self._options.seed, "objectives": dict(self._options.objectives)}

    def _plan(self, rows: Rows, t: float) -> None:
        """Set the due times of rows: by price, by objective; marked ones are due at once."""
        table = self._memory.table
        rows = rows[(table["mark"][rows] < NEW_MARK) & (table["failures"][rows] == 0)]
        if not len(rows):
            return
        b, around = table.beliefs(rows), self._memory.around(rows, t)
        risk = table["risk"][rows]
        wait = plan(b, around, least_hours(risk, around))
        table["promise"][rows] = asked_hours(b, around, risk, self._options.objectives)
        table["wait"][rows] = np.where(b.mark > 0, np.minimum(wait, np.maximum(t - b.last, 0.0)), wait)
        self._memory.pull(rows, b, around)
        self._queue.moved(rows)

    def _bring_forward(self, rows: Rows, t: float) -> None:
        """Marked targets are weighed at the next decision, whatever was planned."""
        table = self._memory.table
        rows = rows[table["failures"][rows] == 0]
        soon = np.maximum(t - table["last"][rows], 0.0)
        table["wait"][rows] = np.minimum(table["wait"][rows], soon)
        self._queue.moved(rows)

    def _choose(self, rows: Rows, t: float, k: int | None, host_room: Mapping[int, int] | None) -> Choice:
        """The best of these rows: what objectives ask for, within their tier, then by value."""
        memory, table = self._memory, self._memory.table
        b, around = table.beliefs(rows), memory.around(rows, t)
        risk, due = table["risk"][rows], table.due(rows)
        promised = t >= table.due_by_promise(rows)
        ready = (due <= t) | ((table["failures"][rows] == 0) & (k is not None))
        ready &= (b.mark >= NEW_MARK) | (t - b.last >= least_hours(risk, around)) | promised
        can = np.flatnonzero(ready)
        rows, promised = rows[can], promised[can]
        value, stale = value_now(b.take(can), around.take(can), t)
        urgent, closed = np.zeros(len(can), bool), memory.hosts.closed(t)
        asked = np.flatnonzero(promised)
        calm = np.log1p(-np.minimum(stale[asked], _SURE)) / np.maximum(t - b.last[can][asked], 1e-6)
        busiest = asked[np.argsort(calm, kind="stable")]
        is_open = fits(
            table["host"][rows[busiest]].astype(np.int64), closed
        )  # who is down takes no room of the tier
        urgent[busiest[is_open][: int(self._run.tier)]] = True
        order = np.lexsort((table["id"][rows], -value, ~urgent))
        if host_room is not None or self._options.has_host_budgets or closed:
            order = order[self._fits(rows[order], t, (host_room or {}, closed))]
        order = order[:k]
        return Choice(rows[order], value[order], urgent[order])

    def _fits(
        self, rows: Rows, t: float, rooms: tuple[Mapping[int, int], Mapping[int, int]]
    ) -> NDArray[np.bool_]:
        """Best first: does each row still fit in the room and the budget of its host, and is the host up?"""
        asked, closed = rooms
        hosts = self._memory.hosts
        host = self._memory.table["host"][rows].astype(np.int64)
        room = {hosts.ids[one]: most for one, most in asked.items() if one in hosts.ids}
        if self._options.has_host_budgets:
            left = hosts.left(np.unique(host), t, self._options)
            room |= {one: min(most, room.get(one, most)) for one, most in left.items()}
        room |= {one: min(most, room.get(one, most)) for one, most in closed.items()}
        return fits(host, room)

    def _follow(self, marginal: float, t: float) -> None:
        """Move the price towards the value of the last one taken; in the first days beliefs set it (`_review`)."""
        run = self._run
        gone, run.decided_at = min(max(t - run.decided_at, 0.0), _PRICE_HOURS), t
        if t - run.started_at >= _FIRST_HOURS:
            step = -math.expm1(-gone / _PRICE_HOURS)
            was = math.log(self._memory.published.price)
            self._price(math.exp(was + step * (math.log(max(marginal, _LEAST_PRICE)) - was)))

    def _price(self, price: float) -> None:
        """A new price.  The more it moves, the more rows are planned anew with the next decisions."""
        moved = abs(math.log(price / self._memory.published.price))
        self._run.owed += int(_SWEEP_PER_MOVE * moved)
        self._memory.published = replace(self._memory.published, price=price)

    def _sweep(self, t: float, k: int) -> None:
        """Plan some rows anew, in turn."""
        size, run = self._memory.table.size, self._run
        run.owed += _SWEEP + 2 * k
        if run.owed >= _SWEEP_AT_ONCE:
            count = min(size, run.owed, _SWEEP_MOST)
            rows = (run.swept + np.arange(count)) % size
            run.swept, run.owed = int((run.swept + count) % size), run.owed - count if count < size else 0
            self._plan(rows, t)

    def _review(self, t: float, k: int | None) -> None:
        """Every few hours: what objectives need, and the price of a daily budget."""
        run, options = self._run, self._options
        run.asked += k or 0
        if k is not None:
            run.tier = min(run.tier + TIER * k, max(TIER * run.per_day, 1.0))  # a day's worth may be saved up
        run.started_at = min(run.started_at, t)
        is_early = t - run.started_at < _FIRST_HOURS
        gone = t - run.reviewed_at
        if gone < (_EARLY_REVIEW_HOURS if is_early else _REVIEW_HOURS):
            return
        budget = options.budget_per_day
        if k is not None and math.isfinite(gone):
            budget = run.per_day = run.asked * 24.0 / gone
        run.asked, run.reviewed_at = 0, t
        sample = self._sample(t)
        self._memory.publish_hosts(sample.around.host)
        prior = fitted(sample.beliefs.take(sample.around.pull == 0), self._memory.published.prior)
        self._memory.published = replace(self._memory.published, prior=prior)
        packed = outlook.tiers(sample, options.objectives, budget)
        self._memory.published = outlook.promised(self._memory.published, packed)
        if budget is not None and (k is None or is_early):
            left = budget - sum(one.looks for one in packed.values())
            self._price(outlook.price_for(sample, max(left, 1e-9), packed))

    def _sample(self, t: float) -> outlook.Sample:
        """Targets at even steps; those never looked at count as any other."""
        table = self._memory.table
        step = -(-table.size // _SAMPLE) or 1
        rows = np.arange(0, table.size, step)
        around = self._memory.around(rows, t)
        each = table.size / max(len(rows), 1)
        return outlook.Sample(table.beliefs(rows), around, table["risk"][rows], each)

    def _put_off(self, rows: Rows, at: NDArray[np.float64]) -> None:
        """A failed look teaches nothing about change; the target waits, twice as long after each failure.

        No longer than its usual interval, unless it has failed so often that it is likely gone.
        """
        if not len(rows):
            return
        memory, table = self._memory, self._memory.table
        failures = np.minimum(table["failures"][rows] + 1, _MOST_FAILURES)
        table["failures"][rows] = failures
        around = memory.around(rows, float(at.max()))
        least = least_hours(table["risk"][rows], around)
        usual = plan(table.beliefs(rows), around, least) * 2.0 ** np.maximum(failures - _LIKELY_GONE, 0)
        wait = np.minimum(np.minimum(least * 2.0 ** (failures - 1.0), usual), MOST_HOURS)
        again = at + wait - table["last"][rows]
        table["wait"][rows] = again
        table["promise"][rows] = np.where(np.isfinite(table["promise"][rows]), again, np.inf)
        self._queue.moved(rows)

    def _try_again(self, rows: Rows, t: float) -> None:
        """The host is back: what failed while it was down need not wait."""
        table = self._memory.table
        now = np.maximum(t - table["last"][rows], 0.0)
        table["wait"][rows] = np.minimum(table["wait"][rows], now)
        promise = table["promise"][rows]
        table["promise"][rows] = np.where(np.isfinite(promise), np.minimum(promise, now), np.inf)
        self._queue.moved(rows)

    def _source(self, kind: str, source: int | None, rows: Rows) -> int:
        """The number of what told us; of an unnamed one, of its kind.  -1: it has no host to learn about."""
        hubs = self._memory.hubs
        number = int(hubs.numbers([-2 - sorted(SIGNALS).index(kind) if source is None else source])[0])
        if hubs.columns["host"][number] < 0:
            if not len(rows):
                return -1
            hubs.columns["host"][number] = self._memory.table["host"][rows[0]]
        return number

    def _known(self, keys: Rows) -> Rows:
        rows = self._memory.find(keys)
        if len(rows) and rows.min() < 0:
            raise InputError(f"unknown target {int(keys[rows < 0][0])}; add it first")
        return rows


@dataclass(slots=True)
class Choice:
    rows: Rows
    value: NDArray[np.float64]
    urgent: NDArray[np.bool_]  # asked for by an objective

    @property
    def marginal(self) -> float:
        """The least value that was taken for its own sake."""
        plain = self.value[~self.urgent]
        return float(plain.min()) if len(plain) else math.nan
