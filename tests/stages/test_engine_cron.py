"""Cron: wall-clock times that hold when the clocks change, once each, and made up for after a stop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.config.alert_policies import cron_entries
from vedette.config.model import parse
from vedette.contracts.errors import ConfigError
from vedette.engine.service.cron import CronEntry, entry, missed

ZAGREB = ZoneInfo("Europe/Zagreb")
SIX = CronEntry(name="runs", expression="0 6 * * *", zone=ZAGREB)
HOUR = timedelta(hours=1)


def fires(what: CronEntry, start: str, days: int) -> list[datetime]:
    at = datetime.fromisoformat(start).replace(tzinfo=ZAGREB)
    end = at + timedelta(days=days)
    found = []
    while (at := what.after(at)) < end:
        found.append(at)
    return found


@pytest.mark.parametrize("start", ["2026-03-27T12:00", "2026-10-23T12:00", "2026-06-01T12:00"])
def test_six_in_zagreb_is_six_in_zagreb_every_day_also_when_the_clocks_change(start: str):
    found = fires(SIX, start, 4)
    assert [at.astimezone(ZAGREB).strftime("%H:%M") for at in found] == ["06:00"] * 4
    assert len({at.astimezone(ZAGREB).date() for at in found}) == 4


@pytest.mark.parametrize(("start", "count"), [("2026-03-28T12:00", 2), ("2026-10-24T12:00", 2)])
def test_a_time_that_is_skipped_or_comes_twice_fires_once(start: str, count: int):
    """02:30 does not exist on 2026-03-29 and comes twice on 2026-10-25."""
    found = fires(CronEntry(name="x", expression="30 2 * * *", zone=ZAGREB), start, 2)
    assert len(found) == count
    assert len({at.astimezone(ZAGREB).date() for at in found}) == count


@given(st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 1), timezones=st.just(UTC)))
def test_the_next_fire_lies_ahead_and_no_day_is_left_out(now: datetime):
    at = SIX.after(now)
    assert timedelta(0) < at - now <= timedelta(hours=25)
    assert at.astimezone(ZAGREB).strftime("%H:%M") == "06:00"


def test_what_was_missed_is_made_up_for_once_and_not_for_ever():
    six = datetime(2026, 11, 15, 5, 0, tzinfo=UTC)
    day = timedelta(days=1)
    assert missed(SIX, six - day, six - HOUR) is None
    assert missed(SIX, six - day, six) == six
    assert missed(SIX, six - 9 * day, six + 3 * HOUR) == six  # one run, not nine
    assert missed(SIX, six - 9 * day, six + 13 * HOUR) is None  # too long ago
    assert missed(SIX, six, six + 3 * HOUR) is None
    assert missed(SIX, None, six) is None  # a first start has missed nothing


@pytest.mark.parametrize("words", ["tomorrow", "61 * * * *", "* * *"])
def test_what_is_no_cron_expression_is_told_by_its_place(words: str):
    with pytest.raises(ConfigError, match=r"cron\.runs"):
        entry("runs", words, ZAGREB, where="cron.runs")


def test_the_entries_are_the_documents_and_may_be_empty(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WATCHDOG_TIMEZONE", raising=False)
    assert [(one.name, str(one.zone)) for one in cron_entries(parse({}))] == [
        ("health", "UTC"),
        ("models", "UTC"),
    ]
    croatia = parse({"profile": "croatia"})
    assert [(one.name, one.expression, str(one.zone)) for one in cron_entries(croatia)] == [
        ("runs", "0 6 * * *", "Europe/Zagreb"),
        ("health", "30 6 * * *", "Europe/Zagreb"),
        ("models", "30 3 * * *", "Europe/Zagreb"),  # 003: nightly
    ]
    assert [one.name for one in cron_entries(parse({"cron": {"runs": "", "models": ""}}))] == ["health"]
    monkeypatch.setenv("WATCHDOG_TIMEZONE", "America/New_York")
    assert str(cron_entries(parse({}))[0].zone) == "America/New_York"
