"""No key leaves by the way of an answer.  Providers quote keys in errors; a hostile one may quote them anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vedette.contracts.secret import Secret

MASK = "***"
PIECE = 8  # so many characters of a key in a row are as good as the key: masked echoes keep both ends
SHORT = 8  # a key shorter than that is a word; only the whole of it is masked


class KeyScrubber:
    """Takes one key, and every longer piece of it, out of text."""

    def __init__(self, key: Secret) -> None:
        self._key = str(key)
        self._bytes = self._key.encode()
        ends = {self._key[:6], self._key[-6:]} if len(self._key) >= 2 * SHORT else set()
        inner = {self._key[n : n + PIECE] for n in range(len(self._key) - PIECE + 1)}
        self._pieces = (ends | inner) if len(self._key) >= SHORT else set()

    def may_hold(self, body: bytes) -> bool:
        """False: nothing read from this JSON can hold the key, plain or written with escapes."""
        return self._bytes in body or b"\\u" in body or b"\\/" in body

    def clean(self, text: str) -> str:
        """The text with the key masked.  For answers, which must otherwise stay as they are."""
        return text.replace(self._key, MASK) if self._key and self._key in text else text

    def clean_words(self, text: str) -> str:
        """For errors: every word that holds a piece of the key is masked whole."""
        text = self.clean(text)
        if not any(piece in text for piece in self._pieces):
            return text
        words = text.split(" ")
        return " ".join(MASK if any(piece in word for piece in self._pieces) else word for word in words)

    def clean_value(self, value: Any) -> Any:
        """Text within tuples and mappings too."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, tuple):
            return tuple(self.clean_value(one) for one in value)
        if isinstance(value, Mapping):
            return {self.clean(str(name)): self.clean_value(one) for name, one in value.items()}
        return value
