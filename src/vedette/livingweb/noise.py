"""What differs on every request although nothing changed.

A Noise has a place on the page and a way to make its text.  `KINDS` are those seen on real sites; `made_up`
invents one from a seed (alphabet, shape, place, words around it), so that tests show noise nobody listed.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from vedette.livingweb.chance import Chance
from vedette.livingweb.words import QUOTES, SUBJECTS, sentence

BLOCKS = ("top", "before", "middle", "after", "side", "foot")  # where an element of its own may stand
POSITIONS = (*BLOCKS, "head", "attribute", "class", "link_path", "link_query")


@dataclass(frozen=True, slots=True)
class Roll:
    """One request for one page: what noise may depend on."""

    chance: Chance
    count: int  # requests the page had before
    t: float  # world time
    lang: str


@dataclass(frozen=True, slots=True)
class Noise:
    """A region that differs on every request."""

    name: str
    position: str
    make: Callable[[Roll], str]

    def __post_init__(self) -> None:
        if self.position not in POSITIONS:
            raise ValueError(f"noise {self.name!r}: no position {self.position!r}")


def noise(*names: str) -> tuple[Noise, ...]:
    """The kinds of these names."""
    return tuple(KINDS[name] for name in names)


def made_up(seed: object) -> Noise:
    """A kind of noise that exists nowhere else."""
    chance = Chance("made up", seed)
    alphabet = chance.pick(ALPHABETS)
    lengths = [chance.between(2, 7) for _ in range(chance.between(2, 4))]
    joint = chance.pick(JOINTS)
    tag = chance.pick(("div", "p", "span", "small", "section", "b"))
    name = chance.text(chance.between(3, 8), LETTERS)
    before, after = (_label(chance) if chance.happens(0.6) else "" for _ in range(2))
    position = chance.pick(BLOCKS)

    def make(roll: Roll) -> str:
        value = joint.join(roll.chance.text(length, alphabet) for length in lengths)
        value = alphabet[roll.count % len(alphabet)] + value[1:]  # never the same twice in a row
        return f'<{tag} class="{name}">{before}{value}{after}</{tag}>'

    return Noise(f"made-up-{seed}", position, make)


LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALPHABETS = (
    "0123456789", "0123456789abcdef", LETTERS, LETTERS.upper(), "abcčćdđefghijklmnoprsštuvzž", "бвгдежзиклмн",
    "αβγδεζηθικλμνξο", "ABCDEFGHJKMNPQRSTVWXYZ23456789", "一二三四五六七八九十", "♠♥♦♣★☆●○■□",
)  # fmt: skip
JOINTS = ("", "-", ":", " ", "/", ".", " · ", "_", ", ")


def _label(chance: Chance) -> str:
    return f" {chance.text(chance.between(3, 9), LETTERS)} "


def _clock(roll: Roll) -> str:
    """Moves on at every request, even while the world's clock stands still."""
    shown = datetime.fromtimestamp(roll.t, UTC) + timedelta(seconds=roll.count)
    return f'<div class="sat">{shown:%d.%m.%Y. %H:%M:%S}</div>'


def _views(roll: Roll) -> str:
    words = ("Pregleda", "puta") if roll.lang == "hr" else ("Viewed", "times")
    return f'<p class="views">{words[0]}: {1840 + roll.count * 3 + roll.chance.below(3)} {words[1]}</p>'


def _csrf(roll: Roll) -> str:
    return f'<input type="hidden" name="csrf_token" value="{roll.chance.text(40)}">'


def _banner(roll: Roll) -> str:
    words = " ".join(roll.chance.text(roll.chance.between(3, 9), LETTERS) for _ in range(6))
    return f'<div class="banner"><a href="#oglas-{roll.chance.below(900)}" rel="nofollow">{words}</a></div>'


def _quote(roll: Roll) -> str:
    quotes = QUOTES[roll.lang]
    return f"<blockquote>{quotes[roll.count % len(quotes)]}</blockquote>"


def _related(roll: Roll) -> str:
    subjects = roll.chance.shuffled(SUBJECTS[roll.lang][:10])
    return "<ul class='slicno'>" + "".join(f"<li>{subject}</li>" for subject in subjects) + "</ul>"


def _promo(roll: Roll) -> str:
    return f"<p>{sentence(roll.chance, roll.lang)} {roll.chance.text(5, LETTERS)}</p>"


def _online(roll: Roll) -> str:
    """A short number inside words that stay."""
    words = (
        ("Trenutačno je", "posjetitelja na stranici")
        if roll.lang == "hr"
        else ("There are", "visitors online")
    )
    return f" <span>{words[0]} {10 + (roll.count * 7 + roll.chance.below(7)) % 900} {words[1]}</span>"


KINDS = {
    kind.name: kind
    for kind in (
        Noise("clock", "top", _clock),
        Noise("views", "after", _views),
        Noise("csrf", "before", _csrf),
        Noise("banner", "side", _banner),
        Noise("quote", "foot", _quote),
        Noise("related", "side", _related),
        Noise("promo", "middle", _promo),
        Noise("online", "foot", _online),
        Noise(
            "attribute", "attribute", lambda roll: f' data-v-{roll.chance.text(8)}="{roll.chance.text(6)}"'
        ),
        Noise("class", "class", lambda roll: f" css-{roll.chance.text(7)}"),
        Noise("meta", "head", lambda roll: f'<meta name="request-id" content="{roll.chance.text(32)}">'),
        Noise(
            "comment", "foot", lambda roll: f"<!-- node {roll.chance.below(90)}, {roll.chance.text(12)} -->"
        ),
        Noise("script", "head", lambda roll: f'<script>var s="{roll.chance.text(24)}";</script>'),
        Noise("session_path", "link_path", lambda roll: f";jsessionid={roll.chance.text(32).upper()}"),
        Noise("session_query", "link_query", lambda roll: f"PHPSESSID={roll.chance.text(26)}"),
    )
}


# What a host sends: a body with gaps for noise, and a listing document at one moment.


@dataclass(frozen=True, slots=True)
class Rendered:
    """A body with gaps: parts[0] noise[order[0]] parts[1] ..."""

    content_type: str
    parts: tuple[bytes, ...]
    order: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return sum(map(len, self.parts))

    def packed(self) -> Rendered:
        """A body without gaps, gzipped."""
        return Rendered(self.content_type, (gzip.compress(self.parts[0], 5, mtime=0),))

    def fill(self, noise: Sequence[Noise], roll: Roll, charset: str) -> bytes:
        """One served body.  The same noise shows the same value wherever it stands on the page."""
        values = {which: encoded(noise[which].make(roll), charset) for which in sorted(set(self.order))}
        out = [self.parts[0]]
        for which, part in zip(self.order, self.parts[1:], strict=True):
            out += (values[which], part)
        return b"".join(out)


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing document at one moment.  `mark` stays equal while the document does."""

    mark: str
    render: Callable[[], Rendered]


def encoded(text: str, charset: str) -> bytes:
    return text.encode(charset, "xmlcharrefreplace")
