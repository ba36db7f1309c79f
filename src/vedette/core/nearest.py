"""What did they mean?  An unknown word is answered with the nearest one that we know."""

from __future__ import annotations

from collections.abc import Iterable


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """A message for an unknown word: names it, the nearest known one, and all of them."""
    import difflib  # only on the way to an error

    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown {what} {word!r}{hint} (known: {', '.join(words) or 'none'})"
