"""The open pages of a hunt in memory follow the store: what changed, what is forgotten, what an operator did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from vedette.contracts.hunt import Open
from vedette.contracts.words import Risk, SourceId, WatchId
from vedette.core.hunt_worth import Prospect, prospect_of
from vedette.core.urls.canonical import watch_id
from vedette.engine.settle.hunt_open import HuntOpen

NOW = datetime(2026, 11, 18, tzinfo=UTC)
WEEK = timedelta(days=7)
ONE, TWO = SourceId("one"), SourceId("two")


class Store:
    """Rows by watch, with the time from which on they may be chosen."""

    def __init__(self) -> None:
        self.rows: dict[WatchId, tuple[Open, datetime]] = {}
        self.sources = {ONE, TWO}
        self.reads = 0  # whole readings

    def add(self, url: str, source: SourceId = ONE, *, at: datetime = NOW) -> WatchId:
        watch = WatchId(watch_id(url))
        self.rows[watch] = (Open(watch, url, Risk.LOW, source), at)
        return watch

    def open(self, after: int, most: int, *, now: datetime) -> list[Open]:
        self.reads += after == 0
        return [one for one in self.open_of(sorted(self.rows), now=now) if one.watch > after][:most]

    def open_of(self, watches: Sequence[WatchId], *, now: datetime) -> list[Open]:
        known = (self.rows[watch] for watch in watches if watch in self.rows)
        return [one for one, at in known if at <= now and one.source in self.sources]

    def later(self, *, now: datetime) -> list[tuple[datetime, WatchId]]:
        return [(at, watch) for watch, (_, at) in self.rows.items() if at > now]

    def choosable(self) -> frozenset[SourceId]:
        return frozenset(self.sources)


def seen_as(one: Open) -> Prospect:
    return prospect_of(one.url)


def held(hunt: HuntOpen, store: Store) -> set[WatchId]:
    return {watch for watch in store.rows if watch in hunt.pages}


def hunting(store: Store) -> HuntOpen:
    hunt = HuntOpen(store, seen_as, seed=0)
    hunt.refresh(NOW)
    return hunt


def test_everything_that_is_open_is_read_once_and_then_only_what_changed() -> None:
    store = Store()
    first = store.add("https://a.example/1")
    hunt = hunting(store)
    second, third = store.add("https://a.example/2"), store.add("https://a.example/3")
    hunt.opened([first, second])
    hunt.refresh(NOW)
    assert held(hunt, store) == {first, second}  # nobody said that the third is open
    del store.rows[first]
    hunt.changed([first, third])
    hunt.refresh(NOW)
    assert held(hunt, store) == {second, third}
    assert first not in hunt.pages
    assert store.reads == 1


def test_a_failure_is_open_again_when_it_is_forgotten() -> None:
    store = Store()
    hunt = hunting(store)
    failed = store.add("https://a.example/gone", at=NOW + WEEK)
    hunt.again(NOW + WEEK, failed)
    hunt.changed([failed])
    hunt.refresh(NOW + WEEK - timedelta(seconds=1))
    assert failed not in hunt.pages
    hunt.refresh(NOW + WEEK)
    assert failed in hunt.pages


def test_a_restart_knows_when_failures_are_forgotten() -> None:
    store = Store()
    failed = store.add("https://a.example/gone", at=NOW + WEEK)
    hunt = hunting(store)
    assert failed not in hunt.pages
    hunt.refresh(NOW + WEEK)
    assert failed in hunt.pages


def test_pages_of_a_paused_source_go_and_come_back_with_it() -> None:
    store = Store()
    mine, other = store.add("https://a.example/1", ONE), store.add("https://b.example/1", TWO)
    hunt = hunting(store)
    store.sources.discard(TWO)
    hunt.refresh(NOW)
    assert held(hunt, store) == {mine}
    store.sources.add(TWO)
    hunt.refresh(NOW)
    assert held(hunt, store) == {mine, other}


def test_what_an_operator_asked_for_meanwhile_is_not_confirmed_and_leaves() -> None:
    store = Store()
    asked, left = store.add("https://a.example/1"), store.add("https://a.example/2")
    hunt = hunting(store)
    del store.rows[asked]  # it is due now
    assert list(hunt.confirmed([asked, left], NOW)) == [left]
    assert asked not in hunt.pages
