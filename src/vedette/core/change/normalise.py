"""Text without what every answer makes anew: clocks, session ids, tokens (spec 001 `normalizeHtmlContent`).

Conservative on purpose: a calendar date or a rate is content ("od 1. siječnja 2026." is a rule), so
only clock readings to the second, "generated in" lines and strings that name themselves as session,
token or request id go, and long random strings that are not announced as a checksum.
RE2, linear; each pattern runs only when a cheap substring says that it could match.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import re2

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
