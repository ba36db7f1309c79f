"""Defaults of a country.  `profile: croatia` in vedette.yaml sets what documents 000 and 001 set for theirs.

What the file says itself wins over its profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CROATIA: Mapping[str, Any] = {
    "fetch": {"accept_language": "hr,en;q=0.9"},  # 001 section 9.5
    "extract": {"ocr_languages": "hrv+eng"},  # 001 section 5
    "cron": {"timezone": "Europe/Zagreb", "runs": "0 6 * * *"},  # 001 sections 7.1 and 11.1
}
PROFILES: Mapping[str, Mapping[str, Any]] = {"croatia": CROATIA}


def with_profile(raw: dict[str, Any]) -> dict[str, Any]:
    """The file with the defaults of its profile; a profile that is not known is left to validation."""
    profile = PROFILES.get(str(raw.get("profile") or ""), {})
    return {**raw, **{name: _merged(raw.get(name), rows) for name, rows in profile.items()}}


def _merged(given: object, rows: Mapping[str, Any]) -> object:
    if given is None:
        return dict(rows)
    return {**rows, **given} if isinstance(given, dict) else given
