"""Scans that are built to take memory: drawn whole within the limit of the worker, or refused in words before."""

from __future__ import annotations

import io
import zlib
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest
from PIL import Image

from vedette.core.limits.memory_budget import SCAN
from vedette.engine.crawl.content_reader import _render_there
from vedette.engine.workers.pool import Workers
from vedette.extract.documents.images import render_page

A4, HUGE = (595, 842), (14_400, 14_400)  # points
REFUSED = "more than we read"


def page(box: tuple[int, int], width: int, height: int, colours: int = 1, *, is_noise: bool = False) -> bytes:
    """A PDF of one page with one picture all over it."""
    if is_noise:
        pixels = np.random.default_rng(3).integers(0, 256, (height, width * colours), dtype=np.uint8)
    else:
        pixels = np.full((height, width * colours), 255, np.uint8)
        pixels[height // 8 :: max(8, height // 40), : width * colours // 2] = 0
    packed = zlib.compress(pixels.tobytes(), 1)
    space = {1: b"Gray", 3: b"RGB", 4: b"CMYK"}[colours]
    picture = (
        b"<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/Device%s/BitsPerComponent 8"
        b"/Filter/FlateDecode/Length %d>>stream\n%s\nendstream"
    ) % (width, height, space, len(packed), packed)
    drawing = b"q %d 0 0 %d 0 0 cm /I Do Q" % box
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>"
        % box,
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawing), drawing),
        picture,
    ]
    out, places = bytearray(b"%PDF-1.5\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    at = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out) + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % at


def png(mode: str, side: int) -> bytes:
    out = io.BytesIO()
    Image.new(mode, (side, side)).save(out, "PNG", compress_level=1)
    return out.getvalue()


def jpeg(side: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (side, side), "white").save(out, "JPEG")
    return out.getvalue()


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    workers = Workers(wall_s=60.0)
    yield workers
    workers.close()


PAGES: dict[str, Callable[[], bytes]] = {
    "A4 at 600 dpi": lambda: page(A4, 4960, 7016),
    "A4 in colour at 300 dpi": lambda: page(A4, 2480, 3508, 3),
    "a page as large as PDF allows": lambda: page(HUGE, 500, 500),
    "noise on a large page": lambda: page((1700, 1700), 3000, 3000, is_noise=True),
}
BOMBS: dict[str, tuple[Callable[[], bytes], bool]] = {
    "a grey picture": (lambda: page(A4, 7000, 7000), False),
    "a picture in colour": (lambda: page(A4, 9000, 9000, 3), False),
    "a picture for print on a large page": (lambda: page(HUGE, 6000, 6000, 4), False),
    "an image in colour": (lambda: png("RGB", 7000), True),
    "a transparent image": (lambda: png("RGBA", 5000), True),
    "an image of 16 bits": (lambda: png("I;16", 7000), True),
}
IMAGES: dict[str, Callable[[], bytes]] = {
    "the largest grey image": lambda: png("L", 7000),
    "a photograph": lambda: jpeg(6900),
    "a large screenshot": lambda: png("RGB", 4000),
    "a transparent one": lambda: png("RGBA", 3200),
    "one of 16 bits": lambda: png("I;16", 4000),
}


@pytest.mark.parametrize("name", PAGES)
async def test_a_large_page_is_drawn_whole_within_the_limit(workers: Workers, name: str):
    data = PAGES[name]()
    assert await workers.run(_render_there, data, 0, False, memory=SCAN) == render_page(data, 0)


@pytest.mark.parametrize("name", IMAGES)
async def test_a_large_image_is_drawn_within_the_limit(workers: Workers, name: str):
    drawn = await workers.run(_render_there, IMAGES[name](), 0, True, memory=SCAN)
    assert isinstance(drawn, bytes)


@pytest.mark.parametrize("name", BOMBS)
async def test_what_would_take_too_much_is_refused_in_words_before_it_is_unpacked(
    workers: Workers, name: str
):
    made, is_image = BOMBS[name]
    told = await workers.run(_render_there, made(), 0, is_image, memory=SCAN)
    assert isinstance(told, str)
    assert REFUSED in told
