"""Documents through the whole stream: compared by their text, diffs by line, text beside the evidence."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cli_call import Cli
from document_kit import BOMBS, LINES, TITLE, image_pdf, jpeg_of, needs_tesseract, scanned, word_file
from image_kit import HURTFUL, NOTICE, notice
from image_kit import saved as image
from scripted import START, Scripted, life
from watching import Watched, clock_of, judge, living, living_web

from vedette.config.model import Loaded, parse
from vedette.contracts.documents import Document
from vedette.contracts.fetch import Fetched, FetchRequest
from vedette.contracts.words import ContentClass
from vedette.evidence.text_cache import TextCache
from vedette.livingweb import document_world
from vedette.livingweb.documents import MAKERS, make_pdf
from vedette.operations.installation import Installation
from vedette.operations.maintenance import collect

DAY = 86400.0
URL = "http://uprava.example/pravilnik.pdf"
SOURCES = [{"url": URL, "lister": "page"}]
SHORT = {"retention": {"standard": "7d"}}
WITH_TEXT = tuple(kind for kind in MAKERS if kind != "scan")


@pytest.mark.slow
@pytest.mark.timeout(400)  # fourteen kinds, three days; 20 s on a quiet machine
async def test_every_kind_of_document_is_compared_with_its_truth(tmp_path: Path):
    world = document_world(seed=3, kinds=WITH_TEXT)
    clock = clock_of(world)
    async with living_web(world, clock, 18251) as web:
        watched = living(world, web, tmp_path, clock=clock)
        ended = await watched.run(seconds=3.3 * DAY)
        found = judge(watched)
    assert ended.error is None
    assert (found.never_visited, found.missed, found.false) == ([], [], [])
    assert found.true >= 5 * len(WITH_TEXT)
    assert watched.outcomes().keys() <= {"ok", "not_modified"}
    kinds = {kind for (kind,) in watched.rows("SELECT DISTINCT content_class FROM evidence")}
    assert kinds == set("PDF_TEXT DOCX XLSX DOC XLS ODT ODS PPT PPTX RTF JSON JSON_LD XML HTML".split())


@needs_tesseract
@pytest.mark.slow
async def test_scanned_documents_are_compared_with_their_truth_too(tmp_path: Path):
    world = document_world(seed=3, kinds=("scan",))
    clock = clock_of(world)
    async with living_web(world, clock, 18251) as web:
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


@needs_tesseract
@pytest.mark.slow
async def test_once_the_tool_is_there_the_next_run_reads_what_was_parked(tmp_path: Path):
    watched = documents(tmp_path, lambda hours: scanned(150), extract={"ocr_languages": "zzz"})
    await watched.run(seconds=3600)
    watched.config = parse({"sources": SOURCES})
    await watched.run(seconds=600)  # long before its long interval
    assert watched.rows("SELECT COUNT(*) FROM parked") == [(0,)]
    ((kind, confidence),) = watched.rows("SELECT kind, confidence FROM artifacts")
    assert (kind, confidence > 80) == ("ocr", True)
    assert watched.rows("SELECT last_outcome FROM watches") == [("ok",)]


async def test_what_still_waits_for_its_tool_is_left_alone(tmp_path: Path):
    watched = documents(tmp_path, lambda hours: scanned(150), extract={"ocr_languages": "zzz"})
    await watched.run(seconds=3600)
    await watched.run(seconds=600)
    assert watched.rows("SELECT COUNT(*) FROM visits") == [(1,)]
    assert watched.rows("SELECT outcome FROM parked") == [("tool_missing",)]


@needs_tesseract
async def test_pages_of_text_and_scans_in_one_file_are_both_read_and_explain_says_how(tmp_path: Path):
    words = "\n".join(["Text of the first page, long enough to be no scan."] * 5)
    body = image_pdf([jpeg_of(scanned(150))], text=words)
    watched = documents(tmp_path, lambda hours: body)
    await watched.run(seconds=3600)
    said = Cli(tmp_path)("explain", URL, "--json").json
    (read,) = [one for one in said["decisions"] if one["action"] == "read"]
    notes = {reason["code"]: reason["note"] for reason in read["reasons"]}
    assert (read["output"], notes["pages"]) == ("PDF_TEXT", "2, 1 of them read by OCR")
    assert notes["ocr"].startswith("page 2: ")
    (made,) = said["artifacts"]
    assert made["confidence"] > 80
    assert f"{made['confidence']:g} % sure" in notes["ocr"]
    assert (
        f"ocr {made['chars']} characters, {made['confidence']:.0f} % sure"
        in Cli(tmp_path)("explain", URL).out
    )
    assert (
        Cli(tmp_path)("evidence", "show", URL, "--json").json["evidence"][0]["artifacts"][0]["path"]
        == made["path"]
    )


async def test_gc_drops_the_text_with_its_evidence_and_the_next_look_makes_it_again(tmp_path: Path):
    old, new = make_pdf(TITLE, LINES), make_pdf(TITLE, LINES[:3])
    watched = documents(tmp_path, lambda hours: old if hours < 6 else new, evidence=SHORT)
    await watched.run(seconds=DAY / 2)
    assert len(texts_below(tmp_path)) == 2
    stray = TextCache(tmp_path, "r").put(b"x" * 32, Document(content_class=ContentClass.DOCX))
    watched.clock.advance(timedelta(days=30))
    loaded = Loaded(config=watched.config, path=None, data=tmp_path, digest="d")
    trial = collect(Installation(loaded, watched.clock), is_trial=True)
    assert (trial.texts, len(texts_below(tmp_path))) == (3, 3)
    assert collect(Installation(loaded, watched.clock)).texts == 3
    assert texts_below(tmp_path) == []
    assert not (tmp_path / stray.path).exists()
    assert watched.rows("SELECT COUNT(*) FROM artifacts") == [(0,)]
    await watched.run(seconds=DAY / 2)
    linked = "SELECT e.id FROM artifacts a JOIN evidence e ON e.id = a.evidence_id"
    assert watched.rows(linked) == watched.rows("SELECT seen_evidence FROM watches")
    assert len(texts_below(tmp_path)) == 1
    assert len(watched.reported()) == 1


async def test_text_that_other_evidence_still_has_stays(tmp_path: Path):
    watched = documents(tmp_path, lambda hours: make_pdf(TITLE, LINES), evidence=SHORT)
    await watched.run(seconds=3600)
    loaded = Loaded(config=watched.config, path=None, data=tmp_path, digest="d")
    assert collect(Installation(loaded, watched.clock)).texts == 0
    assert len(texts_below(tmp_path)) == 1


@needs_tesseract
async def test_an_edited_notice_that_is_an_image_is_one_line_of_the_diff(tmp_path: Path):
    before, after = (
        image(notice(tuple(line.replace("14 March", day) for line in NOTICE)), "PNG")
        for day in ("14 March", "21 March")
    )
    watched = documents(tmp_path, lambda hours: before if hours < 6 else after)
    await watched.run(seconds=DAY)
    ((diff,),) = watched.rows("SELECT diff FROM changes WHERE state = 'reported'")
    (changed,) = [op for op in json.loads(diff) if op[0] != "equal"]
    assert changed[3] == [["14", "21"]]
    assert set(watched.rows("SELECT content_class, standing FROM evidence")) == {("IMAGE", "content")}
    made = watched.rows("SELECT kind, confidence > 80 FROM artifacts")
    assert made == [("ocr", 1), ("ocr", 1)]
    assert watched.rows("SELECT node_type, last_outcome FROM watches") == [("ASSET", "ok")]
    assert NOTICE[0] in Cli(tmp_path)("evidence", "cat", URL, "--text").out


@needs_tesseract
@pytest.mark.parametrize(
    "again",
    [
        lambda page: image(page, "PNG", optimize=True, dpi=(72, 72)),
        lambda page: image(page.convert("RGB"), "JPEG", quality=85),
        lambda page: image(page.convert("RGB"), "WEBP", quality=85),
        lambda page: image(page, "TIFF", compression="tiff_lzw"),
    ],
    ids=["png", "jpeg", "webp", "tiff"],
)
async def test_an_image_that_was_saved_again_is_kept_and_not_reported(tmp_path: Path, again):
    first, other = image(notice(), "PNG"), again(notice())
    assert first != other
    watched = documents(tmp_path, lambda hours: first if hours < 6 else other)
    await watched.run(seconds=DAY)
    assert watched.rows("SELECT COUNT(*) FROM evidence") == [(2,)]
    assert watched.rows("SELECT COUNT(*) FROM changes") == [(0,)]


async def test_without_the_tool_an_image_is_parked_with_its_name_and_the_evidence_stays(tmp_path: Path):
    body = image(notice(), "PNG")
    watched = documents(tmp_path, lambda hours: body, extract={"ocr_languages": "zzz"})
    await watched.run(seconds=3600)
    ((outcome, detail),) = watched.rows("SELECT outcome, detail FROM parked")
    assert outcome == "tool_missing"
    assert "tesseract" in detail
    assert watched.rows("SELECT content_class, size FROM evidence") == [("IMAGE", len(body))]
    told = Cli(tmp_path)("evidence", "cat", URL, "--text")
    assert (told.code != 0, "was not read by OCR" in told.err) == (True, True)


@needs_tesseract
async def test_an_image_of_a_store_that_could_not_read_it_is_compared_by_its_text_from_now_on(tmp_path: Path):
    first, again = image(notice(), "PNG"), image(notice().convert("RGB"), "JPEG", quality=90)
    edited = image(notice((*NOTICE, "The hearing is open to the press.")), "PNG")
    watched = documents(tmp_path, lambda hours: first if hours < 20 else again if hours < 60 else edited)
    await watched.run(seconds=DAY / 2)
    with sqlite3.connect(tmp_path / "vedette.db") as db:  # as a store from before has it
        db.execute("UPDATE watches SET content_class = 'OTHER', text_chars = 0, text_key = 1")
        db.execute("DELETE FROM artifacts")
    shutil.rmtree(tmp_path / "artifacts")
    await watched.run(seconds=4 * DAY)
    ((diff,),) = watched.rows("SELECT diff FROM changes")
    assert [op[2] for op in json.loads(diff) if op[0] != "equal"] == [["The hearing is open to the press."]]


@needs_tesseract
async def test_a_run_goes_on_beside_images_that_are_built_to_hurt(tmp_path: Path):
    bodies = {f"http://town.example/docs/{name.replace(' ', '-')}": make() for name, make in HURTFUL.items()}
    good = "http://town.example/docs/notice.png"
    bodies[good] = image(notice(), "PNG")
    watched = life(
        tmp_path, lambda url, hours: (200, ""), *({"url": url, "lister": "page"} for url in bodies)
    )
    watched.fetcher = Bytes(watched.clock, lambda hours: b"", bodies)
    ended = await watched.run(seconds=3600)
    assert ended.error is None
    seen = dict(watched.rows("SELECT url, last_outcome FROM watches"))
    assert seen.pop(good) == "ok"
    assert seen.pop("http://town.example/docs/pages-in-a-circle.tiff") == "ok"
    assert set(seen.values()) == {"parse_failed"}
    assert watched.rows("SELECT COUNT(*) FROM evidence") == [(len(bodies),)]


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


def texts_below(folder: Path) -> list[Path]:
    return list(folder.rglob("*.zst"))


class Bytes(Scripted):
    """Answers with the bytes of a document."""

    def __init__(
        self, clock, script: Callable[[float], bytes], others: dict[str, bytes] | None = None
    ) -> None:
        super().__init__(clock, lambda url, hours: (200, ""))
        self._body, self._others = script, others or {}

    async def fetch(self, request: FetchRequest) -> Fetched:
        answer = await super().fetch(request)
        if request.url.endswith("/robots.txt"):
            return answer
        body = self._others.get(request.url) or self._body((self._clock.now() - START) / timedelta(hours=1))
        return replace(answer, body=body, wire=body, headers=(), content_type="application/octet-stream")


def documents(folder: Path, script: Callable[[float], bytes], **config) -> Watched:
    watched = life(folder, lambda url, hours: (200, ""), *SOURCES, **config)
    watched.fetcher = Bytes(watched.clock, script)
    return watched
