"""Pages with noise of made-up kinds: every look draws the noise anew, the content stays.

Shares no code and no word list with what it tests.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Block = tuple[str, str]
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va ze ško čla žu đe ran tik mor".split()


@dataclass
class Place:
    """One place of noise: where, and how a look draws it."""

    kind: str
    at: int
    draw: Callable[[random.Random], object]


@dataclass
class Page:
    """Fixed content and places of noise; `look` renders it with a chance of its own."""

    content: list[Block]
    places: list[Place] = field(default_factory=list)
    drawn: list[object] = field(default_factory=list)  # what the last look drew, place by place

    def look(
        self, chance: random.Random, edit: Callable[[list[Block]], list[Block]] | None = None
    ) -> list[Block]:
        blocks = edit(list(self.content)) if edit else list(self.content)
        self.drawn = []
        for place in sorted(self.places, key=lambda p: -p.at):
            noise = place.draw(chance)
            self.drawn.append(noise)
            blocks = PUT[place.kind](blocks, place.at, noise)
        return _numbered(blocks)

    def two_looks(self, chance: random.Random) -> tuple[list[Block], list[Block]]:
        """Looks in which every place of noise differs; equal draws teach nothing and are another matter."""
        first = self.look(chance)
        drawn = self.drawn
        for _ in range(50):
            second = self.look(chance)
            if all(one != other for one, other in zip(drawn, self.drawn, strict=True)):
                break
        return first, second


def word(r: random.Random) -> str:
    return "".join(r.choice(SYLLABLES) for _ in range(r.randint(1, 4)))


def sentence(r: random.Random, low: int = 5, high: int = 18) -> str:
    words = [word(r) for _ in range(r.randint(low, high))]
    if r.random() < 0.3:
        words.insert(
            r.randrange(len(words)), r.choice(["25 %", "1. siječnja 2026.", "12,50 EUR", "čl. 4", "2026"])
        )
    return " ".join(words).capitalize() + "."


def page(r: random.Random, size: int) -> Page:
    """Unnumbered tags; numbers are given when a look is rendered."""
    content: list[Block] = []
    for part in range(size):
        container = r.choice(["main/section", "main/div", "main"]) + f"#{part // 4}"
        tag = r.choice(["p", "p", "p", "h2", "ul/li", "table/tbody/tr/td"])
        tag = tag.replace("ul/", f"ul#{part // 4}/").replace("tbody/tr/", f"tbody#{part // 4}/tr#{part}/")
        content.append((f"{container}/{tag}", sentence(r)))
    return Page(content)


def random_draw(r: random.Random) -> Callable[[random.Random], str]:
    """A way to draw noise that is made up here: alphabet, length, format."""
    style = r.randrange(9)
    if style == 0:
        top = 10 ** r.randint(2, 9)
        return lambda c: str(c.randrange(top // 10, top))
    if style == 1:
        alphabet = r.choice(
            [string.hexdigits.lower()[:16], string.ascii_letters + string.digits, "αβγδ0123456789"]
        )
        length = r.randint(8, 40)
        return lambda c: "".join(c.choice(alphabet) for _ in range(length))
    if style == 2:
        return lambda c: f"{c.randint(1, 28):02d}.{c.randint(1, 12):02d}.{c.randint(2001, 2039)}."
    if style == 3:
        return lambda c: f"{c.randrange(24):02d}:{c.randrange(60):02d}"
    if style == 4:
        low = r.randint(1, 6)
        return lambda c: " ".join(word(c) for _ in range(c.randint(low, low + 6)))
    if style == 5:
        pool = [sentence(r, 3, 9) for _ in range(r.randint(40, 60))]
        return lambda c: c.choice(pool)
    if style == 6:
        symbols = "".join(r.sample("§¤¶†‡◊∞#~^*", 4))
        length = r.randint(6, 14)
        return lambda c: "".join(
            c.choice(symbols + string.ascii_lowercase + string.digits) for _ in range(length)
        )
    if style == 7:
        return lambda c: f"{c.randrange(1, 999)}.{c.randrange(1000):03d},{c.randrange(100):02d}"
    groups = r.randint(2, 5)
    return lambda c: "-".join(f"{c.randrange(65536):04x}" for _ in range(groups))


def add_noise(page: Page, r: random.Random, kinds: tuple[str, ...]) -> None:
    used: set[int] = set()
    for kind in kinds:
        free = [at for at in range(1, len(page.content)) if not used & set(range(at - 1, at + 2))]
        if not free:
            return
        at = r.choice(free)
        used.add(at)
        page.places.append(Place(kind, at, MAKE[kind](r)))


def _inside(r: random.Random) -> Callable[[random.Random], object]:
    draw, where = random_draw(r), r.choice(["start", "middle", "end"])
    label = r.choice(["", f"{word(r)}: ", f"({word(r)}) "])
    return lambda c: (where, label + draw(c))


def _whole(r: random.Random) -> Callable[[random.Random], object]:
    draw = random_draw(r)
    return lambda c: draw(c)


def _banner(r: random.Random) -> Callable[[random.Random], object]:
    low, high = r.randint(0, 1), r.randint(2, 5)
    tag = r.choice(["p", "ul/li", "a"])
    return lambda c: [(tag, sentence(c)) for _ in range(c.randint(low, high))]


def _optional(r: random.Random) -> Callable[[random.Random], object]:
    """There in every second look: two looks that agree teach nothing, so it alternates."""
    shown = [r.random() < 0.5]
    text = sentence(r)

    def draw(c: random.Random) -> object:
        shown[0] = not shown[0]
        return [text] if shown[0] else []

    return draw


def _shuffle(r: random.Random) -> Callable[[random.Random], object]:
    items = [sentence(r, 3, 8) for _ in range(r.randint(4, 9))]
    return lambda c: c.sample(items, len(items))


def _put_inside(blocks: list[Block], at: int, noise: Any) -> list[Block]:
    path, text = blocks[at]
    where, shown = noise
    if where == "start":
        text = f"{shown} {text}"
    elif where == "end":
        text = f"{text} {shown}"
    else:
        words = text.split()
        half = len(words) // 2
        text = " ".join([*words[:half], shown, *words[half:]])
    return [*blocks[:at], (path, text), *blocks[at + 1 :]]


def _put_whole(blocks: list[Block], at: int, noise: Any) -> list[Block]:
    path = blocks[at][0].rpartition("/")[0] + "/p"
    return [*blocks[:at], (path, str(noise)), *blocks[at:]]


def _put_banner(blocks: list[Block], at: int, noise: Any) -> list[Block]:
    new = [(f"main/aside#n{at}/{tag}", text) for tag, text in noise]
    return [*blocks[:at], *new, *blocks[at:]]


def _put_optional(blocks: list[Block], at: int, noise: Any) -> list[Block]:
    path = blocks[at][0]
    return [*blocks[:at], *[(path, text) for text in noise], *blocks[at:]]


def _put_shuffle(blocks: list[Block], at: int, noise: Any) -> list[Block]:
    new = [(f"main/ol#n{at}/li", text) for text in noise]
    return [*blocks[:at], *new, *blocks[at:]]


MAKE = {"inside": _inside, "whole": _whole, "banner": _banner, "optional": _optional, "shuffle": _shuffle}
PUT = {
    "inside": _put_inside,
    "whole": _put_whole,
    "banner": _put_banner,
    "optional": _put_optional,
    "shuffle": _put_shuffle,
}


def _numbered(blocks: list[Block]) -> list[Block]:
    """Sibling numbers as a parser would give them: "div#3" is the element 3, a leaf is always a new one."""
    known: dict[str, str] = {"": ""}
    counts: dict[tuple[str, str], int] = {}
    out: list[Block] = []
    for number, (path, text) in enumerate(blocks):
        steps = path.split("/")
        steps[-1] += f"#leaf{number}"
        for depth in range(1, len(steps) + 1):
            here, above = "/".join(steps[:depth]), known["/".join(steps[: depth - 1])]
            if here not in known:
                tag = steps[depth - 1].partition("#")[0]
                counts[above, tag] = counts.get((above, tag), 0) + 1
                step = tag if counts[above, tag] == 1 else f"{tag}[{counts[above, tag]}]"
                known[here] = f"{above}/{step}" if above else step
        out.append((known["/".join(steps)], text))
    return out
