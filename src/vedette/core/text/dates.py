"""What moment does this text name?  Own readers for the forms that public pages really use.

A text without a zone is read as UTC: pages do not say which zone they mean, and a stable reading
matters more here than an hour.  Day comes before month, as in Croatian and in all of Europe.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

MAX_CHARS = 200  # a date is short; anything longer is prose that mentions one
MONTHS = {
    **dict.fromkeys("siječanj siječnja sijecanj sijecnja january jan".split(), 1),
    **dict.fromkeys("veljača veljače veljaca veljace february feb".split(), 2),
    **dict.fromkeys("ožujak ožujka ozujak ozujka march mar".split(), 3),
    **dict.fromkeys("travanj travnja april apr".split(), 4),
    **dict.fromkeys("svibanj svibnja may".split(), 5),
    **dict.fromkeys("lipanj lipnja june jun".split(), 6),
    **dict.fromkeys("srpanj srpnja july jul".split(), 7),
    **dict.fromkeys("kolovoz kolovoza august aug".split(), 8),
    **dict.fromkeys("rujan rujna september sep sept".split(), 9),
    **dict.fromkeys("listopad listopada october oct".split(), 10),
    **dict.fromkeys("studeni studenoga studenog november nov".split(), 11),
    **dict.fromkeys("prosinac prosinca december dec".split(), 12),
}
ZONES = {"Z": 0, "UTC": 0, "GMT": 0, "UT": 0, "CET": 60, "CEST": 120, "EST": -300, "EDT": -240}  # minutes

_CLOCK = (
    r"(?:[T\s,]*(?:u|at|@|-|\|)?\s*(?P<h>\d{1,2})[:.](?P<mi>\d{2})"
    r"(?:[:.](?P<s>\d{2})(?:[.,]\d{1,9})?)?\s*(?:h|sati)?)?"
)
_ZONE = r"(?:\s*(?P<z>Z|UTC|GMT|UT|CEST|CET|EST|EDT|[+-]\d{2}:?\d{2}))?"
_EDGE, _END = r"(?<![\d.])", r"(?!\d)"
_FORMS = tuple(
    re.compile(_EDGE + day + _CLOCK + _ZONE + _END, re.IGNORECASE)
    for day in (
        r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})",
        r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})\.?",
        r"(?P<d>\d{1,2})[/-](?P<m>\d{1,2})[/-](?P<y>\d{4})",
        r"(?P<d>\d{1,2})(?:\.|st|nd|rd|th)?[\s-](?:of\s)?(?P<w>[^\W\d_]{3,10})\.?,?[\s-](?P<y>\d{4})\.?",
        r"(?P<w>[^\W\d_]{3,10})\.?\s(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s(?P<y>\d{4})",
    )
)
_COMPACT = re.compile(
    r"^(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})(?:T?(?P<h>\d{2})(?P<mi>\d{2})(?P<s>\d{2})?Z?)?$"
)


def read_date(text: str) -> datetime | None:
    """The first date in a short text, aware UTC, or None.  Never guesses from relative words."""
    text = text.strip()
    if not text or len(text) > MAX_CHARS:
        return None
    found = _iso(text) or _first_form(text)
    return found.astimezone(UTC) if found is not None else None


def _iso(text: str) -> datetime | None:
    """The common case without a regular expression."""
    if not text[:4].isdigit() or len(text) < 10:
        return None
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _first_form(text: str) -> datetime | None:
    best: tuple[int, datetime] | None = None
    for form in (*_FORMS, _COMPACT):
        for match in form.finditer(text):
            moment = _moment(match.groupdict())
            if moment is not None and (best is None or match.start() < best[0]):
                best = (match.start(), moment)
            if moment is not None:
                break
    return best[1] if best else None


def _moment(parts: dict[str, str | None]) -> datetime | None:
    word = parts.get("w")
    month = MONTHS.get(word.lower(), 0) if word else int(parts["m"] or 0)
    try:
        moment = datetime(
            int(parts["y"] or 0),
            month,
            int(parts["d"] or 0),
            int(parts.get("h") or 0),
            int(parts.get("mi") or 0),
            int(parts.get("s") or 0),
            tzinfo=_zone(parts.get("z")),
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if not text:
        return UTC
    name = text.upper()
    if name in ZONES:
        return timezone(timedelta(minutes=ZONES[name]))
    digits = name[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timezone(timedelta(minutes=-minutes if name[0] == "-" else minutes))
