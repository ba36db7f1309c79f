"""The environment variables of 001 section 11.1 that name databases, and what each is used for here.

One SQLite store holds what 001 keeps in two PostgreSQL databases and in Redis.  A variable that names something else is
never ignored in silence: `vedette run`, `vedette serve` and `vedette doctor` say what it is used for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vedette.contracts.errors import ConfigError

MAIN, REGULATORY, REDIS = "DATABASE_URL", "REGULATORY_DATABASE_URL", "REDIS_URL"
VARIABLES = (MAIN, REGULATORY, REDIS)
STORE = "vedette.db"
_PANEL = "only `vedette panel` writes there"


def data_folder(words: Mapping[str, str]) -> Path | None:
    """The folder whose store these variables name: `sqlite:///folder/vedette.db`.  None: they name none."""
    named = {name: folder for name in (MAIN, REGULATORY) if (folder := _store_folder(words.get(name, "")))}
    if len(set(named.values())) > 1:
        raise ConfigError(f"{MAIN} and {REGULATORY} name two stores; watches and evidence are kept in one")
    return next(iter(named.values()), None)


def notices(words: Mapping[str, str]) -> list[str]:
    """What is said of variables that do not name the store.  Their values hold passwords and are not shown."""
    told = []
    for name, use in ((MAIN, _PANEL), (REGULATORY, "it is not used")):
        text = words.get(name, "")
        if text and _store_folder(text) is None:
            told.append(
                f"{name} names {_kind(text)}: {use}; watches and evidence are in the store, see `vedette db path`"
            )
    if words.get(REDIS):
        told.append(f"{REDIS} is set: only `vedette panel` uses it; the queues are in the store")
    return told


def _store_folder(url: str) -> Path | None:
    kind, mark, rest = url.strip().partition(":///")
    path = Path(rest)
    return path.parent if mark and kind == "sqlite" and path.name == STORE else None


def _kind(url: str) -> str:
    scheme = url.partition(":")[0].partition("+")[0].lower()
    known = {"postgres": "PostgreSQL", "postgresql": "PostgreSQL", "sqlite": f"a file that is not a {STORE}"}
    return known.get(scheme, "another database")


# Defaults of a country.  `profile: croatia` in vedette.yaml sets what documents 000 and 001 set for theirs.
#
# What the file says itself wins over its profile.

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
