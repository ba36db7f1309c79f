"""Targets as columns: the Protocol for every policy that is an interval rule (seed-ewma, fixed, per-risk).

Due times come from the rule and a counter-based jitter.  Value, by which `next` orders, is

    1 + lateness / interval

so a target just due is worth 1, one that is not due yet less, and one that is late more and more.  Of equal
values the higher risk goes first.  Risk is in the interval already: weighing lateness by it again makes
seed-ewma a third worse in the freshness judge (mean xRef 2.01 against 1.53), because everything below
CRITICAL starves when the budget is short.
Signals of hubs, sitemaps and feeds are not used by these policies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason, Risk
from vedette.core.schedule import outlook
from vedette.core.schedule.chance import chances
from vedette.core.schedule.checks import (
    SIGNALS,
    IdIndex,
    Rows,
    as_ids,
    as_ranks,
    as_time,
    as_times,
    fits,
    is_good,
    one_each,
)
from vedette.core.schedule.ewma import VelocityParams
from vedette.core.schedule.per_risk import IntervalRule
from vedette.core.schedule.protocol import Explanation, Forecast, Risks

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Flags, Floats, Ints

_START = {
    "id": np.int64, "host": np.int64, "risk": np.int8, "scans": np.int64, "looks": np.int64,
    "velocity": np.float64, "last": np.float64, "gap": np.float64, "hours": np.float64, "due": np.float64,
}  # fmt: skip
_FIRST_HOURS = 1.0  # the interval that lateness is measured in before the first look


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """Options that every policy takes."""

    seed: int = 0
    objectives: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # risk: hours, share
    budget_per_day: float | None = None


class ColumnPolicy:
    """An interval rule over columns."""

    def __init__(
        self, name: str, rule: IntervalRule, options: PolicyOptions, velocity: VelocityParams | None = None
    ) -> None:
        self.name = name
        self._rule = rule
        self._options = options
        self._velocity = velocity or VelocityParams()
        self._by_risk = np.array(rule.by_risk)
        self._index = IdIndex()
        self._columns: dict[str, NDArray[Any]] = {key: np.empty(0, kind) for key, kind in _START.items()}

    def add(self, ids: Ints, *, risk: Risks, host: Ints, parent: Ints | None = None, now: float) -> None:
        keys = as_ids(ids)
        ranks, hosts = as_ranks(risk, len(keys)), one_each(keys, host, "host")
        as_time(now)
        if parent is not None:
            one_each(keys, parent, "parent")
        rows = self._index.find(keys, self._columns["id"])
        fresh = np.flatnonzero(rows < 0)
        _, first = np.unique(keys[fresh], return_index=True)
        fresh = fresh[np.sort(first)]
        if len(fresh):
            added = np.arange(len(self._columns["id"]), len(self._columns["id"]) + len(fresh))
            self._grow(added, keys[fresh], now)
            self._index.add(keys[fresh], added, self._columns["id"])
            rows = self._index.find(keys, self._columns["id"])
        self._columns["risk"][rows] = ranks
        self._columns["host"][rows] = hosts
        self._plan(rows[self._columns["looks"][rows] > 0])

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
        rows = self._known(keys)
        good = np.ones(len(keys), bool) if status is None else is_good(one_each(keys, status, "status"))
        self._learn(rows[good], seen[good])
        at = as_times(t, len(keys))
        gap = at - self._columns["last"][rows]
        self._columns["gap"][rows] = np.where(gap > 0, gap, self._columns["gap"][rows])
        self._columns["looks"][rows] += 1
        self._columns["last"][rows] = at
        self._plan(rows)

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
        """Checked and not used: an interval rule looks at nothing but its own looks."""
        if kind not in SIGNALS:
            raise InputError(f"unknown signal {kind!r}; use one of {', '.join(sorted(SIGNALS))}")
        as_time(t)

    def next(self, t: float, k: int | None, *, host_room: Mapping[int, int] | None = None) -> Rows:
        as_time(t)
        if k is not None and k < 0:
            raise InputError(f"next was asked for {k} targets")
        worth = self._worth(t)
        rows = np.flatnonzero(self._columns["due"] <= t) if k is None else np.arange(len(worth))
        if k is not None and host_room is None and k < len(rows):
            rows = np.argpartition(-worth, k)[:k] if k else rows[:0]
        rows = rows[np.lexsort((self._columns["id"][rows], -self._columns["risk"][rows], -worth[rows]))]
        if host_room is not None:
            rows = rows[fits(self._columns["host"][rows], host_room)]
        chosen: Rows = self._columns["id"][rows if k is None else rows[:k]]
        return chosen

    def next_due(self, id: int) -> float:  # noqa: A002  as the Protocol has it
        return float(self._columns["due"][self._known(as_ids([id]))[0]])

    def explain(self, id: int, t: float) -> Explanation:  # noqa: A002
        as_time(t)
        row = int(self._known(as_ids([id]))[0])
        one = {key: column[row].item() for key, column in self._columns.items()}
        rate = float(self._rates()[row])
        is_new = one["looks"] == 0
        return Explanation(
            id=id,
            at=t,
            p_changed=1.0 if is_new else -math.expm1(-rate * max(0.0, t - one["last"])),
            rate=rate,
            interval=0.0 if is_new else one["hours"],
            due_at=one["due"],
            value=float(self._worth(t)[row]),
            price=outlook.price(self._columns["hours"], self._options.budget_per_day),
            reasons=(Reason("never_looked_at"),) if is_new else self._reasons(one),
        )

    def forecast(self, t: float, budget: float | None) -> Forecast:
        as_time(t)
        if budget is not None and not budget >= 0:
            raise InputError(f"a budget of {budget!r} looks per day cannot be forecast")
        table = {"risk": self._columns["risk"], "hours": self._columns["hours"], "rate": self._rates()}
        spend = self._options.budget_per_day if budget is None else budget
        return outlook.forecast(table, t, spend, self._options.objectives)

    def dump(self) -> bytes:
        return pack(
            {"policy": self.name, "seed": self._options.seed, "rule": repr(self._rule)}, self._columns
        )

    def load(self, data: bytes) -> None:
        head, columns = unpack(data, _START)
        mine = {"policy": self.name, "seed": self._options.seed, "rule": repr(self._rule)}
        if head != mine:
            raise InputError(f"this dump is of {head}, not of {mine}")
        self._columns, self._index = columns, IdIndex()
        self._index.add(columns["id"], np.arange(len(columns["id"])), columns["id"])

    def _grow(self, rows: Rows, keys: Rows, now: float) -> None:
        """New targets: never looked at, due at once."""
        new = {
            "id": keys, "velocity": self._velocity.neutral, "last": np.nan,
            "gap": _FIRST_HOURS, "hours": _FIRST_HOURS, "due": now,
        }  # fmt: skip
        for key, kind in _START.items():
            tail = np.full(len(rows), new.get(key, 0), kind)
            self._columns[key] = np.concatenate([self._columns[key], tail])

    def _learn(self, rows: Rows, changed: NDArray[np.bool_]) -> None:
        """`update_velocity` for columns."""
        p, velocity, scans = self._velocity, self._columns["velocity"][rows], self._columns["scans"][rows]
        alpha = np.where(changed, p.alpha_change, p.alpha_stable)
        moved = (alpha * changed + (1 - alpha) * velocity).clip(p.floor, p.ceiling)
        self._columns["velocity"][rows] = np.where(scans < p.warmup, p.neutral, moved)
        self._columns["scans"][rows] += 1

    def _plan(self, rows: Rows) -> None:
        """Interval and due time after the last look."""
        c = self._columns
        hours = self._rule.hours(c["velocity"][rows], self._by_risk[c["risk"][rows]])
        chance = chances(self._options.seed, c["id"][rows], c["looks"][rows])
        share = self._rule.jitter_share
        c["hours"][rows] = hours * (1 + (chance * (2 * share) - share))  # `jittered` for columns
        c["due"][rows] = c["last"][rows] + c["hours"][rows]

    def _rates(self) -> NDArray[np.float64]:
        return outlook.rates(self._columns["velocity"], self._columns["gap"], self._velocity)

    def _worth(self, t: float) -> NDArray[np.float64]:
        c = self._columns
        worth: NDArray[np.float64] = 1.0 + (t - c["due"]) / c["hours"]
        return worth

    def _reasons(self, one: Mapping[str, Any]) -> tuple[Reason, ...]:
        plain = self._rule.interval(one["velocity"], Risk(one["risk"]))
        return (*plain.reasons, Reason("jitter", one["hours"] - plain.hours))

    def _known(self, keys: Rows) -> Rows:
        rows = self._index.find(keys, self._columns["id"])
        if len(rows) and rows.min() < 0:
            raise InputError(f"unknown target {int(keys[rows < 0][0])}; add it first")
        return rows


# Columns as bytes and back: one line of JSON, then the arrays in order.  No pickle.

VERSION = 1


def pack(head: Mapping[str, object], columns: Mapping[str, NDArray[Any]]) -> bytes:
    """The head and the columns; equal content gives equal bytes."""
    rows = len(next(iter(columns.values())))
    line = json.dumps({"version": VERSION, "rows": rows, "columns": list(columns), "head": dict(head)})
    return b"\n".join((line.encode(), b"".join(column.tobytes() for column in columns.values())))


def unpack(data: bytes, kinds: Mapping[str, type]) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
    """Head and columns of a dump; anything else is an InputError."""
    line, _, body = data.partition(b"\n")
    try:
        table = json.loads(line)
        version, rows, names, head = (table[key] for key in ("version", "rows", "columns", "head"))
    except (ValueError, KeyError, TypeError):
        raise InputError("this is not a dump of a schedule policy") from None
    size = sum(np.dtype(kind).itemsize for kind in kinds.values())
    if version != VERSION or names != list(kinds) or len(body) != rows * size:
        raise InputError("this dump is of another version, or cut short")
    columns: dict[str, NDArray[Any]] = {}
    start = 0
    for name, kind in kinds.items():
        columns[name] = np.frombuffer(body, kind, rows, start).copy()
        start += rows * np.dtype(kind).itemsize
    return head, columns
