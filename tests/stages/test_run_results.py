"""The result of a run, as the document names it; and a run that is left to the service."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cli_call import Cli
from settlements import HOUR, NOON, a_look, a_place, a_watch
from stocked import NOW, Stock, stocked
from test_cli_running import PlayedApp

from vedette.config.model import is_debug, is_production
from vedette.contracts.jobs import Miss, Missed, SentinelOrder, SentinelResult
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import Group
from vedette.contracts.words import LaneKey, Outcome, Risk, RunId, SourceId, WatchId
from vedette.core.lanes.outcomes import SEEN
from vedette.core.limits.budget import Tally
from vedette.engine.crawl.loop import Ended
from vedette.engine.crawl.run_result import DEAD_LINKS, RunLog
from vedette.report.looks import result_json, result_lines, summary_lines
from vedette.report.plain import as_text
from vedette.store.operator import operating, order_sources

OPEN = LaneState()


def log_of(*looks: object, **given: object) -> RunLog:
    log = RunLog(**given)  # type: ignore[arg-type]
    log.add(Group(run=RunId("r"), placed=tuple(map(a_place, looks))))  # type: ignore[arg-type]
    return log


def result(log: RunLog, *, lane: LaneState = OPEN, failure: str = "") -> SentinelResult:
    return log.result(
        took=timedelta(seconds=1.5), now=NOON, lane=lambda key: lane, name=str.upper, failure=failure
    )


def test_the_result_of_a_run_has_exactly_the_fields_of_the_document():
    listing, page = a_watch("https://a.example/feed"), a_watch("https://a.example/1", parent=WatchId(7))
    found = (a_watch("https://a.example/2"), a_watch("https://a.example/3"))
    log = log_of(
        a_look(listing, 1, found=found),
        a_look(page, 2, None, outcome=Outcome.TIMEOUT),
        a_look(a_watch("https://a.example/1", parent=WatchId(7), attempt=1), 3),
    )
    assert result_json(result(log)) == {
        "success": True,
        "endpointsChecked": 1,
        "newItemsDiscovered": 2,
        "errors": [],
        "health": {
            "domains": {
                "a.example": {
                    "isHealthy": True,
                    "successRate": 0.6667,
                    "consecutiveErrors": 0,
                    "isCircuitBroken": False,
                    "lastSuccessAt": (NOON + timedelta(seconds=3)).isoformat(),
                    "lastError": "timeout",
                }
            },
            "overallHealthy": True,
        },
        "durationMs": 1500,
        "retriesTotal": 1,
    }


def test_a_source_that_failed_is_an_error_unless_it_came_right_in_the_same_run():
    watch = a_watch("https://a.example/feed", source=SourceId("news"))
    failed = a_look(watch, 1, None, outcome=Outcome.GONE)
    assert result(log_of(failed)).errors == ("NEWS: gone",)
    assert result(log_of(failed, a_look(watch, 2))).errors == ()


def test_a_broken_host_and_a_failed_run_are_told():
    watch = a_watch("https://a.example/feed")
    lane = LaneState(failures=5, closed_until=NOON + HOUR)
    body = result_json(
        result(log_of(a_look(watch, 1, None, outcome=Outcome.TIMEOUT)), lane=lane, failure="disk full")
    )
    assert (body["success"], body["errors"][0]) == (False, "disk full")
    domain = body["health"]["domains"]["a.example"]
    assert (domain["isHealthy"], domain["isCircuitBroken"], domain["consecutiveErrors"]) == (False, True, 5)
    assert body["health"]["overallHealthy"] is False


def test_a_log_of_some_sources_does_not_hear_of_others():
    mine, other = (
        a_watch("https://a.example/", source=SourceId("a")),
        a_watch("https://b.example/", source=SourceId("b")),
    )
    log = log_of(a_look(mine, 1), a_look(other, 2), sources={SourceId("a")})
    assert set(result(log).hosts) == {"a.example"}


def test_hosts_that_a_crawl_wanders_into_are_not_told_one_by_one():
    log = log_of(a_look(a_watch("https://far.example/", parent=WatchId(7)), 1), a_look(a_watch(), 2))
    assert set(result(log).hosts) == {"a.example"}


FAILS = [outcome for outcome in Outcome if outcome not in SEEN]


@pytest.mark.parametrize("outcome", FAILS, ids=str)
def test_what_was_not_seen_is_a_miss_until_it_is_seen_in_the_same_run(outcome: Outcome):
    failed = a_look(a_watch(), 1, None, outcome=outcome)
    missed = log_of(failed).missed()
    assert (missed.count, missed.unseen, missed.misses[0].outcome) == (1, 1, outcome)
    assert log_of(failed, a_look(a_watch(), 2)).missed() == Missed()


def test_a_removal_that_is_reported_was_seen():
    gone = a_look(a_watch(is_gone=True), 1, None, outcome=Outcome.GONE)
    assert log_of(gone).missed() == Missed()


@pytest.mark.parametrize("outcome", FAILS, ids=str)
def test_a_crawl_may_meet_dead_links_and_what_it_saw_before_is_no_such_link(outcome: Outcome):
    found = a_watch(parent=WatchId(7), lister=ListerKind.CRAWL)
    missed = log_of(a_look(found, 1, None, outcome=outcome)).missed()
    assert (missed.count, missed.unseen) == (1, 0 if outcome in DEAD_LINKS else 1)
    listed = a_watch(parent=WatchId(7))  # a feed or a sitemap named it
    assert log_of(a_look(listed, 1, None, outcome=outcome)).missed().unseen == 1


def test_so_many_misses_are_counted_that_are_not_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("vedette.engine.crawl.run_result.MOST_MISSES", 3)
    looks = [a_look(a_watch(f"https://a.example/{n}"), n, None, outcome=Outcome.TIMEOUT) for n in range(1, 9)]
    missed = log_of(*looks).missed()
    assert (len(missed.misses), missed.count, missed.unseen) == (3, 8, 8)


def test_the_closing_list_names_every_source_however_many_hosts_fail():
    """N5."""
    urls = [f"https://h{n}.example/" for n in range(30)]
    links = [f"https://h0.example/{n}" for n in range(9)]
    failed = Outcome.SERVER_ERROR
    misses = [
        *(Miss(url=url, source=SourceId("s"), outcome=failed, detail=url) for url in links),
        *(Miss(url=url, source=SourceId("s"), outcome=failed, is_own=True, again_at=NOON) for url in urls),
    ]
    told = as_text(summary_lines(Missed(misses=tuple(misses), count=39, unseen=39), NOON))
    assert [url for url in urls if f"  {url}" not in told] == []
    assert "... and 9 pages more" in told
    assert ("tried again at the next run" in told, "tried again now" in told) == (True, False)


def test_people_get_the_same_in_words():
    lines = result_lines(result(log_of(a_look(a_watch(), 1, None, outcome=Outcome.GONE))))
    assert lines == [
        "done in 1.5 s: 1 source checked, 0 new, 1 error, 0 retries",
        "hosts: 0 of 1 well",
        "  A: gone",
    ]


def test_a_run_gives_only_its_result_when_asked(tmp_path: Path):
    stock = stocked(tmp_path)
    app = PlayedApp(ended=Ended(by="idle", tally=Tally(), result=result(log_of(a_look(a_watch(), 1)))))
    told = Cli(stock.data, app=app)("run", "--once", "--result", "--json")
    assert list(told.json) == list(result_json(result(RunLog())))
    assert "1 source checked" in Cli(stock.data, app=app)("run", "--once", "--result").out


def test_fetch_and_adaptive_say_aloud_what_a_run_does_anyway(tmp_path: Path):
    stock = stocked(tmp_path)
    app = PlayedApp()
    assert Cli(stock.data, app=app)("run", "--once", "--fetch", "--adaptive", "--source", "news").code == 0
    assert app.request is not None
    assert (app.request.fetch_only, app.request.discover_only, app.request.source) == (False, False, "news")
    assert Cli(stock.data, app=app)("run", "--fetch", "--fetch-only").code == 2


def test_a_run_can_be_left_to_the_service(tmp_path: Path):
    stock = stocked(tmp_path)
    told = Cli(stock.data)("run", "--queued", "--tier", "normal", "--source", "news", "--json").json
    stamp = int(NOW.timestamp() * 1000)
    assert told["data"] == {"runId": f"manual-{stamp}", "sourceId": "news", "priority": "NORMAL"}
    with operating(stock.path) as db:
        assert db.execute("SELECT queue, name, state FROM jobs WHERE queue = 'sentinel'").fetchall() == [
            ("sentinel", "sentinel-manual", "waiting")
        ]
    assert "no engine runs" in Cli(stock.data)("run", "--queued").err


@pytest.fixture
def sources(tmp_path: Path) -> Stock:
    stock = Stock(tmp_path)
    stock.source("https://a.example/", name="old", tier=Risk.HIGH, lister=ListerKind.FEED)
    stock.source("https://b.example/", name="fresh", tier=Risk.HIGH)
    stock.source("https://c.example/", name="grave", tier=Risk.CRITICAL)
    stock.source("https://d.example/", name="weekly", tier=Risk.LOW, scrape_frequency=168 * HOUR)
    stock.visit("https://b.example/", at=NOW - HOUR)
    stock.visit("https://a.example/", at=NOW - 9 * HOUR)
    stock.visit("https://d.example/", at=NOW - 9 * HOUR)
    return stock


def ordered(stock: Stock, **given: object) -> list[str]:
    with operating(stock.path) as db:
        order = SentinelOrder(run=RunId("r"), **given)  # type: ignore[arg-type]
        return [one.source for one in order_sources(db, order, now=NOW)]


def test_an_order_takes_sources_by_tier_then_the_oldest_and_spares_what_is_not_due(sources: Stock):
    assert ordered(sources) == ["grave", "old", "fresh"]
    assert ordered(sources, tier=Risk.HIGH) == ["old", "fresh"]
    assert ordered(sources, source=SourceId("weekly")) == ["weekly"]
    assert ("due", "host:a.example") in sources.orders()
    assert all(sources.watch(f"https://{host}.example/").due_at <= NOW for host in "abc")


def test_an_order_leaves_paused_and_failing_sources_alone(sources: Stock):
    sources.execute("UPDATE sources SET closed_until = 9999999999999 WHERE id = 'old'")
    sources.execute("UPDATE sources SET paused_at = 1 WHERE id = 'grave'")
    assert ordered(sources) == ["fresh"]
    assert ordered(sources, source=SourceId("grave")) == []


def test_a_run_of_one_source_takes_its_watches_and_no_others(sources: Stock):
    from vedette.contracts.watch import Ask
    from vedette.store.sqlite import Pick, Writer

    writer = Writer(sources.path, worker="w", pick=Pick(source="o'ld"))
    lane = LaneKey("host:c.example")
    assert writer.claim([Ask(lane, 9)], now=NOW, due_by=NOW)[lane] == []
    writer.close()
    writer = Writer(sources.path, worker="w", pick=Pick(source="grave"))
    assert len(writer.claim([Ask(lane, 9)], now=NOW, due_by=NOW)[lane]) == 1
    writer.close()


@pytest.mark.parametrize(
    ("names", "production", "debug"),
    [
        ({}, False, False),
        ({"NODE_ENV": "production"}, True, False),
        ({"NODE_ENV": "production", "VEDETTE_ENV": "development"}, False, False),
        ({"DEBUG": "1"}, False, True),
        ({"DEBUG": "false"}, False, False),
    ],
)
def test_the_environment_chooses_the_form_of_the_log(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, str], production: bool, debug: bool
):
    for name in ("NODE_ENV", "VEDETTE_ENV", "DEBUG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert (is_production(), is_debug()) == (production, debug)
