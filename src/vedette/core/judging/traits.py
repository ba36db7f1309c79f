"""What a text looks like before anyone reads it: a few figures, taken while the look still has the text.

On the path of every new page, so a sample is measured and not the whole: the first words of a page tell its kind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import re2
import xxhash

from vedette.contracts.fetch import Extraction
from vedette.contracts.verdict import Traits
from vedette.contracts.words import ContentClass
from vedette.core.text.word_windows import REMEMBERED, word_windows

SAMPLE = 1200  # characters
SIGN_LIMIT = 1500  # characters; a longer text that says "no results" says more than that
LEAST_WORDS = 12  # of the sample, to tell a language
LEAST_SHARE = 0.08  # function words; Croatian has fewer than English, menus next to none
FUNCTION_WORDS = {
    "hr": frozenset(
        "i u na je se za da od su s o a koji koja koje kako ne do iz po te ili što biti bi nije sve samo "
        "uz ako već kod prema te tako kao pri nakon prije može mora odnosno kojim kojih njegove ova ovaj ovo".split()
    ),
    "en": frozenset(
        "the of and to in a is that for it as was with be by on not he his but at are this have from or had an "
        "they which one you were all her would there their we him been has when who will no more if must may "
        "shall any such".split()
    ),
}


class TraitSign(NamedTuple):
    code: str
    regex: Any


def _sign(code: str, pattern: str) -> TraitSign:
    return TraitSign(code, re2.compile(f"(?i){pattern}"))


# What a short page may say instead of something.  Walls and lost pages are the gate's (`core/change/gate.py`).
SIGNS = (
    _sign(
        "under_construction",
        r"under construction|coming soon|page is being (?:built|prepared)|stranic\w+ (?:je )?u izradi|u pripremi je|"
        r"sadržaj (?:je )?u (?:izradi|pripremi)|uskoro (?:dostupno|na ovoj|novi sadržaj)",
    ),
    _sign(
        "nothing_found",
        r"there are (?:currently )?no (?:results|records|items|entries|documents|news|posts|vacancies|events)|"
        r"no (?:results|records|items|entries|documents|matches)(?: were)? (?:found|match)|nothing (?:was )?found|"
        r"your search (?:did not|returned no)|0 results|"
        r"nema (?:rezultata|zapisa|podataka|objava|dokumenata|natječaja|novosti)|"
        r"nije pronađen (?:nijedan|niti jedan)|nisu pronađeni|pretraga nije dala",
    ),
    _sign(
        "out_of_service",
        r"(?:down|closed|unavailable) for (?:scheduled )?maintenance|scheduled maintenance|temporarily unavailable|"
        r"service unavailable|održavanj\w+ (?:sustava|stranic|u tijeku)|privremeno (?:nedostup|nije dostup)|"
        r"internal server error|an error (?:has )?occurred|unexpected error|došlo je do (?:po)?greške|"
        r"neočekivana (?:po)?greška|database (?:connection )?error|stack trace|fatal error",
    ),
    _sign(
        "default_page",
        r"it works!|welcome to nginx|apache2? .{0,20}default page|default web ?site page|index of /|"
        r"lorem ipsum|hello world!? welcome to wordpress|test page for",
    ),
    _sign(
        "moved_away",
        r"(?:page|site|content) has (?:been )?moved|you (?:are|will be) (?:being )?redirected|"
        r"click here if you are not redirected|stranica je (?:preseljena|premještena)|bit ćete preusmjereni|"
        r"nova adresa stranice",
    ),
    _sign(
        "needs_scripts",
        r"(?:enable|requires?|turn on|without) javascript|javascript (?:is )?(?:required|disabled)|"
        r"omogućite javascript|uključite javascript|loading\.\.\.|učitavanje\.\.\.",
    ),
    _sign(
        "only_consent",
        r"(?:we use|uses|this site uses) cookies|koristi(?:mo)? kolačiće|prihvati (?:sve )?kolačiće|accept all cookies|"
        r"postavke kolačića|cookie (?:settings|preferences)",
    ),
    _sign(
        "only_thanks",
        r"thank you for (?:your )?(?:message|registration|subscri|contact)|hvala (?:vam )?na (?:prijavi|poruci|upitu)|"
        r"vaša (?:poruka|prijava) je (?:poslana|zaprimljena)|your message has been sent",
    ),
    _sign(
        "asks_to_log_in",
        r"forgot(?:ten)? (?:your )?password|remember me|zaboravljena lozinka|zaboravili ste lozinku|"
        r"prijavite se|korisničko ime|create an account|otvorite račun|sign in (?:to|with)|log in (?:to|with)",
    ),
)
# Most pages say none of it, and one pass over the text finds that out.
_ANY = re2.compile("(?i)" + "|".join(f"(?:{sign.regex.pattern.removeprefix('(?i)')})" for sign in SIGNS))


def measure(extraction: Extraction) -> Traits:
    """The traits of a text.  Deterministic in the extraction."""
    text = extraction.text
    letters = text.encode("utf-8", "replace")
    sample = text[:SAMPLE].lower()
    if extraction.content_class is ContentClass.TEXT:
        sample = sample.replace(";", " ")  # the cells of a table
    words = sample.split()
    language, small = _language(words, extraction.language)
    return Traits(
        chars=len(text),
        words=len(words) if len(text) <= SAMPLE else _count(text, letters),
        visible_chars=extraction.visible_chars,
        link_chars=extraction.link_chars,
        sentences=sample.count(". ")
        + sample.count("? ")
        + sample.count("! ")
        + sample.endswith((".", "?", "!")),
        sample_words=len(words),
        function_words=small,
        distinct_words=len(set(words)),
        figures=len(
            [word for word in words if "0" <= word < ":" and len(word) > 2]
        ),  # digits come before ":"
        language=language,
        asks_password=extraction.asks_password,
        signs=_signs(extraction.title, text),
        text_key=_key(letters),
    )


def _language(words: list[str], said: str) -> tuple[str, int]:
    """By the small words that no text does without; a text in a third language is what it says it is."""
    counts = {name: sum(map(small.__contains__, words)) for name, small in FUNCTION_WORDS.items()}
    best = max(counts, key=counts.__getitem__)
    is_told = len(words) >= LEAST_WORDS and counts[best] >= LEAST_SHARE * len(words)
    return (best if is_told else said[:2].lower()), counts[best]


def _signs(title: str, text: str) -> tuple[str, ...]:
    if len(text) > SIGN_LIMIT:
        return ()
    said = f"{title[:200]}\n{text}"
    if _ANY.search(said) is None:
        return ()
    return tuple(sign.code for sign in SIGNS if sign.regex.search(said))


def _count(text: str, letters: bytes) -> int:
    """Words that spaces part.  `bytes.count` stops at each of thousands; this takes a fifth of its time."""
    if len(text) <= REMEMBERED:  # the fingerprint has just asked for them
        return len(word_windows(text).words)
    return int(np.count_nonzero(np.frombuffer(letters, np.uint8) == ord(" "))) + 1


def _key(letters: bytes) -> int:
    """Signed, as stores keep it."""
    if not letters:
        return 0
    key = xxhash.xxh3_64_intdigest(letters)
    return key - (1 << 64) if key >> 63 else key
