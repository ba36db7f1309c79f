"""Is this host kept out by its name?  Spec 001 section 9.3, by whole words: latest.hr is not a test."""

from __future__ import annotations

from collections.abc import Iterable

BLOCKED_WORDS = ("heartbeat", "test", "synthetic", "debug")  # 001 section 9.3


def blocked_by(host: str, words: Iterable[str] = BLOCKED_WORDS) -> str | None:
    """The word that blocks the host, or None.

    A word blocks the labels and hyphen-separated words that equal it; a word with a dot in it
    (`ads.example.com`) blocks that host and everything below it.
    """
    name = host.lower().rstrip(".")
    labels = name.split(".")
    parts = {part for label in labels for part in (label, *label.split("-"))}
    for word in words:
        plain = word.lower().strip(".")
        if plain in parts or ("." in plain and f".{name}".endswith(f".{plain}")):
            return word
    return None
