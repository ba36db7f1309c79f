"""Rows in memory for the learned policy: 60 bytes for each target, with the index of its id and its due queues."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.core.schedule.columns import IdIndex, pack, unpack
from vedette.core.schedule.learned import beliefs, hosts
from vedette.core.schedule.learned.beliefs import NEVER_LOOKED, Beliefs
from vedette.core.schedule.learned.hosts import DOWN, PROBE_HOURS, Hosts
from vedette.core.schedule.learned.listings import HUB_KINDS
from vedette.core.schedule.learned.scheduler_state import SchedulerCounters, SchedulerState, Where
from vedette.core.schedule.learned.settings import AWAKE, STEADY, Published
from vedette.core.schedule.outlook import check_objectives

# A queue by due time that stays cheap at a million targets: three tiers, each a small part of the one above.
#
# All rows stand in `far`.  The earliest of them are also in `near`, the earliest of those in `hot`, which alone is
# looked through for a decision.  A tier that runs low is filled from the one above by one partition of it, so a
# decision costs O(1) on average.  Rows that moved are dropped from a tier when it is next looked through.
#
# `vedette run` has its queue in the database; this one serves the policy in memory (policy.py).

Rows = NDArray[np.int64]
Due = Callable[[Rows], NDArray[np.float64]]  # due times of rows
_NEAR_PART = 32  # near is a 32nd of far
_LEAST_NEAR = 4096
_HOT_MOST = 512  # hot rows before the later ones step back
_FAR, _NEAR, _HOT = 0, 1, 2
_ALL = 1e300  # a tier that reaches this far holds all rows that are ever due


class TieredDueQueue:
    """Keeps the tier of each row, one byte.  Due times are the caller's."""

    def __init__(self, due: Due) -> None:
        self._due = due
        self.tier = np.zeros(0, np.int8)
        self._near: list[Rows] = []
        self._hot: Rows = np.empty(0, np.int64)
        self._near_until = -np.inf
        self._hot_until = -np.inf

    def moved(self, rows: Rows, size: int) -> None:
        """These rows have new due times; there are `size` rows in all."""
        if size > len(self.tier):
            self.tier = np.concatenate([self.tier, np.zeros(size - len(self.tier), np.int8)])
        when, tier = self._due(rows), self.tier[rows]
        into_hot = rows[(when <= self._hot_until) & (tier != _HOT)]
        into_near = rows[(when > self._hot_until) & (when <= self._near_until) & (tier == _FAR)]
        if len(into_hot):
            self.tier[into_hot] = _HOT
            self._hot = np.concatenate([self._hot, into_hot])
        if len(into_near):
            self.tier[into_near] = _NEAR
            self._near.append(into_near)

    def first(self, count: int) -> Rows:
        """The `count` rows due first, earliest first, of equals the lower row; all that are ever due when fewer."""
        count = min(count, len(self.tier))
        self._hot = self._keep(self._hot)
        if len(self._hot) < count and self._hot_until < _ALL:
            self._fill_hot(count)
        elif len(self._hot) > max(_HOT_MOST, 4 * count):
            self._thin(2 * count)
        due = self._due(self._hot)
        return self._hot[np.lexsort((self._hot, due))[:count]]

    def held(self) -> list[NDArray[np.generic]]:
        """Every array that is kept."""
        return [self.tier, self._hot, *self._near]

    def _keep(self, rows: Rows) -> Rows:
        due = self._due(rows)
        stays = due <= self._hot_until
        gone, when = rows[~stays], due[~stays]
        if len(gone):
            back = when <= self._near_until
            self.tier[gone] = np.where(back, _NEAR, _FAR)
            if back.any():
                self._near.append(gone[back])
        return rows[stays]

    def _fill_hot(self, count: int) -> None:
        near = self._gather()
        if len(near) + len(self._hot) < 2 * count and self._near_until < _ALL:
            near = self._fill_near(count)
        due = self._due(near)
        if 2 * count < len(near):
            self._hot_until = float(np.partition(due, 2 * count)[2 * count])
        else:
            self._hot_until = self._near_until
        joins = due <= self._hot_until
        self.tier[near[joins]] = _HOT
        self._hot = np.concatenate([self._hot, near[joins]])
        self._near = [near[~joins]]

    def _gather(self) -> Rows:
        """The near rows that still are: not hot, not moved far."""
        near = np.concatenate(self._near) if self._near else np.empty(0, np.int64)
        near = near[self.tier[near] == _NEAR]
        near = np.unique(near) if len(self._near) > 1 else near
        stays = self._due(near) <= self._near_until
        self.tier[near[~stays]] = _FAR
        return near[stays]

    def _fill_near(self, count: int) -> Rows:
        """Begin again from all rows."""
        due = self._due(np.arange(len(self.tier)))
        every = np.flatnonzero(due < _ALL)
        due = due[every]
        most = max(_LEAST_NEAR, 4 * count, len(every) // _NEAR_PART)
        self._near_until = float(np.partition(due, most)[most]) if most < len(every) else _ALL
        self._hot = np.empty(0, np.int64)
        near = every[due <= self._near_until]
        self.tier[:] = _FAR
        self.tier[near] = _NEAR
        return near

    def _thin(self, count: int) -> None:
        """Too many in hot: the later ones step back to near."""
        due = self._due(self._hot)
        self._hot_until = float(np.partition(due, count)[count])
        back = due > self._hot_until
        self.tier[self._hot[back]] = _NEAR
        self._near.append(self._hot[back])
        self._hot = self._hot[~back]


Floats = NDArray[np.float64]
KINDS: dict[str, Any] = {
    "id": np.int64, "host": np.int32, "hub": np.int32, "risk": np.int8, "failures": np.int8, **beliefs.KINDS,
    "contribution": np.float16, "wait": np.float32, "promise": np.float16,
}  # fmt: skip
_NEW: dict[str, float] = {
    "hub": -1, "steady": STEADY, "asleep": (1 - STEADY) * (1 - AWAKE), "lag": np.inf,
    "listed_change_p": NEVER_LOOKED, "promise": np.inf,
}  # fmt: skip
_HOST_KINDS = {"id": np.int64, "spent": np.float32, "day": np.float32, **hosts.KINDS}
_DUMP = (KINDS, _HOST_KINDS, {"id": np.int64, **HUB_KINDS})


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedOptions:
    """The options of `make_policy("learned", ...)`.  Budgets are looks per day; None: no limit."""

    seed: int = 0
    objectives: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # risk: hours, share
    budget_per_day: float | None = None
    host_budget_per_day: float | None = None  # of every host
    host_budgets: Mapping[Hashable, float] = field(default_factory=dict)  # of hosts by id, instead

    @property
    def has_host_budgets(self) -> bool:
        return self.host_budget_per_day is not None or bool(self.host_budgets)

    def host_budget(self, host: Hashable) -> float | None:
        return self.host_budgets.get(host, self.host_budget_per_day)

    def host_limits(self, hosts: Iterable[Any]) -> dict[Any, float]:
        limits = {host: self.host_budget(host) for host in hosts} if self.has_host_budgets else {}
        return {host: most for host, most in limits.items() if most is not None}


def learned_options(seed: int, options: Mapping[str, Any]) -> LearnedOptions:
    """Checked."""
    host_budgets = dict(options.get("host_budgets") or {})
    budgets = [options.get("budget_per_day"), options.get("host_budget_per_day"), *host_budgets.values()]
    for budget in budgets:
        if budget is not None and not budget >= 0:
            raise InputError(
                f"a budget is {budget!r}; it must be a number of looks per day, or None for no limit"
            )
    return LearnedOptions(
        seed=seed,
        objectives=check_objectives(options.get("objectives") or {}),
        budget_per_day=budgets[0],
        host_budget_per_day=budgets[1],
        host_budgets=host_budgets,
    )


@dataclass(slots=True)
class AskedLooks:
    """What `next` was asked for."""

    looks: int = 0  # since the last review
    per_day: float = 0.0  # before that
    tier: float = 0.0  # that objectives may take now


class HostDays:
    """What lanes are to the engine: looks per host and day, and one look an hour at a host that is down."""

    def __init__(self) -> None:
        self.spent = np.zeros(0, np.float32)  # looks on the day below
        self.day = np.zeros(0, np.float32)

    def spend(self, host: NDArray[Any], at: Floats) -> None:
        more = int(host.max()) + 1 - len(self.day)
        if more > 0:
            self.spent, self.day = (
                np.concatenate([one, np.zeros(more, np.float32)]) for one in (self.spent, self.day)
            )
        day = np.floor(at / 24.0).astype(np.float32)
        self.spent[host[day > self.day[host]]] = 0.0
        np.maximum.at(self.day, host, day)
        np.add.at(self.spent, host, 1.0)

    def left(
        self, host: Rows, t: float, limits: tuple[Mapping[Hashable, int], LearnedOptions]
    ) -> dict[int, int]:
        """Looks that each host has left by now.  A day's budget opens hour by hour, so that it lasts the day."""
        day, hour = divmod(t / 24.0, 1.0)
        ids, options = limits
        names = {number: one for one, number in ids.items()} if options.host_budgets else {}
        room = {}
        for number in host.tolist():
            most = options.host_budget(names.get(number, -1))
            if most is not None:
                is_today = number < len(self.day) and self.day[number] == day
                spent = float(self.spent[number]) if is_today else 0.0
                room[number] = max(0, int(most * min(1.0, hour + 1 / 24) - spent))
        return room

    def closed(self, hosts: Hosts, t: float) -> dict[int, int]:
        """Hosts that are down and how many looks may try them now: one an hour."""
        down = np.flatnonzero(hosts.streak >= DOWN)
        return {int(one): int(t - hosts.failed_at[one] >= PROBE_HOURS) for one in down}


class MemoryRows:
    """Columns with room to grow, the state of the scheduler, and the queues.

    A target is due `wait` hours after its last good look by its price, or `promise` hours if an objective asks.
    """

    def __init__(self, *, with_promises: bool) -> None:
        self.size = 0
        self.state = SchedulerState()
        self.asked = AskedLooks()
        self.days = HostDays()
        self._columns: dict[str, NDArray[Any]] = {key: np.empty(0, kind) for key, kind in KINDS.items()}
        self._index = IdIndex()
        self._own: dict[int, int] = {}  # the hubs among the rows
        self.by_price = TieredDueQueue(self.due_by_price)
        self.by_promise = TieredDueQueue(self.due_by_promise) if with_promises else None

    def __getitem__(self, key: str) -> NDArray[Any]:
        """The column; a view, so writing to it writes to the table."""
        return self._columns[key][: self.size]

    def find(self, ids: Rows) -> Rows:
        """The row of each id; -1: unknown."""
        return self._index.find(ids, self["id"])

    def add(self, ids: Rows, now: float) -> Rows:
        """Rows of the ids; new ones are never looked at and due at once."""
        rows = self.find(ids)
        fresh = np.flatnonzero(rows < 0)
        if len(fresh):
            new = ids[fresh[np.sort(np.unique(ids[fresh], return_index=True)[1])]]
            added = np.arange(self.size, self.size + len(new))
            self._grow(len(new))
            for key in KINDS:
                self[key][added] = _NEW.get(key, 0)
            self["id"][added] = new
            self["last"][added] = now
            self._index.add(new, added, self["id"])
            rows = self.find(ids)
        return rows

    def link_hubs(self, ids: Rows) -> None:
        """Hubs among these ids, or named by them, get their row and host."""
        hubs = self.state.hubs
        names = [one for one in ids.tolist() if one in hubs.ids]
        rows = self.find(np.array(names, np.int64)) if names else np.empty(0, np.int64)
        for name, row in zip(names, rows.tolist(), strict=True):
            if row >= 0:
                self._own[row] = hubs.ids[name]
                hubs.columns["host"][hubs.ids[name]] = int(self["host"][row])

    def where(self, rows: Rows) -> Where:
        none = np.full(len(rows), -1)
        has = len(self.state.hubs.ids) > 0
        own = np.array([self._own.get(row, -1) for row in rows.tolist()], np.int64) if has else none
        return Where(
            host=self["host"][rows].astype(np.int64),
            risk=self["risk"][rows].astype(np.int64),
            hub=self["hub"][rows].astype(np.int64) if has else none,
            own=own,
        )

    def beliefs(self, rows: Rows) -> Beliefs:
        return Beliefs(*(self[key][rows].astype(np.float64) for key in beliefs.KINDS))

    def believe(self, rows: Rows, b: Beliefs, contribution: Floats) -> None:
        for key in beliefs.KINDS:
            self[key][rows] = getattr(b, key)
        self["contribution"][rows] = contribution

    def due(self, rows: Rows) -> Floats:
        due: Floats = self["last"][rows] + np.minimum(self["wait"][rows], self["promise"][rows])
        return due

    def due_by_price(self, rows: Rows) -> Floats:
        due: Floats = self["last"][rows] + self["wait"][rows]
        return due

    def due_by_promise(self, rows: Rows) -> Floats:
        due: Floats = self["last"][rows] + self["promise"][rows]
        return due

    def moved(self, rows: Rows) -> None:
        """These rows have new due times."""
        self.by_price.moved(rows, self.size)
        if self.by_promise is not None:
            self.by_promise.moved(rows, self.size)

    def first(self, count: int, t: float) -> tuple[Rows, bool]:
        """The first by price and those promised by `t`; and whether all that is due by then is among them."""
        rows = self.by_price.first(count)
        is_all = len(rows) < count or bool(self.due_by_price(rows[-1:])[0] > t)
        if self.by_promise is None:
            return rows, is_all
        promised = self.by_promise.first(count)
        promised = promised[self.due_by_promise(promised) <= t]
        is_all &= len(promised) < count
        return np.concatenate([rows, promised[~np.isin(promised, rows)]]), is_all

    def held(self) -> list[NDArray[Any]]:
        """Every array that is kept, for who counts bytes."""
        state = self.state
        arrays = [*(self[key] for key in KINDS), self._index.rows, *self.by_price.held()]
        return [*arrays, *state.hosts.columns().values(), *state.hubs.columns.values()]

    # As bytes: columns of targets, hosts and hubs, and the few numbers beside them.  No pickle.

    def dump(self, about: Mapping[str, object]) -> bytes:
        state = self.state
        head = {
            **about, "asked": asdict(self.asked), "counters": asdict(state.counters),
            "published": asdict(state.published), "bursts": state.bursts.tolist(),
            "calibration": state.calibration.counts.tolist(), "has_common_clock": state.has_common_clock,
            "shared_clock": state.hosts.clocks.shared.tolist(), "common_clock": state.hosts.clocks.common.tolist(),
        }  # fmt: skip
        rest = np.zeros(len(state.hosts) - len(self.days.day), np.float32)  # hosts that were never looked at
        days = {"spent": np.r_[self.days.spent, rest], "day": np.r_[self.days.day, rest]}
        of_hosts = {"id": _keys(state.hosts.ids), **days, **state.hosts.columns()}
        of_hubs = {"id": _keys(state.hubs.ids), **state.hubs.columns}
        parts = [
            pack(head, {key: self[key] for key in KINDS}),
            pack({}, {key: of_hosts[key] for key in _HOST_KINDS}),
            pack({}, of_hubs),
        ]
        return b"".join(len(part).to_bytes(8, "big") + part for part in parts)

    @classmethod
    def load(cls, data: bytes, about: Mapping[str, object], *, with_promises: bool) -> MemoryRows:
        """Rows as they were; a dump of another policy, seed or objective is an InputError."""
        (head, targets), (_, of_hosts), (_, of_hubs) = (
            unpack(part, kinds) for part, kinds in zip(_parts(data), _DUMP, strict=True)
        )
        kept: dict[str, Any] = dict(head)
        inner = {key: kept.pop(key, None) for key in _INNER}
        if kept != json.loads(json.dumps(dict(about))):
            raise InputError(f"this dump is of {kept}, not of {dict(about)}")
        rows = cls(with_promises=with_promises)
        rows._columns, rows.size = targets, len(targets["id"])
        rows._index.add(targets["id"], np.arange(rows.size), targets["id"])
        rows.asked = AskedLooks(**inner["asked"])
        rows.days.spent, rows.days.day = of_hosts.pop("spent"), of_hosts.pop("day")
        rows.state.hosts.restore(of_hosts.pop("id").tolist(), of_hosts)
        rows.state.hubs.restore(of_hubs.pop("id").tolist(), of_hubs)
        _restore(rows.state, inner)
        rows.link_hubs(_keys(rows.state.hubs.ids))
        rows.moved(np.empty(0, np.int64))
        return rows

    def _grow(self, more: int) -> None:
        room = len(self._columns["id"])
        self.size += more
        if self.size > room:
            wanted = max(self.size, room + room // 8)
            for key, column in self._columns.items():
                self._columns[key] = np.concatenate([column, np.empty(wanted - room, column.dtype)])


_INNER = (
    "asked", "counters", "published", "bursts", "calibration", "has_common_clock", "shared_clock", "common_clock",
)  # fmt: skip


def _restore(state: SchedulerState, inner: Mapping[str, Any]) -> None:
    state.counters = SchedulerCounters(**inner["counters"])
    state.published = Published.of(inner["published"])
    state.bursts, state.calibration.counts = np.array(inner["bursts"]), np.array(inner["calibration"])
    state.has_common_clock = inner["has_common_clock"]
    clocks = state.hosts.clocks
    clocks.shared, clocks.common = (
        np.array(inner["shared_clock"]),
        np.array(inner["common_clock"], np.float32),
    )


def _keys(ids: Mapping[Hashable, int]) -> Rows:
    return np.fromiter(ids, np.int64, len(ids))


def _parts(data: bytes) -> list[bytes]:
    parts, start = [], 0
    for _ in _DUMP:
        size = int.from_bytes(data[start : start + 8], "big")
        parts.append(data[start + 8 : start + 8 + size])
        start += 8 + size
    if start != len(data) or not data:
        raise InputError("this is not a dump of the learned policy, or it is cut short")
    return parts
