"""Text of others, made safe for a terminal: one line, no control characters, no direction tricks."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, tzinfo

# C0, DEL, C1; direction marks and overrides; line separators; zero width; tags; what is no character at all.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_zone: tzinfo | None = UTC  # in which people read times
_SPACE = re.compile(r"[ \t\r\n\v\f\x85\u2028\u2029]+")


_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def plain(text: str, limit: int = 0) -> str:
    """One line that a terminal shows and does not obey.  `limit` in characters; 0: no limit."""
    line = _OBEYED.sub(_escape, _SPACE.sub(" ", text).strip())
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"


def dump(value: object, *, indent: int | None = None) -> str:
    """JSON that is safe to print: what a terminal could obey, or a reader could split at, is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_jsonable)
    return safe_json(text)


def safe_json(text: str) -> str:
    """Escapes inside the strings of a JSON text.  Line ends between values stay."""
    return _OBEYED.sub(lambda found: found[0] if found[0] == "\n" else _json_escape(found[0]), text)


def show_times_in(zone: tzinfo | None) -> None:
    """For the whole process, as a locale is.  None: the zone of this machine."""
    global _zone
    _zone = zone


def moment(at: datetime | None) -> str:
    """`2026-11-15 10:00:00Z`: a time says its zone."""
    if at is None:
        return "-"
    here = at.astimezone(_zone)
    return f"{here:%Y-%m-%d %H:%M:%S}{'Z' if _zone is UTC else f'{here:%z}'}"


def span(length: timedelta) -> str:
    """Two units at most: `3 d 4 h`, `4 h`, `12 s`, `0.3 s`."""
    seconds = abs(length.total_seconds())
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    parts, left = [], round(seconds)
    for unit, size in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:2])


def count(number: int, one: str, many: str = "") -> str:
    """`1 look`, `2 looks`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def when(at: datetime | None, now: datetime) -> str:
    """`2026-11-15 10:00:00Z (in 3 h)`."""
    if at is None:
        return "never"
    return f"{moment(at)} ({ago(at, now)})"


def ago(at: datetime, now: datetime) -> str:
    if abs(at - now) < timedelta(seconds=1):
        return "now"
    return f"in {span(at - now)}" if at > now else f"{span(now - at)} ago"


def about(at: datetime | None, now: datetime) -> str:
    """One unit: `in 6 h`, `2 min ago`, `now`, `never`."""
    if at is None:
        return "never"
    seconds = abs((at - now).total_seconds())
    if seconds < 1:
        return "now"
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= size), ("s", 1))
    words = f"{int(seconds // size)} {unit}"
    return f"in {words}" if at > now else f"{words} ago"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _jsonable(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
