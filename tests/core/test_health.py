"""Who is in trouble, and how that is grouped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.alerts import AlertKind, Finding, HealthFacts, Sign, SourceHealth
from vedette.contracts.lane import LaneState
from vedette.contracts.source import Source
from vedette.contracts.words import Outcome, Risk, SourceId
from vedette.core.health.source_health import findings, health_of, is_healthy

NOW = datetime(2026, 11, 15, 6, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
BREAKER, SLA, ERRORS, CAPPED = AlertKind


def a_source(name: str = "news", host: str = "a.example", **given: object) -> SourceHealth:
    """A source that is well, unless told otherwise."""
    looks = tuple((NOW - n * HOUR, Outcome(o), "") for n, o in enumerate(given.pop("looks", ("ok",)), 1))
    success = given.pop("success", NOW - HOUR)
    facts = {
        "source": Source(
            id=SourceId(name), name=name, url=f"https://{host}/", tier=given.pop("tier", Risk.MEDIUM)
        ),
        "host": host,
        "created_at": NOW - 1000 * HOUR,
        "interval": 4 * HOUR,
        "looks": looks,
        "last_success_at": success,
        "lane": LaneState(),
        "is_breaker_open": False,
    }
    return health_of(HealthFacts(**(facts | given)), now=NOW)  # type: ignore[arg-type]


def bad(*healths: SourceHealth, raised: tuple[str, ...] = ()) -> dict[str, tuple[AlertKind, ...]]:
    return {f.subject: f.kinds for f in findings(healths, raised) if f.sign is Sign.BAD}


def by_subject(*healths: SourceHealth, raised: tuple[str, ...] = ()) -> dict[str, Finding]:
    return {f.subject: f for f in findings(healths, raised)}


def test_a_source_that_answers_is_well():
    health = a_source(looks=("not_modified", "timeout", "timeout", "timeout"))
    assert is_healthy(health)
    assert bad(health) == {}


@pytest.mark.parametrize(("hours", "is_breached"), [(24, False), (24.01, True)])
def test_a_day_without_success_breaches(hours: float, is_breached: bool):
    health = a_source(success=NOW - hours * HOUR)
    assert health.is_sla_breached is is_breached
    assert bad(health) == ({"host:a.example": (SLA,)} if is_breached else {})


def test_a_source_that_never_succeeded_counts_from_its_making():
    assert a_source(success=None, looks=()).is_sla_breached
    assert not a_source(success=None, looks=(), created_at=NOW - HOUR).is_sla_breached


def test_a_source_that_is_looked_at_weekly_is_not_late_after_a_day():
    assert not a_source(success=NOW - 200 * HOUR, interval=168 * HOUR).is_sla_breached
    assert a_source(success=NOW - 260 * HOUR, interval=168 * HOUR).is_sla_breached


@pytest.mark.parametrize(("errors", "has"), [(2, False), (3, True)])
def test_three_errors_in_a_row_are_trouble(errors: int, has: bool):
    health = a_source(looks=("gone",) * errors + ("ok",))
    assert (health.consecutive_errors, health.has_consecutive_errors) == (errors, has)
    other = a_source("other")
    assert bad(health, other) == ({"source:news": (ERRORS,)} if has else {})


def test_what_we_refused_ourselves_is_no_error():
    assert a_source(looks=("robots_refused", "lane_closed", "timeout", "ok")).consecutive_errors == 1


def test_a_host_that_is_down_is_one_finding_however_many_sources_it_has():
    lane = LaneState(failures=7, closed_until=NOW + HOUR)
    down = [
        a_source(f"s{n}", looks=("timeout",) * 7, success=NOW - 30 * HOUR, lane=lane, is_breaker_open=True)
        for n in range(20)
    ]
    found = bad(*down, a_source("elsewhere", host="b.example"))
    assert found == {"host:a.example": (BREAKER, SLA, ERRORS)}


def test_transport_errors_are_the_hosts_and_content_errors_the_sources():
    flaky = a_source("one", looks=("timeout",) * 3, lane=LaneState(failures=3))
    twin = a_source("two", lane=LaneState(failures=3))
    assert bad(flaky, twin) == {"host:a.example": (ERRORS,)}
    assert bad(a_source("one", looks=("gone",) * 3), a_source("two")) == {"source:one": (ERRORS,)}


def test_old_transport_errors_do_not_blame_a_source_once_its_host_is_back():
    rarely = a_source("one", looks=("timeout",) * 4)
    assert rarely.has_consecutive_errors
    assert bad(rarely, a_source("two")) == {}


def test_while_the_alarm_of_a_host_stands_its_sources_say_nothing():
    broken = a_source("one", looks=("gone",) * 3)
    found = by_subject(broken, a_source("two"), raised=("host:a.example",))
    assert found["source:one"].sign is Sign.UNKNOWN
    assert found["host:a.example"].sign is Sign.GOOD


def test_one_late_source_of_a_host_that_is_up_is_named_and_all_of_them_are_the_host():
    late = a_source("late", success=NOW - 30 * HOUR)
    assert bad(late, a_source("well")) == {"source:late": (SLA,)}
    assert bad(late, a_source("late too", success=NOW - 30 * HOUR)) == {"host:a.example": (SLA,)}


def test_a_finding_is_as_grave_as_the_highest_tier_of_its_sources():
    found = by_subject(a_source("one", tier=Risk.LOW), a_source("two", tier=Risk.CRITICAL))
    assert found["host:a.example"].risk is Risk.CRITICAL
    assert found["source:one"].risk is Risk.LOW


FAILS = [outcome for outcome in Outcome if outcome not in (Outcome.OK, Outcome.NOT_MODIFIED)]


@pytest.mark.parametrize("outcome", FAILS, ids=str)
def test_a_day_without_success_is_a_day_whatever_interval_the_failure_was_given(outcome: Outcome):
    """F2: the long interval of a parked look must not stretch the SLA."""
    late = a_source(looks=(outcome.value, "ok"), success=NOW - 24.01 * HOUR, interval=720 * HOUR)
    assert (late.is_sla_breached, late.sla) == (True, 24 * HOUR)
    assert not a_source(looks=(outcome.value,), success=NOW - 23 * HOUR, interval=HOUR).is_sla_breached


@pytest.mark.parametrize("outcome", FAILS, ids=str)
def test_a_source_that_was_never_seen_is_not_well_whatever_kept_us_from_it(outcome: Outcome):
    """B5: refused, gone, unreadable."""
    health = a_source(looks=(outcome.value,), success=None, created_at=NOW - HOUR)
    assert not is_healthy(health)
    assert health.last_error.startswith(outcome.value)
    assert bad(a_source(looks=(outcome.value,), success=None, created_at=NOW - 25 * HOUR)) == {
        "host:a.example": (SLA,)
    }


def test_a_source_that_waits_for_its_first_look_is_neither_well_nor_in_trouble():
    health = a_source(looks=(), success=None, created_at=NOW - HOUR)
    assert (is_healthy(health), health.last_outcome) == (True, None)


def test_one_refusal_of_a_source_that_was_seen_is_trouble_as_it_is_left_alone_for_long():
    assert not is_healthy(a_source(looks=("robots_refused", "ok")))
    assert is_healthy(a_source(looks=("timeout", "ok")))  # tried again within the usual interval


@pytest.mark.parametrize("outcome", ["server_error", "timeout", "connect_error", "dns_error", "tls_error"])
def test_a_page_that_fails_while_its_host_answers_others_alerts_for_itself(outcome: str):
    """F10: the looks were 1, 2 and 3 hours ago; the host answered others in between."""
    broken = a_source("one", looks=(outcome,) * 3, others_answered_at=NOW - 1.5 * HOUR)
    assert bad(broken, a_source("two")) == {"source:one": (ERRORS,)}
    before = a_source("one", looks=(outcome,) * 3, others_answered_at=NOW - 5 * HOUR)
    assert bad(before, a_source("two")) == {}  # the host may have been down for all


def test_a_limit_that_stops_discovery_is_an_alert():
    """F8."""
    capped = a_source("one", capped=12)
    assert not is_healthy(capped)
    assert bad(capped, a_source("two")) == {"source:one": (CAPPED,)}
