"""A whole engine on a real store with a web of a few lines: what a start finds and what a run leaves."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from machine import patient
from settlements import HOUR, NOON

from vedette.app.run import RunHooks, RunRequest, run_async, run_with
from vedette.config.model import Loaded, parse
from vedette.contracts.errors import RefusedError, StoreError
from vedette.contracts.events import Event
from vedette.contracts.fetch import Fetched, FetchRequest
from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey, Outcome, SourceId
from vedette.core.lanes.outcomes import outcome_of_status
from vedette.engine.crawl.loop import Ended, Mode
from vedette.store.migrate import prepare
from vedette.store.operator import operating, pause_source, resume_source, save_lane
from vedette.store.sqlite import Reader, StoreLock, connect
from vedette.telemetry.clock import JumpingClock

FEED = "https://a.example/feed.xml"
ITEMS = "".join(f"<item><link>https://a.example/{n}</link><title>Vijest {n}</title></item>" for n in range(3))
WEB = {FEED: f"<rss version='2.0'><channel><title>t</title>{ITEMS}</channel></rss>".encode()}


class SmallWeb:
    """Feeds and pages from a table; every other page has a text of its own."""

    def __init__(self, clock: JumpingClock) -> None:
        self.clock = clock
        self.asked: list[str] = []
        self.is_closed = False
        self.before: dict[str, Any] = {}  # what happens before an answer

    async def fetch(self, request: FetchRequest) -> Fetched:
        self.asked.append(request.url)
        if request.url in self.before:
            await self.before[request.url]()
        status = 404 if request.url.endswith("/robots.txt") else 200
        text = f"<html><body><main><p>{f'Tekst stranice {request.url}. ' * 20}</p></main></body></html>"
        body = WEB.get(request.url, text.encode()) if status == 200 else b""
        return Fetched(
            url=request.url,
            outcome=outcome_of_status(status),
            at=self.clock.now(),
            took=timedelta(milliseconds=20),
            status=status,
            body=body,
            wire=body,
            content_type="application/rss+xml" if request.url == FEED else "text/html",
        )

    async def close(self) -> None:
        self.is_closed = True


class Station:
    def __init__(self, data: Path) -> None:
        self.data = data
        self.clock = JumpingClock(NOON)
        self.web = SmallWeb(self.clock)
        self.events: list[Event] = []
        self.configure()

    def configure(self, **fields: Any) -> None:
        config = parse({"sources": [{"url": FEED, "lister": "feed", "name": "news"} | fields]})
        self.loaded = Loaded(config=config, path=None, data=self.data, digest="d")

    async def run(self, **fields: Any) -> Ended:
        request = RunRequest(**({"mode": Mode.UNTIL_IDLE, "takes_orders": False} | fields))
        return await asyncio.wait_for(
            run_async(self.loaded, request, on_event=self.events.append, clock=self.clock, fetcher=self.web),
            patient(30),
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        db = sqlite3.connect(self.data / "vedette.db")
        try:
            return db.execute(query).fetchall()
        finally:
            db.close()


@pytest.fixture
def crawl_run(tmp_path: Path) -> Station:
    return Station(tmp_path)


async def test_a_run_looks_at_the_listing_and_at_what_it_finds(crawl_run: Station):
    ended = await crawl_run.run()
    assert (ended.by, ended.error, ended.tally.visits) == ("idle", None, 4)
    assert crawl_run.rows("SELECT outcome, COUNT(*) FROM visits GROUP BY 1") == [("ok", 4)]
    assert crawl_run.web.asked[0] == "https://a.example/robots.txt"
    assert crawl_run.rows("SELECT COUNT(*) FROM leases") == [(0,)]
    assert crawl_run.web.is_closed


@pytest.mark.parametrize("owns_process", [False, True])
async def test_only_a_program_of_its_own_keeps_what_is_loaded_from_the_garbage_collector(
    crawl_run: Station, owns_process: bool
):
    frozen: list[int] = []

    def hear(event: Event) -> None:
        frozen.append(gc.get_freeze_count())

    request = RunRequest(mode=Mode.UNTIL_IDLE, takes_orders=False)
    hooks = RunHooks(on_event=hear, clock=crawl_run.clock, fetcher=crawl_run.web, owns_process=owns_process)
    await run_with(crawl_run.loaded, request, hooks)
    assert bool(max(frozen)) is owns_process
    assert gc.get_freeze_count() == 0


async def test_the_world_hears_of_a_visit_only_when_it_is_on_disk(crawl_run: Station):
    told: list[int] = []

    def hear(event: Event) -> None:
        if event.name == "visited":
            number = event.fields["visit"]
            told.append(crawl_run.rows(f"SELECT COUNT(*) FROM visits WHERE id = {number}")[0][0])

    request = RunRequest(mode=Mode.UNTIL_IDLE, takes_orders=False)
    await run_async(crawl_run.loaded, request, on_event=hear, clock=crawl_run.clock, fetcher=crawl_run.web)
    assert told == [1, 1, 1, 1]


async def test_a_second_engine_is_refused_and_told_who_runs(crawl_run: Station):
    prepare(crawl_run.data)
    lock = StoreLock(crawl_run.data / "lock")
    lock.take("pid 4711 on hermes")
    with pytest.raises(RefusedError, match="pid 4711"):
        await crawl_run.run()
    lock.release()
    assert (await crawl_run.run()).by == "idle"


async def test_a_start_that_fails_lets_go_of_the_store(crawl_run: Station):
    await crawl_run.run()
    (crawl_run.data / "archive" / "HEADS").unlink()
    with pytest.raises(StoreError):
        await crawl_run.run()
    lock = StoreLock(crawl_run.data / "lock")
    lock.take("pid 1")
    lock.release()


async def test_a_run_that_was_killed_is_marked_and_its_leases_return(crawl_run: Station):
    """Both: leases that were open once hid the run that was."""
    await crawl_run.run(mode=Mode.ONCE)
    db = connect(crawl_run.data / "vedette.db")
    db.execute("INSERT INTO leases SELECT id, 'gone:1', 0, 99999999999999 FROM watches")
    db.execute("INSERT INTO runs (id, started_at, policy, config_digest) VALUES ('run-x', 5, 'fixed', 'd')")
    db.close()
    ended = await crawl_run.run()
    assert ended.tally.visits == 3
    assert crawl_run.rows("SELECT ended_by FROM runs WHERE id = 'run-x'") == [("killed",)]
    assert crawl_run.rows("SELECT COUNT(*) FROM leases") == [(0,)]
    assert crawl_run.rows("SELECT COUNT(*) FROM runs WHERE ended_by IS NULL") == [(0,)]


async def test_how_a_source_fares_is_saved_to_the_last_moment(crawl_run: Station):
    await crawl_run.run(mode=Mode.ONCE)
    (row,) = crawl_run.rows("SELECT last_success_at, tally FROM sources")
    assert row[0] is not None
    assert row[1] != "{}"  # what the listing gave counts against its budgets after a restart too


async def test_a_source_that_the_operator_paused_stays_paused_over_restarts_until_they_resume_it(
    crawl_run: Station,
):
    await crawl_run.run(mode=Mode.ONCE)
    with operating(crawl_run.data / "vedette.db") as db:
        assert pause_source(db, SourceId("news"), now=crawl_run.clock.now()) == 4
    for _ in range(2):
        crawl_run.clock.advance(48 * HOUR)
        assert (await crawl_run.run(mode=Mode.ONCE)).tally.visits == 0
        reader = Reader(crawl_run.data / "vedette.db")
        source, _ = reader.source(SourceId("news"))
        reader.close()
        assert not source.is_active
    with operating(crawl_run.data / "vedette.db") as db:
        assert resume_source(db, SourceId("news"), now=crawl_run.clock.now()) == 4
    crawl_run.clock.advance(HOUR)
    assert (await crawl_run.run(mode=Mode.ONCE)).tally.visits == 4


async def test_a_source_follows_what_the_configuration_says_of_it(crawl_run: Station):
    """Not active, then active again: its watches rest and come back without a word of the operator."""
    await crawl_run.run(mode=Mode.ONCE)
    for active, visits in ((False, 0), (False, 0), (True, 4)):
        crawl_run.clock.advance(48 * HOUR)
        crawl_run.configure(active=active)
        assert (await crawl_run.run(mode=Mode.ONCE)).tally.visits == visits


async def test_a_reset_wins_over_what_the_engine_writes_in_the_same_second(crawl_run: Station):
    """The lane closes in the engine's memory, the operator resets it, the engine commits what it had."""
    path = crawl_run.data / "vedette.db"
    lane = LaneKey("host:a.example")

    async def reset_meanwhile() -> None:
        with operating(path) as db:
            save_lane(db, lane, LaneState(), now=crawl_run.clock.now())

    await crawl_run.run(mode=Mode.ONCE)
    with operating(path) as db:
        db.execute("UPDATE lanes SET failures = 4, held_until = next_start_at, word = 0")
    crawl_run.web.before["https://a.example/1"] = reset_meanwhile
    await crawl_run.run()  # hears no orders: as if it were killed before it did
    reader = Reader(path)
    state = reader.lane(lane)
    reader.close()
    assert (state.failures, state.held_until, state.word) == (0, None, 1)


async def test_a_source_that_asks_for_a_browser_is_not_fetched_plainly_and_says_so(
    crawl_run: Station, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "")  # so that no browser is found
    crawl_run.configure(requires_headless=True)
    ended = await crawl_run.run()
    assert (ended.by, ended.tally.visits, crawl_run.web.asked) == ("idle", 1, [])
    ((outcome, detail, kind),) = crawl_run.rows("SELECT outcome, detail, kind FROM visits")
    assert (outcome, kind) == (Outcome.NO_BROWSER.value, "none")
    assert "is not installed" in detail
    ((error,),) = crawl_run.rows("SELECT last_error FROM sources")
    assert error == f"no_browser: {detail}"
    assert crawl_run.rows("SELECT outcome, detail FROM parked") == [(outcome, detail)]
    crawl_run.configure()  # the key is taken away: from the next look on it is fetched
    crawl_run.clock.advance(1000 * HOUR)
    assert (await crawl_run.run(mode=Mode.ONCE)).tally.visits == 1
    assert crawl_run.web.asked == ["https://a.example/robots.txt", FEED]


async def test_ids_rise_though_the_clock_was_set_back(crawl_run: Station):
    await crawl_run.run(mode=Mode.ONCE)
    (first,) = crawl_run.rows("SELECT MAX(id) FROM visits")
    crawl_run.clock.advance(-48 * HOUR)
    db = connect(crawl_run.data / "vedette.db")
    db.execute("UPDATE watches SET due_at = 0")
    db.execute("DELETE FROM lanes")
    db.close()
    ended = await crawl_run.run(mode=Mode.ONCE)
    assert ended.tally.visits == 4
    assert crawl_run.rows(f"SELECT COUNT(*) FROM visits WHERE id > {first[0]}") == [(4,)]


async def test_a_limit_of_visits_is_exact_on_a_real_store_too(crawl_run: Station):
    ended = await crawl_run.run(max_visits=2)
    assert (ended.by, ended.tally.visits) == ("limit", 2)
    assert crawl_run.rows("SELECT COUNT(*) FROM visits") == [(2,)]


async def test_a_store_that_breaks_ends_the_run_with_the_error_and_what_was_said_is_kept(crawl_run: Station):
    async def breaks() -> None:
        db = connect(crawl_run.data / "vedette.db")
        db.execute("ALTER TABLE ledger RENAME TO lost")
        db.close()

    crawl_run.web.before["https://a.example/1"] = breaks
    ended = await crawl_run.run()
    assert ended.by == "failed"
    assert isinstance(ended.error, StoreError)
    told = [event.fields["visit"] for event in crawl_run.events if event.name == "visited"]
    kept = [number for (number,) in crawl_run.rows("SELECT id FROM visits ORDER BY id")]
    assert told == kept


async def test_a_page_that_breaks_our_code_is_parked_and_the_others_go_on(crawl_run: Station):
    async def breaks() -> None:
        raise RuntimeError("a bug of ours")

    crawl_run.web.before["https://a.example/1"] = breaks
    ended = await crawl_run.run()
    assert (ended.by, ended.tally.visits) == ("idle", 4)
    ((outcome, detail),) = crawl_run.rows("SELECT outcome, detail FROM parked")
    assert (outcome, detail) == (Outcome.BUG.value, "RuntimeError: a bug of ours")


async def test_what_robots_said_is_remembered_by_the_next_run(crawl_run: Station):
    await crawl_run.run(mode=Mode.ONCE)
    await crawl_run.run()
    assert crawl_run.web.asked.count("https://a.example/robots.txt") == 1
