"""The pace of a provider's key: raised slowly, lowered fast.

Rate (requests a minute) and width (calls at once) of one lane, learned from every answer:
- a limit that the headers state holds from the next start on, with our headroom below it, up and down;
- tokens a minute bound the rate by what a call takes on average;
- a 429 halves rate and width, and once more only when a good answer came in between, or a minute later: until then
  the provider still counts what was sent before.  The rate it happened at is remembered, and the rate climbs by a
  twentieth every `step` to just below it, and beyond it only after `forget` without another 429;
- failures and timeouts take a third of the width, once per `calm`; answers three times slower than the best
  take a tenth, once per `step`; a width that was used up and did well grows by one per round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from vedette.contracts.lane import LanePolicy
from vedette.contracts.panel_run import Allowance, Circuit, Told
from vedette.contracts.words import Outcome
from vedette.core.lanes import lane
from vedette.core.lanes.outcomes import MEANING
from vedette.core.panel.plan import HEADROOM

UNKNOWN_RATE = 30.0  # a minute, for a key whose limit nobody stated: below every paid tier that we know
SLOWEST = 1.0
EXPECTED_LATENCY = 3.0  # seconds; spec 003 has 2 s at p95
_FALL, _CLIMB, _NEAR = 0.5, 0.05, 0.95
_WIDTH_FALL, _WIDTH_SLOW, _TOO_SLOW = 2 / 3, 0.9, 3.0
_SMOOTH = 0.1  # weight of the newest latency and token count
_NOTHING = timedelta(0)
_LONGEST_HOLD = timedelta(minutes=2)
WINDOW = timedelta(minutes=1)  # what providers count their requests over


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceParams:
    """What is configured for the key.  `per_minute` 0: not known, learned from the answers."""

    per_minute: float = 0.0
    at_once: int = 32  # most
    headroom: float = HEADROOM
    calm: timedelta = timedelta(seconds=5)
    step: timedelta = timedelta(seconds=10)
    forget: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What is believed about the key now."""

    per_minute: float
    at_once: int
    stated: float = 0.0  # by headers; 0: never
    stated_at: datetime | None = None  # when it was last another one
    tokens_stated: float = 0.0
    tokens_each: float = 0.0  # average of a call
    met_at: float = 0.0  # the rate at which a 429 came last; 0: never, or long ago
    fell_at: datetime | None = None
    is_fine: bool = True  # a good answer came since it fell
    narrowed_at: datetime | None = None
    stepped_at: datetime | None = None
    latency: float = 0.0
    best: float = 0.0
    round_left: int = 0  # good answers until the width may grow


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one answer says about the key."""

    outcome: Outcome
    took: timedelta = timedelta(0)
    allowance: Allowance | None = None
    tokens: int = 0
    was_full: bool = False  # as many calls under way as the width allows


def begin(params: PaceParams) -> Pace:
    rate = params.per_minute * (1 - params.headroom) if params.per_minute else UNKNOWN_RATE
    width = min(params.at_once, max(2, math.ceil(rate / 60 * EXPECTED_LATENCY) + 1))
    return Pace(per_minute=rate, at_once=width, round_left=width)


def heard(pace: Pace, params: PaceParams, news: Heard, now: datetime) -> Pace:
    """The pace after one more answer."""
    if news.allowance is not None or (news.tokens and pace.tokens_stated):
        pace = _stated(pace, params, news, now)
    if news.outcome is Outcome.THROTTLED or news.outcome is Outcome.OVERLOADED:
        return _fall(pace, params, news, now)
    if news.outcome is Outcome.OK:
        return _did_well(pace, params, news, now)
    if MEANING[news.outcome].counts_against_lane:
        return _narrow(pace, params, now)
    return pace


def policy_of(pace: Pace, lane: LanePolicy) -> LanePolicy:
    """The lane's own policy at this pace."""
    if lane.per_minute == pace.per_minute and lane.at_once == pace.at_once:
        return lane
    return replace(lane, per_minute=pace.per_minute, at_once=pace.at_once)


def hold(allowance: Allowance | None, tokens_each: float) -> timedelta | None:
    """How long the key lets nothing through, by its own word; None: it does not say so."""
    if allowance is None:
        return None
    waits = []
    if allowance.requests_left == 0 and allowance.requests_back_in is not None:
        waits.append(allowance.requests_back_in)
    short = allowance.tokens_left is not None and allowance.tokens_left < tokens_each
    if short and allowance.tokens_back_in is not None:
        waits.append(allowance.tokens_back_in)
    longest = max(waits, default=_NOTHING)
    return min(longest, _LONGEST_HOLD) if longest > _NOTHING else None


def ceiling(pace: Pace, params: PaceParams) -> float:
    """The rate that nothing known forbids."""
    known = [rate for rate in (params.per_minute, pace.stated) if rate > 0]
    if pace.tokens_stated and pace.tokens_each:
        known.append(pace.tokens_stated / pace.tokens_each)
    return max(SLOWEST, min(known) * (1 - params.headroom)) if known else math.inf


def _stated(pace: Pace, params: PaceParams, news: Heard, now: datetime) -> Pace:
    """A stated limit is a fact: it is taken at once, up and down, unless 429s say that less is meant."""
    says = news.allowance or Allowance()
    each = pace.tokens_each
    if news.tokens:
        each = news.tokens if not each else each + _SMOOTH * (news.tokens - each)
    stated = says.requests_per_minute or pace.stated
    tokens = says.tokens_per_minute or pace.tokens_stated
    is_new = stated != pace.stated
    stated_at = now if is_new else pace.stated_at
    after = replace(pace, stated=stated, stated_at=stated_at, tokens_stated=tokens, tokens_each=each)
    top = ceiling(after, params)
    if math.isfinite(top) and (after.per_minute > top or (is_new and not pace.met_at)):
        after = replace(after, per_minute=top, at_once=_wide_enough(after, params, top))
    return after


def _wide_enough(pace: Pace, params: PaceParams, rate: float) -> int:
    latency = max(pace.latency, EXPECTED_LATENCY)
    return max(pace.at_once, min(params.at_once, math.ceil(rate / 60 * latency) + 1))


def _fall(pace: Pace, params: PaceParams, news: Heard, now: datetime) -> Pace:
    """Unless the 429 is about the minute before: it was said already, or the limit was stated within that minute."""
    if pace.stated_at is not None and now - pace.stated_at < WINDOW:
        return pace
    since = None if pace.fell_at is None else now - pace.fell_at
    if since is not None and since < (max(params.calm, news.took) if pace.is_fine else WINDOW):
        return pace
    return replace(
        pace,
        per_minute=max(SLOWEST, pace.per_minute * _FALL),
        at_once=max(1, pace.at_once // 2),
        met_at=pace.per_minute,
        fell_at=now,
        is_fine=False,
        stepped_at=now,
        round_left=max(1, pace.at_once // 2),
    )


def _narrow(pace: Pace, params: PaceParams, now: datetime) -> Pace:
    if pace.narrowed_at is not None and now - pace.narrowed_at < params.calm:
        return pace
    width = max(1, int(pace.at_once * _WIDTH_FALL))
    return replace(pace, at_once=width, narrowed_at=now, round_left=width)


def _did_well(pace: Pace, params: PaceParams, news: Heard, now: datetime) -> Pace:
    took = news.took.total_seconds()
    latency = took if not pace.latency else pace.latency + _SMOOTH * (took - pace.latency)
    best = latency if not pace.best else min(pace.best, latency)
    left = pace.round_left - 1
    width = pace.at_once
    is_slow = latency > _TOO_SLOW * best
    if news.was_full and left <= 0 and not is_slow:
        width = min(params.at_once, width + 1)
    after = Pace(
        per_minute=pace.per_minute,
        at_once=width,
        stated=pace.stated,
        stated_at=pace.stated_at,
        tokens_stated=pace.tokens_stated,
        tokens_each=pace.tokens_each,
        met_at=pace.met_at,
        fell_at=pace.fell_at,
        narrowed_at=pace.narrowed_at,
        stepped_at=pace.stepped_at or now,
        latency=latency,
        best=best,
        round_left=left if left > 0 else width,
    )
    if after.stepped_at is not None and now - after.stepped_at >= params.step:
        return _step(after, params, now, is_slow=is_slow)
    return after


def _step(pace: Pace, params: PaceParams, now: datetime, *, is_slow: bool) -> Pace:
    """Every `step` of good answers: a little faster, up to what is known; a little narrower when it is slow."""
    top = ceiling(pace, params)
    met = pace.met_at
    if met and pace.fell_at is not None and now - pace.fell_at >= params.forget:
        met = 0.0
    goal = min(top, met * _NEAR) if met else top
    size = _CLIMB * (goal if math.isfinite(goal) else pace.per_minute)
    rate = max(pace.per_minute, min(goal, pace.per_minute + size))
    width = max(1, int(pace.at_once * _WIDTH_SLOW)) if is_slow else pace.at_once
    if rate > pace.per_minute:
        width = _wide_enough(replace(pace, at_once=width), params, rate)
    return replace(pace, per_minute=rate, at_once=width, met_at=met, stepped_at=now)


# How long answers take: quantiles of any number of calls in a few hundred counters, within 5 %.

_PER_DOUBLING = 16  # a bucket is 4.4 % wide


class Latencies:
    """Counts of calls by the logarithm of their time."""

    __slots__ = ("_counts", "total")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.total = 0

    def add(self, milliseconds: float, calls: int = 1) -> None:
        bucket = round(math.log2(max(1.0, milliseconds)) * _PER_DOUBLING)
        self._counts[bucket] = self._counts.get(bucket, 0) + calls
        self.total += calls

    def quantile(self, share: float) -> int:
        """The time that this share of the calls did not exceed, in milliseconds; 0 before the first call."""
        left = math.ceil(share * self.total)
        for bucket in sorted(self._counts):
            left -= self._counts[bucket]
            if left <= 0:
                return round(2 ** (bucket / _PER_DOUBLING))
        return 0


# What another run says about a provider, and how much of it is believed.
#
# Words are spec 003's (`cb:{provider}`): a circuit that is open lets nothing through.

# core.lane.condition -> spec 003's word.  A key that is refused says nothing about the provider: no row.
WORDS: Mapping[str, Circuit] = {
    lane.CLOSED: Circuit.CLOSED,
    lane.HELD: Circuit.CLOSED,
    lane.HALF_OPEN: Circuit.HALF_OPEN,
    lane.OPEN: Circuit.OPEN,
}
FRESH = timedelta(minutes=1)  # an answer of our own that is younger says more than what others tell
PROBING = timedelta(seconds=1)  # another run's probe is under way: look again after that
LONGEST = timedelta(minutes=2)  # the longest wait that a provider can ask for
AHEAD = 0.1  # seconds of starts that are taken from the shared bucket at once: one, but for very fast keys
MOST_AHEAD = 50
LATE = 0.25  # of the interval between starts


def hold_for(told: Told, answered_at: datetime | None, now: datetime) -> timedelta | None:
    """How long others' trouble keeps us from asking; None: it does not, for we were answered ourselves just now."""
    if told.circuit is Circuit.CLOSED or (answered_at is not None and now - answered_at < FRESH):
        return None
    left = told.left if told.circuit is Circuit.OPEN else PROBING
    return min(left, LONGEST) if left > timedelta(0) else None


def slots_at_once(per_minute: float) -> int:
    """How many starts are taken from the shared bucket with one word."""
    return max(1, min(MOST_AHEAD, round(per_minute / 60 * AHEAD)))


def is_late(slot: datetime, now: datetime, per_minute: float) -> bool:
    """A start that was not used in its time is given up: used late, it would crowd those that others were given."""
    return now - slot > timedelta(seconds=60 / per_minute) * LATE
