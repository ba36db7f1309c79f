"""Draws the letters of the living web's scanned pages: `python tools/glyphs.py` rewrites livingweb/glyphs.npz.

DejaVu Serif (Bitstream Vera licence: may be embedded) as matplotlib brings it, 33 pixels high: 12 points at 200 dpi.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

LETTERS = "".join(map(chr, range(33, 127))) + "čćžšđČĆŽŠĐ„“”–—€§°"
HEIGHT = 48
HERE = Path(__file__).resolve().parent.parent


def main() -> None:
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    font = ImageFont.truetype(str(fonts / "DejaVuSerif.ttf"), 33)
    widths = [round(font.getlength(letter)) for letter in LETTERS]
    strip = Image.new("L", (sum(widths), HEIGHT), 0)
    pen, at = ImageDraw.Draw(strip), 0
    for letter, width in zip(LETTERS, widths, strict=True):
        pen.text((at, 2), letter, font=font, fill=255)
        at += width
    ink = (np.asarray(strip) >> 4).astype(np.uint8)  # 16 steps of grey are enough for a scan
    place = HERE / "src" / "vedette" / "livingweb" / "glyphs.npz"
    np.savez_compressed(place, letters=np.array(LETTERS), widths=np.array(widths, np.uint8), ink=ink)
    print(f"{place}: {place.stat().st_size} bytes")


if __name__ == "__main__":
    main()
