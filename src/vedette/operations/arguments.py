"""What people write, as values: a URL, a risk, a moment.  InputError says how to write it."""

from __future__ import annotations

from datetime import datetime

from vedette.config.values import parse_day, parse_duration
from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import canonical, too_long


def a_url(text: str) -> str:
    """The canonical URL of what the user typed, or InputError that says how to write it."""
    url = canonical(text)
    if url is not None:
        return url
    word = text.strip()
    if not word:
        raise InputError("the URL is empty")
    if words := too_long(word):
        raise InputError(f"the URL is too long: {words}")
    if "://" not in word and (near := canonical(f"https://{word}")) is not None:
        raise InputError(f"{word!r} has no scheme; did you mean {near} ?")
    scheme, mark, _ = word.partition(":")
    if mark and scheme.isalnum() and scheme.lower() not in ("http", "https"):
        raise InputError(f"{word!r}: only http and https are watched, not {scheme!r}")
    raise InputError(f"{word!r} is not a URL; write for example https://example.org/page")


def a_risk(word: str | None, option: str) -> Risk | None:
    """A risk as the user wrote it."""
    if word is None:
        return None
    try:
        return Risk.parse(word)
    except ValueError:
        raise InputError(f"{option}: {unknown(option.strip('-'), word.upper(), Risk.__members__)}") from None


def a_moment(text: str | None, option: str, now: datetime) -> datetime | None:
    """`24h` is that long ago; otherwise a date or a time in ISO form."""
    if text is None:
        return None
    try:
        return now - parse_duration(text)
    except (ValueError, OverflowError):
        pass
    try:
        return parse_day(text)
    except ValueError:
        raise InputError(
            f"{option}: {text!r} is neither a duration (24h, 7d) nor a date (2026-11-15)"
        ) from None
