"""Images of text: PNG, JPEG, GIF, TIFF, WebP and BMP.  What they say only OCR can tell; here they are drawn for it.

Every page of a TIFF is read; of an animation the first frame.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.core.text.images import decoding_refusal, drawn_size, may_have_text, refusal
from vedette.extract.fields import Unreadable

if TYPE_CHECKING:
    from PIL.Image import Image


import ctypes
import itertools
from collections.abc import Callable
from typing import Any

from vedette.core.text.images import ENOUGH
from vedette.extract.documents.pdf import IMAGE, opened

FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP")
PAGED = "TIFF"
BAND = 256  # rows
DARK = 100  # of 255: below this middle the letters are the light ones


def read_image(body: bytes, kind: ContentClass) -> Document:
    """Its pages, all of them to be read by OCR; none where no letter has room."""
    with _opened(body) as image:
        _check(image)
        pages = getattr(image, "n_frames", 1) if image.format == PAGED else 1
        has_room = pages > 1 or may_have_text(*image.size)
    return Document(content_class=kind, pages=pages, scans=tuple(range(pages)) if has_room else ())


def render_image(body: bytes, number: int) -> bytes:
    """One page as a grey image (PGM): upright, on white, dark letters, of a size that OCR reads well."""
    from PIL import Image, ImageOps

    with _opened(body) as image:
        if number:
            image.seek(number)
        _check(image)
        image.draft("L", drawn_size(*image.size))  # JPEG alone: decoded small and grey
        _refuse_if(decoding_refusal(*image.size, image.mode))
        ImageOps.exif_transpose(image, in_place=True)  # else a copy, of what may be large
        grey = _on_white(image)
    grey = grey.resize(drawn_size(*grey.size), Image.Resampling.BICUBIC)
    if _is_dark(grey):
        grey = ImageOps.invert(grey)
    return b"P5\n%d %d\n255\n" % grey.size + grey.tobytes()


@contextmanager
def _opened(body: bytes) -> Iterator[Image]:
    """Only the head is read here.  Whatever a broken image raises is Unreadable."""
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # `_check` refuses, in our words
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(body), formats=FORMATS) as image,
        ):
            yield image
    except (MemoryError, Unreadable):
        raise
    except UnidentifiedImageError:  # its words name an object in memory
        raise Unreadable("not a readable image: its head is damaged") from None
    except Exception as error:  # noqa: BLE001  decoders raise what they like, and none of it is ours
        raise Unreadable(f"not a readable image: {error}"[:200]) from None


def _check(image: Image) -> None:
    _refuse_if(refusal(*image.size))


def _refuse_if(problem: str) -> None:
    if problem:
        raise Unreadable(problem)


def _on_white(image: Image) -> Image:
    """In grey.  What is transparent shows the paper, or a dark ground where the letters are light."""
    from PIL import Image

    if image.mode[0] in "IF":  # 16 or 32 bits, or fractions: whatever range they use
        return Image.fromarray(_stretched(np.asarray(image)))
    if not image.has_transparency_data:
        image.load()
        return image if image.mode == "L" else image.convert("L")
    cover = image.getchannel("A") if "A" in image.getbands() else image.convert("RGBA").getchannel("A")
    grey = image.convert("L")
    seen = grey.histogram(cover.point(lambda value: 255 if value > 127 else 0))
    ground = 0 if _middle(seen) > 255 - DARK else 255
    paper = Image.new("L", grey.size, ground)
    paper.paste(grey, mask=cover)
    return paper


def _stretched(values: np.ndarray) -> np.ndarray:
    """Whatever range they use, as 0 to 255; some rows at a time, for fractions take four times their grey."""
    bands = [slice(top, top + BAND) for top in range(0, len(values), BAND)]
    parts = (np.nan_to_num(values[band].astype(np.float32)) for band in bands)
    ranges = [(float(part.min()), float(part.max())) for part in parts]
    low, high = min(one for one, _ in ranges), max(one for _, one in ranges)
    grey = np.empty(values.shape, np.uint8)
    for band in bands:
        part = np.nan_to_num(values[band].astype(np.float32))
        grey[band] = ((part - low) * (255 / max(high - low, 1e-9))).astype(np.uint8)
    return grey


def _is_dark(grey: Image) -> bool:
    return _middle(grey.histogram()) < DARK


def _middle(counts: list[int]) -> int:
    """The median of grey values, from how often each occurs; white when there is none."""
    half, sum_so_far = sum(counts) / 2, 0
    for value, number in enumerate(counts):
        sum_so_far += number
        if number and sum_so_far >= half:
            return value
    return 255


# A scanned page made ready for OCR: drawn at 300 dpi, set upright, without the noise of the scanner.
#
# Measured on Croatian pages at 150 dpi: a page at a slant of 3 degrees 0.71 -> 0.95 (share of characters read right),
# a noisy one 0.80 -> 0.99.  Noise is taken out at the resolution of the scan, where a speck is one pixel.

DPI = 300
COARSE = 200  # a scan below this is cleaned at its own resolution and then doubled
MAX_IMAGE = (
    36 * 1024 * 1024
)  # bytes of a picture once it is unpacked: A4 in grey at 600 dpi; pdfium keeps it thrice
MAX_SLANT = 5.0  # degrees; more is a page that lies on its side
NOISY = 1.5  # mean distance of a pixel of the paper from the middle of its neighbours, of 255
PAPER = 160
MAX_DEPTH, MOST_IMAGES = 8, 1000


def render_page(body: bytes, number: int) -> bytes:
    """A page as a grey image (PGM) that OCR reads well.  Raises Unreadable when it cannot be drawn."""
    pdf = opened(body)
    try:
        page = pdf[number]
        inches = max(page.get_width() * page.get_height(), 1.0) / 72**2
        _check_images(page)
        dpi = max(1, min(DPI, int((ENOUGH / inches) ** 0.5)))
        slant = slant_of(_pixels(page, min(dpi, 100), 0.0))
        is_coarse = _resolution(page) < COARSE and dpi == DPI
        pixels = _pixels(page, DPI // 2 if is_coarse else dpi, slant)
        quiet = median(pixels)
        if not is_noisy(pixels, quiet):
            quiet = _pixels(page, dpi, slant) if is_coarse else pixels
        else:
            quiet = smooth(quiet.repeat(2, 0).repeat(2, 1) if is_coarse else quiet)
    finally:
        pdf.close()
    height, width = quiet.shape
    return b"P5\n%d %d\n255\n" % (width, height) + quiet.tobytes()


def slant_of(pixels: np.ndarray) -> float:
    """Degrees by which lines of text fall or rise; 0 when they are level or nothing can be told.

    The right angle makes the sharpest profile: dark pixels fall into few rows.
    """
    dark = pixels < (int(pixels.min()) + int(np.median(pixels))) // 2
    rows, columns = np.nonzero(dark)
    if not 500 <= len(rows) <= pixels.size // 3:
        return 0.0
    best = _sharpest(rows, columns, np.arange(-MAX_SLANT, MAX_SLANT + 0.01, 0.5))
    best = _sharpest(rows, columns, best + np.arange(-0.4, 0.41, 0.1))
    return round(best, 2) if abs(best) > 0.15 else 0.0


def median(pixels: np.ndarray) -> np.ndarray:
    """The middle of every 3 x 3 neighbourhood, by a sorting network on nine shifted views (Smith 1996)."""
    return _in_bands(pixels, _median_of)


def smooth(pixels: np.ndarray) -> np.ndarray:
    """Weights 1 2 1 in both directions."""
    return _in_bands(pixels, _smoothed)


def _in_bands(pixels: np.ndarray, filtered: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A filter of 3 x 3 pixels over some rows at a time: over the page it takes ten times its image."""
    edged, whole = np.pad(pixels, 1, mode="edge"), np.empty_like(pixels)
    for top in range(0, len(pixels), BAND):
        whole[top : top + BAND] = filtered(edged[top : top + BAND + 2])
    return whole


def _median_of(edged: np.ndarray) -> np.ndarray:
    height, width = edged.shape[0] - 2, edged.shape[1] - 2
    views = [edged[y : y + height, x : x + width] for y in range(3) for x in range(3)]
    for one, other in _NETWORK:
        views[one], views[other] = np.minimum(views[one], views[other]), np.maximum(views[one], views[other])
    return views[4]


def _smoothed(edged: np.ndarray) -> np.ndarray:
    wide = edged.astype(np.uint16)
    rows = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    both = rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]
    whole: np.ndarray = (both >> 4).astype(np.uint8)
    return whole


def is_noisy(pixels: np.ndarray, quiet: np.ndarray) -> bool:
    distance = count = 0
    for top in range(0, len(pixels), BAND):
        band, calm = pixels[top : top + BAND].astype(np.int16), quiet[top : top + BAND]
        paper = calm > PAPER
        distance += int(np.abs(band - calm)[paper].sum())
        count += int(paper.sum())
    return distance > NOISY * count


_NETWORK = (
    (1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3),
    (5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2),
)  # fmt: skip


def _sharpest(rows: np.ndarray, columns: np.ndarray, angles: np.ndarray) -> float:
    def sharpness(angle: float) -> float:
        level = np.rint(rows + columns * np.tan(np.radians(angle))).astype(np.int64)
        profile = np.bincount(level - level.min()).astype(np.float64)
        return float(np.square(np.diff(profile)).sum())

    return float(max(angles, key=sharpness))


def _check_images(page: Any) -> None:
    """Raises Unreadable before a picture is unpacked that takes too much; pdfium would leave it out without a word."""
    for image in itertools.islice(page.get_objects(filter=[IMAGE], max_depth=MAX_DEPTH), MOST_IMAGES):
        about = image.get_metadata()
        if about.width * about.height * max(about.bits_per_pixel, 1) // 8 > MAX_IMAGE:
            raise Unreadable(f"a picture of {about.width} x {about.height} pixels in it is more than we read")


def _resolution(page: Any) -> float:
    """Dots per inch of the largest image of the page; what cannot be told is fine enough."""
    best = (0.0, float(DPI))
    for image in itertools.islice(page.get_objects(filter=[IMAGE], max_depth=1), 100):
        left, bottom, right, top = image.get_bounds()
        across, area = image.get_px_size()[0], abs((right - left) * (top - bottom))
        if right > left and area > best[0]:
            best = (area, across / ((right - left) / 72))
    return best[1]


def _pixels(page: Any, dpi: int, slant: float) -> np.ndarray:
    """The page in grey, turned by its slant around its middle.  pdfium resamples while it draws."""
    import pypdfium2
    import pypdfium2.raw as raw

    scale = dpi / 72
    width, height = max(1, round(page.get_width() * scale)), max(1, round(page.get_height() * scale))
    bitmap = pypdfium2.PdfBitmap.new_native(width, height, raw.FPDFBitmap_Gray)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
    cos, sin = float(np.cos(np.radians(slant))), float(np.sin(np.radians(slant)))
    across, down = width / 2, height / 2
    shift = (across - across * cos + down * sin, down - across * sin - down * cos)
    matrix = raw.FS_MATRIX(scale * cos, scale * sin, -scale * sin, scale * cos, *shift)
    clip = raw.FS_RECTF(0.0, 0.0, float(width), float(height))
    flags = raw.FPDF_ANNOT | raw.FPDF_GRAYSCALE
    raw.FPDF_RenderPageBitmapWithMatrix(bitmap, page, ctypes.byref(matrix), ctypes.byref(clip), flags)
    whole = np.frombuffer(bitmap.buffer, np.uint8).reshape(height, bitmap.stride)[:, :width]
    return np.ascontiguousarray(whole)
