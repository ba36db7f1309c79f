"""When an operator is told of trouble, to whom the message goes, and when it is sent.

One message when trouble begins and one when it is over, however often the state flaps in between.

An alarm is raised as soon as a check is bad.  It recovers when the subject has been good without a break for the
hold: `recover_after`, or two further looks where looks are rarer.  Every relapse doubles the hold, and relapses are
remembered beyond the recovery: a subject that flaps slowly is reported a few times, not every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from vedette.contracts.alerts import (
    AlarmState,
    ChannelName,
    ChannelPolicy,
    Message,
    Notice,
    NoticeKind,
    Rule,
    Sign,
)

LOOKS_THAT_SETTLE = 2
_MAX_DOUBLINGS = 16


class Move(StrEnum):
    RAISED = "raised"
    RECOVERED = "recovered"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmParams:
    recover_after: timedelta = timedelta(hours=4)  # the base interval, spec 001/11.4: good news can wait
    longest_hold: timedelta = timedelta(hours=24)
    forget_after: timedelta = timedelta(days=7)


DEFAULT = AlarmParams()


def step(
    state: AlarmState, sign: Sign, *, now: datetime, pace: timedelta, params: AlarmParams = DEFAULT
) -> tuple[AlarmState, Move | None]:
    """The alarm after one more check, and what the operator hears of it."""
    if sign is Sign.UNKNOWN:
        return state, None
    if sign is Sign.BAD:
        return _bad(state, now, params)
    since = state.good_since or now
    good = replace(state, bad_since=None, good_since=since)
    if not state.is_raised or now - since < hold(state.relapses, pace, params):
        return good, None
    return replace(good, is_raised=False, settled_at=now), Move.RECOVERED


def hold(relapses: int, pace: timedelta, params: AlarmParams = DEFAULT) -> timedelta:
    """How long a subject must be good before it has recovered.  The longest hold bounds the growth, not the pace."""
    shortest = max(params.recover_after, LOOKS_THAT_SETTLE * pace)
    return min(shortest * (1 << min(relapses, _MAX_DOUBLINGS)), max(shortest, params.longest_hold))


def _bad(state: AlarmState, now: datetime, params: AlarmParams) -> tuple[AlarmState, Move | None]:
    if state.is_raised:
        again = state.good_since is not None
        relapses = state.relapses + again
        return replace(state, bad_since=state.bad_since or now, good_since=None, relapses=relapses), None
    relapses = state.relapses + 1 if _is_remembered(state, now, params) else 0
    raised = replace(state, is_raised=True, bad_since=now, good_since=None, relapses=relapses)
    return raised, Move.RAISED


def _is_remembered(state: AlarmState, now: datetime, params: AlarmParams) -> bool:
    return state.settled_at is not None and now - state.settled_at < params.forget_after


# Routing.  Rules send a notice to channels; each channel has a budget of messages per day.
#
# What passes `bypass` goes at once, whatever the hour and however much went before.  The rest goes at once while the
# day's budget lasts, or waits for the channel's digest.  Days and windows are those of the channel's own zone.

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
AT_ONCE = (NoticeKind.DIGEST, NoticeKind.TEST)  # a digest is what the others waited for


def route(
    notice: Notice, channels: Sequence[ChannelPolicy], rules: Iterable[Rule], *, now: datetime
) -> list[Message]:
    """One message per channel that a rule names.  Without rules every channel hears everything."""
    given = tuple(rules)
    wanted = {rule.channel for rule in given if fits(rule, notice)} if given else {c.name for c in channels}
    return [
        Message(notice=notice, channel=channel.name, due_at=now)
        for channel in channels
        if channel.name in wanted
    ]


def fits(rule: Rule, notice: Notice) -> bool:
    if rule.risk is not None and notice.risk < rule.risk:
        return False
    if rule.kinds and notice.kind not in rule.kinds:
        return False
    if rule.tags and not set(rule.tags) & set(notice.tags):
        return False
    return not rule.sources or any(source in rule.sources for source in notice.sources)


def held_until(policy: ChannelPolicy, notice: Notice, *, sent_today: int, now: datetime) -> datetime | None:
    """When the digest that carries this notice goes out; None: it goes by itself, now."""
    if notice.kind in AT_ONCE or notice.risk >= policy.bypass:
        return None
    has_room = policy.per_day is None or sent_today < policy.per_day
    return None if policy.digest == "none" and has_room else next_window(policy, now)


def next_window(policy: ChannelPolicy, now: datetime) -> datetime:
    """The next digest after `now`.  A channel without digests sends what its budget left over once a day."""
    local = now.astimezone(policy.zone)
    if policy.digest == "hourly":
        into = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        return now - into + _HOUR
    day, is_weekly = local.date(), policy.digest == "weekly"
    while True:  # at most twice, or eight times: today's window is over, or it is not
        window = datetime.combine(day, policy.digest_at, policy.zone).astimezone(UTC)
        if window > now and (not is_weekly or day.weekday() == policy.digest_on):
            return window
        day += _DAY


def day_start(policy: ChannelPolicy, now: datetime) -> datetime:
    """Midnight in the channel's zone: from here the budget is counted."""
    local = now.astimezone(policy.zone)
    return local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).astimezone(UTC)


def digest_id(channel: ChannelName, window: datetime) -> str:
    """The same digest has the same id on every attempt and after every restart."""
    return f"digest-{channel}-{window.astimezone(UTC):%Y%m%dT%H%M%SZ}"
