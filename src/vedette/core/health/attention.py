"""To whom, and now or later?  Rules send a notice to channels; a channel has only so much of its readers' attention.

What passes `bypass` goes at once, whatever the hour and however much went before.  The rest goes at once while the
day's budget lasts, or waits for the channel's digest.  Days and windows are those of the channel's own zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from vedette.contracts.alerts import ChannelName, ChannelPolicy, Message, Notice, NoticeKind, Rule

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
    day = local.date()
    while True:  # at most twice: today's window is over, or it is not
        window = datetime.combine(day, policy.digest_at, policy.zone).astimezone(UTC)
        if window > now:
            return window
        day += _DAY


def day_start(policy: ChannelPolicy, now: datetime) -> datetime:
    """Midnight in the channel's zone: from here the budget is counted."""
    local = now.astimezone(policy.zone)
    return local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).astimezone(UTC)


def digest_id(channel: ChannelName, window: datetime) -> str:
    """The same digest has the same id on every attempt and after every restart."""
    return f"digest-{channel}-{window.astimezone(UTC):%Y%m%dT%H%M%SZ}"
