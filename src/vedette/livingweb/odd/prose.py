"""Sentences from patterns.  A voice is a language, a topic, and the words that only its site has.

A pattern is text with slots (`{n}` noun, `{a}` adjective, `{w}` word of the site, `{p}` person, `{c}` town, `{d}` date,
`{y}` year, `{i}` small number, `{k}` number, `{h}` hour, `{x}` code, `{s}` any usual word, `{z}` a new
name) and choices (`[this|that]`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from vedette.livingweb.chance import Chance
from vedette.livingweb.odd import lexicon
from vedette.livingweb.odd.patterns import ORDINARY

_CUT = re.compile(r"\{(\w)\}|\[([^\]]*)\]")
Bank = dict[str, tuple[str, ...]]  # language -> patterns
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


@dataclass(slots=True)
class Voice:
    """Says things in one language about one topic.  `chance` is used up as it speaks."""

    chance: Chance
    lang: str
    topic: str
    own: tuple[str, ...]  # words of this site alone
    particular: float = 0.15  # how often a noun is one of them
    years: tuple[int, int] = (2015, 2026)
    usual: tuple[str, ...] = ("and",)  # words that may stand on any page
    spent: set[str] = field(default_factory=set)  # patterns that this page has used

    def fill(self, pattern: str) -> str:
        """The pattern with every slot and choice drawn."""
        chance = self.chance
        out = []
        for plain, slot, choices in _parsed(pattern):
            if plain:
                out.append(plain)
            elif slot:
                out.append(_SLOTS[slot](self))
            else:
                chosen = chance.pick(choices)
                out.append(self.fill(chosen) if "{" in chosen else chosen)
        text = "".join(out)
        return text[:1].upper() + text[1:]

    def once(self, bank: Bank) -> str:
        """A pattern of the bank that this page has not used; when there is none, an ordinary sentence."""
        fresh = [pattern for pattern in bank[self.lang] if pattern not in self.spent]
        if not fresh:
            return self.sentence()
        pattern = self.chance.pick(fresh)
        self.spent.add(pattern)
        return self.fill(pattern)

    def sentence(self) -> str:
        return self.fill(self.chance.pick(ORDINARY[self.lang]))

    def paragraph(self, least: int = 2, most: int = 6) -> str:
        return " ".join(self.sentence() for _ in range(self.chance.between(least, most)))

    def noun(self) -> str:
        return _noun(self)

    def title(self) -> str:
        """A few words, as a heading has them."""
        return self.fill(self.chance.pick(_TITLES[self.lang]))


_TITLES = {
    "en": (
        "{a} {n} for the {n}",
        "how to choose a {n}",
        "{n} and {n} in {c}",
        "the {a} {n} {y}",
        "{w}: {n} and {n}",
        "{n} {k}",
        "what the {n} costs",
        "{p} on the {a} {n}",
        "{a} {n}",
        "{c}: {a} {n} for {i} {n}s",
        "{w} {n} {x}",
        "{s} and {n}",
        "{z}",
        "{z} {n}",
        "{s}, {s} and the {n}",
    ),
    "hr": (
        "{a} {n} i {n}",
        "kako odabrati: {n}",
        "{n} i {n}, {c}",
        "{n} za {y}. godinu",
        "{w}: {n} i {n}",
        "{n} {k}",
        "koliko stoji {n}",
        "{p}: {a} {n}",
        "{a} {n}",
        "{c}: {n} i {i} novih",
        "{w} {n} {x}",
        "{s} i {n}",
        "{z}",
        "{z} {n}",
        "{s}, {s} i {n}",
    ),
    "de": (
        "{a} {n} für {n}",
        "so finden Sie: {n}",
        "{n} und {n} in {c}",
        "{n} im Jahr {y}",
        "{w}: {n} und {n}",
        "{n} {k}",
        "was {n} kostet",
        "{p} über {n}",
        "{a} {n}",
        "{c}: {i} Mal {n}",
        "{w} {n} {x}",
        "{s} und {n}",
        "{z}",
        "{z} {n}",
        "{s}, {s} und {n}",
    ),
}


@cache
def _parsed(pattern: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    parts, at = [], 0
    for found in _CUT.finditer(pattern):
        parts.append((pattern[at : found.start()], "", ()))
        slot, choices = found.group(1) or "", tuple((found.group(2) or "").split("|"))
        parts.append(("", slot, choices))
        at = found.end()
    parts.append((pattern[at:], "", ()))
    return tuple(part for part in parts if part[0] or part[1] or part[2])


@cache
def _words(table: str, lang: str, part: str = "") -> tuple[str, ...]:
    rows = getattr(lexicon, table)[lang]
    return tuple((rows[part] if part else rows).split())


def _noun(voice: Voice) -> str:
    kind = voice.chance.unit()
    if kind < voice.particular:
        return voice.chance.pick(voice.own)
    if kind < 0.72:
        return voice.chance.pick(_words("TOPICS", voice.lang, voice.topic))
    return voice.chance.pick(_words("GENERAL", voice.lang))


def compound(chance: Chance, lang: str) -> str:
    """A word that sounds like one of the language and is rare."""
    first, second = lexicon.STEMS[lang]
    middle = chance.pick(first.split()).lower() if chance.happens(0.25) else ""
    return chance.pick(first.split()) + middle + chance.pick(second.split())


def surname(chance: Chance, lang: str) -> str:
    first, second = lexicon.SURNAMES[lang]
    return chance.pick(first.split()) + chance.pick(second.split())


def foreign(chance: Chance, tongue: str, words: int) -> str:
    """So many words of a language that no site of the world speaks."""
    row = [chance.pick(lexicon.FOREIGN[tongue].split()) for _ in range(words)]
    text = " ".join(row)
    return text[:1].upper() + text[1:] + "."


def person(voice: Voice) -> str:
    return f"{voice.chance.pick(_words('FIRST', voice.lang))} {surname(voice.chance, voice.lang)}"


def date(voice: Voice) -> str:
    chance = voice.chance
    day, month = chance.between(1, 28), chance.pick(_words("MONTHS", voice.lang))
    year = chance.between(*voice.years)
    return f"{day} {month} {year}" if voice.lang == "en" else f"{day}. {month} {year}."


def code(voice: Voice) -> str:
    chance = voice.chance
    return f"{chance.text(chance.between(1, 3), _LETTERS)}-{chance.between(10, 9999)}"


_SLOTS: dict[str, Callable[[Voice], str]] = {
    "n": _noun,
    "a": lambda voice: voice.chance.pick(_words("ADJECTIVES", voice.lang)),
    "w": lambda voice: voice.chance.pick(voice.own),
    "p": person,
    "c": lambda voice: voice.chance.pick(_words("TOWNS", voice.lang)),
    "d": date,
    "y": lambda voice: str(voice.chance.between(*voice.years)),
    "i": lambda voice: str(voice.chance.between(2, 12)),
    "k": lambda voice: str(voice.chance.between(13, 9999)),
    "h": lambda voice: f"{voice.chance.between(0, 23):02}:{voice.chance.between(0, 59):02}",
    "x": code,
    "s": lambda voice: voice.chance.pick(voice.usual),
    "z": lambda voice: compound(voice.chance, voice.lang),
}
