"""Readable sentences from chance: titles, paragraphs, and the edits that make a new version of a page.

A story has a fixed plan of paragraphs.  Edit number v touches exactly one of them, and the text after it
always differs from the text before it.  Any version is computed directly, without those before it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from string import Formatter

from vedette.livingweb.chance import Chance
from vedette.livingweb.words import (
    BODIES,
    EXTRAS,
    FIGURES,
    FORMS,
    MONTHS,
    OPENINGS,
    PEOPLE,
    SENTENCES,
    SUBJECTS,
    TOWNS,
)

EDITS = ("number", "sentence", "paragraph")  # what a real change may be
FIXED = "fixed"
KNOWN_SENTENCES = 8192


@dataclass(frozen=True, slots=True)
class Story:
    """The text of one page over all its versions."""

    key: tuple[object, ...]
    lang: str
    plan: tuple[str, ...]  # one of EDITS or FIXED per paragraph
    flips: bool = False  # A -> B -> A -> B

    def paragraphs(self, version: int) -> tuple[str, ...]:
        root = Chance(*self.key, "text")
        edits = self._edits_of_each(version)
        return tuple(
            _paragraph(kind, self.lang, root.branch(place), edits[place])
            for place, kind in enumerate(self.plan)
        )

    def edit(self, version: int) -> str:
        """What made this version out of the one before."""
        if version <= 0:
            return "first"
        before, after = self._edits_of_each(version - 1), self._edits_of_each(version)
        return next(self.plan[place] for place in range(len(self.plan)) if before[place] != after[place])

    def _edits_of_each(self, version: int) -> list[int]:
        """How often each paragraph was edited: a round of edits touches each of them once, in mixed order."""
        edits = [0] * len(self.plan)
        if not version:
            return edits
        open_to_edits = [place for place, kind in enumerate(self.plan) if kind != FIXED]
        if self.flips:
            edits[open_to_edits[0]] = version % 2
            return edits
        rounds, rest = divmod(version, len(open_to_edits))
        order = Chance(*self.key, "round", rounds).shuffled(open_to_edits)
        for turn, place in enumerate(order):
            edits[place] = rounds + (turn < rest)
        return edits


def make_story(key: tuple[object, ...], lang: str, *, length: int = 0, flips: bool = False) -> Story:
    """A story of `length` paragraphs (0: chance decides), at least one for each kind of edit."""
    chance = Chance(*key, "plan")
    more = (length or chance.between(4, 8)) - len(EDITS)
    plan = chance.shuffled(
        [*EDITS, *(FIXED if chance.happens(0.7) else chance.pick(EDITS) for _ in range(more))]
    )
    return Story(key, lang, tuple(plan), flips)


def make_title(chance: Chance, lang: str, number: int) -> str:
    return (
        f"{chance.pick(FORMS[lang])} {chance.pick(SUBJECTS[lang])} {number + 1}/{chance.between(2019, 2025)}"
    )


def slug(title: str) -> str:
    """The title as a URL shows it: plain letters, digits, hyphens."""
    plain = unicodedata.normalize("NFKD", title.replace("đ", "d").replace("Đ", "D"))
    kept = [
        letter if letter.isascii() and letter.isalnum() else " " for letter in plain if ord(letter) < 0x300
    ]
    return "-".join("".join(kept).lower().split())


def sentence(chance: Chance, lang: str) -> str:
    """One of the sentences that this web knows; they are made once, because every page needs a dozen."""
    return _known_sentence(lang, chance.below(KNOWN_SENTENCES))


def long_date(t: float, lang: str) -> str:
    """`8. listopada 2026.` or `8 October 2026`."""
    day = datetime.fromtimestamp(t, UTC)
    month = MONTHS[lang][day.month - 1]
    return f"{day.day}. {month} {day.year}." if lang == "hr" else f"{day.day} {month} {day.year}"


@cache
def _known_sentence(lang: str, number: int) -> str:
    chance = Chance("sentence", lang, number)
    return _filled(chance.pick(SENTENCES[lang]), chance, lang)


def _paragraph(kind: str, lang: str, root: Chance, edits: int) -> str:
    chance = root.branch(edits if kind == "paragraph" else 0)
    if kind == "paragraph":
        openings = OPENINGS[lang]
        first = [openings[edits % len(openings)]] if edits else []
        return " ".join(first + [sentence(chance, lang) for _ in range(chance.between(2, 3))])
    lines = [sentence(chance, lang) for _ in range(chance.between(1, 3))]
    if kind == "number":
        value = 2 * root.branch(1, edits).between(50, 45_000) + edits % 2  # odd, even: an edit always shows
        figure = chance.pick(FIGURES[lang]).replace("{figure}", _grouped(value, lang))
        lines.insert(chance.below(len(lines) + 1), figure)
    elif kind == "sentence" and (edits + chance.below(2)) % 2:
        extra = root.branch(2, edits)
        lines.append(_filled(extra.pick(EXTRAS[lang]), extra, lang))
    return " ".join(lines)


def _grouped(value: int, lang: str) -> str:
    return f"{value:,}".replace(",", ".") if lang == "hr" else f"{value:,}"


def _date(chance: Chance, lang: str) -> str:
    day, month, year = chance.between(1, 28), chance.below(12), chance.between(2025, 2027)
    return f"{day}. {MONTHS[lang][month]} {year}." if lang == "hr" else f"{day} {MONTHS[lang][month]} {year}"


_BLANKS: dict[str, Callable[[Chance, str], str]] = {
    "body": lambda chance, lang: chance.pick(BODIES[lang]),
    "subject": lambda chance, lang: chance.pick(SUBJECTS[lang]),
    "town": lambda chance, lang: chance.pick(TOWNS[lang]),
    "person": lambda chance, lang: chance.pick(PEOPLE[lang]),
    "date": _date,
    "n": lambda chance, _: str(chance.between(120, 9800)),
    "m": lambda chance, _: str(chance.between(2, 119)),
    "days": lambda chance, _: str(chance.between(3, 30)),
    "pct": lambda chance, lang: f"{chance.between(1, 39)}{',' if lang == 'hr' else '.'}{chance.below(10)} %",
    "eur": lambda chance, lang: f"{_grouped(chance.between(5, 990) * 50, lang)} EUR",
}


@cache
def _cut(template: str) -> tuple[tuple[str, str | None], ...]:
    return tuple((literal, name) for literal, name, _, _ in Formatter().parse(template))


def _filled(template: str, chance: Chance, lang: str) -> str:
    out = []
    for literal, name in _cut(template):
        out.append(literal)
        if name is not None:
            out.append(_BLANKS[name](chance, lang))
    whole = "".join(out).replace("..", ".")
    return whole[0].upper() + whole[1:]
