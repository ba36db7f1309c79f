"""Text for a terminal: strings from the web made safe, numbers, times, styled lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

# C0, DEL, C1; direction marks and overrides; line separators; zero width; tags; what is no character at all.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_OBEYED_IN_JSON = re.compile(_OBEYED.pattern.replace("\x00-\x1f", "\x00-\t\x0b-\x1f"))  # its line ends stay
_zone: tzinfo | None = UTC  # in which people read times
_SPACE = re.compile(r"[ \t\r\n\v\f\x85\u2028\u2029]+")


_SHOWN = bytes(range(32, 127)) + b"\n"
_ATOMS = frozenset((str, int, float, bool, type(None)))
_WORDED: dict[type, Callable[[Any], object]] = {
    datetime: datetime.isoformat,
    timedelta: timedelta.total_seconds,
    bytes: bytes.hex,
}
_EXACT = 2**53 - 1  # Number.MAX_SAFE_INTEGER
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def plain(text: str, limit: int = 0) -> str:
    """One line that a terminal shows and does not obey.  `limit` in characters; 0: no limit."""
    if text.isascii() and text.isprintable() and "  " not in text:
        line = text.strip()  # nearly all of it, at a tenth of the cost
    else:
        line = _OBEYED.sub(_escape, _SPACE.sub(" ", text).strip())
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"


def shown_page(text: str) -> str:
    """Text of others with its lines and indents, as a terminal shows it and does not obey it."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(_OBEYED.sub(_escape, line.expandtabs()) for line in lines)


def dump(value: object, *, indent: int | None = None) -> str:
    """JSON that is safe to print: what a terminal could obey, or a reader could split at, is escaped."""
    return safe_json(_indented(value, indent).decode(errors="surrogatepass") if indent else _encoded(value))


def document(value: object) -> bytes:
    """The same with indents, as the bytes that go out: of a long list every copy costs as much as making it."""
    data = _indented(value, 2)
    return data if _is_shown(data) else safe_json(data.decode(errors="surrogatepass")).encode()


def exact_numbers(value: Any) -> Any:
    """For programs that hold every number as a double, as browsers do: what that would round is a string."""
    if type(value) is int:
        return value if -_EXACT <= value <= _EXACT else str(value)
    if isinstance(value, dict):
        return {key: exact_numbers(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [exact_numbers(one) for one in value]
    return value


def safe_json(text: str) -> str:
    """Escapes inside the strings of a JSON text.  Line ends between values stay."""
    if _is_shown(text.encode(errors="surrogatepass")):
        return text
    return _OBEYED_IN_JSON.sub(lambda found: _json_escape(found[0]), text)


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
    """A unit, and the next smaller one: `3 d 4 h`, `4 h`, `12 s`, `0.3 s`."""
    seconds = abs(length.total_seconds())
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    left = round(seconds)
    first = next(n for n, (_, size) in enumerate(_UNITS) if left >= size)
    unit, size = _UNITS[first]
    said = f"{left // size} {unit}"
    for smaller, part in _UNITS[first + 1 : first + 2]:
        if left % size >= part:
            said += f" {left % size // part} {smaller}"
    return said


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


def _is_shown(utf8: bytes) -> bool:
    """True where a terminal shows every character.  Nearly all is ASCII; only what is left of it is looked at."""
    rest = utf8.translate(None, _SHOWN)
    return not rest or rest.decode(errors="surrogatepass").isprintable()


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _encoded(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_jsonable)


def _indented(value: object, indent: int) -> bytes:
    """The standard library indents in Python, at many times the cost: that is left for what is no UTF-8."""
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(_walked(value), indent=indent, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        return _encoded(value, indent).encode(errors="surrogatepass")


def _walked(value: Any) -> Any:
    """With what JSON has no word for already in words."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind in _WORDED:
        return _WORDED[kind](value)
    if isinstance(value, dict):
        if _ATOMS.issuperset(map(type, value.values())):
            return value  # as rows of long lists are
        return {key: one if type(one) in _ATOMS else _walked(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [one if type(one) in _ATOMS else _walked(one) for one in value]
    return value if isinstance(value, str | int | float) else _jsonable(value)


def _jsonable(value: object) -> object:
    word = next((say for kind, say in _WORDED.items() if isinstance(value, kind)), str)
    return word(value)


# What is printed: lines of styled spans.  One structure, shown with colour or without.

Span = tuple[str, str]  # style, text that is already plain
Line = tuple[Span, ...]

# Style words of ours -> rich.  Colour never carries meaning alone: the words and marks are there without it.
STYLES = {
    "": "",
    "head": "bold",
    "dim": "dim",
    "gone": "red",
    "new": "green",
    "moved": "cyan",
    "mark": "magenta",
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
    "CRITICAL": "bold red",
    "HIGH": "yellow",
    "MEDIUM": "",
    "LOW": "dim",
}


def line(*spans: str | Span) -> Line:
    """A line of our own words; a bare string has no style."""
    return tuple(("", part) if isinstance(part, str) else part for part in spans)


def quoted(text: str, style: str = "", limit: int = 0) -> Span:
    """Text of others as a span."""
    return style, plain(text, limit)


def as_text(lines: Iterable[Line]) -> str:
    return "\n".join("".join(text for _, text in spans).rstrip() for spans in lines)


def as_rich(lines: Iterable[Line]) -> Text:
    from rich.text import Text

    whole = Text()
    for number, spans in enumerate(lines):
        if number:
            whole.append("\n")
        for style, text in spans:
            whole.append(text, style=STYLES.get(style, ""))
    return whole
