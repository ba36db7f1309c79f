"""The section `panel`: what is asked of the providers, and within which limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from pydantic import Field

from vedette.config.values import Duration, Section, parse_duration
from vedette.contracts.errors import ConfigError


class PromptConfig(Section):
    """One question.  `{domain}` in its text stands for the domain."""

    type: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")
    text: str = Field(min_length=1, max_length=20_000)
    tier: int = Field(default=1, ge=1, le=9)
    version: str = Field(default="1", max_length=40)
    system: str = Field(default="", max_length=20_000)
    most_tokens: int = Field(default=512, ge=1, le=100_000)
    canary: bool = False


BRAND = PromptConfig(type="brand", text="What is {domain} known for?  Answer in three sentences.")


class PanelConfig(Section):
    """What a batch asks, of whom, how often, and what it must keep to."""

    models: tuple[str, ...] = ()  # none: every provider that has a key
    prompts: tuple[PromptConfig, ...] = (BRAND,)
    repeats: int = Field(default=1, ge=1, le=100)
    at_once: int = Field(default=96, ge=1, le=10_000)
    chunk_size: int = Field(default=500, ge=1, le=100_000)
    target: Duration = timedelta(hours=1)
    hard: Duration = timedelta(hours=2)
    timeout: Duration = timedelta(seconds=15)
    budget_usd: float | None = Field(default=None, ge=0)
    database: str | None = None
    shadow_table: str | None = None
    redis: str | None = None
    registry: str | None = None
    listen: str = "127.0.0.1:9465"
    token: str | None = None
    hosts: tuple[str, ...] = ()  # names in the Host header that are ours, beside those of loopback

    def with_words(self, words: Mapping[str, str]) -> PanelConfig:
        """These variables on top; raises ConfigError that names the one that cannot be used."""
        values: dict[str, Any] = {}
        for name, text in words.items():
            if text.strip():
                key, read = VARIABLES[name]
                values[key] = _read(name, text.strip(), read)
        try:
            return PanelConfig.model_validate({**self.model_dump(), **values})
        except ValueError as error:
            raise ConfigError(f"environment: {str(error).splitlines()[2].strip()}") from None


def _seconds(text: str) -> timedelta:
    return parse_duration(f"{float(text)}s")


# 003's names, kept at the boundary: the key of the section each sets, and how its text is read.
VARIABLES: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "DATABASE_URL": ("database", str),
    "GLOBAL_CONCURRENCY": ("at_once", int),
    "CRAWL_SLA_TARGET_SECS": ("target", _seconds),
    "CRAWL_SLA_MAX_SECS": ("hard", _seconds),
    "PROVIDER_TIMEOUT_MS": ("timeout", lambda text: parse_duration(f"{float(text)}ms")),
    "COST_BUDGET_USD": ("budget_usd", float),
    "CHUNK_SIZE": ("chunk_size", int),
    "REDIS_URL": ("redis", str),
    "SHADOW_TABLE": ("shadow_table", str),
}


def _read(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ValueError:
        raise ConfigError(f"{name}: {text!r} cannot be used; write a number") from None
