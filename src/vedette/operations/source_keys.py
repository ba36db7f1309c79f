"""A source as the keys of a `sources` section of vedette.yaml, and back."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from vedette.config.model import parse
from vedette.config.policies import slug
from vedette.config.policies import source_of as as_source
from vedette.config.sections import FetchConfig
from vedette.contracts.errors import ConfigError, InputError
from vedette.contracts.source import (
    ListerKind,
    ListerOptions,
    ListSelectors,
    Registered,
    Source,
    StructuredOptions,
    TrapBudgets,
)
from vedette.contracts.words import SourceId
from vedette.core.urls.canonical import host_of, letters_of, shown
from vedette.operations.arguments import a_url

MOST_ID = 60


def source_of(keys: Mapping[str, Any], *, origin: str) -> Source:
    """A source from the keys of a `sources` section; InputError or ConfigError says what is wrong."""
    given = dict(keys)
    if not isinstance(given.get("url"), str):
        raise InputError("there is no `url`")
    given["url"] = a_url(given["url"])
    if not _is_text(given):
        raise InputError("it holds half a character (a lone surrogate), which no store can keep")
    try:
        section = parse({"sources": [given]}, "").sources[0]
        source = as_source(section, origin=origin)
    except ConfigError as error:
        words = str(error).removeprefix(": ").replace("sources.0.", "").replace("`source`: ", "")
        raise InputError(words.partition(" problems\n  ")[2].replace("\n  ", "; ") or words) from None
    name = (
        source.name if given.get("name") else shown(source.url).partition("//")[2].split(" (")[0].rstrip("/")
    )
    number = source.id if given.get("id") else slug(_plain_letters(_with_letters(source.url, name)))
    return replace(
        source, id=SourceId(slug(number)[:MOST_ID].strip("-")), name=_with_letters(source.url, name)
    )


def _with_letters(url: str, name: str) -> str:
    """A name that was made of an address has the letters of its host, not their code."""
    host = host_of(url)
    return name.replace(host, letters_of(host), 1)


def _plain_letters(text: str) -> str:
    """Without marks: an id is typed on any keyboard."""
    parts = unicodedata.normalize("NFKD", text.casefold().replace("đ", "d"))
    return "".join(char for char in parts if not unicodedata.combining(char))


def _is_text(values: object) -> bool:
    try:
        json.dumps(values, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def keys_of(source: Source) -> dict[str, Any]:
    """The keys of a `sources` section that give this source again; defaults are left out."""
    keys: dict[str, Any] = {"url": source.url, "id": source.id, "name": source.name}
    keys["lister"] = source.lister.value
    if source.risk is not None:
        keys["risk"] = source.risk.name
    keys["tier"] = source.tier.name
    if not source.is_active:
        keys["active"] = False
    if source.every is not None:
        keys["every"] = _plain("every", source.every)
    if source.scrape_frequency is not None:
        keys["scrape_frequency"] = f"{int(source.scrape_frequency.total_seconds())}s"
    if source.retention != "standard":
        keys["retention"] = source.retention
    keys |= _option_keys(source.options)
    keys |= _registered_keys(source.registered)
    if source.fetch:
        keys["fetch"] = {name: _plain(name, value) for name, value in source.fetch}
    return keys


def fetch_section(keys: Mapping[str, Any]) -> FetchConfig:
    """The settings of a `fetch` section; InputError says what is wrong."""
    try:
        return parse({"fetch": dict(keys)}, "").fetch
    except ConfigError as error:
        raise InputError(str(error).removeprefix(": ")) from None


def slug_of(url: str) -> str:
    """A readable id of a URL: host and path."""
    return slug(url.partition("//")[2].partition("?")[0])[:MOST_ID].strip("-")


def page_keys(url: str) -> dict[str, Any]:
    """A bare URL is watched itself."""
    return {"url": url, "lister": ListerKind.PAGE.value}


def _option_keys(options: ListerOptions) -> dict[str, Any]:
    plain = ListerOptions()
    keys: dict[str, Any] = {}
    for name in (one.name for one in fields(ListerOptions)):
        value = getattr(options, name)
        if value == getattr(plain, name):
            continue
        if isinstance(value, ListSelectors | TrapBudgets | StructuredOptions):
            inner = ((one.name, getattr(value, one.name)) for one in fields(value))
            keys[name] = {key: _plain(key, one) for key, one in inner}
        else:
            keys["types" if name == "sitemap_types" else name] = _plain(name, value)
    return keys


def _registered_keys(registered: Registered) -> dict[str, Any]:
    said = ((one.name, getattr(registered, one.name)) for one in fields(Registered))
    return {name: _plain(name, value) for name, value in said if value not in ("", None, ())}


def _plain(name: str, value: Any) -> Any:
    if name in ("headers", "cookies"):
        return dict(value)
    if hasattr(value, "total_seconds"):
        return f"{value.total_seconds():g}s"
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
