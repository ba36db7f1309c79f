"""Images made at test time: notices in every encoding, photographs without a word, and what is built to hurt."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable

import numpy as np
from document_kit import FONTS
from PIL import Image, ImageDraw, ImageFont, ImageOps

NOTICE = (
    "Notice of public hearing",
    "The hearing on the zoning plan takes place on 14 March 2026",
    "at 18:30 in the town hall, room 204. Written comments may be",
    "sent to the planning office until 1 April 2026.",
    "Fee for late filing: 125.50 EUR, paid in advance.",
)


def notice(
    lines: tuple[str, ...] = NOTICE, *, size: int = 16, ink: int = 20, paper: int = 255
) -> Image.Image:
    letters = ImageFont.truetype(str(FONTS / "DejaVuSans.ttf"), size)
    wide = int(max(letters.getlength(line) for line in lines)) + 4 * size
    page = Image.new("L", (wide, 3 * size + int(2.2 * size * len(lines))), paper)
    pen = ImageDraw.Draw(page)
    for row, line in enumerate(lines):
        pen.text((2 * size, size + int(2.2 * size * row)), line, font=letters, fill=ink)
    return page


def saved(image: Image.Image, kind: str, **how: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **how)
    return out.getvalue()


def on_glass(ink: int) -> Image.Image:
    """Letters on nothing: where no letter is, the image is transparent, and black below."""
    cover = ImageOps.invert(notice(ink=0))
    return Image.merge("LA", (cover.point(lambda value: ink if value else 0), cover)).convert("RGBA")


def turned() -> bytes:
    """As a telephone saves it: on its side, with a word about it in the head."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved(notice(size=24).convert("RGB").rotate(90, expand=True), "JPEG", quality=90, exif=exif)


_rgb = lambda: notice().convert("RGB")  # noqa: E731
_empty = lambda: Image.new("RGB", notice().size, "white")  # noqa: E731
ENCODINGS: dict[str, Callable[[], bytes]] = {
    "png": lambda: saved(notice(), "PNG"),
    "png palette": lambda: saved(_rgb().convert("P"), "PNG"),
    "png 16 bits": lambda: saved(Image.fromarray(np.asarray(notice()).astype(np.uint16) * 257), "PNG"),
    "tiff fractions": lambda: saved(Image.fromarray(np.asarray(notice()).astype(np.float32) / 255), "TIFF"),
    "png dark letters on glass": lambda: saved(on_glass(10), "PNG"),
    "png light letters on glass": lambda: saved(on_glass(250), "PNG"),
    "png light on dark": lambda: saved(notice(ink=235, paper=30), "PNG"),
    "png small print": lambda: saved(notice(size=10), "PNG"),
    "apng": lambda: saved(_rgb(), "PNG", save_all=True, append_images=[_empty()]),
    "jpeg": lambda: saved(_rgb(), "JPEG", quality=75),
    "jpeg progressive": lambda: saved(_rgb(), "JPEG", quality=75, progressive=True),
    "jpeg cmyk": lambda: saved(_rgb().convert("CMYK"), "JPEG", quality=85),
    "jpeg on its side": turned,
    "gif": lambda: saved(_rgb().convert("P"), "GIF"),
    "gif on glass": lambda: saved(on_glass(10), "GIF"),
    "gif animated": lambda: saved(_rgb(), "GIF", save_all=True, append_images=[_empty()] * 3, duration=90),
    "tiff": lambda: saved(notice(), "TIFF"),
    "tiff lzw": lambda: saved(_rgb(), "TIFF", compression="tiff_lzw"),
    "tiff fax": lambda: saved(notice(size=30).convert("1"), "TIFF", compression="group4"),
    "tiff cmyk": lambda: saved(_rgb().convert("CMYK"), "TIFF"),
    "webp": lambda: saved(_rgb(), "WEBP", quality=80),
    "webp lossless": lambda: saved(_rgb(), "WEBP", lossless=True),
    "webp on glass": lambda: saved(on_glass(10), "WEBP"),
    "webp animated": lambda: saved(_rgb(), "WEBP", save_all=True, append_images=[_empty()]),
    "bmp": lambda: saved(_rgb(), "BMP"),
    "bmp 1 bit": lambda: saved(notice(size=30).convert("1"), "BMP"),
}


def photograph(seed: int) -> Image.Image:
    """Textures, shapes and lines; no word."""
    chance, pick = np.random.default_rng(seed), random.Random(seed)
    wide, high = pick.choice([(640, 480), (1024, 768), (400, 600)])
    ground = np.zeros((high, wide))
    for grain in (4, 16, 64):
        spots = np.clip(chance.normal(128, 60, (high // grain + 2, wide // grain + 2)), 0, 255)
        layer = Image.fromarray(spots.astype(np.uint8)).resize((wide, high), Image.Resampling.BICUBIC)
        ground += np.asarray(layer).astype(float)
    made = Image.fromarray(np.clip(ground / 3, 0, 255).astype(np.uint8)).convert("RGB")
    pen = ImageDraw.Draw(made)
    for _ in range(pick.randint(5, 60)):
        x, y = pick.randint(0, wide), pick.randint(0, high)
        colour = tuple(pick.randint(0, 255) for _ in range(3))
        box = (x, y, x + pick.randint(5, 200), y + pick.randint(5, 200))
        draw = pick.choice([pen.ellipse, pen.rectangle])
        draw(box, fill=colour if pick.random() < 0.6 else None, outline=(0, 0, 0))
        pen.line((x, y, pick.randint(0, wide), pick.randint(0, high)), fill=colour, width=pick.randint(1, 6))
    return made


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of(wide: int, high: int, *, rows: bytes = b"") -> bytes:
    """A PNG that says it has this size."""
    head = struct.pack(">IIBBBBB", wide, high, 1, 0, 0, 0, 0)
    data = zlib.compress(rows, 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _bomb() -> bytes:
    """50,000 x 50,000 pixels in some hundred kilobytes; whole."""
    row, packer = bytes(1 + 50_000 // 8), zlib.compressobj(9)
    data = b"".join(packer.compress(row * 500) for _ in range(100)) + packer.flush()
    head = struct.pack(">IIBBBBB", 50_000, 50_000, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _tiff_in_a_circle() -> bytes:
    whole = saved(Image.new("L", (50, 50), 255), "TIFF")
    (first,) = struct.unpack("<I", whole[4:8])
    (entries,) = struct.unpack("<H", whole[first : first + 2])
    link = first + 2 + 12 * entries
    return whole[:link] + struct.pack("<I", first) + whole[link + 4 :]


HURTFUL: dict[str, Callable[[], bytes]] = {
    "bomb.png": _bomb,
    "bomb that is cut.png": lambda: png_of(50_000, 50_000, rows=bytes(1000)),
    "all the pixels there are.png": lambda: png_of(2**31 - 1, 2**31 - 1),
    "bomb.gif": lambda: b"GIF89a" + struct.pack("<HH", 65_535, 65_535) + bytes(50),
    "bomb.bmp": lambda: (
        b"BM" + struct.pack("<IHHI", 200, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(200)
    ),
    "only a head.jpg": lambda: b"\xff\xd8\xff\xe0" + bytes(100),
    "only a head.webp": lambda: b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(40),
    "only a head.tiff": lambda: b"II*\x00\x08\x00\x00\x00" + b"\xff" * 40,
    "a thousand pages.tiff": lambda: saved(
        Image.new("1", (20, 20), 1), "TIFF", save_all=True, append_images=[Image.new("1", (20, 20), 1)] * 999
    ),
    "pages in a circle.tiff": _tiff_in_a_circle,
}  # fmt: skip
