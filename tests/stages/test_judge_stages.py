"""Stage jobs, served: what each handler gives, and what becomes of jobs that fail, lie, or lose their worker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli
from stocked import NOW, FixedClock, blank

from vedette.contracts.documents import Artifact
from vedette.contracts.errors import StoreError
from vedette.contracts.jobs import (
    EMBED,
    EXTRACT,
    OCR,
    ROUTER,
    SCOUT,
    STAGES,
    Failed,
    Handled,
    NewJob,
    StageOrder,
)
from vedette.contracts.verdict import EvidenceFacts, Likeness, Traits
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Risk, RunId, VisitId, WatchId
from vedette.core.judging.verdict import scout_job, stage_job
from vedette.engine.stages.queue_worker import QueueWorker
from vedette.engine.stages.stage_queue import Served, StageQueue
from vedette.judge import Handle, handlers
from vedette.store.job_bus import SqliteJobBus

ORDER = StageOrder(evidence=EvidenceId(17), run=RunId("run-1"))
TEXT = Artifact(kind="ocr", reader="r1", chars=900, confidence=91.0, path="artifacts/ab/x.zst")
VECTOR = b"\0" * 512
PAGE = EvidenceFacts(
    evidence=EvidenceId(17),
    watch=WatchId(3),
    url="https://example.org/zakon",
    risk=Risk.HIGH,
    outcome=Outcome.OK,
    content_class=ContentClass.HTML,
    content_type="text/html",
    digest=b"d" * 32,
    text_chars=2400,
    traits=Traits(
        chars=2400, words=380, visible_chars=2600, sample_words=190, function_words=30, distinct_words=120,
        sentences=12, text_key=5,
    ),
)  # fmt: skip
SCAN = replace(PAGE, content_class=ContentClass.PDF_SCANNED)


class ShownBench:
    """Facts of one piece of evidence, and a note of everything that was read."""

    def __init__(
        self, facts: EvidenceFacts = PAGE, *, read: Artifact | str = TEXT, vector: bytes | str = VECTOR
    ):
        self.facts, self._read, self._vector = facts, read, vector
        self.asked: list[str] = []
        self.near: Likeness | None = None

    async def read(self, facts: EvidenceFacts) -> Artifact | str:
        self.asked.append("read")
        return self._read

    async def vector(self, facts: EvidenceFacts) -> bytes | str:
        self.asked.append("vector")
        return self._vector

    async def alike(self, facts: EvidenceFacts, vector: bytes) -> Likeness | None:
        return self.near


async def serve(queue: str, bench: ShownBench, *, embeds: bool = True) -> Handled | Failed:
    return await handlers(bench, clock=FixedClock(), embeds=embeds)[queue](ORDER, bench.facts)


# what each handler gives


async def test_the_scout_judges_and_sends_what_is_worth_it_to_the_router():
    given = await serve(SCOUT, ShownBench(PAGE))
    assert isinstance(given, Handled)
    assert given.verdict is not None
    assert given.verdict.word == "escalate"
    assert [job.id for job in given.then] == ["router-17"]


async def test_the_scout_reads_nothing_and_what_it_skips_goes_nowhere():
    bench = ShownBench(replace(PAGE, outcome=Outcome.SOFT_404))
    given = await serve(SCOUT, bench)
    assert isinstance(given, Handled)
    assert (given.then, bench.asked, given.result["verdict"]) == ((), [], "skip")


@pytest.mark.parametrize(
    ("facts", "ids"),
    [(PAGE, ["extract-17"]), (SCAN, ["ocr-17"]), (replace(PAGE, content_class=ContentClass.OTHER), [])],
)
async def test_the_router_sends_by_content_class(facts: EvidenceFacts, ids: list[str]):
    given = await serve(ROUTER, ShownBench(facts))
    assert isinstance(given, Handled)
    assert [job.id for job in given.then] == ids


@pytest.mark.parametrize(
    ("queue", "facts"), [(OCR, SCAN), (EXTRACT, replace(SCAN, content_class=ContentClass.DOCX))]
)
async def test_a_document_that_the_look_has_read_is_linked_and_not_read_again(
    queue: str, facts: EvidenceFacts
):
    bench = ShownBench(replace(facts, artifacts=(TEXT,)))
    given = await serve(queue, bench)
    assert isinstance(given, Handled)
    assert (given.result["text"], given.artifact, bench.asked) == (TEXT.path, None, [])
    assert [job.id for job in given.then] == ["embed-17"]


async def test_a_document_without_text_is_read_once_and_its_text_is_kept():
    bench = ShownBench(SCAN)
    given = await serve(OCR, bench)
    assert isinstance(given, Handled)
    assert (given.artifact, bench.asked) == ((17, TEXT), ["read"])


async def test_a_missing_tool_fails_the_job_in_the_words_of_the_look():
    assert await serve(OCR, ShownBench(SCAN, read="tesseract is not installed")) == Failed(
        error="tesseract is not installed"
    )


async def test_the_text_of_a_page_is_in_its_evidence():
    bench = ShownBench(PAGE)
    given = await serve(EXTRACT, bench, embeds=False)
    assert isinstance(given, Handled)
    assert (given.result["text"], given.result["chars"], given.then, bench.asked) == (
        "evidence",
        2400,
        (),
        [],
    )


async def test_a_vector_is_made_once():
    first, second = ShownBench(PAGE), ShownBench(replace(PAGE, vector=VECTOR))
    made, known = await serve(EMBED, first), await serve(EMBED, second)
    assert isinstance(made, Handled)
    assert isinstance(known, Handled)
    assert (made.vector, known.vector, second.asked) == ((17, VECTOR), None, [])


async def test_what_says_nearly_the_same_is_named_and_both_are_kept():
    """001 section 9.2, step 2."""
    bench = ShownBench(PAGE)
    bench.near = Likeness(evidence=PAGE.evidence, other=EvidenceId(9), share=0.93)
    given = await serve(EMBED, bench)
    assert isinstance(given, Handled)
    assert (given.likeness, given.vector) == (bench.near, (17, VECTOR))
    assert (given.result["similarEvidenceId"], given.result["similarity"]) == ("9", 0.93)


# jobs that fail, lie, or lose their worker


class Counter:
    def __init__(self) -> None:
        self.served: list[Served] = []
        self.saved: list[Handled] = []

    def hear(self, served: Sequence[Served], took: timedelta) -> None:
        self.served += served

    def save(self, handled: Sequence[Handled]) -> None:
        self.saved += handled


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[SqliteJobBus]:
    with closing(SqliteJobBus(blank(tmp_path))) as bus:
        yield bus


def worker_of(
    bus: SqliteJobBus, handle: Handle, clock: FixedClock, counter: Counter, queue: str = OCR
) -> QueueWorker:
    return worker_for(bus, {queue: handle}, clock, counter)


def worker_for(
    bus: SqliteJobBus, handlers: Mapping[str, Handle], clock: FixedClock, counter: Counter, **given: Any
) -> QueueWorker:
    extend_s, facts = given.get("extend_s", 60.0), given.get("facts", lambda evidence: PAGE)
    served = StageQueue(
        bus=bus, handlers=handlers, facts=facts, save=counter.save, clock=clock, worker="w",
        on_served=counter.hear,
    )  # fmt: skip
    return QueueWorker(queue=served, extend_s=extend_s)


async def fine(order: StageOrder, facts: EvidenceFacts) -> Handled:
    return Handled(result={"evidenceId": str(order.evidence)}, then=(stage_job(EMBED, order),))


async def broken(order: StageOrder, facts: EvidenceFacts) -> Handled:
    raise KeyError("pages")


async def test_a_handler_that_fails_three_times_is_parked_as_the_document_has_it_and_retried_by_hand(
    bus: SqliteJobBus, tmp_path: Path
):
    clock, counter = FixedClock(NOW), Counter()
    worker = worker_of(bus, broken, clock, counter)
    bus.add([stage_job(OCR, ORDER)], now=NOW)
    waits = []
    while await worker.turn():
        again: datetime | None = counter.served[-1].again_at
        waits.append(None if again is None else (again - clock.at).total_seconds())
        clock.at = again or clock.at
    assert waits == [10.0, 20.0, None]
    cli = Cli(tmp_path)
    (told,) = cli("parked", "list", "--json").json["jobs"]
    assert list(told) == [
        "originalQueue", "originalJobId", "originalJobName", "originalJobData", "error", "stackTrace",
        "attemptsMade", "failedAt",
    ]  # fmt: skip
    assert (told["originalJobId"], told["originalJobName"], told["attemptsMade"]) == ("ocr-17", "ocr", 3)
    assert told["originalJobData"] == {"evidenceId": "17", "runId": "run-1"}
    assert "in broken" in told["stackTrace"]
    assert cli("parked", "show", "ocr-17", "--json").json == told
    assert "KeyError" in cli("parked", "show", "ocr-17").out
    assert cli("parked", "retry", "ocr-17", "--json").json == {"retried": 1}
    worker = worker_of(bus, fine, clock, counter)
    clock.at = NOW + timedelta(days=1)
    assert await worker.turn() == 1
    assert counter.served[-1].is_done
    assert bus.depth(EMBED, now=clock.at).waiting == 1


async def test_a_parked_job_can_be_dropped_and_then_is_not_known_any_more(bus: SqliteJobBus, tmp_path: Path):
    clock, counter = FixedClock(NOW), Counter()
    worker = worker_of(bus, broken, clock, counter)
    bus.add([stage_job(OCR, ORDER)], now=NOW)
    while await worker.turn():
        clock.at = counter.served[-1].again_at or clock.at
    for verb in ("show", "retry", "drop"):
        missed = Cli(tmp_path)("parked", verb, "orc-17")
        assert missed.code == 2
        assert "no parked job is called 'orc-17'" in missed.err
    assert Cli(tmp_path)("parked", "drop", "--all", "--json").json == {"dropped": 1}
    assert bus.parked() == []


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"evidenceId": "1; DROP TABLE jobs", "runId": "x"},
        {"evidenceId": {"$gt": 0}, "runId": ["x"]},
        {"evidenceId": "9" * 400},
        {"evidenceId": "17", "runId": "\x1b]0;owned\x07" * 100},
    ],
)
async def test_a_hostile_payload_is_parked_and_the_job_beside_it_is_done(bus: SqliteJobBus, data: dict):
    clock, counter = FixedClock(NOW), Counter()
    worker = worker_of(bus, fine, clock, counter, SCOUT)
    bus.add([NewJob(queue=SCOUT, name="scout", data=data, id="scout-evil"), stage_job(SCOUT, ORDER)], now=NOW)
    while await worker.turn():
        clock.at = max((one.again_at for one in counter.served if one.again_at), default=clock.at)
    assert [one.job.id for one in counter.served if one.is_done] == ["scout-17"]
    (parked,) = bus.parked(SCOUT)
    assert (parked.id, parked.attempts, json.loads(json.dumps(parked.data))) == ("scout-evil", 3, data)


@pytest.mark.parametrize("queue", STAGES)
async def test_evidence_that_retention_dropped_is_nothing_to_do_and_no_failure(bus: SqliteJobBus, queue: str):
    counter = Counter()
    worker = worker_for(bus, {queue: broken}, FixedClock(NOW), counter, facts=lambda evidence: None)
    bus.add([stage_job(queue, ORDER)], now=NOW)
    assert await worker.turn() == 1
    assert [(one.is_done, one.job.id) for one in counter.served] == [(True, f"{queue}-17")]


async def test_what_follows_is_done_at_once_and_kept_as_if_it_had_been_taken(bus: SqliteJobBus):
    counter = Counter()
    asked: list[EvidenceId] = []
    served = handlers(ShownBench(PAGE), clock=FixedClock())
    worker = worker_for(
        bus, served, FixedClock(NOW), counter, facts=lambda evidence: asked.append(evidence) or PAGE
    )
    bus.add([scout_job(ORDER.evidence, ORDER.run, VisitId(17))], now=NOW)
    assert await worker.turn() == 1
    assert [one.job.id for one in counter.served] == ["scout-17", "router-17", "extract-17", "embed-17"]
    assert [bus.depth(queue, now=NOW).done for queue in (SCOUT, ROUTER, EXTRACT, EMBED)] == [1, 1, 1, 1]
    assert asked == [17]  # laid open once
    assert [one.vector for one in counter.saved if one.vector] == [(17, VECTOR)]


async def test_what_follows_waits_in_its_queue_when_it_fails_is_long_or_is_another_workers(bus: SqliteJobBus):
    clock, counter = FixedClock(NOW), Counter()
    served = handlers(ShownBench(PAGE, vector="the disk is away"), clock=clock)
    worker = worker_for(bus, served, clock, counter)
    bus.add([scout_job(ORDER.evidence, ORDER.run, VisitId(17))], now=NOW)
    await worker.turn()
    assert bus.depth(EMBED, now=NOW).waiting == 1
    await worker.turn()
    assert (counter.served[-1].job.id, counter.served[-1].error) == ("embed-17", "the disk is away")
    bus.add([stage_job(ROUTER, replace(ORDER, evidence=EvidenceId(18)))], now=NOW)
    worker = worker_for(bus, {ROUTER: served[ROUTER]}, clock, counter, facts=lambda evidence: SCAN)
    await worker.turn()
    assert bus.depth(OCR, now=NOW).waiting == 1


async def test_a_broken_store_is_no_fault_of_the_job(bus: SqliteJobBus):
    async def full(order: StageOrder, facts: EvidenceFacts) -> Handled:
        raise StoreError("the disk is full")

    worker = worker_of(bus, full, FixedClock(NOW), Counter())
    bus.add([stage_job(OCR, ORDER)], now=NOW)
    with pytest.raises(StoreError):
        await worker.turn()
    assert bus.depth(OCR, now=NOW).active == 1  # its lease ends, and it is tried again


async def test_a_worker_that_starts_again_takes_back_what_it_held_when_it_was_killed(bus: SqliteJobBus):
    bus.add([stage_job(OCR, ORDER)], now=NOW)
    assert bus.take(OCR, worker="beside", now=NOW) is not None
    assert bus.lose("other", now=NOW) == 0
    assert bus.lose("beside", now=NOW) == 1
    again = bus.take(OCR, worker="beside", now=NOW + timedelta(seconds=10))
    assert again is not None
    assert again.attempt == 2


async def test_queues_are_served_in_order_and_jobs_in_groups(bus: SqliteJobBus):
    order: list[str] = []

    def noting(queue: str) -> Handle:
        async def handle(given: StageOrder, facts: EvidenceFacts) -> Handled:
            order.append(queue)
            return Handled(result={})

        return handle

    counter = Counter()
    served = {queue: noting(queue) for queue in (SCOUT, EMBED)}
    worker = worker_for(bus, served, FixedClock(NOW), counter)
    orders = [StageOrder(evidence=EvidenceId(n), run=RunId("r")) for n in range(1, 100)]
    bus.add([stage_job(EMBED, one) for one in orders[:3]], now=NOW)
    bus.add([scout_job(one.evidence, one.run, 1) for one in orders], now=NOW)  # type: ignore[arg-type]
    assert [await worker.turn() for _ in range(4)] == [64, 35, 3, 0]
    assert order == [SCOUT] * 99 + [EMBED] * 3


async def test_a_worker_told_to_stop_ends_the_group_at_hand_and_no_other(bus: SqliteJobBus):
    async def stopping(order: StageOrder, facts: EvidenceFacts) -> Handled:
        worker.stop()
        return await fine(order, facts)

    worker = worker_of(bus, stopping, FixedClock(NOW), Counter())
    bus.add([stage_job(OCR, StageOrder(evidence=EvidenceId(n), run=RunId("r"))) for n in (1, 2)], now=NOW)
    await worker.run()
    depth = bus.depth(OCR, now=NOW)
    assert (depth.done, depth.active, depth.waiting) == (1, 0, 1)


async def test_a_job_that_takes_longer_than_its_lease_is_kept(bus: SqliteJobBus):
    clock, counter = FixedClock(NOW), Counter()

    async def long(order: StageOrder, facts: EvidenceFacts) -> Handled:
        for _ in range(3):  # twelve minutes, in three steps of less than a lease
            clock.at += timedelta(minutes=4)
            await asyncio.sleep(0.05)
            assert bus.take(OCR, worker="other", now=clock.at) is None
        return await fine(order, facts)

    worker = worker_for(bus, {OCR: long}, clock, counter, extend_s=0.01)
    bus.add([stage_job(OCR, ORDER)], now=NOW)
    assert await worker.turn() == 1
    assert [one.is_done for one in counter.served] == [True]


def test_stage_queues_have_the_documents_rule(tmp_path: Path):
    from vedette.store.job_bus import PLAIN, RULES

    for queue in STAGES:
        rule = RULES.get(queue, PLAIN)
        assert (rule.attempts, rule.backoff.total_seconds(), rule.keep_done, rule.keep_parked) == (
            3,
            10,
            1000,
            100,
        )
