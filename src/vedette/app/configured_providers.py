"""The configured providers (table row, configuration, keys), and the registry of their models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vedette.config.model import Config, ProviderConfig, keys_of, limits_of, secret
from vedette.config.policies import slug
from vedette.contracts.errors import ConfigError
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import Outcome, Secret
from vedette.core.panel.models import ModelFinding, ModelRow, canonical_name
from vedette.core.urls.canonical import canonical
from vedette.providers.provider_table import BY_NAME, CHAT, ProviderRow
from vedette.store.panel.lane_ledger import count_calls, read_models, save_models

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


# The models of the providers, as the registry knows them.


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderListing:
    """What one house answered."""

    house: str
    outcome: Outcome | None  # None: it was not asked
    detail: str = ""
    listed: int = 0
    findings: tuple[ModelFinding, ...] = ()


def with_table(known: Iterable[ModelRow], rows: Iterable[ProviderRow]) -> tuple[ModelRow, ...]:
    """The registry, and the models that the panel asks, each under the name that spec 003 gives it as an alias."""
    merged = {row.name: row for row in known}
    for row in rows:
        name = canonical_name(row.name, row.model)
        model = merged.get(name) or ModelRow(name=name, provider=house_of(row), wire_name=row.model)
        aliases = dict.fromkeys((*model.aliases, *((row.name,) if row.name != name else ())))
        merged[name] = replace(model, aliases=tuple(aliases))
    return tuple(merged[name] for name in sorted(merged))


def note_calls(
    db: SqlConnection, rows: Sequence[ProviderRow], counted: Mapping[str, tuple[int, int]]
) -> None:
    """Adds to what is known of reliability: by spec 003's name of a provider, calls answered and calls failed.

    Failed is what `core.panel.models.is_failure` says; a model that the registry does not have yet is added to it.
    """
    save_models(db, with_table(read_models(db), rows))
    names = {row.name: canonical_name(row.name, row.model) for row in rows}
    count_calls(db, {names[name]: both for name, both in counted.items() if name in names})


def asked_models(rows: Iterable[ProviderRow]) -> frozenset[str]:
    return frozenset(canonical_name(row.name, row.model) for row in rows)


def house_of(row: ProviderRow) -> str:
    return row.name.partition("/")[0]
