"""The health check on a store: alerts by transition, grouped, with their messages; health and alerts on the line."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import HOUR, NEWS, NOW, RULES, FixedClock, Stock

from vedette.contracts.alerts import ChannelName, ChannelPolicy, Message, Notice
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind
from vedette.contracts.words import LaneKey, Outcome, Risk
from vedette.core.health.alarm import route
from vedette.core.urls.canonical import watch_id
from vedette.engine.service.watchdog import HealthChecked, WatchdogParams, check_health
from vedette.store.operator import operating

HOST = LaneKey("host:example.org")
CLOSED = LaneState(failures=5, closed_until=NOW + HOUR)
OPS = (ChannelPolicy(name=ChannelName("ops")),)


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    stock = Stock(tmp_path)
    stock.source(RULES, name="rules", tier=Risk.CRITICAL)
    stock.source(NEWS, name="news")
    for url in (RULES, NEWS):
        stock.visit(url, at=NOW - HOUR)
    return stock


@pytest.fixture
def cli(stock: Stock) -> Cli:
    return Cli(stock.data)


def check(stock: Stock, now: datetime = NOW) -> HealthChecked:
    def to_ops(notice: Notice) -> list[Message]:
        return route(notice, OPS, (), now=now)

    with operating(stock.path) as db:
        return check_health(db, now=now, params=WatchdogParams(), route=to_ops)


def told(stock: Stock) -> list[str]:
    with operating(stock.path) as db:
        return [row[0] for row in db.execute("SELECT notice_id FROM outbox ORDER BY id")]


def test_a_host_that_goes_down_is_one_alert_with_all_its_sources_and_its_message(stock: Stock):
    assert check(stock).opened == ()
    stock.group(lanes=((HOST, CLOSED),))
    alert = check(stock).opened[0]
    assert (alert.kind, alert.subject, alert.risk) == (
        "CIRCUIT_BREAKER_OPEN",
        "host:example.org",
        Risk.CRITICAL,
    )
    assert set(alert.sources) == {"news", "rules"}
    assert told(stock) == [f"alert-{alert.id}"]
    assert check(stock).opened == ()


def test_a_source_that_flaps_ten_times_is_told_of_once_and_its_recovery_once(stock: Stock):
    now = NOW
    for _ in range(10):
        stock.group(lanes=((HOST, CLOSED),))
        check(stock, now)
        now += HOUR / 4
        stock.group(lanes=((HOST, LaneState()),))
        stock.visit(NEWS, at=now)
        stock.visit(RULES, at=now)
        check(stock, now)
        now += HOUR / 4
    for _ in range(30):
        now += HOUR
        stock.visit(NEWS, at=now)
        stock.visit(RULES, at=now)
        check(stock, now)
    assert told(stock) == ["alert-1", "recovery-1"]


def test_kinds_that_join_an_open_alert_are_kept_and_not_told_of_again(stock: Stock):
    stock.group(lanes=((HOST, LaneState(failures=3)),))
    assert [alert.kind for alert in check(stock).opened] == ["ENDPOINT_CONSECUTIVE_ERRORS"]
    stock.group(lanes=((HOST, CLOSED),))
    assert check(stock, NOW + 30 * HOUR).opened == ()
    shown = Cli(stock.data)("alerts", "show", "1", "--json").json
    assert shown["types"] == ["ENDPOINT_CONSECUTIVE_ERRORS", "CIRCUIT_BREAKER_OPEN", "ENDPOINT_SLA_BREACH"]
    assert told(stock) == ["alert-1"]


def test_an_engine_that_stood_still_is_one_message_and_not_one_per_host(stock: Stock):
    for n in range(9):
        stock.source(f"https://host{n}.example/", name=f"s{n}")
    checked = check(stock, NOW + 100 * HOUR)
    assert len(checked.opened) == 10
    assert told(stock) == ["alert-1-10"]


def test_a_source_that_is_paused_is_nobodys_worry_and_its_alert_ends(stock: Stock):
    for n in range(3):
        stock.visit(NEWS, outcome=Outcome.GONE, at=NOW - HOUR / 2 + n * HOUR / 10)
    assert [alert.subject for alert in check(stock).opened] == ["source:news"]
    Cli(stock.data)("sources", "pause", "news")
    check(stock, NOW)
    stock.visit(RULES, at=NOW + 4 * HOUR)
    assert [alert.subject for alert in check(stock, NOW + 5 * HOUR).recovered] == ["source:news"]


def test_a_check_that_is_rolled_back_leaves_neither_alert_nor_message(stock: Stock):
    stock.group(lanes=((HOST, CLOSED),))

    def broken(notice: Notice) -> list[Message]:
        raise RuntimeError(notice.id)

    with pytest.raises(RuntimeError, match="alert-1"), operating(stock.path) as db:
        check_health(db, now=NOW, params=WatchdogParams(), route=broken)
    assert told(stock) == []
    assert Cli(stock.data)("alerts", "--json").json == {"alerts": []}


def test_health_has_the_fields_of_the_document(cli: Cli, stock: Stock):
    stock.group(lanes=((HOST, CLOSED),))
    body = cli("health", "--json").json
    assert body["healthy"] is False
    assert body["endpoints"][0] == {
        "id": "rules",
        "domain": "example.org",
        "name": "rules",
        "priority": "CRITICAL",
        "lastSuccessAt": (NOW - HOUR).isoformat(),
        "consecutiveErrors": 0,
        "lastError": None,
        "isSlaBreached": False,
        "hasConsecutiveErrors": False,
        "hoursSinceSuccess": 1.0,
        "isCircuitBroken": True,
    }
    assert "breaker open" in cli("health").out
    assert (cli("health").code, cli("health", "--check").code) == (0, 6)
    assert "no engine is running on this store; `vedette run` looks at what is due" in cli("health").err


def test_what_nobody_looked_at_is_one_line_and_not_a_trouble_of_each_source(stock: Stock):
    urls = [f"https://host{n}.example/" for n in range(2)]
    for n, url in enumerate(urls):
        stock.source(url, name=f"s{n}")
        stock.visit(url, at=NOW)
    said = Cli(stock.data, clock=FixedClock(NOW + 50 * HOUR))("health")
    assert "4 sources not looked at for too long, and well when they were, the last time 2 d 2 h" in said.out
    assert "rules" not in said.out
    stock.visit(urls[1], outcome=Outcome.GONE, at=NOW + HOUR)
    told = Cli(stock.data, clock=FixedClock(NOW + 50 * HOUR))("health").out
    assert "s1" in told
    assert "rules" in told, "three are few enough to be named"


def test_health_raises_alerts_only_when_it_is_told_to(cli: Cli, stock: Stock):
    stock.group(lanes=((HOST, CLOSED),))
    cli("health")
    assert cli("alerts", "--json").json["alerts"] == []
    cli("health", "--raise")
    assert [one["type"] for one in cli("alerts", "--json").json["alerts"]] == ["CIRCUIT_BREAKER_OPEN"]


def test_an_alert_is_acknowledged_once_and_the_first_word_stands(cli: Cli, stock: Stock):
    stock.group(lanes=((HOST, CLOSED),))
    check(stock)
    assert cli("alerts", "ack", "1", "--note", "called them").code == 0
    cli("alerts", "ack", "1", "--note", "again")
    assert "called them" in cli("alerts", "show", "1").out
    assert "(seen)" in cli("alerts").out
    assert cli("alerts", "show", "99").code == 2


def test_recovered_alerts_are_listed_on_demand(cli: Cli, stock: Stock):
    stock.group(lanes=((HOST, CLOSED),))
    check(stock)
    stock.group(lanes=((HOST, LaneState()),))
    check(stock, NOW + HOUR)
    check(stock, NOW + 5 * HOUR)
    later = Cli(stock.data, clock=FixedClock(NOW + 6 * HOUR))
    assert later("alerts", "--json").json["alerts"] == []
    assert "recovered 1 h ago" in later("alerts", "list", "--all").out


def test_alerts_can_be_read_under_the_documents_name(stock: Stock):
    stock.group(lanes=((HOST, CLOSED),))
    check(stock)
    with operating(stock.path) as db:
        row = db.execute('SELECT "type", "entityId", "resolvedAt" FROM "WatchdogAlert"').fetchone()
    assert row == ("CIRCUIT_BREAKER_OPEN", "host:example.org", None)


def test_a_source_that_lists_pages_of_which_none_is_there_is_not_well(stock: Stock, cli: Cli):
    listing = "https://example.org/docs/"
    stock.source(listing, name="docs", lister=ListerKind.HTML_LIST)
    made = stock.watch(listing)
    pages = [f"https://example.org/doc/{n}.pdf" for n in range(3)]
    stock.visit(listing, found=tuple(replace(made, id=watch_id(url), url=url) for url in pages))
    assert cli("health", "--json").json["healthy"]
    for url in pages:
        stock.visit(url, outcome=Outcome.GONE, detail="404")
    told = cli("health")
    assert "none of the 3 pages that it lists was there: gone" in told.out
    (trouble,) = cli("health", "--json").json["trouble"]
    assert trouble["id"] == "docs"
    assert f"vedette list --source {trouble['id']}" in trouble["remedy"]
    stock.visit(pages[0])
    assert cli("health", "--json").json["healthy"]
