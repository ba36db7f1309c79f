"""The kinds of odd pages: one row each, how it is written and what it may be called."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from vedette.livingweb.odd import manuscripts, shrines, signals
from vedette.livingweb.odd.manuscripts import MANUSCRIPT_TITLES
from vedette.livingweb.odd.prose import Bank, Voice
from vedette.livingweb.odd.shrines import SHRINE_TITLES
from vedette.livingweb.odd.signals import SIGNAL_TITLES

KINDS: dict[str, Callable[[Voice, int], list[str]]] = {
    "webring": shrines.webring,
    "ascii_shrine": shrines.ascii_shrine,
    "number_station": signals.number_station,
    "arg_puzzle": signals.arg_puzzle,
    "mud_manual": manuscripts.mud_manual,
    "hyperfiction": manuscripts.hyperfiction,
    "esoteric_catalogue": shrines.esoteric_catalogue,
    "numerology": signals.numerology,
    "phantom_timetable": signals.phantom_timetable,
    "conlang": manuscripts.conlang,
    "dream_log": manuscripts.dream_log,
    "cosmology": shrines.cosmology,
    "lost_media": manuscripts.lost_media,
    "instrument": manuscripts.instrument,
    "micronation": shrines.micronation,
    "dead_letters": manuscripts.dead_letters,
    "corridor_survey": signals.corridor_survey,
}
TITLES: dict[str, Bank] = {**SIGNAL_TITLES, **SHRINE_TITLES, **MANUSCRIPT_TITLES}
# How a person who does not think of readers names such a page; `{n}` is a number, `{w}` a word of the site.
PATHS = (
    "/~{w}/{n}.html", "/misc/{w}.txt.html", "/{w}/{w}/index.htm", "/x/{n}", "/hidden/{w}.html", "/{n}{w}.html",
    "/old/notes/{w}.html", "/{w}.html", "/private-{w}/{n}.html", "/stuff/{w}",
)  # fmt: skip


@cache
def vocabulary(lang: str) -> tuple[str, ...]:
    """The words that odd pages are written with.  Ordinary pages use them too: no word gives a page away."""
    banks = [bank for module in (signals, shrines, manuscripts) for bank in module.BANKS]
    texts = [pattern for bank in banks for pattern in bank[lang]]
    texts += [pattern for titles in TITLES.values() for pattern in titles[lang]]
    words = (word for text in texts for word in _WORD.findall(_SLOT.sub(" ", text)))
    return tuple(sorted({word for word in words if len(word) > 3}))


_SLOT = re.compile(r"\{\w\}")
_WORD = re.compile(r"[^\W\d_]+")
