"""A body that anyone may have written, read without ever raising."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

MOST_COUNT = 2**31 - 1
NAME_SIZE, URL_SIZE = 200, 2000
MOST_CITATIONS = 100
MOST_USAGE = 40
_NUL, _REPLACED = "\0", "\ufffd"


def parse(body: bytes) -> Any:
    """The JSON value, or None.  Depth, size of numbers and encoding are bounded by the parsers."""
    try:
        return from_json(body)
    except ValueError:
        pass
    if b"\\ud" not in body.lower():
        return None
    try:  # half of a surrogate pair, as when an answer is cut within an emoji: the other parser takes it
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def at(value: Any, *path: str | int) -> Any:
    """What is at the end of the path, or None."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def rows(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; whatever else is in it is passed over."""
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))


def text_of(value: Any, limit: int | None = None) -> str:
    """A string that every store and terminal takes: no NUL, no half surrogates.  Anything else is empty."""
    if not isinstance(value, str):
        return ""
    text: str = value if limit is None else value[:limit]
    if _NUL in text:
        text = text.replace(_NUL, _REPLACED)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def count_of(value: Any) -> int:
    """A number of tokens: whole, never negative."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MOST_COUNT:  # also refuses NaN
        return 0
    return int(value)


def usage_of(value: Any) -> Mapping[str, int | float]:
    """The plain numbers of a usage object."""
    if not isinstance(value, dict):
        return {}
    kept: dict[str, int | float] = {}
    for name, number in value.items():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if is_number and 0 <= number <= MOST_COUNT and len(kept) < MOST_USAGE:
            kept[text_of(name, NAME_SIZE)] = number
    return kept


def citations_of(*values: Any) -> tuple[str, ...]:
    """Addresses, in order, each once."""
    found = (text_of(value, URL_SIZE) for value in values)
    kept = dict.fromkeys(url for url in found if url.startswith(("http://", "https://")))
    return tuple(kept)[:MOST_CITATIONS]
