"""JSON from strangers, for the listers that read data instead of pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vedette.discover.gather import ListingDocument

MAX_NODES = 50_000  # objects of one document that are looked at
MAX_TEXT = 4096  # of one field; a longer address, title or date is none


def is_data(document: ListingDocument) -> bool:
    """Is it JSON, whatever it calls itself?"""
    return document.body[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def read_data(document: ListingDocument) -> tuple[Any, str]:
    """The value, or what is wrong."""
    return read_json(document.utf8.decode())


def read_json(text: str) -> tuple[Any, str]:
    """The same of a text.  Numbers stay as they are written: 1,0790 and 1.0790 are told apart."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str), ""
    except RecursionError:
        return None, "JSON nested too deep"
    except ValueError as error:
        return None, f"broken JSON: {str(error)[:100]}"


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of the value, outer before inner, in order."""
    waiting = [value]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            waiting.extend(reversed(item[:MAX_NODES]))


def text_in(fields: dict[str, Any], name: str) -> str:
    """A field as text on one line; empty where it is none."""
    value = fields.get(name)
    return " ".join(value.split()) if isinstance(value, str) and len(value) <= MAX_TEXT else ""
