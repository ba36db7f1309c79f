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
from vedette.core.images import decoding_refusal, drawn_size, may_have_text, refusal
from vedette.extract.fields import Unreadable

if TYPE_CHECKING:
    from PIL.Image import Image

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
