"""The quality of an answer: its flag, and what can be counted in it.

The first rule that holds names the flag (the column `quality_flag`):
- empty: no letter and no digit;
- refusal: at most 400 characters, and a phrase of `_REFUSALS` (English, Croatian) within the first 160;
- truncated: the provider says that it ran out of tokens, or a filter cut it;
- off-topic: names neither the domain nor its name (nor its initials), and shares no word of five letters or more
  with the question, compared by their first five letters;
- duplicate: the same text, the domain's own name left out, was this model's answer about another domain;
- ok.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache

import xxhash

from vedette.contracts.panel_run import QualityFlag

REFUSAL_CHARS = 400  # a refusal is short; a long text that begins with "sorry" goes on to answer
REFUSAL_WITHIN = 160
STEM = 5
SHORTEST_NAME = 3
_HOLE = "\0"  # where the domain itself stood
CUT = frozenset(("length", "filter"))
MOST_REMEMBERED = 200_000
_ANY = re.compile(r"\w")
_WORD = re.compile(r"[^\W\d_]+")
_REFUSALS = re.compile(
    r"\bi(?:'m| am) (?:sorry|afraid)\b.{0,40}\b(?:can(?:'|no)?t|cannot|unable|not able)\b"
    r"|\bi (?:can(?:'|no)?t|cannot|won't|will not|must decline to)\s+(?:\w+\s+)?"
    r"(?:assist|help|provide|answer|comply|discuss|fulfil|share|do that|engage|continue)"
    r"|\bi(?:'m| am) (?:unable|not able) to (?:assist|help|provide|answer|comply|discuss|share)"
    r"|\bas an ai(?: language model)?,? i (?:can(?:'|no)?t|cannot|am not able|don't)"
    r"|\b(?:žao mi je|nažalost|ispričavam se|oprostite)\b.{0,40}\bne (?:mogu|smijem)\b"
    r"|\bne (?:mogu|smijem) (?:vam )?(?:pomoći|odgovoriti|pružiti|dati|raspravljati|udovoljiti)"
    r"|\bnisam u mogućnosti (?:pomoći|odgovoriti|pružiti|dati)"
    r"|\bkao (?:ai|jezični model|umjetna inteligencija)\b.{0,40}\bne mogu\b",
    re.DOTALL,
)
_MARKS = (
    "can't",
    "cant",
    "cannot",
    "unable",
    "not able",
    "won't",
    "will not",
    "decline",
    "don't",
    "ne mogu",
    "ne smijem",
    "nisam u",
)  # no refusal is without one; looked for first, because it is cheap
# Stems that are in every question and in every text.
_COMMON = frozenset(
    "about after again being could every other shoul their there these thing those under where which while "
    "would kakav kakva kakvo nešto njiho ovako sada svaka svaki takav takva treba zašto".split()
)
# Labels that say what kind of name it is, not whose.
_KINDS = frozenset("www co com net org gov edu ac info biz vlada".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAnswer:
    """What the answer answers."""

    domain: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What can be counted in one answer; each is a column."""

    chars: int
    words: int  # runs of letters
    mentions: int  # of the domain, or of its name as a word
    citations: int
    own_citations: int  # of pages on the domain itself


def flag_of(text: str, asked: AskedAnswer, *, finish: str = "", is_repeated: bool = False) -> QualityFlag:
    """The first rule that holds."""
    if not _ANY.search(text):
        return QualityFlag.EMPTY
    if is_refusal(text):
        return QualityFlag.REFUSAL
    if finish in CUT:
        return QualityFlag.TRUNCATED
    if not is_on_topic(text, asked):
        return QualityFlag.OFF_TOPIC
    return QualityFlag.DUPLICATE if is_repeated else QualityFlag.OK


def scores_of(text: str, domain: str, citations: tuple[str, ...] = ()) -> Scores:
    return Scores(
        chars=len(text),
        words=len(_WORD.findall(text)),
        mentions=_mentions(text, domain),
        citations=len(citations),
        own_citations=sum(_is_on(url, domain) for url in citations),
    )


def is_refusal(text: str) -> bool:
    if len(text) > REFUSAL_CHARS:
        return False
    head = text[:REFUSAL_WITHIN].casefold().replace("\u2019", "'")
    return any(mark in head for mark in _MARKS) and _REFUSALS.search(head) is not None


def is_on_topic(text: str, asked: AskedAnswer) -> bool:
    """Cheap checks first; a text that could be about the domain is taken to be."""
    folded = text.casefold()
    if asked.domain.casefold() in folded or _mentions(text, asked.domain):
        return True
    name = name_of(asked.domain)
    bare = name.replace("-", "")
    if bare and (bare in folded.replace(" ", "") or bare in _initials(folded)):
        return True
    stems = _stems(asked.text.replace(asked.domain, " "))
    return not stems or not stems.isdisjoint(_stems(text))


class Repeats:
    """Remembers what each model said about whom, as far as needed to know a canned answer.  Bounded."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._first: OrderedDict[int, str] = OrderedDict()

    def is_repeated(self, model: str, prompt_type: str, domain: str, text: str) -> bool:
        """True: this model has said the same about another domain.  Remembers it otherwise."""
        key = text_key(f"{model}\n{prompt_type}\n", domain, text)
        before = self._first.setdefault(key, domain)
        if len(self._first) > self._most:
            self._first.popitem(last=False)
        return before != domain


def text_key(salt: str, domain: str, text: str) -> int:
    """Equal for texts that differ only in white space, case and the domain's own name."""
    whole, name = domain.casefold(), name_of(domain)
    said = text.casefold().replace(whole, " ")
    for start, end in reversed(_named(name, said)):
        said = f"{said[:start]} {said[end:]}"
    return xxhash.xxh3_64_intdigest((salt + " ".join(said.split())).encode())


def is_named(text: str, domain: str) -> bool:
    """True where the text names the domain, or the domain's name as words of its own."""
    return _mentions(text, domain) > 0


def _mentions(text: str, domain: str) -> int:
    folded, whole = text.casefold(), domain.casefold()
    if not whole:
        return 0
    return folded.count(whole) + len(_named(name_of(domain), folded.replace(whole, _HOLE)))


@lru_cache(maxsize=65_536)
def name_of(domain: str) -> str:
    """`porezna-uprava` of porezna-uprava.gov.hr: the last label that says whose it is."""
    labels = [label for label in domain.casefold().split(".")[:-1] if label not in _KINDS]
    return labels[-1] if labels else ""


def _named(name: str, folded: str) -> list[tuple[int, int]]:
    """Where the name stands as words of its own, not as part of another name.

    A search by hand for a name of one word: a pattern per domain would cost a millisecond to compile, each time that
    a cache of 10,000 domains has lost it.
    """
    first = name.partition("-")[0]
    if len(name) < SHORTEST_NAME or not first or first not in folded:
        return []
    if first != name:
        return [match.span() for match in _pattern(name).finditer(folded)]
    spans, at = [], folded.find(name)
    while at >= 0:
        end = at + len(name)
        after = folded[end : end + 2]
        is_part = (at and _is_part(folded[at - 1], ".-")) or (after and _is_part(after[0], "-"))
        if not is_part and not (after[:1] == "." and _is_part(after[1:], "")):
            spans.append((at, end))
        at = folded.find(name, end)
    return spans


def _is_part(char: str, more: str) -> bool:
    """A letter, a digit, an underscore, or one of these."""
    return bool(char) and (char.isalnum() or char == "_" or char in more)


@lru_cache(maxsize=65_536)
def _pattern(name: str) -> re.Pattern[str]:
    """The words of a name with hyphens, with hyphens or white space between them."""
    words = r"[\s-]+".join(map(re.escape, filter(None, name.split("-"))))
    return re.compile(rf"(?<![\w.-]){words}(?![\w-]|\.\w)")


def _initials(folded: str) -> str:
    return "".join(word[0] for word in _WORD.findall(folded))


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in _WORD.findall(text.casefold()) if len(word) >= STEM} - _COMMON


def _is_on(url: str, domain: str) -> bool:
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].casefold()
    return host == domain.casefold() or host.endswith("." + domain.casefold())
