"""The twelve providers as they are played: address, wire format, models, latency, limits, faults."""

from __future__ import annotations

import math
from dataclasses import dataclass

OPENAI, ANTHROPIC, GEMINI, COHERE, YOU = "openai", "anthropic", "gemini", "cohere", "you"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimit:
    """What one key may do; 0: no such limit.  The window is `slack` seconds short of a minute: lines jitter."""

    per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    slack: float = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """A share of the requests that arrive in [start, end), seconds after the server began, meets `kind`."""

    kind: str
    share: float = 1.0
    start: float = 0.0
    end: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """At that second a model appears, vanishes, or both: then it is renamed."""

    at: float
    added: str = ""
    dropped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """One provider.  `headers` names the style in which it tells its limits; "" says nothing."""

    name: str
    format: str
    path: str
    models: tuple[str, ...]  # the first is the one the panel asks
    models_path: str = ""
    headers: str = ""
    retry_after: bool = False  # its 429 carries the header
    latency: tuple[float, float] = (0.8, 2.0)  # seconds: median, 95 %
    limit: KeyLimit = KeyLimit()
    keys: tuple[str, ...] = ()  # that it accepts; none named: any
    faults: tuple[FaultRule, ...] = ()
    model_changes: tuple[ModelChange, ...] = ()
    cites: bool = False


CHAT = "/v1/chat/completions"

# Rates: what a usual paid key gets, per the providers' pages as of 2025; `limited` gives others.
TWELVE: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        name="openai/gpt-4o-mini", format=OPENAI, path=CHAT, models_path="/v1/models", headers="openai",
        models=("gpt-4o-mini", "gpt-4o-mini-2024-07-18", "gpt-4o", "gpt-4.1-mini"), retry_after=True,
        latency=(0.7, 1.8), limit=KeyLimit(per_minute=500, tokens_per_minute=200_000),
    ),
    ProviderSpec(
        name="anthropic/claude-3-haiku", format=ANTHROPIC, path="/v1/messages", models_path="/v1/models",
        models=("claude-3-haiku-20240307", "claude-3-5-haiku-20241022", "claude-sonnet-4-20250514"),
        headers="anthropic", retry_after=True, latency=(0.6, 1.5),
        limit=KeyLimit(per_minute=1000, tokens_per_minute=450_000),
    ),
    ProviderSpec(
        name="google/gemini-1.5-flash", format=GEMINI, path="/v1beta/models/{model}:generateContent",
        models=("gemini-1.5-flash", "gemini-1.5-flash-8b", "gemini-1.5-pro", "gemini-2.0-flash"),
        models_path="/v1beta/models", latency=(0.5, 1.3), limit=KeyLimit(per_minute=2000),
    ),
    ProviderSpec(
        name="deepseek", format=OPENAI, path="/chat/completions", models_path="/models",
        models=("deepseek-chat", "deepseek-reasoner"), latency=(1.5, 4.0), limit=KeyLimit(per_minute=600),
    ),
    ProviderSpec(
        name="mistral", format=OPENAI, path=CHAT, models_path="/v1/models", headers="mistral",
        models=("mistral-small-latest", "mistral-small-2503", "mistral-large-latest"), latency=(0.6, 1.6),
        limit=KeyLimit(per_minute=360, tokens_per_minute=2_000_000),
    ),
    ProviderSpec(
        name="cohere", format=COHERE, path="/v2/chat", models_path="/v1/models", headers="cohere",
        models=("command-r-08-2024", "command-r-plus-08-2024", "command-a-03-2025"), latency=(0.8, 2.0),
        limit=KeyLimit(per_minute=500),
    ),
    ProviderSpec(
        name="groq", format=OPENAI, path="/openai/v1/chat/completions", models_path="/openai/v1/models",
        models=("llama-3.3-70b-versatile", "llama-3.1-8b-instant"), headers="groq", retry_after=True,
        latency=(0.25, 0.6), limit=KeyLimit(per_minute=1000, tokens_per_minute=300_000),
    ),
    ProviderSpec(
        name="ai21/jamba", format=OPENAI, path="/studio/v1/chat/completions", latency=(1.0, 2.5),
        models=("jamba-mini", "jamba-large"), limit=KeyLimit(per_minute=200),
    ),
    ProviderSpec(
        name="perplexity/sonar", format=OPENAI, path="/chat/completions", cites=True,
        models=("sonar", "sonar-pro", "llama-3.1-sonar-large-128k-online"), latency=(1.8, 4.0),
        limit=KeyLimit(per_minute=500),
    ),
    ProviderSpec(
        name="perplexity/sonar-pro", format=OPENAI, path="/chat/completions", cites=True,
        models=("sonar-pro", "sonar", "llama-3.1-sonar-large-128k-online"), latency=(2.5, 6.0),
        limit=KeyLimit(per_minute=500),
    ),
    ProviderSpec(
        name="perplexity/sonar-large", format=OPENAI, path="/chat/completions", cites=True,
        models=("llama-3.1-sonar-large-128k-online", "sonar", "sonar-pro"), latency=(2.2, 5.0),
        limit=KeyLimit(per_minute=500),
    ),
    ProviderSpec(
        name="you/search", format=YOU, path="/v1/search", models=("search",), cites=True,
        latency=(0.4, 0.9), limit=KeyLimit(per_minute=600),
    ),
)  # fmt: skip
