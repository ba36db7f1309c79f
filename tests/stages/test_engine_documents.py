"""Documents in the engine: parsed aside, scans read by OCR, text kept on a shelf; crashes cost one file only."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import random
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from document_kit import BOMBS, DAMAGES, LINES, TITLE, URL, WHOLE, needs_tesseract, scanned

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass, Outcome
from vedette.core.change.gate import gate
from vedette.engine.crawl.content_reader import DocumentReader, extraction_of
from vedette.engine.workers.pool import Workers
from vedette.evidence.text_cache import TextCache
from vedette.extract.documents.language import reader_version
from vedette.extract.ocr import REMEDY, OcrText, Tesseract, _recognised, _run, find_tesseract

WHOLE_TEXT = Document(
    content_class=ContentClass.DOCX, blocks=(("p", "Šuma"), ("p[2]", "đak")), confidence=((0, 91.5),), pages=1
)


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    workers = Workers(wall_s=30.0)
    yield workers
    workers.close()


@pytest.fixture
def reader(workers: Workers, tmp_path: Path) -> DocumentReader:
    return DocumentReader(workers=workers, text_cache=TextCache(tmp_path, "reader"), languages="hrv+eng")


async def test_a_document_becomes_an_extraction_with_title_text_and_language(reader: DocumentReader):
    found = extraction_of(await reader.read((WHOLE["docx"](), "", URL)), URL)
    assert (found.title, found.language, found.content_class) == (TITLE, "hr", ContentClass.DOCX)
    assert LINES[2] in found.text
    assert found.metadata == {"author": "Ana Čović"}


def files_below(folder: Path) -> list[Path]:
    return list(folder.rglob("*.zst"))


async def test_nothing_reaches_the_disk_until_it_is_kept_and_then_it_is_not_parsed_again(
    reader: DocumentReader, tmp_path: Path
):
    body = WHOLE["docx"]()
    document = await reader.read((body, "", URL))
    assert files_below(tmp_path) == []
    made = await reader.keep(hashlib.sha256(body).digest(), document)
    assert made is not None
    assert (made.kind, made.confidence, files_below(tmp_path)) == ("text", None, [tmp_path / made.path])
    reader.workers.close()
    reader.workers.run = None  # type: ignore[assignment,method-assign]  # any parse would fail now
    assert await reader.read((body, "", URL)) == document


def test_a_shelf_gives_back_what_was_put_there_and_forgets_what_is_dropped(tmp_path: Path):
    text_cache, digest = TextCache(tmp_path, "r1"), hashlib.sha256(b"x").digest()
    made = text_cache.put(digest, WHOLE_TEXT)
    assert (made.kind, made.confidence, made.chars) == ("ocr", 91.5, 7)
    assert text_cache.get(digest) == WHOLE_TEXT
    assert TextCache(tmp_path, "r2").get(digest) is None  # another reader may read other words
    (tmp_path / made.path).write_bytes(b"damaged")
    assert text_cache.get(digest) is None
    assert text_cache.drop([digest]) == 1
    assert list(tmp_path.rglob("*.zst")) == []


def test_another_language_is_another_reader():
    assert reader_version("hrv+eng") == reader_version("hrv+eng")
    assert reader_version("hrv+eng") != reader_version("eng")


@pytest.mark.parametrize("name", ["far cell.xlsx", "wild pieces.doc", "pages in a circle.pdf"])
async def test_a_file_that_kills_its_parser_costs_nothing_but_itself(
    reader: DocumentReader, name: str, capfd
):
    await reader.read((BOMBS[name](), "", f"http://a.example/{name.replace(' ', '-')}"))
    assert (await reader.read((WHOLE["pdf"](), "", URL))).blocks
    assert capfd.readouterr().err == ""


async def test_damaged_files_are_values_though_their_parser_may_hang(reader: DocumentReader):
    reader.workers._wall_s = 5.0
    chance = random.Random(5)
    for kind in ("pdf", "doc", "xls", "xlsx", "ods", "ppt", "rtf"):
        for damage in DAMAGES:
            found = await reader.read((damage(WHOLE[kind](), chance), "", f"http://a.example/a.{kind}"))
            assert isinstance(found, Document)


async def test_what_needs_too_much_time_is_a_problem_with_a_name(workers: Workers):
    workers._wall_s = 0.001
    found = await DocumentReader(workers=workers).read((WHOLE["pdf"](), "", URL))
    assert found.problem == "reading it takes too much time or memory"
    assert gate(200, extraction_of(found, URL), URL, None).outcome is Outcome.PARSE_FAILED  # type: ignore[union-attr]


async def test_without_the_program_a_scan_says_how_to_get_it(reader: DocumentReader):
    assert REMEDY in str(await find_tesseract(name="no-such-program"))
    reader.languages = "zzz"
    found = await reader.read((scanned(150), "", URL))
    assert "tesseract" in found.missing
    assert "apt-get install" in found.missing
    assert gate(200, extraction_of(found, URL), URL, None).outcome is Outcome.TOOL_MISSING  # type: ignore[union-attr]
    assert await reader.keep(b"x" * 32, found) is None


async def test_a_program_that_is_asked_without_input_has_no_pipe_that_it_could_close_before_us():
    """On a busy machine it ends first, and uvloop raises for a write to what is closed."""
    assert await _run((shutil.which("readlink") or "", "/proc/self/fd/0"), b"", 60) == b"/dev/null\n"


async def test_an_ocr_program_that_hangs_or_fails_is_given_up():
    sleeper = Tesseract(shutil.which("yes") or "", "0", wall_s=0.2)
    assert await sleeper.read(b"") is None
    assert await Tesseract("/no/such/program", "0").read(b"") is None
    assert await Tesseract(shutil.which("false") or "", "0").read(b"") is None
    assert await Tesseract(shutil.which("false") or "", "0").read(b"x" * 2**20) is None


async def test_an_ocr_that_is_cancelled_leaves_no_process_behind():
    import psutil

    task = asyncio.create_task(Tesseract(shutil.which("sleep") or "", "0").read(b""))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    names = [child.name() for child in psutil.Process().children() if child.status() != "zombie"]
    assert "sleep" not in names


def test_words_of_the_table_become_paragraphs_with_a_confidence():
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = [
        "5\t1\t1\t1\t1\t1\t10\t10\t480\t20\t90\tObveznik",
        "5\t1\t1\t1\t2\t1\t10\t35\t100\t20\t80\tplaća.",
        "5\t1\t1\t1\t2\t2\t900\t35\t5\t5\t3\t~",
        "5\t1\t2\t1\t1\t1\t10\t300\t100\t20\t70\tČlanak",
        "broken\trow",
        "5\t1\t2\t1\t1\t2\tx\t300\t100\t20\t70\tbroken",
    ]
    found = _recognised("\n".join([head, *rows]).encode())
    assert found == OcrText(("Obveznik plaća.", "Članak"), 81.0)


@needs_tesseract
@pytest.mark.slow
@pytest.mark.parametrize(
    ("dpi", "font", "skew", "noise", "least"),
    [
        (150, "DejaVuSerif.ttf", 2.0, 18.0, 0.90),
        (150, "DejaVuSans.ttf", -3.0, 25.0, 0.90),
        (150, "STIXGeneral.ttf", 1.0, 25.0, 0.90),
        (300, "STIXGeneral.ttf", -2.5, 25.0, 0.95),
    ],
)
async def test_skewed_blurred_and_noisy_croatian_pages_are_read(
    reader: DocumentReader, dpi: int, font: str, skew: float, noise: float, least: float
):
    body = scanned(dpi, font=font, skew=skew, noise=noise)
    found = await reader.read((body, "application/pdf", URL))
    said = " ".join(text for _, text in found.blocks)
    assert difflib.SequenceMatcher(None, said, " ".join(LINES), autojunk=False).ratio() >= least
    assert (found.content_class, found.scans, found.language) == (ContentClass.PDF_SCANNED, (), "hr")
    assert found.confidence[0][1] > 80
    made = await reader.keep(hashlib.sha256(body).digest(), found)
    assert made == replace(made, kind="ocr", confidence=found.confidence[0][1])


@pytest.mark.slow
async def test_of_many_damaged_files_none_harms_the_main_process(reader: DocumentReader):
    """A small form of `bench/documents.py`, which reads a thousand."""
    reader.workers._wall_s = 10.0
    chance = random.Random(23)
    whole = {kind: make() for kind, make in WHOLE.items()}
    for number in range(150):
        kind = chance.choice(list(whole))
        body = chance.choice(DAMAGES)(whole[kind], chance)
        found = await reader.read((body, "", f"http://a.example/{number}.{kind}"))
        assert isinstance(found, Document)
    for kind, body in whole.items():
        assert (await reader.read((body, "", f"http://a.example/whole.{kind}"))).blocks


@pytest.mark.slow
@pytest.mark.timeout(400)  # many of them use up the limits of a worker
async def test_no_bomb_harms_the_main_process(reader: DocumentReader):
    for name, make in BOMBS.items():
        await reader.read((make(), "", f"http://a.example/{name.replace(' ', '-')}"))
    assert (await reader.read((WHOLE["xlsx"](), "", URL))).blocks
