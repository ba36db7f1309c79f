"""One policy on one truth: what it looks at, what it sees, how late.  Many such plays give bounds.

Time goes in steps.  At each the policy names the targets to look at, as many as the budget and the hosts have room
for, and is told what the looks show.  Between two steps nothing is seen, so a delay is at most one step longer
than it would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule.learned.policy import LearnedPolicy
from vedette.core.schedule.protocol import SchedulePolicy
from vedette.core.whatif.history import Extreme, Flags, Floats, History, Imputer, Rows, Targets, Truth

STEP = 0.25  # hours
CLASSES = len(Risk)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayTerms:
    """What a play is held to."""

    budget: float | None = None  # looks per day; None: what the policy's own schedule asks for
    within: tuple[float, float, float, float] = (4.0, 4.0, 4.0, 4.0)  # hours, LOW to CRITICAL
    room: Mapping[int, float] = field(default_factory=dict)  # looks per day of a host; not named: no limit
    step: float = STEP


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayResult:
    """Sums by risk, LOW to CRITICAL, and what was recorded on the way."""

    days: float
    looks: Floats
    changes: Floats  # after the first look at their target
    delay: Floats  # hours, over all changes; one that was not seen counts until the end
    judged: Floats  # changes whose delay is known to be within the objective or not
    in_time: Floats
    missed: Floats  # states that nobody saw: another change came first
    unseen: Floats  # changes that no look had shown by the end
    history: History | None = None


def play(
    policy: SchedulePolicy,
    truth: Truth,
    terms: PlayTerms,
    *,
    record: bool = False,
    on_step: Callable[[int, int], None] | None = None,
) -> PlayResult:
    """Let the policy watch this truth from its start to its end."""
    if terms.budget is not None and not terms.budget > 0:
        raise InputError(f"a budget of {terms.budget:g} looks per day buys no look")
    court = _Court(truth, terms)
    tape = _Tape() if record else None
    daily = _DailyBudget(truth.targets, terms)
    births = np.argsort(truth.targets.since, kind="stable")
    born_at = truth.targets.since[births]
    known, steps = 0, max(1, round((truth.end - truth.start) / terms.step))
    for n in range(steps):
        t = truth.start + (n + 1) * terms.step
        upto = int(np.searchsorted(born_at, t, side="right"))
        if upto > known:
            new = births[known:upto]
            policy.add(new, risk=truth.targets.risk[new].tolist(), host=truth.targets.host[new], now=t)
            known = upto
        rows = policy.next(t, daily.take(known), host_room=daily.room())
        if len(rows):
            changed = court.look(rows, t)
            daily.pay(rows)
            policy.observe(rows, t, changed)
            if tape is not None:
                tape.note(rows, t, changed)
        if on_step is not None:
            on_step(n + 1, steps)
    return court.verdict(tape.history(truth) if tape is not None else None)


class _Court:
    """Knows the truth and judges every look by it."""

    def __init__(self, truth: Truth, terms: PlayTerms) -> None:
        n = len(truth.targets)
        self._truth, self._terms = truth, terms
        self._span = truth.end - truth.start + 1000.0  # farther apart than any two times
        self._keys = truth.row * self._span + (truth.at - truth.start)
        self._sums = np.r_[0.0, np.cumsum(truth.at - truth.start)]
        self._seen = np.searchsorted(self._keys, np.arange(n) * self._span)  # changes before it are seen
        self._is_met = np.zeros(n, bool)
        self._looks = np.zeros(n, np.int64)
        self._within = np.asarray(terms.within)
        self._sum = {
            name: np.zeros(CLASSES)
            for name in ("looks", "changes", "delay", "judged", "in_time", "missed", "unseen")
        }

    def look(self, rows: Rows, t: float) -> Flags:
        """Which of these looks show a change."""
        self._looks[rows] += 1
        old, new = self._seen[rows], self._upto(rows, t)
        changed: Flags = (new > old) & self._is_met[rows]
        self._seen[rows] = new
        self._is_met[rows] = True
        if changed.any():
            self._count(rows[changed], old[changed], new[changed], t, is_seen=True)
        return changed

    def verdict(self, history: History | None) -> PlayResult:
        """What is unseen at the end counts as far as it is known."""
        truth = self._truth
        self._add("looks", truth.targets.risk, self._looks)
        rows = np.flatnonzero(self._is_met)
        old, new = self._seen[rows], self._upto(rows, truth.end)
        left = new > old
        self._count(rows[left], old[left], new[left], truth.end, is_seen=False)
        return PlayResult(days=(truth.end - truth.start) / 24.0, history=history, **self._sum)

    def _count(self, rows: Rows, old: Rows, new: Rows, t: float, *, is_seen: bool) -> None:
        risk = self._truth.targets.risk[rows]
        count = new - old
        delay = count * (t - self._truth.start) - (self._sums[new] - self._sums[old])
        young = new - np.maximum(old, self._upto(rows, t - self._within[risk], side="left"))
        self._add("changes", risk, count)
        self._add("delay", risk, delay)
        self._add("missed", risk, count - 1)
        if is_seen:
            self._add("judged", risk, count)
            self._add("in_time", risk, young)
        else:
            self._add("judged", risk, count - young)  # the young ones may still be seen in time
            self._add("unseen", risk, count)

    def _upto(self, rows: Rows, t: float | Floats, side: Literal["left", "right"] = "right") -> Rows:
        """Index behind the last change of each row at or before `t` (`left`: before)."""
        after = np.maximum(t - self._truth.start, 0.0) if side == "left" else t - self._truth.start
        found: Rows = np.searchsorted(self._keys, rows * self._span + after, side=side)
        return found

    def _add(self, name: str, risk: Rows, amount: Floats | Rows) -> None:
        self._sum[name] += np.bincount(risk, amount, CLASSES)


class _DailyBudget:
    """What the budget and the hosts have left."""

    def __init__(self, targets: Targets, terms: PlayTerms) -> None:
        self._per_step = None if terms.budget is None else terms.budget * terms.step / 24.0
        self._credit = 0.0
        size = np.bincount(targets.host) if len(targets) else np.zeros(0, np.int64)
        tight = {
            host: per_day * terms.step / 24.0
            for host, per_day in terms.room.items()
            if host < len(size) and per_day * terms.step / 24.0 < size[host]
        }  # a host with room for all its targets at every step holds nobody up
        self._hosts = tight
        self._left = dict.fromkeys(tight, 0.0)
        self._host = targets.host

    def take(self, known: int) -> int | None:
        """How many looks this step may have."""
        for host, per_step in self._hosts.items():
            self._left[host] = min(self._left[host] + per_step, max(1.0, per_step))
        if self._per_step is None:
            return None
        self._credit += self._per_step
        whole = min(int(self._credit), known)
        self._credit -= int(self._credit)
        return whole

    def room(self) -> dict[int, int] | None:
        return {host: int(left) for host, left in self._left.items()} if self._hosts else None

    def pay(self, rows: Rows) -> None:
        if not self._hosts:
            return
        hosts, counts = np.unique(self._host[rows], return_counts=True)
        for host, count in zip(hosts.tolist(), counts.tolist(), strict=True):
            if host in self._left:
                self._left[host] -= count


class _Tape:
    """What the policy saw: the history that it would have left behind."""

    def __init__(self) -> None:
        self._rows: list[Rows] = []
        self._times: list[Floats] = []
        self._changed: list[Flags] = []

    def note(self, rows: Rows, t: float, changed: Flags) -> None:
        self._rows.append(rows)
        self._times.append(np.full(len(rows), t))
        self._changed.append(changed)

    def history(self, truth: Truth) -> History:
        row = np.concatenate([np.zeros(0, np.int64), *self._rows])
        at = np.concatenate([np.zeros(0), *self._times])
        changed = np.concatenate([np.zeros(0, bool), *self._changed])
        order = np.lexsort((at, row))
        return History(
            targets=truth.targets,
            row=row[order],
            at=at[order],
            changed=changed[order],
            audit=np.full(len(row), np.nan),
            start=truth.start,
            end=truth.end,
            requests=len(row),
        )


# A policy that knows what the history knows: every look on record, told in the order of time.

SECOND_LOOK = 1 / 60  # hours; a look that follows so soon belongs to the one before it


def teach(policy: SchedulePolicy, history: History, *, to_forecast: bool = False) -> None:
    """Add all targets and observe all looks.  `to_forecast`: nothing else is asked of it afterwards."""
    targets = history.targets
    if not len(targets):
        return
    rows = np.arange(len(targets))
    start = float(min(targets.since.min(), history.start))
    policy.add(rows, risk=targets.risk.tolist(), host=targets.host, now=start)
    keep = _own_looks(history)
    order = keep[np.argsort(history.at[keep], kind="stable")]
    observe = policy.learn if to_forecast and isinstance(policy, LearnedPolicy) else policy.observe
    for part in _rounds(history.row[order]):
        looks = order[part]
        observe(history.row[looks], history.at[looks], history.changed[looks])
    if isinstance(policy, LearnedPolicy):
        policy.publish()


def _own_looks(history: History) -> Rows:
    """All looks but second looks."""
    same = np.r_[False, history.row[1:] == history.row[:-1]]
    soon = np.r_[False, np.diff(history.at) < SECOND_LOOK]
    keep: Rows = np.flatnonzero(~(same & soon) | history.changed)
    return keep


def _rounds(rows: Rows) -> Iterator[slice]:
    """Consecutive looks without a target twice, as long as possible: `observe` takes each id once."""
    order = np.argsort(rows, kind="stable")
    before = np.full(len(rows), -1)
    same = rows[order][1:] == rows[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    begin = 0
    for n in np.flatnonzero(before >= 0).tolist():
        if before[n] >= begin:
            yield slice(begin, n)
            begin = n
    if begin < len(rows):
        yield slice(begin, len(rows))


# Many plays as bounds: what a policy would have done, as far as the history can say.
#
# Every draw of the imputer is a truth that fits the history.  The policy is played on each; a figure's bounds reach
# over all draws, and at least so many standard deviations around their mean (in logarithms for what has no upper
# end).  The extremes are kept apart: they say what the looks alone force, one change per gap that showed one.

DRAWS = 20
# Standard deviations that bounds reach at least.  Found by trial on living webs: few figures escape (a test counts).
_SPREAD = {"requests": 3.0, "delay": 4.0, "within": 4.0, "missed": 3.0, "changes": 3.0}
ALL = "ALL"
FIGURES = ("requests", "delay", "within", "missed", "changes")
_SHARES = frozenset({"within"})

Figures = Mapping[str, float]  # by name of FIGURES; NaN: nothing to measure it by
Table = Mapping[str, Figures]  # by risk name, and ALL


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one figure.  `middle` is the median draw; `least` and `most` reach over the extremes too.

    NaN: nothing to measure it by.
    """

    low: float
    middle: float
    high: float
    least: float
    most: float

    def contains(self, value: float) -> bool:
        """Is it inside, to a rounding error?"""
        slack = 1e-9 * max(1.0, abs(value))
        return self.low - slack <= value <= self.high + slack

    @property
    def is_known(self) -> bool:
        return not math.isnan(self.low)


BoundTable = Mapping[str, Mapping[str, Bounds]]


@dataclass(frozen=True, slots=True)
class PlayedTruth:
    """A policy with a budget, and what it would have done."""

    policy: str
    budget: float | None  # looks per day; None: no limit
    table: BoundTable

    @property
    def limit(self) -> str:
        return "no limit" if self.budget is None else f"{self.budget:,.0f}/day"


def figures(played: PlayResult) -> Table:
    """Per risk class and for all: requests per day, mean delay in hours, share within the objective, states
    never seen, changes."""
    table = {risk.name: _figures(played, np.eye(CLASSES)[risk]) for risk in reversed(Risk)}
    return {**table, ALL: _figures(played, np.ones(CLASSES))}


def bounds(
    make: Callable[[], SchedulePolicy],
    history: Imputer,
    terms: PlayTerms,
    draws: int = DRAWS,
    on_play: Callable[[int, int], None] | None = None,
) -> BoundTable:
    """Play the policy on every draw and both extremes."""
    truths: list[Callable[[], Truth]] = [partial(history.draw, n, draws) for n in range(draws)]
    truths += [partial(history.extreme, which) for which in Extreme]
    tables = []
    for n, truth in enumerate(truths, 1):
        tables.append(figures(play(make(), truth(), terms)))
        if on_play is not None:
            on_play(n, len(truths))
    return {
        risk: {name: _bounds(name, [table[risk][name] for table in tables], draws) for name in FIGURES}
        for risk in tables[0]
    }


def exact(table: Table) -> BoundTable:
    """The figures of a truth that is known, as bounds without width."""
    return {
        risk: {name: Bounds(value, value, value, value, value) for name, value in one.items()}
        for risk, one in table.items()
    }


def _figures(played: PlayResult, weight: Floats) -> Figures:
    changes = float(weight @ played.changes)
    return {
        "requests": float(weight @ played.looks) / played.days,
        "delay": _ratio(float(weight @ played.delay), changes),
        "within": _ratio(float(weight @ played.in_time), float(weight @ played.judged)),
        "missed": float(weight @ played.missed),
        "changes": changes,
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _bounds(name: str, values: Iterable[float], draws: int) -> Bounds:
    every = np.array(list(values))
    drawn, known = every[:draws], every[~np.isnan(every)]
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return Bounds(*[math.nan] * 5)
    low, high = _reach(drawn, _SPREAD[name], is_share=name in _SHARES)
    least, most = min(low, float(known.min())), max(high, float(known.max()))
    return Bounds(low, float(np.median(drawn)), high, least, most)


def _reach(drawn: Floats, deviations: float, *, is_share: bool) -> tuple[float, float]:
    scaled = drawn if is_share else np.log1p(drawn)
    spread = deviations * float(scaled.std(ddof=1)) if len(drawn) > 1 else 0.0
    low, high = float(scaled.mean()) - spread, float(scaled.mean()) + spread
    if is_share:
        return max(0.0, min(low, float(drawn.min()))), min(1.0, max(high, float(drawn.max())))
    return max(0.0, min(math.expm1(low), float(drawn.min()))), max(math.expm1(high), float(drawn.max()))
