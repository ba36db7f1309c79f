"""A body is read once: its class, its letters and its markup, whoever asks"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from settlements import NOON, SECOND, a_job, a_watch

import vedette
from vedette.contracts.change import Change
from vedette.contracts.fetch import Fetched, FetchSettings
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import Settlement, SourceState
from vedette.contracts.words import ChangeId, ContentClass, EvidenceId, Outcome, SourceId, VisitId, WatchId
from vedette.core.change.judged import Mark
from vedette.core.evidence.screen import screen_table
from vedette.engine.crawl.answer_screen import AnswerScreen
from vedette.engine.crawl.assess import AssessOptions, Assessor
from vedette.engine.crawl.compare_states import Comparer, WaitingPages
from vedette.engine.crawl.content_reader import ContentReader, DocumentReader
from vedette.engine.crawl.find_urls import Finder, RiskHeirs
from vedette.engine.crawl.look import Reached
from vedette.engine.crawl.source_runtime import SourceBook
from vedette.engine.settle.ids import Ids
from vedette.engine.workers.pool import Workers
from vedette.extract import Page
from vedette.extract.page import Keeps
from vedette.telemetry.clock import JumpingClock

PAGE = "https://a.example/tecaj"
HTML = "text/html; charset=utf-8"
HOME = f"{Path(vedette.__file__).parent}/"
CLASS, PARSE, LETTERS, COST = "class", "parse", "letters", "cost"
READERS = {
    ("extract/classes.py", "content_class"): CLASS,
    ("extract/scope.py", "tree_of"): PARSE,
    ("discover/tree.py", "_tree"): "tree of a lister",
    ("core/text/charset.py", "as_utf8"): LETTERS,
    ("core/text/charset.py", "decode"): "decode",
    ("core/text/parse_cost.py", "_may_be_odd"): COST,
}


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """How often each of these was done."""
    calls: Counter[str] = Counter()

    def hear(frame, event, arg):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(HOME):
            name = READERS.get((code.co_filename[len(HOME) :], code.co_name))
            if name:
                calls[name] += 1

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        yield calls
    finally:
        sys.setprofile(before)


class Kept:
    """What was seen before, as store and archive would have it."""

    def __init__(self) -> None:
        self.bodies: dict[EvidenceId, tuple[bytes, str, str]] = {}
        self.changes: dict[ChangeId, Change] = {}
        self.looks: list[tuple[EvidenceId, datetime]] = []

    def body(self, evidence: EvidenceId) -> tuple[bytes, str, str] | None:
        return self.bodies.get(evidence)

    def change(self, change: ChangeId) -> Change | None:
        return self.changes.get(change)

    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]:
        return [look for look in self.looks if look[1] >= at]


class Story:
    """Looks at one watch, one after the other."""

    def __init__(self, lister: ListerKind | None = None, body_url: str = PAGE) -> None:
        self.answer: Reached
        self.kept = Kept()
        self.at = NOON
        self.watch = a_watch(body_url, lister=lister)
        source = Source(id=SourceId("a"), name="a", url=PAGE, lister=lister or ListerKind.PAGE)
        workers, ids, waiting = Workers(), Ids(), WaitingPages()
        self.assessor = Assessor(
            looker=self,  # type: ignore[arg-type]
            finder=Finder(known=lambda ids: set()),
            comparer=Comparer(self.kept, "main", waiting=waiting),
            book=SourceBook(
                load=lambda i: (source, SourceState(source=i)), settings_of=lambda s: FetchSettings()
            ),
            ids=ids,
            clock=JumpingClock(NOON),
            reading=ContentReader(
                looker=self,  # type: ignore[arg-type]
                workers=workers,
                documents=DocumentReader(workers=workers),
                waiting=waiting,
            ),
            screen=AnswerScreen(screen_table(()), set(), lambda crumb: None),
            peer=lambda watch: None,
            heirs=RiskHeirs(peer=lambda watch: None, has_own_risk=lambda source: False, ids=ids),
            options=AssessOptions(),
        )

    async def look(self, job=None):
        return self.answer

    async def see(self, body: bytes | None, content_type: str = HTML) -> tuple[Settlement, Counter[str]]:
        """One look; what it settled, and what was read for it."""
        self.at += SECOND
        outcome, status = (Outcome.NOT_MODIFIED, 304) if body is None else (Outcome.OK, 200)
        fetched = Fetched(
            url=self.watch.url, outcome=outcome, at=self.at, took=SECOND, status=status, body=body or b"",
            wire=body or b"", content_type=content_type,
        )  # fmt: skip
        self.answer = Reached(fetched=fetched)
        with counted() as calls:
            settled = await self.assessor.serve(a_job(self.watch))
        assert isinstance(settled, Settlement)
        assert settled.parked is None, settled.parked
        self.watch = settled.watch
        evidence = EvidenceId(settled.visit.id)
        self.kept.bodies[evidence] = (fetched.body, content_type, fetched.url)
        for change in (settled.change, *(move.change for move in settled.moves)):
            if change is not None:
                self.kept.changes[change.id] = change
        self.kept.looks.append((evidence, settled.visit.at))
        return settled, calls


def a_page(rate: str, *, extra: str = "") -> bytes:
    prose = (
        "<p>Tečajna lista vrijedi od sutra i objavljuje se svakog radnog dana u podne, osim blagdana.</p>" * 6
    )
    head = "<tr><th></th><th>Kupovni</th><th>Prodajni</th></tr>"
    rows = f"<table>{head}<tr><td>USD</td><td>{rate}</td><td>1,1</td></tr></table>"
    return (
        f"<html><head><title>Tečaj</title></head><body><nav><a href=/a>A</a></nav><main><h1>Tečaj</h1>{prose}"
        f"{rows}{extra}</main><footer>Kraj</footer></body></html>"
    ).encode()


def a_list(count: int) -> bytes:
    entries = "".join(f"<article><a href='/v/{n}'>Vijest {n}</a></article>" for n in range(count))
    return f"<html><body><main>{entries}</main></body></html>".encode()


async def test_the_two_looks_of_a_change_decide_a_class_and_parse_once_per_body():
    story = Story()
    await story.see(a_page("1,0790"))
    observed, first = await story.see(a_page("1,0815"))
    assert story.watch.pending is not None
    confirmed, second = await story.see(a_page("1,0815"))
    assert [change.comparison.diff for change in confirmed.reports]
    both = first + second
    assert (both[CLASS], both[PARSE], both[LETTERS], both[COST]) == (
        2,
        2,
        2,
        2,
    )  # of two bodies: before and after
    assert (second[CLASS], second[PARSE]) == (0, 0)  # both wait in memory
    assert observed.visit.digest == confirmed.visit.digest


async def test_a_second_look_that_shows_other_bytes_reads_only_those():
    story = Story()
    await story.see(a_page("1,0790"))
    await story.see(a_page("1,0815"))
    confirmed, calls = await story.see(a_page("1,0815", extra="<!-- 2 -->"))
    assert len(confirmed.reports) == 1
    assert (calls[CLASS], calls[PARSE], calls[LETTERS]) == (1, 1, 1)


@pytest.mark.parametrize(
    "lister", [ListerKind.HTML_LIST, ListerKind.PAGINATION, ListerKind.AUTO, ListerKind.CRAWL]
)
async def test_a_list_is_parsed_once_for_its_text_and_its_entries(lister):
    story = Story(lister)
    settled, calls = await story.see(a_list(8))
    assert len(settled.found) == 8
    assert (calls[CLASS], calls[PARSE], calls[LETTERS], calls[COST]) == (1, 1, 1, 1)
    settled, calls = await story.see(a_list(9))
    assert len(settled.found) == 1
    assert (calls[CLASS], calls[PARSE], calls[LETTERS]) == (2, 2, 2)  # and the state before


@pytest.mark.parametrize("kind", ["feed", "sitemap"])
async def test_a_listing_in_xml_is_decoded_once_for_its_text_and_its_entries(kind):
    entry = "<item><link>https://a.example/v/{n}</link><title>Šuma {n}</title></item>"
    if kind == "sitemap":
        entry = "<url><loc>https://a.example/v/{n}</loc></url>"
    inner = "".join(entry.format(n=n) for n in range(4))
    text = (
        f"<rss><channel>{inner}</channel></rss>"
        if kind == "feed"
        else f"<urlset><!-- Šuma -->{inner}</urlset>"
    )
    declared = "<?xml version='1.0' encoding='windows-1250'?>"
    story = Story(ListerKind(kind))
    settled, calls = await story.see((declared + text).encode("cp1250"), "text/xml")
    assert len(settled.found) == 4
    assert (calls[CLASS], calls["decode"]) == (1, 1)


async def test_equal_bytes_and_304_touch_no_reader():
    story = Story(ListerKind.CRAWL)
    await story.see(a_page("1,0790"))
    for body in (a_page("1,0790"), None):
        settled, calls = await story.see(body)
        assert calls == {}
        assert settled.visit.changed is False


def test_a_page_that_is_read_by_others_too_keeps_its_tree_whole():
    page = Page.of(a_page("1"), url=PAGE, content_type=HTML, keeps=Keeps.TREE | Keeps.VIEW)
    plain = Page.of(a_page("1"), url=PAGE, content_type=HTML)
    assert page.extraction == plain.extraction
    assert "<nav>" in (page.tree().html or "")
    assert page.blocks("all") == plain.blocks("all")
    assert page.headings == plain.headings != {}


def test_a_page_that_forgot_its_trees_still_knows_what_was_made_of_them_and_makes_the_rest_anew():
    page = Page.of(a_page("1"), url=PAGE, content_type=HTML, keeps=Keeps.VIEW)
    scope = str(page.cut())
    blocks = page.blocks(scope)
    page.forget_trees()
    with counted() as calls:
        assert page.blocks(scope) is blocks
        assert page.extraction.title == "Tečaj"
    assert calls[PARSE] == 1  # for the text, which nobody had asked for
    assert page.blocks("all")


def test_a_page_goes_to_another_process_as_its_body():
    page = Page.of(a_page("1"), url=PAGE, content_type=HTML, keeps=Keeps.TREE)
    page.tree()
    sent = pickle.loads(pickle.dumps(page))
    assert (sent.body, sent.content_class) == (page.body, ContentClass.HTML)
    assert sent.extraction == page.extraction


def test_pages_that_wait_are_bounded_and_the_oldest_go_first():
    waiting = WaitingPages(most=3 * len(a_page("1")))
    for number in range(5):
        body = a_page(str(number))
        page = Page.of(body, url=PAGE, content_type=HTML)
        waiting.put(EvidenceId(number), b"%d" % number, page)
    assert [waiting.of(EvidenceId(number)) is not None for number in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert waiting.read(a_page("4"), b"4", PAGE, HTML) is not None
    assert (
        waiting.read(a_page("4"), b"4", PAGE, "text/plain") is None
    )  # another declared type may be other letters


def most_held(story: Story, values: range) -> int:
    """The bytes that comparing one more look takes at its height, in a process of its own."""
    body = json.dumps([*values]).encode()
    page = Page.of(body, url=PAGE, content_type="application/json")
    comparer = story.assessor.comparer.packed(story.watch)
    extraction, mark = page.extraction, Mark(VisitId(99), story.at + SECOND, hashlib.sha256(body).digest())
    page = pickle.loads(pickle.dumps(page))
    tracemalloc.start()
    try:
        assert comparer.judge(story.watch, page, extraction, mark) is not None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def test_the_second_look_at_a_long_table_takes_little_more_memory_than_the_first():
    """It shows what the first look showed, so the two are held once: 90,000 numbers were once too much for a worker."""
    story, type_ = Story(), "application/json"
    await story.see(json.dumps([*range(20_000)]).encode(), type_)
    first = most_held(story, range(1, 20_000))
    await story.see(json.dumps([*range(1, 20_000)]).encode(), type_)
    assert story.watch.pending is not None
    assert most_held(story, range(1, 20_000)) < 1.2 * first
