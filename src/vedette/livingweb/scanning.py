"""Scanned pages: letters as ink on paper, laid askew on the glass, with the noise of the scanner.  No text inside."""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path

import numpy as np

from vedette.livingweb.documents import pdf_file

Lines = tuple[str, ...]
DPI = 200
WIDTH, HEIGHT = 1654, 2339  # A4
MARGIN, LEADING, SPACE = 160, 50, 11
SHEAR = 90  # lines fall by one pixel in so many: 0.6 degrees
PAPER, INK = 245, 225


def make_scan(title: str, lines: Lines) -> bytes:
    """A PDF of one image per page.  The same text always gives the same bytes."""
    rows = [row for line in (title, *lines) for row in (*_wrapped(line), "")]
    fits = (HEIGHT - 2 * MARGIN) // LEADING
    pages = [_page(rows[at : at + fits], at) for at in range(0, len(rows), fits)]
    return _pdf(pages)


def _wrapped(line: str) -> list[str]:
    _, widths, _ = _glyphs()
    rows, row, used = [], "", 0
    for word in line.split():
        size = sum(widths.get(letter, SPACE) for letter in word) + SPACE
        if row and used + size > WIDTH - 2 * MARGIN:
            rows.append(row)
            row, used = "", 0
        row, used = f"{row} {word}".strip(), used + size
    return [*rows, row]


def _page(rows: list[str], seed: int) -> np.ndarray:
    starts, widths, ink = _glyphs()
    page = np.zeros((HEIGHT, WIDTH), np.float32)
    for number, row in enumerate(rows):
        x, y = MARGIN, MARGIN + number * LEADING
        for letter in row:
            width = widths.get(letter, SPACE)
            if letter in starts and x + width < WIDTH:
                glyph = ink[:, starts[letter] : starts[letter] + width]
                page[y : y + len(glyph), x : x + width] = glyph
            x += width
    askew = np.empty_like(page)
    for x in range(0, WIDTH, SHEAR):
        askew[:, x : x + SHEAR] = np.roll(page[:, x : x + SHEAR], x // SHEAR, axis=0)
    noise = np.random.default_rng(seed).normal(0, 6, page.shape)
    return np.clip(PAPER - INK * askew / 15 + noise, 0, 255).astype(np.uint8) & 0xF0


@cache
def _glyphs() -> tuple[dict[str, int], dict[str, int], np.ndarray]:
    """Where each letter starts in the strip of ink, how wide it is, and the strip (tools/glyphs.py)."""
    with np.load(Path(__file__).with_name("glyphs.npz"), allow_pickle=False) as kept:
        letters, sizes, ink = str(kept["letters"]), kept["widths"].astype(int), kept["ink"]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    widths = dict(zip(letters, sizes.tolist(), strict=True))
    return dict(zip(letters, starts.tolist(), strict=True)), widths, ink


def _pdf(pages: list[np.ndarray]) -> bytes:
    wide, high = WIDTH * 72 // DPI, HEIGHT * 72 // DPI
    kids = b" ".join(b"%d 0 R" % (3 + 3 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, len(pages)),
    ]
    for number, page in enumerate(pages):
        first = 3 + 3 * number
        drawn = b"q %d 0 0 %d 0 0 cm /I Do Q" % (wide, high)
        data = zlib.compress(page.tobytes(), 6)
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "
            b"/Resources << /XObject << /I %d 0 R >> >> >>" % (wide, high, first + 1, first + 2),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn),
            b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray "
            b"/BitsPerComponent 8 /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream"
            % (WIDTH, HEIGHT, len(data), data),
        ]
    return pdf_file(tuple(objects))
