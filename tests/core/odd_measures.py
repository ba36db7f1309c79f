"""A handful of naive features of a page, and how well each alone tells odd pages from the others.

They belong to the world's judge, not to the program: nothing here is shared with what the hunt measures.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from vedette.livingweb.odd import OddWorld, every_page

_TAG = re.compile(r"<\s*(/?)([a-zA-Z0-9]+)([^>]*)>")
_MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"\b(1[89]\d\d|20[0-3]\d)\b")
_HREF = re.compile(r'href="([^"]*)"')
_ART = set("/\\|_=+*#~<>^{}[]()")


def measure(url: str, html: str) -> dict[str, float]:
    """Everything that one page tells without the others."""
    text = _MARKUP.sub(" ", html)
    words = [word.lower() for word in _WORD.findall(text)]
    links = _HREF.findall(html)
    tags = Counter(name.lower() for _, name, _ in _TAG.findall(html))
    solid = [char for char in text if not char.isspace()]
    years = [int(year) for year in _YEAR.findall(text)]
    count, size = max(1, len(words)), max(1, len(solid))
    raw = text.encode()
    return {
        "length": len(words),
        "link_count": len(links),
        "links_per_word": len(links) / count,
        "digit_share": sum(char.isdigit() for char in solid) / size,
        "upper_share": sum(char.isupper() for char in solid) / size,
        "type_token": len(set(words)) / count,
        "art_share": sum(char in _ART for char in solid) / size,
        "oldest_year": float(min(years, default=2026)),
        "newest_year": float(max(years, default=2026)),
        "tables": float(tags["table"]),
        "fonts": float(tags["font"] + tags["center"] + tags["marquee"] + tags["blink"]),
        "pre": float(tags["pre"]),
        "tag_share": sum(tags.values()) / count,
        "outward_share": sum(link.startswith("http") for link in links) / max(1, len(links)),
        "compressed": len(zlib.compress(raw)) / max(1, len(raw)),
        "word_length": sum(map(len, words)) / count,
        "path_length": float(len(urlsplit(url).path)),
        "path_depth": float(urlsplit(url).path.count("/")),
        "sentence_length": count / max(1, text.count(".")),
        "lower_starts": sum(word[:1].islower() for word in text.split()) / max(1, len(text.split())),
        "questions": (text.count("?") + text.count("!")) / count,
    }


def against_crawl(pages: Sequence[str]) -> list[dict[str, float]]:
    """What a page tells against all the others: how rare its words and its tags are."""
    bags = [{word.lower() for word in _WORD.findall(_MARKUP.sub(" ", html))} for html in pages]
    tagged = [{name.lower() for _, name, _ in _TAG.findall(html)} for html in pages]
    seen, marks = Counter(w for bag in bags for w in bag), Counter(t for bag in tagged for t in bag)
    whole = len(pages)
    return [
        {
            "word_rarity": _mean(math.log(whole / seen[word]) for word in bag),
            "rare_words": _mean(float(seen[word] <= whole * 0.002) for word in bag),
            "tag_rarity": _mean(math.log(whole / marks[tag]) for tag in tags),
        }
        for bag, tags in zip(bags, tagged, strict=True)
    ]


def auc(values: Sequence[float], is_odd: Sequence[bool]) -> float:
    """The chance that an odd page has the larger value, or the smaller one: whichever is better; ties count half."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, at = [0.0] * len(values), 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for place in order[at:end]:
            ranks[place] = (at + end + 1) / 2
        at = end
    odd = sum(is_odd)
    total = sum(rank for rank, one in zip(ranks, is_odd, strict=True) if one)
    value = (total - odd * (odd + 1) / 2) / (odd * (len(values) - odd))
    return max(value, 1 - value)


def single_features(world: OddWorld) -> dict[str, float]:
    """AUC of each naive feature alone, over every page of the world."""
    where = list(every_page(world))
    pages = [world.sites[host].html(page, 80) for host, page in where]
    urls = [world.url(host, page, 80) for host, page in where]
    is_odd = [bool(world.sites[host].shown(page).kind) for host, page in where]
    rows = [
        measure(url, html) | more for url, html, more in zip(urls, pages, against_crawl(pages), strict=True)
    ]
    return {name: auc([row[name] for row in rows], is_odd) for name in rows[0]}


def _mean(values: Iterable[float]) -> float:
    row = list(values)
    return sum(row) / len(row) if row else 0.0
