"""Dates in any wording: own readers first, dateparser for the rest.

dateparser is imported on first use (0.2 s) and always told its languages: left to guess, it reads
"8. listopada" as November.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from vedette.core.text.dates import read_date_or

LANGUAGES = ["hr", "en"]


def parse_date(text: str, *, now: datetime) -> datetime | None:
    """Aware UTC, or None.  `now` is what relative words ("jučer", "3 days ago") count from."""
    return read_date_or(text, lambda words: _by_dateparser(words, now))


def _by_dateparser(text: str, now: datetime) -> datetime | None:
    import dateparser

    settings: Any = {
        "DATE_ORDER": "DMY",
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": True,
        "RELATIVE_BASE": now.astimezone(UTC).replace(tzinfo=None),
        "REQUIRE_PARTS": ["day", "month", "year"],  # else "12.5 %" is the 12th of May
        "PARSERS": ["relative-time", "absolute-time"],
    }
    try:
        found: datetime | None = dateparser.parse(text, languages=LANGUAGES, settings=settings)
        return found.astimezone(UTC) if found is not None else None
    except (ValueError, OverflowError, RecursionError):
        return None
