"""Text in images: read in every encoding, the same text in all of them, and what is built to hurt costs only itself."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest
from document_kit import DAMAGES, needs_tesseract
from image_kit import ENCODINGS, HURTFUL, NOTICE, notice, photograph, png_of, saved
from PIL import Image

from vedette.contracts.documents import Document
from vedette.contracts.jobs import OCR
from vedette.contracts.words import ContentClass, Outcome
from vedette.core.change.gate import gate
from vedette.core.judging.verdict import route
from vedette.core.text.images import ENOUGH, MOST_PIXELS, drawn_size, is_line_of_text, refusal
from vedette.engine.crawl.content_reader import DocumentReader, extraction_of
from vedette.engine.workers.pool import Workers
from vedette.extract import content_class
from vedette.extract.documents import read_document

URL = "http://town.example/docs/notice"


@pytest.fixture
async def reader() -> AsyncIterator[DocumentReader]:
    workers = Workers(wall_s=60.0)
    yield DocumentReader(workers=workers)
    workers.close()


async def read(reader: DocumentReader, body: bytes) -> Document:
    return await reader.read((body, "", URL))


def words_of(document: Document) -> str:
    return " ".join(text for _, text in document.blocks)


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_image_is_known_by_its_bytes_whatever_the_header_says(name: str):
    body = ENCODINGS[name]()
    for content_type, url in (("", URL), ("text/html", f"{URL}.html"), ("application/pdf", f"{URL}.pdf")):
        assert content_class(body, url=url, content_type=content_type) is ContentClass.IMAGE
    assert route(ContentClass.IMAGE) == OCR


@pytest.mark.parametrize(
    "body",
    [
        b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(40),
        b"RIFF\x24\x00\x00\x00AVI LIST" + bytes(40),
        b"BMW builds cars, and this is a text about them." * 4,
        b"\x00\x00\x00\x1cftypavif" + bytes(60),
    ],
)
def test_sound_film_text_and_other_images_are_not_taken_for_it(body: bytes):
    assert content_class(body, url=URL, content_type="image/png") is not ContentClass.IMAGE


@needs_tesseract
@pytest.mark.parametrize("name", ENCODINGS)
async def test_the_text_of_an_image_is_read_in_every_encoding(reader: DocumentReader, name: str):
    found = await read(reader, ENCODINGS[name]())
    assert (found.content_class, found.problem, found.missing, found.scans) == (
        ContentClass.IMAGE,
        "",
        "",
        (),
    )
    assert words_of(found) == " ".join(NOTICE)
    assert found.confidence[0][1] > 80


@needs_tesseract
async def test_every_page_of_a_tiff_is_read(reader: DocumentReader):
    second = notice(("The second page names another room: 118.",))
    found = await read(reader, saved(notice(), "TIFF", save_all=True, append_images=[second]))
    assert found.pages == 2
    assert [text for path, text in found.blocks if path.startswith("page[2]")] == [
        "The second page names another room: 118."
    ]


@needs_tesseract
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
async def test_a_photograph_without_a_word_says_nothing_however_it_was_saved(
    reader: DocumentReader, seed: int
):
    made = photograph(seed)
    for body in (saved(made, "PNG"), saved(made, "JPEG", quality=70), saved(made, "WEBP", quality=60)):
        assert (await read(reader, body)).blocks == ()


def test_a_line_counts_when_ocr_is_sure_of_half_of_its_letters():
    assert is_line_of_text(
        [("Fee:", 96.0), ("125.50", 41.0), ("EUR", 93.0)]
    )  # an unsure value stays in its line
    assert not is_line_of_text([("ra", 74.0)])
    assert not is_line_of_text([("uy", 20.0), ("SSA", 45.0), ("———", 30.0)])
    assert not is_line_of_text([])


def test_what_is_too_large_is_refused_by_its_head_and_small_letters_are_doubled():
    assert refusal(7000, 7000) == ""
    assert "50000 x 50000 pixels" in refusal(50_000, 50_000)
    assert drawn_size(640, 480) == (1280, 960)
    for wide, high in ((1, MOST_PIXELS), (MOST_PIXELS, 1), (7000, 7000), (1, 1), (3000, 3000)):
        across, down = drawn_size(wide, high)
        assert 1 <= across * down <= (MOST_PIXELS if 1 in (wide, high) else 1.01 * ENOUGH)


@pytest.mark.parametrize("name", HURTFUL)
async def test_an_image_that_is_built_to_hurt_is_a_value(reader: DocumentReader, name: str):
    found = await read(reader, HURTFUL[name]())
    assert found.content_class is ContentClass.IMAGE
    if name != "pages in a circle.tiff":  # which has one
        assert found.problem
        assert gate(200, extraction_of(found, URL), URL, None).outcome is Outcome.PARSE_FAILED  # type: ignore[union-attr]
    assert words_of(await read(reader, saved(Image.new("L", (4, 4), 0), "PNG"))) == ""  # the next one is fine


def test_a_bomb_is_named_before_it_is_decoded():
    found = read_document(HURTFUL["bomb.png"](), url=URL, content_type="")
    assert found.problem.startswith("50000 x 50000 pixels are more than we read")


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (7, 7)])
async def test_where_no_letter_has_room_ocr_is_not_asked(reader: DocumentReader, size: tuple[int, int]):
    reader.languages = "zzz"  # not there: asking would say so
    found = await read(reader, saved(Image.new("RGB", size), "PNG"))
    assert (found.is_whole, found.blocks, found.pages) == (True, (), 1)


async def test_without_ocr_an_image_says_what_is_missing(reader: DocumentReader):
    reader.languages = "zzz"
    found = await read(reader, ENCODINGS["png"]())
    assert "tesseract" in found.missing
    assert gate(200, extraction_of(found, URL), URL, None).outcome is Outcome.TOOL_MISSING  # type: ignore[union-attr]


async def test_damaged_images_are_values(reader: DocumentReader):
    chance = random.Random(20261117)
    for _ in range(24):
        body = ENCODINGS[chance.choice(list(ENCODINGS))]()
        hurt = chance.choice(DAMAGES)(body, chance)
        if content_class(hurt, url=URL, content_type="") is not ContentClass.IMAGE:
            continue
        found = read_document(hurt, url=URL, content_type="")
        assert found.problem or found.scans or found.is_whole
        if found.scans:
            await read(reader, hurt)


@needs_tesseract
async def test_an_image_that_ends_too_early_is_not_read_in_part(reader: DocumentReader):
    """Half of a notice would seem to have lost its other half."""
    whole = ENCODINGS["png"]()
    for body in (whole[: len(whole) // 2], png_of(3000, 3000, rows=bytes(10)), ENCODINGS["jpeg"]()[:3000]):
        found = await read(reader, body)
        assert found.problem.startswith("page 1 cannot be drawn: not a readable image")
        assert found.blocks == ()
