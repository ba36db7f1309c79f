"""Do two answers to one question say the same?  Two samples of one model word it differently; that is no difference.

The first rule that holds names the difference:
- about: one is about its domain and the other about another one of the cohort;
- length: one is more than 40 % shorter; cut: one breaks off in the middle of a sentence;
- number, negation: sentences that are alike but for a number, or for a "not" (also as a prefix: unreliable);
- words: too few words in common.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vedette.core.panel.agreement import similarity, words
from vedette.core.panel.quality import is_named, name_of

ALIKE = 0.35  # words in common; two samples of one model about one domain share more
LENGTH = 0.6  # the shorter of two answers has at least this share of the longer
SHORTEST = 40  # characters; lengths of shorter answers say nothing
CUT = 0.85  # one that breaks off and is shorter than this was cut
SENTENCE_ALIKE = 0.75
MOST_SENTENCES = 60
MOST_TEXTS = 0.05  # a name that is in more of the answers is a word like any other
# Each of these reads a text once, however long its words are.
_HOST = re.compile(r"[\w.-]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_WORD = re.compile(r"[^\W_]+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"[.,](\d{3})")
_TAIL = re.compile(r"[^\d.,:].*$")
_ENDS = "…:;)]\"'»“”*|`>.!?"
_NOT = frozenset(
    "not no never none nothing nobody neither nor without cannot hardly ne nije nisu nisam nema nemaju nikad "
    "nikada ništa nitko niti ni bez neće nemoj nicht kein keine nie pas jamais".split()
)
_AUXILIARY = frozenset("do does did".split())
_PREFIXES = ("un", "in", "im", "ir", "dis", "non", "ne")


@dataclass(frozen=True, slots=True)
class Subjects:
    """Which answers name which domain of the cohort.  Names that are ordinary words are not taken for one."""

    names: Mapping[str, str] = field(
        default_factory=dict
    )  # domain in lower case, or its distinctive name -> domain

    def of(self, text: str) -> frozenset[str]:
        folded = text.casefold()
        said = {word.strip(".-") for word in _HOST.findall(folded)} | set(_WORD.findall(folded))
        return frozenset(self.names[word] for word in said if word in self.names)


def subjects(domains: Iterable[str], texts: Sequence[str]) -> Subjects:
    """The domains of a cohort, as its answers may call them."""
    known = {domain.casefold(): domain for domain in domains}
    count: Counter[str] = Counter()
    for text in texts:
        count.update(set(_WORD.findall(text.casefold())))
    most = max(MOST_TEXTS, 3 / max(1, len(known))) * len(texts)
    owners: dict[str, set[str]] = {}
    for domain in known.values():
        owners.setdefault(name_of(domain), set()).add(domain)
    for name, owned in owners.items():
        if len(name) > 3 and len(owned) == 1 and 0 < count[name] <= most:
            known.setdefault(name, next(iter(owned)))
    return Subjects(known)


def difference(
    one: str, two: str, *, domain: str, known: Subjects, alike: float = ALIKE
) -> tuple[str, float]:
    """Why they do not say the same, and their words in common; no reason: they do."""
    if one == two:
        return "", 1.0
    likeness = similarity(words(one), words(two))
    if _subject(one, domain, known) != _subject(two, domain, known):
        return "about", likeness
    if (why := _shorter(one, two)) or (why := _contradiction(one, two)):
        return why, likeness
    return ("words" if likeness < alike else ""), likeness


def _subject(text: str, domain: str, known: Subjects) -> frozenset[str]:
    """Empty: its own domain, or nobody of the cohort.  Whoever names its own may name others beside it."""
    if not domain or is_named(text, domain):
        return frozenset()
    return known.of(text) - {domain}


def _shorter(one: str, two: str) -> str:
    short, long = sorted((one.strip(), two.strip()), key=len)
    if len(long) < SHORTEST:
        return ""
    if len(short) < LENGTH * len(long):
        return "length"
    is_shorter = len(short) < CUT * len(long)
    return "cut" if (is_shorter or long.startswith(short)) and _breaks_off(short, long) else ""


def _breaks_off(short: str, long: str) -> bool:
    """In the middle of a sentence, where the other ends one.  The last line of a list is no sentence."""
    last = short.rpartition("\n")[2]
    is_prose = len(last.split()) >= 4 and not last.lstrip().startswith(("-", "*", "•", "|"))
    return is_prose and short[-1] not in _ENDS and long[-1] in _ENDS


@dataclass(frozen=True, slots=True)
class _Sentence:
    bag: Counter[str]  # without numbers and negations
    numbers: Counter[str]
    negations: int


def _contradiction(one: str, two: str) -> str:
    """Sentences that say the same but for a number or a negation."""
    mine, theirs = _sentences(one), _sentences(two)
    by_words: dict[frozenset[tuple[str, int]], list[_Sentence]] = {}
    for sentence in theirs:
        by_words.setdefault(frozenset(sentence.bag.items()), []).append(sentence)
    for sentence in mine:
        same = by_words.get(frozenset(sentence.bag.items()))
        near = same or _nearest(sentence, theirs)
        if near and (why := _conflict(sentence, near)):
            return why
    return ""


def _sentences(text: str) -> list[_Sentence]:
    folded = text.casefold().replace("\u2019", "'").replace("n't", " not").replace("cannot", "can not")
    found = (_sentence(_WORD.findall(part)) for part in _SENTENCE.split(folded)[:MOST_SENTENCES])
    return [one for one in found if one.bag.total() >= 2]


def _sentence(parts: Sequence[str]) -> _Sentence:
    numbers = Counter(_number(part) for part in parts if part[0].isdigit())
    negations = sum(part in _NOT for part in parts)
    kept = [part for part in parts if not (part in _NOT or part in _AUXILIARY or part[0].isdigit())]
    return _Sentence(Counter(kept), numbers, negations)


def _number(part: str) -> str:
    """1,200 and 1.200 are 1200; 10th is 10."""
    return _TAIL.sub("", _THOUSANDS.sub(r"\1", part))


def _nearest(sentence: _Sentence, others: Sequence[_Sentence]) -> list[_Sentence]:
    near = [(similarity(sentence.bag, other.bag), n) for n, other in enumerate(others)]
    best = max(near, default=(0.0, 0))
    return [others[best[1]]] if best[0] >= SENTENCE_ALIKE else []


def _conflict(one: _Sentence, others: Sequence[_Sentence]) -> str:
    """Against all that are worded alike: one that agrees is enough."""
    reasons = [_conflicts(one, other) for other in others]
    return "" if "" in reasons else reasons[0]


def _conflicts(one: _Sentence, two: _Sentence) -> str:
    if one.numbers != two.numbers and one.numbers and two.numbers:
        return "number"
    turned = _turned(one.bag - two.bag, two.bag - one.bag)
    return "negation" if (one.negations + two.negations + turned) % 2 else ""


def _turned(mine: Counter[str], theirs: Counter[str]) -> int:
    """Words that are the other's with a negating prefix."""
    pairs = ((a, b) for a in mine for b in theirs)
    return sum(any(a == prefix + b or b == prefix + a for prefix in _PREFIXES) for a, b in pairs)
