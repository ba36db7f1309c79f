"""Quotes: does a page say this, and which words of it show best what is odd about it?

A quote counts only if the stored text has it, sign by sign; runs of white space are one space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from vedette.contracts.findings import Quote
from vedette.contracts.oddness import Family
from vedette.core.oddness.old_customs import customs_in

LEAST, MOST = 12, 180  # characters of a quote
MOST_TEXT = 40_000  # characters of a page that quotes are looked for in
MOST_SEGMENTS = 400
_SPACE = re.compile(r"\s+")
_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_YEAR = re.compile(r"(?<!\d)(19[5-9]\d|20[0-4]\d)(?!\d)")


def tidy(text: str) -> str:
    """The form in which texts and quotes are compared, and in which a quote's place counts."""
    return _SPACE.sub(" ", text).strip()


def find_quote(words: str, text: str) -> Quote | None:
    """The quote where the tidy text has it; None: it does not, or the quote is too short to mean anything."""
    wanted = tidy(words)
    if len(wanted) < LEAST:
        return None
    at = text.find(wanted)
    return None if at < 0 else Quote(wanted, at)


def telling(text: str, family: Family, known: Mapping[str, int], taken: set[int]) -> Quote | None:
    """The passage that shows best what a family of features says.

    `text`: line by line, as it is stored.  `known`: how many other texts have a word.  `taken`: where passages begin
    that were quoted before.
    """
    score = _SCORES.get(family, _opens)
    best: tuple[float, int, str] | None = None
    for n, (at, part) in enumerate(segments(text)):
        worth = score(part, n, known) - (0.5 if at in taken else 0.0)
        if best is None or worth > best[0]:
            best = (worth, at, part)
    if best is None:
        return None
    taken.add(best[1])
    return Quote(best[2], best[1])


def segments(text: str) -> Iterator[tuple[int, str]]:
    """Sentences of each line, and pieces of what has no end, each with its place in the tidy text."""
    begin, found = 0, 0
    for line in map(tidy, text[:MOST_TEXT].splitlines()):
        for at, part in _parts(line):
            if len(part) >= LEAST and found < MOST_SEGMENTS:
                found += 1
                yield begin + at, part
        begin += len(line) + 1 if line else 0
    if not found and (whole := tidy(text[:MOST_TEXT])):
        yield 0, _cut(whole[:MOST], is_all=len(whole) <= MOST)


def _parts(line: str) -> Iterator[tuple[int, str]]:
    at = 0
    for sentence in _END.split(line):
        end = at + len(sentence)
        while at < end:
            part = _cut(line[at : min(at + MOST, end)], is_all=end - at <= MOST)
            yield at, part
            at += len(part) + (at + len(part) < end and line[at + len(part)] == " ")
        at = end + 1


def _cut(part: str, *, is_all: bool) -> str:
    """At a space, where it goes on."""
    if is_all:
        return part
    end = part.rfind(" ")
    return part[:end] if end > LEAST else part


def _rare(part: str, n: int, known: Mapping[str, int]) -> float:
    """Words that no other text has; whole sentences before lists."""
    words = _WORD.findall(part.lower())
    if len(words) < 4:
        return 0.0
    rare = sum(1.0 / (1 + known.get(word, 0)) for word in words) / len(words)
    return rare + 0.3 * min(1.0, len(words) / 12) + 0.1 * (part[-1] in ".!?")


def _drawn(part: str, n: int, known: Mapping[str, int]) -> float:
    """Digits, signs, capitals."""
    signs = sum(not char.isalpha() and not char.isspace() and char not in ".,-" for char in part)
    capitals = sum(char.isupper() for char in part)
    return (signs + 0.7 * capitals) / len(part) + 0.2 * min(1.0, len(part) / 60)


def _old(part: str, n: int, known: Mapping[str, int]) -> float:
    """Customs of an older web, and years."""
    years = [int(year) for year in _YEAR.findall(part)]
    return min(3, customs_in(part.lower())) + (max(0.0, (2030 - min(years)) / 60) if years else 0.0)


def _opens(part: str, n: int, known: Mapping[str, int]) -> float:
    """How the page begins."""
    return _rare(part, n, known) - 0.05 * n


_SCORES: Mapping[Family, Callable[[str, int, Mapping[str, int]], float]] = {
    Family.FORM: _drawn,
    Family.AGE: _old,
    Family.WORDS: _rare,
    Family.PHRASES: _rare,
}
