"""changedetection.io: `url-watches.json`, or the backup (.zip) that holds it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

from vedette.config.values import is_tag
from vedette.contracts.errors import InputError
from vedette.operations.formats.entry import Entry, Parsed, usable_headers

NAME = "url-watches.json"
MOST = 64 * 1024 * 1024  # bytes of it, unpacked
_UNITS = {"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
# What people set there and we have nothing for; all else is the tool's own record.
_THEIRS = (
    "include_filters subtractive_selectors ignore_text text_should_not_be_present trigger_text extract_text "
    "browser_steps notification_urls proxy webdriver_js_execute_code conditions"
).split()
_BROWSERS = ("html_webdriver", "extra_browser")


def read_watches(data: bytes) -> Parsed:
    parsed = Parsed()
    whole = _whole(data)
    titles = _titles(whole)
    for number, watch in enumerate(whole["watching"].values(), 1):
        _take(parsed, number, watch, titles)
    return parsed


def looks_like(data: bytes) -> bool:
    """The whole file is one JSON object with its watches, or the backup."""
    return b'"watching"' in data if data.lstrip()[:1] == b"{" else NAME.encode() in data and data[:2] == b"PK"


def _whole(data: bytes) -> dict[str, Any]:
    try:
        whole = json.loads(_unpacked(data))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("watching"), dict):
        raise InputError("there are no watches (`watching`) in this file")
    return whole


def _titles(whole: Mapping[str, Any]) -> dict[str, str]:
    """What people call each tag; a watch names it by its id."""
    found: Any = whole
    for name in ("settings", "application", "tags"):
        found = found.get(name) if isinstance(found, Mapping) else None
    tags = found if isinstance(found, Mapping) else {}
    return {
        name: str(tag["title"]) for name, tag in tags.items() if isinstance(tag, Mapping) and "title" in tag
    }


def _unpacked(data: bytes) -> bytes:
    if data[:2] != b"PK":
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            name = next(one for one in archive.namelist() if one.rpartition("/")[2] == NAME)
            text = archive.open(name).read(MOST + 1)
    except (zipfile.BadZipFile, StopIteration, OSError, NotImplementedError, RuntimeError):
        raise InputError(f"the archive holds no {NAME} that can be read") from None
    if len(text) > MOST:
        raise InputError(f"{NAME} is larger than {MOST // 2**20} MiB")
    return text


def _take(parsed: Parsed, number: int, watch: Any, titles: Mapping[str, str]) -> None:
    said = watch if isinstance(watch, Mapping) else {}
    url, title = said.get("url"), said.get("title")
    if not isinstance(url, str) or not url:
        parsed.bad(number, title or "", "there is no url")
        return
    if str(said.get("method") or "GET").upper() != "GET":
        parsed.bad(number, url, f"asks with {said['method']}; vedette looks with GET only")
        return
    keys: dict[str, Any] = {"url": url}
    if isinstance(title, str) and title.strip():
        keys["name"] = title.strip()
    if said.get("paused") is True:
        keys["active"] = False
    seconds = _seconds(said)
    if seconds:
        keys["every"] = f"{seconds}s"
    if str(said.get("fetch_backend", "")).startswith(_BROWSERS):
        keys["requires_headless"] = True
    headers = said.get("headers")
    kept, unread = usable_headers(headers if isinstance(headers, Mapping) else {})
    if kept:
        keys["fetch"] = {"headers": kept}
    tags, unusable = _tags(said, titles)
    if tags:
        keys["tags"] = tags
    left_out = (*unread, *unusable, *(name for name in _THEIRS if said.get(name)))
    parsed.entries.append(Entry.of_page(number, keys, left_out))


def _tags(watch: Mapping[str, Any], titles: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
    """Its tags by their titles, and those that cannot be tags here.  Older versions have them in one text."""
    ids, text = watch.get("tags"), watch.get("tag")
    named = [str(one) for one in ids] if isinstance(ids, list) else []
    old = [word.strip() for word in text.split(",")] if isinstance(text, str) else []
    known = [titles[one].strip() for one in named if one in titles] + [word for word in old if word]
    kept = list(dict.fromkeys(word for word in known if is_tag(word)))
    unusable = (*(word for word in known if not is_tag(word)), *(one for one in named if one not in titles))
    return kept, tuple(f"tag {word}" for word in unusable)


def _seconds(watch: Mapping[str, Any]) -> int:
    """Its own interval; 0: it has none."""
    parts = watch.get("time_between_check")
    if not isinstance(parts, Mapping) or watch.get("time_between_check_use_default") is True:
        return 0
    numbers = ((parts.get(unit), size) for unit, size in _UNITS.items())
    return sum(int(number) * size for number, size in numbers if isinstance(number, int) and number > 0)
