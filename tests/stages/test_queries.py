"""Questions to the store are answered with values."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from stocked import EVIL, HOUR, NEWS, NOW, PRIVATE, RULES, Stock, a_change, stocked

from vedette.contracts.change import ChangeState
from vedette.contracts.errors import StoreError
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind, ListerOptions, ListSelectors, Source, TrapBudgets
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import Refused
from vedette.contracts.words import LaneKey, NodeType, Outcome, Reason, Risk, SourceId, WatchId
from vedette.core.urls.canonical import watch_id
from vedette.store import operator
from vedette.store.claims import claims_of
from vedette.store.queries import Queries
from vedette.store.sqlite import StoreLock
from vedette.store.views import ChangeFilter, WatchFilter


@pytest.fixture
def stock(tmp_path: Path, server: PostgresAddress | None) -> Stock:
    return stocked(tmp_path, server)


@pytest.fixture
def queries(stock: Stock):
    with Queries(stock.path) as opened:
        yield opened


def urls(queries: Queries, **which: object) -> list[str]:
    return [watch.url for watch in queries.watches(WatchFilter(**which))]


def test_watches_are_found_by_source_host_risk_outcome_text_and_due_time(queries: Queries):
    assert urls(queries) == [NEWS, PRIVATE, RULES]
    assert urls(queries, source="news") == [NEWS]
    assert urls(queries, host="example.org") == [NEWS, PRIVATE, RULES]
    assert urls(queries, host="example.com") == []
    assert urls(queries, risk=Risk.CRITICAL) == [RULES]
    assert urls(queries, outcome=Outcome.ROBOTS_REFUSED) == [PRIVATE]
    assert urls(queries, text="PDV") == [RULES]
    assert urls(queries, text="100%") == []  # a percent sign is no wildcard
    assert urls(queries, due_before=NOW) == [NEWS]
    assert urls(queries, due_before=NOW + 30 * HOUR, by_due=True) == [NEWS, RULES, PRIVATE]
    assert urls(queries, only_listings=True) == [NEWS]
    assert queries.count_watches(WatchFilter(host="example.org")) == 3


def test_visits_and_decisions_come_newest_first_as_they_were_written(queries: Queries):
    visits = queries.visits(watch_id(RULES), most=10)
    assert [visit.at for visit in visits] == [NOW - HOUR, NOW - 25 * HOUR]
    assert visits[0].changed
    assert len(visits[0].digest or b"") == 32
    newest = queries.ledger(watch_id(RULES), most=1)[0]
    assert [decision.action for decision in newest.decisions] == ["fetch", "schedule"]
    assert sum(reason.points for reason in newest.decisions[1].reasons) == 7.25


def test_changes_are_found_by_time_risk_and_state(stock: Stock, queries: Queries):
    stock.visit(NEWS, at=NOW - 2 * HOUR, change=a_change(ChangeState.REJECTED, NOW - 2 * HOUR, 78))
    found = list(queries.changes(ChangeFilter()))
    assert [view.change.id for view in found] == [77, 78]
    assert found[0].url == RULES
    assert found[0].change.comparison.diff[1].words == (("25", "24"),)
    assert [v.change.id for v in queries.changes(ChangeFilter(states=(ChangeState.REJECTED,)))] == [78]
    assert [v.change.id for v in queries.changes(ChangeFilter(risk=Risk.HIGH))] == [77]
    assert [v.change.id for v in queries.changes(ChangeFilter(since=NOW - timedelta(minutes=90)))] == [77]
    assert list(queries.changes(ChangeFilter(until=NOW - 3 * HOUR))) == []


def test_a_held_moment_does_not_see_what_comes_later(stock: Stock):
    with claims_of(stock.path) as claims:
        claims.hold()
        assert len(claims.segments()) == 1
        stock.execute("DELETE FROM segments")
        assert len(claims.segments()) == 1


def test_a_source_comes_back_as_it_was_saved(stock: Stock, queries: Queries):
    options = ListerOptions(
        include=("/a",),
        start_date=NOW,
        selectors=ListSelectors(item="li"),
        max_depth=2,
        honour_nofollow=False,
        traps=TrapBudgets(session=7, calendar_ahead=HOUR),
    )
    source = Source(
        id=SourceId("whole"), name="Whole", url="https://whole.example/", lister=ListerKind.CRAWL, options=options,
        risk=Risk.LOW, tier=Risk.CRITICAL, scrape_frequency=6 * HOUR, retention="short",
        fetch=(("allow_ports", (80, 81)), ("headers", (("X-A", "1"),))), origin="import",
    )  # fmt: skip
    with operator.operating(stock.path) as db:
        assert operator.save_source(db, source, now=NOW)
        assert not operator.save_source(db, source, now=NOW + HOUR)
    view = queries.source("whole")
    assert view is not None
    assert view.source == source
    assert view.created_at == NOW
    assert view.watches == 1


def test_saying_a_source_again_moves_nothing_that_the_engine_learned(stock: Stock, queries: Queries):
    before = queries.watch(watch_id(RULES))
    assert before is not None
    view = queries.source("rules")
    assert view is not None
    with operator.operating(stock.path) as db:
        operator.save_source(db, view.source, now=NOW)
        operator.save_source(db, replace(view.source, name="PDV"), now=NOW)
    assert queries.watch(before.id) == before


def test_the_first_watch_of_a_listing_is_a_hub_that_is_due_now():
    feed = Source(id=SourceId("f"), name="f", url=NEWS, lister=ListerKind.FEED)
    watch = operator.first_watch(feed, NOW)
    assert (watch.node_type, watch.lister, watch.due_at) == (NodeType.HUB, ListerKind.FEED, NOW)
    page = operator.first_watch(Source(id=SourceId("p"), name="p", url=RULES), NOW)
    assert (page.node_type, page.lister, page.risk) == (NodeType.LEAF, None, Risk.CRITICAL)
    paused = Source(id=SourceId("p"), name="p", url=RULES, is_active=False)
    assert operator.first_watch(paused, NOW).due_at is None


def test_a_paused_source_is_not_due_and_a_resumed_one_keeps_its_rhythm(stock: Stock, queries: Queries):
    with operator.operating(stock.path) as db:
        assert operator.pause_source(db, SourceId("rules"), now=NOW) == 1
    assert urls(queries, due_before=NOW + 99 * HOUR, source="rules") == []
    with operator.operating(stock.path) as db:
        assert operator.resume_source(db, SourceId("rules"), now=NOW) == 1
    watch = queries.watch(watch_id(RULES))
    assert watch is not None
    assert watch.due_at == NOW + 6 * HOUR  # last look an hour ago, interval seven hours


def test_every_word_of_the_operator_is_also_an_order(stock: Stock):
    before = len(stock.orders())
    with operator.operating(stock.path) as db:
        operator.save_lane(db, LaneKey("host:example.org"), LaneState(blocked_by="x"), now=NOW)
        operator.make_due(db, watch_id(RULES), now=NOW)
        operator.reset_source(db, SourceId("news"), now=NOW)
    assert stock.orders()[before:] == [
        ("lane", "host:example.org"),
        ("due", "host:example.org"),
        ("source", "news"),
        ("due", "host:example.org"),
    ]


def test_an_operation_that_fails_leaves_nothing_behind(stock: Stock, queries: Queries):
    def halfway() -> None:
        with operator.operating(stock.path) as db:
            operator.remove_source(db, SourceId("rules"), now=NOW)
            raise ValueError

    with pytest.raises(ValueError):
        halfway()
    assert queries.source("rules") is not None


def test_lanes_refusals_leases_and_evidence_are_found(stock: Stock, queries: Queries):
    stock.group(lanes=((LaneKey("host:example.org"), LaneState(failures=2, crawl_delay=HOUR)),))
    state = queries.lane(LaneKey("host:example.org"))
    assert state == queries.lanes()[0].state == LaneState(failures=2, crawl_delay=HOUR)
    refused = Refused(
        url="https://example.org/x",
        id=WatchId(5),
        source=SourceId("news"),
        reason=Reason("depth", 0, "5"),
        at=NOW,
    )
    for minute in (2, 1, 0):
        at = NOW - timedelta(minutes=minute)
        stock.visit(NEWS, at=at, refused=(replace(refused, at=at),))
    view = queries.refusal(WatchId(5))
    assert view is not None
    assert (view.count, view.refused) == (3, refused)
    assert queries.lease(WatchId(5)) is None
    digests = [one.digest for one in queries.evidence(watch_id(RULES))]
    assert len(set(digests)) == 2
    assert queries.evidence_by_digest(digests[0])[0].watch == watch_id(RULES)
    with claims_of(stock.path) as claims:
        assert [row.written.seq for row in claims.rows("standard-20261115-0001")] == [1, 2, 3, 4, 5, 6, 7]
        assert [place.offset for _, place in claims.blobs("standard-20261115-0001")] == [100, 200, 300]


def test_a_file_that_is_no_database_is_a_store_error(tmp_path: Path):
    broken = tmp_path / "vedette.db"
    broken.write_bytes(b"not a database at all, but long enough to be read as one" * 40)
    with pytest.raises(StoreError, match="not a usable store"):
        Queries(broken).runs(most=1)


def test_the_lock_names_its_holder_only_while_it_is_held(tmp_path: Path):
    assert operator.lock_holder(tmp_path) is None
    lock = StoreLock(tmp_path / operator.LOCK)
    lock.take("pid 7")
    assert operator.lock_holder(tmp_path) == "pid 7"
    lock.release()
    assert operator.lock_holder(tmp_path) is None


def test_titles_of_others_are_kept_as_they_came(queries: Queries):
    watch = queries.watch(watch_id(RULES))
    assert watch is not None
    assert EVIL in watch.title
