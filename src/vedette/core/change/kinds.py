"""What sort of thing is this piece of text: a number, a date, an age ("5 minutes ago"), a rate, a token, words?

Noise keeps its kind: a counter stays a number.  A place whose kind changes says something new.
"""

from __future__ import annotations

import re

from vedette.core.text.dates import read_date

NONE, NUMBER, DATE, TIME, RATE, TOKEN, WORDS, ANY = "none number date time rate token words any".split()
AGE = "age"
ORDER = "order"  # of a container: its children are shuffled
QUIET = "quiet"  # of a whole target: it was looked at twice
ATOMS = frozenset((NUMBER, DATE, TIME, AGE, RATE, TOKEN))
OPTIONAL = "?"  # after a kind: the place may also be empty
LONG_WORD = 30  # characters; no language that we read has longer ones
MONEY = r"%|‰|€|\$|£|EUR\b|HRK\b|USD\b|GBP\b|CHF\b|kn\b|kuna\b|eura?\b|euro\b|percent\b|posto\b"

# "5 minutes ago": before the number, its units, after them.  One row per group of languages.
_AGES = (
    ("", r"s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?|months?|y|yrs?|years?", "ago"),
    ("prije|pre", r"s|sek\w*|min\w*|h|sat\w*|dan\w*|tjed\w*|nedelj\w*|mjesec\w*|mesec\w*|godin\w*", ""),
    ("pred", r"sek\w*|min\w*|ur\w*|dn\w*|ted\w*|mesec\w*|let\w*", ""),
    ("vor", r"sek\w*|min\w*|stunden?|std|tag\w*|wochen?|monat\w*|jahr\w*", ""),
    ("il y a", r"s|sec\w*|min\w*|h|heures?|j|jours?|semaines?|mois|ans?", ""),
    ("hace|há", r"s|seg\w*|min\w*|h|horas?|d[ií]as?|semanas?|mes\w*|a[nñ]os?|anos?", ""),
    ("", r"sec\w*|min\w*|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi]", "fa"),
    ("", r"sek\w*|min\w*|godzin\w*|godz|dni|dzień|tygod\w*|miesi\w*|lat\w*|rok\w*", "temu"),
    ("před", r"sek\w*|min\w*|hod\w*|dn\w*|týdn\w*|měsíc\w*|rok\w*|let\w*", ""),
)  # fmt: skip
_AGE = "|".join(
    rf"\b(?:{before}) \d{{1,3}}\s?(?:{names})\b"
    if before
    else rf"\b(?:\d{{1,3}}|an?|one)\s?(?:{names})\b\.? {after}\b"
    for before, names, after in _AGES
)

_NUMBER = r"[+\-−]?\d+(?:[.,'’\s]\d{3})*(?:[.,]\d+)?"
_UNIT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"  # ISO timestamp
    r"|\d{1,2}\.\s?\d{1,2}\.\s?\d{4}\.?"  # Croatian date, the last full stop included
    rf"|[€$£]\s?\d[\d.,]*\d|[€$£]\s?\d|\d[\d.,]*\s?(?:{MONEY})"  # rates and amounts
    rf"|{_AGE}"
    r"|\w+(?:[.\-_'’@]\w+|(?<=\d)[,/:]\d+|(?<=\d):\w+)*"  # words, numbers, tokens
    r"|\s+|.",
    re.DOTALL | re.IGNORECASE,
)
_IS_RATE = re.compile(rf"^(?:{_NUMBER}\s?(?:{MONEY})|[€$£]\s?{_NUMBER})$", re.IGNORECASE)
_IS_AGE = re.compile(rf"^(?:{_AGE})$", re.IGNORECASE)
_IS_TIME = re.compile(r"^\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?\s?(?:h|am|pm|sati)?$", re.IGNORECASE)
_IS_NUMBER = re.compile(rf"^{_NUMBER}\.?$")
_ACCEPTS = {
    NUMBER: frozenset((NUMBER,)),
    DATE: frozenset((DATE,)),
    TIME: frozenset((TIME,)),
    RATE: frozenset((RATE,)),
    TOKEN: frozenset((TOKEN, NUMBER)),
    WORDS: frozenset((WORDS, TOKEN)),
}


def units(text: str) -> list[str]:
    """The text cut into pieces that change as one: words, whole dates, numbers with their unit, spaces."""
    return _UNIT.findall(text)


def kind_of(text: str) -> str:
    """The kind of a short piece of text."""
    text = text.strip()
    if not text:
        return NONE
    if _IS_RATE.match(text):
        return RATE
    if _IS_TIME.match(text):
        return TIME
    if _IS_AGE.match(text):
        return AGE
    if 8 <= len(text) <= 40 and _is_date(text):
        return DATE
    if _IS_NUMBER.match(text):
        return NUMBER
    return _word_or_token(text)


def joined(first: str, second: str) -> str:
    """One kind for a place that showed both."""
    if NONE in (first, second):
        other = second if first == NONE else first
        return other if other == NONE else other.rstrip(OPTIONAL) + OPTIONAL
    mark = OPTIONAL if OPTIONAL in first + second else ""
    first, second = first.rstrip(OPTIONAL), second.rstrip(OPTIONAL)
    if first == second:
        return first + mark
    if ANY in (first, second):
        return ANY
    return (TOKEN if {first, second} <= {NUMBER, TOKEN} else WORDS) + mark


def accepts(kind: str, text: str) -> bool:
    """May a place of this kind show this text without saying anything new?"""
    if kind == ANY:
        return True
    shown = kind_of(text)
    if shown == NONE:
        return kind.endswith(OPTIONAL)
    kind = kind.rstrip(OPTIONAL)
    if kind == TOKEN and shown == WORDS:
        return " " not in text.strip()
    return shown in _ACCEPTS.get(kind, frozenset((kind,)))


def _is_date(text: str) -> bool:
    """Dates and nothing else: prose that mentions a date is prose."""
    if text.isdigit() or not any(c.isdigit() for c in text):
        return False
    return sum(c.isalpha() for c in text) <= 12 and read_date(text) is not None


def _word_or_token(text: str) -> str:
    if " " in text:
        return _kind_of_parts(text.split())
    core = text.strip(".,;:!?()[]{}\"'„“”«»")
    if len(core) > LONG_WORD:
        return TOKEN
    has_digit = any(c.isdigit() for c in core)
    has_symbol = any(not c.isalnum() and c not in "-'’.&/" for c in core)
    return TOKEN if core and (has_digit or has_symbol) else WORDS


def _kind_of_parts(parts: list[str]) -> str:
    """Numbers when all are, tokens when some are and the others numbers: random hex digits may all be decimal."""
    kinds = set(map(kind_of, parts))
    if not kinds <= {TOKEN, NUMBER}:
        return WORDS
    return TOKEN if TOKEN in kinds else NUMBER
