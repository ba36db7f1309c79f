"""What did they mean?  An unknown word is answered with the nearest one that we know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

MOST_NAMED = 20  # known words that a message lists
# What other tools call it; spelling alone would lead elsewhere (`rss` is nearest to `mrms`).
_OTHER_WORDS: Mapping[str, str] = MappingProxyType(
    {"rss": "feed", "atom": "feed", "list": "html_list", "html": "page", "site": "crawl", "spider": "crawl"}
)


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """A message for an unknown word: names it, the nearest known one, and all of them where they are few."""
    words = sorted(known)
    near = nearest(word, words)
    hint = f"; did you mean {near!r}?" if near else ""
    if len(words) > MOST_NAMED:
        return f"unknown {what} {word!r}{hint}"
    return f"unknown {what} {word!r}{hint} (known: {', '.join(words) or 'none'})"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, whatever its case; None: none is."""
    import difflib  # only on the way to an error

    by_fold = {one.casefold(): one for one in known}
    meant = _OTHER_WORDS.get(word.casefold())
    if meant in by_fold:
        return by_fold[meant]
    near = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.5)
    return by_fold[near[0]] if near else None
