"""What a file from elsewhere may not decide: settings of a source that open a door of this machine.

Default deny: a setting of `fetch` that is not listed here as harmless is left out of what is imported, and told, unless
the operator names it.  Environment variables, networks, ports, proxies, name servers and certificates are theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from vedette.contracts.fetch import FetchSettings
from vedette.contracts.source import Source

HARMLESS = frozenset(
    (
        "connect_timeout read_timeout total_timeout redirects user_agent robots_agent accept_language "
        "keep_cookies"
    ).split()
)
_USUAL = FetchSettings()
_NO_MORE_THAN = {"wire_limit": _USUAL.wire_limit, "body_limit": _USUAL.body_limit}
ENVIRONMENT = "env:"


@dataclass(frozen=True, slots=True)
class UnsafeSetting:
    """One thing that the operator has to say by hand."""

    where: str  # fetch.headers.Authorization
    word: str  # env:TOKEN, allow_networks=10.0.0.0/8: what the operator says to let it in

    def told(self) -> str:
        return f"{self.where} ({self.word}: say `--allow {self.word}` if it is yours)"


def without_doors(source: Source, allowed: frozenset[str]) -> tuple[Source, tuple[UnsafeSetting, ...]]:
    """The source without what nobody allowed, and what that was."""
    kept: list[tuple[str, Any]] = []
    shut: list[UnsafeSetting] = []
    for name, value in source.fetch:
        left, doors = _sifted(name, value, allowed)
        shut += doors
        if left is not None:
            kept.append((name, left))
    return replace(source, fetch=tuple(kept)), tuple(shut)


def words_of(source: Source) -> frozenset[str]:
    """All that this source has by hand already."""
    return frozenset(door.word for door in without_doors(source, frozenset())[1])


def _sifted(name: str, value: Any, allowed: frozenset[str]) -> tuple[Any, list[UnsafeSetting]]:
    """What is left of one setting; None: nothing."""
    if name in ("headers", "cookies"):
        return _sifted_headers(name, value, allowed)
    if _is_harmless(name, value):
        return value, []
    is_many = isinstance(value, tuple | list)
    doors = {
        part: UnsafeSetting(f"fetch.{name}", f"{name}={_word(part)}")
        for part in (value if is_many else (value,))
    }
    shut = {part: door for part, door in doors.items() if door.word not in allowed}
    left = tuple(part for part in doors if part not in shut)
    return ((left if is_many else value) if left else None), list(shut.values())


def _is_harmless(name: str, value: Any) -> bool:
    if name == "respect_robots":
        return value is True
    return name in HARMLESS or (name in _NO_MORE_THAN and value <= _NO_MORE_THAN[name])


def _sifted_headers(name: str, value: Any, allowed: frozenset[str]) -> tuple[Any, list[UnsafeSetting]]:
    """Those that read no variable of the environment, unless it is allowed."""
    doors = {key: UnsafeSetting(f"fetch.{name}.{key}", text) for key, text in value if _is_environment(text)}
    shut = {key: door for key, door in doors.items() if door.word not in allowed}
    left = tuple((key, text) for key, text in value if key not in shut)
    return left or None, list(shut.values())


def _is_environment(text: object) -> bool:
    return isinstance(text, str) and text.startswith(ENVIRONMENT)


def _word(part: object) -> str:
    return str(part).lower() if isinstance(part, bool) else str(part)


def unused(allowed: Iterable[str], seen: Iterable[str]) -> list[str]:
    """Words of the operator that nothing asked for: a typing error would otherwise go unnoticed."""
    return sorted(set(allowed) - set(seen))
