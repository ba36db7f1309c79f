"""From what came back to what it settles; and a fault of ours on one page stays with that page."""

from __future__ import annotations

import asyncio
import errno
import os
from dataclasses import replace
from datetime import timedelta

import pytest
from engine_kit import Rig
from settlements import HOUR, NOON, SECOND, a_job, a_watch

from vedette.contracts.fetch import Fetched, FetchSettings
from vedette.contracts.source import ListerKind, ListerOptions, Source
from vedette.contracts.watch import Job, RecordKind, Release, Settlement, SourceState
from vedette.contracts.words import LaneKey, Outcome, SourceId
from vedette.core.evidence.screen import ScreenRow, screen_table
from vedette.core.settled_watch import CLOSED_FOR, TRIPS_AFTER
from vedette.core.urls.canonical import watch_id
from vedette.engine.crawl.answer_screen import AnswerScreen
from vedette.engine.crawl.assess import AssessOptions, Assessor
from vedette.engine.crawl.compare_states import Comparer
from vedette.engine.crawl.content_reader import ContentReader, DocumentReader
from vedette.engine.crawl.find_urls import Finder, RiskHeirs
from vedette.engine.crawl.look import Reached
from vedette.engine.crawl.source_runtime import SAVE_EVERY, SourceBook
from vedette.engine.settle.ids import Ids
from vedette.engine.workers.pool import Workers
from vedette.telemetry.clock import JumpingClock

PAGE = "https://a.example/zakon"
BODY = (
    b"<html><head><title>Zakon</title></head><body><main><p>"
    + b"Porez iznosi 25 posto. " * 30
    + b"</p></main></body>"
)


class NoMemory:
    """Nothing was kept."""

    def body(self, evidence):
        return None

    def change(self, change):
        return None

    def looks_since(self, watch, at):
        return []


class Told:
    """A looker that says what it was told to say."""

    def __init__(self, answer: Reached | Exception) -> None:
        self.answer = answer

    async def look(self, job: Job) -> Reached:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def fetched(outcome: Outcome = Outcome.OK, **fields) -> Fetched:
    given = (
        {"status": 200, "body": BODY, "wire": BODY, "content_type": "text/html"}
        if outcome is Outcome.OK
        else {}
    )
    return Fetched(url=PAGE, outcome=outcome, at=NOON, took=SECOND, **(given | fields))


def assessor(answer: Reached | Fetched | Exception, *, screens=(), source: Source | None = None) -> Assessor:
    known = source or Source(id=SourceId("a"), name="a", url=PAGE, retention="short")
    clock = JumpingClock(NOON)
    looker = Told(Reached(fetched=answer) if isinstance(answer, Fetched) else answer)
    workers = Workers()
    reader = ContentReader(looker=looker, workers=workers, documents=DocumentReader(workers=workers))  # type: ignore[arg-type]
    return Assessor(
        looker=looker,  # type: ignore[arg-type]
        finder=Finder(known=lambda ids: set()),
        comparer=Comparer(NoMemory(), "main"),
        book=SourceBook(load=lambda i: (known, SourceState(source=i)), settings_of=lambda s: FetchSettings()),
        ids=Ids(),
        clock=clock,
        reading=reader,
        screen=AnswerScreen(screen_table(screens), set(), lambda crumb: None),
        peer=lambda watch: None,
        heirs=RiskHeirs(peer=lambda watch: None, has_own_risk=lambda source: False, ids=Ids()),
        options=AssessOptions(),
    )


async def settled(answer: Reached | Fetched | Exception, **more) -> Settlement:
    watch = more.pop("watch", a_watch(PAGE))
    result = await assessor(answer, **more).serve(a_job(watch))
    assert isinstance(result, Settlement)
    return result


async def test_a_first_look_is_kept_as_evidence_of_the_class_of_its_source_and_is_no_change():
    result = await settled(fetched())
    assert (result.entry.kind, result.entry.retention, result.entry.payload) == (
        RecordKind.RESPONSE,
        "short",
        BODY,
    )
    assert (result.visit.changed, result.change, result.watch.title) == (False, None, "Zakon")
    assert result.watch.seen is not None
    assert result.watch.due_at is not None
    assert result.watch.due_at > NOON
    assert [decision.action for decision in result.decisions] == ["fetch", "change", "schedule"]


async def test_what_the_chain_covers_is_what_the_visit_row_says():
    result = await settled(replace(fetched(), at=NOON + timedelta(microseconds=1999)))
    facts, visit = result.entry.facts, result.visit
    assert (facts.visit, facts.watch, facts.url, facts.at) == (visit.id, visit.watch, visit.url, visit.at)
    assert (facts.outcome, facts.status, facts.digest) == (visit.outcome, visit.status, visit.digest)
    assert visit.at == NOON + timedelta(milliseconds=1)  # as the store keeps it


@pytest.mark.parametrize("error", [RuntimeError("parser went wrong"), RecursionError(), KeyError("x")])
async def test_a_look_that_raises_parks_the_job_as_a_bug_and_the_watch_stays(error: Exception):
    result = await settled(error)
    assert result.parked is not None
    assert (result.visit.outcome, result.parked.outcome) == (Outcome.BUG, Outcome.BUG)
    assert type(error).__name__ in result.parked.detail
    (bug,) = [one for one in result.decisions if one.action == "bug"]
    assert "assess.py:" in bug.reasons[0].note  # where it happened, in the ledger
    assert " serve" in bug.reasons[0].note
    assert (result.entry.kind, result.watch.attempt) == (RecordKind.NONE, 1)
    assert result.watch.due_at is not None
    assert result.watch.due_at >= NOON + 24 * HOUR


async def test_the_others_go_on_while_one_page_breaks_our_code():
    rig = Rig()
    rig.plant(*(a_watch(f"https://a.example/{n}") for n in range(3)))
    broken = assessor(RuntimeError("a bug of ours"))
    broken.clock = rig.clock

    async def breaks(job):
        return await broken.serve(job) if job.watch.url.endswith("/1") else None

    rig.during = {LaneKey("host:a.example"): breaks}
    ended = await rig.run()
    assert (ended.by, ended.error, ended.tally.visits) == ("idle", None, 3)
    outcomes = sorted(watch.last_outcome.value for watch in rig.settler.visited)
    assert outcomes == ["bug", "ok", "ok"]


async def test_a_cancelled_look_is_not_a_bug():
    started = asyncio.Event()

    class Hangs:
        async def look(self, job):
            started.set()
            await asyncio.Event().wait()

    one = assessor(fetched())
    one.looker = Hangs()  # type: ignore[assignment]
    task = asyncio.create_task(one.serve(a_job(a_watch(PAGE))))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_look_that_its_own_lane_stopped_goes_back_as_it_was():
    job = a_job(a_watch(PAGE))
    closed = Reached(fetched=fetched(Outcome.LANE_CLOSED), shut=job.watch.lane)
    assert await assessor(closed).serve(job) == Release(job)


async def test_a_page_that_leads_to_a_host_whose_lane_is_shut_is_not_asked_again_at_once():
    """Its own lane is open and it would still be due: released, it would be asked every few seconds."""
    closed = Reached(fetched=fetched(Outcome.LANE_CLOSED), hops=(PAGE,), shut=LaneKey("host:b.example"))
    result = await settled(closed)
    assert result.visit.outcome is Outcome.LANE_CLOSED
    assert result.watch.due_at is not None
    assert result.watch.due_at > NOON + HOUR
    assert result.watch.seen is None


async def test_attempts_are_used_up_and_then_the_job_is_parked():
    watch = a_watch(PAGE)
    for attempt in (1, 2):
        result = await settled(fetched(Outcome.TIMEOUT), watch=watch)
        watch = result.watch
        assert (watch.attempt, result.parked) == (attempt, None)
        assert watch.due_at is not None
        assert watch.due_at <= NOON + 30 * SECOND
    result = await settled(fetched(Outcome.TIMEOUT), watch=watch)
    assert result.parked is not None
    assert (result.parked.attempts, result.watch.attempt) == (3, 3)
    assert result.watch.due_at is not None
    assert result.watch.due_at >= NOON + 24 * HOUR


async def test_nothing_of_a_screened_page_reaches_the_archive():
    row = ScreenRow(name="row", category="test", pattern="Porez", digest="")
    result = await settled(fetched(), screens=[row])
    assert result.visit.outcome is Outcome.SCREENED
    assert (result.entry.kind, result.entry.payload) == (RecordKind.NONE, b"")


async def test_a_body_over_the_limit_is_parsed_in_a_worker_that_may_fail():
    class Busy:
        async def run(self, function, *args, **how):
            return None

    one = assessor(fetched())
    one.reading.worker_above = 10
    one.reading.workers = Busy()  # type: ignore[assignment]
    result = await one.serve(a_job(a_watch(PAGE)))
    assert isinstance(result, Settlement)
    assert result.entry.kind is RecordKind.RESPONSE  # the evidence stays
    assert result.visit.outcome is Outcome.PARSE_FAILED


# how a source fares


def runtime_of(**state):
    source = Source(id=SourceId("a"), name="a", url="https://a.example/feed")
    loaded = (source, SourceState(source=source.id, **state))
    book = SourceBook(load=lambda i: loaded, settings_of=lambda s: FetchSettings())
    return book, book.runtime(source.id)


def test_a_source_whose_listing_fails_again_and_again_rests_for_an_hour():
    _, runtime = runtime_of()
    for _ in range(TRIPS_AFTER):
        assert runtime.known.closed_until is None
        runtime.heard(Outcome.EMPTY, "", now=NOON)
    assert runtime.known.closed_until == NOON + CLOSED_FOR
    runtime.heard(Outcome.OK, "", now=NOON)
    assert (runtime.known.failures, runtime.known.closed_until, runtime.known.last_success_at) == (
        0,
        None,
        NOON,
    )


def test_every_success_is_saved_but_not_more_often_than_it_is_worth():
    book, runtime = runtime_of(last_success_at=NOON - HOUR)
    runtime.heard(Outcome.OK, "", now=NOON)
    assert [state.last_success_at for state in book.unsaved(NOON)] == [NOON]
    runtime.heard(Outcome.OK, "", now=NOON + SECOND)
    assert book.unsaved(NOON + SECOND) == []
    assert len(book.unsaved(NOON + SAVE_EVERY)) == 1
    assert book.unsaved(NOON + SAVE_EVERY) == []


def test_the_last_moments_of_a_run_are_saved_whatever_was_saved_before():
    book, runtime = runtime_of()
    runtime.heard(Outcome.OK, "", now=NOON)
    book.unsaved(NOON)
    runtime.heard(Outcome.EMPTY, "", now=NOON)
    (state,) = book.unsaved(NOON, all_of_them=True)
    assert (state.failures, state.last_error) == (1, "empty")


def test_a_runtime_opens_as_the_source_was_left_and_a_source_that_is_gone_still_has_one():
    _, runtime = runtime_of(failures=3, last_error="empty", closed_until=NOON)
    assert (runtime.known.failures, runtime.known.last_error, runtime.known.closed_until) == (
        3,
        "empty",
        NOON,
    )
    book = SourceBook(load=lambda i: None, settings_of=lambda s: FetchSettings())
    assert book.runtime(SourceId("gone")).source.lister is ListerKind.PAGE


async def test_workers_survive_a_function_that_kills_its_process():
    workers = Workers(wall_s=10)
    try:
        assert await workers.run(_die) is None
        assert await workers.run(len, b"four") == 4
    finally:
        workers.close()


def _die() -> None:
    os._exit(1)


async def test_a_look_for_which_no_file_can_be_opened_is_tried_again_and_nobody_is_blamed():
    result = await settled(OSError(errno.EMFILE, "Too many open files"))
    assert result.parked is None
    assert result.visit.outcome is Outcome.NO_SOCKETS
    assert result.visit.detail.startswith("too many open files: raise ulimit -n or lower run.at_once")
    assert result.watch.due_at is not None
    assert result.watch.due_at > NOON
    other = await settled(OSError(errno.EIO, "Input/output error"))
    assert other.visit.outcome is Outcome.BUG


async def test_a_link_that_was_refused_is_asked_of_the_store_once_and_again_after_the_source_was_changed():
    asked: list[list[str]] = []
    source = Source(
        id=SourceId("a"), name="a", url=PAGE, lister=ListerKind.CRAWL, options=ListerOptions(max_urls=1)
    )
    page = b"<html><body><main><a href='/1'>one</a> <a href='/2'>two</a> <a href='/3'>three</a></main></body>"
    assess = assessor(fetched(body=page, wire=page), source=source)
    urls = {watch_id(f"https://a.example/{n}"): f"/{n}" for n in range(1, 4)}

    def known(ids):
        asked.append(sorted(urls[i] for i in ids))
        return set()

    assess.finder = Finder(known=known)
    for n in range(2):
        watch = a_watch(f"https://a.example/from/{n}", lister=ListerKind.CRAWL)
        result = await assess.serve(a_job(watch))
        assert isinstance(result, Settlement)
        assert [found.url for found in result.found] == ([] if n else ["https://a.example/1"])
        assert [one.reason.code for one in result.refused] == ([] if n else ["max_urls", "max_urls"])
    assert asked == [["/1", "/2", "/3"]]
    assess.finder.forget(source.id)
    await assess.serve(a_job(a_watch("https://a.example/from/2", lister=ListerKind.CRAWL)))
    assert asked[1:] == [["/2", "/3"]]
