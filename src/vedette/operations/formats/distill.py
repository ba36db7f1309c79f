"""Distill Web Monitor: the JSON that its `Export watchlist` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vedette.contracts.errors import InputError
from vedette.operations.formats.entry import Entry, Parsed

_THEIRS = (
    "selections",
    "regexp",
    "conditions",
    "rules",
    "actions",
)  # of `config`, and nothing of ours does it


def read_watches(data: bytes) -> Parsed:
    parsed = Parsed()
    for number, watch in enumerate(_watches(data), 1):
        _take(parsed, number, watch if isinstance(watch, Mapping) else {})
    return parsed


def looks_like(data: bytes) -> bool:
    """The whole file is one JSON object with its watches."""
    return data.lstrip()[:1] == b"{" and b'"data"' in data and b'"uri"' in data and b'"config"' in data


def _watches(data: bytes) -> list[Any]:
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from None
    found = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(found, list):
        raise InputError("there are no watches (`data`) in this file")
    return found


def _take(parsed: Parsed, number: int, watch: Mapping[str, Any]) -> None:
    url, name = watch.get("uri"), watch.get("name")
    if not isinstance(url, str) or not url:
        parsed.bad(number, name or "", "there is no uri")
        return
    config = _nested(watch.get("config"))
    keys: dict[str, Any] = {"url": url}
    if isinstance(name, str) and name.strip():
        keys["name"] = name.strip()
    seconds = _seconds(_nested(watch.get("schedule")))
    if seconds:
        keys["every"] = f"{seconds}s"
    if _is_dynamic(config.get("selections")):
        keys["requires_headless"] = True
    tags = watch.get("tags")
    if isinstance(tags, str) and tags.strip():
        keys["tags"] = [word.strip() for word in tags.split(",") if word.strip()]
    left_out = [word for word in _THEIRS if config.get(word)]
    if watch.get("schedule") and not seconds:
        left_out.append("schedule")
    parsed.entries.append(Entry.of_page(number, keys, tuple(left_out)))


def _nested(value: Any) -> Mapping[str, Any]:
    """An object, or an object written as text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _seconds(schedule: Mapping[str, Any]) -> int:
    """Its interval; 0: it has none that is one number."""
    params = schedule.get("params")
    number = params.get("interval") if isinstance(params, Mapping) else None
    return int(number) if isinstance(number, int | float) and 0 < number < 10**9 else 0


def _is_dynamic(selections: Any) -> bool:
    """True where it looks with a browser."""
    found = selections if isinstance(selections, list) else []
    return any(isinstance(one, Mapping) and one.get("dynamic") is True for one in found)
