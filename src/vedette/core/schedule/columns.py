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
from vedette.core.schedule.ewma import VelocityParams
from vedette.core.schedule.per_risk import IntervalRule
from vedette.core.schedule.protocol import Explanation, Forecast, Risks

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Flags, Floats, Ints


from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import Floats, Ints


# What callers hand over, checked once for every policy, and the rows of their ids.
#
# Bad input is an InputError that says what is wrong.

Rows = NDArray[np.int64]
SIGNALS = frozenset(("hub", "sitemap", "feed", "push"))
_TAIL = 1024  # new ids found by dict; grows with the rest, so that adding stays cheap


def as_ids(ids: Ints) -> Rows:
    keys = np.asarray(ids)
    if keys.size == 0:
        return np.empty(0, np.int64)
    if keys.ndim != 1 or keys.dtype.kind not in "iu":
        raise InputError("ids are one row of whole numbers")
    return keys.astype(np.int64, copy=False)


def one_each(keys: Rows, values: Ints, what: str) -> Rows:
    column = as_ids(values)
    if len(column) != len(keys):
        raise InputError(f"{len(keys)} ids and {len(column)} values of {what}: give one for each")
    return column


def as_ranks(risk: Risks, n: int) -> NDArray[np.int8]:
    """Ranks from names or ranks, one for all or one each."""
    asked = np.asarray(risk, object)
    given = [asked.item()] * n if asked.ndim == 0 else asked.tolist()
    if len(given) != n:
        raise InputError(f"{n} ids and {len(given)} risks: give one for each, or one for all")
    known: dict[object, int] = {}
    for word in given:
        if word not in known:
            known[word] = _rank(word)
    return np.fromiter((known[word] for word in given), np.int8, n)


def _rank(word: str | int) -> int:
    try:
        return Risk.parse(word) if isinstance(word, str) else Risk(word)
    except (TypeError, ValueError) as problem:
        raise InputError(f"risk: {problem}") from None


def as_time(t: float) -> None:
    if not math.isfinite(t):
        raise InputError(f"time is {t!r}; it must be a number of hours")


def as_times(t: float | Floats, n: int) -> NDArray[np.float64]:
    column = np.asarray(t, np.float64)
    if not np.isfinite(column).all() or column.shape not in ((), (n,)):
        raise InputError("times are hours: one for all ids, or one for each")
    return np.broadcast_to(column, (n,))


def as_dates(dates: Floats | None, n: int) -> NDArray[np.float64]:
    """Dates in hours, NaN where none is known; what is infinite is no date."""
    if dates is None:
        return np.full(n, np.nan)
    column = np.asarray(dates, np.float64)
    if column.shape != (n,):
        raise InputError(f"{n} ids and {column.size} dates: give one for each, NaN where there is none")
    return np.where(np.isfinite(column), column, np.nan)


def is_good(status: Rows) -> NDArray[np.bool_]:
    good: NDArray[np.bool_] = ((status >= 200) & (status < 300)) | (status == 304)
    return good


def fits(host: Rows, room: Mapping[int, int]) -> NDArray[np.bool_]:
    """Best first: does the n-th of its host still fit?"""
    order = np.argsort(host, kind="stable")
    ordered = host[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(host) else order
    nth = np.empty(len(host), np.int64)
    nth[order] = np.arange(len(host)) - np.repeat(first, np.diff(np.r_[first, len(host)]))
    most = np.array([room.get(int(one), len(host)) for one in ordered[first]], np.int64)
    limit = np.empty(len(host), np.int64)
    limit[order] = np.repeat(most, np.diff(np.r_[first, len(host)]))
    fits: NDArray[np.bool_] = nth < limit
    return fits


class IdIndex:
    """From ids to rows at 4 bytes for each: the rows in the order of their ids, searched by halving.

    The ids themselves are a column of the caller.  New ids wait in a dict until they are sorted in.
    """

    def __init__(self) -> None:
        self.rows = np.empty(0, np.int32)
        self._tail: dict[int, int] = {}

    def find(self, wanted: Rows, ids: Rows) -> Rows:
        """The row of each wanted id; -1 where it is not known.  `ids` is the column."""
        found = np.full(len(wanted), -1, np.int64)
        if len(self.rows):
            low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(self.rows))
            for _ in range(len(self.rows).bit_length()):
                middle = (low + high) >> 1
                less = ids[self.rows[np.minimum(middle, len(self.rows) - 1)]] < wanted
                go = low < high
                low = np.where(go & less, middle + 1, low)
                high = np.where(go & ~less, middle, high)
            at = self.rows[np.minimum(low, len(self.rows) - 1)]
            found = np.where(ids[at] == wanted, at, found)
        if self._tail:
            for place in np.flatnonzero(found < 0).tolist():
                found[place] = self._tail.get(int(wanted[place]), -1)
        return found

    def add(self, new: Rows, rows: Rows, ids: Rows) -> None:
        """New ids and their rows, which are in the column already."""
        if len(new) > _TAIL + len(self.rows) // 8:
            self._sort_in(np.concatenate([self.rows, [*self._tail.values()], rows]), ids)
            return
        self._tail.update(zip(new.tolist(), rows.tolist(), strict=True))
        if len(self._tail) > _TAIL + len(self.rows) // 8:
            self._sort_in(np.concatenate([self.rows, [*self._tail.values()]]), ids)

    def _sort_in(self, rows: NDArray[np.generic], ids: Rows) -> None:
        every = rows.astype(np.int32)
        self.rows, self._tail = every[np.argsort(ids[every], kind="stable")], {}


# Chance without drawing: a counter-based hash of (seed, id, n).  One decision has one number, always.

# splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014)
_GOLDEN = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_MASK = (1 << 64) - 1


def chances(seed: int, ids: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """A number in [0, 1) for each (id, n)."""
    with np.errstate(over="ignore"):
        mixed = _stir(ids.astype(np.uint64) + np.uint64(_start(seed)))
        mixed = _stir(mixed + n.astype(np.uint64) * np.uint64(_GOLDEN))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _start(seed: int) -> int:
    """The seed, stirred once: neighbouring seeds must not give neighbouring streams."""
    mixed = (seed * _GOLDEN + _GOLDEN) & _MASK
    for shift, factor in ((30, _MIX[0]), (27, _MIX[1])):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & _MASK
    return mixed ^ (mixed >> 31)


def _stir(mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_MIX[0])
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_MIX[1])
    return mixed ^ (mixed >> np.uint64(31))


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
