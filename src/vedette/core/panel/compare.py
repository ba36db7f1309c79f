"""Compares the rows of a shadow run with the legacy rows: do they agree materially, or are there too few to know.

A pair of rows diverges when one side is missing, when one is usable and the other is not, or when they do not say the
same (below).  Equal texts never diverge, and flags decide only where both sides have one.

The rows are told to differ when so many diverging pairs would be seen with a chance below 1 % if the true share were no
more than what is tolerated (exact binomial, one side).  They are told to agree only when the cohort is large enough to
have found the share that matters (2 %) with 95 % certainty; else the answer is "too few", with the number needed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from vedette.core.panel.agreement import at_least, interval, similarity, words
from vedette.core.panel.quality import is_named, is_refusal, name_of

# Whether two answers to one question say the same.  Two samples of one model are worded differently: no difference.
#
# The first rule that holds names the difference:
# - about: one is about its domain and the other about another one of the cohort;
# - length: one is more than 40 % shorter; cut: one breaks off in the middle of a sentence;
# - number, negation: sentences that are alike but for a number, or for a "not" (also as a prefix: unreliable);
# - words: too few words in common.

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
    """Empty: its own domain, or none of the cohort.  An answer that names its own may name others too."""
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


Key = tuple[str, str, str]  # domain, model, prompt_type


class Match(StrEnum):
    AGREE = "agree"
    DIFFER = "differ"
    TOO_FEW = "too_few"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareParams:
    tolerated: float = 0.005  # share of diverging pairs that a second run of the same pipeline may have
    matters: float = 0.02  # a share that must be found
    sure: float = 0.01  # chance of a false alarm
    power: float = 0.95  # chance of finding what matters
    alike: float = ALIKE


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """What is compared of a stored answer."""

    text: str
    is_flagged_usable: bool | None = None  # None: it has no flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """What one shadow batch asked, by its plan: whether its rows came or not."""

    domains: Mapping[str, str]  # id -> name
    models: frozenset[str]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    key: Key
    why: str  # only_shadow | only_legacy | usable | about | length | cut | number | negation | words
    likeness: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelComparison:
    match: Match
    pairs: int
    diverging: int
    share: float
    low: float  # 95 % interval of the true share
    high: float
    chance: float  # of seeing this much if the true share were the tolerated one
    needed: int  # pairs that a sure answer needs
    by_model: Mapping[str, tuple[int, int]]  # diverging, pairs
    examples: tuple[Divergence, ...]


def compare(
    shadow: Mapping[Key, AnswerRow],
    legacy: Mapping[Key, AnswerRow],
    params: CompareParams | None = None,
    *,
    names: Mapping[str, str] | None = None,
    shown: int = 20,
) -> PanelComparison:
    """Over one cohort.  `names`: the domain of each id."""
    rule = params or CompareParams()
    keys = sorted(shadow.keys() | legacy.keys())
    pairs = _Pairs(shadow, legacy, names or {}, rule.alike)
    found = [d for key in keys if (d := pairs.divergence(key))]
    chance = at_least(len(found), len(keys), rule.tolerated)
    needed = pairs_needed(rule)
    match = Match.DIFFER if chance < rule.sure else Match.AGREE if len(keys) >= needed else Match.TOO_FEW
    low, high = interval(len(found), len(keys))
    return PanelComparison(
        match=match,
        pairs=len(keys),
        diverging=len(found),
        share=len(found) / len(keys) if keys else 0.0,
        low=low,
        high=high,
        chance=chance,
        needed=needed,
        by_model=_by_model(keys, found),
        examples=tuple(found[:shown]),
    )


def cohort(
    shadow: Mapping[Key, AnswerRow], legacy: Mapping[Key, AnswerRow], asked: Sequence[Cohort] = ()
) -> dict[Key, AnswerRow]:
    """The legacy rows that the shadow run had to match: those of the domains, models and prompt types that it planned
    to ask.  Where no plan is known, those it has rows of.  Older rows that name no prompt type are of the only one.
    """
    seen = _as_seen(shadow)
    found: dict[Key, AnswerRow] = {}
    for plan in asked or (seen,):
        only = next((next(iter(kinds)) for kinds in (plan.kinds, seen.kinds) if len(kinds) == 1), "")
        for (domain, model, kind), row in legacy.items():
            key = domain, model, kind or only
            is_asked = domain in plan.domains and model in plan.models and key[2] in plan.kinds
            if is_asked and (kind or key not in legacy):
                found[key] = row
    return found


def _as_seen(shadow: Mapping[Key, AnswerRow]) -> Cohort:
    return Cohort(
        domains={domain: "" for domain, _, _ in shadow},
        models=frozenset(model for _, model, _ in shadow),
        kinds=frozenset(kind for _, _, kind in shadow),
    )


def pairs_needed(rule: CompareParams) -> int:
    """A cohort in which the share that matters is found with the asked certainty, rounded up by at most 2 %."""
    low, high = 1, 64
    while not _finds(high, rule):
        low, high = high, high * 2
        if high > 1 << 24:
            return high
    step = max(1, (high - low) // 64)
    while high - step > 0 and _finds(high - step, rule):
        high -= step
    return high


def _finds(pairs: int, rule: CompareParams) -> bool:
    hits = _alarm_at(pairs, rule)
    return at_least(hits, pairs, rule.matters) >= rule.power


def _alarm_at(pairs: int, rule: CompareParams) -> int:
    """The smallest number of diverging pairs that is an alarm."""
    low, high = 0, pairs + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if at_least(middle, pairs, rule.tolerated) < rule.sure else (middle + 1, high)
        )
    return low


@dataclass(frozen=True, slots=True)
class _Pairs:
    shadow: Mapping[Key, AnswerRow]
    legacy: Mapping[Key, AnswerRow]
    names: Mapping[str, str]
    alike: float
    known: Subjects = field(init=False)

    def __post_init__(self) -> None:
        texts = [row.text for side in (self.shadow, self.legacy) for row in side.values()]
        object.__setattr__(self, "known", subjects(filter(None, self.names.values()), texts))

    def divergence(self, key: Key) -> Divergence | None:
        ours, theirs = self.shadow.get(key), self.legacy.get(key)
        if ours is None or theirs is None:
            return Divergence(key=key, why="only_legacy" if ours is None else "only_shadow")
        if ours.text == theirs.text:
            return None
        if _is_usable(ours, theirs) != _is_usable(theirs, ours):
            return Divergence(key=key, why="usable")
        domain = self.names.get(key[0], "")
        why, likeness = difference(ours.text, theirs.text, domain=domain, known=self.known, alike=self.alike)
        return Divergence(key=key, why=why, likeness=likeness) if why else None


def _is_usable(row: AnswerRow, other: AnswerRow) -> bool:
    """By its flag where both have one, else by its words."""
    if row.is_flagged_usable is not None and other.is_flagged_usable is not None:
        return row.is_flagged_usable
    return bool(row.text.strip()) and not is_refusal(row.text)


def _by_model(keys: Iterable[Key], found: Iterable[Divergence]) -> dict[str, tuple[int, int]]:
    count: dict[str, list[int]] = {}
    for _, model, _ in keys:
        count.setdefault(model, [0, 0])[1] += 1
    for divergence in found:
        count[divergence.key[1]][0] += 1
    return {model: (bad, whole) for model, (bad, whole) in sorted(count.items())}
