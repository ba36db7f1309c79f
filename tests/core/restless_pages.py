"""Pages on which much varies by itself, made up from a seed: what a look shows, what is edited, and what is noise.

Shares no code and no word list with what it tests.  Noise stands in the same tags as content, at fixed or changing
positions, so that a place alone never tells one from the other.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field

SYLLABLES = (
    "ba ce di fo gu ha je ki lo mu na pe ri so tu va ze ško čla žu đe ran tik mor stel win par".split()
)
Draw = Callable[[random.Random, int, float], list[str]]  # chance, number of the look, hour: lines of HTML


def word(r: random.Random) -> str:
    return "".join(r.choice(SYLLABLES) for _ in range(r.randint(1, 4)))


def sentence(r: random.Random, low: int = 4, high: int = 20) -> str:
    words = [word(r) for _ in range(r.randint(low, high))]
    for _ in range(r.choice([0, 0, 1, 2])):
        number = r.choice(
            [
                "25 %",
                "12,50 EUR",
                str(r.randint(2, 9000)),
                "1. 3. 2026.",
                f"{r.randint(1, 99)}.{r.randint(0, 99)}",
            ]
        )
        words.insert(r.randrange(len(words)), number)
    return " ".join(words).capitalize() + "."


def token(r: random.Random) -> str:
    alphabet = r.choice(["0123456789abcdef", string.ascii_lowercase + string.digits, string.digits])
    return "".join(r.choice(alphabet) for _ in range(r.randint(5, 24)))


@dataclass
class Unit:
    """One thing that varies by itself."""

    kind: str
    draw: Draw
    at: int | None  # index among the content; None: anywhere, at each look anew
    frozen: list[str] | None = None  # an editor replaced it for good


@dataclass
class RestlessPage:
    content: list[str]  # HTML of each content block
    units: list[Unit] = field(default_factory=list)
    wrap: str = "main"
    number: int = 0

    def look(self, r: random.Random, hour: float) -> str:
        self.number += 1
        parts: list[tuple[float, str]] = [(float(at), html) for at, html in enumerate(self.content)]
        for order, unit in enumerate(self.units):
            at = unit.at if unit.at is not None else r.randrange(len(self.content) + 1)
            lines = unit.frozen if unit.frozen is not None else unit.draw(r, self.number, hour)
            parts += [(at - 0.5 + order / 1000, html) for html in lines]
        body = "\n".join(html for _, html in sorted(parts, key=lambda part: part[0]))
        head = "<!doctype html><html><head><title>t</title></head>"
        return f"{head}<body><{self.wrap}>{body}</{self.wrap}></body></html>"


def kept(page: RestlessPage, minutes: float) -> Callable[[random.Random, float], str]:
    """The looks at a page behind a cache, which gives the same answer for so many minutes."""
    copy: tuple[float, str] | None = None

    def look(r: random.Random, hour: float) -> str:
        nonlocal copy
        if copy is None or hour - copy[0] >= minutes / 60:
            copy = (hour, page.look(r, hour))
        return copy[1]

    return look


KINDS = (
    "counter id date quote ads rotating shuffled subset ab sometimes word number views ago boxes sometimes_new mixed"
).split()


def make_page(seed: int, *, only: str | None = None) -> RestlessPage:
    """A page with two to seven things that vary; with `only`, one of that kind."""
    r = random.Random(f"page {seed} {only}" if only else f"page {seed}")
    tags = r.choice(
        [["p"], ["p", "div"], ["div"], ["p", "li", "h3"], ["section"], ["p", "blockquote", "div"]]
    )
    content = [f"<h1>{sentence(r, 2, 6)}</h1>"]
    content += [_tagged(r.choice(tags), sentence(r)) for _ in range(r.randint(5, 30))]
    if r.random() < 0.5:
        rows = "".join(
            f"<tr><td>{sentence(r, 1, 3)}</td><td>{r.randint(1, 500)},{r.randint(10, 99)}</td></tr>"
            for _ in range(r.randint(3, 9))
        )
        content.append(f"<table>{rows}</table>")
    if r.random() < 0.5:
        content.append(
            "<ul>" + "".join(f"<li>{sentence(r, 2, 6)}</li>" for _ in range(r.randint(3, 8))) + "</ul>"
        )
    page = RestlessPage(content, wrap=r.choice(["main", "main", "article", "div"]))
    for _ in range(1 if only else r.randint(2, 7)):
        kind = only or r.choice(KINDS)
        at = r.randrange(1, len(content) + 1)
        is_loose = kind in ("ads", "sometimes_new") and r.random() < 0.2
        page.units.append(Unit(kind, MAKE[kind](r, r.choice(tags)), None if is_loose else at))
    return page


def edit_steady(page: RestlessPage, r: random.Random) -> str:
    """An editor changes a number or a word in a line that never varied.  What it says now."""
    while True:
        at = r.randrange(len(page.content))
        html = page.content[at]
        pattern = r.choice([r"(?<=[ >])\d+(?=[ <.])(?=[^<>]*<)", r"(?<= )[a-zčšđž]{3,}(?=[^<>]*<)"])
        found = list(re.finditer(pattern, html))
        if found:
            one = r.choice(found)
            new = (
                str(int(one[0]) + r.choice([1, 7, 120]))
                if one[0].isdigit()
                else f"izmjena{r.randrange(1000)}"
            )
            page.content[at] = html[: one.start()] + new + html[one.end() :]
            return new


def end_unit(page: RestlessPage, r: random.Random) -> str:
    """An editor puts a text for good where something varied.  The text."""
    unit = r.choice(page.units)
    text = sentence(r, 6, 9)
    unit.frozen, unit.at = [_tagged("p", text)], unit.at or 1
    return text


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>{text}</{tag}>"


def _counter(r: random.Random, tag: str) -> Draw:
    label, tail, state = (
        sentence(r, 1, 3).rstrip("."),
        r.choice(["", " " + word(r)]),
        [r.randint(1, 10 ** r.randint(1, 6))],
    )

    def draw(c: random.Random, number: int, hour: float) -> list[str]:
        state[0] += c.randint(1, 40)
        return [_tagged(tag, f"{label}: {state[0]:,}{tail}")]

    return draw


def _id(r: random.Random, tag: str) -> Draw:
    label, kind = sentence(r, 1, 4).rstrip("."), r.random()
    return lambda c, number, hour: [
        _tagged(tag, f"{label} {token(c)}" if kind < 0.7 else f"{token(c)} {label}")
    ]


def _date(r: random.Random, tag: str) -> Draw:
    label = sentence(r, 1, 3).rstrip(".")
    form = r.choice(["{d}.{m}.2026. {h:02}:{n:02}", "2026-{m:02}-{d:02} {h:02}:{n:02}:{s:02}", "{h}:{n:02}"])

    def draw(c: random.Random, number: int, hour: float) -> list[str]:
        shown = form.format(
            d=int(hour // 24) % 28 + 2, m=11, h=int(hour) % 24, n=int(hour * 60) % 60, s=c.randrange(60)
        )
        return [_tagged(tag, f"{label} {shown}")]

    return draw


def _quote(r: random.Random, tag: str) -> Draw:
    pool = [sentence(r) for _ in range(r.choice([2, 3, 4, 6, 12, 40]))]
    return lambda c, number, hour: [_tagged(tag, c.choice(pool))]


def _ads(r: random.Random, tag: str) -> Draw:
    lines = r.randint(1, 3)
    return lambda c, number, hour: [_tagged(tag, sentence(c, 3, 9)) for _ in range(lines)]


def _rotating(r: random.Random, tag: str) -> Draw:
    pool = [
        [_tagged(tag, sentence(r)) for _ in range(r.randint(1, 3))] for _ in range(r.choice([2, 3, 4, 5, 8]))
    ]
    return lambda c, number, hour: pool[number % len(pool)]


def _shuffled(r: random.Random, tag: str) -> Draw:
    items = [sentence(r, 1, 5) for _ in range(r.randint(4, 12))]

    def draw(c: random.Random, number: int, hour: float) -> list[str]:
        return ["<ul>" + "".join(_tagged("li", item) for item in c.sample(items, len(items))) + "</ul>"]

    return draw


def _subset(r: random.Random, tag: str) -> Draw:
    items = [sentence(r, 1, 5) for _ in range(r.randint(4, 12))]
    shown = r.randint(2, len(items) - 1)
    return lambda c, number, hour: [
        "<ul>" + "".join(_tagged("li", i) for i in c.sample(items, shown)) + "</ul>"
    ]


def _ab(r: random.Random, tag: str) -> Draw:
    share = r.choice([0.5, 0.5, 0.3, 0.2])
    sides = [[_tagged(tag, sentence(r)) for _ in range(r.randint(1, 2))] for _ in range(2)]
    return lambda c, number, hour: sides[c.random() < share]


def _sometimes(r: random.Random, tag: str) -> Draw:
    share = r.choice([0.1, 0.2, 0.5, 0.8, 0.9])
    block = [_tagged(tag, sentence(r)) for _ in range(r.randint(1, 3))]
    return lambda c, number, hour: block if c.random() < share else []


def _sometimes_new(r: random.Random, tag: str) -> Draw:
    share = r.choice([0.2, 0.5, 0.8])
    return lambda c, number, hour: [_tagged(tag, sentence(c))] if c.random() < share else []


def _word(r: random.Random, tag: str) -> Draw:
    left, right = sentence(r, 4, 9).rstrip("."), sentence(r, 4, 9)
    return lambda c, number, hour: [_tagged(tag, f"{left} {word(c)} {right}")]


def _number(r: random.Random, tag: str) -> Draw:
    left, right = sentence(r, 2, 9).rstrip("."), sentence(r, 2, 9)
    return lambda c, number, hour: [
        _tagged(tag, f"{left} {c.randint(1, 99999)} {word(r)} {c.randint(1, 99)} {right}")
    ]


def _views(r: random.Random, tag: str) -> Draw:
    titles = [sentence(r, 2, 5).rstrip(".") for _ in range(r.randint(2, 8))]
    counts = [r.randint(1, 5000) for _ in titles]

    def draw(c: random.Random, number: int, hour: float) -> list[str]:
        for at in range(len(counts)):
            counts[at] += c.choice([0, 0, 1, 3])
        return [_tagged(tag, f"{title} ({count} views)") for title, count in zip(titles, counts, strict=True)]

    return draw


def _ago(r: random.Random, tag: str) -> Draw:
    label = sentence(r, 1, 3).rstrip(".")
    return lambda c, number, hour: [
        _tagged(tag, f"{label} {c.randint(1, 59)} {c.choice(['minutes', 'seconds'])} ago")
    ]


def _boxes(r: random.Random, tag: str) -> Draw:
    boxes = [f"<div><h3>{sentence(r, 1, 3)}</h3><p>{sentence(r)}</p></div>" for _ in range(r.randint(3, 6))]
    return lambda c, number, hour: c.sample(boxes, len(boxes))


def _mixed(r: random.Random, tag: str) -> Draw:
    pool = [sentence(r, 3, 6).rstrip(".") for _ in range(r.randint(2, 4))]
    return lambda c, number, hour: [_tagged(tag, f"{c.choice(pool)} {c.randint(10, 9999)}")]


MAKE: dict[str, Callable[[random.Random, str], Draw]] = {
    "counter": _counter, "id": _id, "date": _date, "quote": _quote, "ads": _ads, "rotating": _rotating,
    "shuffled": _shuffled, "subset": _subset, "ab": _ab, "sometimes": _sometimes, "sometimes_new": _sometimes_new,
    "word": _word, "number": _number, "views": _views, "ago": _ago, "boxes": _boxes, "mixed": _mixed,
}  # fmt: skip
