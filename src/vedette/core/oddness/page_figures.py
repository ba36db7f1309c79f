"""Figures of one page, taken while the look still has its bytes: how it is made, what it looks like, what it says.

Pure and deterministic in its arguments.  On the path of every page that a hunt looks at, so it reads the beginning of a
page in a few passes and never parses it again.  Texts leave as hashes: no word of the page can be read from a figure.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from vedette.contracts.fetch import Extraction
from vedette.contracts.oddness import PageFigures
from vedette.core.change.layers import simhash
from vedette.core.judging.embedding import embed, pack_vector
from vedette.core.oddness.old_customs import customs_in
from vedette.core.urls.canonical import canonical, host_of

VERSION = "page-3"  # goes up when a figure may come out differently
MOST_MARKUP, MOST_TEXT = 96 * 1024, 12_000  # bytes, characters; a longer page is known by its beginning
SAMPLE_WORDS, SAMPLE_GRAMS, SAMPLE_SHAPE, MOST_PLACES = 192, 128, 96, 24
SAMPLE_PHRASES, MOST_TOKENS = 320, 2_500
RUNNING = 5  # words without a sign between them: running text, no list
MOST_LINKS, MOST_COMMENTS = 200, 64
NAMES = (
    "tags", "kinds", "modern", "classes", "old_tags", "old_attributes", "breaks", "pre_chars", "images", "rules",
    "comment_chars", "capital_tags", "scripts", "navigation", "text_chars", "visible_chars", "link_share", "links",
    "links_out", "places_out", "words", "distinct", "word_length", "long_words", "digits", "symbols", "capitals",
    "single", "run", "packed", "sentence", "short_lines", "newest_year", "years", "customs", "depth", "tilde",
)  # fmt: skip
AT = {name: at for at, name in enumerate(NAMES)}
_TAG = re.compile(rb"<([a-z][a-z0-9]{0,15})")
_CLASS = re.compile(rb"class\s{0,2}=\s{0,2}[\"']?([a-z0-9_-]{1,40})")
_WORD = re.compile(r"\w+")
_LETTERED = re.compile(r"[^\W\d_]+")  # a number is no rare word
_DIGITS = str.maketrans("123456789", "000000000")  # nor a rare row of letters, nor a text of its own
_TOKEN = re.compile(r"[^\W\d_]+|[\d.,;:!?|()\[\]{}=<>+*/\u2013\u2014]")
_YEAR = re.compile(r"(?<!\d)(19[5-9]\d|20[0-4]\d)(?!\d)")
_RUN = re.compile(r"([^\w\s])\1{4,}")
_OLD_TAGS = (
    b"font", b"center", b"marquee", b"blink", b"tt", b"big", b"strike", b"frameset", b"frame", b"applet", b"bgsound",
    b"basefont", b"dir", b"plaintext", b"xmp", b"nobr",
)  # fmt: skip
_OLD_ATTRIBUTES = (
    b"bgcolor=", b"vlink=", b"alink=", b" background=", b"cellpadding=", b"cellspacing=", b" border=", b" align=",
    b"face=", b"hspace=", b"noshade",
)  # fmt: skip
_MODERN = (
    b"viewport", b"og:", b"rel=\"stylesheet", b"rel=stylesheet", b"data-", b"aria-", b"<nav", b"<header", b"<footer",
    b"<article", b"<section", b"<main", b"<aside", b"ld+json", b"srcset", b"application/rss", b"favicon",
)  # fmt: skip
_NAVIGATION = (b"<nav", b"<header", b"<footer", b"breadcrumb", b"menu", b"sidebar")
_CAPITAL = re.compile(rb"<[A-Z]")
_MIX = np.uint32(0x9E3779B1)


def measure_page(
    markup: bytes, extraction: Extraction, url: str, site_of: Callable[[str], str]
) -> PageFigures:
    """`markup`: the body in UTF-8.  `site_of`: the registrable domain of a host."""
    raw = markup[:MOST_MARKUP]
    low = raw.lower()
    tags = _TAG.findall(low)
    text = extraction.text[:MOST_TEXT].encode("utf-8", "replace").decode()
    said = text.lower()
    words = _WORD.findall(said)
    places, links_out = _places(extraction, url, site_of)
    values = _of_markup(raw, low, tags) | _of_text(text, words) | _of_letters(text)
    values |= {
        "visible_chars": float(extraction.visible_chars),
        "link_share": min(1.0, extraction.link_chars / max(1, len(extraction.text))),
        "links": float(len(extraction.hrefs)),
        "links_out": float(links_out),
        "places_out": float(len(places)),
        "customs": float(customs_in(f"{said} {_hidden(low)}")),
        "depth": float(url.count("/") - 2),
        "tilde": float("/~" in url),
        "short_lines": _short_lines(low),
    }
    shape = [tags[at] + b">" + tags[at + 1] for at in range(len(tags) - 1)]
    return PageFigures(
        figures=tuple(round(values[name], 9) for name in NAMES),
        words=_sample((word.encode() for word in set(_LETTERED.findall(said))), SAMPLE_WORDS),
        grams=_grams(said.translate(_DIGITS)),
        phrases=_phrases(said),
        shape=_sample({*shape, *_CLASS.findall(low)}, SAMPLE_SHAPE),
        out=np.array(sorted(places), np.uint64).tobytes(),
        vector=pack_vector(embed(extraction.text.translate(_DIGITS))),
        simhash=extraction.keys.simhash if extraction.keys else simhash(extraction.text),
        version=VERSION,
    )


def place_key(site: str) -> int:
    """A place as 64 bits."""
    data = site.encode()
    return zlib.crc32(data) << 32 | zlib.crc32(data[::-1], 0x5EED)


def _of_markup(raw: bytes, low: bytes, tags: list[bytes]) -> dict[str, float]:
    count = Counter(tags)
    return {
        "tags": float(len(tags)),
        "kinds": float(len(count)),
        "modern": float(sum(word in low for word in _MODERN)),
        "classes": float(low.count(b"class=")),
        "old_tags": float(sum(count[tag] for tag in _OLD_TAGS)),
        "old_attributes": float(sum(low.count(word) for word in _OLD_ATTRIBUTES)),
        "breaks": float(count[b"br"]),
        "pre_chars": float(_inside(low, b"<pre", b"</pre")),
        "images": float(count[b"img"]),
        "rules": float(count[b"hr"]),
        "comment_chars": float(_inside(low, b"<!--", b"-->")),
        "capital_tags": len(_CAPITAL.findall(raw)) / max(1, len(tags)),
        "scripts": float(count[b"script"]),
        "navigation": float(sum(word in low for word in _NAVIGATION)),
    }


def _of_text(text: str, words: list[str]) -> dict[str, float]:
    first = words[:400]
    total = max(1, len(words))
    years = [int(year) for year in _YEAR.findall(text)]
    ends = text.count(". ") + text.count("! ") + text.count("? ") + 1
    return {
        "text_chars": float(len(text)),
        "words": float(len(words)),
        "distinct": len(set(first)) / max(1, len(first)),
        "word_length": sum(map(len, words)) / total,
        "long_words": sum(len(word) > 12 for word in words) / total,
        "digits": sum(word.isdigit() for word in words) / total,
        "single": sum(len(word) == 1 for word in words) / total,
        "sentence": len(words) / ends,
        "newest_year": float(max(years, default=0)),
        "years": float(len(years)),
    }


def _of_letters(text: str) -> dict[str, float]:
    data = text.encode("utf-8", "replace")
    letters = np.frombuffer(data, np.uint8)
    kinds = np.bincount(_KIND[letters], minlength=4) if len(letters) else np.zeros(4, np.int64)
    total = max(1, int(kinds[1:].sum()))
    packed = len(zlib.compress(data[:4096], 1)) / max(1, len(data[:4096])) if len(data) >= 200 else 0.0
    return {
        "symbols": float(kinds[2]) / total,
        "capitals": float(kinds[3]) / total,
        "run": float(len(_RUN.findall(text))),
        "packed": packed,
    }


def _kinds() -> np.ndarray:
    """Bytes as space, other, symbol, capital."""
    kind = np.ones(256, np.int64)
    kind[:33] = 0
    for byte in range(33, 127):
        letter = chr(byte)
        kind[byte] = 3 if letter.isupper() else 2 if not letter.isalnum() and letter not in ".,-'\"()" else 1
    return kind


_KIND = _kinds()


def _inside(low: bytes, begin: bytes, end: bytes) -> int:
    """Bytes between marks.  Linear, whatever the page says."""
    parts = low.split(begin, MOST_COMMENTS)[1:]
    return sum(max(0, part.find(end)) for part in parts)


def _short_lines(low: bytes) -> float:
    """Lines that the author broke: in `pre`, and by `br` a few words apart."""
    broken = sum(len(part) < 70 for part in low.split(b"<br", 400)[1:])
    in_pre = sum(
        part[: max(0, part.find(b"</pre"))].count(b"\n") for part in low.split(b"<pre", MOST_COMMENTS)[1:]
    )
    return float(broken + in_pre)


def _hidden(low: bytes) -> str:
    """Addresses and names of pictures: a counter is often no more than that."""
    return b" ".join(part[:120] for part in low.split(b"<img", 20)[1:]).decode("ascii", "ignore")


def _places(extraction: Extraction, url: str, site_of: Callable[[str], str]) -> tuple[set[int], int]:
    """Other places that it links to, and how many links leave."""
    home, found, leaving = site_of(host_of(url)), set(), 0
    for href in extraction.hrefs[:MOST_LINKS]:
        if "//" not in href[:12]:
            continue
        whole = canonical(href, extraction.base or url)
        site = site_of(host_of(whole)) if whole else home
        if site != home:
            leaving += 1
            found.add(place_key(site))
    return set(sorted(found)[:MOST_PLACES]), leaving


def _sample(parts: Iterable[bytes], most: int) -> bytes:
    """The smallest hashes: the same sample of the same set, whoever takes it (a bottom-k sketch)."""
    return _smallest(np.fromiter((zlib.crc32(part) for part in parts), np.uint32), most)


def _phrases(said: str) -> bytes:
    """Words that follow each other without a sign between them: the pair, the first, the second.

    Of a long text as many from each part, and as often as they stand there: whoever takes each pair once finds fewer
    usual ones the longer a text is.
    """
    known: dict[str, int] = {}
    tokens = _TOKEN.findall(said)[:MOST_TOKENS]
    codes = [
        known.setdefault(token, zlib.crc32(token.encode())) if token[0].isalpha() else 0 for token in tokens
    ]
    hashes = np.array(codes or [0], np.uint32)
    first, second = hashes[:-1], hashes[1:]
    both = (first != 0) & (second != 0) & (_run_lengths(hashes)[1:] >= RUNNING)
    first, second = first[both], second[both]
    pairs = (first * np.uint32(0x9E3779B1) ^ (second + np.uint32(0x7F4A7C15))) * _MIX
    pairs ^= pairs >> np.uint32(15)
    many = min(len(pairs), SAMPLE_PHRASES)
    at = np.arange(many) * len(pairs) // max(1, many)
    found: bytes = np.stack((pairs[at], first[at], second[at])).astype(np.uint32).tobytes()
    return found


def _run_lengths(hashes: np.ndarray) -> np.ndarray:
    """For each token how many words stand around it without a sign between them: a list has few."""
    run = np.cumsum(hashes == 0)
    lengths: np.ndarray = np.bincount(run, weights=(hashes != 0).astype(np.float64))[run]
    return lengths


def _grams(said: str) -> bytes:
    data = said[: MOST_TEXT // 2].encode("utf-8", "replace")
    if len(data) < 4:
        return b""
    letters = np.frombuffer(data, np.uint8).astype(np.uint32)
    four = (
        letters[:-3]
        | letters[1:-2] << np.uint32(8)
        | letters[2:-1] << np.uint32(16)
        | letters[3:] << np.uint32(24)
    )
    mixed = four * _MIX
    mixed ^= mixed >> np.uint32(15)
    return _smallest(mixed * _MIX, SAMPLE_GRAMS)


def _smallest(hashes: np.ndarray, most: int) -> bytes:
    found: bytes = np.unique(hashes)[:most].astype(np.uint32).tobytes()
    return found
