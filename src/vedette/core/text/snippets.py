"""Words that somebody looks for: read from what they typed, and found again in a text as parts that are marked."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

AROUND = 70  # characters before and after a word that was found
PLACES = 2  # of a text that are shown
MOST_TERMS = 16
_TYPED = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')
_WORD = re.compile(r"[^\W_]+")
_GAP = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand side by side; the last one may go on."""

    words: tuple[str, ...]
    is_prefix: bool = False
    is_unwanted: bool = False


Part = tuple[bool, str]  # is it what was looked for; the text


def terms_of(typed: str) -> tuple[Term, ...]:
    """`pdv "stopa poreza" obrt* -carina`: all of these, the two side by side, begun so, and not that."""
    found = []
    for minus, quoted, bare in _TYPED.findall(typed):
        words = tuple(_WORD.findall(folded(quoted or bare)))
        if words:
            found.append(Term(words, bool(bare) and bare.endswith("*"), bool(minus)))
    return tuple(found[:MOST_TERMS])


def words_of(text: str) -> list[str]:
    """The words of a text as they are looked for, in order."""
    return _WORD.findall(folded(text))


def folded(text: str) -> str:
    """Small letters without marks, each in the place of its own."""
    return text.lower() if text.isascii() else "".join(map(_plain, text))


def snippet(text: str, terms: tuple[Term, ...]) -> tuple[Part, ...]:
    """The first places of a text that say it; the beginning where none does."""
    wanted = [term for term in terms if not term.is_unwanted]
    plain = folded(text)
    spans = _spans(plain, wanted) if wanted else []
    if not spans:
        return ((False, _short(text, _to_a_word(text, 0, min(len(text), 2 * AROUND)))),)
    parts: list[Part] = []
    for start, end, inside in _windows(spans, len(text)):
        at = start = _from_a_word(text, start, inside[0][0])
        end = _to_a_word(text, inside[-1][1], end)
        parts.append((False, "… " if start > 0 and not parts else ""))
        for begin, stop in inside:
            parts += [(False, text[at:begin]), (True, text[begin:stop])]
            at = stop
        parts.append((False, text[at:end] + (" … " if end < len(text) else "")))
    is_hit, last = parts[-1]
    parts[-1] = (is_hit, last.rstrip(" ") if last.endswith(" … ") else last)
    return tuple((is_hit, " ".join(words.split("\n"))) for is_hit, words in parts if words)


def _spans(plain: str, terms: list[Term]) -> list[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for term in terms:
        words = r"[\W_]+".join(map(re.escape, term.words))
        end = r"[^\W_]*" if term.is_prefix else r"(?![^\W_])"
        for match in re.finditer(rf"(?<![^\W_]){words}{end}", plain):
            found.add(match.span())
            if len(found) > 200:
                break
    return sorted(found)


def _windows(spans: list[tuple[int, int]], size: int) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Places around the words, words that stand near each other in one."""
    made: list[tuple[int, int, list[tuple[int, int]]]] = []
    for begin, stop in spans:
        if made and begin <= made[-1][1]:
            start, end, inside = made[-1]
            if begin >= inside[-1][1]:
                inside.append((begin, stop))
                made[-1] = (start, max(end, min(size, stop + AROUND // 2)), inside)
        elif len(made) < PLACES:
            made.append((max(0, begin - AROUND), min(size, stop + AROUND), [(begin, stop)]))
        else:
            break
    return made


def _from_a_word(text: str, start: int, hit: int) -> int:
    """Behind the word that a place would begin in; where it began when no word ends before the hit."""
    if start == 0 or text[start - 1].isspace():
        return start
    gap = _GAP.search(text, start, hit)
    return start if gap is None else gap.end()


def _to_a_word(text: str, hit: int, end: int) -> int:
    """Before the word that a place would end in."""
    if end == len(text) or text[end].isspace():
        return end
    gaps = list(_GAP.finditer(text, hit, end))
    return gaps[-1].start() if gaps else end


def _short(text: str, end: int) -> str:
    return " ".join(text[:end].split("\n")) + (" …" if end < len(text) else "")


@lru_cache(maxsize=4096)
def _plain(letter: str) -> str:
    base = unicodedata.normalize("NFD", letter)[0].lower()
    return base[0] if base else letter
