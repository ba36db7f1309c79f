"""The configured providers as things to ask: a row of the table, what the configuration changes in it, and keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from vedette.config.model import Config, ProviderConfig, keys_of, limits_of, secret
from vedette.contracts.errors import ConfigError
from vedette.contracts.ports import Fetcher
from vedette.contracts.secret import Secret
from vedette.core.urls.canonical import canonical
from vedette.providers.table import BY_NAME, CHAT, ProviderRow

if TYPE_CHECKING:
    from vedette.providers.caller import HttpProvider

_SAME = ("format", "path", "model", "models_path", "per_minute", "at_once")  # spelled alike in file and table


@dataclass(frozen=True, slots=True)
class ConfiguredProvider:
    """One provider and the keys that there are for it."""

    row: ProviderRow
    keys: tuple[Secret, ...]


def panellists(config: Config) -> tuple[ConfiguredProvider, ...]:
    """Every provider that is active, those of the table first; one without a key has none to be asked by."""
    unknown = (name for name in config.providers if name not in BY_NAME)
    rows = [
        _row(row, config.providers.get(name)) for name, row in BY_NAME.items() if _is_active(config, name)
    ]
    rows += [_own_row(name, config.providers[name]) for name in unknown if _is_active(config, name)]
    return tuple(ConfiguredProvider(row, _keys(row, config.providers.get(row.name))) for row in rows)


def callers(config: Config, fetcher: Fetcher, timeout: timedelta | None = None) -> Iterator[HttpProvider]:
    """One per provider and key, ready to be asked, each with a lane of its own."""
    from vedette.config.policies import fetch_settings
    from vedette.providers.caller import TIMEOUT, HttpProvider

    most = timeout or TIMEOUT
    settings = replace(fetch_settings(config), read_timeout=most, total_timeout=most)
    for one in panellists(config):
        for number, key in enumerate(one.keys, start=1):
            yield HttpProvider(one.row, key, fetcher=fetcher, settings=settings, number=number)


def _is_active(config: Config, name: str) -> bool:
    given = config.providers.get(name)
    return given is None or given.active


def _row(row: ProviderRow, given: ProviderConfig | None) -> ProviderRow:
    """The environment over the file over the table."""
    rate, width = limits_of(row.key_env) if row.key_env else (None, None)
    filed = _filed(row, given)
    return replace(filed, per_minute=rate or filed.per_minute, at_once=width or filed.at_once)


def _filed(row: ProviderRow, given: ProviderConfig | None) -> ProviderRow:
    if given is None:
        return row
    values = {name: value for name in _SAME if (value := getattr(given, name)) is not None}
    if given.base_url is not None:
        values["base_url"] = _address(row.name, given.base_url)
    if given.search is not None:
        values["is_search"] = given.search
    if given.price is not None:
        values["price"] = (given.price.tokens_in, given.price.tokens_out, given.price.request)
    return replace(row, **values)


def _own_row(name: str, given: ProviderConfig) -> ProviderRow:
    """A provider that the table does not have: it needs a format, an address and a model."""
    from vedette.config.policies import slug

    needed = ("format", "base_url", "model")
    missing = [word for word in needed if getattr(given, word) is None]
    if missing:
        raise ConfigError(
            f"`providers.{name}` is not in the table ({', '.join(BY_NAME)}); "
            f"one of your own needs {', '.join(missing)}"
        )
    bare = ProviderRow(name=name, format="", base_url="", path=CHAT, model="", key_env="", lane=slug(name))
    return _row(bare, given)


def _address(name: str, text: str) -> str:
    url = canonical(text)
    if url is None or "@" in text or "?" in text:
        raise ConfigError(f"`providers.{name}.base_url`: write it like https://host/v1, without credentials")
    return url.rstrip("/")


def _keys(row: ProviderRow, given: ProviderConfig | None) -> tuple[Secret, ...]:
    named = given.keys if given is not None else ()
    if any(not name.startswith("env:") for name in named):
        raise ConfigError(f"`providers.{row.name}.keys`: a key comes from the environment; write env:NAME")
    if named:
        return tuple(Secret(secret(name).strip()) for name in named)
    return keys_of(row.key_env) if row.key_env else ()
