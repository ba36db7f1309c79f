"""To whom, now or later: rules, budgets, digests and the bypass."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.alerts import ChannelName, ChannelPolicy, Notice, NoticeKind, Rule
from vedette.contracts.words import Risk
from vedette.core.health.alarm import day_start, digest_id, held_until, next_window, route

NOW = datetime(2026, 11, 15, 12, 34, 56, tzinfo=UTC)
ZAGREB = ZoneInfo("Europe/Zagreb")
OPS, MAIL = ChannelName("ops"), ChannelName("mail")
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))


def a_notice(risk: Risk = Risk.MEDIUM, kind: NoticeKind = NoticeKind.CHANGE, source: str = "news") -> Notice:
    return Notice(id="n", kind=kind, at=NOW, risk=risk, title="t", sources=(source,))


def to(notice: Notice, *rules: Rule) -> set[str]:
    channels = (ChannelPolicy(name=OPS), ChannelPolicy(name=MAIL))
    return {message.channel for message in route(notice, channels, rules, now=NOW)}


def test_without_rules_every_channel_hears_everything():
    assert to(a_notice()) == {OPS, MAIL}


@pytest.mark.parametrize(
    ("rule", "hears"),
    [
        (Rule(channel=OPS, risk=Risk.MEDIUM), True),
        (Rule(channel=OPS, risk=Risk.HIGH), False),
        (Rule(channel=OPS, kinds=(NoticeKind.CHANGE,)), True),
        (Rule(channel=OPS, kinds=(NoticeKind.ALERT,)), False),
        (Rule(channel=OPS, sources=("news", "other")), True),
        (Rule(channel=OPS, sources=("other",)), False),
    ],
)
def test_a_rule_filters_by_what_it_names(rule: Rule, hears: bool):
    assert to(a_notice(), rule) == ({OPS} if hears else set())


def test_two_rules_for_one_channel_tell_it_once():
    assert to(a_notice(), Rule(channel=OPS), Rule(channel=OPS, risk=Risk.LOW)) == {OPS}


def test_a_channel_without_digest_and_budget_hears_at_once():
    assert held_until(ChannelPolicy(name=OPS), a_notice(), sent_today=10**6, now=NOW) is None


def test_what_the_budget_leaves_over_waits_and_critical_does_not():
    policy = ChannelPolicy(name=OPS, per_day=3, zone=ZAGREB)
    assert held_until(policy, a_notice(), sent_today=2, now=NOW) is None
    tomorrow = datetime(2026, 11, 16, 7, 0, tzinfo=UTC)  # 08:00 in Zagreb
    assert held_until(policy, a_notice(), sent_today=3, now=NOW) == tomorrow
    assert held_until(policy, a_notice(Risk.CRITICAL), sent_today=99, now=NOW) is None


def test_a_digest_channel_gathers_and_critical_goes_past_it():
    policy = ChannelPolicy(name=OPS, digest="hourly")
    assert held_until(policy, a_notice(), sent_today=0, now=NOW) == datetime(2026, 11, 15, 13, tzinfo=UTC)
    assert held_until(policy, a_notice(Risk.CRITICAL), sent_today=0, now=NOW) is None
    assert held_until(policy, a_notice(kind=NoticeKind.DIGEST), sent_today=0, now=NOW) is None


@pytest.mark.parametrize(
    ("day", "hours"),
    [("2026-03-28", 23), ("2026-10-24", 25), ("2026-06-01", 24)],  # the clocks go forward, back, and stay
)
def test_a_daily_digest_keeps_its_hour_when_the_clocks_change(day: str, hours: int):
    policy = ChannelPolicy(name=OPS, digest="daily", zone=ZAGREB)
    first = next_window(policy, datetime.fromisoformat(f"{day}T03:00:00+00:00"))
    second = next_window(policy, first)
    assert second - first == timedelta(hours=hours)
    assert [one.astimezone(ZAGREB).time() for one in (first, second)] == [time(8, 0)] * 2


@given(
    MOMENTS,
    st.times().map(lambda t: t.replace(second=0, microsecond=0)),
    st.sampled_from(["hourly", "daily", "weekly"]),
)
def test_windows_lie_ahead_and_none_is_skipped(now: datetime, at: time, digest: str):
    policy = ChannelPolicy(name=OPS, digest=digest, digest_at=at, zone=ZAGREB)
    windows = [now]
    for _ in range(4):
        windows.append(next_window(policy, windows[-1]))
    longest = timedelta(hours={"hourly": 1, "daily": 25, "weekly": 7 * 24 + 1}[digest])
    assert all(timedelta(0) < b - a <= longest for a, b in pairwise(windows))


@given(MOMENTS)
def test_the_day_of_a_budget_begins_at_local_midnight(now: datetime):
    start = day_start(ChannelPolicy(name=OPS, zone=ZAGREB), now)
    assert start <= now < start + timedelta(hours=25)
    assert start.astimezone(ZAGREB).time() == time(0, 0)


def test_a_digest_has_one_id_in_every_zone():
    assert digest_id(OPS, NOW) == digest_id(OPS, NOW.astimezone(ZAGREB)) == "digest-ops-20261115T123456Z"
