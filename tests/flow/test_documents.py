"""Documents through the whole stream: compared by their text, diffs by line, text beside the evidence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from document_kit import BOMBS, LINES, TITLE, image_pdf, needs_tesseract, scanned, word_file
from scripted import START, Scripted, life
from watching import Watched, clock_of, judge, living

from vedette.contracts.fetching import Fetched, FetchRequest
from vedette.livingweb import LivingWeb, document_world
from vedette.livingweb.documents import make_pdf
from vedette.livingweb.makers import MAKERS

DAY = 86400.0
URL = "http://uprava.example/pravilnik.pdf"
WITH_TEXT = tuple(kind for kind in MAKERS if kind != "scan")


@pytest.mark.slow
async def test_every_kind_of_document_is_compared_with_its_truth(tmp_path: Path):
    world = document_world(seed=3, kinds=WITH_TEXT)
    clock = clock_of(world)
    async with LivingWeb(world, now=lambda: clock.now().timestamp()) as web:
        watched = living(world, web, tmp_path, clock=clock)
        ended = await watched.run(seconds=3.3 * DAY)
        found = judge(watched)
    assert ended.error is None
    assert (found.never_visited, found.missed, found.false) == ([], [], [])
    assert found.true >= 5 * len(WITH_TEXT)
    assert watched.outcomes().keys() <= {"ok", "not_modified"}
    kinds = {kind for (kind,) in watched.rows("SELECT DISTINCT content_class FROM evidence")}
    assert {"PDF_TEXT", "DOCX", "XLSX", "DOC", "XLS", "ODT", "RTF", "JSON", "HTML"} <= kinds


@needs_tesseract
@pytest.mark.slow
async def test_scanned_documents_are_compared_with_their_truth_too(tmp_path: Path):
    world = document_world(seed=3, kinds=("scan",))
    clock = clock_of(world)
    async with LivingWeb(world, now=lambda: clock.now().timestamp()) as web:
        watched = living(world, web, tmp_path, clock=clock)
        await watched.run(seconds=1.3 * DAY)
        found = judge(watched)
    assert (found.never_visited, found.missed, found.false) == ([], [], [])
    assert found.true >= 1
    made = watched.rows("SELECT kind, confidence FROM artifacts WHERE kind = 'ocr'")
    assert made
    assert all(confidence > 70 for _, confidence in made)


async def test_a_pdf_that_was_saved_again_is_kept_and_not_reported(tmp_path: Path):
    first = make_pdf(TITLE, LINES)
    watched = documents(tmp_path, lambda hours: first if hours < 6 else first + b"\n% saved again\n")
    await watched.run(seconds=DAY)
    assert watched.rows("SELECT COUNT(*) FROM evidence") == [(2,)]
    assert watched.rows("SELECT COUNT(*) FROM changes") == [(0,)]
    assert "equal_text" in "".join(payload for (payload,) in watched.rows("SELECT payload FROM ledger"))


async def test_a_changed_paragraph_of_a_word_file_is_one_line_of_the_diff(tmp_path: Path):
    before = word_file()
    after = word_file(
        edit=lambda made: made.paragraphs[1].clear().add_run("Stopa je 25 %, a ne više 24 %.") and None
    )
    watched = documents(tmp_path, lambda hours: before if hours < 6 else after)
    await watched.run(seconds=DAY)
    ((diff,),) = watched.rows("SELECT diff FROM changes WHERE state = 'reported'")
    changed = [op for op in json.loads(diff) if op[0] != "equal"]
    assert [(op[0], op[1], op[2]) for op in changed] == [
        ("replace", [LINES[0]], ["Stopa je 25 %, a ne više 24 %."])
    ]


async def test_text_is_kept_beside_its_evidence_and_made_again_when_it_was_dropped(tmp_path: Path):
    before, after = make_pdf(TITLE, LINES), make_pdf(TITLE, (*LINES, "Nova odredba."))
    watched = documents(tmp_path, lambda hours: before if hours < 12 else after)
    await watched.run(seconds=DAY / 3)
    ((evidence, kind, chars, path),) = watched.rows("SELECT evidence_id, kind, chars, path FROM artifacts")
    assert (kind, chars > 300) == ("text", True)
    assert watched.rows("SELECT id FROM evidence") == [(evidence,)]
    (watched.data / path).unlink()
    await watched.run(seconds=DAY)
    assert len(watched.reported()) == 1
    assert (watched.data / path).is_file()


async def test_without_the_tool_a_scan_is_parked_with_its_name_and_the_evidence_stays(tmp_path: Path):
    scan = scanned(150)
    watched = documents(tmp_path, lambda hours: scan, extract={"ocr_languages": "zzz"})
    await watched.run(seconds=3600)
    ((outcome, detail),) = watched.rows("SELECT outcome, detail FROM parked")
    assert outcome == "tool_missing"
    assert "tesseract" in detail
    assert watched.rows("SELECT content_class, size FROM evidence") == [("PDF_SCANNED", len(scan))]
    assert watched.rows("SELECT failures FROM sources") == [(0,)]


async def test_a_file_without_text_is_compared_by_its_bytes(tmp_path: Path):
    blank = image_pdf([], text=" ")
    watched = documents(tmp_path, lambda hours: blank if hours < 6 else blank + b"\n% other\n")
    await watched.run(seconds=DAY)
    assert len(watched.reported()) == 1


async def test_of_a_screened_document_nothing_reaches_the_disk(tmp_path: Path):
    body = make_pdf(TITLE, LINES)
    watched = documents(tmp_path, lambda hours: body, screen=[{"category": "x", "pattern": "Čakovca"}])
    await watched.run(seconds=3600)
    assert watched.rows("SELECT outcome FROM visits") == [("screened",)]
    assert watched.rows("SELECT COUNT(*) FROM evidence") == [(0,)]
    assert os.listdir(tmp_path).count("artifacts") == 0


async def test_a_document_that_kills_its_parser_is_evidence_all_the_same(tmp_path: Path):
    bomb = BOMBS["far cell.xlsx"]()
    watched = documents(tmp_path, lambda hours: bomb)
    ended = await watched.run(seconds=3600)
    assert ended.error is None
    assert watched.rows("SELECT outcome FROM visits") == [("parse_failed",)]
    assert watched.rows("SELECT size FROM evidence") == [(len(bomb),)]


class Bytes(Scripted):
    """Answers with the bytes of a document."""

    def __init__(self, clock, script: Callable[[float], bytes]) -> None:
        super().__init__(clock, lambda url, hours: (200, ""))
        self._body = script

    async def fetch(self, request: FetchRequest) -> Fetched:
        answer = await super().fetch(request)
        if request.url.endswith("/robots.txt"):
            return answer
        body = self._body((self._clock.now() - START) / timedelta(hours=1))
        return replace(answer, body=body, wire=body, headers=(), content_type="application/octet-stream")


def documents(folder: Path, script: Callable[[float], bytes], **config) -> Watched:
    watched = life(folder, lambda url, hours: (200, ""), {"url": URL, "lister": "page"}, **config)
    watched.fetcher = Bytes(watched.clock, script)
    return watched
