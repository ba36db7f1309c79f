"""Whether a call may start now: one rule for web hosts, browsers, Tor and LLM providers.

Everything that can open, slow or close a lane is decided here:
- gap: from start to start, between `gap_min` and `gap_max` by jitter, never less than the Crawl-delay.  The far
  end's count holds: with one call at a time a start is when the far end has surely seen it, when its answer
  begins.  With several it is when the request went out, and while one that was let in is not on the line yet no
  other is let in;
- bucket: `per_minute` with `burst`, as GCRA; the stricter of gap and bucket wins;
- width: `at_once` calls under way;
- breaker: opens, which closes the lane, after `trips_after` failures in a row, or when `trip_share` of the last
  `trip_window` calls failed.  When its time is over it is half-open: one probe at a time, until one succeeds.  Each
  failed probe opens it again, for twice as long per failure beyond `trips_after`, up to `closed_most`.  A call that
  started before, and ends while the breaker is open, neither ends that early nor makes it longer;
- Retry-After holds the lane, and a later answer never shortens an earlier hold;
- sleep: in the hours of `sleep` nothing starts; what is under way ends;
- the operator's block stands until `reset`;
- no time stands further ahead than the rules above allow from now (`bounded`): a clock that was wrong, or stepped,
  holds nothing up for longer than one gap, one bucket, one breaker or one Retry-After.

Time only ever turns Wait into Go, but for sleep: between two events the answer is monotone in `now`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from vedette.contracts.lane import Go, LanePolicy, LaneState, Wait
from vedette.contracts.words import Reason
from vedette.core.lanes.sleep import awake_at, awake_share

MAX_CLOSED = timedelta(hours=24)
MAX_CRAWL_DELAY = timedelta(hours=24)  # a longer one means the same to us: once a day
MAX_WINDOW = 62  # `recent` is one signed 64-bit column

STEP = timedelta(
    minutes=5
)  # a start that lies further ahead than its gap by this was written by a wrong clock

# What `condition` says, from what lets calls through to what lets none.
CLOSED, HELD, HALF_OPEN, OPEN, BLOCKED = "closed", "held", "half-open", "open", "blocked"
CONDITIONS = (CLOSED, HELD, HALF_OPEN, OPEN, BLOCKED)
SHUT = frozenset((OPEN, HELD, BLOCKED))  # nothing starts for a while

_NOTHING = timedelta(0)
GO = Go()  # the only one
_BLOCKED, _FULL, _PROBE = "lane_blocked", "lane_full", "lane_probe"
_UNSENT, _UNSENT_NOTE = "lane_unsent", "the request before is not on the line yet"
_CLOSED, _HELD, _GAP, _BUCKET = "lane_closed", "lane_held", "lane_gap", "lane_bucket"
_ASLEEP = "lane_asleep"


def ask(policy: LanePolicy, state: LaneState, now: datetime) -> Go | Wait:
    """Go, or how long to wait at least.  The longest of several waits is given: nobody is woken in vain."""
    if state.blocked_by:
        return Wait(None, Reason(_BLOCKED, note=state.blocked_by))
    if state.under_way:
        if state.closed_until is not None:
            return Wait(None, Reason(_PROBE, state.under_way, "calls under way end first"))
        if state.under_way >= policy.at_once:
            return Wait(
                None, Reason(_FULL, state.under_way, f"{state.under_way} of {policy.at_once} under way")
            )
        if state.unsent:
            return Wait(None, Reason(_UNSENT, state.unsent, _UNSENT_NOTE))
    code, until = "", now
    if state.closed_until is not None and state.closed_until > until:
        code, until = _CLOSED, state.closed_until
    if state.held_until is not None and state.held_until > until:
        code, until = _HELD, state.held_until
    if state.next_start_at is not None and state.next_start_at > until:
        code, until = _GAP, state.next_start_at
    if state.bucket_at is not None and (ready := _bucket_ready(policy, state.bucket_at)) > until:
        code, until = _BUCKET, ready
    return _awake(policy, now, until, code) if code or policy.sleep else GO


def _awake(policy: LanePolicy, now: datetime, until: datetime, code: str) -> Go | Wait:
    """The answer, when nothing else holds the lane after `until`."""
    if policy.sleep and (awake := awake_at(policy.sleep, until)) > until:
        code, until = _ASLEEP, awake
    return Wait(until, Reason(code, (until - now).total_seconds())) if code else GO


def bounded(policy: LanePolicy, state: LaneState, now: datetime) -> LaneState:
    """The lane with no time further ahead of `now` than its own rules allow; the same lane where none is.

    The last start tells how far the clock stood ahead that wrote it: breaker and hold are moved back by as much, so
    what was left of them then is left of them now.  Whoever asks keeps the result: it is a state, not an answer.
    """
    times = start, bucket_at, closed, held = (
        state.next_start_at,
        state.bucket_at,
        state.closed_until,
        state.held_until,
    )
    if (
        (start is None or start <= now)
        and (bucket_at is None or bucket_at <= now)
        and (closed is None or closed <= now)
        and (held is None or held <= now)
    ):
        return state
    gap = max(policy.gap_min, policy.gap_max, state.crawl_delay or _NOTHING)
    bucket = (
        timedelta(seconds=60.0 / policy.per_minute) * policy.burst if policy.per_minute > 0 else MAX_CLOSED
    )
    ahead = max(_beyond(state.next_start_at, now + gap), _beyond(state.bucket_at, now + bucket))
    back = ahead if ahead > STEP else _NOTHING
    kept = (
        _within(state.next_start_at, now + gap),
        _within(state.bucket_at, now + bucket),
        _within(state.closed_until, now + max(policy.closed_for, policy.closed_most), back),
        _within(state.held_until, now + policy.max_retry_after, back),
    )
    if kept == times:
        return state
    return replace(state, next_start_at=kept[0], bucket_at=kept[1], closed_until=kept[2], held_until=kept[3])


def started(policy: LanePolicy, state: LaneState, now: datetime, jitter: float) -> LaneState:
    """The lane once a call has started at `now`.  `jitter` in [0, 1) places the gap."""
    gap = policy.gap_min + (policy.gap_max - policy.gap_min) * jitter
    if gap < policy.gap_min:  # a gap_max below gap_min
        gap = policy.gap_min
    if state.crawl_delay is not None and gap < state.crawl_delay:
        gap = state.crawl_delay
    bucket_at = state.bucket_at
    if policy.per_minute > 0:
        full_at = now if bucket_at is None or bucket_at < now else bucket_at
        bucket_at = full_at + timedelta(seconds=60.0 / policy.per_minute)
    return LaneState(
        under_way=state.under_way + 1,
        unsent=state.unsent + 1 if gap or policy.per_minute > 0 else state.unsent,
        next_start_at=now + gap,
        bucket_at=bucket_at,
        failures=state.failures,
        recent=state.recent,
        recent_count=state.recent_count,
        closed_until=state.closed_until,
        held_until=state.held_until,
        blocked_by=state.blocked_by,
        crawl_delay=state.crawl_delay,
        word=state.word,
    )


def finished(
    policy: LanePolicy,
    state: LaneState,
    *,
    ok: bool | None,
    now: datetime,
    retry_after: timedelta | None = None,
) -> LaneState:
    """The lane once a call has ended.  `ok` None: the end says nothing about the far end (cancelled)."""
    failures, recent, recent_count, closed_until = _breaker(policy, state, ok, now)
    held_until = state.held_until
    if retry_after is not None and retry_after > _NOTHING:
        until = now + min(retry_after, policy.max_retry_after)
        held_until = until if held_until is None or held_until < until else held_until
    under_way = state.under_way - 1 if state.under_way > 0 else 0
    return LaneState(
        under_way=under_way,
        unsent=min(under_way, state.unsent),
        next_start_at=state.next_start_at,
        bucket_at=state.bucket_at,
        failures=failures,
        recent=recent,
        recent_count=recent_count,
        closed_until=closed_until,
        held_until=held_until,
        blocked_by=state.blocked_by,
        crawl_delay=state.crawl_delay,
        word=state.word,
    )


def sent(policy: LanePolicy, state: LaneState, at: datetime, gap: timedelta) -> LaneState:
    """The lane once it is known that a request went out (or was heard) at `at`, later than its permit was given.

    `gap` is the one that was drawn at the permit.  A look-up, a handshake or a busy machine lies in between.  One
    request at a time is unsent, so gap and bucket hold between the requests as they went out.
    """
    next_start_at, bucket_at = state.next_start_at, state.bucket_at
    if next_start_at is None or next_start_at < at + gap:
        next_start_at = at + gap
    if policy.per_minute > 0:
        full_at = at + timedelta(seconds=60.0 / policy.per_minute)
        bucket_at = full_at if bucket_at is None or bucket_at < full_at else bucket_at
    return LaneState(
        under_way=state.under_way,
        unsent=state.unsent - 1 if state.unsent else 0,
        next_start_at=next_start_at,
        bucket_at=bucket_at,
        failures=state.failures,
        recent=state.recent,
        recent_count=state.recent_count,
        closed_until=state.closed_until,
        held_until=state.held_until,
        blocked_by=state.blocked_by,
        crawl_delay=state.crawl_delay,
        word=state.word,
    )


def unused(state: LaneState) -> LaneState:
    """A request that was let in will not go out, or is out: others need not wait for it any more."""
    return replace(state, unsent=state.unsent - 1) if state.unsent else state


def block(state: LaneState, word: str) -> LaneState:
    """Nothing starts until the operator resets the lane.  `word` says why."""
    return replace(state, blocked_by=word.strip() or "blocked by the operator")


def reset(state: LaneState) -> LaneState:
    """Breaker, hold and block are lifted by hand.  Gap, bucket and Crawl-delay stay: politeness is kept."""
    return LaneState(
        under_way=state.under_way,
        unsent=state.unsent,
        next_start_at=state.next_start_at,
        bucket_at=state.bucket_at,
        crawl_delay=state.crawl_delay,
        word=state.word,
    )


def adopt(ours: LaneState, theirs: LaneState) -> LaneState:
    """The operator's word from another process: it wins, but calls under way here stay counted."""
    return replace(theirs, under_way=ours.under_way, unsent=ours.unsent)


def started_unseen(policy: LanePolicy, state: LaneState, at: datetime) -> LaneState:
    """A killed process may have started calls just before `at` that no store knows: wait as if the bucket were spent.

    One gap is enough for the gap.  No process can have owed the bucket more than `burst` calls.
    """
    seen = started(policy, state, at, 1.0)
    bucket_at = seen.bucket_at
    if bucket_at is not None and policy.per_minute > 0:
        bucket_at = max(bucket_at, at + timedelta(seconds=60.0 / policy.per_minute) * policy.burst)
    return replace(seen, under_way=0, unsent=0, bucket_at=bucket_at)


def with_crawl_delay(state: LaneState, seconds: float | None, now: datetime | None = None) -> LaneState:
    """The lane under a robots.txt Crawl-delay.  None, zero, negative and NaN mean there is none.

    With `now`, a delay that was not known before is waited out once from `now`: the request that brought it
    counts too.
    """
    delay = None
    if seconds is not None and seconds > 0:
        delay = timedelta(seconds=min(seconds, MAX_CRAWL_DELAY.total_seconds()))
    if delay == state.crawl_delay:
        return state
    next_start_at = state.next_start_at
    if delay is not None and now is not None:
        next_start_at = now + delay if next_start_at is None else max(next_start_at, now + delay)
    return replace(state, crawl_delay=delay, next_start_at=next_start_at)


def starts_per_day(policy: LanePolicy, crawl_delay: timedelta | None = None) -> float:
    """How many calls a day the lane lets through at most: the gap's mean or the bucket, the stricter; inf: no limit."""
    low, high = policy.gap_min.total_seconds(), max(policy.gap_min, policy.gap_max).total_seconds()
    delay = 0.0 if crawl_delay is None else crawl_delay.total_seconds()
    if low < delay < high:  # some of the drawn gaps are longer than the Crawl-delay, the others become it
        gap = ((delay - low) * delay + (high * high - delay * delay) / 2) / (high - low)
    else:
        gap = max(delay, (low + high) / 2)
    spacing = max(gap, 60.0 / policy.per_minute if policy.per_minute > 0 else 0.0)
    return 86_400.0 * awake_share(policy.sleep) / spacing if spacing > 0 else float("inf")


def condition(state: LaneState, now: datetime) -> str:
    """One word for people, a breaker's as everyone says it: closed lets calls through, open lets none."""
    if state.blocked_by:
        return BLOCKED
    if state.closed_until is not None:
        return OPEN if now < state.closed_until else HALF_OPEN
    return HELD if state.held_until is not None and now < state.held_until else CLOSED


def explain(policy: LanePolicy, state: LaneState, now: datetime) -> tuple[Reason, ...]:
    """Everything that holds the lane at `now`; points are seconds still to wait.  Empty: it may go."""
    reasons = [Reason(_BLOCKED, note=state.blocked_by)] if state.blocked_by else []
    width = 1 if state.closed_until is not None else policy.at_once
    if state.under_way >= width:
        reasons.append(Reason(_FULL, note=f"{state.under_way} of {width} under way"))
    if state.unsent:
        reasons.append(Reason(_UNSENT, note=_UNSENT_NOTE))
    ready = None if state.bucket_at is None else _bucket_ready(policy, state.bucket_at)
    gaps = f"{_seconds(policy.gap_min)} to {_seconds(policy.gap_max)}"
    delay = "" if state.crawl_delay is None else f"; Crawl-delay {_seconds(state.crawl_delay)} s"
    for code, until, note in (
        (_CLOSED, state.closed_until, f"{state.failures} failures in a row"),
        (_HELD, state.held_until, "the far end named the time (Retry-After)"),
        (_GAP, state.next_start_at, f"{gaps} s between starts{delay}"),
        (_BUCKET, ready, f"{policy.per_minute:g} a minute, burst {policy.burst}"),
        (_ASLEEP, awake_at(policy.sleep, now), f"sleeps {', '.join(policy.sleep)} UTC"),
    ):
        if until is not None and until > now:
            reasons.append(Reason(code, (until - now).total_seconds(), note))
    return tuple(reasons)


def _seconds(length: timedelta) -> str:
    return f"{length.total_seconds():g}"


def _beyond(at: datetime | None, most: datetime) -> timedelta:
    return _NOTHING if at is None else max(_NOTHING, at - most)


def _within(at: datetime | None, most: datetime, back: timedelta = _NOTHING) -> datetime | None:
    return None if at is None else min(at - back, most)


def _bucket_ready(policy: LanePolicy, bucket_at: datetime) -> datetime:
    """GCRA: `burst` calls fit before the bucket has to drain."""
    if policy.per_minute <= 0:
        return bucket_at - MAX_CLOSED  # the bucket was switched off since
    if policy.burst <= 1:
        return bucket_at
    return bucket_at - timedelta(seconds=60.0 / policy.per_minute) * (policy.burst - 1)


def _breaker(
    policy: LanePolicy, state: LaneState, ok: bool | None, now: datetime
) -> tuple[int, int, int, datetime | None]:
    """failures, recent, recent_count and closed_until after a call ended."""
    closed_until = state.closed_until
    is_closed = closed_until is not None and now < closed_until
    if ok is None or is_closed:
        return state.failures, state.recent, state.recent_count, closed_until
    if closed_until is not None and ok:
        return 0, 0, 0, None
    failures = 0 if ok else state.failures + 1
    recent, count = _window(policy, state, ok)
    if ok:
        return failures, recent, count, None
    if closed_until is not None or _trips(policy, failures, recent, count):
        return failures, 0, 0, now + closed_for(policy, failures)
    return failures, recent, count, None


def _window(policy: LanePolicy, state: LaneState, ok: bool) -> tuple[int, int]:
    if policy.trip_share <= 0:
        return 0, 0
    size = max(1, min(policy.trip_window, MAX_WINDOW))
    recent = ((state.recent << 1) | (not ok)) & ((1 << size) - 1)
    return recent, min(state.recent_count + 1, size)


def _trips(policy: LanePolicy, failures: int, recent: int, count: int) -> bool:
    if 0 < policy.trips_after <= failures:
        return True
    size = max(1, min(policy.trip_window, MAX_WINDOW))
    return policy.trip_share > 0 and count >= size and recent.bit_count() >= policy.trip_share * size


def closed_for(policy: LanePolicy, failures: int) -> timedelta:
    """Doubles with every failure beyond the first closing; a `closed_for` above `closed_most` stands."""
    beyond = max(0, min(failures - policy.trips_after, 16)) if policy.trips_after > 0 else 0
    return max(policy.closed_for, min(policy.closed_for * (1 << beyond), policy.closed_most))


# When does the turn of an ordered look come?  Told to people before they wait; the lane itself decides.

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TurnForecast:
    """Of some looks in one lane."""

    start_at: datetime | None  # of the first; None: not before the operator opens the lane
    end_at: datetime | None  # when the last of them starts
    reason: Reason | None = None  # what the first waits for longest; None: nothing


def turn(policy: LanePolicy, state: LaneState, now: datetime, *, looks: int) -> TurnForecast:
    held = max(explain(policy, state, now), key=lambda reason: reason.points, default=None)
    if state.blocked_by:
        return TurnForecast(None, None, held)
    answer = ask(policy, state, now)
    start = answer.until if isinstance(answer, Wait) and answer.until is not None else now
    room = starts_per_day(policy, state.crawl_delay)
    each = _DAY / room if room < float("inf") else timedelta(0)
    return TurnForecast(start, start + (looks - 1) * each, held)
