"""Cookies that a site set during the looks of a source, sent again where its operator asked for it (`keep_cookies`).

They are in memory alone and end with the run.  They go back to the origin that set them and to no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime

from vedette.contracts.fetch import Fetched, FetchSettings
from vedette.contracts.words import Secret
from vedette.core.urls.canonical import origin_of

MOST = 50  # of one origin
MOST_BYTES = 4096  # of one


@dataclass(slots=True)
class SessionCookies:
    """Of one source, by origin."""

    _by_origin: dict[str, dict[str, str]] = field(default_factory=dict)

    def take(self, fetched: Fetched) -> None:
        """What this answer set, and what it took back."""
        origin = origin_of(fetched.url)
        for name, value in fetched.headers:
            if name.lower() == "set-cookie":
                self._set(self._by_origin.setdefault(origin, {}), value, fetched.at)

    def header(self, url: str, settings: FetchSettings) -> str:
        """The whole Cookie header of a request: those of the settings, and those that the site set since."""
        own = next((value for name, value in settings.headers if name.lower() == "cookie"), "")
        said = dict(part.strip().partition("=")[::2] for part in own.split(";") if "=" in part)
        kept = {**said, **self._by_origin.get(origin_of(url), {})}
        return Secret("; ".join(f"{name}={value}" for name, value in kept.items()))

    @staticmethod
    def _set(kept: dict[str, str], text: str, now: datetime) -> None:
        pair, *attributes = (part.strip() for part in text.split(";"))
        name, mark, value = pair.partition("=")
        is_plain = pair.isascii() and pair.isprintable() and len(pair) <= MOST_BYTES
        if not mark or not name.strip() or not is_plain:
            return
        if _is_over(attributes, now):
            kept.pop(name.strip(), None)
        elif name.strip() in kept or len(kept) < MOST:
            kept[name.strip()] = value.strip()


def _is_over(attributes: list[str], now: datetime) -> bool:
    """Max-Age counts before Expires (RFC 6265)."""
    said = {
        name.strip().lower(): value.strip() for name, _, value in (one.partition("=") for one in attributes)
    }
    age = said.get("max-age", "")
    if age.isascii() and age.removeprefix("-").isdigit():
        return age.startswith("-") or not age.strip("0")
    try:
        expires = parsedate_to_datetime(said["expires"]) if "expires" in said else None
        return expires is not None and expires.timestamp() <= now.timestamp()
    except (ValueError, TypeError, OverflowError):
        return False
