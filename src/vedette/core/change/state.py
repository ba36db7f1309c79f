"""Looks at a target as lines known by what they say, wherever they stand, and how lines differ between looks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import re2
import xxhash

from vedette.contracts.change import Block
from vedette.core.change.kinds import ATOMS, WORDS, kind_of, units

# Text without what every answer makes anew: clocks, session ids, tokens (spec 001 `normalizeHtmlContent`).
#
# Conservative on purpose: a calendar date or a rate is content ("od 1. siječnja 2026." is a rule), so
# only clock readings to the second, "generated in" lines and strings that name themselves as session,
# token or request id go, and long random strings that are not announced as a checksum.
# RE2, linear; each pattern runs only when a cheap substring says that it could match.

MIN_RANDOM = 32  # characters of an unnamed token: MD5 in hex; shorter ones are left to learned masks
_BEFORE = 40  # characters in which a checksum announces itself
_CHECKSUM = re2.compile(r"(?i)sha-?\d|md5|checksum|hash|digest|otis(?:ak|ka)|kontroln")
_STAMP = r"[\d.,:/\-TZ+ ]*\d(?: ?(?:ms|s|sec|seconds?|sekund[aei]?|UTC|GMT|CEST|CET))?\b"


class NoisePattern(NamedTuple):
    hints: tuple[str, ...]  # one of these is in every text that can match; lower case
    regex: Any
    put: str


PATTERNS = (
    NoisePattern((":",), re2.compile(r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b"), "<clock>"),
    NoisePattern(
        ("generat", "generir", "render", "executed", "load", "učita", "izvođ", "time", "vrijeme", "refresh"),
        re2.compile(
            r"(?i)\b((?:page |stranica )?(?:generated|generirana|generirano|rendered|executed|loaded|"
            r"učitana|učitano|refreshed)|(?:server|current|load|loading|query|response) time|"
            r"(?:točno|trenutno) vrijeme|vrijeme (?:izvođenja|učitavanja))"
            r"((?: ?(?:at|on|in|u|za|is|je))?:? ?)" + _STAMP
        ),
        r"\1 <stamp>",
    ),
    NoisePattern(
        (
            "sess",
            "sid",
            "csrf",
            "xsrf",
            "token",
            "nonce",
            "request",
            "zahtjev",
            "ray",
            "trace",
            "correlation",
        ),
        re2.compile(
            r"(?i)\b(php_?sess_?id|jsession_?id|session[ _-]?id|sessid|sid|csrf[ _-]?token|csrf|"
            r"xsrf[ _-]?token|xsrf|authenticity[ _-]token|nonce|"
            r"(?:request|trace|correlation|ray)[ _-]?id|id zahtjeva)"
            r"([\"']?(?:\s*[=:#]\s*|\s+)[\"']?)[0-9A-Za-z_+/=.\-]*[0-9][0-9A-Za-z_+/=.\-]{5,}"
        ),
        r"\1 <token>",
    ),
    NoisePattern(
        ("?", "&"),
        re2.compile(r"(?i)([?&])(?:_|cb|cachebuster|nocache|rand|rnd|ts?|timestamp)=\d{6,}"),
        r"\1",
    ),
)
_DIGIT, _LETTER = re2.compile(r"[0-9]"), re2.compile(r"[A-Za-z]")
_RANDOM = re2.compile(rf"[0-9A-Za-z_\-]{{{MIN_RANDOM},}}={{0,2}}")


def normalise(text: str) -> str:
    """Equal for two answers that differ only in what the server stamps on each of them."""
    low = text.lower()
    for hints, regex, put in PATTERNS:
        if any(hint in low for hint in hints):
            text = regex.sub(put, text)
    return _without_random(text)


def _without_random(text: str) -> str:
    """Long strings of letters and digits, unless the words before call them a checksum: that is content."""
    out, at = [], 0
    for match in _RANDOM.finditer(text):
        found = match.group(0)
        is_random = _DIGIT.search(found) is not None and _LETTER.search(found) is not None
        if is_random and not _CHECKSUM.search(text[max(0, match.start() - _BEFORE) : match.start()]):
            out += [text[at : match.start()], "<token>"]
            at = match.end()
    return "".join(out) + text[at:] if out else text


MAX_WORDS = 400  # of a line, when its likeness to another is measured


class State:
    """The lines of one look.  A line that stands there twice has two keys."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.texts = lines(blocks)

    @cached_property
    def keys(self) -> tuple[int, ...]:
        """A key per line, of the text without what every answer makes anew."""
        counted: Counter[str] = Counter()
        keys = []
        for text in normalise("\n".join([text.replace("\n", " ") for text in self.texts])).split("\n"):
            counted[text] += 1
            again = counted[text]
            keys.append(key_of(text if again == 1 else f"{text}\0{again}"))
        return tuple(keys) if self.texts else ()

    @cached_property
    def index(self) -> dict[int, int]:
        return {key: at for at, key in enumerate(self.keys)}

    def text(self, key: int) -> str:
        return self.texts[self.index[key]]

    def place(self, key: int) -> str:
        """Where the line stands, without positions: "main/ul/li"."""
        return shape(self.blocks[self.index[key]][0])


def key_of(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace")) >> 1


@dataclass(frozen=True, slots=True)
class Words:
    """What two versions of a line have in common: words, and less so values."""

    steady: frozenset[str]
    values: frozenset[str]


def words(text: str) -> Words:
    found = [unit for unit in units(text[: MAX_WORDS * 8]) if unit[0].isalnum()][:MAX_WORDS]
    steady = frozenset(unit for unit in found if unit[0].isalpha() and kind_of(unit) == WORDS)
    return Words(steady, frozenset(found) - steady)


def likeness(one: Words, other: Words) -> float:
    """The share of common words, or of words and values together, whichever is more."""
    whole = _share(one.steady | one.values, other.steady | other.values)
    return max(0.9 * _share(one.steady, other.steady) + 0.1 * whole, whole)


def form_of(text: str) -> int:
    """The key of a line without its values, so that the next drawing of it is known; 0 when no two words are left."""
    steady = [unit for unit in units(text[: MAX_WORDS * 8]) if unit[0].isalpha() and kind_of(unit) == WORDS]
    return key_of(" ".join(steady)) if len(steady) >= 2 else 0


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one), len(other), 1)


# Structural paths of blocks: their shape, and what they stand in.

_INDEX = re.compile(r"\[\d+\]|(?<=/)\d+(?=/|$)")


def shape(path: str) -> str:
    """The path without positions."""
    return _INDEX.sub("", path)


def line(block: Block) -> str:
    """What a block says.  A field ("/rates/0/value") says its name too; a paragraph does not say its path."""
    path, text = block
    return f"{shape(path)}: {text}" if path.startswith("/") else text


def lines(blocks: Iterable[Block]) -> tuple[str, ...]:
    return tuple(map(line, blocks))


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def is_below(path: str, container: str) -> bool:
    return not container or path == container or path.startswith(container + "/")


# The lines that differ between looks: in which looks each was there, and which became which.

LIKE = 0.4  # share of common words that makes two lines versions of each other
MAX_PAIRS = 2_000  # pairs of lines whose likeness is measured, per step and place
MAX_LEFT = 100  # lines that left a place and may come back as another version
Vector = tuple[bool, ...]  # is it there, look by look


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """The state before, and the looks since then."""

    states: tuple[State, ...]
    ats: tuple[datetime, ...]
    close_within: timedelta  # looks so close together show noise and next to no edits

    @property
    def before(self) -> State:
        return self.states[0]

    @property
    def last(self) -> State:
        return self.states[-1]

    @property
    def steps(self) -> range:
        return range(len(self.states) - 1)

    def is_close(self, step: int) -> bool:
        """Before the first look anybody may have edited, however soon it came; between the others hardly anybody."""
        return step > 0 and self.ats[step + 1] - self.ats[step] <= self.close_within


@dataclass(slots=True)
class Chain:
    """Versions of one line, one after another."""

    keys: list[int]
    steps: list[int] = field(default_factory=list)  # between which looks each version became the next


class Tracks:
    """Every line that some of the looks show and others do not."""

    def __init__(self, looks: Looks) -> None:
        self.looks = looks
        indexes = [state.index for state in looks.states]
        common = set(indexes[0]).intersection(*indexes[1:])
        self._home: dict[int, State] = {}
        self._switches: dict[Vector, list[int]] = {}
        self.vectors: dict[int, Vector] = {}
        for state in looks.states:
            for key in state.keys:
                if key not in common and key not in self.vectors:
                    self.vectors[key] = tuple([key in index for index in indexes])
                    self._home[key] = state

    def text(self, key: int) -> str:
        return self._home[key].text(key)

    @cached_property
    def places(self) -> dict[int, str]:
        return {key: home.place(key) for key, home in self._home.items()}

    def switches(self, vector: Vector) -> list[int]:
        """The steps at which it came or went.  Remembered: thousands of lines share a few vectors."""
        if vector not in self._switches:
            self._switches[vector] = [s for s in self.looks.steps if vector[s] != vector[s + 1]]
        return self._switches[vector]

    def close_switches(self, vector: Vector) -> int:
        return sum(map(self.looks.is_close, self.switches(vector)))

    def agreeing(self, vector: Vector) -> int:
        """Steps between close looks since it last came or went."""
        switched = self.switches(vector)
        since = switched[-1] + 1 if switched else 0
        return sum(self.looks.is_close(step) for step in self.looks.steps if step >= since)

    def chains(self, keys: Collection[int]) -> list[Chain]:
        """Which of these lines became which other, by their words; at once, or after being away."""
        into: dict[int, tuple[int, int]] = {}
        taken: set[int] = set()
        known: dict[int, Words] = {}
        left: dict[str, list[int]] = {}
        for step in self.looks.steps:
            for place, gone in self._switching(keys, step, is_coming=False).items():
                left.setdefault(place, []).extend(gone)
            for place, come in self._switching(keys, step, is_coming=True).items():
                for one, other in self._paired(left.get(place, [])[-MAX_LEFT:], come, known):
                    into[one] = (other, step)
                    taken.add(other)
                    left[place].remove(one)
        return [self._chain(key, into) for key in keys if key in into and key not in taken]

    def _chain(self, key: int, into: dict[int, tuple[int, int]]) -> Chain:
        chain = Chain([key])
        while key in into and len(chain.keys) <= len(self.looks.states):
            key, step = into[key]
            chain.keys.append(key)
            chain.steps.append(step)
        return chain

    def _paired(
        self, old: Sequence[int], new: Sequence[int], known: dict[int, Words]
    ) -> list[tuple[int, int]]:
        """Best likeness first; each line once.  One value that became another of its kind is a version too."""
        if len(old) * len(new) > MAX_PAIRS:
            return []
        for key in (*old, *new):
            if key not in known:
                known[key] = words(self.text(key))
        alike = [(likeness(known[one], known[other]), one, other) for one in old for other in new]
        pairs: list[tuple[int, int]] = []
        left, right = set(old), set(new)
        for share, one, other in sorted(alike, key=lambda pair: -pair[0]):
            if share >= LIKE and one in left and other in right:
                left.discard(one)
                right.discard(other)
                pairs.append((one, other))
        return [*pairs, *self._values([k for k in old if k in left], [k for k in new if k in right])]

    def _values(self, old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
        """Lines that are nothing but a value became others of their kind, in order."""
        gone, come = ([(key, kind_of(self.text(key))) for key in keys] for keys in (old, new))
        left, right = ([(key, kind) for key, kind in lines if kind in ATOMS] for lines in (gone, come))
        is_same = [kind for _, kind in left] == [kind for _, kind in right]
        return [(one, other) for (one, _), (other, _) in zip(left, right, strict=True)] if is_same else []

    def _switching(self, keys: Collection[int], step: int, *, is_coming: bool) -> dict[str, list[int]]:
        """The lines that come, or go, at this step, by place."""
        found: dict[str, list[int]] = {}
        wanted = (not is_coming, is_coming)
        for key in keys:
            if self.vectors[key][step : step + 2] == wanted:
                found.setdefault(self.places[key], []).append(key)
        return found
