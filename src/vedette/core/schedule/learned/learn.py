"""What a look teaches: belief before, what was seen, belief after.  Pure, whole arrays at once.

No change in X clock hours: hours += X.  A change at a known time c: events += 1, hours += clock from c on.  A change
at an unknown time: the first two moments of Gamma(a, b) * (1 - exp(-rate X)) are matched.  A change may have
followed the one before; the rate is credited with its share of what was expected.

Does it happen as often as we say?  `Calibration` holds what was predicted against what the looks then saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule.learned.beliefs import NEVER_LOOKED, BeliefContext, Beliefs
from vedette.core.schedule.learned.settings import BURST_HOURS, FALLS_ASLEEP
from vedette.core.schedule.learned.value import Unseen, clock_hours, unseen

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]

_SHORTEST = 1 / 3600  # hours: two looks within a second teach nothing more


@dataclass(slots=True)
class GoodLooks:
    """Good looks, one per target."""

    at: Floats
    changed: Flags
    modified: Floats  # Last-Modified where it may be trusted, else NaN

    def take(self, where: Rows) -> GoodLooks:
        return GoodLooks(self.at[where], self.changed[where], self.modified[where])


@dataclass(slots=True)
class CommonLesson:
    """What the looks say beyond their targets: for the host's clock, the bursts and the listings."""

    taught: Flags  # not the first look at its target
    start: Floats  # a change happened between start and end; equal where the time is known
    end: Floats
    burst_seen: Floats  # changes credited to the rate itself and to each burst constant, and
    predicted: Floats  # chance of a change as it was told, of the looks that taught
    burst_room: Floats  # the changes that they could have followed
    first_seen: Floats  # of each look: 1 where it found the first change of its target, and
    first_room: Floats  # the first changes that an ordinary host would have shown


def learn(b: Beliefs, context: BeliefContext, looks: GoodLooks) -> tuple[Beliefs, CommonLesson]:
    """Belief after the looks, and the lesson for everyone else."""
    age = np.maximum(looks.at - b.last, _SHORTEST)
    first = b.listed_change_p >= NEVER_LOOKED
    said = before = unseen(b, context, age)
    if np.isfinite(context.listed_at).any():
        context = replace(
            context, listed_at=np.full(len(b), -np.inf)
        )  # a look sees all that happened, named or not
        before = unseen(b, context, age)
    is_dated = looks.changed & (looks.modified > b.last) & (looks.modified <= looks.at)
    since = np.where(is_dated, looks.at - np.where(is_dated, looks.modified, 0.0), age / 2)
    steady, asleep = _states(b, before, looks.changed, since)
    events, hours = _rates(b, context, before, _Seen(looks, is_dated, since, asleep))
    lag = np.where(looks.changed & (is_dated | (age < 2 * BURST_HOURS[-1])), since, b.lag + age)
    keep = first
    after = Beliefs(
        events=np.where(keep, b.events, events),
        hours=np.where(keep, b.hours, hours),
        steady=np.where(keep, b.steady, steady),
        asleep=np.where(keep, b.asleep, asleep),
        last=looks.at,
        lag=np.where(keep, np.where(is_dated, since, np.inf), lag),
        listed_change_p=np.zeros(len(b)),
        listed_change_lag=np.zeros(len(b)),
    )
    return after, _lesson(b, context, said, _Seen(looks, is_dated, since, asleep))


@dataclass(slots=True)
class _Seen:
    looks: GoodLooks
    is_dated: Flags
    since: Floats  # hours from the change, as far as known, to the look
    asleep: Floats  # after the look


def _states(b: Beliefs, before: Unseen, changed: Flags, since: Floats) -> tuple[Floats, Floats]:
    """Chances of never sleeping and of sleeping now.  Who changed was awake, and may have gone to sleep since."""
    none = before.steady + before.awake + before.asleep
    steady_too = np.maximum(b.steady - before.steady, 1e-12)
    other_too = np.maximum(1.0 - b.steady - before.awake - before.asleep, 1e-12)
    slept = -np.expm1(-FALLS_ASLEEP * since)
    both = steady_too + other_too
    steady = np.where(changed, steady_too / both, before.steady / none)
    asleep = np.where(changed, other_too / both * slept, before.asleep / none)
    return steady, asleep


def _rates(b: Beliefs, context: BeliefContext, before: Unseen, seen: _Seen) -> tuple[Floats, Floats]:
    shape, scale = context.prior
    a, hours = b.events + shape, b.hours + scale
    awake = 1.0 - (b.asleep + np.where(seen.looks.changed, b.asleep, seen.asleep)) / 2
    clock = np.maximum(before.clock * awake, _SHORTEST)
    back = np.zeros(len(a))
    if seen.is_dated.any():
        rows = np.flatnonzero(seen.is_dated)
        part = b.take(rows)
        whole = clock_hours(part, context.take(rows), seen.looks.at[rows] - part.last)
        upto = clock_hours(part, context.take(rows), seen.looks.modified[rows] - part.last)
        back[rows] = np.maximum(whole - upto, 0.0)
    vague_a, vague_hours = _matched(a, hours, clock)
    new_a = np.where(seen.is_dated, a + 1.0, vague_a)
    new_hours = np.where(seen.is_dated, hours + back, vague_hours)
    credit = before.hazard / (before.hazard + before.burst + 1e-12)
    changed = seen.looks.changed
    events = np.where(changed, a + (new_a - a) * credit, a) - shape
    spent = np.where(changed, hours + clock + (new_hours - hours - clock) * credit, hours + clock) - scale
    return np.maximum(events, 0.0), np.maximum(spent, 0.0)


def _matched(a: Floats, hours: Floats, clock: Floats) -> tuple[Floats, Floats]:
    """Gamma(a, hours) given at least one change in `clock` hours, by its first two moments."""
    ratio = np.log1p(clock / hours)
    none, one, two = (-np.expm1(-(a + more) * ratio) for more in (0.0, 1.0, 2.0))
    mean = a / hours * one / none
    square = a * (a + 1.0) / hours**2 * two / none
    spread = np.maximum(square - mean**2, 1e-12 * mean**2)
    return mean**2 / spread, mean / spread


def _lesson(b: Beliefs, context: BeliefContext, said: Unseen, seen: _Seen) -> CommonLesson:
    looks, taught = seen.looks, b.listed_change_p < NEVER_LOOKED
    age = np.maximum(looks.at - b.last, _SHORTEST)
    known = taught & (b.listed_change_p == 0)  # listings choose their moment: they would teach bursts
    own = context.published.own
    quiet = -np.log(np.maximum(said.steady + said.awake + said.asleep, 1e-12))
    untouched = known & (b.events == 0)
    base = quiet[known, None] / own
    room = np.exp(-b.lag[known, None] / BURST_HOURS) * -np.expm1(-age[known, None] / BURST_HOURS)
    room = np.concatenate([base, room], axis=1)
    expected = room * np.array([own, *context.published.bursts])
    found = np.where(looks.changed[known], 1.0 / -np.expm1(-expected.sum(axis=1) - 1e-12), 0.0)
    hit = np.flatnonzero(taught & looks.changed)
    at = looks.at[hit] - seen.since[hit]
    dated = seen.is_dated[hit]
    return CommonLesson(
        taught=taught,
        start=np.where(dated, at, b.last[hit]),
        end=np.where(dated, at, looks.at[hit]),
        burst_seen=(expected * found[:, None]).sum(axis=0),
        burst_room=room.sum(axis=0),
        first_seen=np.where(untouched & looks.changed, 1.0, 0.0),
        first_room=np.where(untouched, quiet / context.host_activity, 0.0),
        predicted=(1.0 - (1.0 - said.changed) * (1.0 - b.listed_change_p))[taught],
    )


_EDGES = np.linspace(-5.0, 5.0, 15)  # log odds: from 0.7 % to 99.3 %
_TRUST = 10.0  # changes before a bin believes what it saw more than what it predicted
BINS = len(_EDGES) + 1


class Calibration:
    """Per bin: looks, sum of the predictions, changes seen."""

    def __init__(self, counts: Sequence[Sequence[float]] | None = None) -> None:
        self.counts = np.zeros((3, BINS)) if counts is None else np.array(counts)

    def learn(self, predicted: Floats, changed: NDArray[np.bool_]) -> None:
        place = np.digitize(_log_odds(predicted), _EDGES)
        for row, seen in enumerate((np.ones(len(place)), predicted, changed.astype(np.float64))):
            self.counts[row] += np.bincount(place, seen, BINS)

    def honest(self, p: Floats) -> Floats:
        """The chance to tell: the predicted one, moved by what such predictions were worth so far."""
        looks, said, seen = self.counts
        middle = _chance(np.r_[_EDGES[0] - 1, (_EDGES[1:] + _EDGES[:-1]) / 2, _EDGES[-1] + 1])
        at = np.where(looks > 0, said / np.maximum(looks, 1.0), middle)
        times = (seen + _TRUST) / (said + _TRUST)
        now = np.maximum.accumulate(np.minimum(at * times, 1.0))
        told: Floats = np.interp(p, np.r_[0.0, at, 1.0], np.r_[0.0, now, 1.0])
        return told


def _log_odds(p: Floats) -> Floats:
    inside = np.clip(p, 1e-9, 1.0 - 1e-9)
    odds: Floats = np.log(inside / (1.0 - inside))
    return odds


def _chance(odds: Floats) -> Floats:
    chance: Floats = 1.0 / (1.0 + np.exp(-odds))
    return chance
