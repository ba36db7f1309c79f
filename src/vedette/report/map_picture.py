"""The map of a hunt as a PNG: the places, colours and weights of lines of the SVG, for where no SVG is shown."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable

from PIL import Image, ImageDraw, ImageFont

from vedette.contracts.findings import HostMap
from vedette.core.findings.map_layout import HEIGHT, WIDTH
from vedette.report.host_map import (
    STYLE,
    Drawn,
    arc_points,
    cluster_name,
    drawn,
    hue_of,
    link_kinds,
    short_name,
    tree,
)

SCALE = 2  # pixels for each of the map
FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf")
_COLOUR = re.compile(r"--(\w+): (#[0-9a-f]{6})")
_COLOURS: dict[str, str] = dict(_COLOUR.findall(STYLE.partition("@media")[0]))  # on a light ground
_OTHER_LETTERS = str.maketrans(
    {"đ": "d", "Đ": "D", "ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae"}
)
# Width and opacity of a link, by kind, as the style of the SVG has them.
_LINES = {"faint": (0.5, 0.13), "thread": (0.8, 0.5), "tie": (1.4, 0.8)}
Spot = tuple[float, float, float]


def host_map_png(shown: HostMap) -> bytes:
    """The same bytes for the same map, on one machine: letters are drawn with the fonts that are there."""
    given = drawn(shown)
    image = Image.new("RGB", (int(WIDTH * SCALE), int(HEIGHT * SCALE)), _COLOURS["sea"])
    for colour, opacity, mask in _layers(given, image.size):
        image.paste(colour, mask=mask.point(lambda value, part=opacity: int(value * part)))
    pen = ImageDraw.Draw(image)
    for (x, y, r), place in sorted(
        zip(given.spots, given.shown.places, strict=True), key=lambda one: one[1].score
    ):
        if place.score:
            _dot(pen, (x, y, r), _hue(place.cluster), edge=_COLOURS["sea"])
        else:
            _dot(pen, (x, y, r), _COLOURS["dust"])
    _write_names(pen, given)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _layers(given: Drawn, size: tuple[int, int]) -> Iterable[tuple[str, float, Image.Image]]:
    """What is seen through: shores, links, the glow of findings.  Each layer is laid on as one."""
    for cluster in given.shown.clusters:
        members = [
            spot
            for spot, place in zip(given.spots, given.shown.places, strict=True)
            if place.cluster == cluster.number
        ]
        if len(members) >= 2:
            yield _hue(cluster.number), 0.14, _shore(members, size)
    for kind, ways in link_kinds(given).items():
        word, _, hue = kind.partition(" c")
        width, opacity = _LINES[word]
        mask, pen = _mask(size)
        for one, other in ways:
            points = [(x * SCALE, y * SCALE) for x, y in arc_points(given.spots[one], given.spots[other])]
            pen.line(points, fill=255, width=max(1, round(width * SCALE)), joint="curve")
        yield _COLOURS[f"c{hue}" if hue else "thread"], opacity, mask
    glows: dict[str, list[Spot]] = {}
    for (x, y, r), place in zip(given.spots, given.shown.places, strict=True):
        if place.score:
            glows.setdefault(_hue(place.cluster), []).append((x, y, r * 1.7))
    for colour, spots in glows.items():
        mask, pen = _mask(size)
        for spot in spots:
            _dot(pen, spot, 255)
        yield colour, 0.2, mask


def _shore(members: list[Spot], size: tuple[int, int]) -> Image.Image:
    mask, pen = _mask(size)
    for (x, y, _), (u, v, _) in tree(members):
        pen.line([(x * SCALE, y * SCALE), (u * SCALE, v * SCALE)], fill=255, width=46 * SCALE)
    for x, y, r in members:
        _dot(pen, (x, y, max(r + 15.0, 23.0)), 255)
    return mask


def _write_names(pen: ImageDraw.ImageDraw, given: Drawn) -> None:
    words = {cluster.number: cluster_name(cluster.words) for cluster in given.shown.clusters}
    for node, x, y in given.labels:
        place = None if node < 0 else given.shown.places[node]
        font, is_whole = _font(15.0 if place is None else 10.5)
        text = words[-node] if place is None else short_name(place.name)
        colour = _hue(-node) if place is None else _COLOURS["ink" if place.score else "dim"]
        pen.text(
            (x * SCALE, y * SCALE), text if is_whole else _folded(text), fill=colour, font=font, anchor="lm",
            stroke_width=SCALE, stroke_fill=_COLOURS["sea"],
        )  # fmt: skip


def _font(size: float) -> tuple[ImageFont.FreeTypeFont | ImageFont.ImageFont, bool]:
    """A font, and whether it has more than the letters of English."""
    for name in FONTS:
        try:
            return ImageFont.truetype(name, round(size * SCALE * 0.92)), True
        except OSError:
            continue
    return ImageFont.load_default(round(size * SCALE)), False


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.translate(_OTHER_LETTERS))
    return "".join(one for one in letters if not unicodedata.combining(one))


def _mask(size: tuple[int, int]) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    mask = Image.new("L", size, 0)
    return mask, ImageDraw.Draw(mask)


def _dot(pen: ImageDraw.ImageDraw, spot: Spot, colour: str | int, edge: str = "") -> None:
    x, y, r = (value * SCALE for value in spot)
    pen.ellipse((x - r, y - r, x + r, y + r), fill=colour, outline=edge or None, width=3 if edge else 0)


def _hue(cluster: int) -> str:
    return _COLOURS[f"c{hue_of(cluster)}"]
