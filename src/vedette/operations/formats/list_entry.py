"""One line of a list: the keys of a `sources` section, where they were found, and what could not be taken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from vedette.config.credentials import SECRET_HEADERS
from vedette.contracts.errors import InputError
from vedette.contracts.source import ListerKind
from vedette.core.urls.canonical import canonical

Said = Mapping[str, Any]  # what a file says of one page


@dataclass(frozen=True, slots=True)
class PastText:
    """What a page said at a time, as another program kept it."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What one line asks for: keys as in `sources:` of vedette.yaml."""

    line: int
    keys: Mapping[str, Any]
    left_out: tuple[str, ...] = ()  # what it said that we do not carry over
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of a source that is not known yet
    past: tuple[PastText, ...] = ()  # versions that the other program kept, oldest first

    @classmethod
    def of_page(cls, line: int, keys: Mapping[str, Any], left_out: tuple[str, ...] = ()) -> Entry:
        """A line of a list that knows no listers: what it names is watched itself."""
        return cls(line, keys, left_out, {"lister": ListerKind.PAGE.value})

    def with_default(self, name: str, value: Any) -> Entry:
        return replace(self, defaults={**self.defaults, name: value})


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that cannot be taken, and why."""

    line: int
    text: str
    why: str


@dataclass(slots=True)
class Parsed:
    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def bad(self, line: int, text: object, why: str) -> None:
        self.problems.append(Problem(line, str(text)[:200], why))


def looks_like_url(text: str) -> bool:
    return "://" in text and canonical(text) is not None


def usable_headers(headers: Mapping[Any, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Headers of somebody else's file, and those that are left out: none of theirs reads our environment.

    Nor is a secret of theirs kept: it would be in the store and in every export.
    """
    said = {str(name): str(value) for name, value in headers.items()}
    kept = {
        name: value
        for name, value in said.items()
        if not value.startswith("env:") and name.lower() not in SECRET_HEADERS
    }
    return kept, tuple(f"header {name}" for name in sorted(said.keys() - kept.keys()))


# What files of other tools have in common.


def whole_json(data: bytes, name: str, kind: type) -> dict[str, Any]:
    """The JSON object with its watches under `name`."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from None
    if not isinstance(whole, dict) or not isinstance(whole.get(name), kind):
        raise InputError(f"there are no watches (`{name}`) in this file")
    return whole


def source_keys(url: Any, name: Any, **more: Any) -> dict[str, Any]:
    """The keys of a source, without those that say nothing.  `seconds`: of the interval."""
    seconds = more.pop("seconds", 0)
    said = {
        "name": name.strip() if isinstance(name, str) else "",
        "every": f"{seconds}s" if seconds else "",
        **more,
    }
    return {"url": url} | {key: value for key, value in said.items() if value}


def words_of_list(text: Any) -> list[str]:
    """The words of a list that is written as one text."""
    return [word for part in text.split(",") if (word := part.strip())] if isinstance(text, str) else []
